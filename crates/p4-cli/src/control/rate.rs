//! `linerate p4 rate`: what a P4Runtime switch takes from one controller: entries written and read, packets out and in.

use super::{Switch, failed};
use crate::cost::control::{ENTRIES, FILLS, Operation, Pace, Row, document, families, text};
use crate::print;
use clap::Args;
use linerate_analysis::statistics::{self, USUAL_CONFIDENCE};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::{Clock as _, Estimate, MonoInstant};
use linerate_p4::UpdateKind;
use linerate_p4::generate::{Family, Generated};
use linerate_p4_runtime::proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use linerate_p4_runtime::proto::p4::v1::stream_message_request::Update as Request;
use linerate_p4_runtime::proto::p4::v1::stream_message_response::Update as Response;
use linerate_p4_runtime::proto::p4::v1::write_request::Atomicity;
use linerate_p4_runtime::proto::p4::v1::{
    Entity, PacketMetadata, PacketOut, TableEntry, Update, entity, update,
};
use linerate_p4_runtime::{Client, Schema, parse_entries, parse_p4info};
use linerate_sys::clock::MonoClock;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

/// Arguments of `rate`.
#[derive(Debug, Args)]
pub(crate) struct RateArgs {
    #[command(flatten)]
    switch: Switch,
    /// Entries that a table has already, up to 4 000 000; once for each. Without: 1000, 10 000 and 100 000.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    entries: Vec<u32>,
    /// Kind of table; once for each. Without: all.
    #[arg(long, value_name = "KIND", value_parser = ["exact", "lpm", "ternary"])]
    table: Vec<String>,
    /// Rounds of each operation.
    #[arg(long, value_name = "NUMBER", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=1000))]
    rounds: u16,
    /// Let go of the program that the switch runs, and of its entries.
    #[arg(long)]
    replace: bool,
}

/// A program that sends packets of the controller back to it, at port 510.
const PACKETS_PROGRAM: &[u8] = include_bytes!("../../../../p4/packet_io/packet_io.json");
const PACKETS_P4INFO: &[u8] = include_bytes!("../../../../p4/packet_io/packet_io.p4info.txt");
const CPU_PORT: u16 = 510;

/// Packets of a round, one after the other's return; empty requests of a round.
const ONE_BY_ONE: u32 = 200;
/// Packets of a round with as many on their way as [`WINDOW`].
const MANY: usize = 2000;
/// The client's queue has room for twice as many.
const WINDOW: usize = 32;
/// Bytes of a frame without the controller's header.
const FRAME: [u8; 64] = [0x0a; 64];
/// A packet that is not back by then is lost.
const LOST_AFTER: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &RateArgs) -> Result<ExitCode> {
    let mut client = args.switch.connect_primary()?;
    let runs = client.pipeline().map_err(|error| failed(&error))?;
    if runs.is_some_and(|config| config.p4info.is_some()) && !args.replace {
        let what = "the switch runs a program, which this would take away, with its entries; --replace does";
        return Err(Failure::new(ExitCode::Usage, what));
    }
    let mut fills = match args.entries.as_slice() {
        [] => FILLS.to_vec(),
        given => given.to_vec(),
    };
    fills.sort_unstable();
    fills.dedup();
    let is_wanted = |family: &&Family| {
        let named = |kind: &String| family.id.strip_prefix("entries-") == Some(kind);
        args.table.is_empty() || args.table.iter().any(named)
    };
    let (mut rows, mut empty) = (Vec::new(), Vec::new());
    for family in families().filter(is_wanted) {
        empty.extend(empty_requests(&client, args.rounds.into())?);
        rows.extend(Entries::new(&mut client, family, &fills)?.measure(args.rounds.into())?);
    }
    let packets = Packets::measure(&mut client, args.rounds.into())?;
    print(&if args.switch.json {
        let document = json!({
            "kind": "linerate/p4-rate/1", "target": args.switch.address, "clock": "time of the controller's host",
            "control_plane": document(&rows), "rounds_empty_request_ns": empty, "packets": packets.document(),
        });
        format!("{document:#}\n")
    } else {
        let what = "Time from a request until its answer, one controller, one request at a time. The switch runs a program of this measurement now.";
        text(&rows, "The switch", what) + &empty_text(&empty) + &packets.text()
    })?;
    Ok(ExitCode::Done)
}

/// Nanoseconds of a request that needs no table, by round: what connection and server take of any.
fn empty_requests(client: &Client, rounds: usize) -> Result<Vec<f64>> {
    let round = |_| {
        let begin = MonoClock.now();
        for _ in 0..ONE_BY_ONE {
            match client.version() {
                Ok(_) => {}
                // A switch that does not know it has answered too.
                Err(error) if error.code().is_some() => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        Ok(since(begin) / f64::from(ONE_BY_ONE))
    };
    (0..rounds).map(round).collect()
}

/// ` [90, 110]` in such a unit, from 0 on; nothing where there is no interval.
fn bounds(mean: &Estimate, unit: f64) -> String {
    mean.interval.map_or(String::new(), |found| {
        let low = found.low.max(0.0);
        format!(" [{:.0}, {:.0}]", low / unit, found.high / unit)
    })
}

fn empty_text(rounds: &[f64]) -> String {
    let Ok(mean) = statistics::mean(rounds, USUAL_CONFIDENCE) else {
        return String::new();
    };
    let bounds = bounds(&mean, 1e3);
    let (took, n) = (mean.point / 1e3, rounds.len());
    format!(
        "\nA request that needs no table (Capabilities) takes {took:.0}{bounds} µs (95 %, n = {n}): {:.0} of any kind/s one by one, were they no more work.\n",
        1e9 / mean.point
    )
}

/// Nanoseconds since then.
fn since(start: MonoInstant) -> f64 {
    MonoClock.now().saturating_since(start).as_secs_f64() * 1e9
}

/// A table that is filled step by step.
struct Entries<'a> {
    client: &'a mut Client,
    family: &'static Family,
    fills: &'a [u32],
    schema: Schema,
    generated: Generated,
    table: u32,
}

impl<'a> Entries<'a> {
    /// Sets the program, which has no entries then.
    fn new(client: &'a mut Client, family: &'static Family, fills: &'a [u32]) -> Result<Self> {
        let most = fills.last().copied().unwrap_or_default();
        let generated = family.generate(most.saturating_add(ENTRIES));
        let wrong =
            |error: &dyn std::fmt::Display| Failure::new(ExitCode::Other, error.to_string());
        let info = parse_p4info(generated.p4info.as_bytes()).map_err(|error| wrong(&error))?;
        let schema = Schema::new(&info).map_err(|error| wrong(&error))?;
        let table = schema
            .tables
            .values()
            .find(|table| !table.fields.is_empty());
        let table = table.map_or(0, |table| table.id);
        let program = generated.json.clone().into_bytes();
        let set = client.set_pipeline(Action::VerifyAndCommit, Some((info, program)), None);
        set.map_err(|error| failed(&error))?;
        Ok(Self {
            client,
            family,
            fills,
            schema,
            generated,
            table,
        })
    }

    fn measure(mut self, rounds: usize) -> Result<Vec<Row>> {
        let test = self.generated.stf();
        let lines: Vec<&str> = test
            .lines()
            .filter(|line| line.starts_with("add "))
            .collect();
        let batch = ENTRIES as usize;
        let (all, more) = lines.split_at(lines.len().saturating_sub(batch));
        let more = self.parse(more)?;
        let (mut there, mut rows) = (0, Vec::new());
        for fill in self.fills {
            let wanted = *fill as usize;
            for lines in all[there..wanted].chunks(batch) {
                let entries = self.parse(lines)?;
                self.write(updates(UpdateKind::Insert, &entries))?;
            }
            there = wanted;
            let row = Row::measured(self.family, *fill, rounds, |operation| {
                self.once(&more, operation)
            });
            rows.push(row?);
        }
        Ok(rows)
    }

    fn parse(&self, lines: &[&str]) -> Result<Vec<TableEntry>> {
        let entries = parse_entries(&self.schema, &lines.join("\n"));
        entries.map_err(|error| Failure::new(ExitCode::Other, error))
    }

    fn write(&mut self, updates: Vec<Update>) -> Result<()> {
        let written = self.client.write(updates, Atomicity::ContinueOnError);
        written.map_err(|error| match error.refused().first() {
            Some(first) => {
                let name = &self.generated.name;
                let what = format!("the switch refuses an entry of {name}: {}", first.message);
                Failure::new(ExitCode::Peer, what)
            }
            None => failed(&error),
        })
    }

    /// Nanoseconds per entry.
    fn once(&mut self, more: &[TableEntry], operation: Operation) -> Result<f64> {
        let (took, count) = match operation {
            Operation::ReadAll => {
                let wanted = Entity {
                    entity: Some(entity::Entity::TableEntry(TableEntry {
                        table_id: self.table,
                        ..TableEntry::default()
                    })),
                };
                let begin = MonoClock.now();
                let read = self
                    .client
                    .read(vec![wanted])
                    .map_err(|error| failed(&error))?;
                (since(begin), read.len())
            }
            Operation::Write(kind, pace) => {
                let mut updates = updates(kind, more);
                let begin = MonoClock.now();
                match pace {
                    Pace::Batch => self.write(updates)?,
                    Pace::OneByOne => {
                        for update in updates.drain(..) {
                            self.write(vec![update])?;
                        }
                    }
                }
                (since(begin), more.len())
            }
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
        Ok(took / f64::from(count))
    }
}

fn updates(kind: UpdateKind, entries: &[TableEntry]) -> Vec<Update> {
    let kind = match kind {
        UpdateKind::Insert => update::Type::Insert,
        UpdateKind::Modify => update::Type::Modify,
        UpdateKind::Delete => update::Type::Delete,
    };
    let update = |entry: &TableEntry| Update {
        r#type: kind as i32,
        entity: Some(Entity {
            entity: Some(entity::Entity::TableEntry(entry.clone())),
        }),
    };
    entries.iter().map(update).collect()
}

/// Packets from the controller through the switch and back.
#[derive(Debug, Default)]
struct Packets {
    sent: u64,
    returned: u64,
    /// Of packets sent alone, nanoseconds until they were back, sorted.
    delays: Vec<f64>,
    /// By round, packets/s with a window.
    rates: Vec<f64>,
}

impl Packets {
    fn measure(client: &mut Client, rounds: usize) -> Result<Self> {
        let wrong = |error| Failure::new(ExitCode::Other, format!("{error}"));
        let info = parse_p4info(PACKETS_P4INFO).map_err(wrong)?;
        let schema = Schema::new(&info).map_err(wrong)?;
        let config = Some((info, PACKETS_PROGRAM.to_vec()));
        let set = client.set_pipeline(Action::VerifyAndCommit, config, None);
        set.map_err(|error| failed(&error))?;
        let mut own = Self::default();
        for _ in 0..rounds {
            for _ in 0..ONE_BY_ONE {
                let begin = MonoClock.now();
                own.send(client, &schema)?;
                if own.await_one(client)? {
                    own.delays.push(since(begin));
                }
            }
            let (begin, before) = (MonoClock.now(), own.returned);
            for number in 0..MANY + WINDOW {
                if number >= WINDOW && !own.await_one(client)? {
                    break;
                }
                if number < MANY {
                    own.send(client, &schema)?;
                }
            }
            let returned = u32::try_from(own.returned - before).unwrap_or(u32::MAX);
            own.rates.push(f64::from(returned) / since(begin) * 1e9);
        }
        own.delays.sort_by(f64::total_cmp);
        Ok(own)
    }

    fn send(&mut self, client: &mut Client, schema: &Schema) -> Result<()> {
        let fields = schema.packet_out.fields.iter();
        let metadata = fields.filter(|field| !field.name.starts_with('_'));
        let metadata = metadata.map(|field| PacketMetadata {
            metadata_id: field.id,
            value: match field.name.as_str() {
                "egress_port" => CPU_PORT.to_be_bytes().to_vec(),
                _ => vec![0],
            },
        });
        let packet = PacketOut {
            payload: FRAME.to_vec(),
            metadata: metadata.collect(),
        };
        let sent = client.send(Request::Packet(packet));
        sent.map_err(|error| failed(&error))?;
        self.sent += 1;
        Ok(())
    }

    /// Whether a packet came back in time.
    fn await_one(&mut self, client: &mut Client) -> Result<bool> {
        let limit = MonoClock.now().after(LOST_AFTER);
        loop {
            let left = limit.saturating_since(MonoClock.now());
            if left.is_zero() {
                return Ok(false);
            }
            match client.next(left).map_err(|error| failed(&error))? {
                Some(Response::Packet(_)) => {
                    self.returned += 1;
                    return Ok(true);
                }
                Some(Response::Error(error)) => {
                    let what = format!("the switch refuses a packet: {}", error.message);
                    return Err(Failure::new(ExitCode::Peer, what));
                }
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }

    /// The value that so many of a thousand delays do not exceed, microseconds.
    fn delay(&self, of_a_thousand: usize) -> Option<f64> {
        let last = self.delays.len().checked_sub(1)?;
        let at = (self.delays.len() * of_a_thousand).div_ceil(1000);
        Some(self.delays[at.saturating_sub(1).min(last)] / 1e3)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let lost = self.sent - self.returned;
        if let Ok(mean) = statistics::mean(&self.rates, USUAL_CONFIDENCE) {
            let bounds = bounds(&mean, 1.0);
            let n = self.rates.len();
            let _ = writeln!(
                text,
                "\nPackets out and in again: {:.0}{bounds} packets/s (95 %, n = {n}, {WINDOW} on their way), {lost} of {} lost.",
                mean.point, self.sent
            );
        }
        if let (Some(middle), Some(late)) = (self.delay(500), self.delay(990)) {
            let n = self.delays.len();
            let _ = writeln!(
                text,
                "One alone is back after {middle:.0} µs (median), {late:.0} µs (p99), n = {n}."
            );
        }
        text
    }

    fn document(&self) -> Value {
        json!({
            "sent": self.sent, "returned": self.returned, "on_their_way": WINDOW, "rounds_packets_per_s": self.rates,
            "delay_median_us": self.delay(500), "delay_p99_us": self.delay(990), "delays": self.delays.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_any_request_takes_is_told() {
        let said = empty_text(&[90e3, 100e3, 110e3]);
        assert!(
            said.contains("takes 100 [75, 125] µs (95 %, n = 3): 10000 of any kind/s one by one"),
            "{said}"
        );
        assert!(empty_text(&[]).is_empty());
    }

    #[test]
    fn rates_delays_and_losses_are_told() {
        let packets = Packets {
            sent: 10,
            returned: 9,
            delays: (1..=100).map(|at| f64::from(at) * 1e3).collect(),
            rates: vec![900.0, 1000.0, 1100.0],
        };
        let said = packets.text();
        assert!(
            said.contains("1000 [752, 1248] packets/s (95 %, n = 3"),
            "{said}"
        );
        assert!(said.contains("1 of 10 lost"), "{said}");
        assert!(
            said.contains("50 µs (median), 99 µs (p99), n = 100"),
            "{said}"
        );
        assert!(Packets::default().text().is_empty());
    }
}
