//! What a control plane writes and reads: entries, defaults, members, groups, replicas, sessions, arrays.

use super::choices::GroupMember;
use super::meter::MeterConfig;
use super::table::Counter;

/// How one field of a key matches. Values are big-endian; leading zeros may be left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Match {
    /// Equal.
    Exact(Vec<u8>),
    /// Equal in the leading bits.
    Lpm {
        /// The value; bits behind the prefix are not looked at.
        value: Vec<u8>,
        /// Bits of the prefix.
        prefix: u32,
    },
    /// Equal where the mask has ones.
    Ternary {
        /// The value.
        value: Vec<u8>,
        /// The mask.
        mask: Vec<u8>,
    },
    /// Between two values, both included.
    Range {
        /// The smallest.
        low: Vec<u8>,
        /// The largest.
        high: Vec<u8>,
    },
    /// Whether the header is valid.
    Valid(bool),
    /// Anything; not for exact fields.
    Any,
}

/// What an entry or a default does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// An action, by its place among the program's, with an argument for each parameter, big-endian.
    Action {
        /// The place in [`crate::Program::actions`].
        action: usize,
        /// Values in the order of the parameters.
        arguments: Vec<Vec<u8>>,
    },
    /// A member of the table's action profile.
    Member(u32),
    /// A group of the table's action profile.
    Group(u32),
    /// Actions of this entry alone, of which the table's selector chooses. Not mixed with members and groups.
    Choices(Vec<Choice>),
}

/// An action that a selector may choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The place in [`crate::Program::actions`].
    pub action: usize,
    /// Values in the order of the parameters.
    pub arguments: Vec<Vec<u8>>,
    /// How often it is chosen, relative to the others.
    pub weight: u32,
    /// The port without which it is not chosen.
    pub watch: Option<u32>,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entry {
    /// The place in [`crate::Program::tables`].
    pub table: usize,
    /// A match for each field of the key.
    pub key: Vec<Match>,
    /// Where priorities decide, the larger wins.
    pub priority: i64,
    /// What it does; not looked at when an entry is deleted. Without it, a modified entry does what it did.
    pub does: Option<Invocation>,
    /// Nanoseconds without a packet after which it is idle; 0 for never.
    pub timeout: u64,
    /// What its direct meter allows.
    pub meter: Option<MeterConfig>,
    /// What its direct counter counts from, or has counted. Modifying an entry leaves it.
    pub counter: Counter,
    /// When it was made, modified or last matched, in nanoseconds; not looked at when written.
    pub used: u64,
    /// What the control plane keeps with it.
    pub note: Vec<u8>,
}

/// A copy of a packet, for a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    /// The port.
    pub port: u32,
    /// What the program sees as `egress_rid`.
    pub instance: u16,
}

/// Where clones of a session go.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CloneSession {
    /// One clone for each.
    pub replicas: Vec<Replica>,
    /// The most bytes of a clone.
    pub truncate: Option<usize>,
}

/// What to do with an entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// Make it; it must not be there.
    Insert,
    /// Change it; it must be there.
    Modify,
    /// Take it away; it must be there.
    Delete,
}

/// What can be written. Places are those in the lists of [`crate::Program`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entity {
    /// An entry of a table.
    Entry(Entry),
    /// What a table does on a miss; `None` is what the program says. Only modified.
    Default {
        /// The table.
        table: usize,
        /// What it does.
        does: Option<Invocation>,
        /// What the control plane keeps with it; nothing where `does` is `None`.
        note: Vec<u8>,
    },
    /// A member of an action profile.
    Member {
        /// The profile.
        profile: usize,
        /// Its number.
        id: u32,
        /// An action.
        does: Option<Invocation>,
    },
    /// A group of members.
    Group {
        /// The profile.
        profile: usize,
        /// Its number.
        id: u32,
        /// Its members, none twice.
        members: Vec<GroupMember>,
        /// The most members that the control plane announced; kept for it.
        room: u32,
    },
    /// A multicast group.
    Multicast {
        /// Its number.
        group: u32,
        /// Its copies.
        replicas: Vec<Replica>,
        /// What the control plane keeps with it.
        note: Vec<u8>,
    },
    /// A clone session.
    Session {
        /// Its number.
        id: u32,
        /// Where clones go.
        session: CloneSession,
    },
    /// All values of a value set, with masks. Only modified.
    ValueSet {
        /// The set.
        set: usize,
        /// Values and masks.
        members: Vec<(Vec<u8>, Vec<u8>)>,
    },
    /// The direct counter of an entry. Only modified.
    EntryCounter {
        /// The table.
        table: usize,
        /// The entry's key.
        key: Vec<Match>,
        /// Its priority.
        priority: i64,
        /// What it shows.
        value: Counter,
    },
    /// The direct meter of an entry. Only modified.
    EntryMeter {
        /// The table.
        table: usize,
        /// The entry's key.
        key: Vec<Match>,
        /// Its priority.
        priority: i64,
        /// What it allows; `None` for everything.
        config: Option<MeterConfig>,
    },
    /// A counter cell. Only modified.
    Counter {
        /// The array.
        array: usize,
        /// The cell.
        index: usize,
        /// What it shows.
        value: Counter,
    },
    /// A meter cell. Only modified.
    Meter {
        /// The array.
        array: usize,
        /// The cell.
        index: usize,
        /// What it allows; `None` for everything.
        config: Option<MeterConfig>,
    },
    /// A register cell. Only modified.
    Register {
        /// The array.
        array: usize,
        /// The cell.
        index: usize,
        /// Its value, big-endian.
        value: Vec<u8>,
    },
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// What to do.
    pub kind: UpdateKind,
    /// With what.
    pub entity: Entity,
}

impl Update {
    /// A change of this kind.
    pub fn new(kind: UpdateKind, entity: Entity) -> Self {
        Self { kind, entity }
    }
}

/// Why an update is refused. Nothing of its batch is made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// It does not fit the program.
    #[error("{0}")]
    Invalid(String),
    /// It is there already.
    #[error("{0} exists already; modify it, or delete it first")]
    Exists(&'static str),
    /// It is not there.
    #[error("{0} does not exist")]
    Missing(&'static str),
    /// There is no room for it.
    #[error("{what} is full: it has room for {room}")]
    Full {
        /// What is full.
        what: String,
        /// For how many it has room.
        room: usize,
    },
    /// The program does not allow it.
    #[error("{0} is constant in the program")]
    Constant(String),
    /// Something else refers to it.
    #[error("{0} is in use; first change what refers to it")]
    InUse(String),
}

/// What a write gives, or why it is refused.
pub(super) type Written<T> = Result<T, WriteError>;
