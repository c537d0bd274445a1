//! Runs an STF test against a program.

use super::keys::key_of;
use super::statement::{Pair, Statement, StfError};
use super::words::Digits;
use crate::exec::{
    CloneSession, Counter, Entity, Entry, Invocation, Limits, Replica, Switch, Update, UpdateKind,
};
use crate::program::{Program, Table};
use crate::trace::Trace;
use linerate_model::hex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a test expected and did not find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The line of the test, from 1, if one line asked for it.
    pub line: Option<usize>,
    /// What was expected and what came.
    pub what: String,
    /// The way of the packet concerned.
    pub trace: Trace,
}

/// The result of a test.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Packets sent in.
    pub packets: usize,
    /// Packets and counters expected.
    pub expectations: usize,
    /// What went wrong; a test without any has passed.
    pub mismatches: Vec<Mismatch>,
}

/// A packet that came out.
struct Output {
    bytes: Vec<u8>,
    /// The packet that it came of, by its order.
    cause: usize,
}

/// A test under way.
struct Run<'a> {
    switch: &'a mut Switch,
    program: &'a Program,
    nodes: Vec<Vec<Replica>>,
    /// Entries by the name that counter checks use.
    names: BTreeMap<String, Entry>,
    outputs: BTreeMap<u32, Vec<Output>>,
    expected: BTreeMap<u32, Vec<(usize, &'a Statement)>>,
    /// The line of each packet and its trace.
    packets: Vec<(usize, Trace)>,
    report: Report,
    line: usize,
}

/// Runs the statements in their order, then compares each port's packets. The ports are those that the test names.
/// Packets come a microsecond apart.
pub fn run(program: &Arc<Program>, statements: &[(usize, Statement)]) -> Result<Report, StfError> {
    let ports: BTreeSet<u32> = statements
        .iter()
        .filter_map(|(_, statement)| port(statement))
        .collect();
    // Everything that one packet becomes has to find room.
    let limits = Limits {
        queue: 4096,
        ..Limits::default()
    };
    let mut switch = Switch::new(Arc::clone(program), limits, 0);
    switch.set_ports(ports.iter().copied());
    let mut run = Run::new(&mut switch, program);
    run.all(statements)?;
    run.compare(&ports);
    Ok(run.report)
}

/// Makes the entries, groups and sessions of a test, and leaves its packets and expectations.
pub fn control(switch: &mut Switch, statements: &[(usize, Statement)]) -> Result<(), StfError> {
    let program = switch.shared_program();
    let others: Vec<_> = statements
        .iter()
        .filter(|(_, statement)| port(statement).is_none())
        .cloned()
        .collect();
    Run::new(switch, &program).all(&others)
}

fn port(statement: &Statement) -> Option<u32> {
    match statement {
        Statement::Packet { port, .. } | Statement::Expect { port, .. } => Some(*port),
        _ => None,
    }
}

type Result<T, E = String> = std::result::Result<T, E>;

impl<'a> Run<'a> {
    fn new(switch: &'a mut Switch, program: &'a Program) -> Self {
        Self {
            switch,
            program,
            nodes: Vec::new(),
            names: BTreeMap::new(),
            outputs: BTreeMap::new(),
            expected: BTreeMap::new(),
            packets: Vec::new(),
            report: Report::default(),
            line: 0,
        }
    }

    fn all(&mut self, statements: &'a [(usize, Statement)]) -> Result<(), StfError> {
        for (line, statement) in statements {
            self.line = *line;
            self.statement(statement)
                .map_err(|what| StfError { line: *line, what })?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_lines, reason = "one arm per statement")]
    fn statement(&mut self, statement: &'a Statement) -> Result<()> {
        match statement {
            Statement::Packet { port, bytes } => self.packet(*port, bytes),
            Statement::Expect { port, .. } => {
                self.report.expectations += 1;
                self.expected
                    .entry(*port)
                    .or_default()
                    .push((self.line, statement));
            }
            Statement::Add {
                table,
                priority,
                key,
                action,
                arguments,
                name,
            } => {
                let at = find_table(self.program, table)?;
                let of = &self.program.tables[at];
                let does = Some(invocation(self.program, of, action, arguments)?);
                let key = key_of(of, key)?;
                let entry = Entry {
                    table: at,
                    key,
                    priority: *priority,
                    does,
                    ..Entry::default()
                };
                self.write(UpdateKind::Insert, Entity::Entry(entry.clone()))?;
                if let Some(name) = name {
                    self.names
                        .insert(name.trim_start_matches('$').to_owned(), entry);
                }
            }
            Statement::SetDefault {
                table,
                action,
                arguments,
            } => {
                let at = find_table(self.program, table)?;
                let does = Some(invocation(
                    self.program,
                    &self.program.tables[at],
                    action,
                    arguments,
                )?);
                self.write(
                    UpdateKind::Modify,
                    Entity::Default {
                        table: at,
                        does,
                        note: Vec::new(),
                    },
                )?;
            }
            Statement::Group(group) => {
                self.write(
                    UpdateKind::Insert,
                    Entity::Multicast {
                        group: *group,
                        replicas: Vec::new(),
                        note: Vec::new(),
                    },
                )?;
            }
            Statement::Node { instance, ports } => {
                let replica = |port: &u32| Replica {
                    port: *port,
                    instance: *instance,
                };
                self.nodes.push(ports.iter().map(replica).collect());
            }
            Statement::Associate { group, node } => {
                let new = self
                    .nodes
                    .get(*node)
                    .ok_or_else(|| format!("there is no node {node}"))?;
                let known = self
                    .switch
                    .multicast_groups()
                    .find(|(known, _)| known == group);
                let mut replicas = known
                    .map(|(_, replicas)| replicas.to_vec())
                    .unwrap_or_default();
                replicas.extend(new);
                self.write(
                    UpdateKind::Modify,
                    Entity::Multicast {
                        group: *group,
                        replicas,
                        note: Vec::new(),
                    },
                )?;
            }
            Statement::Mirror { session, port } => self.session(
                *session,
                vec![Replica {
                    port: *port,
                    instance: 0,
                }],
            )?,
            Statement::MirrorGroup { session, group } => {
                let known = self
                    .switch
                    .multicast_groups()
                    .find(|(known, _)| known == group);
                let replicas = known
                    .map(|(_, replicas)| replicas.to_vec())
                    .ok_or("the multicast group does not exist")?;
                self.session(*session, replicas)?;
            }
            Statement::CheckCounter {
                name,
                index,
                bytes,
                operator,
                value,
            } => {
                self.check_counter(name, index, *bytes, operator, *value)?;
            }
            Statement::Wait => {}
        }
        Ok(())
    }

    fn write(&mut self, kind: UpdateKind, entity: Entity) -> Result<()> {
        self.switch
            .write(&[Update::new(kind, entity)], 0)
            .map_err(|(_, error)| error.to_string())
    }

    fn session(&mut self, id: u32, replicas: Vec<Replica>) -> Result<()> {
        let session = CloneSession {
            replicas,
            truncate: None,
        };
        self.write(UpdateKind::Insert, Entity::Session { id, session })
    }

    fn packet(&mut self, port: u32, bytes: &[u8]) {
        let (mut trace, mut sent) = (Trace::default(), Vec::new());
        let now = self.packets.len() as u64 * 1000;
        let mut out = |port: u32, bytes: &[u8]| sent.push((port, bytes.to_vec()));
        self.switch.process_observed(
            port,
            bytes,
            now,
            &mut out,
            &mut |event: crate::exec::Event<'_>| trace.add(&event),
        );
        for (port, bytes) in sent {
            self.outputs.entry(port).or_default().push(Output {
                bytes,
                cause: self.packets.len(),
            });
        }
        self.packets.push((self.line, trace));
        self.report.packets += 1;
    }

    fn check_counter(
        &mut self,
        name: &str,
        index: &str,
        bytes: bool,
        operator: &str,
        value: u64,
    ) -> Result<()> {
        self.report.expectations += 1;
        let counter = match index.strip_prefix('$') {
            Some(entry) => self.entry_counter(entry)?,
            None => self.cell(name, index)?,
        };
        let found = if bytes {
            counter.bytes
        } else {
            counter.packets
        };
        let holds = match operator {
            "==" => found == value,
            "!=" => found != value,
            "<" => found < value,
            "<=" => found <= value,
            ">" => found > value,
            _ => found >= value,
        };
        if !holds {
            let unit = if bytes { "bytes" } else { "packets" };
            let trace = self
                .packets
                .last()
                .map(|(_, trace)| trace.clone())
                .unwrap_or_default();
            let what = format!("{name}({index}): {found} {unit}, {operator} {value} expected");
            self.report.mismatches.push(Mismatch {
                line: Some(self.line),
                what,
                trace,
            });
        }
        Ok(())
    }

    fn entry_counter(&self, name: &str) -> Result<Counter> {
        let entry = self.names.get(name);
        let entry = entry.ok_or_else(|| format!("no entry was added as {name}"))?;
        let found = self.switch.entry(entry).ok_or("the entry is gone")?;
        Ok(found.counter)
    }

    fn cell(&self, name: &str, index: &str) -> Result<Counter> {
        let ends = |full: &str| full == name || full.ends_with(&format!(".{name}"));
        let at = self
            .program
            .counters
            .iter()
            .position(|array| ends(&array.name));
        let at = at.ok_or_else(|| format!("there is no counter {name:?}"))?;
        let cell = Digits::parse(index).and_then(|digits| usize::try_from(digits.number()?).ok());
        let counter = cell.and_then(|cell| self.switch.counter(at, cell));
        counter.ok_or_else(|| format!("counter {name:?} has no cell {index}"))
    }

    fn compare(&mut self, ports: &BTreeSet<u32>) {
        for port in ports {
            let expected = self
                .expected
                .get(port)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let outputs = self
                .outputs
                .get(port)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let mut found = Vec::new();
            for ((line, statement), output) in expected.iter().zip(outputs) {
                if let Some(difference) = difference(statement, &output.bytes) {
                    let what = format!("port {port}: {difference}");
                    found.push(Mismatch {
                        line: Some(*line),
                        what,
                        trace: self.trace(output.cause),
                    });
                }
            }
            for (line, _) in expected.iter().skip(outputs.len()) {
                let what = format!(
                    "port {port}: a packet is missing ({} of {} came)",
                    outputs.len(),
                    expected.len()
                );
                let before = self.packets.iter().rposition(|(packet, _)| packet < line);
                found.push(Mismatch {
                    line: Some(*line),
                    what,
                    trace: self.trace(before.unwrap_or(0)),
                });
            }
            for output in outputs.iter().skip(expected.len()) {
                let what = format!(
                    "port {port}: {} B were not expected: {}",
                    output.bytes.len(),
                    hex(&output.bytes)
                );
                found.push(Mismatch {
                    line: None,
                    what,
                    trace: self.trace(output.cause),
                });
            }
            self.report.mismatches.extend(found);
        }
    }

    fn trace(&self, packet: usize) -> Trace {
        self.packets
            .get(packet)
            .map(|(_, trace)| trace.clone())
            .unwrap_or_default()
    }
}

/// How a packet differs from what was expected.
fn difference(expected: &Statement, bytes: &[u8]) -> Option<String> {
    let Statement::Expect {
        nibbles: Some(nibbles),
        exact,
        ..
    } = expected
    else {
        return None;
    };
    let found: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .collect();
    let digits = |nibbles: &[Option<u8>]| -> String {
        nibbles
            .iter()
            .map(|nibble| {
                nibble.map_or('*', |nibble| {
                    char::from_digit(nibble.into(), 16).unwrap_or('?')
                })
            })
            .collect()
    };
    let wrong = nibbles
        .iter()
        .zip(&found)
        .position(|(want, have)| want.is_some_and(|want| want != *have));
    let reason = if found.len() < nibbles.len() {
        format!(
            "{} B came, {} expected",
            bytes.len(),
            nibbles.len().div_ceil(2)
        )
    } else if let Some(at) = wrong {
        format!("byte {} differs", at / 2)
    } else if *exact && found.len() > nibbles.len() {
        format!(
            "{} B came, exactly {} expected",
            bytes.len(),
            nibbles.len().div_ceil(2)
        )
    } else {
        return None;
    };
    Some(format!(
        "{reason}\n  expected {}\n  found    {}",
        digits(nibbles),
        hex(bytes)
    ))
}

/// The one name that is `wanted`, or else the one that ends with it.
fn resolve<'b>(
    wanted: &str,
    names: impl Iterator<Item = &'b str> + Clone,
    kind: &str,
) -> Result<usize> {
    if let Some(at) = names.clone().position(|name| name == wanted) {
        return Ok(at);
    }
    let mut ending = names.enumerate().filter(|(_, name)| name.ends_with(wanted));
    match (ending.next(), ending.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some((_, first)), Some((_, second))) => {
            Err(format!("{kind} {wanted:?} may be {first:?} or {second:?}"))
        }
        (None, _) => Err(format!("there is no {kind} {wanted:?}")),
    }
}

fn find_table(program: &Program, name: &str) -> Result<usize> {
    resolve(
        name,
        program.tables.iter().map(|table| table.name.as_str()),
        "table",
    )
}

fn invocation(
    program: &Program,
    table: &Table,
    action: &str,
    arguments: &[Pair],
) -> Result<Invocation> {
    let names = table
        .actions
        .iter()
        .map(|at| program.actions[*at as usize].name.as_str());
    let action = table.actions[resolve(action, names, "action")?] as usize;
    let of = &program.actions[action];
    let mut values = Vec::new();
    for parameter in &of.parameters {
        let given = arguments.iter().find(|(name, _)| *name == parameter.name);
        let (_, value) =
            given.ok_or_else(|| format!("action {} needs {}", of.name, parameter.name))?;
        values.push(
            Digits::parse(value)
                .ok_or_else(|| format!("{value:?} is not a number"))?
                .value,
        );
    }
    if let Some((extra, _)) = arguments.iter().find(|(name, _)| {
        of.parameters
            .iter()
            .all(|parameter| parameter.name != *name)
    }) {
        return Err(format!("action {} has no parameter {extra:?}", of.name));
    }
    Ok(Invocation::Action {
        action,
        arguments: values,
    })
}
