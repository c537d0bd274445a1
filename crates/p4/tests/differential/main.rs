//! The same random packets through `simple_switch` and through ours: what leaves each port is equal.
//!
//! `LINERATE_SIMPLE_SWITCH` is the program, built without logging. More programs are in the folders `LINERATE_P4_COMPILED` (see
//! `conformance.rs`) and `LINERATE_P4` (`public/NAME.json`), where these are given. Entries are written into the compiled program, so that both load them from
//! one file; packets follow the program's parser, then some are cut or changed.

mod entries;
mod packets;
mod peer;

use linerate_model::random::Random;
use linerate_p4::{
    CloneSession, Entity, Limits, Program, Replica, Switch, Trace, Update, UpdateKind, hex,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Programs of this repository, in `p4/`.
const OWN: &[&str] = &[
    "speed_l2",
    "speed_l3",
    "speed_acl",
    "speed_fabric",
    "copies",
    "acl",
    "counters",
    "cross_connect",
    "l3_router",
    "packet_io",
    "registers",
    "resubmit",
];
/// Programs of p4c's, in the folder of compiled ones.
const FOREIGN: &[&str] = &[
    "p4_14/07-MultiProtocol",
    "p4_14/action_chain1",
    "p4_14/basic_routing",
    "p4_14/counter3",
    "p4_14/exact_match_valid1",
    "p4_14/parser_dc_full",
    "p4_16/checksum1-bmv2",
    "p4_16/flag_lost-bmv2",
    "p4_16/ipv6-switch-ml-bmv2",
    "p4_16/issue561-4-bmv2",
    "p4_16/issue561-6-bmv2",
    "p4_16/issue1000-bmv2",
    "p4_16/parser-inline-test12",
    "p4_16/ternary2-bmv2",
];
/// Pipelines that others publish.
const PUBLISHED: &[&str] = &[
    "finsy/advanced_tunnel",
    "finsy/basic",
    "finsy/flowcache",
    "finsy/hello",
    "finsy/l2_switch",
    "finsy/main",
    "finsy/simple_router",
    "onos/basic",
    "onos/fabric",
    "onos/fabric-bng",
    "onos/fabric-full",
    "onos/int",
    "onos/mytunnel",
    "PI/simple_router",
    "PI/simple_router_wcounter",
    "behavioral-model/counter",
    "behavioral-model/optional",
    "behavioral-model/parser_error",
    "behavioral-model/ternary",
    "behavioral-model/unions_e2e_options_count",
];
// Not here: `p4_14/instruct5` and `behavioral-model/multicast` read a field of an invalid header, which P4 leaves undefined:
// simple_switch gives what an earlier packet had there, ours 0. `onos/fabric-spgw` counts beyond the end of a counter, which ends
// simple_switch. `behavioral-model/clone` clones to sessions by a number from the packet: simple_switch takes it modulo 2^15, for
// ours there is no session of a larger number. `behavioral-model/recirc` recirculates every packet: of many simple_switch drops
// some in its queue of 1024. Packets of `behavioral-model/packet_redirect` may go round for ever.

/// Of each program.
const PACKETS: usize = 40_000;
const PORTS: u32 = 8;

#[test]
#[ignore = "needs LINERATE_SIMPLE_SWITCH: BMv2's simple_switch, built without logging"]
fn random_packets_leave_as_they_leave_simple_switch() {
    let peer = std::env::var_os("LINERATE_SIMPLE_SWITCH")
        .expect("LINERATE_SIMPLE_SWITCH names BMv2's simple_switch");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let mut programs: Vec<(String, PathBuf)> = OWN
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                own.join(name).join(format!("{name}.json")),
            )
        })
        .collect();
    for (folder, below, names) in [
        ("LINERATE_P4_COMPILED", "", FOREIGN),
        ("LINERATE_P4", "public", PUBLISHED),
    ] {
        let folder = std::env::var_os(folder).map(|folder| Path::new(&folder).join(below));
        programs.extend(folder.iter().flat_map(|folder| {
            let file = |name| folder.join(format!("{name}.json"));
            names
                .iter()
                .map(move |name| ((*name).to_owned(), file(name)))
        }));
    }
    let count = std::env::var_os("LINERATE_PACKETS").map_or(PACKETS, |count| {
        count.to_string_lossy().parse().expect("a number")
    });
    let only = std::env::var_os("LINERATE_P4_ONLY").map(|only| only.to_string_lossy().into_owned());
    let (mut sent, mut received, mut wrong) = (0, 0, Vec::new());
    programs.retain(|(name, _)| only.as_ref().is_none_or(|only| name == only));
    for (name, file) in &programs {
        match compare(Path::new(&peer), file, count) {
            Ok(left) => {
                println!("{name}: {count} packets in, {left} out, equal");
                sent += count;
                received += left;
            }
            Err(difference) => {
                println!("{name}: {difference}");
                wrong.push(format!("{name}: {difference}"));
            }
        }
    }
    println!(
        "{sent} packets in, {received} out over {} programs",
        programs.len() - wrong.len()
    );
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Packets that left both, or how they differ.
fn compare(peer: &Path, file: &Path, count: usize) -> Result<usize, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut document: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let mut random = Random::new(39);
    let pool = entries::fill(&mut document, &mut random);
    let generator = packets::Generator::new(&document, &pool);
    let packets: Vec<(u32, Vec<u8>)> = (0..count)
        .map(|_| {
            let port = u32::try_from(random.below(PORTS as usize)).expect("a small number");
            (port, generator.packet(&mut random))
        })
        .collect();
    let json = document.to_string();
    let program = Program::from_json(json.as_bytes()).map_err(|error| error.to_string())?;
    let program = Arc::new(program);
    let mut ours = BTreeMap::<u32, Vec<(usize, Vec<u8>)>>::new();
    let mut switch = switch(&program);
    for (at, (port, packet)) in packets.iter().enumerate() {
        let mut send = |port: u32, bytes: &[u8]| {
            ours.entry(port).or_default().push((at, bytes.to_vec()));
        };
        switch.process(*port, packet, 0, &mut send);
    }
    let (mut theirs, _) =
        peer::run(peer, &json, &packets, PORTS).map_err(|error| error.to_string())?;
    // A packet that comes again finds others that have come in meanwhile: when, only threads know.
    let ways = ["recirculate", "resubmit", "clone_egress"];
    if ways
        .iter()
        .any(|way| text.contains(&format!("\"op\" : \"{way}")))
    {
        for sent in ours.values_mut() {
            sent.sort_by(|a, b| a.1.cmp(&b.1));
        }
        for sent in theirs.values_mut() {
            sent.sort();
        }
    }
    for port in 0..PORTS {
        let ours = ours.remove(&port).unwrap_or_default();
        let theirs = theirs.remove(&port).unwrap_or_default();
        if let Some(at) = first_difference(&ours, &theirs) {
            let (ours, theirs) = (ours.get(at), theirs.get(at));
            let mut text = format!("port {port}, packet {at} differs");
            if let Some(theirs) = theirs {
                text = format!("{text}\n  theirs {}", hex(theirs));
            }
            if let Some((input, bytes)) = ours {
                let way = way(&program, &packets[*input]);
                text = format!("{text}\n  ours   {}, of packet {input}\n{way}", hex(bytes));
            }
            return Err(text);
        }
    }
    Ok(count_of(&switch))
}

fn first_difference(ours: &[(usize, Vec<u8>)], theirs: &[Vec<u8>]) -> Option<usize> {
    let both = ours.iter().zip(theirs);
    let differs = both
        .enumerate()
        .find(|(_, ((_, ours), theirs))| ours != *theirs);
    let shorter = ours.len().min(theirs.len());
    differs
        .map(|(at, _)| at)
        .or_else(|| (ours.len() != theirs.len()).then_some(shorter))
}

/// The way of a packet through a switch that it is the first one of.
fn way(program: &Arc<Program>, (port, packet): &(u32, Vec<u8>)) -> String {
    let mut trace = Trace::default();
    let mut observer = |event: linerate_p4::Event<'_>| trace.add(&event);
    switch(program).process_observed(*port, packet, 0, &mut |_, _| {}, &mut observer);
    format!("  {}\n  | {}", hex(packet), trace.lines().join("\n  | "))
}

fn count_of(switch: &Switch) -> usize {
    let sent = (0..PORTS)
        .map(|port| switch.port_counters(port).sent)
        .sum::<u64>();
    usize::try_from(sent).expect("a small number")
}

/// With the sessions and the group that [`peer::run`] gives `simple_switch`.
fn switch(program: &Arc<Program>) -> Switch {
    let limits = Limits {
        queue: 1 << 20,
        ..Limits::default()
    };
    let mut switch = Switch::new(Arc::clone(program), limits, 1);
    switch.set_ports(0..PORTS);
    let mut updates: Vec<_> = peer::SESSIONS
        .iter()
        .map(|(id, port)| {
            let replicas = vec![Replica {
                port: *port,
                instance: 0,
            }];
            Entity::Session {
                id: *id,
                session: CloneSession {
                    replicas,
                    truncate: None,
                },
            }
        })
        .collect();
    updates.push(Entity::Multicast {
        group: 1,
        replicas: peer::GROUP
            .iter()
            .map(|port| Replica {
                port: *port,
                instance: 1,
            })
            .collect(),
        note: Vec::new(),
    });
    let updates: Vec<_> = updates
        .into_iter()
        .map(|entity| Update::new(UpdateKind::Insert, entity))
        .collect();
    switch.write(&updates, 0).expect("sessions and groups fit");
    switch
}
