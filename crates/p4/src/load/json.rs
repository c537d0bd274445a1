//! A JSON document read by name: each error says which element it is about, and where that stands in the P4 source.

use crate::program::Source;
use serde_json::Value;
use std::rc::Rc;

/// Why a program cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The text is not JSON, or ends too early.
    #[error("not JSON: {0}")]
    Syntax(String),
    /// The JSON is not a compiled program in the BMv2 format, or contradicts itself.
    #[error("{place}: {what}{}", line(.at.as_ref()))]
    Invalid {
        /// The element.
        place: String,
        /// What is wrong.
        what: String,
        /// Where it stands in the P4 source.
        at: Option<Source>,
    },
    /// The program uses what this executor does not have.
    #[error("{place}: needs {what}, which this executor does not have{}", line(.at.as_ref()))]
    Unsupported {
        /// The element.
        place: String,
        /// What it needs.
        what: String,
        /// Where it stands in the P4 source.
        at: Option<Source>,
    },
}

fn line(source: Option<&Source>) -> String {
    source.map_or_else(String::new, |source| {
        format!(" ({}:{}: {})", source.file, source.line, source.text)
    })
}

pub(super) type Result<T> = std::result::Result<T, LoadError>;

/// A value of the document, with the way to it.
#[derive(Debug, Clone)]
pub(super) struct Json<'a>(Rc<Step<'a>>);

#[derive(Debug)]
struct Step<'a> {
    up: Option<Json<'a>>,
    key: String,
    value: &'a Value,
}

impl<'a> Json<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self(Rc::new(Step {
            up: None,
            key: String::new(),
            value,
        }))
    }

    fn below(&self, key: String, value: &'a Value) -> Self {
        Self(Rc::new(Step {
            up: Some(self.clone()),
            key,
            value,
        }))
    }

    pub(super) fn value(&self) -> &'a Value {
        self.0.value
    }

    /// An attribute that has to be there.
    pub(super) fn get(&self, key: &str) -> Result<Self> {
        self.find(key)
            .ok_or_else(|| self.invalid(format!("has no {key}")))
    }

    /// An attribute, unless it is absent or null.
    pub(super) fn find(&self, key: &str) -> Option<Self> {
        let value = self.value().get(key).filter(|value| !value.is_null())?;
        Some(self.below(key.to_owned(), value))
    }

    pub(super) fn items(&self) -> Result<Vec<Self>> {
        let list = self
            .value()
            .as_array()
            .ok_or_else(|| self.invalid("is not a list"))?;
        Ok(list
            .iter()
            .enumerate()
            .map(|(at, value)| self.below(format!("[{at}]"), value))
            .collect())
    }

    /// The items of a list that may be absent.
    pub(super) fn list(&self, key: &str) -> Result<Vec<Self>> {
        self.find(key).map_or(Ok(Vec::new()), |list| list.items())
    }

    pub(super) fn pair(&self) -> Result<(Self, Self)> {
        let mut items = self.items()?.into_iter();
        match (items.next(), items.next()) {
            (Some(first), Some(second)) => Ok((first, second)),
            _ => Err(self.invalid("has fewer than two items")),
        }
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.value()
            .as_str()
            .ok_or_else(|| self.invalid("is not a string"))
    }

    pub(super) fn number(&self) -> Result<u64> {
        self.value()
            .as_u64()
            .ok_or_else(|| self.invalid("is not a whole number"))
    }

    /// A number of at most 2³¹: indices, widths, sizes.
    pub(super) fn small(&self) -> Result<u32> {
        let number = self.number()?;
        u32::try_from(number)
            .ok()
            .filter(|small| *small <= 1 << 31)
            .ok_or_else(|| self.invalid(format!("{number} is too large")))
    }

    pub(super) fn flag(&self, key: &str) -> bool {
        self.find(key)
            .and_then(|flag| flag.value().as_bool())
            .unwrap_or(false)
    }

    pub(super) fn name(&self) -> Result<String> {
        Ok(self.get("name")?.text()?.to_owned())
    }

    pub(super) fn invalid(&self, what: impl Into<String>) -> LoadError {
        LoadError::Invalid {
            place: self.place(),
            what: what.into(),
            at: self.source(),
        }
    }

    pub(super) fn lacks(&self, what: impl Into<String>) -> LoadError {
        LoadError::Unsupported {
            place: self.place(),
            what: what.into(),
            at: self.source(),
        }
    }

    /// Where the nearest element around it that says so stands in the P4 source.
    pub(super) fn source(&self) -> Option<Source> {
        let own = || {
            let info = self.value().get("source_info")?;
            Some(Source {
                file: info.get("filename")?.as_str()?.to_owned(),
                line: info.get("line")?.as_u64()?,
                text: info
                    .get("source_fragment")
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            })
        };
        own().or_else(|| self.0.up.as_ref()?.source())
    }

    /// The way to the value; elements that have a name go by it.
    fn place(&self) -> String {
        let Some(up) = &self.0.up else {
            return "program".to_owned();
        };
        let above = if up.0.up.is_some() {
            format!("{} ", up.place())
        } else {
            String::new()
        };
        match self.value().get("name").and_then(Value::as_str) {
            Some(name) => format!("{above}{name:?}"),
            None => format!("{above}{}", self.0.key),
        }
    }

    /// A hexadecimal number of any length, with an optional sign: big-endian bytes, and whether it is negative.
    pub(super) fn hex(&self) -> Result<(Vec<u8>, bool)> {
        let text = self.text()?;
        let (negative, digits) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        let digit = |digit: char| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        };
        let digits: Option<Vec<u8>> = digits.chars().rev().map(digit).collect();
        let digits = digits.filter(|digits| !digits.is_empty());
        let digits =
            digits.ok_or_else(|| self.invalid(format!("{text:?} is not a hexadecimal number")))?;
        let byte = |pair: &[u8]| pair.get(1).copied().unwrap_or(0) << 4 | pair[0];
        Ok((digits.chunks(2).rev().map(byte).collect(), negative))
    }
}
