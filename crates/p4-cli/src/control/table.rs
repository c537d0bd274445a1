//! `linerate p4 table`.

use super::{Switch, failed, schema};
use crate::{files, print};
use clap::Args;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    CounterData, Entity, TableEntry, Update, entity::Entity as Entities, update,
};
use linerate_p4_runtime::{
    Client, ClientError, Code, EntryWords, Schema, TableSchema, describe, parse_entries,
    parse_entry,
};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Arguments of `table list`.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    switch: Switch,
    /// A table's name, or its end.
    table: Option<String>,
}

/// Arguments of `table add`, `modify` and `delete`.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    #[command(flatten)]
    switch: Switch,
    /// An entry: TABLE [PRIORITY] FIELD:VALUE… ACTION(PARAMETER:VALUE,…), such as routes ipv4.dst:10.0.0.0/8 'send(port:3)'.
    #[arg(value_name = "ENTRY", required_unless_present = "entries")]
    entry: Vec<String>,
    /// Entries: JSON as list --json prints it, CSV (columns table, priority, action, and the fields of keys), or lines `add` and
    /// `setdefault` as in an STF test.
    #[arg(long, value_name = "FILE", conflicts_with = "entry")]
    entries: Option<PathBuf>,
}

/// What is done with entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Add,
    Modify,
    Delete,
}

pub(crate) fn change(args: &ChangeArgs, kind: Kind) -> Result<ExitCode> {
    let mut client = args.switch.connect_primary()?;
    let schema = schema(&client)?;
    let entries = if let Some(path) = &args.entries {
        let wrong = |error| Failure::new(ExitCode::Plan, format!("{}: {error}", path.display()));
        parse_entries(&schema, &files::read_text(path)?).map_err(wrong)?
    } else {
        let entry = parse_entry(&schema, &args.entry.join(" "));
        vec![entry.map_err(|error| Failure::new(ExitCode::Usage, error))?]
    };
    let update = |entry: &TableEntry| {
        let mut entry = entry.clone();
        let kind = match kind {
            Kind::Add if !entry.is_default_action => update::Type::Insert,
            Kind::Delete if !entry.is_default_action => update::Type::Delete,
            // A default is always there: it can only be changed, or set back to the program's.
            Kind::Delete => {
                entry.action = None;
                update::Type::Modify
            }
            Kind::Add | Kind::Modify => update::Type::Modify,
        };
        let entity = Some(Entities::TableEntry(entry));
        Update {
            r#type: kind as i32,
            entity: Some(Entity { entity }),
        }
    };
    let updates: Vec<_> = entries.iter().map(update).collect();
    let count = updates.len();
    let done = match kind {
        Kind::Add => "added",
        Kind::Modify => "changed",
        Kind::Delete => "deleted",
    };
    write(&mut client, updates).map_err(|(error, unless)| {
        let mut failure = refused(&error, &schema, &entries);
        if count > 1 {
            failure.message += &of_the_others(&error, unless, count, done);
        }
        failure
    })?;
    print(&if args.switch.json {
        format!("{:#}\n", json!({"entries": count, "done": done}))
    } else {
        let entries = if count == 1 { "entry" } else { "entries" };
        format!("{count} {entries} {done}\n")
    })?;
    Ok(ExitCode::Done)
}

/// What is not made where a switch refuses an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unless {
    /// None of all.
    All,
    /// That entry alone.
    Each,
}

/// All or none, where the switch can do that.
fn write(client: &mut Client, updates: Vec<Update>) -> Result<(), (ClientError, Unless)> {
    let one_by_one = |error: &ClientError| error.code() == Some(Code::Unimplemented);
    match client.write(updates.clone(), Atomicity::RollbackOnError) {
        Err(error) if one_by_one(&error) => {
            let each = client.write(updates, Atomicity::ContinueOnError);
            each.map_err(|error| (error, Unless::Each))
        }
        result => result.map_err(|error| (error, Unless::All)),
    }
}

/// What became of so many entries of which one or more were refused.
fn of_the_others(error: &ClientError, unless: Unless, count: usize, done: &str) -> String {
    let refused = error.refused().len();
    match unless {
        Unless::All if error.code().is_some() => {
            format!("; none of the {count} entries is {done}")
        }
        Unless::All => String::new(),
        Unless::Each if refused > 0 => {
            let made = count.saturating_sub(refused);
            format!("; {made} of {count} are {done}: this switch has no all or none")
        }
        Unless::Each => format!("; others may be {done}: this switch has no all or none"),
    }
}

/// Which entry the switch refuses, and why.
fn refused(error: &ClientError, schema: &Schema, entries: &[TableEntry]) -> Failure {
    let refused = error.refused();
    let aborted = Code::Aborted;
    let Some(first) = refused
        .iter()
        .find(|one| one.code != aborted)
        .or_else(|| refused.first())
    else {
        return failed(error);
    };
    let entry = entries
        .get(first.place)
        .map(|entry| line(&describe(schema, entry)))
        .map(|line| line.trim_end_matches(" nothing").to_owned());
    let what = format!(
        "the switch refuses {}: {}",
        entry.unwrap_or_default(),
        first.message
    );
    Failure::new(ExitCode::Peer, what)
}

pub(crate) fn list(args: &ListArgs) -> Result<ExitCode> {
    let client = args.switch.connect()?;
    let schema = schema(&client)?;
    let chosen: Vec<&TableSchema> = match &args.table {
        None => schema.tables.values().collect(),
        Some(name) => vec![named(&schema, name)?],
    };
    let mut tables = Vec::new();
    for table in chosen {
        tables.push((table, entries(&client, table)?));
    }
    print(&if args.switch.json {
        let entries = tables.iter().flat_map(|(_, entries)| entries);
        let entries: Vec<_> = entries.map(|entry| document(&schema, entry)).collect();
        format!("{:#}\n", json!({"entries": entries}))
    } else {
        text(&schema, &tables)
    })?;
    Ok(ExitCode::Done)
}

fn named<'a>(schema: &'a Schema, name: &str) -> Result<&'a TableSchema> {
    let wrong = |error| Failure::new(ExitCode::Usage, error);
    let id = parse_entry(schema, name).map_err(wrong)?.table_id;
    Ok(&schema.tables[&id])
}

/// The entries of a table, and its default at the end.
fn entries(client: &Client, table: &TableSchema) -> Result<Vec<TableEntry>> {
    let entry = TableEntry {
        table_id: table.id,
        counter_data: table.counter.map(|_| CounterData::default()),
        ..TableEntry::default()
    };
    let default = TableEntry {
        table_id: table.id,
        is_default_action: true,
        ..TableEntry::default()
    };
    let of = |entry| Entity {
        entity: Some(Entities::TableEntry(entry)),
    };
    let found = client
        .read(vec![of(entry), of(default)])
        .map_err(|error| failed(&error))?;
    let found = found.into_iter().filter_map(|entity| match entity.entity {
        Some(Entities::TableEntry(entry)) => Some(entry),
        _ => None,
    });
    Ok(found.collect())
}

/// An entry as [`parse_entry`] takes it.
fn line(words: &EntryWords) -> String {
    let pairs = |pairs: &[(String, String)], between: &str| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name}:{value}"));
        pairs.collect::<Vec<_>>().join(between)
    };
    let key = if words.default {
        "default".to_owned()
    } else if words.key.is_empty() {
        "*".to_owned()
    } else {
        pairs(&words.key, " ")
    };
    let priority = words
        .priority
        .map_or(String::new(), |priority| format!("{priority} "));
    let action = match words.action.as_str() {
        action if action.ends_with(')') || action == "nothing" => action.to_owned(),
        action => format!("{action}({})", pairs(&words.parameters, ", ")),
    };
    format!("{} {priority}{key} {action}", words.table)
}

fn text(schema: &Schema, tables: &[(&TableSchema, Vec<TableEntry>)]) -> String {
    let mut text = String::new();
    for (table, entries) in tables {
        let count = entries
            .iter()
            .filter(|entry| !entry.is_default_action)
            .count();
        let _ = writeln!(text, "{}: {count} of {} entries", table.name, table.size);
        for entry in entries {
            let words = line(&describe(schema, entry));
            let words = words
                .strip_prefix(&table.name)
                .unwrap_or(&words)
                .trim_start();
            let _ = write!(text, "  {words}");
            if entry.is_const {
                text.push_str(", constant");
            }
            if let Some(count) = &entry.counter_data {
                let _ = write!(
                    text,
                    ", {} packets, {} B",
                    count.packet_count, count.byte_count
                );
            }
            text.push('\n');
        }
    }
    text
}

fn document(schema: &Schema, entry: &TableEntry) -> Value {
    let words = describe(schema, entry);
    let object = |pairs: &[(String, String)]| {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)));
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    let mut document = json!({
        "table": words.table,
        "match": object(&words.key),
        "action": words.action,
        "parameters": object(&words.parameters),
    });
    if let Some(priority) = words.priority {
        document["priority"] = json!(priority);
    }
    if words.default {
        document["default"] = json!(true);
    }
    if entry.is_const {
        document["constant"] = json!(true);
    }
    if let Some(count) = &entry.counter_data {
        document["packets"] = json!(count.packet_count);
        document["bytes"] = json!(count.byte_count);
    }
    document
}
