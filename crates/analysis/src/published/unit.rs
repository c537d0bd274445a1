//! Units of published tables.

use linerate_model::quantity::QuantityUnit;

/// A unit by its name, and what one of it is in the base unit of its quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct TableUnit {
    /// As in the table.
    pub name: String,
    /// What it is a multiple of: [`QuantityUnit::Plain`] where its name is not known.
    pub of: QuantityUnit,
    /// One of it, in bytes, bit/s or nanoseconds.
    pub base: f64,
}

/// Names that are known, with unit and base.
const KNOWN: &[(&str, QuantityUnit, f64)] = &[
    ("bit/s", QuantityUnit::BitRate, 1.0),
    ("kbit/s", QuantityUnit::BitRate, 1e3),
    ("Mbit/s", QuantityUnit::BitRate, 1e6),
    ("Gbit/s", QuantityUnit::BitRate, 1e9),
    ("ns", QuantityUnit::Nanoseconds, 1.0),
    ("us", QuantityUnit::Nanoseconds, 1e3),
    ("µs", QuantityUnit::Nanoseconds, 1e3),
    ("ms", QuantityUnit::Nanoseconds, 1e6),
    ("s", QuantityUnit::Nanoseconds, 1e9),
    ("B", QuantityUnit::Bytes, 1.0),
    ("KiB", QuantityUnit::Bytes, 1024.0),
    ("MiB", QuantityUnit::Bytes, 1_048_576.0),
];

impl TableUnit {
    /// By its name; one that is not known counts something.
    pub fn new(name: &str) -> Self {
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let (of, base) = known.map_or((QuantityUnit::Plain, 1.0), |(_, of, base)| (*of, *base));
        Self {
            name: name.to_owned(),
            of,
            base,
        }
    }
}
