//! `linerate p4 counters`: what was counted, and what meters allow.

use super::{Switch, failed, schema};
use crate::print;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4_runtime::proto::p4::config::v1::meter_spec::Unit;
use linerate_p4_runtime::proto::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, Entity, Index, MeterConfig,
    MeterEntry, TableEntry, entity::Entity as Entities,
};
use linerate_p4_runtime::{ArraySchema, Client, EntryWords, Schema, describe};
use serde_json::json;
use std::fmt::Write as _;

/// Arguments of `counters`.
#[derive(Debug, Args)]
pub(crate) struct CountersArgs {
    #[command(flatten)]
    switch: Switch,
    /// Also cells and entries that have counted nothing.
    #[arg(long)]
    all: bool,
}

/// What one cell of a counter or meter has, or one entry.
struct Cell<T> {
    /// The counter or meter, or the table.
    name: String,
    /// The cell's index, or the entry's key.
    of: String,
    data: T,
}

impl<T> Cell<T> {
    fn at(array: &ArraySchema, index: Option<Index>, data: Option<T>) -> Option<Self> {
        Some(Self {
            name: array.name.clone(),
            of: index?.index.to_string(),
            data: data?,
        })
    }

    fn of_entry(schema: &Schema, entry: Option<TableEntry>, data: Option<T>) -> Option<Self> {
        let words = describe(schema, &entry?);
        Some(Self {
            of: key(&words),
            name: words.table,
            data: data?,
        })
    }
}

/// What a meter allows.
struct Allowed {
    unit: &'static str,
    config: MeterConfig,
}

pub(crate) fn run(args: &CountersArgs) -> Result<ExitCode, Failure> {
    let client = args.switch.connect()?;
    let schema = schema(&client)?;
    let mut counts = counts(&client, &schema)?;
    let meters = meters(&client, &schema)?;
    if !args.all {
        counts.retain(|count| count.data != CounterData::default());
    }
    print(&if args.switch.json {
        let counts = counts.iter().map(|count| {
            json!({"counter": count.name, "of": count.of, "packets": count.data.packet_count, "bytes": count.data.byte_count})
        });
        let meters = meters.iter().map(|meter| {
            let MeterConfig { cir, cburst, pir, pburst, .. } = meter.data.config;
            json!({
                "meter": meter.name, "of": meter.of, "unit": meter.data.unit, "committed": cir, "committed_burst": cburst,
                "peak": pir, "peak_burst": pburst,
            })
        });
        format!(
            "{:#}\n",
            json!({"counters": counts.collect::<Vec<_>>(), "meters": meters.collect::<Vec<_>>()})
        )
    } else {
        text(&schema, &counts, &meters)
    })?;
    Ok(ExitCode::Done)
}

/// Everything that matches, or nothing where the switch cannot read it: some cannot read what belongs to the entries of a
/// whole table.
fn entities(client: &Client, wanted: Entities) -> Result<Vec<Entity>, Failure> {
    let found = client.read(vec![Entity {
        entity: Some(wanted),
    }]);
    match found {
        Err(error) if error.is_unimplemented() => Ok(Vec::new()),
        found => found.map_err(|error| failed(&error)),
    }
}

/// The key of an entry, with its priority.
fn key(words: &EntryWords) -> String {
    let key: Vec<_> = words
        .key
        .iter()
        .map(|(name, value)| format!("{name}:{value}"))
        .collect();
    let priority = words
        .priority
        .map_or(String::new(), |priority| format!("{priority} "));
    let key = if key.is_empty() {
        "*".to_owned()
    } else {
        key.join(" ")
    };
    format!("{priority}{key}")
}

/// All entries of a table.
fn entries(table_id: u32) -> TableEntry {
    TableEntry {
        table_id,
        ..TableEntry::default()
    }
}

/// What is counted.
fn counts(client: &Client, schema: &Schema) -> Result<Vec<Cell<CounterData>>, Failure> {
    let mut counts = Vec::new();
    for counter in schema.counters.values() {
        let wanted = match counter.table {
            Some(table) => Entities::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(entries(table)),
                data: None,
            }),
            None => Entities::CounterEntry(CounterEntry {
                counter_id: counter.id,
                ..CounterEntry::default()
            }),
        };
        let cell = |entity: Entity| match entity.entity? {
            Entities::CounterEntry(cell) => Cell::at(counter, cell.index, cell.data),
            Entities::DirectCounterEntry(cell) => {
                Cell::of_entry(schema, cell.table_entry, cell.data)
            }
            _ => None,
        };
        counts.extend(entities(client, wanted)?.into_iter().filter_map(cell));
    }
    Ok(counts)
}

/// The meters that are set.
fn meters(client: &Client, schema: &Schema) -> Result<Vec<Cell<Allowed>>, Failure> {
    let mut meters = Vec::new();
    for meter in schema.meters.values() {
        let wanted = match meter.table {
            Some(table) => Entities::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(entries(table)),
                ..DirectMeterEntry::default()
            }),
            None => Entities::MeterEntry(MeterEntry {
                meter_id: meter.id,
                ..MeterEntry::default()
            }),
        };
        let unit = match meter.meter_unit {
            Unit::Bytes => "B",
            Unit::Packets | Unit::Unspecified => "packets",
        };
        let allowed = |config: Option<MeterConfig>| {
            Some(Allowed {
                unit,
                config: config?,
            })
        };
        let cell = |entity: Entity| match entity.entity? {
            Entities::MeterEntry(cell) => Cell::at(meter, cell.index, allowed(cell.config)),
            Entities::DirectMeterEntry(cell) => {
                Cell::of_entry(schema, cell.table_entry, allowed(cell.config))
            }
            _ => None,
        };
        meters.extend(entities(client, wanted)?.into_iter().filter_map(cell));
    }
    Ok(meters)
}

fn text(schema: &Schema, counts: &[Cell<CounterData>], meters: &[Cell<Allowed>]) -> String {
    let mut text = String::new();
    if schema.counters.is_empty() {
        text.push_str("the program has no counters\n");
    } else if counts.is_empty() {
        text.push_str("nothing counted yet; --all shows what is 0 too\n");
    }
    for count in counts {
        let (packets, bytes) = (count.data.packet_count, count.data.byte_count);
        let _ = writeln!(
            text,
            "{} [{}]: {packets} packets, {bytes} B",
            count.name, count.of
        );
    }
    for Cell { name, of, data } in meters {
        let Allowed { unit, config } = data;
        let MeterConfig {
            cir,
            cburst,
            pir,
            pburst,
            ..
        } = config;
        let _ = writeln!(
            text,
            "{name} [{of}]: meter of {cir} {unit}/s (burst {cburst}), peak {pir} {unit}/s (burst {pburst})"
        );
    }
    text
}
