//! Pipelines of `p4` with entries and packets, for tests and the benchmark: the same at every run.

mod writer;

use linerate_model::random::Random;
use linerate_p4::{
    CloneSession, Entity, GroupMember, Invocation, Limits, Match, Program, Replica, Switch, Update,
};
use std::sync::Arc;
use writer::{Writer, exact, insert, masked, prefix, prefix_mask, range};

/// Packets, each with its port.
type Packets = Vec<(u32, Vec<u8>)>;

/// A program, what is written to it, and the packets that it is given.
pub(crate) struct Pipeline {
    pub(crate) name: &'static str,
    pub(crate) json: &'static str,
    updates: fn(&Writer<'_>, &mut Random) -> Vec<Update>,
    packets: fn(&mut Random) -> Packets,
}

/// The four programs whose speed is compared, and one that copies packets in every way.
pub(crate) static ALL: &[Pipeline] = &[
    Pipeline {
        name: "l2",
        json: include_str!("../../../../p4/speed_l2/speed_l2.json"),
        updates: l2_entries,
        packets: l2_packets,
    },
    Pipeline {
        name: "l3",
        json: include_str!("../../../../p4/speed_l3/speed_l3.json"),
        updates: l3_entries,
        packets: l3_packets,
    },
    Pipeline {
        name: "acl",
        json: include_str!("../../../../p4/speed_acl/speed_acl.json"),
        updates: acl_entries,
        packets: acl_packets,
    },
    Pipeline {
        name: "fabric",
        json: include_str!("../../../../p4/speed_fabric/speed_fabric.json"),
        updates: fabric_entries,
        packets: fabric_packets,
    },
    Pipeline {
        name: "copies",
        json: include_str!("../../../../p4/copies/copies.json"),
        updates: copies_entries,
        packets: copies_packets,
    },
];

const SEED: u64 = 39;

impl Pipeline {
    /// Its entries, which send to eight ports from this one on.
    pub(crate) fn updates(&self, program: &Program, first_out: u64) -> Vec<Update> {
        (self.updates)(&Writer { program, first_out }, &mut Random::new(SEED))
    }

    pub(crate) fn packets(&self) -> Packets {
        (self.packets)(&mut Random::new(SEED))
    }

    /// A switch that runs the program with its entries.
    pub(crate) fn switch(&self) -> Switch {
        let program = Arc::new(Program::from_json(self.json.as_bytes()).expect("it loads"));
        let updates = self.updates(&program, BEYOND);
        let mut switch = Switch::new(program, Limits::default(), 1);
        switch.write(&updates, 0).expect("the entries fit");
        switch
    }
}

const PORTS: u64 = 8;
/// First port behind those that packets come in at.
pub(crate) const BEYOND: u64 = 8;
/// Packets of a round before they repeat.
const PACKETS: usize = 512;
const FRAME: usize = 60;

fn station(at: u64) -> u64 {
    0x0200_0000_0000 | at
}

/// A frame with padding.
fn frame(dst: u64, src: u64, rest: &[&[u8]]) -> Vec<u8> {
    let mut bytes = [&dst.to_be_bytes()[2..], &src.to_be_bytes()[2..]].concat();
    bytes.extend(rest.iter().copied().flatten());
    bytes.resize(bytes.len().max(FRAME), 0);
    bytes
}

/// An IPv4 header with a right checksum, and ports.
fn ipv4(src: u64, dst: u64, protocol: u8, ports: [u16; 2]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 46, 0, 7, 0, 0, 64, protocol, 0, 0];
    bytes.extend(&src.to_be_bytes()[4..]);
    bytes.extend(&dst.to_be_bytes()[4..]);
    let sum: u32 = bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    let sum = !((sum & 0xffff) + (sum >> 16));
    bytes[10..12].copy_from_slice(&sum.to_be_bytes()[2..]);
    bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    bytes
}

fn port_of(random: &mut Random) -> u32 {
    u32::try_from(random.below(usize::try_from(PORTS).expect("a small number")))
        .expect("a small number")
}

fn l2_entries(to: &Writer<'_>, _: &mut Random) -> Vec<Update> {
    let mut updates: Vec<_> = (0..1000)
        .map(|at| {
            to.exact(
                "ingress.stations",
                &[station(at)],
                "ingress.forward",
                &[to.out(at)],
            )
        })
        .collect();
    updates.push(flooding());
    updates
}

fn flooding() -> Update {
    let replicas = (0..4).map(|port| Replica { port, instance: 1 }).collect();
    insert(Entity::Multicast {
        group: 1,
        replicas,
        note: Vec::new(),
    })
}

fn l2_packets(random: &mut Random) -> Packets {
    let packet = |_| {
        let (dst, src) = (random.below(1000) as u64, random.below(1000) as u64);
        (
            port_of(random),
            frame(station(dst), station(src), &[&[8, 0]]),
        )
    };
    (0..PACKETS).map(packet).collect()
}

const LENGTHS: [u32; 8] = [8, 12, 16, 20, 22, 24, 28, 32];

/// The address of a route, and the length of its prefix.
fn route(at: u64) -> (u64, u32) {
    let length = LENGTHS[usize::try_from(at).expect("a small number") % LENGTHS.len()];
    let spread = (at + 1).wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
    (spread & prefix_mask(length), length)
}

fn l3_entries(to: &Writer<'_>, _: &mut Random) -> Vec<Update> {
    let mut routes: Vec<_> = (0..1000).map(|at| (route(at), at)).collect();
    routes.sort_unstable();
    routes.dedup_by_key(|(route, _)| *route);
    let entries = routes.iter().map(|((address, length), at)| {
        let does: (_, &[u64]) = ("ingress.route", &[0x0a00_0000 + at % 64, to.out(*at)]);
        to.act("ingress.routes", vec![prefix(*address, *length)], 0, does)
    });
    let mut updates: Vec<_> = entries.collect();
    updates.extend((0..64).map(|at| {
        let hop = 0x0a00_0000 + at;
        to.exact(
            "ingress.neighbours",
            &[hop],
            "ingress.resolve",
            &[station(hop)],
        )
    }));
    updates.extend((0..PORTS).map(|at| {
        to.exact(
            "egress.interfaces",
            &[to.out(at)],
            "egress.source",
            &[station(at)],
        )
    }));
    updates
}

fn l3_packets(random: &mut Random) -> Packets {
    let packet = |_| {
        let (address, length) = route(random.below(1000) as u64);
        let dst = address | random.bits() & 0xffff_ffff & !prefix_mask(length);
        let headers = ipv4(0x0a00_0001, dst, 17, [53, 53]);
        (
            port_of(random),
            frame(station(1), station(2), &[&[8, 0], &headers]),
        )
    };
    (0..PACKETS).map(packet).collect()
}

/// Masks of rules: addresses by prefix, protocol and ports by whether they matter.
const RULES: [(u32, u32, u64, u64, u64); 12] = [
    (32, 32, 0xff, 0xffff, 0xffff),
    (32, 32, 0xff, 0, 0xffff),
    (24, 32, 0xff, 0, 0xffff),
    (24, 24, 0xff, 0, 0xffff),
    (16, 32, 0xff, 0, 0xffff),
    (16, 24, 0xff, 0xffff, 0),
    (0, 32, 0xff, 0, 0xffff),
    (0, 24, 0xff, 0, 0xff80),
    (32, 0, 0xff, 0, 0),
    (28, 16, 0, 0, 0),
    (20, 20, 0xff, 0, 0xfc00),
    (0, 22, 0, 0, 0),
];

/// Addresses, protocol and ports that a rule is about.
fn rule(at: u64) -> [u64; 5] {
    let mut random = Random::new(at);
    let mut below = |bits: u32| random.bits() >> (64 - bits);
    [
        0x0a00_0000 | below(24),
        0x0a00_0000 | below(24),
        if below(1) == 0 { 6 } else { 17 },
        below(16),
        below(16),
    ]
}

fn acl_entries(to: &Writer<'_>, _: &mut Random) -> Vec<Update> {
    let mut updates: Vec<_> = (0..1000)
        .map(|at| {
            let [src, dst, protocol, from, port] = rule(at);
            let mask = RULES[usize::try_from(at).expect("a small number") % RULES.len()];
            let key = vec![
                masked(src, prefix_mask(mask.0)),
                masked(dst, prefix_mask(mask.1)),
                masked(protocol, mask.2),
                masked(from, mask.3),
                masked(port, mask.4),
            ];
            let action = if at % 10 == 9 {
                "ingress.deny"
            } else {
                "ingress.permit"
            };
            to.act(
                "ingress.rules",
                key,
                2000 - i64::try_from(at).expect("a small number"),
                (action, &[]),
            )
        })
        .collect();
    updates.extend((0..256).map(|at| {
        to.exact(
            "ingress.stations",
            &[station(at)],
            "ingress.forward",
            &[to.out(at)],
        )
    }));
    updates
}

fn acl_packets(random: &mut Random) -> Packets {
    let packet = |_| {
        let [src, dst, protocol, from, to] = rule(random.below(1000) as u64);
        let ports = [
            u16::try_from(from).expect("a small number"),
            u16::try_from(to).expect("a small number"),
        ];
        let headers = ipv4(
            src,
            dst,
            u8::try_from(protocol).expect("a small number"),
            ports,
        );
        let dst = station(random.below(256) as u64);
        (
            port_of(random),
            frame(dst, station(2), &[&[8, 0], &headers]),
        )
    };
    (0..PACKETS).map(packet).collect()
}

const VLAN: u64 = 10;
const ROUTER: u64 = 0x0200_00ff_0001;

#[expect(clippy::too_many_lines, reason = "one table after the other")]
fn fabric_entries(to: &Writer<'_>, _: &mut Random) -> Vec<Update> {
    let mut updates = Vec::new();
    let ingress = |table: &str| format!("ingress.{table}");
    for port in 0..PORTS {
        updates.push(to.exact("ingress.ingress_port", &[port], "ingress.port_is", &[1, 1]));
        let key = vec![exact(port), exact(1), masked(VLAN, 0xfff)];
        updates.push(to.act("ingress.port_vlan", key, 10, ("ingress.vlan_is", &[VLAN])));
        let key = vec![exact(port), exact(0), Match::Any];
        updates.push(to.act("ingress.port_vlan", key, 5, ("ingress.vlan_is", &[VLAN])));
        let classes = [(0x8847, 1_u64), (0x800, 2), (0x86dd, 4)];
        for (kind, forwarding) in classes {
            let key = vec![
                masked(port, 0x1ff),
                masked(ROUTER, 0xffff_ffff_ffff),
                masked(kind, 0xffff),
            ];
            updates.push(to.act(
                "ingress.classifier",
                key,
                10,
                ("ingress.forward_by", &[forwarding]),
            ));
        }
        updates.push(to.exact("ingress.policer", &[port, 3], "ingress.police", &[]));
        updates.push(to.exact(
            "egress.egress_vlan",
            &[to.out(port), VLAN],
            "egress.push_tag",
            &[],
        ));
        let key = vec![exact(to.out(port)), range(9001, 0xffff_ffff)];
        updates.push(to.act("egress.egress_length", key, 1, ("egress.discard", &[])));
    }
    updates.push(to.exact("ingress.vlan_pop", &[VLAN, 1], "ingress.pop_outer", &[]));
    updates.push(to.exact("ingress.policed", &[2], "ingress.deny", &[]));
    for class in 0..8 {
        let key = vec![range(class * 8, class * 8 + 7), exact(1)];
        updates.push(to.act("ingress.dscp_class", key, 1, ("ingress.class_is", &[class])));
        updates.push(to.exact(
            "egress.egress_dscp",
            &[class, 1],
            "egress.remark",
            &[class * 8],
        ));
    }
    for at in 0..512 {
        let next = 1 + at % 64;
        updates.push(to.exact(
            "ingress.bridging",
            &[VLAN, station(at)],
            "ingress.to_next",
            &[next],
        ));
        updates.push(to.exact("ingress.labels", &[100 + at], "ingress.pop_mpls", &[next]));
        updates.push(to.exact(
            "ingress.hosts_ipv4",
            &[1, 0x0b00_0000 + at],
            "ingress.to_next",
            &[next],
        ));
        let (address, length) = route(at);
        if length > 12 {
            let key = vec![exact(1), prefix(address, length)];
            updates.push(to.act(
                &ingress("routes_ipv4"),
                key,
                0,
                ("ingress.route", &[64 + next]),
            ));
        }
        let key = vec![
            exact(1),
            Match::Lpm {
                value: ipv6(at),
                prefix: 64,
            },
        ];
        updates.push(to.act(
            &ingress("routes_ipv6"),
            key,
            0,
            ("ingress.route_ipv6", &[next]),
        ));
    }
    let key = vec![exact(1), prefix(0x0a00_0000, 8)];
    updates.push(to.act("ingress.reverse_path", key, 0, ("NoAction", &[])));
    for at in 0..200 {
        let [src, dst, protocol, from, port] = rule(at);
        let mask = RULES[usize::try_from(at).expect("a small number") % 8];
        let mut key = vec![Match::Any; 5];
        key.extend([
            masked(src, prefix_mask(mask.0)),
            masked(dst, prefix_mask(mask.1)),
            masked(protocol, mask.2),
            masked(from, mask.3),
            masked(port, mask.4),
        ]);
        let action = if at % 2 == 0 {
            "ingress.permit"
        } else {
            "ingress.refuse"
        };
        updates.push(to.act(
            "ingress.acl",
            key,
            300 - i64::try_from(at).expect("a small number"),
            (action, &[]),
        ));
        let key = vec![prefix(src, 24)];
        if at % 4 == 0 {
            updates.push(to.act("ingress.owners", key, 0, ("ingress.own", &[at])));
        }
    }
    for next in 1..=64 {
        let port = to.out(next);
        let does = to.does(
            "ingress.next_simple",
            "ingress.routed_to",
            &[port, ROUTER, station(next)],
        );
        updates.push(to.entry("ingress.next_simple", vec![exact(next)], 0, does.clone()));
        let id = u32::try_from(next).expect("a small number");
        updates.push(insert(Entity::Member {
            profile: 0,
            id,
            does: Some(does),
        }));
    }
    for next in 1..=64 {
        let id = u32::try_from(next).expect("a small number");
        let members = (0..4)
            .map(|more| GroupMember {
                id: 1 + (id + more) % 64,
                weight: 1,
                watch: None,
            })
            .collect();
        updates.push(insert(Entity::Group {
            profile: 0,
            id,
            members,
            room: 4,
        }));
        updates.push(to.exact("ingress.next_group", &[64 + next], "ingress.group_is", &[1]));
        updates.push(to.entry(
            "ingress.next_hashed",
            vec![exact(64 + next)],
            0,
            Invocation::Group(id),
        ));
    }
    updates
}

fn ipv6(at: u64) -> Vec<u8> {
    [0x2001_0db8_0000_0000 | at, 0]
        .iter()
        .flat_map(|word| word.to_be_bytes())
        .collect()
}

/// Of each eight packets four are routed IPv4, two bridged, one IPv6 and one MPLS; all are tagged.
fn fabric_packets(random: &mut Random) -> Packets {
    let packet = |at| {
        let host = random.below(512) as u64;
        let src = 0x0a00_0000 | random.bits() >> 40;
        let headers = |dst| ipv4(src, dst, 17, [4000, 53]);
        let tag = [0x81, 0, 0, 10];
        let (dst, headers) = match at % 8 {
            0 => (ROUTER, [&[8, 0][..], &headers(0x0b00_0000 + host)].concat()),
            1..4 => {
                let (address, length) = route(host);
                let dst = address | random.bits() & 0xffff_ffff & !prefix_mask(length);
                (ROUTER, [&[8, 0][..], &headers(dst)].concat())
            }
            4 => {
                let head = [0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64];
                (
                    ROUTER,
                    [&head[..], &ipv6(3), &ipv6(host), &[1, 2, 3, 4, 0, 8, 0, 0]].concat(),
                )
            }
            5 => {
                let label = u32::try_from(100 + host).expect("a small number") << 12 | 0x140;
                let head = [&[0x88, 0x47][..], &label.to_be_bytes()].concat();
                (ROUTER, [head, headers(0x0b00_0000)].concat())
            }
            _ => (station(host), [&[8, 0][..], &headers(0x0b00_0000)].concat()),
        };
        (port_of(random), frame(dst, station(2), &[&tag, &headers]))
    };
    (0..PACKETS).map(packet).collect()
}

fn copies_entries(to: &Writer<'_>, _: &mut Random) -> Vec<Update> {
    let ways: [(&str, &[u64]); 6] = [
        ("ingress.forward", &[1]),
        ("ingress.flood", &[1]),
        ("ingress.mirror_ingress", &[1, 2]),
        ("ingress.mirror_egress", &[3]),
        ("ingress.recirculate_to", &[1]),
        ("ingress.resubmit_to", &[1]),
    ];
    let entries = ways.iter().zip(0..);
    let mut updates: Vec<_> = entries
        .map(|((action, arguments), at)| {
            to.exact("ingress.ways", &[station(at)], action, arguments)
        })
        .collect();
    updates.push(flooding());
    updates.extend([1, 2].map(|id| {
        let replicas = vec![Replica {
            port: 4 + id,
            instance: 0,
        }];
        insert(Entity::Session {
            id,
            session: CloneSession {
                replicas,
                truncate: None,
            },
        })
    }));
    updates
}

fn copies_packets(random: &mut Random) -> Packets {
    let packet = |at| {
        (
            port_of(random),
            frame(station(at % 6), station(at), &[&[8, 0]]),
        )
    };
    (0..60).map(packet).collect()
}
