//! Stored runs, newest first: when, what came of it, what limits, and what it is about.

use crate::figures::{float, nanos, rate};
use crate::paper::{Paper, Style};
use crate::words;
use linerate_model::WallTime;
use linerate_model::listing::{Entry, Figure, StoredRun, Summary};
use linerate_model::run::RunStatus;

/// The runs of a store in the order given, a line or two for each; lines wrap at `width`.
pub fn listing_text(kept: &[StoredRun], width: usize, style: Style) -> String {
    if kept.is_empty() {
        return "no runs: `linerate demo` makes one, `linerate tcp HOST` measures".to_owned();
    }
    let heading = ["run", "started (UTC)", "result", "limit"]
        .map(str::to_owned)
        .to_vec();
    let rows = kept.iter().map(row);
    let table: Vec<_> = std::iter::once((heading, None)).chain(rows).collect();
    let mut paper = Paper::new(width, style);
    paper.listing(&table);
    paper.finish().trim_end().to_owned()
}

/// The line of figures, and the one of words.
fn row(kept: &StoredRun) -> (Vec<String>, Option<String>) {
    let mut figures = vec![kept.listed.id.clone()];
    let mut about = Vec::new();
    match &kept.listed.entry {
        Entry::Broken { reason } => about.push(format!("broken: {reason}")),
        Entry::Run(run) => {
            about.extend(run.title.clone());
            about.extend(said(run.status));
            let limit = run.limit.as_ref().map(|(_, name)| name.clone());
            figures.extend([
                run.started.as_ref().map_or_else(String::new, to_the_minute),
                listed_figure(run),
                limit.unwrap_or_default(),
            ]);
        }
    }
    if !kept.tags.is_empty() {
        about.push(format!("tagged {}", kept.tags.join(", ")));
    }
    let note = kept.note.as_ref();
    about.extend(note.map(|note| format!("note: {}", note.replace('\n', " "))));
    (figures, (!about.is_empty()).then(|| about.join(" · ")))
}

/// `2026-11-24 07:45`.
pub fn to_the_minute(time: &WallTime) -> String {
    let text = time.to_string();
    text.chars().take(16).collect::<String>().replace('T', " ")
}

fn said(status: RunStatus) -> Option<String> {
    match status {
        RunStatus::Complete => None,
        RunStatus::Incomplete => Some("incomplete".to_owned()),
        RunStatus::Invalid => Some("invalid".to_owned()),
    }
}

/// The figure that people ask for first, in words; empty without one.
pub fn listed_figure(run: &Summary) -> String {
    match run.result {
        Some(Figure::MedianReceived(_)) | None if run.parts > 0 => words::counted(run.parts, "run"),
        Some(Figure::Received(received) | Figure::MedianReceived(received)) => rate(received),
        Some(Figure::LowerBound(bound)) => format!("≥ {}", rate(bound)),
        Some(Figure::FrameLowerBound { frame, rate }) => format!("≥ {rate}, {} B", frame.get()),
        Some(Figure::MedianNs(ns)) => format!("p50 {}", nanos(float(ns))),
        Some(Figure::MeanNs(ns)) => format!("mean {}", nanos(ns)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;
    use linerate_model::listing::StoreEntry;
    use linerate_model::run::{RunKind, Tool};
    use std::path::PathBuf;

    fn run(title: &str, result: Option<Figure>) -> Entry {
        Entry::Run(Summary {
            kind: RunKind::Udp,
            title: Some(title.to_owned()),
            started: None,
            status: RunStatus::Complete,
            tool: Tool::unversioned("linerate"),
            trials: 1,
            parts: 0,
            result,
            limit: Some(("link".to_owned(), "the link's rate".to_owned())),
        })
    }

    fn kept(id: &str, entry: Entry) -> StoredRun {
        let (id, path) = (id.to_owned(), PathBuf::new());
        StoredRun {
            listed: StoreEntry { id, path, entry },
            tags: Vec::new(),
            note: None,
        }
    }

    #[test]
    fn each_run_has_its_figures_on_a_line_and_its_words_on_the_next() {
        let received = Figure::Received(BitRate::from_bps(94_120_000));
        let entry = run("UDP to board", Some(received));
        let first = StoredRun {
            tags: vec!["baseline".to_owned()],
            note: Some("after the\nkernel update".to_owned()),
            ..kept("20261124-074500-udp-1f3a", entry)
        };
        let reason = "torn".to_owned();
        let listed = [first, kept("b", Entry::Broken { reason })];
        let text = listing_text(&listed, usize::MAX, Style::Plain);
        assert_eq!(
            text,
            "run                       started (UTC)  result        limit\n\
             20261124-074500-udp-1f3a                 94.12 Mbit/s  the link's rate\n\
             \x20   UDP to board · tagged baseline · note: after the kernel update\n\
             b\n\
             \x20   broken: torn"
        );
        for line in listing_text(&listed, 50, Style::Plain).lines() {
            assert!(line.chars().count() <= 50, "{line}");
        }
    }

    #[test]
    fn round_trips_without_a_median_are_listed_by_their_mean() {
        let entry = run("TCP ping-pong", Some(Figure::MeanNs(41_134.0)));
        let text = listing_text(&[kept("a", entry)], 80, Style::Plain);
        assert!(text.contains("mean 41.1 µs"), "{text}");
    }

    #[test]
    fn what_a_log_calls_itself_commands_no_terminal() {
        let entry = run("\u{1b}[2Jgone", None);
        let text = listing_text(&[kept("a", entry)], 80, Style::Plain);
        assert!(
            text.contains("\u{fffd}[2Jgone") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(listing_text(&[], 80, Style::Plain).contains("linerate demo"));
    }
}
