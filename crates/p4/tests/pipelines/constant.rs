//! Entries as constant entries of the compiled program, which `simple_switch` loads with it.

use linerate_p4::{Entity, Entry, Invocation, Match, Program, Update, hex};
use serde_json::{Value, json};

/// A compiled program with its entries, but for those of action profiles and direct meters: the format has none of these.
pub(crate) fn with_entries(compiled: &str, updates: &[Update]) -> String {
    let program = Program::from_json(compiled.as_bytes()).expect("it loads");
    let mut document: Value = serde_json::from_str(compiled).expect("it is JSON");
    let entries = updates.iter().filter_map(|update| match &update.entity {
        Entity::Entry(entry) => constant(&program, &document, entry),
        _ => None,
    });
    for (name, entry) in entries.collect::<Vec<_>>() {
        let pipelines = document["pipelines"].as_array_mut().into_iter().flatten();
        let tables = pipelines.filter_map(|pipeline| pipeline["tables"].as_array_mut());
        for table in tables.flatten().filter(|table| table["name"] == *name) {
            match table["entries"].as_array_mut() {
                Some(known) => known.push(entry.clone()),
                None => table["entries"] = json!([entry.clone()]),
            }
        }
    }
    document.to_string()
}

fn constant(program: &Program, document: &Value, entry: &Entry) -> Option<(String, Value)> {
    let Some(Invocation::Action { action, arguments }) = &entry.does else {
        return None;
    };
    let table = &program.tables[entry.table];
    // simple_switch does not load a table with constant entries and a direct meter.
    let tables = document["pipelines"].as_array().into_iter().flatten();
    let mut tables = tables
        .filter_map(|pipeline| pipeline["tables"].as_array())
        .flatten();
    tables.find(|known| known["name"] == *table.name && known["direct_meters"].is_null())?;
    let digits = |bytes: &[u8]| format!("0x{}", hex(bytes));
    let key = entry.key.iter().zip(&table.key).map(|(one, field)| {
        // simple_switch wants just the bytes of the field.
        let length = field.width.div_ceil(8) as usize;
        let digits = |bytes: &[u8]| digits(&bytes[bytes.len().saturating_sub(length)..]);
        match one {
            Match::Exact(value) => json!({"match_type": "exact", "key": digits(value)}),
            Match::Lpm { value, prefix } => {
                json!({"match_type": "lpm", "key": digits(value), "prefix_length": prefix})
            }
            Match::Ternary { value, mask } => {
                json!({"match_type": "ternary", "key": digits(value), "mask": digits(mask)})
            }
            Match::Range { low, high } => {
                json!({"match_type": "range", "start": digits(low), "end": digits(high)})
            }
            Match::Valid(_) => unreachable!("no table here matches {}", field.name),
            Match::Any => {
                let none = digits(&[0; 16]);
                json!({"match_type": "ternary", "key": none, "mask": none})
            }
        }
    });
    let known = document["actions"].as_array()?;
    let data: Vec<_> = arguments.iter().map(|value| digits(value)).collect();
    Some((
        table.name.clone(),
        json!({
            "match_key": key.collect::<Vec<_>>(),
            // The smaller wins here.
            "priority": 10_000 - entry.priority,
            "action_entry": {"action_id": known[*action]["id"], "action_data": data},
        }),
    ))
}
