//! The percentile text of HdrHistogram, as its plotter and its kin read it.
//!
//! One line for each recorded bucket, so that the distribution can be read back whole; times in
//! nanoseconds, of what was timed. Comment lines before it say what it is.
//!
//! # References
//! - `outputPercentileDistribution` of HdrHistogram; its plotter takes lines of four numbers

use super::{Renderer, ReportFile, one};
use crate::figures::{clean, float};
use crate::report::Report;
use linerate_model::Histogram;
use linerate_model::run::{DelayOf, Run, Trial};
use std::fmt::Write as _;

pub(super) const RENDERER: Renderer = Renderer {
    id: "hgrm",
    summary: "Whole delay distributions as HdrHistogram's percentile text, a file for each trial.",
    ending: "hgrm",
    documents: |report| Ok(documents(report)),
};

fn documents(report: &Report<'_>) -> Vec<ReportFile> {
    let mut found = Vec::new();
    for run in report.runs {
        collect(run, &mut found);
    }
    if found.is_empty() {
        return one("# no whole distribution of delay\n".to_owned());
    }
    let alone = found.len() == 1;
    let each = found.into_iter().enumerate();
    each.map(|(index, (run, trial, histogram))| ReportFile {
        name: (!alone).then(|| format!("{index}-{}", plain(trial))),
        text: text(run, trial, histogram),
    })
    .collect()
}

type TrialHistogram<'a> = (&'a Run, &'a Trial, &'a Histogram);

fn collect<'a>(run: &'a Run, into: &mut Vec<TrialHistogram<'a>>) {
    for trial in run.trials.iter().filter(|trial| trial.valid) {
        let histogram = trial.delay().and_then(|delay| delay.histogram.as_ref());
        if let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) {
            into.push((run, trial, histogram));
        }
    }
    for part in run.parts() {
        collect(part, into);
    }
}

/// The trial's name as a part of a file name.
fn plain(trial: &Trial) -> String {
    let label = trial.label.as_deref().unwrap_or("trial");
    let mut name = String::new();
    for c in label.chars().take(60) {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.trim_end_matches('-').to_owned()
}

/// The distribution of one trial.
fn text(run: &Run, trial: &Trial, histogram: &Histogram) -> String {
    let of = trial.delay().map(|delay| delay.of);
    let mut text = format!("# linerate run {}, trial {}\n", clean(&run.id), trial.index);
    let mut comment = |key: &str, value: &str| {
        writeln!(text, "# {key}: {}", clean(value))
            .expect("invariant: writing to memory cannot fail");
    };
    comment("label", trial.label.as_deref().unwrap_or_default());
    comment("transport", &trial.transport.as_str().to_lowercase());
    if let Some(size) = trial.payload_bytes {
        comment("payload_bytes", &size.get().to_string());
    }
    comment("timed", of.map_or("delay", DelayOf::as_str));
    comment("unit", "ns");
    text.push_str("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    lines(&mut text, histogram);
    write!(
        text,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n#[Max     = {:12.3}, Total count    = {:12}]\n#[Buckets = {:12}, SubBuckets     = {:12}]\n",
        histogram.mean_nanos(),
        histogram.stdev_nanos(),
        float(histogram.max_nanos()),
        histogram.len(),
        BUCKETS,
        SUB_BUCKETS,
    )
    .expect("invariant: writing to memory cannot fail");
    text
}

/// Of a histogram of three significant digits up to an hour: for information, as the original has it.
const BUCKETS: u32 = 32;
/// Twice 1000, rounded up to a power of two.
const SUB_BUCKETS: u32 = 2048;

fn lines(text: &mut String, histogram: &Histogram) {
    let total = float(histogram.len());
    let mut seen = 0;
    for (nanos, count) in histogram.buckets() {
        seen += count;
        let share = float(seen) / total;
        let value = float(nanos);
        let written = if seen < histogram.len() {
            writeln!(
                text,
                "{value:12.3} {share:2.12} {seen:10} {:14.2}",
                1.0 / (1.0 - share)
            )
        } else {
            // The last line has no fourth column: it would be infinite.
            writeln!(text, "{value:12.3} {share:2.12} {seen:10}")
        };
        written.expect("invariant: writing to memory cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{ClosedLoopResult, Delay};
    use linerate_model::spec::{Direction, Transport};

    #[test]
    fn lines_are_those_that_the_plotter_reads() {
        let mut histogram = Histogram::new();
        for (nanos, count) in [(1000, 5), (2000, 4), (30_000, 1)] {
            histogram.record_n(nanos, count);
        }
        let mut out = String::new();
        lines(&mut out, &histogram);
        let rows: Vec<Vec<&str>> = out
            .lines()
            .map(|l| l.split_whitespace().collect())
            .collect();
        assert_eq!(rows[0], ["1000.000", "0.500000000000", "5", "2.00"]);
        assert_eq!(rows[1][2..], ["9", "10.00"]);
        assert_eq!(rows[2].len(), 3, "the last has no fourth column");
        assert_eq!(rows[2][1], "1.000000000000");
    }

    #[test]
    fn file_names_are_plain() {
        let work = ClosedLoopResult {
            delay: Delay::from_histogram(DelayOf::RoundTrip, Histogram::new()),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.label = Some("32 B, spin, under TCP load ../x".to_owned());
        assert_eq!(plain(&trial), "32-b-spin-under-tcp-load-x");
    }
}
