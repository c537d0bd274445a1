//! Entries as people write and read them: names of tables, fields and actions, addresses, prefixes, masks, ranges.

mod entry;
mod value;

pub use entry::{EntryWords, describe, parse_entries, parse_entry};
