//! The programs, their packets, and what this host's executor makes of them.

use linerate_model::random::Random;
use linerate_p4::stf::{self, Statement};
use linerate_p4::{Limits, Program as Compiled, Switch};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Packets of a round.
pub(crate) const PACKETS: usize = 10_000;

/// A program of `p4/`, with the ports that its entries name.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) ports: &'static [u32],
}

/// Routes by longest prefix, an access list with counters, a fabric of 33 tables, copies to sessions and to groups.
pub(crate) static ALL: &[Program] = &[
    Program {
        name: "l3_router",
        ports: &[0, 1, 2, 3],
    },
    Program {
        name: "acl",
        ports: &[0, 1, 2],
    },
    Program {
        name: "speed_fabric",
        ports: &[0, 1, 4],
    },
    Program {
        name: "mirror",
        ports: &[1, 4, 8, 9],
    },
    Program {
        name: "multicast",
        ports: &[1, 2, 3],
    },
];

impl Program {
    /// Its file of this kind: `json` or `stf`.
    pub(crate) fn file(&self, kind: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
        folder.join(self.name).join(format!("{}.{kind}", self.name))
    }
}

/// Packets for one port of a program, and what comes of them.
pub(crate) struct Reference {
    /// The port.
    pub(crate) input: u32,
    /// A packet that is sent on, and what comes of it by port.
    pub(crate) first: Vec<u8>,
    pub(crate) first_outputs: BTreeMap<u32, Vec<Vec<u8>>>,
    /// The last is `first`.
    pub(crate) packets: Vec<Vec<u8>>,
    /// What comes of `packets`, in order, by port.
    pub(crate) outputs: BTreeMap<u32, Vec<Vec<u8>>>,
    /// How many have come with each packet.
    pub(crate) outputs_after: Vec<usize>,
    /// Packets that were dropped, by place, copies of `first` included.
    pub(crate) drops: BTreeMap<&'static str, u64>,
}

impl Reference {
    pub(crate) fn new(program: &Program) -> Self {
        let statements = stf::parse(&read(&program.file("stf"))).unwrap();
        let compiled = Compiled::from_json(read(&program.file("json")).as_bytes()).unwrap();
        let mut switch = Switch::new(Arc::new(compiled), Limits::default(), 0);
        stf::control(&mut switch, &statements).unwrap();
        switch.set_ports(program.ports.iter().copied());
        let seeds = statements
            .iter()
            .filter_map(|(_, statement)| match statement {
                Statement::Packet { port, bytes } => Some((*port, bytes.clone())),
                _ => None,
            });
        let (inputs, seeds): (Vec<u32>, Vec<_>) = seeds.unzip();
        let mut random = Random::new(39);
        let first = long_enough(seeds[0].clone(), 0, &mut random);
        let mut packets: Vec<_> = (1..PACKETS).map(|_| packet(&seeds, &mut random)).collect();
        packets.push(first.clone());
        let mut outputs = BTreeMap::<u32, Vec<Vec<u8>>>::new();
        let mut count = 0;
        let mut outputs_after = Vec::new();
        let first_outputs = through(&mut switch, inputs[0], &first);
        for packet in &packets {
            for (port, sent) in through(&mut switch, inputs[0], packet) {
                count += sent.len();
                outputs.entry(port).or_default().extend(sent);
            }
            outputs_after.push(count);
        }
        let drops = switch.drops().map(|(place, count)| (place.as_str(), count));
        Self {
            input: inputs[0],
            first,
            first_outputs,
            drops: drops.collect(),
            packets,
            outputs,
            outputs_after,
        }
    }
}

/// What comes of one packet, by port.
fn through(switch: &mut Switch, port: u32, packet: &[u8]) -> BTreeMap<u32, Vec<Vec<u8>>> {
    let mut outputs = BTreeMap::<u32, Vec<Vec<u8>>>::new();
    let mut out = |port: u32, bytes: &[u8]| outputs.entry(port).or_default().push(bytes.to_vec());
    switch.process(port, packet, 0, &mut out);
    outputs
}

/// One of the packet test's, one in two with up to three other bytes.
fn packet(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut packet = seeds[random.below(seeds.len())].clone();
    if random.below(2) == 0 {
        for _ in 0..=random.below(3) {
            let at = random.below(packet.len());
            packet[at] = byte(random);
        }
    }
    let more = random.below(200);
    long_enough(packet, more, random)
}

/// With random bytes behind it, so many that no interface on the way pads what comes of it.
fn long_enough(mut packet: Vec<u8>, more: usize, random: &mut Random) -> Vec<u8> {
    const LENGTH: usize = 100;
    let length = packet.len().max(LENGTH) + more;
    while packet.len() < length {
        packet.push(byte(random));
    }
    packet
}

fn byte(random: &mut Random) -> u8 {
    random.bits().to_le_bytes()[0]
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
