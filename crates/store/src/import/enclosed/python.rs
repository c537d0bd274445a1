//! What Python prints of a text, of bytes, or of a dictionary: `b'[  5] …\n'`, `{'start': {'connected': [], 'ok': True}}`.
//!
//! A text is its lines, a dictionary becomes a document of JSON.

use super::{Decoder, Enclosure, Output};

pub(super) static ENCLOSURE: Enclosure = Enclosure {
    what: "written as Python prints it",
    command: "python3 -c 'import ast,json,sys; print(json.dumps(ast.literal_eval(sys.stdin.read())))' < FILE > log.json",
    is_in: |line| begin(line).is_some(),
    decoder: || Box::new(Python::default()),
};

/// Begins a dictionary.
const DICTIONARY: &str = "{'";

/// What begins in a line, and where: a text behind its quote.
fn begin(line: &str) -> Option<(usize, Inside)> {
    let text = |(at, quote): (usize, char)| {
        let is_text = line[at..].contains("\\n");
        is_text.then_some((at + 1, Inside::Text(quote)))
    };
    let dictionary = line.find(DICTIONARY).map(|at| (at, Inside::Dictionary));
    dictionary.or_else(|| literal(line).and_then(text))
}

/// Where a text or bytes begin, and with which quote.
fn literal(line: &str) -> Option<(usize, char)> {
    let start = line.len() - line.trim_start().len();
    if line[start..].starts_with('\'') {
        return Some((start, '\''));
    }
    let found = line.match_indices("b'").chain(line.match_indices("b\""));
    let mut bytes = found.filter(|(at, _)| !line[..*at].ends_with(|c: char| c.is_alphanumeric()));
    bytes.next().map(|(at, mark)| {
        let quote = if mark.ends_with('"') { '"' } else { '\'' };
        (at + 1, quote)
    })
}

/// What a character is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Inside {
    Dictionary,
    #[default]
    Nothing,
    /// A text of its own, with this quote.
    Text(char),
}

/// What of an escape sequence was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Escape {
    Begun,
    /// Of `\xNN` so many digits, and their value.
    Digits(u32, u32),
    #[default]
    None,
}

#[derive(Default)]
struct Python {
    inside: Inside,
    /// Objects and lists that are open.
    depth: usize,
    /// The quote of the string that is open in a dictionary.
    quote: Option<char>,
    /// A string ended, and may go on in the one beside it.
    has_ended: bool,
    /// Letters and digits outside of strings.
    word: String,
    escape: Escape,
    /// The piece before did not end its line.
    is_inside_line: bool,
    found: Found,
}

/// What of Python was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Found {
    Damaged,
    #[default]
    Nothing,
    Whole,
}

impl Decoder for Python {
    fn take(&mut self, piece: &str, has_end: bool, output: &mut Output) {
        let is_first = !std::mem::replace(&mut self.is_inside_line, !has_end);
        let mut rest = piece;
        if is_first
            && self.inside == Inside::Nothing
            && let Some((at, inside)) = begin(piece)
        {
            self.inside = inside;
            if self.found == Found::Nothing {
                self.found = Found::Whole;
            }
            rest = &piece[at..];
        }
        for c in rest.chars() {
            match self.inside {
                Inside::Nothing => output.push(c),
                Inside::Dictionary => self.dictionary(c, output),
                Inside::Text(quote) => self.text(c, quote, output),
            }
        }
        if has_end {
            self.end_word(output);
            // No string of these goes on in the next line.
            if self.quote.is_some() || matches!(self.inside, Inside::Text(_)) {
                self.found = Found::Damaged;
            }
            // The next line may begin with the rest of one that ended.
            if !self.has_ended {
                output.end_line();
            }
        }
    }

    fn finish(&mut self, output: &mut Output) -> bool {
        self.end_word(output);
        self.found == Found::Whole && self.inside == Inside::Nothing
    }
}

impl Python {
    /// Takes a character of a text of its own.
    fn text(&mut self, c: char, quote: char, output: &mut Output) {
        match std::mem::take(&mut self.escape) {
            Escape::None if c == '\\' => self.escape = Escape::Begun,
            Escape::None if c == quote => self.inside = Inside::Nothing,
            Escape::None => output.push(c),
            Escape::Begun => match c {
                'n' => output.end_line(),
                't' => output.push('\t'),
                'x' => self.escape = Escape::Digits(0, 0),
                'r' => {}
                '\\' | '\'' | '"' => output.push(c),
                c => {
                    output.push('\\');
                    output.push(c);
                }
            },
            Escape::Digits(count, value) => {
                let digit = c.to_digit(16);
                if digit.is_none() {
                    self.found = Found::Damaged;
                }
                let value = value * 16 + digit.unwrap_or_default();
                if count == 0 {
                    self.escape = Escape::Digits(1, value);
                } else if let Some(c) = char::from_u32(value) {
                    output.push(c);
                }
            }
        }
    }

    /// Takes a character of a dictionary.
    fn dictionary(&mut self, c: char, output: &mut Output) {
        if let Some(quote) = self.quote {
            return self.string(c, quote, output);
        }
        match c {
            '\'' | '"' => {
                // `b'…'`, `u'…'`: what stands before tells the kind of text.
                self.word.clear();
                self.quote = Some(c);
                if !std::mem::take(&mut self.has_ended) {
                    output.push('"');
                }
                return;
            }
            c if c.is_alphanumeric() || "+-._".contains(c) => {
                self.end_string(output);
                self.word.push(c);
                return;
            }
            // A string that goes on in the next line may stand in brackets.
            c if c.is_whitespace() && self.has_ended => return,
            '(' | ')' => return,
            _ => {}
        }
        self.end_string(output);
        self.end_word(output);
        output.push(c);
        match c {
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.inside = Inside::Nothing;
                }
            }
            _ => {}
        }
    }

    /// Takes a character of a string of a dictionary, as JSON writes it.
    fn string(&mut self, c: char, quote: char, output: &mut Output) {
        if std::mem::take(&mut self.escape) == Escape::Begun {
            match c {
                '\'' => output.push('\''),
                'x' => output.push_str("\\u00"),
                '"' | '\\' | 'b' | 'f' | 'n' | 'r' | 't' | 'u' => {
                    output.push('\\');
                    output.push(c);
                }
                c => {
                    output.push_str("\\\\");
                    output.push(c);
                }
            }
            return;
        }
        match c {
            '\\' => self.escape = Escape::Begun,
            c if c == quote => {
                self.quote = None;
                self.has_ended = true;
            }
            '"' => output.push_str("\\\""),
            c => output.push(c),
        }
    }

    fn end_string(&mut self, output: &mut Output) {
        if std::mem::take(&mut self.has_ended) {
            output.push('"');
        }
    }

    fn end_word(&mut self, output: &mut Output) {
        let word = std::mem::take(&mut self.word);
        output.push_str(match word.as_str() {
            "True" => "true",
            "False" => "false",
            "None" | "nan" | "inf" | "-inf" => "null",
            word => word,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::enclosed::decoded;

    #[test]
    fn a_dictionary_becomes_json() {
        let text = "result: {'a': [1, -2.5e+03, True, None], 'it': \"isn't\",\n'b': b'x\\x41\\n\\'\"',\n\
                    'long': 'one '\n        'two', 'c': {}}\nplain 'text'\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            [
                "{\"a\": [1, -2.5e+03, true, null], \"it\": \"isn't\",",
                "\"b\": \"x\\u0041\\n'\\\"\",",
                "\"long\": \"one two\", \"c\": {}}",
                "plain 'text'"
            ]
        );
    }

    #[test]
    fn texts_and_bytes_become_lines() {
        let text = "b'[  5] a\\n\\tit\\'s \\xb5s\\\\\\r\\nend\\n'\nout = b\"[ ID] \\n\"\n";
        assert_eq!(
            decoded(&ENCLOSURE, text).unwrap(),
            ["[  5] a", "\tit's µs\\", "end", "", "[ ID] ", ""]
        );
    }

    #[test]
    fn what_is_not_whole_or_of_another_language_is_refuted() {
        for text in [
            "{'a': 1\n",
            "{'a': 'b\n",
            "b'one\\n\n",
            "plain 'text'\n",
            "an absurd 'verb'\n",
        ] {
            assert_eq!(decoded(&ENCLOSURE, text), None, "{text}");
        }
    }
}
