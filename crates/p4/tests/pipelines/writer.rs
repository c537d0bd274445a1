//! Writes entries by the names of tables and actions.

use linerate_p4::{Entity, Entry, Invocation, Match, Program, Update, UpdateKind};

/// Finds tables and actions by name.
pub(crate) struct Writer<'a> {
    pub(crate) program: &'a Program,
    pub(crate) first_out: u64,
}

impl Writer<'_> {
    /// One of the ports that packets are sent to.
    pub(crate) fn out(&self, at: u64) -> u64 {
        self.first_out + at % super::PORTS
    }

    pub(crate) fn table(&self, name: &str) -> usize {
        let place = self
            .program
            .tables
            .iter()
            .position(|known| known.name == name);
        place.unwrap_or_else(|| panic!("no table {name}"))
    }

    pub(crate) fn does(&self, table: &str, action: &str, arguments: &[u64]) -> Invocation {
        let place = self.program.action_of(self.table(table), action);
        Invocation::Action {
            action: place.unwrap_or_else(|| panic!("no action {action} in {table}")),
            arguments: arguments.iter().map(|argument| bytes(*argument)).collect(),
        }
    }

    pub(crate) fn entry(
        &self,
        table: &str,
        key: Vec<Match>,
        priority: i64,
        does: Invocation,
    ) -> Update {
        insert(Entity::Entry(Entry {
            table: self.table(table),
            key,
            priority,
            does: Some(does),
            ..Entry::default()
        }))
    }

    /// An entry that does an action.
    pub(crate) fn act(
        &self,
        table: &str,
        key: Vec<Match>,
        priority: i64,
        action: (&str, &[u64]),
    ) -> Update {
        self.entry(table, key, priority, self.does(table, action.0, action.1))
    }

    pub(crate) fn exact(
        &self,
        table: &str,
        key: &[u64],
        action: &str,
        arguments: &[u64],
    ) -> Update {
        let key = key.iter().map(|value| exact(*value)).collect();
        self.act(table, key, 0, (action, arguments))
    }
}

pub(crate) fn insert(entity: Entity) -> Update {
    Update::new(UpdateKind::Insert, entity)
}

pub(crate) fn bytes(value: u64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

pub(crate) fn exact(value: u64) -> Match {
    Match::Exact(bytes(value))
}

pub(crate) fn masked(value: u64, mask: u64) -> Match {
    if mask == 0 {
        return Match::Any;
    }
    Match::Ternary {
        value: bytes(value & mask),
        mask: bytes(mask),
    }
}

pub(crate) fn prefix(value: u64, prefix: u32) -> Match {
    Match::Lpm {
        value: bytes(value & prefix_mask(prefix)),
        prefix,
    }
}

/// Of 32 bits.
pub(crate) fn prefix_mask(prefix: u32) -> u64 {
    0xffff_ffff & !(0xffff_ffff_u64 >> prefix)
}

pub(crate) fn range(low: u64, high: u64) -> Match {
    Match::Range {
        low: bytes(low),
        high: bytes(high),
    }
}
