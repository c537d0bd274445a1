//! What a frame costs by the number of flows: where a cache of flows ends.

use super::bench::Bench;
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_analysis::flow_cache;
use linerate_model::PacketRate;
use linerate_model::random::Random;
use linerate_model::run::{FlowCost, FlowPoint, MethodResult};
use linerate_model::spec::{DatapathChoice, Pace, Stop, TestSpec};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct FlowCostCurve;

/// Numbers of flows, two for each power of ten. One flow is left out: its frames are made with less work.
const FLOWS: [u32; 12] = [
    2, 6, 20, 63, 200, 632, 2000, 6325, 20_000, 63_246, 200_000, 632_456,
];

/// Tests of each, in random order, so that what changes meanwhile is in all of them alike.
const TURNS: usize = 5;

/// Length of each.
const TIME: Duration = Duration::from_millis(300);

/// Frames of each before it counts, so that a cache has the flows that it holds.
const WARM_UP: Duration = Duration::from_millis(200);

/// How far apart the first flows of two turns are: each turn has flows of its own, so that a collision in a
/// cache, which some sets of flows have more of than others, is in one of them.
const STEP: usize = DatapathChoice::FLOW_NUMBERS as usize / TURNS;

impl Method for FlowCostCurve {
    fn id(&self) -> &'static str {
        "flow-cost"
    }

    fn summary(&self) -> &'static str {
        "Cost of a frame by the number of flows, and the flow cache that it shows"
    }

    fn needs_throughput(&self) -> bool {
        false
    }

    fn depends_on_frames(&self) -> bool {
        false
    }

    fn time(&self, _settings: &MethodSettings) -> Duration {
        let tests = u32::try_from(FLOWS.len() * TURNS).unwrap_or(u32::MAX);
        (TIME + WARM_UP) * tests
    }

    fn varies_flows(&self) -> bool {
        true
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let Some((full, _)) = bench.full_load()? else {
            bench.note("no cost by flows: the sender's highest load is not known");
            return Ok(None);
        };
        let spec = TestSpec {
            stop: Stop::After(TIME),
            warm_up: WARM_UP,
            ..bench.spec.clone().with_pace(Pace::At(full))
        };
        let mut seen: [Vec<f64>; FLOWS.len()] = Default::default();
        for (turn, at) in order(spec.seed) {
            if bench.is_over() {
                break;
            }
            let mut spec = spec.clone();
            let params = &mut spec.datapath.params;
            let flows = [
                (DatapathChoice::FLOWS, FLOWS[at].to_string()),
                (DatapathChoice::FIRST_FLOW, (turn * STEP).to_string()),
            ];
            params.extend(flows.map(|(name, value)| (name.to_owned(), value)));
            let outcome = bench.test(&spec, &format!("{} flows", FLOWS[at]))?;
            let received = outcome.and_then(|outcome| outcome.received);
            seen[at].extend(received.map(PacketRate::pps).filter(|rate| *rate > 0.0));
        }
        let points: Vec<_> = FLOWS
            .into_iter()
            .zip(seen)
            .filter_map(|(flows, rates)| point(flows, rates))
            .collect();
        if points.is_empty() {
            bench.note("no cost by flows: nothing was counted");
            return Ok(None);
        }
        let cache = flow_cache(&points);
        Ok(Some(MethodResult::FlowCost(FlowCost { points, cache })))
    }
}

/// Turns and places in [`FLOWS`]: each of them in each turn.
fn order(seed: u64) -> Vec<(usize, usize)> {
    let mut random = Random::new(seed);
    let turn = |turn| {
        let mut places: Vec<_> = (0..FLOWS.len()).map(|place| (turn, place)).collect();
        random.shuffle(&mut places);
        places
    };
    (0..TURNS).flat_map(turn).collect()
}

/// The median over the turns.
fn point(flows: u32, mut rates: Vec<f64>) -> Option<FlowPoint> {
    rates.sort_by(f64::total_cmp);
    let turns = u32::try_from(rates.len()).ok()?;
    let middle = rates.get(rates.len() / 2)?;
    Some(FlowPoint {
        flows,
        received: PacketRate::from_pps(*middle),
        turns,
    })
}
