//! Entries in CSV: a row each, with the columns `table`, `priority` and `action`, and one for each field of a key.

use super::entry::parse_entry;
use crate::info::Schema;
use crate::proto::p4::v1::TableEntry;

/// Columns that are no fields.
const TABLE: &str = "table";
const PRIORITY: &str = "priority";
const ACTION: &str = "action";

/// Whether the first line is the head of such a table.
pub(super) fn is_sheet(text: &str) -> bool {
    let head = text.lines().next().unwrap_or_default();
    let mut names = head.split(',').map(|name| name.trim().trim_matches('"'));
    names.clone().count() > 1 && names.any(|name| name == TABLE)
}

/// The entries, in order. An empty cell is a field that matches anything.
pub(super) fn entries(schema: &Schema, text: &str) -> Result<Vec<TableEntry>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut found = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let (mut front, mut key, mut action) = ([""; 2], String::new(), String::new());
        for (name, cell) in head.iter().zip(&record) {
            match name {
                TABLE => front[0] = cell,
                PRIORITY => front[1] = cell,
                ACTION if cell.contains('(') || cell.is_empty() => cell.clone_into(&mut action),
                ACTION => action = format!("{cell}()"),
                _ if cell.is_empty() => {}
                field => key = format!("{key} {field}:{cell}"),
            }
        }
        let [table, priority] = front;
        let entry = parse_entry(schema, &format!("{table} {priority}{key} {action}"));
        let line = record.position().map_or(0, csv::Position::line);
        found.push(entry.map_err(|error| format!("line {line}: {error}"))?);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::info::parse_p4info;
    use crate::words::parse_entries;

    const P4INFO: &[u8] = include_bytes!("../../../../p4/control_plane/control_plane.p4info.txt");

    fn schema() -> Schema {
        Schema::new(&parse_p4info(P4INFO).unwrap()).unwrap()
    }

    #[test]
    fn rows_are_the_entries_that_lines_are() {
        let sheet = "table,priority,ipv4.dst,src,ttl,action\n\
            routes,,10.0.0.0/8,,,counted(port:3)\n\
            rules,7,,192.0.2.0&&&255.255.255.0,3..9,drop\n\
            rules,8,,,,\"metered(2)\"\n\
            routes default,,,,,\"NoAction\"\n";
        let lines = "add routes ipv4.dst:10.0.0.0/8 counted(port:3)\n\
            add rules 7 src:192.0.2.0&&&255.255.255.0 ttl:3..9 drop()\n\
            add rules 8 metered(2)\n\
            setdefault routes NoAction()\n";
        let schema = schema();
        let found = parse_entries(&schema, sheet).unwrap();
        assert_eq!(found, parse_entries(&schema, lines).unwrap());
        assert_eq!(found.len(), 4);
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        let schema = schema();
        let refused = |text: &str| parse_entries(&schema, text).unwrap_err();
        let unknown =
            refused("table,ipv4.dst,action\nroutes,10.0.0.0/8,counted(3)\nnowhere,1,drop\n");
        assert!(
            unknown.starts_with("line 3: there is no table nowhere"),
            "{unknown}"
        );
        let field = refused("table,colour,action\nroutes,red,counted(3)\n");
        assert!(
            field.contains("line 2") && field.contains("colour"),
            "{field}"
        );
        let short = refused("table,ipv4.dst,action\nroutes,10.0.0.0/8\n");
        assert!(short.contains("line: 2"), "{short}");
    }
}
