//! `linerate p4 counters`.

use super::{Switch, failed, schema};
use crate::print;
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4_runtime::proto::p4::v1::{
    CounterData, CounterEntry, DirectCounterEntry, Entity, TableEntry, entity::Entity as Entities,
};
use linerate_p4_runtime::{Client, Code, Schema, describe};
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
    if !args.all {
        counts.retain(|count| count.data != CounterData::default());
    }
    print(&if args.switch.json {
        let counts = counts.iter().map(|count| {
            json!({"counter": count.name, "of": count.of, "packets": count.data.packet_count, "bytes": count.data.byte_count})
        });
        format!("{:#}\n", json!({"counters": counts.collect::<Vec<_>>()}))
    } else {
        text(&schema, &counts)
    })?;
    Ok(ExitCode::Done)
}

fn read(client: &Client, schema: &Schema, wanted: Entities) -> Result<Vec<Count>, Failure> {
    let found = client.read(vec![Entity {
        entity: Some(wanted),
    }]);
    let found = match found {
        // Some switches cannot read the direct counters of a whole table.
        Err(error) if error.code() == Some(Code::Unimplemented) => Vec::new(),
        found => found.map_err(|error| failed(&error))?,
    };
    let count = |entity: Entity| match entity.entity? {
        Entities::CounterEntry(entry) => Some(Count {
            name: schema.counters.get(&entry.counter_id)?.name.clone(),
            of: entry.index?.index.to_string(),
            data: entry.data?,
        }),
        Entities::DirectCounterEntry(entry) => {
            let words = describe(schema, &entry.table_entry?);
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
            Some(Count {
                name: words.table,
                of: format!("{priority}{key}"),
                data: entry.data?,
            })
        }
        _ => None,
    };
    Ok(found.into_iter().filter_map(count).collect())
}

fn text(schema: &Schema, counts: &[Count]) -> String {
    if schema.counters.is_empty() {
        return "the program has no counters\n".to_owned();
    }
    if counts.is_empty() {
        return "nothing counted yet; --all shows what is 0 too\n".to_owned();
    }
    let mut text = String::new();
    for count in counts {
        let (packets, bytes) = (count.data.packet_count, count.data.byte_count);
        let _ = writeln!(
            text,
            "{} [{}]: {packets} packets, {bytes} B",
            count.name, count.of
        );
    }
    text
}
