//! Stored runs, newest first: when, what came of it, what limits, and what it is about.

use crate::figures::{float, nanos, rate};
use crate::paper::{Paper, Style};
use crate::words;
use linerate_model::run::{RunKind, RunStatus};
use linerate_model::{BitRate, ByteCount, PacketRate, WallTime};

/// What is at one place of a store.
#[derive(Debug, Clone, Copy)]
pub struct ListedRun<'a> {
    /// The run's id.
    pub id: &'a str,
    /// What is there.
    pub entry: ListedEntry<'a>,
    /// What it is called.
    pub tags: &'a [String],
    /// The user's note on it.
    pub note: Option<&'a str>,
}

/// What is at one place of a store.
#[derive(Debug, Clone, Copy)]
pub enum ListedEntry<'a> {
    /// Cannot be read.
    Broken {
        /// What was found, and what to do.
        reason: &'a str,
    },
    /// A run.
    Run {
        /// Which command, or what kind of log, it came from.
        kind: RunKind,
        /// Whether it came to its end.
        status: RunStatus,
        /// What it is about.
        title: Option<&'a str>,
        /// When it started.
        started: Option<&'a WallTime>,
        /// The figure that people ask for first.
        result: ListedResult,
        /// What limits it, in words.
        limit: Option<&'a str>,
    },
}

/// The figure that people ask for first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ListedResult {
    /// Lower bound of a search, intended load, L4 payload.
    LowerBound(BitRate),
    /// What a device forwards of the first frame size: lower bound, intended load.
    FrameLowerBound {
        /// Length of a frame from destination address to FCS.
        frame: ByteCount,
        /// Frames per second.
        rate: PacketRate,
    },
    /// Smallest median of what was timed, nanoseconds.
    MedianNs(u64),
    /// None, or none that one figure says.
    None,
    /// So many runs.
    Parts(usize),
    /// Received rate, L4 payload.
    Received(BitRate),
}

/// The runs of a store in the order given, a line or two for each; lines wrap at `width`.
pub fn listing_text(listed: &[ListedRun<'_>], width: usize, style: Style) -> String {
    if listed.is_empty() {
        return "no runs: `linerate demo` makes one, `linerate tcp HOST` measures".to_owned();
    }
    let heading = ["run", "started (UTC)", "result", "limit"]
        .map(str::to_owned)
        .to_vec();
    let rows = listed.iter().map(row);
    let table: Vec<_> = std::iter::once((heading, None)).chain(rows).collect();
    let mut paper = Paper::new(width, style);
    paper.listing(&table);
    paper.finish().trim_end().to_owned()
}

/// The line of figures, and the one of words.
fn row(listed: &ListedRun<'_>) -> (Vec<String>, Option<String>) {
    let id = listed.id.to_owned();
    let mut about = Vec::new();
    let figures = match listed.entry {
        ListedEntry::Broken { reason } => {
            about.push(format!("broken: {reason}"));
            vec![id]
        }
        ListedEntry::Run {
            status,
            title,
            started,
            result,
            limit,
            ..
        } => {
            about.extend(title.map(str::to_owned));
            about.extend(said(status));
            let started = started.map_or_else(String::new, to_the_minute);
            let limit = limit.unwrap_or_default().to_owned();
            vec![id, started, listed_figure(result), limit]
        }
    };
    if !listed.tags.is_empty() {
        about.push(format!("tagged {}", listed.tags.join(", ")));
    }
    about.extend(
        listed
            .note
            .map(|note| format!("note: {}", note.replace('\n', " "))),
    );
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

/// The figure in words; empty without one.
pub fn listed_figure(result: ListedResult) -> String {
    match result {
        ListedResult::None => String::new(),
        ListedResult::Received(received) => rate(received),
        ListedResult::LowerBound(bound) => format!("≥ {}", rate(bound)),
        ListedResult::FrameLowerBound { frame, rate } => {
            format!("≥ {rate}, {} B", frame.get())
        }
        ListedResult::MedianNs(ns) => format!("p50 {}", nanos(float(ns))),
        ListedResult::Parts(parts) => words::counted(parts, "run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(title: &'static str, result: ListedResult) -> ListedEntry<'static> {
        ListedEntry::Run {
            kind: RunKind::Udp,
            status: RunStatus::Complete,
            title: Some(title),
            started: None,
            result,
            limit: Some("the link's rate"),
        }
    }

    fn listed<'a>(id: &'a str, entry: ListedEntry<'a>) -> ListedRun<'a> {
        ListedRun {
            id,
            entry,
            tags: &[],
            note: None,
        }
    }

    #[test]
    fn each_run_has_its_figures_on_a_line_and_its_words_on_the_next() {
        let tags = ["baseline".to_owned()];
        let received = ListedResult::Received(BitRate::from_bps(94_120_000));
        let first = ListedRun {
            tags: &tags,
            note: Some("after the\nkernel update"),
            ..listed("20261124-074500-udp-1f3a", run("UDP to board", received))
        };
        let broken = listed("b", ListedEntry::Broken { reason: "torn" });
        let text = listing_text(&[first, broken], usize::MAX, Style::Plain);
        assert_eq!(
            text,
            "run                       started (UTC)  result        limit\n\
             20261124-074500-udp-1f3a                 94.12 Mbit/s  the link's rate\n\
             \x20   UDP to board · tagged baseline · note: after the kernel update\n\
             b\n\
             \x20   broken: torn"
        );
        for line in listing_text(&[first, broken], 50, Style::Plain).lines() {
            assert!(line.chars().count() <= 50, "{line}");
        }
    }

    #[test]
    fn what_a_log_calls_itself_commands_no_terminal() {
        let entry = run("\u{1b}[2Jgone", ListedResult::None);
        let text = listing_text(&[listed("a", entry)], 80, Style::Plain);
        assert!(
            text.contains("\u{fffd}[2Jgone") && !text.contains('\u{1b}'),
            "{text}"
        );
        assert!(listing_text(&[], 80, Style::Plain).contains("linerate demo"));
    }
}
