//! One row for each trial, for spreadsheets and scripts.

use super::Renderer;
use crate::csv::{LineEnd, table};
use crate::document::DocumentFormat;
use crate::export::trials;
use crate::report::{Report, ReportError};
use crate::words;
use linerate_model::run::{CpuSide, Delay, DelayOf, Packets, Run, Trial};
use linerate_model::{ByteCount, PacketCount, Quantile, Ratio};

pub(super) struct Csv;

impl Renderer for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn summary(&self) -> &'static str {
        "One row for each trial; empty where a value is not recorded."
    }

    fn ending(&self) -> &'static str {
        DocumentFormat::Csv.ending()
    }

    fn render(&self, report: &Report<'_>) -> Result<String, ReportError> {
        let trials = report.runs.iter().flat_map(|run| trials(run));
        let rows = trials.map(|(run, trial)| COLUMNS.iter().map(move |(_, get)| get(run, trial)));
        Ok(table(
            COLUMNS.iter().map(|(name, _)| *name),
            rows,
            LineEnd::Lf,
        ))
    }
}

type Column = (&'static str, fn(&Run, &Trial) -> Option<String>);

/// The columns: name with unit as in the run document, and where the value comes from.
const COLUMNS: &[Column] = &[
    ("run", |r, _| Some(r.id.clone())),
    ("kind", |r, _| Some(r.kind().as_str().to_owned())),
    ("title", |r, _| Some(words::title(r))),
    ("trial", |_, t| Some(t.index.to_string())),
    ("label", |_, t| t.label.clone()),
    ("transport", |_, t| {
        Some(words::transport(t.transport).to_lowercase())
    }),
    ("direction", |_, t| {
        Some(words::direction_id(t.direction).to_owned())
    }),
    ("layer", |_, t| Some(t.layer.to_string())),
    ("streams", |_, t| text(t.streams)),
    ("payload_bytes", |_, t| {
        text(t.payload_bytes.map(ByteCount::get))
    }),
    ("intended_bps", |_, t| {
        text(t.intended_load.map(linerate_model::BitRate::bps))
    }),
    ("offered_bps", |_, t| {
        text(t.offered_load.map(linerate_model::BitRate::bps))
    }),
    ("received_bps", |_, t| {
        text(t.received_rate.map(linerate_model::BitRate::bps))
    }),
    ("received_bps_low", |_, t| {
        text(t.rounding("received_bps").map(|i| i.low))
    }),
    ("received_bps_high", |_, t| {
        text(t.rounding("received_bps").map(|i| i.high))
    }),
    ("duration_s", |_, t| {
        text(t.duration.map(|d| d.as_secs_f64()))
    }),
    ("sent_bytes", |_, t| text(t.sent_bytes.map(ByteCount::get))),
    ("received_bytes", |_, t| {
        text(t.received_bytes.map(ByteCount::get))
    }),
    ("sent_packets", |_, t| packets(t, |p| p.sent)),
    ("received_packets", |_, t| packets(t, |p| p.received)),
    ("lost_packets", |_, t| packets(t, |p| p.lost)),
    ("duplicated_packets", |_, t| packets(t, |p| p.duplicated)),
    ("reordered_packets", |_, t| packets(t, |p| p.reordered)),
    ("loss_ratio", |_, t| text(t.loss_ratio().map(Ratio::get))),
    ("delay_of", |_, t| {
        Some(words::delay_of(t.delay()?.of).to_owned())
    }),
    ("delay_mean_ns", |_, t| text(t.delay()?.mean_ns)),
    ("delay_min_ns", |_, t| delay(t, |d| d.min_ns)),
    ("delay_p50_ns", |_, t| delay(t, |d| d.p50_ns)),
    ("delay_p90_ns", |_, t| delay(t, |d| d.p90_ns)),
    ("delay_p99_ns", |_, t| delay(t, |d| d.p99_ns)),
    ("delay_p999_ns", |_, t| delay(t, |d| d.p999_ns)),
    ("delay_max_ns", |_, t| delay(t, |d| d.max_ns)),
    ("delay_stdev_ns", |_, t| text(t.delay()?.stdev_ns)),
    ("delay_count", |_, t| delay(t, |d| d.count)),
    ("half_round_trip_p50_ns", |_, t| half_round_trip(t)),
    ("delay_quantiles_ns", |_, t| quantiles(t)),
    ("retransmitted_segments", |_, t| {
        text(t.tcp()?.retransmitted_segments)
    }),
    ("cwnd_max_bytes", |_, t| {
        text(t.tcp()?.cwnd_max_bytes.map(ByteCount::get))
    }),
    ("srtt_mean_ns", |_, t| text(t.tcp()?.srtt_mean_ns)),
    ("sender_busiest_core_ratio", |_, t| {
        share(t.cpu.as_ref()?.sender.as_ref(), |c| c.busiest_core_ratio)
    }),
    ("sender_thread_ratio", |_, t| {
        share(t.cpu.as_ref()?.sender.as_ref(), |c| c.thread_ratio)
    }),
    ("receiver_busiest_core_ratio", |_, t| {
        share(t.cpu.as_ref()?.receiver.as_ref(), |c| c.busiest_core_ratio)
    }),
    ("receiver_thread_ratio", |_, t| {
        share(t.cpu.as_ref()?.receiver.as_ref(), |c| c.thread_ratio)
    }),
    ("valid", |_, t| Some(t.valid.to_string())),
    ("reasons", |_, t| Some(t.reasons.join("; "))),
];

fn text(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn packets(trial: &Trial, get: fn(&Packets) -> Option<PacketCount>) -> Option<String> {
    text(get(trial.packets()?))
}

fn delay(trial: &Trial, get: fn(&Delay) -> Option<u64>) -> Option<String> {
    text(get(trial.delay()?))
}

/// What sfnt-pingpong calls the median.
fn half_round_trip(trial: &Trial) -> Option<String> {
    let delay = trial.delay()?;
    let median = crate::figures::float(delay.p50_ns?);
    match delay.of {
        DelayOf::RoundTrip => text(Some(median / 2.0)),
        DelayOf::HalfRoundTrip => text(Some(median)),
        _ => None,
    }
}

/// Those that were asked for: `p99=12345 p99.99=23456`.
fn quantiles(trial: &Trial) -> Option<String> {
    let listed = trial.delay()?.quantiles.iter();
    let each = listed.map(|one| format!("{}={}", Quantile(one.quantile_ratio), one.value_ns));
    let each: Vec<_> = each.collect();
    (!each.is_empty()).then(|| each.join(" "))
}

fn share(side: Option<&CpuSide>, get: fn(&CpuSide) -> Option<Ratio>) -> Option<String> {
    text(get(side?).map(Ratio::get))
}
