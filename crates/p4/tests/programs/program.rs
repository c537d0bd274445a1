//! A program of `p4/` in a switch, with updates by name.

use linerate_p4::{
    Digest, Entity, Entry, Invocation, Limits, Match, Program, Switch, Update, UpdateKind, stf,
};
use std::path::PathBuf;
use std::sync::Arc;

/// Where the programs are.
pub(crate) fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../p4"))
}

/// Their names, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder of programs");
    let entries = entries.map(|entry| entry.expect("an entry of the folder"));
    let mut names: Vec<_> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().expect("a name in UTF-8"))
        .collect();
    names.sort();
    names
}

pub(crate) fn read(name: &str, extension: &str) -> String {
    let path = folder().join(name).join(format!("{name}.{extension}"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn load(name: &str) -> Arc<Program> {
    let program = Program::from_json(read(name, "json").as_bytes());
    Arc::new(program.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// A switch that runs a program, from time 0.
pub(crate) struct Run {
    pub(crate) switch: Switch,
    pub(crate) program: Arc<Program>,
}

impl Run {
    pub(crate) fn new(name: &str) -> Self {
        let program = load(name);
        Self {
            switch: Switch::new(Arc::clone(&program), Limits::default(), 1),
            program,
        }
    }

    /// Entries, groups and sessions, as packet tests write them.
    pub(crate) fn control(&mut self, statements: &str) {
        let statements = stf::parse(statements).expect("statements");
        stf::control(&mut self.switch, &statements).expect("statements that fit the program");
    }

    pub(crate) fn table(&self, name: &str) -> usize {
        self.program
            .tables
            .iter()
            .position(|table| table.name == name)
            .expect("a table")
    }

    pub(crate) fn call(&self, action: &str, arguments: &[&[u8]]) -> Invocation {
        let action = self
            .program
            .actions
            .iter()
            .position(|known| known.name == action)
            .expect("an action");
        Invocation::Action {
            action,
            arguments: arguments.iter().map(|argument| argument.to_vec()).collect(),
        }
    }

    pub(crate) fn entry(&self, table: &str, key: Vec<Match>, does: Invocation) -> Entry {
        let table = self.table(table);
        Entry {
            table,
            key,
            priority: 0,
            does: Some(does),
            ..Entry::default()
        }
    }

    pub(crate) fn write(&mut self, kind: UpdateKind, entity: Entity, now: u64) {
        self.switch
            .write(&[Update::new(kind, entity)], now)
            .expect("an update that fits");
    }

    /// Why a single update is refused.
    pub(crate) fn refused(&mut self, kind: UpdateKind, entity: Entity) -> String {
        let written = self.switch.write(&[Update::new(kind, entity)], 0);
        written.expect_err("a refusal").1.to_string()
    }

    /// The place of a meter array.
    pub(crate) fn array(&self, name: &str) -> usize {
        let mut names = self.program.meters.iter().map(|array| &array.name);
        names
            .position(|known| known == name)
            .expect("a meter array")
    }

    /// What comes out of a packet, by port.
    pub(crate) fn send(&mut self, port: u32, packet: &[u8], now: u64) -> Vec<(u32, Vec<u8>)> {
        let mut sent = Vec::new();
        self.switch.process(port, packet, now, &mut |port, bytes| {
            sent.push((port, bytes.to_vec()));
        });
        sent
    }

    pub(crate) fn digests(&mut self) -> Vec<Digest> {
        std::iter::from_fn(|| self.switch.take_digest()).collect()
    }
}

/// An Ethernet frame between two addresses whose last bytes are given.
pub(crate) fn frame(dst: u8, src: u8) -> Vec<u8> {
    let mut frame = vec![0x0a, 0, 0, 0, 0, dst, 0x0a, 0, 0, 0, 0, src, 0x88, 0xb5];
    frame.resize(60, 0);
    frame
}

/// An IPv4 packet of UDP ports 0x1234 and 0x5678, with so many bytes behind the Ethernet header. Its checksum is 0.
pub(crate) fn ipv4(src: [u8; 4], dst: [u8; 4], bytes: u8) -> Vec<u8> {
    let mut packet = frame(2, 1);
    packet.truncate(12);
    packet.extend([8, 0, 0x45, 0, 0, bytes, 0, 0, 0, 0, 64, 17, 0, 0]);
    packet.extend(src.iter().chain(&dst));
    packet.extend([0x12, 0x34, 0x56, 0x78]);
    packet.resize(packet.len().max(14 + usize::from(bytes)), 0);
    packet
}
