//! A server with a switch that has no ports: packets are given to it and taken from it.

use linerate_p4::{DataPlane, Job, Plane, Program};
use linerate_p4_runtime::proto::p4::v1::{
    Action, Entity, FieldMatch, TableAction, TableEntry, Update, action, entity, field_match,
    field_match::FieldMatchType, table_action, update, write_request::Atomicity,
};
use linerate_p4_runtime::{
    Client, ClientError, Code, Options, Pipelines, Schema, ServeError, Server, parse_p4info, serve,
};
use std::net::TcpListener;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const PROGRAM: &[u8] = include_bytes!("../../../../p4/control_plane/control_plane.json");
pub(crate) const P4INFO: &[u8] =
    include_bytes!("../../../../p4/control_plane/control_plane.p4info.txt");

/// Long enough for any answer of a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

struct Inner {
    plane: Plane,
    now: u64,
    sent: Vec<(u32, Vec<u8>)>,
    cpu: SyncSender<Vec<u8>>,
}

impl Inner {
    fn process(&mut self, port: u32, bytes: &[u8]) {
        let (cpu, sent) = (&self.cpu, &mut self.sent);
        let mut out = |port: u32, bytes: &[u8]| match port {
            510 => cpu.try_send(bytes.to_vec()).expect("room"),
            port => sent.push((port, bytes.to_vec())),
        };
        let switch = self.plane.switch.as_mut().expect("a pipeline");
        switch.process(port, bytes, self.now, &mut out);
    }
}

/// A data plane that does its jobs at once.
pub(crate) struct TestPlane(Mutex<Inner>);

impl TestPlane {
    fn new(cpu: SyncSender<Vec<u8>>) -> Self {
        Self(Mutex::new(Inner {
            plane: Plane::default(),
            now: 1_000_000_000,
            sent: Vec::new(),
            cpu,
        }))
    }
}

impl DataPlane for TestPlane {
    fn run(&self, job: Job) {
        let mut inner = self.0.lock().expect("the plane");
        let now = inner.now;
        job(&mut inner.plane, now);
        while let Some((port, bytes)) = inner.plane.next_injected() {
            inner.process(port, &bytes);
        }
    }
}

/// A server, its switch, and names of its program.
pub(crate) struct Bench {
    pub(crate) server: Server,
    pub(crate) plane: Arc<TestPlane>,
    pub(crate) schema: Schema,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Options::default(), true)
    }

    pub(crate) fn with(options: Options, pipeline: bool) -> Self {
        let (cpu, packets) = sync_channel(64);
        let plane = Arc::new(TestPlane::new(cpu));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let first = pipeline.then(|| {
            let program = Program::from_json(PROGRAM).expect("a program");
            let first = Pipelines::new(P4INFO, program, PROGRAM.to_vec(), &options);
            first.expect("its P4Info")
        });
        let of = Arc::clone(&plane) as Arc<dyn DataPlane>;
        let server = serve(listener, of, packets, options, first).expect("a server");
        let schema = Schema::new(&parse_p4info(P4INFO).expect("P4Info")).expect("a schema");
        Self {
            server,
            plane,
            schema,
        }
    }

    /// Why a server with these options does not start.
    pub(crate) fn tried(options: Options) -> Result<Server, ServeError> {
        let (_, packets) = sync_channel(1);
        let plane = Arc::new(TestPlane::new(sync_channel(1).0));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        serve(listener, plane, packets, options, None)
    }

    pub(crate) fn client(&self) -> Client {
        let address = self.server.address().to_string();
        Client::connect(&address, 1, PATIENCE).expect("a client")
    }

    /// A client that is primary.
    pub(crate) fn primary(&self) -> Client {
        let mut client = self.client();
        client.become_primary("", 1).expect("primary");
        client
    }

    /// What the switch sends for a packet.
    pub(crate) fn send(&self, port: u32, bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut inner = self.plane.0.lock().expect("the plane");
        inner.process(port, bytes);
        std::mem::take(&mut inner.sent)
    }

    /// What the switch sent that no [`Self::send`] took.
    pub(crate) fn sent(&self) -> Vec<(u32, Vec<u8>)> {
        std::mem::take(&mut self.plane.0.lock().expect("the plane").sent)
    }

    pub(crate) fn advance(&self, time: Duration) {
        self.plane.0.lock().expect("the plane").now +=
            u64::try_from(time.as_nanos()).expect("time");
    }

    pub(crate) fn with_plane<T>(&self, ask: impl FnOnce(&mut Plane) -> T) -> T {
        ask(&mut self.plane.0.lock().expect("the plane").plane)
    }

    pub(crate) fn table(&self, name: &str) -> u32 {
        self.schema.table(name).expect("a table").id
    }

    pub(crate) fn action(&self, name: &str, arguments: &[&[u8]]) -> Action {
        let mut actions = self.schema.actions.values();
        let known = actions
            .find(|action| action.alias == name)
            .expect("an action");
        let params = known.parameters.iter().zip(arguments);
        Action {
            action_id: known.id,
            params: params
                .map(|(parameter, value)| action::Param {
                    param_id: parameter.id,
                    value: value.to_vec(),
                })
                .collect(),
        }
    }

    /// An entry without priority or resources.
    pub(crate) fn entry(
        &self,
        table: &str,
        matches: Vec<FieldMatch>,
        does: Option<Action>,
    ) -> TableEntry {
        TableEntry {
            table_id: self.table(table),
            r#match: matches,
            action: does.map(|does| does_action(table_action::Type::Action(does))),
            ..TableEntry::default()
        }
    }
}

pub(crate) fn does_action(kind: table_action::Type) -> TableAction {
    TableAction { r#type: Some(kind) }
}

pub(crate) fn field(field_id: u32, kind: FieldMatchType) -> FieldMatch {
    FieldMatch {
        field_id,
        field_match_type: Some(kind),
    }
}

pub(crate) fn exact(id: u32, value: &[u8]) -> FieldMatch {
    let value = value.to_vec();
    field(id, FieldMatchType::Exact(field_match::Exact { value }))
}

pub(crate) fn of(kind: entity::Entity) -> Entity {
    Entity { entity: Some(kind) }
}

pub(crate) fn insert(kind: entity::Entity) -> Update {
    changed(update::Type::Insert, kind)
}

pub(crate) fn modify(kind: entity::Entity) -> Update {
    changed(update::Type::Modify, kind)
}

pub(crate) fn delete(kind: entity::Entity) -> Update {
    changed(update::Type::Delete, kind)
}

pub(crate) fn changed(kind: update::Type, entity: entity::Entity) -> Update {
    Update {
        r#type: kind as i32,
        entity: Some(of(entity)),
    }
}

/// Writes one update; the code of its refusal.
pub(crate) fn write(client: &mut Client, update: Update) -> Code {
    match client.write(vec![update], Atomicity::ContinueOnError) {
        Ok(()) => Code::Ok,
        Err(error) => only_refusal(&error),
    }
}

fn only_refusal(error: &ClientError) -> Code {
    assert_eq!(error.code(), Some(Code::Unknown), "{error}");
    let refused = error.refused();
    assert_eq!(refused.len(), 1, "{error}");
    assert!(!refused[0].message.is_empty());
    refused[0].code
}

/// Reads one kind of entity.
pub(crate) fn read(client: &Client, kind: entity::Entity) -> Vec<entity::Entity> {
    let found = client.read(vec![of(kind)]).expect("entities");
    found
        .into_iter()
        .filter_map(|entity| entity.entity)
        .collect()
}

/// A frame with addresses, a type, and what follows.
pub(crate) fn frame(dst: u8, src: u8, kind: u16, rest: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x0a, 0, 0, 0, 0, dst, 0x0a, 0, 0, 0, 0, src];
    frame.extend(kind.to_be_bytes());
    frame.extend_from_slice(rest);
    frame
}

/// The station's address as a value: canonical, for its first byte is not 0.
pub(crate) fn station(last: u8) -> [u8; 6] {
    [0x0a, 0, 0, 0, 0, last]
}

/// An IPv4 frame.
pub(crate) fn ipv4(dst: u8, src: [u8; 4], to: [u8; 4], ttl: u8, protocol: u8) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 20, 0, 0, 0, 0, ttl, protocol, 0, 0];
    header.extend(src);
    header.extend(to);
    frame(dst, 1, 0x0800, &header)
}

/// A prefix in the only field of a key.
pub(crate) fn lpm(value: &[u8], prefix_len: i32) -> FieldMatch {
    let value = value.to_vec();
    field(
        1,
        FieldMatchType::Lpm(field_match::Lpm { value, prefix_len }),
    )
}

/// Entries that match.
pub(crate) fn entries(client: &Client, wanted: TableEntry) -> Vec<TableEntry> {
    let found = read(client, entity::Entity::TableEntry(wanted)).into_iter();
    let entry = |kind| match kind {
        entity::Entity::TableEntry(entry) => entry,
        other => panic!("{other:?}"),
    };
    found.map(entry).collect()
}
