//! What loggers, containers, CI systems and pagers write before every line of what a tool printed.
//!
//! No logger is known here. Some lines of every tool begin with words of its own: what stands before these in a log is a
//! prefix, and its shape (words, blanks, punctuation) is looked for before all other lines.
//!
//! ```text
//! 2026-11-26T10:00:00+0000 probe1 iperf3[1234]: Connecting to host …
//! w-w-w:w:w+w w w[w]:                           shape, before words that begin a line
//! 2026-11-26T10:00:03+0000 probe1 iperf3[1234]: [  5]   0.00-0.50   sec …
//! ```

use std::collections::BTreeMap;

/// Longest prefix; what is longer is text.
const MAX_PREFIX_BYTES: usize = 256;
/// Most shapes of prefixes in one log.
const MAX_SHAPES: usize = 8;

/// A piece of a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// Letters and digits.
    Word,
    /// Blanks between two words. Those beside punctuation are padding, and may be missing.
    Blank,
    /// Punctuation.
    Mark(char),
}

/// What the prefixes of a log look like.
type Shape = Vec<Part>;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The shape of a prefix.
fn shape(prefix: &str) -> Shape {
    let mut shape = Shape::new();
    let mut is_after_blank = false;
    for c in prefix.chars() {
        if c.is_whitespace() {
            is_after_blank = true;
            continue;
        }
        match shape.last() {
            Some(Part::Word) if is_word(c) && !is_after_blank => {}
            last => {
                let is_between_words = last == Some(&Part::Word) && is_word(c);
                shape.extend(is_between_words.then_some(Part::Blank));
                shape.push(if is_word(c) {
                    Part::Word
                } else {
                    Part::Mark(c)
                });
            }
        }
        is_after_blank = false;
    }
    shape
}

/// How often a shape was seen, and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    /// Before words that begin a line.
    known: usize,
    /// Before any text.
    all: usize,
    /// Fewest blanks between it and the text.
    blanks: usize,
}

/// Looks for prefixes while a log is read.
#[derive(Debug, Default)]
pub(in crate::import) struct Finder {
    shapes: BTreeMap<Shape, Count>,
    /// Lines that begin with a tool's own words, and the fewest blanks before these.
    bare: usize,
    indent: Option<usize>,
    /// Lines since the first prefix.
    lines: usize,
}

/// The prefixes of a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::import) struct Prefixes {
    /// Each with the blanks that follow it.
    shapes: Vec<(Shape, usize)>,
}

impl Finder {
    /// Takes the next line; a tool's own text begins at `begins`, if that is known.
    pub(in crate::import) fn take(&mut self, line: &str, begins: Option<usize>) {
        if line.trim().is_empty() {
            return;
        }
        let prefix = begins.filter(|at| *at <= MAX_PREFIX_BYTES);
        if let Some(prefix) = prefix.map(|at| &line[..at]) {
            if prefix.trim().is_empty() {
                self.bare += 1;
                let indent = prefix.chars().count();
                self.indent = Some(self.indent.map_or(indent, |known| known.min(indent)));
            } else if !prefix.ends_with(is_word) {
                self.add(prefix);
            }
        }
        self.lines += usize::from(!self.shapes.is_empty());
        for (shape, count) in &mut self.shapes {
            count.all += usize::from(end(shape, line).is_some());
        }
    }

    fn add(&mut self, prefix: &str) {
        let shape = shape(prefix);
        let is_full = self.shapes.len() >= MAX_SHAPES;
        if is_full && !self.shapes.contains_key(&shape) {
            return;
        }
        let blanks = prefix
            .chars()
            .rev()
            .take_while(|c| c.is_whitespace())
            .count();
        let count = self.shapes.entry(shape).or_insert(Count {
            known: 0,
            all: 0,
            blanks,
        });
        count.known += 1;
        count.blanks = count.blanks.min(blanks);
    }

    /// The prefixes that were found: what stands before most lines, and before most of those that are known to begin behind
    /// it.
    pub(in crate::import) fn finish(self) -> Prefixes {
        /// Part of the lines that a shape must be found at: others are of a few lines only, such as a shell's prompt.
        const SHARE: usize = 4;
        let often = |count: &Count| count.all * SHARE >= self.lines;
        let found: Vec<_> = self
            .shapes
            .iter()
            .filter(|(_, count)| often(count))
            .collect();
        let sum = |of: fn(&Count) -> usize| found.iter().map(|(_, count)| of(count)).sum::<usize>();
        if sum(|count| count.known) <= self.bare || sum(|count| count.all) * 2 < self.lines {
            let indent = self.indent.filter(|blanks| *blanks > 0);
            return Prefixes {
                shapes: indent
                    .map(|blanks| (Shape::new(), blanks))
                    .into_iter()
                    .collect(),
            };
        }
        let shapes = found
            .iter()
            .map(|(shape, count)| ((*shape).clone(), count.blanks));
        let mut shapes: Vec<_> = shapes.collect();
        // One shape may be the beginning of another.
        shapes.sort_by_key(|(shape, _)| std::cmp::Reverse(shape.len()));
        Prefixes { shapes }
    }
}

impl Prefixes {
    /// Whether lines have none.
    pub(in crate::import) const fn are_none(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The prefix of a line, which may be empty, and what follows it.
    pub(in crate::import) fn split<'a>(&self, line: &'a str) -> (&'a str, &'a str) {
        let found = self.shapes.iter().find_map(|(shape, blanks)| {
            let (prefix, text) = line.split_at(end(shape, line)?);
            let blank = text.len() - text.trim_start().len();
            // Blanks beyond these are the text's own; a line that ends with its prefix may have lost its blanks.
            let taken = text
                .char_indices()
                .nth(*blanks)
                .map_or(text.len(), |(at, _)| at);
            Some((prefix, &text[taken.min(blank)..]))
        });
        found.unwrap_or(("", line))
    }
}

/// Where a prefix of this shape ends in a line that begins with one.
fn end(shape: &[Part], line: &str) -> Option<usize> {
    let mut rest = line;
    for (at, part) in shape.iter().enumerate() {
        let trimmed = rest.trim_start();
        rest = match part {
            Part::Blank => (trimmed.len() < rest.len()).then_some(trimmed)?,
            Part::Word => {
                // Between a word and the one before it stands what the shape says, and nothing else.
                let begin = if at > 0 && shape[at - 1] == Part::Word {
                    rest
                } else {
                    trimmed
                };
                let after = begin.trim_start_matches(is_word);
                (after.len() < begin.len()).then_some(after)?
            }
            Part::Mark(mark) => trimmed.strip_prefix(*mark)?,
        };
    }
    Some(line.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines without the prefixes found before those that begin with "begin".
    fn stripped<'a>(lines: &[&'a str]) -> Vec<&'a str> {
        let mut finder = Finder::default();
        for line in lines {
            finder.take(line, line.find("begin"));
        }
        let prefixes = finder.finish();
        lines.iter().map(|line| prefixes.split(line).1).collect()
    }

    #[test]
    fn a_prefix_of_any_logger_is_taken_off_every_line() {
        for [first, second, empty] in [
            [
                "2026-11-26T10:00:00+0000 probe iperf3[1234]: ",
                "2026-11-26T10:00:01+0000 probe iperf3[98]: ",
                "2026-11-26T10:00:02+0000 probe iperf3[1]:",
            ],
            [
                "Nov  6 10:00:00 probe iperf3[1]: ",
                "Nov 16 10:00:00 probe iperf3[1]: ",
                "Nov 16 10:00:00 probe iperf3[1]:",
            ],
            [
                "<30>1 2026-11-26T10:00:00.1Z h a 9 - - ",
                "<30>1 2026-11-26T10:00:00.12Z h a 10 - - ",
                "<30>1 2026-11-26T10:00:00.9Z h a 9 - -",
            ],
            ["[thread-1] ", "[worker-22] ", "[thread-1]"],
            ["[ 9] ", "[10] ", "[100]"],
            ["client_1  | ", "server_1  | ", "client_1  |"],
            [
                "2026-11-26T10:00:00.123Z stdout F ",
                "2026-11-26T10:00:00.456Z stderr F ",
                "2026-11-26T10:00:00.123Z stdout F ",
            ],
            ["#12 0.345 ", "#12 10.3 ", "#12 0.35"],
            [
                "2026-11-26 10:00:00,123 - root - INFO - ",
                "2026-11-26 10:00:01,123 - root - DEBUG - ",
                "2026-11-26 10:00:01,123 - root - DEBUG -",
            ],
            ["I/iperf(  123): ", "I/iperf( 1234): ", "I/iperf(12345):"],
            ["  9\t", " 10\t", "100"],
            ["run.log:9:", "run.log:10:", "run.log:11:"],
            ["> > ", ">> ", ">>"],
            ["    ", "     ", ""],
        ] {
            let lines = [
                format!("{first}begin"),
                format!("{second}[  5] 0.00-1.00 sec"),
                format!("{first} 87380  16384"),
                empty.to_owned(),
                format!("{second}begin - - -"),
            ];
            let lines = lines.each_ref().map(String::as_str);
            let read = stripped(&lines);
            let read: Vec<_> = read.iter().map(|line| line.trim()).collect();
            assert_eq!(
                read,
                [
                    "begin",
                    "[  5] 0.00-1.00 sec",
                    "87380  16384",
                    "",
                    "begin - - -"
                ],
                "{first}"
            );
        }
    }

    #[test]
    fn blanks_of_the_text_stay() {
        assert_eq!(
            stripped(&["a: begin", "a:   3", "a:"]),
            ["begin", "  3", ""]
        );
        assert_eq!(stripped(&["  begin", "    3", " x"]), ["begin", "  3", "x"]);
    }

    #[test]
    fn what_stands_before_few_lines_is_no_prefix() {
        for lines in [
            &["begin", "[  5] 0.00-1.00 sec", "[  5] begin"][..],
            &[
                "$ begin",
                "[  5] 0.00-1.00 sec",
                "[  5] 1.00-2.00 sec",
                "Done",
            ],
            &["rebegin", "re 1"],
            &["[  5] 0.00-1.00 sec", "[  5] 0.00-1.00 sec"],
        ] {
            assert_eq!(stripped(lines), lines);
        }
    }

    #[test]
    fn the_lines_of_other_programs_stay() {
        let lines = [
            "h a[1]: begin",
            "h a[1]: x",
            "h kernel: [12.5] usb",
            "h a[1]: y",
        ];
        assert_eq!(
            stripped(&lines),
            ["begin", "x", "h kernel: [12.5] usb", "y"]
        );
    }

    #[test]
    fn shapes_are_bounded() {
        let mut finder = Finder::default();
        for count in 1..1000 {
            let line = format!("{} begin", "-".repeat(count));
            finder.take(&line, line.find("begin"));
        }
        assert!(finder.shapes.len() <= MAX_SHAPES);
    }
}
