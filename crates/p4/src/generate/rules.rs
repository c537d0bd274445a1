//! What a control plane writes before the first packet, by name, and the packets.

use super::Generated;
use crate::exec::{
    CloneSession, Entity, Entry, GroupMember, Invocation, Limits, Match, MeterConfig, Replica,
    Switch, Update, UpdateKind, WriteError,
};
use crate::load::LoadError;
use crate::program::Program;
use std::sync::Arc;

/// What an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleAction {
    /// An action with its arguments.
    Action(&'static str, Vec<Vec<u8>>),
    /// A group of the table's selector.
    Group(u32),
    /// A member of the table's action profile.
    Member(u32),
}

/// One thing that a control plane writes. Tables and actions are named as in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// An entry.
    Entry {
        /// The table.
        table: String,
        /// A match per key field.
        key: Vec<Match>,
        /// The larger wins, where priorities decide.
        priority: i64,
        /// What it does.
        does: RuleAction,
        /// What its direct meter allows.
        meter: Option<MeterConfig>,
    },
    /// Members 1 to this number of an action profile, each the same action, in one group if the profile has a selector.
    Members {
        /// The place of the profile.
        profile: usize,
        /// How many.
        count: u32,
        /// The group of all of them.
        group: Option<u32>,
    },
    /// A cell of a meter array.
    Meter {
        /// The place of the array.
        array: usize,
        /// What it allows.
        config: MeterConfig,
    },
    /// A multicast group with as many replicas at port 1.
    Multicast {
        /// Its number.
        group: u32,
        /// Copies.
        copies: u32,
    },
    /// A clone session with as many replicas at port 2.
    Session {
        /// Its number.
        id: u32,
        /// Copies.
        copies: u32,
    },
}

/// The packets of a program: one, or one that differs in four bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// The packet; it comes in at port 0.
    pub packet: Vec<u8>,
    /// Packets that go out for each that comes in.
    pub outputs: u32,
    /// Where four bytes hold a key, and how many keys there are; `None` where every packet is the same.
    pub keys: Option<(usize, u32)>,
}

impl Traffic {
    /// Sets the key of the packet: one of them for each number.
    pub fn choose(packet: &mut [u8], keys: Option<(usize, u32)>, number: u32) {
        if let Some((at, count)) = keys
            && let Some(bytes) = packet.get_mut(at..at + 4)
        {
            bytes.copy_from_slice(&scattered(number % count).to_be_bytes());
        }
    }
}

/// The key with a number: keys of different numbers differ, and neighbours are far apart, in the leading 24 bits too.
pub(super) fn scattered(number: u32) -> u32 {
    // Odd, so that no two of 2^24 numbers meet; the last eight bits are those of the host in an address.
    (number.wrapping_mul(0x009e_3779) & 0x00ff_ffff) << 8 | 1
}

/// Why a generated program does not run.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// Its JSON is refused.
    #[error("the program {0} is refused: {1}")]
    Load(String, Box<LoadError>),
    /// A rule names what is not there.
    #[error("the program {0} has no {1}")]
    Missing(String, String),
    /// A rule is refused.
    #[error("a rule of the program {0} is refused: {1}")]
    Rule(String, WriteError),
}

impl Generated {
    /// The program in a switch, with its rules.
    ///
    /// # Errors
    /// As [`GenerateError`] says; for a listed family there is none.
    pub fn switch(&self) -> Result<Switch, GenerateError> {
        let program = Program::from_json(self.json.as_bytes());
        let program =
            program.map_err(|error| GenerateError::Load(self.name.clone(), Box::new(error)))?;
        let updates = self.updates(&program)?;
        let limits = Limits {
            queue: 4096,
            ..Limits::default()
        };
        let mut switch = Switch::new(Arc::new(program), limits, 1);
        let written = switch.write(&updates, 0);
        written.map_err(|(_, error)| GenerateError::Rule(self.name.clone(), error))?;
        Ok(switch)
    }

    /// The rules as updates of the program, in their order.
    ///
    /// # Errors
    /// A rule that names what the program does not have.
    pub fn updates(&self, program: &Program) -> Result<Vec<Update>, GenerateError> {
        let mut updates = Vec::new();
        for rule in &self.rules {
            self.add(program, rule, &mut updates)?;
        }
        Ok(updates)
    }

    #[expect(clippy::too_many_lines, reason = "one arm per kind of rule")]
    fn add(
        &self,
        program: &Program,
        rule: &Rule,
        to: &mut Vec<Update>,
    ) -> Result<(), GenerateError> {
        let missing = |what: &str| GenerateError::Missing(self.name.clone(), what.to_owned());
        let action = |name: &str| {
            let found = program
                .actions
                .iter()
                .position(|action| action.name == name);
            found.ok_or_else(|| missing(name))
        };
        let mut insert = |entity| to.push(Update::new(UpdateKind::Insert, entity));
        match rule {
            Rule::Entry {
                table,
                key,
                priority,
                does,
                meter,
            } => {
                let found = program.tables.iter().position(|known| known.name == *table);
                let does = match does {
                    RuleAction::Action(name, arguments) => Invocation::Action {
                        action: action(name)?,
                        arguments: arguments.clone(),
                    },
                    RuleAction::Group(group) => Invocation::Group(*group),
                    RuleAction::Member(member) => Invocation::Member(*member),
                };
                insert(Entity::Entry(Entry {
                    table: found.ok_or_else(|| missing(table))?,
                    key: key.clone(),
                    priority: *priority,
                    does: Some(does),
                    meter: *meter,
                    ..Entry::default()
                }));
            }
            Rule::Members {
                profile,
                count,
                group,
            } => {
                let does = Invocation::Action {
                    action: action(super::parts::HIT)?,
                    arguments: Vec::new(),
                };
                for id in 1..=*count {
                    insert(Entity::Member {
                        profile: *profile,
                        id,
                        does: Some(does.clone()),
                    });
                }
                if let Some(id) = group {
                    insert(Entity::Group {
                        profile: *profile,
                        id: *id,
                        members: (1..=*count).map(member).collect(),
                        room: 0,
                    });
                }
            }
            Rule::Meter { array, config } => {
                let cell = Entity::Meter {
                    array: *array,
                    index: 0,
                    config: Some(*config),
                };
                to.push(Update::new(UpdateKind::Modify, cell));
            }
            Rule::Multicast { group, copies } => {
                insert(Entity::Multicast {
                    group: *group,
                    replicas: replicas(1, *copies),
                    note: Vec::new(),
                });
            }
            Rule::Session { id, copies } => {
                let session = CloneSession {
                    replicas: replicas(2, *copies),
                    truncate: None,
                };
                insert(Entity::Session { id: *id, session });
            }
        }
        Ok(())
    }
}

/// A member that is chosen as often as any other.
fn member(id: u32) -> GroupMember {
    GroupMember {
        id,
        weight: 1,
        watch: None,
    }
}

fn replicas(port: u32, copies: u32) -> Vec<Replica> {
    let instance = |at| u16::try_from(at).unwrap_or(u16::MAX);
    (0..copies)
        .map(|at| Replica {
            port,
            instance: instance(at),
        })
        .collect()
}
