//! What the user sees while a run goes on: a progress bar, JSON lines, or nothing.

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_report::figures::clean;
use linerate_studies::watch::{Event, Watcher};
use serde_json::json;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};

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

/// A progress bar on standard error.
struct Bar {
    bar: ProgressBar,
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
        Self { bar }
    }
}

impl Watcher for Bar {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Began { title, .. } => {
                self.bar.set_position(0);
                self.bar.set_prefix(clean(title));
            }
            Event::Progress { share, text, .. } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "`as` saturates"
                )]
                self.bar
                    .set_position((share.clamp(0.0, 1.0) * STEPS) as u64);
                self.bar.set_message(clean(text));
            }
            Event::Trial(_) => {}
            Event::Note(text) => self.bar.suspend(|| note(text)),
            Event::Ended => self.bar.finish_and_clear(),
        }
    }
}

/// Notes only: standard error is not a terminal, or the user wants quiet.
struct Notes {
    quiet: bool,
}

impl Watcher for Notes {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Note(text) = event
            && !self.quiet
        {
            note(text);
        }
    }
}

/// One JSON object per line on standard output.
struct JsonLines;

impl Watcher for JsonLines {
    fn event(&mut self, event: Event<'_>) {
        let line = match event {
            Event::Began { kind, title } => json!({"event": "began", "kind": kind, "title": title}),
            Event::Progress {
                share,
                text,
                elapsed,
            } => {
                json!({"event": "progress", "share_ratio": share, "text": text, "elapsed_s": elapsed.as_secs_f64()})
            }
            Event::Trial(trial) => json!({"event": "trial", "trial": trial}),
            Event::Note(text) => json!({"event": "note", "text": text}),
            Event::Ended => json!({"event": "ended"}),
        };
        // A reader that has gone away ends the command when it prints its result.
        let _ = print_line(&line.to_string());
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
    let is_bad = |c: char| !c.is_ascii() && clean(c.encode_utf8(&mut [0; 4])) != c.to_string();
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

/// Prints an error to standard error, likewise.
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
