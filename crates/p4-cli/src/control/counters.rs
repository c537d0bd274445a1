//! `linerate p4 counters`: what was counted, and what meters allow.

use super::{Switch, failed, schema};
use crate::print;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4_runtime::proto::p4::config::v1::meter_spec::Unit;
use linerate_p4_runtime::proto::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, DirectMeterEntry, Entity, MeterConfig,
    MeterEntry, TableEntry, entity::Entity as Entities,
};
use linerate_p4_runtime::{Client, Code, EntryWords, Schema, describe};
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

/// What one cell, or one entry, has counted.
struct Count {
    /// The counter, or the table.
    name: String,
    /// The cell's index, or the entry's key.
    of: String,
    data: CounterData,
}

/// What one cell, or one entry, allows.
struct Meter {
    /// The meter, or the table.
    name: String,
    of: String,
    unit: &'static str,
    config: MeterConfig,
}

pub(crate) fn run(args: &CountersArgs) -> Result<ExitCode, Failure> {
    let client = args.switch.connect()?;
    let schema = schema(&client)?;
    let mut counts = Vec::new();
    for counter in schema.counters.values() {
        let wanted = match counter.table {
            Some(table_id) => Entities::DirectCounterEntry(DirectCounterEntry {
                table_entry: Some(TableEntry {
                    table_id,
                    ..TableEntry::default()
                }),
                data: None,
            }),
            None => Entities::CounterEntry(CounterEntry {
                counter_id: counter.id,
                index: None,
                data: None,
            }),
        };
        counts.extend(read(&client, &schema, wanted)?);
    }
    let meters = meters(&client, &schema)?;
    if !args.all {
        counts.retain(|count| count.data != CounterData::default());
    }
    print(&if args.switch.json {
        let counts = counts.iter().map(|count| {
            json!({"counter": count.name, "of": count.of, "packets": count.data.packet_count, "bytes": count.data.byte_count})
        });
        let meters = meters.iter().map(|meter| {
            let MeterConfig { cir, cburst, pir, pburst, .. } = meter.config;
            json!({
                "meter": meter.name, "of": meter.of, "unit": meter.unit, "committed": cir, "committed_burst": cburst,
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
        Err(error) if error.code() == Some(Code::Unimplemented) => Ok(Vec::new()),
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

/// The meters that are set.
fn meters(client: &Client, schema: &Schema) -> Result<Vec<Meter>, Failure> {
    let mut meters = Vec::new();
    for meter in schema.meters.values() {
        let wanted = match meter.table {
            Some(table_id) => Entities::DirectMeterEntry(DirectMeterEntry {
                table_entry: Some(TableEntry {
                    table_id,
                    ..TableEntry::default()
                }),
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
        let one = |entity: Entity| match entity.entity? {
            Entities::MeterEntry(entry) => Some(Meter {
                name: meter.name.clone(),
                of: entry.index?.index.to_string(),
                unit,
                config: entry.config?,
            }),
            Entities::DirectMeterEntry(entry) => {
                let words = describe(schema, &entry.table_entry?);
                Some(Meter {
                    of: key(&words),
                    name: words.table,
                    unit,
                    config: entry.config?,
                })
            }
            _ => None,
        };
        meters.extend(entities(client, wanted)?.into_iter().filter_map(one));
    }
    Ok(meters)
}

fn read(client: &Client, schema: &Schema, wanted: Entities) -> Result<Vec<Count>, Failure> {
    let found = entities(client, wanted)?;
    let count = |entity: Entity| match entity.entity? {
        Entities::CounterEntry(entry) => Some(Count {
            name: schema.counters.get(&entry.counter_id)?.name.clone(),
            of: entry.index?.index.to_string(),
            data: entry.data?,
        }),
        Entities::DirectCounterEntry(entry) => {
            let words = describe(schema, &entry.table_entry?);
            Some(Count {
                of: key(&words),
                name: words.table,
                data: entry.data?,
            })
        }
        _ => None,
    };
    Ok(found.into_iter().filter_map(count).collect())
}

fn text(schema: &Schema, counts: &[Count], meters: &[Meter]) -> String {
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
    for Meter {
        name,
        of,
        unit,
        config,
    } in meters
    {
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
