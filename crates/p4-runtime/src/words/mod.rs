//! Entries as people write and read them: names of tables, fields and actions, addresses, prefixes, masks, ranges.

mod entry;
mod file;
mod sheet;
mod value;

pub use entry::{EntryWords, describe, parse_entry};
pub use file::parse_entries;
