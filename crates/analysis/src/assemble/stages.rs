//! Where the time of round trips went, from both ends' stamps.

use super::{Ends, merged, streams};
use linerate_model::Histogram;
use linerate_model::one_way::{Decomposition, Passages, Stage, StagePart, StageReport};
use linerate_model::run::{Delay, DelayOf};
use linerate_model::sample::EndpointReport;
use std::collections::BTreeMap;

/// The parts of the messages that both ends have in their samples; `None` if none were taken apart.
pub(super) fn summary(ends: &Ends<'_>) -> Option<Decomposition> {
    let near = first(ends.sender)?;
    let far = first(ends.receiver);
    let mut decomposition = Decomposition {
        incomplete: incomplete(near, far),
        conversion_ns: near
            .conversion_ns
            .max(far.map_or(0, |far| far.conversion_ns)),
        ..Decomposition::default()
    };
    let Some(far) = far else {
        let why = "the peer took no stamps: its parts are in the wire's";
        decomposition.missing = Some(why.to_owned());
        let all: BTreeMap<i64, i64> = by_number(&near.between).collect();
        fill(&mut decomposition, near, None, &all);
        return Some(decomposition);
    };
    let there: BTreeMap<i64, i64> = by_number(&far.between).collect();
    let wire = by_number(&near.between)
        .filter_map(|(number, took)| Some((number, took.saturating_sub(*there.get(&number)?))))
        .collect();
    fill(&mut decomposition, near, Some(far), &wire);
    decomposition.covered_ratio = covered(ends, &decomposition);
    if decomposition.messages == 0 {
        let why = "no message has all stamps of both ends";
        decomposition.missing = Some(why.to_owned());
    }
    Some(decomposition)
}

/// Share of the mean round trip of all messages that the means of the parts sum up to.
fn covered(ends: &Ends<'_>, decomposition: &Decomposition) -> Option<f64> {
    let rtt = merged(ends.sender, |stream| stream.work.rtt())?;
    let means = decomposition.parts.iter().map(|part| part.delay.mean_ns);
    let sum: f64 = means.sum::<Option<f64>>()?;
    let mean = rtt.mean_nanos();
    (decomposition.messages > 0 && mean > 0.0).then_some(sum / mean)
}

/// Of the first stream that has one: stamps are of one stream.
fn first(report: Option<&EndpointReport>) -> Option<&StageReport> {
    streams(report).find_map(|stream| stream.work.stages())
}

fn by_number(passages: &Passages) -> impl Iterator<Item = (i64, i64)> + '_ {
    passages
        .iter()
        .map(|passage| (passage.key, passage.took_ns))
}

/// All parts of the messages in `wire`, which is what each took between the drivers.
fn fill(
    decomposition: &mut Decomposition,
    near: &StageReport,
    far: Option<&StageReport>,
    wire: &BTreeMap<i64, i64>,
) {
    decomposition.messages = wire.len() as u64;
    for stage in Stage::ALL {
        let of = |report: &StageReport| {
            let all = report.parts.get(&stage)?;
            let taken = by_number(all).filter(|(number, _)| wire.contains_key(number));
            Some(histogram(taken.map(|(_, took)| took)))
        };
        let part = if stage == Stage::Wire {
            Some(histogram(wire.values().copied()))
        } else {
            of(near).or_else(|| far.and_then(of))
        };
        let delay = part.and_then(|part| Delay::from_histogram(DelayOf::Part, part));
        let part = delay.map(|delay| StagePart { stage, delay });
        decomposition.parts.extend(part);
    }
}

/// Steps that the error of the stamps made negative are zero.
fn histogram(took: impl Iterator<Item = i64>) -> Histogram {
    let mut histogram = Histogram::new();
    for nanos in took {
        histogram.record(u64::try_from(nanos).unwrap_or(0));
    }
    histogram
}

/// What lacked a stamp, by end.
fn incomplete(near: &StageReport, far: Option<&StageReport>) -> BTreeMap<String, u64> {
    let ends = [("near", Some(near)), ("far", far)];
    let of = |(end, report): (&'static str, Option<&StageReport>)| {
        let lacks = report.map(|report| report.incomplete.clone());
        lacks
            .unwrap_or_default()
            .into_iter()
            .map(move |(stamp, count)| (format!("{end}-{stamp}"), count))
    };
    ends.into_iter().flat_map(of).collect()
}
