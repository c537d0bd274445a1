//! Run documents in other programs' formats.

use crate::csv::{LineEnd, table};
use linerate_model::run::{Run, Trial, TrialInterval};
use linerate_model::spec::Side;
use linerate_model::{BitRate, ByteCount, PacketCount, Quantile, Ratio};
use serde::Serialize;

/// The run document, indented, with a final line feed.
pub fn json(run: &Run) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("invariant: a run is a JSON value");
    text.push('\n');
    text
}

/// One row per trial, of the run and of its parts, as CSV (RFC 4180) with units in the headings.
///
/// An empty cell means that the source cannot tell.
pub fn csv(run: &Run) -> String {
    let rows = trials(run).into_iter().map(|(run, trial)| {
        let columns = TRIAL_COLUMNS.iter();
        columns.map(move |(_, cell)| cell(run, trial))
    });
    table(
        TRIAL_COLUMNS.iter().map(|(name, _)| *name),
        rows,
        LineEnd::CrLf,
    )
}

/// One row per reporting interval of each trial, of the run and of its parts, as CSV (RFC 4180).
///
/// Sender and receiver may have intervals of their own, each with the other side's cells empty.
pub fn intervals_csv(run: &Run) -> String {
    let rows = trials(run).into_iter().flat_map(|(run, trial)| {
        trial.intervals.iter().map(move |interval| {
            let columns = INTERVAL_COLUMNS.iter();
            columns.map(move |(_, cell)| cell(run, trial, interval))
        })
    });
    table(
        INTERVAL_COLUMNS.iter().map(|(name, _)| *name),
        rows,
        LineEnd::CrLf,
    )
}

/// A heading and how its cell is made; `None` is an empty cell.
type TrialColumn = (&'static str, fn(&Run, &Trial) -> Option<String>);

/// The same for a reporting interval.
type IntervalColumn = (
    &'static str,
    fn(&Run, &Trial, &TrialInterval) -> Option<String>,
);

static TRIAL_COLUMNS: &[TrialColumn] = &[
    ("run", |run, _| text(&run.id)),
    ("trial", |_, trial| text(&trial.index)),
    ("label", |_, trial| trial.label.clone()),
    ("transport", |_, trial| kebab(&trial.transport)),
    ("direction", |_, trial| kebab(&trial.direction)),
    ("layer", |_, trial| kebab(&trial.layer)),
    ("streams", |_, trial| trial.streams.as_ref().and_then(text)),
    ("payload_bytes", |_, trial| bytes(trial.payload_bytes)),
    ("intended_bps", |_, trial| rate(trial.intended_load)),
    ("offered_bps", |_, trial| rate(trial.offered_load)),
    ("received_bps", |_, trial| rate(trial.received_rate)),
    ("offered_pps", |_, trial| {
        trial.offered_packet_rate().and_then(|r| text(&r.pps()))
    }),
    ("received_pps", |_, trial| {
        trial.received_packet_rate().and_then(|r| text(&r.pps()))
    }),
    ("duration_s", |_, trial| {
        trial.duration.and_then(|d| text(&d.as_secs_f64()))
    }),
    ("sent_bytes", |_, trial| bytes(trial.sent_bytes)),
    ("received_bytes", |_, trial| bytes(trial.received_bytes)),
    ("sent_packets", |_, trial| {
        count(trial.packets().and_then(|p| p.sent))
    }),
    ("received_packets", |_, trial| {
        count(trial.packets().and_then(|p| p.received))
    }),
    ("lost_packets", |_, trial| {
        count(trial.packets().and_then(|p| p.lost))
    }),
    ("duplicated_packets", |_, trial| {
        count(trial.packets().and_then(|p| p.duplicated))
    }),
    ("reordered_packets", |_, trial| {
        count(trial.packets().and_then(|p| p.reordered))
    }),
    ("loss_ratio", |_, trial| {
        trial.loss_ratio().and_then(|r| text(&Ratio::get(r)))
    }),
    ("delay_of", |_, trial| {
        trial.delay().and_then(|d| kebab(&d.of))
    }),
    ("delay_min_ns", |_, trial| text(&trial.delay()?.min_ns?)),
    ("delay_mean_ns", |_, trial| text(&trial.delay()?.mean_ns?)),
    ("delay_p50_ns", |_, trial| text(&trial.delay()?.p50_ns?)),
    ("delay_p99_ns", |_, trial| text(&trial.delay()?.p99_ns?)),
    ("delay_p999_ns", |_, trial| text(&trial.delay()?.p999_ns?)),
    ("delay_max_ns", |_, trial| text(&trial.delay()?.max_ns?)),
    ("delay_stdev_ns", |_, trial| text(&trial.delay()?.stdev_ns?)),
    ("delay_quantiles_ns", |_, trial| quantiles(trial)),
    ("delay_count", |_, trial| text(&trial.delay()?.count?)),
    ("retransmitted_segments", |_, trial| {
        text(&trial.tcp()?.retransmitted_segments?)
    }),
    ("cwnd_mean_bytes", |_, trial| {
        bytes(trial.tcp()?.cwnd_mean_bytes)
    }),
    ("cwnd_max_bytes", |_, trial| {
        bytes(trial.tcp()?.cwnd_max_bytes)
    }),
    ("srtt_mean_ns", |_, trial| text(&trial.tcp()?.srtt_mean_ns?)),
    ("sender_host_cpu_ratio", |_, trial| {
        text(&trial.cpu_of(Side::Sender)?.host_ratio?.get())
    }),
    ("sender_thread_cpu_ratio", |_, trial| {
        text(&trial.cpu_of(Side::Sender)?.thread_ratio?.get())
    }),
    ("receiver_host_cpu_ratio", |_, trial| {
        text(&trial.cpu_of(Side::Receiver)?.host_ratio?.get())
    }),
    ("receiver_thread_cpu_ratio", |_, trial| {
        text(&trial.cpu_of(Side::Receiver)?.thread_ratio?.get())
    }),
    ("valid", |_, trial| text(&trial.valid)),
    ("reasons", |_, trial| Some(trial.reasons.join("; "))),
];

static INTERVAL_COLUMNS: &[IntervalColumn] = &[
    ("run", |run, _, _| text(&run.id)),
    ("trial", |_, trial, _| text(&trial.index)),
    ("label", |_, trial, _| trial.label.clone()),
    ("direction", |_, trial, _| kebab(&trial.direction)),
    ("layer", |_, trial, _| kebab(&trial.layer)),
    ("start_s", |_, _, i| text(&i.start.as_secs_f64())),
    ("end_s", |_, _, i| text(&i.end.as_secs_f64())),
    ("offered_bps", |_, _, i| rate(i.offered_load)),
    ("received_bps", |_, _, i| rate(i.received_rate)),
    ("cwnd_bytes", |_, _, i| bytes(i.cwnd_bytes)),
    ("srtt_ns", |_, _, i| text(&i.srtt_ns?)),
    ("retransmitted_segments", |_, _, i| {
        text(&i.retransmitted_segments?)
    }),
    ("lost_packets", |_, _, i| count(i.lost_packets)),
    ("total_packets", |_, _, i| count(i.total_packets)),
];

/// Quantiles that were asked for: `p99=12345 p99.99=23456`.
fn quantiles(trial: &Trial) -> Option<String> {
    let listed = trial.delay()?.quantiles.iter();
    let each = listed.map(|one| format!("{}={}", Quantile(one.quantile_ratio), one.value_ns));
    Some(each.collect::<Vec<_>>().join(" "))
}

/// The trials of `run` and of all its parts, each with the run it belongs to.
pub(crate) fn trials(run: &Run) -> Vec<(&Run, &Trial)> {
    let own = run.trials.iter().map(|trial| (run, trial));
    own.chain(run.parts().iter().flat_map(trials)).collect()
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a cell")]
fn text(value: &impl ToString) -> Option<String> {
    Some(value.to_string())
}

/// The value's name in the run document.
fn kebab(value: &impl Serialize) -> Option<String> {
    let name = serde_json::to_value(value).ok()?;
    name.as_str().map(str::to_owned)
}

fn rate(rate: Option<BitRate>) -> Option<String> {
    rate.and_then(|rate| text(&rate.bps()))
}

fn bytes(bytes: Option<ByteCount>) -> Option<String> {
    bytes.and_then(|bytes| text(&bytes.get()))
}

fn count(packets: Option<PacketCount>) -> Option<String> {
    packets.and_then(|packets| text(&packets.get()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::RunWork;
    use linerate_store::import::import;

    const LOG: &str = include_str!(
        "../../store/tests/fixtures/published/hifive-unleashed/udp/board-receives/256M.client.log"
    );

    fn run() -> Run {
        let files = [("256M.client.log".to_owned(), LOG.as_bytes().to_vec())];
        import(&files).unwrap().runs.remove(0)
    }

    #[test]
    fn csv_has_units_in_its_headings_and_nothing_for_the_unknown() {
        let table = csv(&run());
        let lines: Vec<_> = table.split_terminator("\r\n").collect();
        let row: std::collections::BTreeMap<_, _> =
            lines[0].split(',').zip(lines[1].split(',')).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(row["intended_bps"], "256000000");
        assert_eq!(row["received_bps"], "183000000");
        assert_eq!(row["lost_packets"], "62736");
        assert_eq!(row["direction"], "forward");
        assert_eq!(row["duplicated_packets"], "", "unknown is not zero");
        assert_eq!(row["layer"], "l4-payload");
    }

    #[test]
    fn intervals_have_a_table_of_their_own() {
        let table = intervals_csv(&run());
        assert_eq!(table.lines().count(), 11);
        assert!(
            table.lines().nth(1).unwrap().contains(",0,1,256000000,,"),
            "{table}"
        );
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let mut run = run();
        run.trials[0].label = Some("64 B, \"spin\"".to_owned());
        assert!(csv(&run).contains(",\"64 B, \"\"spin\"\"\","));
    }

    #[test]
    fn trials_of_parts_are_rows_too() {
        let mut whole = run();
        whole.work = RunWork::Demo { parts: vec![run()] };
        assert_eq!(csv(&whole).lines().count(), 3);
    }

    #[test]
    fn json_is_the_document() {
        let back: Run = serde_json::from_str(&json(&run())).unwrap();
        assert_eq!(back, run());
    }
}
