//! Parts of a program in the making that its P4Info tells too: tables, and arrays by kind.

use serde_json::Value;

/// The action of entries that only have to be hit.
pub(super) const HIT: &str = "hit";

linerate_model::named_enum! {
    /// How a table matches its key.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Kind {
        Exact = "exact",
        Lpm = "lpm",
        Range = "range",
        Ternary = "ternary",
    }
}

/// What a table has beside its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direct {
    Counter,
    Meter,
    Nothing,
    Profile,
    Selector,
}

/// A table by one key of 32 bits, `key.value`.
#[derive(Debug, Clone)]
pub(super) struct TableDraft {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) size: u32,
    pub(super) direct: Direct,
}

/// Arrays, profiles and digests, as their JSON.
#[derive(Debug, Default)]
pub(super) struct Arrays {
    pub(super) counters: Vec<Value>,
    pub(super) meters: Vec<Value>,
    pub(super) registers: Vec<Value>,
    pub(super) profiles: Vec<Value>,
    pub(super) digests: Vec<Value>,
}
