//! Random entries for every table that can have them, as constant entries of the compiled program.

use linerate_model::random::Random;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Values that entries match, by header and field: packets take theirs from here.
pub(crate) type Pool = BTreeMap<(String, String), Vec<u128>>;

const ENTRIES: usize = 12;

pub(crate) fn mask(width: u32) -> u128 {
    u128::MAX.checked_shr(128 - width.min(128)).unwrap_or(0)
}

/// Small numbers, numbers with few bits, and any.
pub(crate) fn number(random: &mut Random, width: u32) -> u128 {
    let any = u128::from(random.bits()) << 64 | u128::from(random.bits());
    let value = match random.below(4) {
        0 | 1 => any & 7,
        2 => any,
        _ => mask(width).wrapping_sub(any & 3),
    };
    value & mask(width)
}

pub(crate) fn text(node: &Value) -> &str {
    node.as_str().unwrap_or_default()
}

pub(crate) fn list(node: &Value) -> &[Value] {
    node.as_array().map_or(&[], Vec::as_slice)
}

/// Widths of the fields of each header instance.
pub(crate) fn widths(document: &Value) -> BTreeMap<(String, String), u32> {
    let mut widths = BTreeMap::new();
    for header in list(&document["headers"]) {
        let types = list(&document["header_types"]);
        let of = types.iter().find(|of| of["name"] == header["header_type"]);
        for field in of.map_or(&[][..], |of| list(&of["fields"])) {
            let key = (text(&header["name"]).to_owned(), text(&field[0]).to_owned());
            // A variable-length field has no number here.
            let width = field[1].as_u64().unwrap_or(0);
            widths.insert(key, u32::try_from(width).expect("a small number"));
        }
    }
    widths
}

/// Gives each table without entries some, where all of its key can be written as constants.
pub(crate) fn fill(document: &mut Value, random: &mut Random) -> Pool {
    let (widths, actions) = (widths(document), document["actions"].clone());
    let mut pool = Pool::new();
    let pipelines = document["pipelines"].as_array_mut().expect("pipelines");
    for table in pipelines
        .iter_mut()
        .flat_map(|pipeline| pipeline["tables"].as_array_mut().expect("tables"))
    {
        // simple_switch does not load a table with constant entries and a direct meter.
        let simple = table["type"] == "simple"
            && list(&table["entries"]).is_empty()
            && table["direct_meters"].is_null();
        let kinds = ["exact", "lpm", "ternary", "optional", "range"];
        let known = list(&table["key"]).iter().all(|part| {
            kinds.contains(&text(&part["match_type"]))
                && part["mask"].is_null()
                && width_of(&widths, &part["target"]).is_some()
        });
        if !simple || !known || list(&table["key"]).is_empty() {
            continue;
        }
        let entries = entries(table, &actions, &widths, &mut pool, random);
        if !entries.is_empty() {
            table["entries"] = Value::Array(entries);
        }
    }
    pool
}

fn width_of(widths: &BTreeMap<(String, String), u32>, target: &Value) -> Option<u32> {
    let key = (text(&target[0]).to_owned(), text(&target[1]).to_owned());
    // The validity of a header is a field of one bit.
    let width = if key.1 == "$valid$" {
        1
    } else {
        *widths.get(&key)?
    };
    (1..=128).contains(&width).then_some(width)
}

fn entries(
    table: &Value,
    actions: &Value,
    widths: &BTreeMap<(String, String), u32>,
    pool: &mut Pool,
    random: &mut Random,
) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    let mut entries = Vec::new();
    let ids = list(&table["action_ids"]);
    for priority in 1..=ENTRIES {
        let mut key = Vec::new();
        for part in list(&table["key"]) {
            let target = &part["target"];
            let Some(width) = width_of(widths, target) else {
                return Vec::new();
            };
            let value = number(random, width);
            let name = (text(&target[0]).to_owned(), text(&target[1]).to_owned());
            pool.entry(name).or_default().push(value);
            key.push(one(text(&part["match_type"]), value, width, random));
        }
        let id = &ids[random.below(ids.len())];
        let action = list(actions).iter().find(|action| action["id"] == *id);
        let data = action.map_or(&[][..], |action| list(&action["runtime_data"]));
        let data: Vec<_> = data
            .iter()
            .map(|parameter| {
                let width = u32::try_from(parameter["bitwidth"].as_u64().unwrap_or(1))
                    .expect("a small number");
                format!("{:#x}", number(random, width))
            })
            .collect();
        if seen.insert(json!(key).to_string()) {
            entries.push(json!({
                "match_key": key, "priority": priority,
                "action_entry": {"action_id": id, "action_data": data},
            }));
        }
    }
    entries
}

fn one(kind: &str, value: u128, width: u32, random: &mut Random) -> Value {
    // simple_switch wants every byte of a key.
    let digits = 2 + 2 * width.div_ceil(8) as usize;
    let hex = |value: u128| format!("{value:#0digits$x}");
    match kind {
        "lpm" => {
            let prefix = u32::try_from(random.below(width as usize + 1)).expect("a small number");
            let mask = mask(width) & !mask(width - prefix);
            json!({"match_type": "lpm", "key": hex(value & mask), "prefix_length": prefix})
        }
        "ternary" | "optional" => {
            let mask = match random.below(3) {
                0 => 0,
                1 if kind == "ternary" => number(random, width),
                _ => mask(width),
            };
            json!({"match_type": "ternary", "key": hex(value & mask), "mask": hex(mask)})
        }
        "range" => {
            let other = number(random, width);
            json!({"match_type": "range", "start": hex(value.min(other)), "end": hex(value.max(other))})
        }
        _ => json!({"match_type": "exact", "key": hex(value)}),
    }
}
