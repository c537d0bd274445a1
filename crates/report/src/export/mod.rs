//! Run documents in other programs' formats.

mod columns;
#[cfg(any(feature = "parquet", test))]
mod parquet;

#[cfg(any(feature = "parquet", test))]
pub use parquet::parquet;

use crate::csv::{kebab, table, text};
use columns::columns;
use linerate_model::run::{Run, Trial, TrialInterval};
use linerate_model::{BitRate, ByteCount, PacketCount};

/// The run document, indented, with a final line feed.
pub fn json(run: &Run) -> String {
    let mut text = serde_json::to_string_pretty(run).expect("invariant: a run is a JSON value");
    text.push('\n');
    text
}

/// One row per trial, of the runs and of their parts, as CSV with units in the headings: what the trial is, every
/// quantity that a trial can tell, what to know of these.
///
/// An empty cell means that the source cannot tell.
pub fn csv<'a>(runs: impl IntoIterator<Item = &'a Run>) -> String {
    let columns = &columns();
    let rows = runs.into_iter().flat_map(trials).map(|(run, trial)| {
        let columns = columns.iter();
        columns.map(move |column| column.cell.text(run, trial))
    });
    table(columns.iter().map(|column| &*column.name), rows)
}

/// One row per reporting interval of each trial, of the run and of its parts, as CSV.
///
/// Sender and receiver may have intervals of their own, each with the other side's cells empty.
pub fn intervals_csv(run: &Run) -> String {
    let rows = trials(run).into_iter().flat_map(|(run, trial)| {
        trial.intervals.iter().map(move |interval| {
            let columns = INTERVAL_COLUMNS.iter();
            columns.map(move |(_, cell)| cell(run, trial, interval))
        })
    });
    table(INTERVAL_COLUMNS.iter().map(|(name, _)| *name), rows)
}

/// A heading and how the cell of a reporting interval is made; `None` is an empty cell.
type IntervalColumn = (
    &'static str,
    fn(&Run, &Trial, &TrialInterval) -> Option<String>,
);

static INTERVAL_COLUMNS: &[IntervalColumn] = &[
    ("run", |run, _, _| Some(run.id.clone())),
    ("trial", |_, trial, _| text(Some(trial.index))),
    ("label", |_, trial, _| trial.label.clone()),
    ("direction", |_, trial, _| kebab(&trial.direction)),
    ("layer", |_, trial, _| kebab(&trial.layer)),
    ("start_s", |_, _, i| text(Some(i.start.as_secs_f64()))),
    ("end_s", |_, _, i| text(Some(i.end.as_secs_f64()))),
    ("offered_bps", |_, _, i| {
        text(i.offered_load.map(BitRate::bps))
    }),
    ("received_bps", |_, _, i| {
        text(i.received_rate.map(BitRate::bps))
    }),
    ("cwnd_bytes", |_, _, i| {
        text(i.cwnd_bytes.map(ByteCount::get))
    }),
    ("srtt_ns", |_, _, i| text(i.srtt_ns)),
    ("retransmitted_segments", |_, _, i| {
        text(i.retransmitted_segments)
    }),
    ("lost_packets", |_, _, i| {
        text(i.lost_packets.map(PacketCount::get))
    }),
    ("total_packets", |_, _, i| {
        text(i.total_packets.map(PacketCount::get))
    }),
];

/// The trials of `run` and of all its parts, each with the run it belongs to.
fn trials(run: &Run) -> Vec<(&Run, &Trial)> {
    let own = run.trials.iter().map(|trial| (run, trial));
    own.chain(run.parts().iter().flat_map(trials)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::RunWork;
    use linerate_store::import::import;

    const LOG: &str = include_str!(
        "../../../store/tests/fixtures/published/hifive-unleashed/udp/board-receives/256M.client.log"
    );

    pub(super) fn run() -> Run {
        let files = [("256M.client.log".to_owned(), LOG.as_bytes().to_vec())];
        import(&files).unwrap().runs.remove(0)
    }

    #[test]
    fn csv_has_units_in_its_headings_and_nothing_for_the_unknown() {
        let table = csv([&run()]);
        // A title may have a comma.
        let mut reader = ::csv::Reader::from_reader(table.as_bytes());
        let heads = reader.headers().unwrap().clone();
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        let row: std::collections::BTreeMap<_, _> = heads.iter().zip(&rows[0]).collect();
        assert_eq!(rows.len(), 1);
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
        assert!(csv([&run]).contains(",\"64 B, \"\"spin\"\"\","));
    }

    #[test]
    fn trials_of_parts_are_rows_too() {
        let mut whole = run();
        whole.work = RunWork::Demo { parts: vec![run()] };
        assert_eq!(csv([&whole]).lines().count(), 3);
    }

    #[test]
    fn json_is_the_document() {
        let back: Run = serde_json::from_str(&json(&run())).unwrap();
        assert_eq!(back, run());
    }
}
