//! From files to what is said of them.

use linerate_analysis::conclude;
use linerate_model::WallTime;
use linerate_model::run::Run;
use linerate_report::renderers::{self, Renderer};
use linerate_report::{Report, Style, summaries_text, summary_text, title};
use linerate_store::import::{Findings, Hints, import_in_parts};
use linerate_store::{is_document, run_from_document};
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::Path;
use std::str::FromStr;

/// A file: its name and its content.
pub type InputFile = (String, Vec<u8>);

/// What the user says beside the files, as typed; empty: nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExplainOptions {
    /// `--link-speed`: speed of the link that the tests crossed, at L2.
    pub link_speed: String,
    /// `--zperf-units`: step of K and M in zperf's figures.
    pub zperf_units: String,
    /// `--hgrm`: transport and unit of `.hgrm` files.
    pub hgrm: String,
}

/// What is shown of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Answer {
    /// At least one run came of them.
    Explained(Box<Explanation>),
    /// Nothing could be read.
    Refused {
        /// What was tried, on what, why it failed and what to do.
        error: String,
    },
}

/// What came of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What the report is about.
    pub title: String,
    /// What the command prints at its end but for where the run is, wrapped at 80 columns.
    pub words: String,
    /// What figures contradict, and what else should be known.
    pub notes: Vec<String>,
    /// Files, and tests in them, that could not be read.
    pub left_out: Vec<String>,
    /// The report: a whole HTML page.
    pub report: String,
    /// The run document, or an array of them.
    pub document: String,
    /// How many runs came of the files.
    pub runs: usize,
}

/// Explains logs of other tools, joined as `linerate import` does, and run documents.
///
/// `now` is when the report is made, a label.
pub fn explain(files: Vec<InputFile>, asked: &ExplainOptions, now: &WallTime) -> Answer {
    match explained(files, asked, now) {
        Ok(explained) => Answer::Explained(Box::new(explained)),
        Err(error) => Answer::Refused { error },
    }
}

fn explained(
    files: Vec<InputFile>,
    asked: &ExplainOptions,
    now: &WallTime,
) -> Result<Explanation, String> {
    let hints = asked.hints()?;
    let (documents, logs): (Vec<InputFile>, Vec<InputFile>) = files.into_iter().partition(is_run);
    let mut read = ReadLogs::default();
    read.documents(&documents);
    read.logs(&logs, &hints);
    if read.runs.is_empty() {
        let why = read.left_out.join("; ");
        return Err(if why.is_empty() {
            "no file was given: choose logs of measuring tools, or run documents of linerate"
                .to_owned()
        } else {
            why
        });
    }
    let report = Report {
        title: title(&read.runs),
        made: now.clone(),
        runs: &read.runs,
    };
    let fault =
        |error: &dyn Error| format!("{error}: this is a fault in linerate, please report it");
    Ok(Explanation {
        words: words(&read.runs),
        report: html().render(&report).map_err(|error| fault(&error))?,
        document: document(&read.runs).map_err(|error| fault(&error))?,
        runs: read.runs.len(),
        title: report.title,
        notes: read.notes,
        left_out: read.left_out,
    })
}

impl ExplainOptions {
    fn hints(&self) -> Result<Hints, String> {
        Ok(Hints {
            zperf_units: typed("--zperf-units", &self.zperf_units)?,
            hgrm: typed("--hgrm", &self.hgrm)?,
            link_speed: typed("--link-speed", &self.link_speed)?,
        })
    }
}

/// What was typed for an option; `None` of nothing.
fn typed<T: FromStr<Err: Display>>(option: &str, text: &str) -> Result<Option<T>, String> {
    match text.trim() {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|error| format!("{option}: {error}")),
    }
}

fn is_run((_, bytes): &InputFile) -> bool {
    is_document(|| Ok(bytes.as_slice())).unwrap_or(false)
}

/// What was read so far.
#[derive(Default)]
struct ReadLogs {
    runs: Vec<Run>,
    notes: Vec<String>,
    left_out: Vec<String>,
}

impl ReadLogs {
    fn documents(&mut self, documents: &[InputFile]) {
        for (name, bytes) in documents {
            match run_from_document(Path::new(name), bytes) {
                Ok(mut run) => {
                    conclude(&mut run);
                    self.runs.push(run);
                }
                Err(error) => self.left_out.push(error.to_string()),
            }
        }
    }

    fn logs(&mut self, logs: &[InputFile], hints: &Hints) {
        if logs.is_empty() {
            return;
        }
        let runs = &mut self.runs;
        let read = import_in_parts(logs, hints, &mut |mut part| {
            part.iter_mut().for_each(conclude);
            runs.append(&mut part);
            ControlFlow::Continue(())
        });
        match read {
            Ok(Findings { warnings, refused }) => {
                self.notes.extend(warnings);
                let refused = refused.iter().map(ToString::to_string);
                self.left_out.extend(refused);
            }
            Err(error) => self.left_out.push(format!("cannot import: {error}")),
        }
    }
}

fn html() -> &'static Renderer {
    let mut all = renderers::ALL.iter().copied();
    all.find(|renderer| renderer.id == "html")
        .expect("invariant: HTML is a format of reports")
}

/// Columns of what is said: those of the smallest terminal in use.
const COLUMNS: usize = 80;

fn words(runs: &[Run]) -> String {
    let text = match runs {
        [run] => summary_text(run, None, COLUMNS, Style::Plain),
        _ => summaries_text(runs, COLUMNS, Style::Plain),
    };
    text.trim_end().to_owned()
}

/// As `--json` prints it.
fn document(runs: &[Run]) -> serde_json::Result<String> {
    match runs {
        [run] => serde_json::to_string_pretty(run),
        _ => serde_json::to_string_pretty(runs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = include_str!(
        "../../store/tests/fixtures/published/hifive-unleashed/udp/board-receives/1000M.client.log"
    );
    const OTHER_END: &str = include_str!(
        "../../store/tests/fixtures/published/hifive-unleashed/udp/board-receives/1000M.server.log"
    );

    fn now() -> WallTime {
        WallTime::from_unix(1_790_000_000).unwrap()
    }

    fn given(files: &[(&str, &str)]) -> Vec<InputFile> {
        let given = files.iter();
        given
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    fn explained(files: &[(&str, &str)], asked: &ExplainOptions) -> Explanation {
        match explain(given(files), asked, &now()) {
            Answer::Explained(explained) => *explained,
            Answer::Refused { error } => panic!("{error}"),
        }
    }

    fn refused(files: &[(&str, &str)], asked: &ExplainOptions) -> String {
        match explain(given(files), asked, &now()) {
            Answer::Refused { error } => error,
            Answer::Explained(explained) => panic!("{}", explained.words),
        }
    }

    #[test]
    fn both_ends_of_a_test_are_one_trial() {
        let both = explained(
            &[("1000M.client.log", LOG), ("1000M.server.log", OTHER_END)],
            &ExplainOptions::default(),
        );
        assert_eq!(both.runs, 1);
        let run = run_from_document(Path::new("x"), both.document.as_bytes()).unwrap();
        assert_eq!(run.trials.len(), 1);
        assert_eq!(run.source.unwrap().files.len(), 2);
        assert!(both.report.contains("<!DOCTYPE html>"));
    }

    #[test]
    fn a_run_document_gives_the_words_of_the_log_that_it_came_of() {
        let of_log = explained(&[("1000M.client.log", LOG)], &ExplainOptions::default());
        let again = explained(
            &[("run.json", &of_log.document)],
            &ExplainOptions::default(),
        );
        assert_eq!(again.words, of_log.words);
        assert_eq!(again.document, of_log.document);
    }

    /// More was asked for than the sender could offer, and most of what it offered was lost behind it.
    #[test]
    fn a_sender_is_not_blamed_for_what_is_lost_behind_it() {
        let logs = [
            include_str!("fixtures/iperf3-far-above-a-gigabit.log"),
            include_str!("fixtures/iperf2-far-above-a-gigabit.log"),
        ];
        for log in logs {
            let said = explained(&[("far-above.log", log)], &ExplainOptions::default()).words;
            assert!(said.contains("limited by the link's rate (weak)"), "{said}");
            let words: Vec<_> = said.split_whitespace().collect();
            assert!(
                words.join(" ").contains("what a link of 1 Gbit/s"),
                "{said}"
            );
        }
    }

    #[test]
    fn what_is_known_of_the_link_is_believed() {
        let asked = ExplainOptions {
            link_speed: " 1G ".to_owned(),
            ..ExplainOptions::default()
        };
        let known = explained(&[("1000M.client.log", LOG)], &asked);
        assert!(known.document.contains("Gbit/s was given at import"));
    }

    #[test]
    fn what_cannot_be_read_is_named_beside_what_can() {
        let files = [("1000M.client.log", LOG), ("notes.txt", "buy milk\n")];
        let mixed = explained(&files, &ExplainOptions::default());
        assert_eq!(mixed.runs, 1);
        assert!(mixed.left_out[0].starts_with("notes.txt is not a log that linerate can import"));
    }

    #[test]
    fn without_a_run_the_reason_is_given() {
        let asked = ExplainOptions::default();
        assert!(refused(&[], &asked).starts_with("no file was given"));
        let other = refused(&[("notes.txt", "buy milk\n")], &asked);
        assert!(
            other.starts_with("cannot import: notes.txt is not a log"),
            "{other}"
        );
        let torn = refused(&[("run.json", "{\"schema\": \"linerate/run/2\", ")], &asked);
        assert!(torn.starts_with("run.json is damaged at line 1"), "{torn}");
    }

    #[test]
    fn what_is_typed_wrong_is_named_by_its_option() {
        let wrong = |link_speed: &str, zperf_units: &str, hgrm: &str| {
            let [link_speed, zperf_units, hgrm] =
                [link_speed, zperf_units, hgrm].map(str::to_owned);
            refused(
                &[("a.log", LOG)],
                &ExplainOptions {
                    link_speed,
                    zperf_units,
                    hgrm,
                },
            )
        };
        assert!(wrong("fast", "", "").starts_with("--link-speed: "));
        assert!(wrong("", "10", "").starts_with("--zperf-units: "));
        assert!(wrong("", "", "tcp").starts_with("--hgrm: "));
    }
}
