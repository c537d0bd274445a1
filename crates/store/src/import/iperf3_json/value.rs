//! JSON as iperf3 writes it: also with keys that come twice, with `nan` and `inf`.
//!
//! Bounded in depth and in number of values; keeps where each object begins.

use crate::import::Rounded;

/// Deepest nesting that is read; iperf3 needs 6, with a server's document inside 8.
const MAX_DEPTH: usize = 32;
/// Most values in a document without its intervals, or in one of these: 4096 streams have fewer.
const MAX_VALUES: usize = 500_000;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// `[…]`
    Array(Vec<Self>),
    /// `true` or `false`.
    Bool(bool),
    /// `null`, and what is no number: `nan`, `inf`.
    Null,
    /// As written.
    Number(String),
    /// `{…}`
    Object(Object),
    /// As written, with its escapes.
    Text(String),
}

/// A JSON object with all its members, also those of equal names.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Object {
    /// Line of its brace, from 1.
    pub(super) line: usize,
    members: Vec<(String, Value)>,
}

/// Why a document could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The text ends inside it.
    Cut,
    /// It has something else than expected.
    Damaged {
        /// Line, from 1.
        line: usize,
        /// What was expected.
        wanted: &'static str,
    },
}

/// The parts of a document.
const PARTS: [&str; 4] = ["start", "intervals", "end", "error"];

impl Value {
    /// Where in it the first document is.
    fn document_inside(&self) -> Option<String> {
        match self {
            Self::Object(object) if object.is_document() => Some(String::new()),
            Self::Object(object) => object.document_inside(),
            Self::Array(items) => {
                let mut items = items.iter().enumerate();
                items.find_map(|(at, item)| Some(format!("[{at}]{}", item.document_inside()?)))
            }
            _ => None,
        }
    }
}

impl Object {
    /// The first member of this name.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.all(key).next()
    }

    /// Every member of this name.
    pub(super) fn all(&self, key: &str) -> impl Iterator<Item = &Value> {
        let members = self.members.iter();
        members
            .filter(move |(name, _)| *name == key)
            .map(|(_, value)| value)
    }

    /// Whether it has a part that every document of iperf3 begins with.
    fn is_document(&self) -> bool {
        self.object("start").is_some()
            && (self.get("end").is_some() || self.get("intervals").is_some())
    }

    /// Where inside of an object that is no document the first document is, as `jq` writes it.
    pub(super) fn document_inside(&self) -> Option<String> {
        if PARTS.iter().any(|part| self.get(part).is_some()) {
            return None;
        }
        let mut members = self.members.iter();
        members.find_map(|(name, value)| {
            let inside = value.document_inside()?;
            let is_plain = !name.is_empty()
                && !name.starts_with(|c: char| c.is_ascii_digit())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            Some(if is_plain {
                format!(".{name}{inside}")
            } else {
                format!("[\"{name}\"]{inside}")
            })
        })
    }

    /// The first member of this name, taken out.
    pub(super) fn take(&mut self, key: &str) -> Option<Value> {
        let at = self.members.iter().position(|(name, _)| *name == key)?;
        Some(self.members.remove(at).1)
    }

    pub(super) fn object(&self, key: &str) -> Option<&Self> {
        match self.get(key)? {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The objects of a list; none if there is no such list.
    pub(super) fn objects(&self, key: &str) -> impl Iterator<Item = &Self> {
        let items = match self.get(key) {
            Some(Value::Array(items)) => items.as_slice(),
            _ => &[],
        };
        items.iter().filter_map(|item| match item {
            Value::Object(object) => Some(object),
            _ => None,
        })
    }

    /// A figure that is not negative.
    pub(super) fn figure(&self, key: &str) -> Option<Rounded> {
        match self.get(key)? {
            Value::Number(text) => figure(text),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub(super) fn count(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Value::Number(text) => match text.parse() {
                Ok(count) => Some(count),
                Err(_) => crate::import::whole(text.parse().ok()?),
            },
            _ => None,
        }
    }

    /// Whether it is a number below zero.
    pub(super) fn is_negative(&self, key: &str) -> bool {
        matches!(self.get(key), Some(Value::Number(text)) if text.starts_with('-'))
    }

    /// A truth value, also one written as 0 or 1.
    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Value::Bool(flag) => Some(*flag),
            Value::Number(text) => Some(text != "0"),
            _ => None,
        }
    }

    /// A string without its escapes.
    pub(super) fn string(&self, key: &str) -> Option<String> {
        match self.get(key)? {
            Value::Text(text) => Some(unescaped(text)),
            _ => None,
        }
    }
}

/// Reads a number as the old library of iperf3 up to 3.1 and the later ones wrote it: six decimals
/// were rounded, any other number of them says it all.
fn figure(text: &str) -> Option<Rounded> {
    let value: f64 = text.parse().ok()?;
    if !(0.0..1e18).contains(&value) {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let places = mantissa
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half = match exponent.parse::<i32>() {
        Ok(exponent) if places == 6 => 0.5 * 10f64.powi(exponent.clamp(-30, 30) - 6),
        _ => 0.0,
    };
    Some(Rounded {
        value,
        low: (value - half).max(0.0),
        high: value + half,
    })
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r' | 'b' | 'f') | None => {}
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok();
                plain.push(code.and_then(char::from_u32).unwrap_or('\u{fffd}'));
            }
            Some(other) => plain.push(other),
        }
    }
    plain
}

/// Reads one value.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    /// Offsets before which something was taken out, and the lines there.
    jumps: &'a [(usize, usize)],
    values: usize,
}

impl<'a> Parser<'a> {
    /// Of a text that begins at `line`.
    pub(super) fn new(text: &'a str, line: usize, jumps: &'a [(usize, usize)]) -> Self {
        Self {
            text,
            at: 0,
            line,
            jumps,
            values: 0,
        }
    }

    /// Reads the object that the text is.
    pub(super) fn document(&mut self) -> Result<Object, Fault> {
        self.object(0)
    }

    /// The line at which reading stopped.
    pub(super) fn stopped(&self) -> &'a str {
        let (before, after) = self.text.split_at(self.at);
        let begin = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after.find('\n').map_or(self.text.len(), |at| self.at + at);
        &self.text[begin..end]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(byte) = self.peek().filter(u8::is_ascii_whitespace) {
            self.line += usize::from(byte == b'\n');
            self.at += 1;
        }
        if let Some(((at, line), rest)) = self.jumps.split_first()
            && self.at >= *at
        {
            (self.line, self.jumps) = (*line, rest);
        }
    }

    fn damaged(&self, wanted: &'static str) -> Fault {
        Fault::Damaged {
            line: self.line,
            wanted,
        }
    }

    /// Takes one byte after blanks.
    fn expect(&mut self, wanted: &[u8], what: &'static str) -> Result<u8, Fault> {
        self.blank();
        let byte = self.peek().ok_or(Fault::Cut)?;
        if !wanted.contains(&byte) {
            return Err(self.damaged(what));
        }
        self.at += 1;
        Ok(byte)
    }

    fn object(&mut self, depth: usize) -> Result<Object, Fault> {
        self.expect(b"{", "an object")?;
        let mut object = Object {
            line: self.line,
            members: Vec::new(),
        };
        loop {
            let first = object.members.is_empty();
            match self.expect(b"\"}", "a quoted key or a brace")? {
                b'}' if first => return Ok(object),
                b'}' => return Err(self.damaged("a quoted key")),
                _ => {}
            }
            let key = self.quoted()?;
            self.expect(b":", "a colon")?;
            let value = self.value(depth + 1)?;
            object.members.push((key.to_owned(), value));
            if self.expect(b",}", "a comma or a brace")? == b'}' {
                return Ok(object);
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Fault> {
        self.expect(b"[", "a list")?;
        let mut items = Vec::new();
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(items);
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.expect(b",]", "a comma or a bracket")? == b']' {
                return Ok(items);
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        self.values += 1;
        if depth > MAX_DEPTH || self.values > MAX_VALUES {
            return Err(self.damaged("JSON as iperf3 writes it, neither as deep nor as long"));
        }
        self.blank();
        match self.peek().ok_or(Fault::Cut)? {
            b'{' => self.object(depth).map(Value::Object),
            b'[' => self.array(depth).map(Value::Array),
            b'"' => {
                self.at += 1;
                self.quoted().map(|text| Value::Text(text.to_owned()))
            }
            _ => self.word(),
        }
    }

    /// The rest of a quoted text whose first quote is taken.
    fn quoted(&mut self) -> Result<&'a str, Fault> {
        let begin = self.at;
        let mut is_escaped = false;
        for (offset, byte) in self.text.as_bytes()[begin..].iter().enumerate() {
            match byte {
                b'"' if !is_escaped => {
                    self.at = begin + offset + 1;
                    return Ok(&self.text[begin..begin + offset]);
                }
                b'\n' => return Err(self.damaged("the quote that ends a text")),
                _ => is_escaped = *byte == b'\\' && !is_escaped,
            }
        }
        Err(Fault::Cut)
    }

    /// A number or one of the words.
    fn word(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let end = rest.find(|c| !inside(c)).ok_or(Fault::Cut)?;
        let word = &rest[..end];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "nan" | "-nan" | "NaN" | "inf" | "-inf" => Value::Null,
            _ if word.starts_with(|c: char| c == '-' || c.is_ascii_digit())
                && word.parse::<f64>().is_ok() =>
            {
                Value::Number(word.to_owned())
            }
            _ => return Err(self.damaged("a value")),
        };
        self.at += end;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Result<Object, Fault> {
        Parser::new(text, 1, &[]).document()
    }

    #[test]
    fn keys_that_come_twice_are_both_kept() {
        let object = only("{\"sum\": {\"bytes\": 1}, \"sum\": {\"bytes\": 2}}").unwrap();
        let bytes: Vec<_> = object
            .all("sum")
            .map(|value| match value {
                Value::Object(object) => object.count("bytes"),
                _ => None,
            })
            .collect();
        assert_eq!(bytes, [Some(1), Some(2)]);
    }

    #[test]
    fn what_is_no_number_is_unknown() {
        let object = only("{\"a\": nan, \"b\":-nan,\"c\":inf, \"d\": -3, \"e\": 1.5e3}").unwrap();
        for key in ["a", "b", "c", "d", "missing"] {
            assert_eq!(object.figure(key), None, "{key}");
        }
        assert_eq!(object.count("e"), Some(1500));
    }

    #[test]
    fn six_decimals_are_rounded_and_others_are_not() {
        let old = figure("1.048576e+09").unwrap();
        assert_eq!((old.low, old.high), (1_048_575_500.0, 1_048_576_500.0));
        assert_eq!(
            figure("1.0000430345535278"),
            Some(Rounded::exact(1.000_043_034_553_527_8))
        );
        assert_eq!(figure("131072"), Some(Rounded::exact(131_072.0)));
    }

    #[test]
    fn a_cut_is_told_from_damage() {
        assert_eq!(only("{\"a\": [1, 2"), Err(Fault::Cut));
        assert_eq!(only("{\"a\": 1"), Err(Fault::Cut));
        assert_eq!(only("{\"a"), Err(Fault::Cut));
        let damaged = only("{\"a\": 1,\n \"b\" 2}");
        assert_eq!(
            damaged,
            Err(Fault::Damaged {
                line: 2,
                wanted: "a colon"
            })
        );
        let deep = "[".repeat(100_000);
        let deep = format!("{{\"a\": {deep}");
        assert!(matches!(only(&deep), Err(Fault::Damaged { .. })));
    }

    #[test]
    fn escapes_are_resolved() {
        let object = only("{\"a\": \"b\\n\\\"c\\\"\\u0041\\\\\"}").unwrap();
        assert_eq!(object.string("a").unwrap(), "b\n\"c\"A\\");
    }
}
