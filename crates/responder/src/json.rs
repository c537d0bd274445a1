//! Parses JSON in place: values are looked up by key, nothing is copied and no number becomes floating point.

use core::time::Duration;

/// Maximum nesting; a message of the protocol has less than ten levels.
const MAX_DEPTH: u32 = 32;

/// One complete value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Json<'a>(&'a [u8]);

impl<'a> Json<'a> {
    /// Parses `bytes` as exactly one value; `None` if they are not.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (value, rest) = split(bytes)?;
        trim(rest).is_empty().then_some(value)
    }

    /// The value of `key` in an object; `None` if this is not an object, and where the value is null.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        let mut rest = trim(self.0.strip_prefix(b"{")?);
        while rest.first() == Some(&b'"') {
            let (name, after) = split(rest)?;
            let (value, after) = split(trim(after).strip_prefix(b":")?)?;
            if name.text() == Some(key) {
                return (value.0 != b"null").then_some(value);
            }
            rest = trim(after);
            rest = trim(rest.strip_prefix(b",").unwrap_or(rest));
        }
        None
    }

    /// Whether it is an object without entries.
    pub(crate) fn is_empty_object(self) -> bool {
        self.0
            .strip_prefix(b"{")
            .is_some_and(|rest| trim(rest) == b"}")
    }

    /// A string without escapes.
    pub(crate) fn text(self) -> Option<&'a str> {
        let inside = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let text = core::str::from_utf8(inside).ok()?;
        (!text.contains('\\')).then_some(text)
    }

    pub(crate) fn is_true(self) -> bool {
        self.0 == b"true"
    }

    /// A non-negative whole number.
    pub(crate) fn whole(self) -> Option<u64> {
        let text = core::str::from_utf8(self.0).ok()?;
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_digits.then(|| text.parse().ok()).flatten()
    }

    /// Seconds, such as `0.1`, `10` or `1e-7`, truncated to nanoseconds.
    pub(crate) fn seconds(self) -> Option<Duration> {
        let text = core::str::from_utf8(self.0).ok()?;
        let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() {
            return None;
        }
        // In nanoseconds: nine digits more.
        let mut scale = exponent.parse::<i32>().ok()?.checked_add(9)?;
        let mut value: u64 = 0;
        for (at, byte) in whole.bytes().chain(fraction.bytes()).enumerate() {
            let digit = char::from(byte).to_digit(10)?;
            let longer = value
                .checked_mul(10)
                .and_then(|value| value.checked_add(digit.into()));
            match longer {
                Some(longer) => {
                    value = longer;
                    scale = scale.checked_sub((at >= whole.len()).into())?;
                }
                // A digit beyond 64 bits; in the whole part it still counts as a place.
                None => scale = scale.checked_add((at < whole.len()).into())?,
            }
        }
        while scale > 0 && value > 0 {
            value = value.checked_mul(10)?;
            scale -= 1;
        }
        while scale < 0 && value > 0 {
            value /= 10;
            scale += 1;
        }
        Some(Duration::from_nanos(value))
    }

    /// The first element of an array.
    pub(crate) fn first(self) -> Option<Self> {
        Some(split(self.0.strip_prefix(b"[")?)?.0)
    }
}

fn trim(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Splits off the first value in `bytes`.
fn split(bytes: &[u8]) -> Option<(Json<'_>, &[u8])> {
    let bytes = trim(bytes);
    let mut nesting = Nesting::default();
    let mut at = 0;
    loop {
        at += match *bytes.get(at)? {
            b'"' => string_length(bytes.get(at..)?)?,
            open @ (b'{' | b'[') => {
                nesting.open(open)?;
                1
            }
            close @ (b'}' | b']') => {
                nesting.close(close)?;
                1
            }
            // Separators in an open array or object.
            b',' | b':' if nesting.depth > 0 => 1,
            byte if byte.is_ascii_whitespace() && nesting.depth > 0 => 1,
            _ => word_length(bytes.get(at..)?)?,
        };
        if nesting.depth == 0 {
            let (value, rest) = bytes.split_at_checked(at)?;
            return Some((Json(value), rest));
        }
    }
}

/// Open brackets, the innermost in the lowest bit.
#[derive(Default)]
struct Nesting {
    depth: u32,
    arrays: u32,
}

impl Nesting {
    fn open(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        self.arrays = self.arrays << 1 | u32::from(bracket == b'[');
        (self.depth <= MAX_DEPTH).then_some(())
    }

    fn close(&mut self, bracket: u8) -> Option<()> {
        let is_array = self.arrays & 1 == 1;
        self.depth = self.depth.checked_sub(1)?;
        self.arrays >>= 1;
        (is_array == (bracket == b']')).then_some(())
    }
}

/// Length of the string at the start of `bytes`, quotes included.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let mut is_escaped = false;
    let end = bytes.iter().skip(1).position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    Some(end + 2)
}

/// Length of the number or word at the start of `bytes`.
fn word_length(bytes: &[u8]) -> Option<usize> {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let length = bytes.iter().take_while(|byte| is_of_word(byte)).count();
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn value(text: &str) -> Json<'_> {
        Json::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn values_are_found_by_their_key_at_any_depth() {
        let text =
            r#" { "a" : [1, {"b": "}"}], "b": {"c": {"d": 7}}, "e": null, "f\"": 1, "g": true } "#;
        let all = value(text);
        let d = all.get("b").and_then(|b| b.get("c")?.get("d"));
        assert_eq!(d.and_then(Json::whole), Some(7));
        assert_eq!(all.get("a").unwrap().first().unwrap().whole(), Some(1));
        assert!(all.get("g").unwrap().is_true());
        assert_eq!(
            (all.get("d"), all.get("e"), all.get("f")),
            (None, None, None)
        );
        assert!(value("{ }").is_empty_object() && !all.is_empty_object());
    }

    #[test]
    fn seconds_become_nanoseconds() {
        for (text, nanos) in [
            ("10.0", Some(10_000_000_000)),
            ("0.1", Some(100_000_000)),
            ("1e-7", Some(100)),
            ("1.5e1", Some(15_000_000_000)),
            ("3600", Some(3_600_000_000_000)),
            ("0.30000000000000004", Some(300_000_000)),
            ("0.123456789123456789123456789", Some(123_456_789)),
            ("0", Some(0)),
            ("1e99", None),
            ("123456789012345678901234567890", None),
            ("-1", None),
            ("1.x", None),
            ("true", None),
        ] {
            assert_eq!(
                value(text).seconds().map(|time| time.as_nanos()),
                nanos,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_json_is_not_read() {
        for text in [
            "",
            "{",
            "[1",
            "{\"a\": 1]",
            "\"a",
            "}",
            "1 2",
            "{} x",
            ",",
            "[\"\\\"]",
        ] {
            assert_eq!(Json::read(text.as_bytes()), None, "{text}");
        }
        let deep = "[".repeat(40) + &"]".repeat(40);
        assert_eq!(Json::read(deep.as_bytes()), None);
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (0.0..1e9_f64).prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,5}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    /// Everything that `serde_json` finds is found here.
    fn agrees(value: &Value, json: Json<'_>) {
        if let Value::Object(entries) = value {
            for (key, inner) in entries {
                match json.get(key) {
                    None => assert!(inner.is_null(), "{key}"),
                    Some(json) => agrees(inner, json),
                }
            }
        }
        if let Some(text) = value.as_str() {
            assert!(json.text().is_none_or(|ours| ours == text));
        }
        if value.is_u64() {
            assert_eq!(json.whole(), value.as_u64());
        } else if let Some(number) = value.as_f64() {
            let ours = json.seconds().unwrap();
            let ours = ours.as_secs_f64();
            assert!(
                (ours - number).abs() <= 1e-9 + number * 1e-15,
                "{ours} {number}"
            );
        }
        if let Some(first) = value.as_array().and_then(|array| array.first()) {
            agrees(first, json.first().unwrap());
        }
    }

    proptest! {
        #[test]
        fn documents_are_read_as_serde_json_reads_them(document in documents()) {
            for text in [document.to_string(), serde_json::to_string_pretty(&document).unwrap()] {
                agrees(&document, Json::read(text.as_bytes()).unwrap());
            }
        }

        #[test]
        fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(json) = Json::read(&bytes) {
                let _ = (json.get("a"), json.text(), json.whole(), json.seconds(), json.first());
            }
        }
    }
}
