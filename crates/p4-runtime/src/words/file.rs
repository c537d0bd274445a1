//! Entries of a file, in any of its forms.

use super::entry::{json_entries, parse_entry};
use super::sheet;
use crate::info::Schema;
use crate::proto::p4::v1::TableEntry;

/// The entries of a file: JSON as `table list --json` prints it, CSV whose head names `table` among others, or lines `add …`
/// and `setdefault …` of packet tests.
pub fn parse_entries(schema: &Schema, text: &str) -> Result<Vec<TableEntry>, String> {
    if text.trim_start().starts_with(['[', '{']) {
        return json_entries(schema, text);
    }
    if sheet::is_sheet(text) {
        return sheet::entries(schema, text);
    }
    let mut entries = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let entry = match word {
            // What a test sends and expects is no entry.
            "" | "packet" | "expect" | "check_counter" | "no_packet" | "wait" => continue,
            // Packet tests name entries whose counters they check: `= NAME`.
            "add" => {
                let entry = rest.rsplit_once(" = ").map_or(rest, |(entry, _name)| entry);
                parse_entry(schema, entry)
            }
            "setdefault" => {
                let (table, action) = rest
                    .trim()
                    .split_once(char::is_whitespace)
                    .unwrap_or((rest, ""));
                parse_entry(schema, &format!("{table} default {action}"))
            }
            other => Err(format!("{other:?} adds no entry: add and setdefault do")),
        };
        entries.push(entry.map_err(|error| format!("line {}: {error}", number + 1))?);
    }
    Ok(entries)
}
