//! P4Info in text form. Numbers of entities have the prefix of their kind, as the P4Runtime specification asks.

use super::parts::{Arrays, Direct, HIT, TableDraft};
use serde_json::Value;
use std::fmt::Write as _;

/// Kinds of entities, with their prefix.
#[derive(Debug, Clone, Copy)]
enum Entity {
    Action = 0x01,
    Table = 0x02,
    ActionProfile = 0x11,
    Counter = 0x12,
    DirectCounter = 0x13,
    Meter = 0x14,
    DirectMeter = 0x15,
    Register = 0x16,
    Digest = 0x17,
}

fn id(kind: Entity, at: usize) -> u32 {
    (kind as u32) << 24 | u32::try_from(at + 1).unwrap_or(0)
}

/// `preamble` of an entity.
fn preamble(kind: Entity, at: usize, name: &str) -> String {
    format!(
        "  preamble {{\n    id: {}\n    name: \"{name}\"\n    alias: \"{name}\"\n  }}\n",
        id(kind, at)
    )
}

/// What the program's control plane sees.
pub(super) fn text(tables: &[TableDraft], arrays: &Arrays) -> String {
    let mut text = String::from("pkg_info {\n  arch: \"v1model\"\n}\n");
    for (at, table) in tables.iter().enumerate() {
        let _ = write!(
            text,
            "tables {{\n{}{}}}\n",
            preamble(Entity::Table, at, &table.name),
            body(table, tables, arrays)
        );
    }
    if !tables.is_empty() {
        for (at, name) in [HIT, "miss"].into_iter().enumerate() {
            let _ = write!(
                text,
                "actions {{\n{}}}\n",
                preamble(Entity::Action, at, name)
            );
        }
    }
    of_arrays(&mut text, tables, arrays);
    text
}

fn body(table: &TableDraft, tables: &[TableDraft], arrays: &Arrays) -> String {
    let kind = table.kind.as_str().to_uppercase();
    let mut text = format!(
        "  match_fields {{\n    id: 1\n    name: \"key.value\"\n    bitwidth: 32\n    match_type: {kind}\n  }}\n"
    );
    for at in 0..2 {
        let _ = write!(
            text,
            "  action_refs {{\n    id: {}\n  }}\n",
            id(Entity::Action, at)
        );
    }
    let with = |direct| {
        tables
            .iter()
            .filter(|one| one.direct == direct)
            .position(|one| one.name == table.name)
    };
    match table.direct {
        Direct::Nothing => {}
        Direct::Counter => {
            let at = with(Direct::Counter).unwrap_or(0);
            let _ = writeln!(
                text,
                "  direct_resource_ids: {}",
                id(Entity::DirectCounter, at)
            );
        }
        Direct::Meter => {
            let at = with(Direct::Meter).unwrap_or(0);
            let _ = writeln!(
                text,
                "  direct_resource_ids: {}",
                id(Entity::DirectMeter, at)
            );
        }
        Direct::Profile | Direct::Selector => {
            let name = format!("{}_profile", table.name);
            let at = arrays
                .profiles
                .iter()
                .position(|profile| profile["name"] == name.as_str())
                .unwrap_or(0);
            let _ = writeln!(
                text,
                "  implementation_id: {}",
                id(Entity::ActionProfile, at)
            );
        }
    }
    let _ = writeln!(text, "  size: {}", table.size);
    text
}

fn name(of: &Value) -> &str {
    of["name"].as_str().unwrap_or_default()
}

/// Direct arrays and indirect ones are numbered apart.
fn of_arrays(text: &mut String, tables: &[TableDraft], arrays: &Arrays) {
    of_cells(text, tables, &arrays.counters, &COUNTERS);
    of_cells(text, tables, &arrays.meters, &METERS);
    for (at, profile) in arrays.profiles.iter().enumerate() {
        let of = name(profile).trim_end_matches("_profile");
        let of = tables.iter().position(|table| table.name == of);
        let has_selector = profile.get("selector").is_some();
        let _ = write!(
            text,
            "action_profiles {{\n{}  table_ids: {}\n{}  size: {}\n}}\n",
            preamble(Entity::ActionProfile, at, name(profile)),
            id(Entity::Table, of.unwrap_or(0)),
            if has_selector {
                "  with_selector: true\n"
            } else {
                ""
            },
            profile["max_size"]
        );
    }
    for (at, register) in arrays.registers.iter().enumerate() {
        let _ = write!(
            text,
            "registers {{\n{}{}  size: {}\n}}\n",
            preamble(Entity::Register, at, name(register)),
            bits(&register["bitwidth"]),
            register["size"]
        );
    }
    for (at, digest) in arrays.digests.iter().enumerate() {
        let head = preamble(Entity::Digest, at, name(digest));
        let _ = write!(text, "digests {{\n{head}{}}}\n", bits(&Value::from(32)));
    }
}

/// The type of a bit string.
fn bits(width: &Value) -> String {
    format!(
        "  type_spec {{\n    bitstring {{\n      bit {{\n        bitwidth: {width}\n      }}\n    }}\n  }}\n"
    )
}

/// How a file of P4Info calls counters or meters.
struct CellKind {
    direct: Entity,
    indirect: Entity,
    word: &'static str,
    unit: &'static str,
}

const COUNTERS: CellKind = CellKind {
    direct: Entity::DirectCounter,
    indirect: Entity::Counter,
    word: "counters",
    unit: "BOTH",
};
const METERS: CellKind = CellKind {
    direct: Entity::DirectMeter,
    indirect: Entity::Meter,
    word: "meters",
    unit: "PACKETS",
};

/// Counters or meters: those of tables and those with cells of their own.
fn of_cells(
    text: &mut String,
    tables: &[TableDraft],
    arrays: &[Value],
    &CellKind {
        direct,
        indirect,
        word,
        unit,
    }: &CellKind,
) {
    let (mut directs, mut indirects) = (0, 0);
    for array in arrays {
        let table = tables
            .iter()
            .position(|table| array["binding"] == table.name.as_str());
        let spec = format!("  spec {{\n    unit: {unit}\n  }}\n");
        let _ = if let Some(of) = table {
            let (head, of) = (
                preamble(direct, directs, name(array)),
                id(Entity::Table, of),
            );
            directs += 1;
            write!(
                text,
                "direct_{word} {{\n{head}{spec}  direct_table_id: {of}\n}}\n"
            )
        } else {
            let (head, size) = (preamble(indirect, indirects, name(array)), &array["size"]);
            indirects += 1;
            write!(text, "{word} {{\n{head}{spec}  size: {size}\n}}\n")
        };
    }
}
