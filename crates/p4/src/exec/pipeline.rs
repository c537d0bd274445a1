//! Nodes of a pipeline: tables, conditions and actions, until there is none left or the program exits.

use super::core::Core;
use super::event::{Event, Observer};
use super::packet::Packet;
use super::table::{Chosen, Entries};
use crate::program::{Next, Node, Program, Table};

impl Core {
    pub(super) fn pipeline<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        first: Option<u32>,
        observer: &mut O,
    ) {
        let mut next = first;
        // P4 has no loops between nodes; a file that has one must not hold the switch.
        for _ in 0..program.nodes.len() {
            let Some(at) = next else { break };
            next = match &program.nodes[at as usize] {
                Node::Table(table) => self.table(program, packet, *table, observer),
                Node::Condition {
                    name,
                    source,
                    condition,
                    yes,
                    no,
                } => {
                    let value = self.is_true(program, packet, *condition);
                    if O::LISTENS {
                        observer.event(Event::Condition {
                            name,
                            source: source.as_ref(),
                            value,
                        });
                    }
                    if value { *yes } else { *no }
                }
                Node::Call { action, next } => {
                    self.data.clear();
                    self.run(
                        program,
                        packet,
                        program.actions[*action as usize].body.clone(),
                        observer,
                    );
                    *next
                }
            };
            if packet.exited {
                break;
            }
        }
    }

    /// Looks a packet up in a table, does what the entry or the default says, and tells which node follows.
    fn table<O: Observer>(
        &mut self,
        program: &Program,
        packet: &mut Packet,
        at: u32,
        observer: &mut O,
    ) -> Option<u32> {
        let table = &program.tables[at as usize];
        let entry = self.lookup(table, packet, at);
        if let (Some(entry), Some((meter, result))) = (entry, table.meter) {
            let units = if program.meters[meter as usize].bytes {
                packet.bytes.len() as u64
            } else {
                1
            };
            let stored = self.tables[at as usize].get_mut(entry);
            let colour = stored.map(|stored| stored.meter.colour(units, self.now));
            packet.set(result, colour.map_or(0, |colour| colour as u64));
        }
        let action = self.choose(program, packet, at, entry);
        let chosen = action.and_then(|action| table.actions.get(action as usize));
        let chosen = chosen.map(|chosen| &program.actions[*chosen as usize]);
        if O::LISTENS {
            let action = chosen.map(|action| (action, self.data.as_slice()));
            observer.event(Event::Table {
                table,
                key: &self.key,
                entry,
                action,
            });
        }
        if let Some(chosen) = chosen {
            self.run(program, packet, chosen.body.clone(), observer);
        }
        let by_action = action
            .and_then(|action| table.next.by_action.get(action as usize))
            .copied();
        let special = if entry.is_some() {
            table.next.hit
        } else {
            table.next.miss
        };
        special
            .map(|Next(next)| next)
            .or(by_action)
            .unwrap_or(table.next.default)
    }

    /// The entry that matches; its counter and age are brought up to date.
    fn lookup(&mut self, table: &Table, packet: &Packet, at: u32) -> Option<u32> {
        self.key.clear();
        if table.key.is_empty() {
            return None;
        }
        for part in &table.key {
            let words = &packet.words[part.source.words()];
            let masked = words.iter().zip(&part.mask);
            self.key.extend(masked.map(|(word, mask)| word & mask));
        }
        if self.masked.len() < self.key.len() {
            self.masked.resize(self.key.len(), 0);
        }
        let entries = &mut self.tables[at as usize];
        let entry = entries.lookup(&self.key, &mut self.masked)?;
        if let Some(stored) = entries.get_mut(entry) {
            stored.counter.add(packet.bytes.len());
            stored.used = self.now;
        }
        Some(entry)
    }

    /// Which action of the table's list is done; its data goes to `self.data`.
    fn choose(
        &mut self,
        program: &Program,
        packet: &Packet,
        at: u32,
        entry: Option<u32>,
    ) -> Option<u32> {
        self.data.clear();
        let by_hash = match chosen(&self.tables, &self.defaults, at, entry)? {
            Chosen::Action { action, data } => {
                self.data.extend_from_slice(data);
                return Some(*action);
            }
            Chosen::Member(_) => false,
            Chosen::Group(_) | Chosen::Choices(_) => true,
        };
        let profile = program.tables[at as usize].profile?;
        let selector = program.profiles[profile as usize].selector;
        let hash = match selector.filter(|_| by_hash) {
            Some(selector) => self.calculate(program, packet, selector),
            None => 0,
        };
        // Asked again: computing the hash borrowed all.
        let member = match chosen(&self.tables, &self.defaults, at, entry)? {
            Chosen::Member(member) => *member,
            Chosen::Group(group) => self.profiles[profile as usize].choose(*group, hash)?,
            Chosen::Choices(choices) => {
                let choice = choices.choose(hash)?;
                self.data.extend_from_slice(&choice.data);
                return Some(choice.action);
            }
            Chosen::Action { .. } => return None,
        };
        match self.profiles[profile as usize].by_id.get(&member)? {
            Chosen::Action { action, data } => {
                self.data.extend_from_slice(data);
                // Members name actions of the program, tables have lists of their own.
                let list = &program.tables[at as usize].actions;
                let place = list.iter().position(|known| known == action)?;
                u32::try_from(place).ok()
            }
            Chosen::Member(_) | Chosen::Group(_) | Chosen::Choices(_) => None,
        }
    }
}

/// What an entry of a table does, or the table without an entry.
fn chosen<'a>(
    tables: &'a [Entries],
    defaults: &'a [Option<Chosen>],
    at: u32,
    entry: Option<u32>,
) -> Option<&'a Chosen> {
    let stored = entry.and_then(|entry| tables[at as usize].get(entry));
    stored
        .map(|stored| &stored.chosen)
        .or(defaults[at as usize].as_ref())
}
