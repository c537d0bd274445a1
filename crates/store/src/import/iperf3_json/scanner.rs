//! Cuts a log into documents while it is read, and takes the members of their lists of intervals out of them: the rest
//! of a document is short, however long its test was.
//!
//! Knows of JSON what begins and ends; whether the text between is right is for [`value`](super::value) to say.

use super::EVENT;
use super::value::Fault;
use crate::import::Line;

/// Longest document without its intervals, and longest interval.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;
/// Deeper than the deepest that is read.
const MAX_DEPTH: usize = 64;

/// Whose intervals a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum List {
    /// Those of the document.
    Own,
    /// Those of the server's document inside it.
    Server,
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JsonItem<'a> {
    /// A line outside of any document.
    Text(&'a str),
    /// A member of a list of intervals.
    Interval(List, Piece<'a>),
    /// A document whose lists of intervals are empty now.
    Document(Piece<'a>),
    /// A document that cannot go on.
    Fault(Broken<'a>),
}

/// Text of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// Line at which it begins, from 1.
    pub(super) line: usize,
    /// Offsets in it before which something was taken out, and the lines there.
    pub(super) jumps: &'a [(usize, usize)],
}

/// Why a document that begins at `line` ends before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken<'a> {
    pub(super) line: usize,
    pub(super) why: Why,
    /// The line of the damage.
    pub(super) text: &'a str,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Fault(Fault),
    TooLarge,
}

/// An object or a list that is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Object,
    List,
    Intervals(List),
}

/// Where the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Between documents.
    Outside,
    /// In the rest of a line that is of no document.
    OtherLine,
    /// In a document.
    Inside,
    /// After damage, before the next line that begins with a brace.
    Damaged,
}

/// Cuts a log into documents.
pub(super) struct Scanner {
    place: Place,
    /// The document so far, without its intervals but the one that is open.
    text: String,
    /// Line at which it begins.
    line: usize,
    jumps: Vec<(usize, usize)>,
    open: Vec<Open>,
    /// Where the interval that is open begins: offset and line.
    interval: Option<(usize, usize)>,
    /// Offset of the last quote that began a text.
    quote: usize,
    /// Offsets of the last whole text: of a key, if a colon follows.
    quoted: (usize, usize),
    in_text: bool,
    is_escaped: bool,
    /// The last byte that is neither blank nor in a text.
    before: u8,
}

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            place: Place::Outside,
            text: String::new(),
            line: 0,
            jumps: Vec::new(),
            open: Vec::new(),
            interval: None,
            quote: 0,
            quoted: (0, 0),
            in_text: false,
            is_escaped: false,
            before: 0,
        }
    }

    /// Takes the next piece of the log.
    pub(super) fn take(&mut self, line: &Line<'_>, found: &mut dyn FnMut(JsonItem<'_>)) {
        let mut at = 0;
        if self.place == Place::Damaged && !line.is_rest && line.text.starts_with('{') {
            self.place = Place::Outside;
        }
        while at < line.text.len() {
            at = match self.place {
                Place::Outside => self.outside(line, at, found),
                Place::Inside => self.inside(line, at, found),
                Place::OtherLine | Place::Damaged => line.text.len(),
            };
        }
        if !line.has_end {
            return;
        }
        if self.place == Place::OtherLine {
            self.place = Place::Outside;
        }
        if self.place == Place::Inside {
            if self.in_text {
                self.fault(line, line.text.len(), "the quote that ends a text", found);
            } else {
                self.text.push('\n');
            }
        }
    }

    /// Ends the log.
    pub(super) fn finish(&mut self, found: &mut dyn FnMut(JsonItem<'_>)) {
        if self.place == Place::Inside {
            found(JsonItem::Fault(Broken {
                line: self.line,
                why: Why::Fault(Fault::Cut),
                text: "",
            }));
        }
        *self = Self::new();
    }

    /// Goes on from `at` outside of a document; returns to where.
    fn outside(
        &mut self,
        line: &Line<'_>,
        at: usize,
        found: &mut dyn FnMut(JsonItem<'_>),
    ) -> usize {
        let rest = &line.text[at..];
        let text = rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        // A list of documents may be in one line.
        let document =
            text.trim_start_matches(|c: char| c.is_ascii_whitespace() || "[,]".contains(c));
        if document.is_empty() {
            return line.text.len();
        }
        let begin = at + rest.len() - document.len();
        if document.starts_with('{') {
            *self = Self::new();
            self.line = line.number;
            // So that the first brace is where a value may be.
            self.before = b':';
            self.place = Place::Inside;
            return begin;
        }
        if !text.is_empty() {
            self.place = Place::OtherLine;
            found(JsonItem::Text(text.trim_end()));
        }
        line.text.len()
    }

    /// Goes on from `at` in a document, to its end or that of the line.
    fn inside(&mut self, line: &Line<'_>, at: usize, found: &mut dyn FnMut(JsonItem<'_>)) -> usize {
        let bytes = line.text.as_bytes();
        let mut copied = at;
        for (at, byte) in bytes.iter().copied().enumerate().skip(at) {
            if self.in_text {
                let ends = byte == b'"' && !self.is_escaped;
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                if ends {
                    self.in_text = false;
                    self.quoted = (self.quote, self.text.len() + at - copied);
                }
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' => continue,
                b'"' => {
                    self.in_text = true;
                    self.quote = self.text.len() + at + 1 - copied;
                }
                b'{' | b'[' => {
                    self.text.push_str(&line.text[copied..at]);
                    copied = at;
                    if let Err(wanted) = self.begin(byte, line.number) {
                        return self.fault(line, at, wanted, found);
                    }
                }
                b'}' | b']' => {
                    self.text.push_str(&line.text[copied..=at]);
                    copied = at + 1;
                    let Some(ended) = self.open.pop().filter(|open| open.ends_with(byte)) else {
                        return self.fault(line, at, "what is open to be ended", found);
                    };
                    self.end(ended, line.number, found);
                    if self.place == Place::Outside {
                        return copied;
                    }
                }
                b',' if matches!(self.open.last(), Some(Open::Intervals(_))) => {
                    self.text.push_str(&line.text[copied..at]);
                    copied = at + 1;
                }
                _ => {}
            }
            self.before = byte;
        }
        self.text.push_str(&line.text[copied..]);
        if self.text.len() > MAX_DOCUMENT_BYTES {
            found(JsonItem::Fault(Broken {
                line: self.line,
                why: Why::TooLarge,
                text: "",
            }));
            self.place = Place::Damaged;
        }
        bytes.len()
    }

    /// Begins an object or a list where one may be.
    fn begin(&mut self, byte: u8, line: usize) -> Result<(), &'static str> {
        let parent = self.open.last().copied();
        let may_begin = match parent {
            None | Some(Open::Object) => self.before == b':',
            Some(Open::List | Open::Intervals(_)) => matches!(self.before, b'[' | b','),
        };
        if !may_begin {
            return Err("a quoted key, a comma or the end of what is open");
        }
        if self.open.len() >= MAX_DEPTH {
            return Err("JSON as iperf3 writes it, neither as deep nor as long");
        }
        if byte == b'{' {
            if matches!(parent, Some(Open::Intervals(_))) {
                self.interval = Some((self.text.len(), line));
            }
            self.open.push(Open::Object);
            return Ok(());
        }
        let key = &self.text[self.quoted.0..self.quoted.1];
        let list = match self.open.len() {
            1 if key == "intervals" && self.before == b':' => Open::Intervals(List::Own),
            2 if key == "intervals" && self.before == b':' => Open::Intervals(List::Server),
            _ => Open::List,
        };
        self.open.push(list);
        Ok(())
    }

    /// Hands out what has ended.
    fn end(&mut self, ended: Open, line: usize, found: &mut dyn FnMut(JsonItem<'_>)) {
        match (ended, self.open.last()) {
            (_, None) => {
                self.place = Place::Outside;
                found(JsonItem::Document(Piece {
                    text: &self.text,
                    line: self.line,
                    jumps: &self.jumps,
                }));
            }
            (Open::Object, Some(Open::Intervals(list))) => {
                if let Some((begin, first)) = self.interval.take() {
                    let piece = Piece {
                        text: &self.text[begin..],
                        line: first,
                        jumps: &[],
                    };
                    found(JsonItem::Interval(*list, piece));
                    self.text.truncate(begin);
                    // What was quoted last is gone with it.
                    self.quoted = (begin, begin);
                }
            }
            (Open::Intervals(_), _) => self.jumps.push((self.text.len(), line)),
            _ => {}
        }
    }

    /// Ends a damaged document at `at`; returns to where to go on.
    fn fault(
        &mut self,
        line: &Line<'_>,
        at: usize,
        wanted: &'static str,
        found: &mut dyn FnMut(JsonItem<'_>),
    ) -> usize {
        found(JsonItem::Fault(Broken {
            line: self.line,
            why: Why::Fault(Fault::Damaged {
                line: line.number,
                wanted,
            }),
            text: line.text,
        }));
        // What stopped the reader may be the first brace of the next document, also behind the text that was cut: there
        // nothing is between them, and a document has nothing or its first part beside its brace.
        let next = &line.text[at..];
        let is_glued = line.text[..at].ends_with(|c: char| !c.is_ascii_whitespace())
            && (next.trim_end() == "{"
                || next.starts_with("{\"start\"")
                || next.starts_with(EVENT));
        if next.starts_with('{') && (at == 0 && !line.is_rest || is_glued) {
            self.place = Place::Outside;
            return at;
        }
        self.place = Place::Damaged;
        line.text.len()
    }
}

impl Open {
    fn ends_with(self, byte: u8) -> bool {
        (self == Self::Object) == (byte == b'}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a log that comes in pieces of `width` bytes.
    fn scan(log: &str, width: usize) -> Vec<String> {
        let mut all = Vec::new();
        let mut scanner = Scanner::new();
        let mut say = |found: JsonItem<'_>| {
            all.push(match found {
                JsonItem::Text(text) => format!("text {text}"),
                JsonItem::Interval(list, piece) => {
                    format!("{list:?} {} {}", piece.line, piece.text)
                }
                JsonItem::Document(piece) => {
                    format!("document {} {} {:?}", piece.line, piece.text, piece.jumps)
                }
                JsonItem::Fault(broken) => format!("fault {} {:?}", broken.line, broken.why),
            });
        };
        for (index, line) in log.split_inclusive('\n').enumerate() {
            let (text, has_end) = match line.strip_suffix('\n') {
                Some(text) => (text, true),
                None => (line, false),
            };
            let mut pieces: Vec<_> = text.as_bytes().chunks(width).collect();
            if pieces.is_empty() {
                pieces.push(b"");
            }
            let count = pieces.len();
            for (at, piece) in pieces.into_iter().enumerate() {
                let line = Line {
                    number: index + 1,
                    text: std::str::from_utf8(piece).unwrap(),
                    writer: None,
                    is_rest: at > 0,
                    has_end: has_end && at + 1 == count,
                    is_last: false,
                };
                scanner.take(&line, &mut say);
            }
        }
        scanner.finish(&mut say);
        all
    }

    #[test]
    fn intervals_are_taken_out_of_documents() {
        let log = "{\"a\":1,\"intervals\":[{\"s\":[1]},\n{\"s\":2}],\"end\":{\"x\":[]},\n\
                   \"server_output_json\":{\"intervals\":[{}]}}\n";
        let wanted = [
            "Own 1 {\"s\":[1]}",
            "Own 2 {\"s\":2}",
            "Server 3 {}",
            "document 1 {\"a\":1,\"intervals\":[\n],\"end\":{\"x\":[]},\n\
             \"server_output_json\":{\"intervals\":[]}} [(22, 2), (75, 3)]",
        ];
        for width in [1, 2, 7, 1000] {
            assert_eq!(scan(log, width), wanted, "{width}");
        }
    }

    #[test]
    fn text_around_documents_is_handed_out() {
        let found = scan("warning\n{\"a\": 1}{\"b\": \"}\\\"\"} \ndone {\n", 1000);
        assert_eq!(
            found,
            [
                "text warning",
                "document 2 {\"a\": 1} []",
                "document 2 {\"b\": \"}\\\"\"} []",
                "text done {"
            ]
        );
    }

    #[test]
    fn documents_of_a_list_in_one_line_are_all_found() {
        for width in [1, 2, 7, 1000] {
            let found = scan("[{\"a\": 1}, {\"b\": 2},{\"c\": 3}]", width);
            let wanted = [
                "document 1 {\"a\": 1} []",
                "document 1 {\"b\": 2} []",
                "document 1 {\"c\": 3} []",
            ];
            assert_eq!(found, wanted, "{width}");
        }
    }

    #[test]
    fn a_document_behind_one_that_was_cut_is_found() {
        for log in [
            "{\"a\": {\"b\": 0,{\n\"c\": 2}\n",
            "{\"a\": 0{\"start\": 2}\n",
        ] {
            let found = scan(log, 1000);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found[0].starts_with("fault 1 "), "{found:?}");
            assert!(found[1].starts_with("document 1 "), "{found:?}");
        }
    }

    #[test]
    fn after_damage_the_next_document_is_found() {
        let damaged = [
            "{\"a\": [{\"b\": 1,\n{\"c\": 2}\n",
            "{\"a\": \"cut\n{\"c\": 2}\n",
            "{\"a\": [1}, 2\n{\"c\": 2}\n",
        ];
        for log in damaged {
            let found = scan(log, 1000);
            assert_eq!(found.len(), 2, "{found:?}");
            assert!(found[0].starts_with("fault 1 "), "{found:?}");
            assert!(found[1].ends_with("{\"c\": 2} []"), "{found:?}");
        }
        assert_eq!(scan("{\"a\": [1, 2", 1000), ["fault 1 Fault(Cut)"]);
        let deep = scan(&format!("{{\"a\": {}", "[".repeat(100_000)), 1000);
        assert_eq!(deep.len(), 1, "{deep:?}");
    }

    /// The key that a list would have was in an interval that is taken out.
    #[test]
    fn a_list_without_a_key_has_none() {
        let interval = "{\"intervals\": [{\"a long key\": 1}";
        let found = scan(&format!("{interval}]: [{{}}]}}"), 1000);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[1].starts_with("document 1 "), "{found:?}");
        let found = scan(&format!("{interval}, : ["), 1000);
        assert!(found[1].starts_with("fault 1 Fault(Damaged"), "{found:?}");
    }

    #[test]
    fn a_document_without_end_is_not_kept() {
        let row = format!("\"{}\",\n", "x".repeat(1000));
        let log = format!("{{\"a\": [{}", row.repeat(MAX_DOCUMENT_BYTES / 1000));
        assert_eq!(scan(&log, 1 << 16), ["fault 1 TooLarge"]);
    }
}
