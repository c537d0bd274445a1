//! One-way delay and the parts of a round trip, for a terminal.

use crate::charts::{parts_finding, trial_name, which};
use crate::figures::{float, nanos};
use crate::paper::Paper;
use crate::words;
use linerate_model::one_way::OneWay;
use linerate_model::run::{Delay, Run, RunKind, Trial};

pub(super) fn one_way(paper: &mut Paper, run: &Run) {
    // A search has too many trials for it.
    let known = run.trials.iter().filter(|trial| trial.valid);
    let known = known.filter(|_| run.kind() != RunKind::Saturate);
    let known: Vec<_> = known
        .filter_map(|trial| Some((trial, trial.one_way()?)))
        .collect();
    let line =
        |(trial, one_way): &(&Trial, &OneWay)| which(run, trial, known.len()) + &said(one_way);
    paper.rows("one way", known.iter().map(line));
}

/// The delays of both ways, what they may be off by and how the clocks are known.
fn said(one_way: &OneWay) -> String {
    let Some(clock) = &one_way.clock else {
        let why = one_way.missing.as_deref();
        return format!("not known: {}", why.unwrap_or("no clock was compared"));
    };
    let median = |delay: &Option<Delay>| {
        let ns = delay.as_ref().and_then(|delay| delay.p50_ns);
        ns.map(|ns| nanos(float(ns)))
    };
    let there = median(&one_way.forward).map(|time| format!("there {time}"));
    let back = median(&one_way.backward).map(|time| format!("back {time}"));
    let medians: Vec<_> = [there, back].into_iter().flatten().collect();
    let error = nanos(float(clock.uncertainty_ns));
    let part = clock.asymmetry_ns.map_or_else(String::new, |ns| {
        let half = nanos(float(ns));
        format!(", of which half the smallest round trip ({half}) no method removes")
    });
    format!(
        "p50 {} (each ± {error}{part}; {})",
        medians.join(", "),
        clock.method
    )
}

pub(super) fn parts(paper: &mut Paper, run: &Run) {
    let apart = run
        .trials
        .iter()
        .filter_map(|trial| Some((trial, trial.decomposition()?)));
    let lines = apart.flat_map(|(trial, parts)| {
        let described: Vec<_> = parts
            .parts
            .iter()
            .filter_map(|part| {
                let mean = nanos(part.delay.mean_ns?);
                Some(format!("{} {mean}", words::stage(part.stage)))
            })
            .collect();
        [
            trial_name(run, trial),
            parts_finding(parts),
            described.join(" · "),
        ]
    });
    paper.rows("parts", lines);
}
