//! What is independent among observations of several levels: their units.

/// A unit with the mean of what was observed in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unit {
    /// Equal of units of two means that are the same one, such as one start of a program; `None` of a unit that no other
    /// mean has.
    pub name: Option<String>,
    /// The mean of what was observed in it.
    pub value: f64,
}

impl Unit {
    /// An observation that is independent of all others.
    pub const fn own(value: f64) -> Self {
        Self { name: None, value }
    }

    /// What each says.
    pub fn values(units: &[Self]) -> Vec<f64> {
        units.iter().map(|unit| unit.value).collect()
    }
}
