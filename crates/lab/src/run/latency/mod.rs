//! `linerate latency`: ping-pong by message size and wait mode, idle and under load.

mod load;
mod modes;

pub use load::Load;
pub use modes::{Mode, NamedMode};

use crate::client::{Client, Target};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::measure;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind};
use linerate_model::spec::{Observe, Pinning, Stop, TestSpec, TransactionBounds, Transport};
use linerate_model::{ByteCount, Quantile, Ratio};
use linerate_peers::Tests;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// What to measure.
#[derive(Debug, Clone)]
pub struct LatencyPlan {
    /// Transport of the messages.
    pub transport: Transport,
    /// Message sizes.
    pub sizes: Vec<ByteCount>,
    /// Ways to wait of both ends, measured one after the other.
    pub modes: Vec<Mode>,
    /// Cores of the traffic threads.
    pub pinning: Pinning,
    /// Time per size and mode.
    pub time: Duration,
    /// Time before that is counted.
    pub warm_up: Duration,
    /// Traffic under which everything is measured again.
    pub load: Option<Load>,
    /// How much both ends look at their hosts.
    pub observe: Observe,
    /// Quantiles of delay to list.
    pub percentiles: Vec<Quantile>,
    /// Bounds by number of messages, per size and mode.
    pub transactions: TransactionBounds,
}

/// The quantiles that are listed unless others are asked for.
const USUAL_PERCENTILES: [f64; 2] = [0.99, 0.999];

/// Them as values.
pub(crate) fn usual_percentiles() -> Vec<Quantile> {
    USUAL_PERCENTILES
        .map(|q| Quantile(Ratio::clamped(q)))
        .to_vec()
}

/// Most sizes of one list.
const MAX_SIZES: usize = 1000;

/// The list of sizes that sfnt-pingpong measures unless it is told otherwise.
const SFNT: &str = "sfnt";

/// Message sizes: `sfnt`, `64`, all from `1-8`, in steps `64-256+64`, or by a factor `1-1Kx2`.
pub fn sizes(texts: &[String], transport: Transport) -> Result<Vec<ByteCount>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        if text == SFNT {
            let list = linerate_peers::find(SFNT).map(|sfnt| sfnt.usual_sizes(transport));
            all.extend(list.unwrap_or_default());
            continue;
        }
        let list = range(text).ok_or_else(|| {
            let message = format!(
                "--sizes {text}: give a size such as 64 or 1K, sizes such as 1-8, 64-256+64 or 1-1Kx2 (at most {MAX_SIZES}), or sfnt"
            );
            Failure::new(ExitCode::Usage, message)
        })?;
        all.extend(list.into_iter().map(ByteCount::new));
    }
    Ok(all)
}

/// The sizes of one element; `None` if it is none, or they never end.
fn range(text: &str) -> Option<Vec<u64>> {
    let size = |text: &str| text.parse().ok().map(ByteCount::get);
    let Some((low, rest)) = text.split_once('-') else {
        return Some(vec![size(text)?]);
    };
    let (high, add, times) = match (rest.split_once('+'), rest.split_once('x')) {
        (Some((high, step)), None) => (high, step.parse().ok()?, 1),
        (None, Some((high, factor))) => (high, 0, factor.parse().ok()?),
        (None, None) => (rest, 1, 1),
        _ => return None,
    };
    let (low, high): (u64, u64) = (size(low)?, size(high)?);
    let next = |size: &u64| size.checked_mul(times)?.checked_add(add);
    let grows = next(&low).is_some_and(|next| next > low);
    let list: Vec<u64> = std::iter::successors(Some(low), next)
        .take_while(|size| *size <= high)
        .take(MAX_SIZES + 1)
        .collect();
    (grows && !list.is_empty() && list.len() <= MAX_SIZES).then_some(list)
}

impl LatencyPlan {
    /// The ping-pong of one test, idle.
    pub(crate) fn of(spec: &TestSpec) -> Self {
        Self {
            transport: spec.transport,
            sizes: vec![spec.payload_bytes],
            modes: vec![Mode::of(spec)],
            pinning: spec.pinning,
            time: match spec.stop {
                Stop::After(time) => time,
                Stop::Bytes(_) | Stop::Transactions(_) => Duration::from_secs(1),
            },
            warm_up: spec.warm_up,
            load: None,
            observe: Observe::default(),
            percentiles: usual_percentiles(),
            transactions: spec.transactions,
        }
    }

    /// Every setting of its first test, by key.
    pub(crate) fn values(&self) -> BTreeMap<String, Value> {
        let mut values = crate::describe::values(&spec(self, self.sizes[0], &self.modes[0]));
        values.insert(PERCENTILES.to_owned(), json!(self.percentiles));
        values
    }

    /// The tests that it is made of, without the load.
    pub fn specs(&self) -> Vec<TestSpec> {
        let modes = |&size: &ByteCount| self.modes.iter().map(move |mode| spec(self, size, mode));
        self.sizes.iter().flat_map(modes).collect()
    }
}

/// Where a run says which quantiles it lists, the first of which is the one of sfnt-pingpong's table.
const PERCENTILES: &str = "percentiles_ratio";

/// Measures latency against `target`.
pub fn latency(context: &mut Context<'_>, target: &Target, plan: &LatencyPlan) -> Result<Run> {
    let kind = target.far.kind();
    if plan.load.is_some() && kind.tests() == Tests::Alike {
        let message = format!(
            "{} carries no load beside its messages: leave --load out, or measure `linerate serve` there",
            kind.id()
        );
        return Err(Failure::new(ExitCode::Usage, message).into());
    }
    let mut client = Client::connect(target)?;
    let header = Header {
        kind: RunKind::Latency,
        title: format!("{} latency to {}", plan.transport, target.far),
        values: plan.values(),
        hosts: client.hosts(),
    };
    let mut recorder = Recorder::begin(context, header)?;
    recorder.list_quantiles(&plan.percentiles);
    recorder.run_mut().notes.extend(client.blind_spots());
    sweep(context, &mut recorder, &mut client, plan, None)?;
    if let Some(load) = plan.load.filter(|_| !context.interrupted()) {
        load::under_load(context, &mut recorder, &mut client, (target, plan, load))?;
    }
    recorder.finish(context)
}

/// Every size in every mode, in the order of measuring. The modes of one size are neighbours in
/// time, unless the far end would have to be started again for each.
fn points(plan: &LatencyPlan, tests: Tests) -> Vec<(ByteCount, &Mode)> {
    let sizes = || plan.sizes.iter().copied();
    match tests {
        Tests::Alike => plan
            .modes
            .iter()
            .flat_map(|mode| sizes().map(move |size| (size, mode)))
            .collect(),
        Tests::Many | Tests::One => sizes()
            .flat_map(|size| plan.modes.iter().map(move |mode| (size, mode)))
            .collect(),
    }
}

fn sweep(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    client: &mut Client,
    plan: &LatencyPlan,
    load: Option<Load>,
) -> Result<()> {
    for (size, mode) in points(plan, client.tests()) {
        if context.interrupted() {
            return Ok(());
        }
        let condition = load.map_or_else(|| "idle".to_owned(), |load| format!("under {load}"));
        let label = format!("{} B, {mode}, {condition}", size.get());
        let spec = spec(plan, size, mode);
        measure(context, recorder, client, &spec, Some(&label))?;
    }
    Ok(())
}

fn spec(plan: &LatencyPlan, size: ByteCount, mode: &Mode) -> TestSpec {
    TestSpec {
        payload_bytes: size,
        stop: Stop::After(plan.time),
        warm_up: plan.warm_up,
        wait: mode.wait(),
        datapath: mode.datapath().clone(),
        pinning: plan.pinning,
        observe: plan.observe,
        transactions: plan.transactions,
        ..TestSpec::ping_pong(plan.transport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_alone_in_steps_and_by_a_factor() {
        let of = |text: &str| -> Vec<u64> {
            let texts: Vec<String> = text.split(',').map(str::to_owned).collect();
            let all = sizes(&texts, Transport::Udp).unwrap();
            all.into_iter().map(ByteCount::get).collect()
        };
        assert_eq!(of("0,64"), [0, 64]);
        assert_eq!(of("1-4"), [1, 2, 3, 4]);
        assert_eq!(of("64-256+96"), [64, 160, 256]);
        assert_eq!(of("1-1Kx4"), [1, 4, 16, 64, 256, 1024]);
        assert_eq!(of("sfnt,7")[..3], [0, 1, 2]);
        assert_eq!(
            of("sfnt,7")[12..],
            [1472, 1473, 2048, 4096, 8192, 16384, 32768, 7]
        );
        for wrong in [
            "", "x", "4-1", "1-9+0", "1-9x1", "0-9x2", "1-1M", "1-2-3", "1-8+1x2",
        ] {
            let error = sizes(&[wrong.to_owned()], Transport::Udp).unwrap_err();
            assert!(error.message.contains("1-1Kx2"), "{wrong}: {error}");
        }
    }
}
