//! Units of published tables.

/// What a unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A size of code or memory, in bytes: it does not scatter from reading to reading.
    Memory,
    /// Any other number: packets, percent, a score.
    Number,
    /// A rate of L4 payload, in bit/s.
    Rate,
    /// A time, in nanoseconds.
    Time,
}

/// A unit by its name, and what one of it is in the base unit of its quantity.
#[derive(Debug, Clone, PartialEq)]
pub struct TableUnit {
    /// As in the table.
    pub name: String,
    /// What it counts.
    pub quantity: Quantity,
    /// One of it, in bytes, bit/s or nanoseconds.
    pub base: f64,
}

/// Names that are known, with quantity and base.
const KNOWN: &[(&str, Quantity, f64)] = &[
    ("bit/s", Quantity::Rate, 1.0),
    ("kbit/s", Quantity::Rate, 1e3),
    ("Mbit/s", Quantity::Rate, 1e6),
    ("Gbit/s", Quantity::Rate, 1e9),
    ("ns", Quantity::Time, 1.0),
    ("us", Quantity::Time, 1e3),
    ("µs", Quantity::Time, 1e3),
    ("ms", Quantity::Time, 1e6),
    ("s", Quantity::Time, 1e9),
    ("B", Quantity::Memory, 1.0),
    ("KiB", Quantity::Memory, 1024.0),
    ("MiB", Quantity::Memory, 1_048_576.0),
];

impl TableUnit {
    /// By its name; one that is not known counts something.
    pub fn new(name: &str) -> Self {
        let known = KNOWN.iter().find(|(known, ..)| *known == name);
        let (quantity, base) = known.map_or((Quantity::Number, 1.0), |(_, quantity, base)| {
            (*quantity, *base)
        });
        Self {
            name: name.to_owned(),
            quantity,
            base,
        }
    }
}
