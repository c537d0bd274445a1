//! Which controller of a role is primary. Pure: messages in, notifications out.
//!
//! # References
//! - P4Runtime specification 1.5.0, section 5

use crate::proto::google;
use crate::proto::p4::v1::{MasterArbitrationUpdate, Role, Uint128};
use crate::refusal::{Refusal, Result, invalid, not_found};
use prost_types::Any;
use std::collections::BTreeMap;
use tonic::Code;

/// A stream of a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ClientId(pub(super) u64);

/// A role: its name, or the number that older controllers have in its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct RoleName {
    pub(super) name: String,
    pub(super) number: u64,
}

impl RoleName {
    pub(super) fn new(name: &str, number: u64) -> Self {
        let name = name.to_owned();
        Self { name, number }
    }

    fn of(role: Option<&Role>) -> Self {
        let role = role.cloned().unwrap_or_default();
        Self {
            name: role.name,
            number: role.id,
        }
    }

    fn is_default(&self) -> bool {
        self.name.is_empty() && self.number == 0
    }
}

fn number(id: Uint128) -> u128 {
    u128::from(id.high) << 64 | u128::from(id.low)
}

#[derive(Debug, Default)]
struct Controllers {
    /// The highest election id ever seen.
    highest: Option<u128>,
    /// Election ids of those that are connected.
    connected: BTreeMap<ClientId, Option<u128>>,
    primary: Option<ClientId>,
    /// What the last primary said of its role: kept and told, not enforced, for schemes are private to controllers.
    config: Option<Any>,
}

/// The controllers of one device.
#[derive(Debug)]
pub(super) struct Arbiter {
    device: u64,
    limit: usize,
    roles: BTreeMap<RoleName, Controllers>,
    clients: BTreeMap<ClientId, RoleName>,
}

/// What is to be told, and to whom.
pub(super) type Notifications = Vec<(ClientId, MasterArbitrationUpdate)>;

impl Arbiter {
    pub(super) fn new(device: u64, limit: usize) -> Self {
        Self {
            device,
            limit,
            roles: BTreeMap::new(),
            clients: BTreeMap::new(),
        }
    }

    /// A controller asks to be considered. An error ends its stream.
    pub(super) fn update(
        &mut self,
        client: ClientId,
        update: &MasterArbitrationUpdate,
    ) -> Result<Notifications> {
        let role = RoleName::of(update.role.as_ref());
        let known = self.clients.get(&client);
        if update.device_id != self.device {
            let what = format!("there is no device {}", update.device_id);
            let code = if known.is_some() {
                Code::FailedPrecondition
            } else {
                Code::NotFound
            };
            return Err(Refusal::new(code, what));
        }
        if known.is_some_and(|known| *known != role) {
            let what = "a stream keeps its role: open another one";
            return Err(Refusal::new(Code::FailedPrecondition, what));
        }
        if known.is_none() && self.clients.len() >= self.limit {
            let what = format!("{} controllers are connected", self.limit);
            return Err(Refusal::new(Code::ResourceExhausted, what));
        }
        let election = update.election_id.map(number);
        let controllers = self.roles.entry(role.clone()).or_default();
        let mut others = controllers
            .connected
            .iter()
            .filter(|(id, _)| **id != client);
        if election.is_some() && others.any(|(_, used)| *used == election) {
            return invalid("another controller of this role has the same election_id");
        }
        controllers.connected.insert(client, election);
        self.clients.insert(client, role.clone());
        let wins = election.is_some() && election >= controllers.highest;
        let was_primary = controllers.primary == Some(client);
        if wins {
            controllers.config = update.role.as_ref().and_then(|role| role.config.clone());
            controllers.highest = election;
            controllers.primary = Some(client);
        } else if was_primary {
            controllers.primary = None;
        }
        Ok(if wins || was_primary {
            self.tell_all(&role)
        } else {
            vec![(client, self.notification(&role, client))]
        })
    }

    /// A controller is gone.
    pub(super) fn leave(&mut self, client: ClientId) -> Notifications {
        let Some(role) = self.clients.remove(&client) else {
            return Vec::new();
        };
        let Some(controllers) = self.roles.get_mut(&role) else {
            return Vec::new();
        };
        controllers.connected.remove(&client);
        if controllers.primary != Some(client) {
            return Vec::new();
        }
        controllers.primary = None;
        self.tell_all(&role)
    }

    /// The role stays known, for its highest election id.
    fn tell_all(&self, role: &RoleName) -> Notifications {
        let connected = self.roles.get(role).into_iter();
        let clients = connected.flat_map(|controllers| controllers.connected.keys().copied());
        // The primary is told last, when the others know of it.
        let primary = self
            .roles
            .get(role)
            .and_then(|controllers| controllers.primary);
        let mut clients: Vec<_> = clients.collect();
        clients.sort_by_key(|client| Some(*client) == primary);
        let tell = |client: ClientId| (client, self.notification(role, client));
        clients.into_iter().map(tell).collect()
    }

    fn notification(&self, role: &RoleName, client: ClientId) -> MasterArbitrationUpdate {
        let controllers = self.roles.get(role);
        let primary = controllers.and_then(|controllers| controllers.primary);
        let (code, words) = match primary {
            Some(primary) if primary == client => (Code::Ok, "you are the primary controller"),
            Some(_) => (Code::AlreadyExists, "another controller is primary"),
            None => (Code::NotFound, "no controller is primary"),
        };
        MasterArbitrationUpdate {
            device_id: self.device,
            role: (!role.is_default()).then(|| Role {
                name: role.name.clone(),
                id: role.number,
                config: controllers.and_then(|of| of.config.clone()),
            }),
            election_id: controllers.and_then(|of| of.highest).map(Uint128::from),
            status: Some(google::rpc::Status {
                code: code as i32,
                message: words.to_owned(),
                details: Vec::new(),
            }),
        }
    }

    /// Whether a stream is that of a primary controller.
    pub(super) fn is_primary(&self, client: ClientId) -> bool {
        self.primaries().any(|primary| primary == client)
    }

    /// The primary controllers of all roles.
    pub(super) fn primaries(&self) -> impl Iterator<Item = ClientId> {
        self.roles
            .values()
            .filter_map(|controllers| controllers.primary)
    }

    /// Whether a request with these words comes from a primary controller.
    pub(super) fn check(
        &self,
        device: u64,
        role: &RoleName,
        election: Option<Uint128>,
    ) -> Result<()> {
        self.check_device(device)?;
        let controllers = self.roles.get(role);
        if controllers.is_none() && !role.is_default() {
            return not_found(format!("there is no role {}", role.name));
        }
        let primary = controllers.and_then(|of| of.connected.get(&of.primary?).copied().flatten());
        if primary.is_some() && primary == election.map(number) {
            return Ok(());
        }
        let highest = controllers.and_then(|of| of.highest);
        let of = match highest {
            Some(highest) => format!("the highest election_id is {highest}"),
            None => "no election_id was seen yet".to_owned(),
        };
        let what = format!("not the primary controller: {of}");
        Err(Refusal::new(Code::PermissionDenied, what))
    }

    pub(super) fn check_device(&self, device: u64) -> Result<()> {
        if device == self.device {
            return Ok(());
        }
        not_found(format!("there is no device {device}, only {}", self.device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: ClientId = ClientId(1);
    const B: ClientId = ClientId(2);
    const C: ClientId = ClientId(3);

    fn ask(role: &str, election: Option<u64>) -> MasterArbitrationUpdate {
        MasterArbitrationUpdate {
            device_id: 1,
            role: (!role.is_empty()).then(|| Role {
                name: role.to_owned(),
                ..Role::default()
            }),
            election_id: election.map(|low| Uint128 { high: 0, low }),
            status: None,
        }
    }

    /// Who is told what code.
    fn told(notifications: Result<Notifications>) -> Vec<(ClientId, Code)> {
        let code = |(client, update): (ClientId, MasterArbitrationUpdate)| {
            (client, Code::from(update.status.unwrap_or_default().code))
        };
        notifications.unwrap().into_iter().map(code).collect()
    }

    #[test]
    fn the_highest_election_id_is_primary_and_all_are_told() {
        let mut arbiter = Arbiter::new(1, 9);
        assert_eq!(
            told(arbiter.update(A, &ask("", None))),
            [(A, Code::NotFound)]
        );
        assert_eq!(
            told(arbiter.update(B, &ask("", Some(5)))),
            [(A, Code::AlreadyExists), (B, Code::Ok)]
        );
        assert_eq!(
            told(arbiter.update(C, &ask("", Some(4)))),
            [(C, Code::AlreadyExists)]
        );
        let three = Some(Uint128 { high: 0, low: 5 });
        assert!(arbiter.check(1, &RoleName::default(), three).is_ok());
        assert_eq!(
            told(arbiter.update(C, &ask("", Some(6)))),
            [
                (A, Code::AlreadyExists),
                (B, Code::AlreadyExists),
                (C, Code::Ok)
            ]
        );
        assert_eq!(
            arbiter
                .check(1, &RoleName::default(), three)
                .unwrap_err()
                .code,
            Code::PermissionDenied
        );
        // The primary steps down: nobody is primary, for 5 is below the highest that was seen.
        let down = told(arbiter.update(C, &ask("", Some(1))));
        assert!(down.iter().all(|(_, code)| *code == Code::NotFound) && down.len() == 3);
        assert_eq!(
            told(arbiter.update(B, &ask("", Some(6)))).last(),
            Some(&(B, Code::Ok))
        );
        let gone = told(Ok(arbiter.leave(B)));
        assert_eq!(gone, [(A, Code::NotFound), (C, Code::NotFound)]);
        assert_eq!(told(Ok(arbiter.leave(A))), []);
    }

    #[test]
    fn roles_have_their_own_primaries() {
        let mut arbiter = Arbiter::new(1, 9);
        assert_eq!(
            told(arbiter.update(A, &ask("routes", Some(1)))),
            [(A, Code::Ok)]
        );
        assert_eq!(
            told(arbiter.update(B, &ask("acl", Some(1)))),
            [(B, Code::Ok)]
        );
        let one = Some(Uint128 { high: 0, low: 1 });
        assert!(arbiter.check(1, &RoleName::new("acl", 0), one).is_ok());
        assert_eq!(
            arbiter
                .check(1, &RoleName::new("other", 0), one)
                .unwrap_err()
                .code,
            Code::NotFound
        );
        assert_eq!(
            arbiter
                .check(1, &RoleName::default(), one)
                .unwrap_err()
                .code,
            Code::PermissionDenied
        );
        assert_eq!(
            arbiter
                .check(2, &RoleName::new("acl", 0), one)
                .unwrap_err()
                .code,
            Code::NotFound
        );
        assert_eq!(arbiter.primaries().count(), 2);
        // What a primary says of its role is told to all of the role.
        let mut configured = ask("acl", Some(2));
        let config = Some(Any {
            type_url: "private".to_owned(),
            value: vec![1],
        });
        if let Some(role) = &mut configured.role {
            role.config.clone_from(&config);
        }
        let told = arbiter.update(C, &configured).unwrap();
        assert!(
            told.len() == 2
                && told
                    .iter()
                    .all(|(_, update)| update.role.as_ref().unwrap().config == config)
        );
    }

    #[test]
    fn what_breaks_the_rules_ends_the_stream() {
        let mut arbiter = Arbiter::new(1, 2);
        let code = |result: Result<Notifications>| result.unwrap_err().code;
        let other = MasterArbitrationUpdate {
            device_id: 7,
            ..ask("", Some(1))
        };
        assert_eq!(code(arbiter.update(A, &other)), Code::NotFound);
        arbiter.update(A, &ask("", Some(1))).unwrap();
        assert_eq!(code(arbiter.update(A, &other)), Code::FailedPrecondition);
        assert_eq!(
            code(arbiter.update(A, &ask("x", Some(1)))),
            Code::FailedPrecondition
        );
        assert_eq!(
            code(arbiter.update(B, &ask("", Some(1)))),
            Code::InvalidArgument
        );
        arbiter.update(B, &ask("", Some(2))).unwrap();
        assert_eq!(
            code(arbiter.update(C, &ask("", Some(3)))),
            Code::ResourceExhausted
        );
        // The same id again is no conflict with oneself.
        assert_eq!(told(arbiter.update(B, &ask("", Some(2)))).len(), 2);
    }
}
