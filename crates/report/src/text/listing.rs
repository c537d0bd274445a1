//! Stored runs, a line each.

use crate::figures::clean;
use linerate_model::run::{RunKind, RunStatus};

/// What is at one place of a store.
#[derive(Debug, Clone, Copy)]
pub enum ListedRun<'a> {
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
    },
}

/// The runs of a store by their ids.
pub fn listing_text<'a>(listed: impl IntoIterator<Item = (&'a str, ListedRun<'a>)>) -> String {
    let lines: Vec<_> = listed.into_iter().map(line).collect();
    if lines.is_empty() {
        return "no runs yet: `linerate demo` makes the first".to_owned();
    }
    lines.join("\n")
}

fn line((id, listed): (&str, ListedRun<'_>)) -> String {
    let text = match listed {
        ListedRun::Broken { reason } => format!("{id}  broken: {reason}"),
        ListedRun::Run {
            kind,
            status,
            title,
        } => {
            let status = format!("{status:?}").to_lowercase();
            let title = title.unwrap_or_default();
            format!("{id}  {:<8}  {status:<10}  {title}", kind.as_str())
        }
    };
    clean(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_log_calls_itself_commands_no_terminal() {
        let run = ListedRun::Run {
            kind: RunKind::Udp,
            status: RunStatus::Complete,
            title: Some("\u{1b}[2Jgone"),
        };
        let broken = ListedRun::Broken { reason: "torn" };
        assert_eq!(
            listing_text([("a", run), ("b", broken)]),
            "a  udp       complete    \u{fffd}[2Jgone\nb  broken: torn"
        );
        assert!(listing_text([]).contains("linerate demo"));
    }
}
