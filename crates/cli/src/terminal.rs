//! What the user sees while a run goes on: a line for each interval or trial over a progress bar, JSON lines, or nothing.

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_model::BitRate;
use linerate_model::agent::AgentEvent;
use linerate_model::run::{Host, RunKind, Trial};
use linerate_report::figures::{clean, clean_char};
use linerate_report::{
    LiveInterval, Style, interval_heading, interval_line, trial_heading, trial_line,
};
use linerate_studies::watch::{Event, Watcher};
use linerate_sys::clock::wall_now;
use serde_json::json;
use std::borrow::Cow;
use std::env;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use terminal_size::{Width, terminal_size_of};

/// The watcher that the output options ask for.
pub(crate) fn watcher(stream: bool, quiet: bool) -> Box<dyn Watcher> {
    if stream {
        Box::new(JsonLines)
    } else if quiet || !io::stderr().is_terminal() {
        Box::new(Notes { quiet })
    } else {
        Box::new(Bar::new())
    }
}

/// A progress bar on standard error, and above it a line for each interval of a test and each trial of a search.
struct Bar {
    progress: ProgressBar,
    /// What is being run.
    kind: Option<RunKind>,
    /// Whether the lines have their heading.
    is_headed: bool,
    /// Intended and received load of the search's trials.
    so_far: Vec<(BitRate, BitRate)>,
}

/// Steps of the bar; finer than any terminal is wide.
const STEPS: f64 = 1000.0;

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template(
            "{prefix:.bold} [{bar:30}] {percent:>3} % {elapsed} {wide_msg}",
        )
        .expect("invariant: the template is constant")
        .progress_chars("=> ");
        bar.set_style(style);
        Self {
            progress: bar,
            kind: None,
            is_headed: false,
            so_far: Vec::new(),
        }
    }

    fn began(&mut self, kind: RunKind, title: &str) {
        (self.kind, self.is_headed) = (Some(kind), false);
        self.so_far.clear();
        self.progress.set_position(0);
        self.progress.set_prefix(clean(title));
    }

    /// A line above the bar, the first under its heading.
    fn line(&mut self, heading: impl FnOnce() -> String, line: &str) {
        let heading = (!self.is_headed).then(heading);
        self.is_headed = true;
        self.progress.suspend(|| {
            let mut err = io::stderr().lock();
            if let Some(heading) = heading {
                let _ = writeln!(err, "{heading}");
            }
            let _ = writeln!(err, "{}", clean(line));
        });
    }

    /// A trial of a search is a point of its curve.
    fn trial(&mut self, trial: &Trial) {
        if self.kind != Some(RunKind::Saturate) {
            return;
        }
        let valid = trial.intended_load.zip(trial.received_rate);
        self.so_far.extend(valid.filter(|_| trial.valid));
        let line = trial_line(trial, &self.so_far);
        self.line(trial_heading, &line);
    }
}

impl Watcher for Bar {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Began { kind, title, .. } | Event::Follows { kind, title } => {
                self.began(kind, title);
            }
            // Lines have the busiest core.
            Event::Cores { .. } => {}
            Event::Progress { share, text, .. } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "`as` saturates"
                )]
                self.progress
                    .set_position((share.clamp(0.0, 1.0) * STEPS) as u64);
                self.progress.set_message(clean(text));
            }
            Event::Interval(interval) => {
                if matches!(self.kind, Some(RunKind::Tcp | RunKind::Udp)) {
                    let heading = || interval_heading(interval.transport);
                    self.line(heading, &interval_line(interval));
                }
            }
            Event::Trial(trial) => self.trial(trial),
            Event::Note(text) | Event::Warning(text) => self.progress.suspend(|| note(text)),
            Event::Ended => self.progress.finish_and_clear(),
        }
    }
}

/// Notes only, for a user who wants quiet only what the result does not say: standard error is not a terminal, or a
/// program reads the output.
struct Notes {
    quiet: bool,
}

impl Watcher for Notes {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Note(text) if !self.quiet => note(text),
            Event::Warning(text) => note(text),
            _ => {}
        }
    }
}

/// One JSON object per line on standard output.
struct JsonLines;

impl Watcher for JsonLines {
    fn event(&mut self, event: Event<'_>) {
        let line = match event {
            Event::Cores { .. } => return,
            Event::Began { kind, title, hosts } => {
                let host = |host: &Host| {
                    let facts = &host.facts;
                    json!({"role": host.role, "name": host.name, "cpu": facts.cpu_model, "kernel": facts.kernel_release})
                };
                let hosts: Vec<_> = hosts.iter().map(host).collect();
                json!({"event": "began", "kind": kind, "title": title, "hosts": hosts})
            }
            Event::Follows { kind, title } => {
                json!({"event": "began", "kind": kind, "title": title})
            }
            Event::Progress {
                share,
                text,
                elapsed,
            } => {
                json!({"event": "progress", "share_ratio": share, "text": text, "elapsed_s": elapsed.as_secs_f64()})
            }
            Event::Interval(interval) => interval_json(interval),
            Event::Trial(trial) => json!({"event": "trial", "trial": trial}),
            Event::Note(text) | Event::Warning(text) => json!({"event": "note", "text": text}),
            Event::Ended => json!({"event": "ended"}),
        };
        // A reader that has gone away ends the command when it prints its result.
        let _ = print_line(&line.to_string());
    }
}

/// An interval as an event: what is not told is null.
fn interval_json(interval: &LiveInterval) -> serde_json::Value {
    let rate = if interval.is_sent {
        "offered_bps"
    } else {
        "received_bps"
    };
    json!({
        "event": "interval",
        "direction": interval.direction,
        "start_s": interval.start.as_secs_f64(),
        "end_s": interval.end.as_secs_f64(),
        rate: interval.rate,
        "lost_packets": interval.lost.map(|(lost, _)| lost),
        "loss_ratio": interval.lost.map(|(_, ratio)| ratio),
        "retransmitted_segments": interval.retransmitted,
        "srtt_ns": interval.srtt_ns,
        "cwnd_bytes": interval.cwnd,
        "sender_busiest_core_ratio": interval.sender_cpu,
        "receiver_busiest_core_ratio": interval.receiver_cpu,
    })
}

/// How text is laid out on standard output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Where lines wrap; a pipe gets them whole.
    pub(crate) width: usize,
    /// Colours, on a terminal whose user has not declined them.
    pub(crate) style: Style,
}

/// The layout of standard output.
pub(crate) fn layout() -> Layout {
    let Some((Width(columns), _)) = terminal_size_of(io::stdout()) else {
        return Layout {
            width: usize::MAX,
            style: Style::Plain,
        };
    };
    // https://no-color.org: set and not empty.
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = env::var_os("TERM").is_none_or(|term| term == "dumb");
    Layout {
        width: usize::from(columns),
        style: if is_set("NO_COLOR") || is_dumb {
            Style::Plain
        } else {
            Style::Ansi
        },
    }
}

/// Prints to standard output; a closed pipe is an error, not a panic.
///
/// Only JSON still holds C1 controls and characters that reorder a line, since its strings are as they were recorded:
/// they are printed by their numbers, which says the same to who parses it and nothing to a terminal.
pub(crate) fn print_line(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}", escaped(text))
        .and_then(|()| out.flush())
        .context(OutputFailed)
}

/// Prints a JSON document as it is written, so that it is never in memory whole.
pub(crate) fn print_json(
    document: impl FnOnce(&mut dyn Write) -> serde_json::Result<()>,
) -> Result<()> {
    let mut out = Escaping(io::BufWriter::new(io::stdout().lock()));
    document(&mut out)
        .map_err(io::Error::from)
        .and_then(|()| writeln!(out))
        .and_then(|()| out.flush())
        .context(OutputFailed)
}

/// Writes what [`escaped`] makes of texts, each of which it is given whole.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(text) {
            Ok(plain) => self.0.write_all(escaped(plain).as_bytes())?,
            Err(error) => return Err(io::Error::other(error)),
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Text in which JSON's escapes stand for what would command or reorder a terminal's line.
fn escaped(text: &str) -> Cow<'_, str> {
    let is_bad = |c: char| !c.is_ascii() && clean_char(c) != c;
    if !text.chars().any(is_bad) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| {
        if is_bad(c) {
            format!("\\u{:04x}", u32::from(c))
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// The context of every failure to print.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutputFailed;

impl fmt::Display for OutputFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot write to standard output")
    }
}

/// Prints a note to standard error. What peers, logs and files say in it commands no terminal.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "note: {}", clean(text));
}

/// How a server's events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    /// Lines of JSON on standard output, with the time of each.
    Json,
    /// Lines with the priority in front that journald takes from it, which adds the time.
    Journal,
    /// Notes on standard error, for who is at the terminal.
    #[value(skip)]
    Notes,
    /// Lines on standard error, each with its time.
    Text,
}

/// Writes an event at a server. Who reads the events may leave before the server does.
pub(crate) fn agent_event(event: &AgentEvent, form: LogForm) {
    let words = || clean(&linerate_report::agent_event(event));
    let _ = match form {
        LogForm::Json => match serde_json::to_value(event) {
            Ok(mut line) => {
                line["time"] = json!(wall_now());
                writeln!(io::stdout(), "{}", escaped(&line.to_string()))
            }
            Err(_) => Ok(()),
        },
        LogForm::Journal => {
            // sd-daemon(3): warning, informational.
            let priority = if event.is_trouble() { 4 } else { 6 };
            writeln!(io::stderr(), "<{priority}>{}", words())
        }
        LogForm::Notes => return note(&words()),
        LogForm::Text => writeln!(io::stderr(), "{} {}", wall_now(), words()),
    };
}

/// Prints help to standard error where no command was given.
pub(crate) fn usage(help: &str) {
    let _ = write!(io::stderr(), "{help}");
}

/// Prints an error to standard error. One that cannot be written is dropped.
pub(crate) fn error(text: &str) {
    let _ = writeln!(io::stderr(), "linerate: {}", clean(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_commands_no_terminal_and_says_the_same() {
        let text = "{\"peer\": \"a\u{9b}2J\u{202e}b\u{2028}é µ\"}";
        let printed = escaped(text);
        assert_eq!(printed, r#"{"peer": "a\u009b2J\u202eb\u2028é µ"}"#);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&printed), value(text));
        assert!(matches!(escaped("µ and –"), Cow::Borrowed(_)));
    }
}
