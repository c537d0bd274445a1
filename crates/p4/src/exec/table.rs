//! The entries of a table: tuple space search over hashed keys, for every match kind alike.
//!
//! Entries with the same mask form a tuple, which has one hash table. An exact table has one tuple, an lpm table one per
//! prefix length, a ternary table one per mask. Tuples are tried from the highest priority down, and the search ends when
//! no further tuple can win. The priority of an entry without one is the length of its prefix. Ranges are compared with
//! each entry of the same masked key.

use super::choices::Choices;
use super::index::Index;
use super::meter::Meter;
use crate::program::{KeyField, KeyMatch, MatchKind, Table};

/// What a matching entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chosen {
    /// The action by its place in the table's list, with its data.
    Action { action: u32, data: Vec<u64> },
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action profile.
    Group(u32),
    /// Actions of its own, of which the table's selector chooses.
    Choices(Box<Choices>),
}

/// Packets and their bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets as they came in, without frame check sequence.
    pub bytes: u64,
}

impl Counter {
    pub(super) fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// An entry as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) key: Vec<KeyMatch>,
    pub(crate) priority: i64,
    pub(crate) chosen: Chosen,
    pub(crate) counter: Counter,
    pub(crate) meter: Meter,
    /// Nanoseconds without a packet after which the entry is idle; 0 for never.
    pub(crate) timeout: u64,
    /// When the entry was made or last matched.
    pub(crate) used: u64,
    /// What the control plane keeps with it.
    pub(crate) note: Vec<u8>,
    /// The words that ranges are about, with their bounds.
    ranges: Vec<(usize, u64, u64)>,
    next: Option<u32>,
    order: u64,
}

impl Stored {
    /// Whether no packet has used the entry for as long as its timeout says.
    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.timeout > 0 && now.saturating_sub(self.used) >= self.timeout
    }
}

#[derive(Debug)]
struct Tuple {
    mask: Vec<u64>,
    best: i64,
    entries: usize,
    index: Index,
}

/// The entries of one table.
#[derive(Debug)]
pub(crate) struct Entries {
    words: usize,
    seed: u64,
    tuples: Vec<Tuple>,
    stored: Vec<Option<Stored>>,
    free: Vec<u32>,
    count: usize,
    order: u64,
    prioritised: bool,
}

/// An entry before it is stored.
#[derive(Debug, Clone)]
pub(crate) struct NewEntry {
    pub(crate) key: Vec<KeyMatch>,
    /// The larger wins.
    pub(crate) priority: i64,
    pub(crate) chosen: Chosen,
    pub(crate) counter: Counter,
    pub(crate) meter: Meter,
    pub(crate) timeout: u64,
    pub(crate) note: Vec<u8>,
}

/// The masked key of an entry, its mask and its ranges.
struct Shape {
    mask: Vec<u64>,
    key: Vec<u64>,
    ranges: Vec<(usize, u64, u64)>,
    prefix: u32,
}

impl Shape {
    fn new(fields: &[KeyField], key: &[KeyMatch]) -> Self {
        let mut shape = Self {
            mask: Vec::new(),
            key: Vec::new(),
            ranges: Vec::new(),
            prefix: 0,
        };
        for (field, one) in fields.iter().zip(key) {
            match one {
                KeyMatch::Mask { value, mask } => {
                    if field.kind == MatchKind::Lpm {
                        shape.prefix = mask.iter().map(|word| word.count_ones()).sum();
                    }
                    shape
                        .key
                        .extend(value.iter().zip(mask).map(|(value, mask)| value & mask));
                    shape.mask.extend(mask);
                }
                KeyMatch::Range { low, high } => {
                    shape.ranges.push((shape.key.len(), low[0], high[0]));
                    shape.key.push(0);
                    shape.mask.push(0);
                }
            }
        }
        shape
    }
}

impl Entries {
    pub(super) fn new(table: &Table, seed: u64) -> Self {
        Self {
            words: table.key_words(),
            seed,
            tuples: Vec::new(),
            stored: Vec::new(),
            free: Vec::new(),
            count: 0,
            order: 0,
            prioritised: table.has_priorities(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, at: u32) -> Option<&Stored> {
        self.stored.get(at as usize)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, at: u32) -> Option<&mut Stored> {
        self.stored.get_mut(at as usize)?.as_mut()
    }

    /// Places and entries, in the order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Stored)> {
        self.stored
            .iter()
            .zip(0..)
            .filter_map(|(stored, at)| Some((at, stored.as_ref()?)))
    }

    /// Entries from a place on, in the order of their places.
    pub(crate) fn iter_from(&self, from: u32) -> impl Iterator<Item = (u32, &Stored)> {
        let rest = self.stored.get(from as usize..).unwrap_or_default();
        rest.iter()
            .zip(from..)
            .filter_map(|(stored, at)| Some((at, stored.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stored> {
        self.stored.iter_mut().flatten()
    }

    /// The entry that matches these words; `masked` is room for as many.
    pub(super) fn lookup(&self, key: &[u64], masked: &mut [u64]) -> Option<u32> {
        let mut found: Option<(&Stored, u32)> = None;
        for tuple in &self.tuples {
            if found.is_some_and(|(stored, _)| stored.priority > tuple.best) {
                break;
            }
            let masked = &mut masked[..self.words];
            for ((to, word), mask) in masked.iter_mut().zip(key).zip(&tuple.mask) {
                *to = word & mask;
            }
            let mut next = tuple.index.get(masked);
            while let Some((stored, at)) = next.and_then(|at| Some((self.get(at)?, at))) {
                let inside =
                    |(word, low, high): &(usize, u64, u64)| (*low..=*high).contains(&key[*word]);
                let wins = |(best, _): (&Stored, u32)| {
                    (stored.priority, best.order) > (best.priority, stored.order)
                };
                if stored.ranges.iter().all(inside) && found.is_none_or(wins) {
                    found = Some((stored, at));
                }
                next = stored.next;
            }
        }
        found.map(|(_, at)| at)
    }

    /// The entry with just this key, and this priority where priorities decide.
    pub(crate) fn find(&self, fields: &[KeyField], key: &[KeyMatch], priority: i64) -> Option<u32> {
        let shape = Shape::new(fields, key);
        let tuple = self.tuples.iter().find(|tuple| tuple.mask == shape.mask)?;
        let mut next = tuple.index.get(&shape.key);
        while let Some((stored, at)) = next.and_then(|at| Some((self.get(at)?, at))) {
            if stored.ranges == shape.ranges && (!self.prioritised || stored.priority == priority) {
                return Some(at);
            }
            next = stored.next;
        }
        None
    }

    /// Adds an entry that is not there yet; the answer is its place.
    pub(crate) fn insert(&mut self, fields: &[KeyField], entry: NewEntry, now: u64) -> u32 {
        let shape = Shape::new(fields, &entry.key);
        let priority = if self.prioritised {
            entry.priority
        } else {
            shape.prefix.into()
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.stored.push(None);
            u32::try_from(self.stored.len() - 1).unwrap_or(u32::MAX - 1)
        });
        self.order += 1;
        let (words, seed) = (self.words, self.seed);
        let known = self
            .tuples
            .iter()
            .position(|tuple| tuple.mask == shape.mask);
        let tuple = known.unwrap_or_else(|| {
            self.tuples.push(Tuple {
                mask: shape.mask,
                best: priority,
                entries: 0,
                index: Index::new(words, seed),
            });
            self.tuples.len() - 1
        });
        let tuple = &mut self.tuples[tuple];
        let next = tuple.index.get(&shape.key);
        tuple.index.set(&shape.key, at);
        tuple.entries += 1;
        tuple.best = tuple.best.max(priority);
        self.stored[at as usize] = Some(Stored {
            key: entry.key,
            priority,
            chosen: entry.chosen,
            counter: entry.counter,
            meter: entry.meter,
            timeout: entry.timeout,
            used: now,
            note: entry.note,
            ranges: shape.ranges,
            next,
            order: self.order,
        });
        self.count += 1;
        self.tuples
            .sort_by_key(|tuple| std::cmp::Reverse(tuple.best));
        at
    }

    /// Takes an entry away.
    pub(crate) fn remove(&mut self, fields: &[KeyField], at: u32) -> Option<Stored> {
        let stored = self.stored.get_mut(at as usize)?.take()?;
        let shape = Shape::new(fields, &stored.key);
        let tuple = self
            .tuples
            .iter()
            .position(|tuple| tuple.mask == shape.mask)?;
        let head = self.tuples[tuple].index.get(&shape.key);
        if head == Some(at) {
            match stored.next {
                Some(next) => self.tuples[tuple].index.set(&shape.key, next),
                None => self.tuples[tuple].index.remove(&shape.key),
            }
        } else {
            let mut before = head;
            while let Some(stored_before) = before.and_then(|before| self.get_mut(before)) {
                if stored_before.next == Some(at) {
                    stored_before.next = stored.next;
                    break;
                }
                before = stored_before.next;
            }
        }
        self.tuples[tuple].entries -= 1;
        if self.tuples[tuple].entries == 0 {
            self.tuples.remove(tuple);
        }
        self.free.push(at);
        self.count -= 1;
        Some(stored)
    }
}
