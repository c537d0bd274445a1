//! Texts in YAML, as Kubernetes, Ansible and Compose write them: blocks behind `|` and `>`, and texts in quotes, both of
//! which may be broken into several lines.
//!
//! # References
//! - YAML 1.2.2 §6.5 (line folding), §7.3 (texts in quotes), §8.1 (blocks)

use super::{Decoder, Enclosure, Output};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "written in YAML",
    command: "yq -r '.. | select(tag == \"!!str\")' FILE > log.txt",
    is_in: |line| opened(line).is_some(),
    decoder: || Box::new(Yaml::default()),
};

/// A text that is open.
enum Text {
    Block(Block),
    Quoted(Quoted),
}

/// The text that begins in a line, with what of it stands there.
fn opened(line: &str) -> Option<(Text, &str)> {
    let mut value = line.trim_start_matches(' ');
    while let Some(item) = value.strip_prefix("- ") {
        value = item.trim_start_matches(' ');
    }
    let mut parent = line.len() - value.len();
    let is_in_key = |c: char| c.is_alphanumeric() || "_-./$".contains(c);
    match value.split_once(": ") {
        Some((key, after)) if !key.is_empty() && key.chars().all(is_in_key) => {
            value = after.trim_start_matches(' ');
        }
        // A text of a list is indented below its dash.
        _ => parent = parent.checked_sub(2)?,
    }
    let mut rest = value.chars();
    match rest.next()? {
        quote @ ('"' | '\'') => {
            let quoted = Quoted {
                quote,
                parent,
                escape: Escape::None,
                breaks: 0,
                has_ended: false,
            };
            Some((Text::Quoted(quoted), rest.as_str()))
        }
        style @ ('|' | '>') => {
            let header = rest.as_str().split(" #").next().unwrap_or_default();
            let is_header = |c: char| "+-".contains(c) || c.is_ascii_digit();
            let digit = header.chars().find_map(|c| c.to_digit(10));
            let indent = digit.and_then(|digit| usize::try_from(digit).ok());
            let block = Block {
                is_folded: style == '>',
                parent,
                indent: indent.map(|indent| parent + indent),
                breaks: 0,
                before: None,
            };
            let is_block = header.trim_end().chars().all(is_header);
            is_block.then_some((Text::Block(block), ""))
        }
        _ => None,
    }
}

/// A text without quotes, which ends where its indentation does.
struct Block {
    /// A line end of it is a blank, but beside lines that are indented further.
    is_folded: bool,
    /// Blanks before what the text belongs to; its own lines have more.
    parent: usize,
    /// Blanks before its lines, once known.
    indent: Option<usize>,
    /// Line ends since the last line with text.
    breaks: usize,
    /// That line's number, and whether it is indented further.
    before: Option<(usize, bool)>,
}

impl Block {
    /// Takes a line; `false` if the text ended before it.
    fn take(&mut self, line: &str, output: &mut Output) -> bool {
        let blanks = line.len() - line.trim_start_matches(' ').len();
        if line.trim().is_empty() {
            self.breaks += 1;
            return true;
        }
        if blanks <= self.parent || self.indent.is_some_and(|indent| blanks < indent) {
            return false;
        }
        let text = &line[*self.indent.get_or_insert(blanks)..];
        let is_further = text.starts_with([' ', '\t']);
        if let Some((number, was_further)) = self.before {
            let is_kept = !self.is_folded || is_further || was_further;
            let ends = self.breaks - usize::from(!is_kept);
            output.end_lines(number, ends);
            if ends == 0 {
                output.push(' ');
            }
        }
        output.push_str(text);
        self.before = Some((output.number, is_further));
        self.breaks = 1;
        true
    }

    fn finish(&self, output: &mut Output) {
        if let Some((number, _)) = self.before {
            output.end_lines(number, 1);
        }
    }
}

/// A text between quotes.
struct Quoted {
    quote: char,
    /// Blanks before what the text belongs to; further lines of it have more.
    parent: usize,
    escape: Escape,
    /// Line ends since the last character.
    breaks: usize,
    /// The last character was an escaped line end.
    has_ended: bool,
}

/// What of an escape sequence was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    Begun,
    /// Digits that are still to come, and the value of those before.
    Digits(u32, u32),
    None,
}

/// The line is not what it should be in a text in quotes.
struct Damaged;

impl Quoted {
    /// Takes a line of it, the first one too; whether the text ends there.
    fn take(&mut self, line: &str, output: &mut Output) -> Result<bool, Damaged> {
        let mut text = line;
        if self.breaks > 0 {
            text = line.trim_start();
            if text.is_empty() {
                self.breaks += 1;
                return Ok(false);
            }
            if line.len() - text.len() <= self.parent {
                return Err(Damaged);
            }
            match self.breaks {
                1 if std::mem::replace(&mut self.escape, Escape::None) == Escape::Begun => {}
                1 => output.push(' '),
                breaks => output.end_lines(output.number, breaks - 1),
            }
        }
        self.breaks = 1;
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if self.escape != Escape::None {
                self.escaped(c, output)?;
                continue;
            }
            self.has_ended &= c == self.quote;
            match c {
                c if c == self.quote && c == '\'' && chars.as_str().starts_with('\'') => {
                    chars.next();
                    output.push(c);
                }
                c if c == self.quote => {
                    if !self.has_ended {
                        output.end_line();
                    }
                    let rest = chars.as_str().trim_start();
                    let is_end = rest.is_empty() || rest.starts_with('#');
                    return if is_end { Ok(true) } else { Err(Damaged) };
                }
                '\\' if self.quote == '"' => self.escape = Escape::Begun,
                c => output.push(c),
            }
        }
        Ok(false)
    }

    fn escaped(&mut self, c: char, output: &mut Output) -> Result<(), Damaged> {
        if let Escape::Digits(left, value) = self.escape {
            let value = value * 16 + c.to_digit(16).ok_or(Damaged)?;
            self.escape = Escape::Digits(left - 1, value);
            if left == 1 {
                self.escape = Escape::None;
                output.push(char::from_u32(value).ok_or(Damaged)?);
            }
            return Ok(());
        }
        self.escape = match c {
            'x' => Escape::Digits(2, 0),
            'u' => Escape::Digits(4, 0),
            'U' => Escape::Digits(8, 0),
            _ => Escape::None,
        };
        match c {
            'n' => output.end_line(),
            't' => output.push('\t'),
            'e' => output.push('\u{1b}'),
            '_' => output.push(' '),
            ' ' | '"' | '/' | '\\' => output.push(c),
            'x' | 'u' | 'U' | 'r' | 'a' => {}
            _ => return Err(Damaged),
        }
        self.has_ended = c == 'n';
        Ok(())
    }
}

#[derive(Default)]
struct Yaml {
    open: Option<Text>,
    /// The piece before did not end its line.
    is_inside_line: bool,
    has_fault: bool,
}

impl Yaml {
    /// Takes more of the line before.
    fn rest(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        if let Some(Text::Quoted(quoted)) = &mut self.open {
            quoted.breaks = 0;
            self.inside(piece, output);
            return;
        }
        output.push_str(piece);
        if has_end && self.open.is_none() {
            output.end_line();
        }
    }

    /// Takes a line of the text that is open; `false` if the text ended before it.
    fn inside(&mut self, line: &str, output: &mut Output) -> bool {
        match &mut self.open {
            None => false,
            Some(Text::Block(block)) => {
                let is_inside = block.take(line, output);
                if !is_inside {
                    block.finish(output);
                    self.open = None;
                }
                is_inside
            }
            Some(Text::Quoted(quoted)) => {
                let is_over = quoted.take(line, output);
                self.has_fault |= is_over.is_err();
                if is_over.unwrap_or(true) {
                    self.open = None;
                }
                true
            }
        }
    }
}

impl Decoder for Yaml {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        // Blanks before a line end are no part of a text.
        let line = if has_end { piece.trim_end() } else { piece };
        if std::mem::replace(&mut self.is_inside_line, !has_end) {
            self.rest(line, has_end, output);
            return;
        }
        if self.inside(line, output) {
            return;
        }
        if let Some((text, rest)) = opened(line) {
            let is_quoted = matches!(text, Text::Quoted(_));
            self.open = Some(text);
            if is_quoted {
                self.inside(rest, output);
            }
            return;
        }
        let text = piece.trim_start();
        // A text of a list that needs no quotes; a rule of dashes is none.
        let item = text
            .strip_prefix("- ")
            .filter(|item| !item.starts_with('-'));
        output.push_str(item.unwrap_or(piece));
        if has_end {
            output.end_line();
        }
    }

    fn finish(&mut self, output: &mut Output) -> bool {
        match &self.open {
            Some(Text::Block(block)) => block.finish(output),
            Some(Text::Quoted(_)) => self.has_fault = true,
            None => {}
        }
        !self.has_fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    fn lines(text: &str) -> Vec<String> {
        decoded(&ENCLOSURE, text).unwrap()
    }

    #[test]
    fn lines_of_blocks_are_those_of_their_texts() {
        let text = "data:\n  out: |-\n    [  5] a\n\n       b\n  rc: 0\n- >\n  one\n  two\n\n  three\n    four\n  five\n\n";
        assert_eq!(
            lines(text),
            [
                "data:", "[  5] a", "", "   b", "  rc: 0", "one two", "three", "  four", "five"
            ]
        );
        assert_eq!(lines("log: >2\n   a\n   b\n"), [" a", " b"]);
    }

    #[test]
    fn quoted_texts_are_unfolded() {
        let long = "x ".repeat(40_000);
        assert_eq!(lines(&format!("out: '{long}|'\n")).concat(), long + "|");
        let text = "stdout: \"one\\n[  5] a\\\n  \\  b\n  c\\n\\x41\\u00b5\\\"\\n\"\nrc: 0\n";
        assert_eq!(lines(text), ["one", "[  5] a  b c", "A\u{b5}\"", "rc: 0"]);
        let text = "- plain\n- '[  5] it''s\n  long'\n- ''\n- 'a\n\n  b'\n- - - -\n";
        assert_eq!(
            lines(text),
            ["plain", "[  5] it's long", "", "a", "b", "- - - -"]
        );
    }

    #[test]
    fn what_is_not_whole_is_refuted() {
        for text in [
            "a: \"b\n",
            "a: \"b\nc\"\n",
            "a: 'b' c\n",
            "a: \"\\q\"\n",
            "a: \"\\x4\"\n",
        ] {
            assert_eq!(decoded(&ENCLOSURE, text), None, "{text}");
        }
        let is_in = ENCLOSURE.is_in;
        assert!(!is_in("a b: \"c\"") && !is_in("> quoted") && !is_in("\"a\": \"b\""));
        assert!(!is_in("sent: >1 Gbit/s") && is_in("- key: |2+ # text"));
    }
}
