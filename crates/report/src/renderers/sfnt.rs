//! The table that sfnt-pingpong prints, for scripts and people that know it.
//!
//! Only round trips have a place in it. A percentile is that of the histogram, so it is within 0.1 % of the
//! one that sorting all values would give; mean, deviation and ends are exact.

use super::{Renderer, one};
use crate::figures::clean;
use crate::report::Report;
use linerate_model::run::{Delay, DelayOf, Run, Trial};
use linerate_model::{Quantile, Ratio};
use std::fmt::Write as _;

pub(super) const RENDERER: Renderer = Renderer {
    id: "sfnt",
    summary: "Half round trips by message size in nanoseconds, in the columns of sfnt-pingpong.",
    ending: "sfnt",
    documents: |report| Ok(one(tables(report))),
};

fn tables(report: &Report<'_>) -> String {
    let mut text = String::new();
    for run in report.runs {
        table(&mut text, run);
    }
    if text.is_empty() {
        text.push_str("# no round trips by message size\n");
    }
    text
}

/// The table of one run, and those of its parts; nothing for one without round trips.
fn table(text: &mut String, run: &Run) {
    let quantile = percentile(run);
    let row = |trial: &Trial| row(trial, quantile);
    let rows: Vec<String> = run.trials.iter().filter_map(row).collect();
    if !rows.is_empty() {
        let title = run.title.as_deref().unwrap_or_default();
        let percent = crate::figures::digits(quantile.0.get() * 100.0);
        let written = write!(
            text,
            "# linerate run {}: {}\n# percentile={percent}\n# reporting: 1/2 RTT\n#\n#\tsize\tmean\tmin\tmedian\tmax\t%ile\tstddev\titer\n{}",
            run.id,
            clean(title),
            rows.concat()
        );
        written.expect("invariant: writing to memory cannot fail");
    }
    for part in run.parts() {
        table(text, part);
    }
}

/// The quantile of the column `%ile`: the first one that the run lists.
fn percentile(run: &Run) -> Quantile {
    let delays = run.trials.iter().filter_map(|trial| trial.delay());
    let listed = delays.flat_map(|delay| &delay.quantiles).next();
    Quantile(listed.map_or_else(|| Ratio::clamped(0.99), |quantile| quantile.quantile_ratio))
}

/// One line; `None` if the trial lacks any of its values.
fn row(trial: &Trial, quantile: Quantile) -> Option<String> {
    let delay = trial.delay().filter(|_| trial.valid)?;
    let share = match delay.of {
        DelayOf::RoundTrip => 0.5,
        DelayOf::HalfRoundTrip => 1.0,
        DelayOf::Lateness
        | DelayOf::OneWay
        | DelayOf::Part
        | DelayOf::Pdv
        | DelayOf::ResponseTime => return None,
    };
    let Delay {
        min_ns: Some(min),
        mean_ns: Some(mean),
        p50_ns: Some(median),
        max_ns: Some(max),
        stdev_ns: Some(deviation),
        count: Some(count),
        ..
    } = delay
    else {
        return None;
    };
    let percentile = &delay.at(quantile)?;
    let whole = |ns: f64| format!("{:.0}", (ns * share).floor());
    let of = |ns: &u64| whole(crate::figures::float(*ns));
    Some(format!(
        "\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{count}\n",
        trial.payload_bytes?.get(),
        whole(*mean),
        of(min),
        of(median),
        of(max),
        of(percentile),
        whole(*deviation),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::ClosedLoopResult;
    use linerate_model::spec::{Direction, Transport};
    use linerate_model::{ByteCount, Histogram};

    #[test]
    fn a_round_trip_is_halved_and_what_is_no_round_trip_is_left_out() {
        let mut histogram = Histogram::new();
        histogram.record_n(1000, 3);
        let work = ClosedLoopResult {
            delay: Delay::from_histogram(DelayOf::RoundTrip, histogram),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.payload_bytes = Some(ByteCount::new(64));
        trial.valid = true;
        assert_eq!(
            row(&trial, Quantile(Ratio::clamped(0.99))).unwrap(),
            "\t64\t500\t500\t500\t500\t500\t0\t3\n"
        );
        trial.delay_mut().unwrap().of = DelayOf::Pdv;
        assert_eq!(row(&trial, Quantile(Ratio::clamped(0.99))), None);
    }
}
