//! A device under test that linerate started: which it is, what it counted, where it dropped, what its work costs.

use crate::histogram::Histogram;
use crate::spec::{DatapathChoice, parse_choice, write_choice};
use crate::units::{ByteCount, PacketCount, UnitError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A device under test by its kind, with parameters that only this kind understands (`router,rules=100`).
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutChoice {
    /// Kebab-case id from the registry in `testbed`.
    pub kind: String,
    /// Parameters, parsed by the kind itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub params: BTreeMap<String, String>,
}

impl DutChoice {
    /// The parameter that the address of a device is.
    pub const ADDRESS: &'static str = "address";
}

impl FromStr for DutChoice {
    type Err = UnitError;

    /// `bridge`, `router,rules=100,conntrack=true`, or a device by its address, `p4runtime://192.0.2.1:9559`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a device such as bridge or router,rules=100";
        let wrong = || UnitError::new(text, WANT);
        let (mut kind, mut params) = parse_choice(text).ok_or_else(wrong)?;
        if let Some((scheme, address)) = kind.split_once("://") {
            let twice = params.insert(Self::ADDRESS.to_owned(), address.to_owned());
            if scheme.is_empty() || address.is_empty() || twice.is_some() {
                return Err(wrong());
            }
            kind = scheme.to_owned();
        }
        Ok(Self { kind, params })
    }
}

impl fmt::Display for DutChoice {
    /// As on the command line: `router,rules=100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_choice(&self.kind, &self.params, f)
    }
}

/// What a device under test is, as it was started.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutFacts {
    /// Its kind and the parameters that were given.
    pub choice: DutChoice,
    /// What it is in one line, its settings included: `Linux bridge, STP off, learning on`.
    pub description: String,
    /// Version of what forwards: of a program, or of the kernel.
    pub version: String,
}

/// Whose CPU time the device's work is.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by", content = "threads")]
pub enum DutWork {
    /// Nobody's on this host, or that of a program that linerate did not start.
    Elsewhere,
    /// The kernel's, in software interrupts of the cores to which frames are sent.
    Softirq,
    /// The work of these threads.
    Threads(Vec<DutThread>),
}

crate::named_enum! {
    /// A part of a device's work that can be taken from it and given back while it runs.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum DutTask {
        /// Its packet filter: rules, connection tracking for them, address translation.
        PacketFilter = "the packet filter",
        /// Instructions that each frame costs because it was asked to.
        Instructions = "the instructions of work per frame",
    }
}

/// Something that is done to a device while it runs, and undone after: what it then forwards shows what would help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "by")]
pub enum DutRelief {
    /// The queue in which it drops holds more.
    LongerQueue {
        /// So many bytes of frames.
        bytes: ByteCount,
    },
    /// What its ports receive is forwarded on another core (receive packet steering).
    OtherCore(DutCores),
    /// It does without a part of its work.
    Without {
        /// Which part.
        work: DutTask,
    },
}

impl fmt::Display for DutRelief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongerQueue { bytes } => write!(f, "lengthen the device's queue to {bytes}"),
            Self::OtherCore(cores) => write!(f, "let the device forward on {cores}"),
            Self::Without { work } => write!(f, "take {work} from the device"),
        }
    }
}

/// Cores of one host for a device's work in soft interrupts, and for the threads of a test beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutCores {
    /// Where it forwards.
    pub device: u32,
    /// The sending thread's.
    pub sender: u32,
    /// The receiving thread's; the device's too where there is no third.
    pub receiver: u32,
}

impl DutCores {
    /// Another core than the sender's, of those `allowed`: one that the receiver does not have, or else the receiver's.
    /// `pinned` threads (the sender's, the receiver's) keep their cores. `None` where there is no second core.
    pub fn apart(allowed: &[u32], pinned: [Option<u32>; 2]) -> Option<Self> {
        let other = |taken: &[Option<u32>]| {
            let mut free = allowed.iter().filter(|core| !taken.contains(&Some(**core)));
            free.next().copied()
        };
        let sender = pinned[0].or_else(|| other(&[pinned[1]]))?;
        let receiver = pinned[1].or_else(|| other(&[Some(sender)]))?;
        let third = other(&[Some(sender), Some(receiver)]);
        let device = third.or_else(|| (receiver != sender).then_some(receiver))?;
        Some(Self {
            device,
            sender,
            receiver,
        })
    }
}

impl fmt::Display for DutCores {
    /// `core 2 (the sender on core 0, the receiver on core 1)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            device,
            sender,
            receiver,
        } = self;
        if device == receiver {
            write!(
                f,
                "core {device}, which is also the receiver's (the sender on core {sender})"
            )
        } else {
            write!(
                f,
                "core {device} (the sender on core {sender}, the receiver on core {receiver})"
            )
        }
    }
}

/// A thread that works for a device under test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutThread {
    /// Process.
    pub pid: u32,
    /// Thread; that of the process if it is its only one.
    pub tid: u32,
    /// Its name (`comm`).
    pub name: String,
}

/// What a device under test has counted since it was started. Read while no test traffic runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutCounters {
    /// By port, in the order of the tester's ports.
    pub ports: Vec<DutPort>,
    /// Frames dropped, by place. Each dropped frame is in one place only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<DutDrop>,
    /// What else it counted, by its own names: packets that a rule let pass, hits of a cache.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, u64>,
    /// How long each packet that it sent was in each stage, by the device's own clock; only of linerate's P4 switch.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stages: BTreeMap<DutStage, Histogram>,
}

crate::named_enum! {
    /// A stage of a P4 switch, in the order in which packets pass them. A packet that passes one again, since it was
    /// resubmitted or recirculated, counts once, with all its times there.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum DutStage {
        /// From when the program gets it from a port, parser included.
        Ingress = "ingress",
        /// Until egress begins (`enq_timestamp`, `deq_timedelta`).
        Queue = "queue",
        /// Until a port has it, deparser included.
        Egress = "egress",
    }
}

/// Frames that passed a port of a device under test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutPort {
    /// Its name.
    pub name: String,
    /// Frames that it took from the tester.
    pub received: PacketCount,
    /// Frames that it gave to the tester.
    pub sent: PacketCount,
}

/// Frames dropped at one place of a device under test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct DutDrop {
    /// The kind of place.
    pub place: DutPlace,
    /// Which one: a port, rule, queue or counter by the device's own name.
    pub at: String,
    /// Frames.
    pub packets: PacketCount,
}

crate::named_enum! {
    /// Where in a device under test a frame was dropped.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum DutPlace {
        /// Connection tracking had no room, or could not enter the flow.
        Conntrack = "connection tracking",
        /// A rule of a packet filter.
        FilterRule = "packet filter",
        /// Because it was asked to: a list, a share, every Nth frame.
        Intended = "intended drop",
        /// Receive queue of a port: full.
        PortRx = "receive queue of a port",
        /// Send side of a port: the queue to the tester's port was full.
        PortTx = "send queue of a port",
        /// The process that forwards, for a reason of its own.
        Process = "forwarding process",
        /// Queueing discipline of a port.
        Qdisc = "queueing discipline",
        /// A queue within the device.
        Queue = "queue of the device",
        /// Routing: no route, no neighbour, hop limit, header.
        Routing = "routing",
        /// A table of forwarding or flows: no entry, or no room.
        Table = "forwarding table",
    }
}

/// A counter of a device went backwards: the device restarted between two readings, or somebody reset it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the device's counter {counter} went back from {before} to {after}; it restarted or was reset"
)]
pub struct CounterReset {
    counter: String,
    before: PacketCount,
    after: PacketCount,
}

impl DutCounters {
    /// What was counted since `before`, an earlier reading of the same device.
    pub fn since(&self, before: &Self) -> Result<Self, CounterReset> {
        let mut grown = self.clone();
        for port in &mut grown.ports {
            let Some(old) = before.ports.iter().find(|old| old.name == port.name) else {
                continue;
            };
            port.received = growth(&port.name, old.received, port.received)?;
            port.sent = growth(&port.name, old.sent, port.sent)?;
        }
        for drop in &mut grown.drops {
            let is_same = |old: &&DutDrop| (old.place, &old.at) == (drop.place, &drop.at);
            if let Some(old) = before.drops.iter().find(is_same) {
                drop.packets = growth(&drop.at, old.packets, drop.packets)?;
            }
        }
        for (name, count) in &mut grown.counters {
            let old = before.counters.get(name).copied().unwrap_or(0);
            *count = growth(name, PacketCount::new(old), PacketCount::new(*count))?.get();
        }
        for (stage, times) in &mut grown.stages {
            if let Some(old) = before.stages.get(stage) {
                *times = times.since(old).ok_or_else(|| {
                    let packets = |times: &Histogram| PacketCount::new(times.len());
                    CounterReset {
                        counter: format!("times in {stage}"),
                        before: packets(old),
                        after: packets(times),
                    }
                })?;
            }
        }
        grown.drops.retain(|drop| drop.packets.get() > 0);
        Ok(grown)
    }

    /// What was counted in this time and in a later one of the same device, together.
    #[must_use]
    pub fn plus(mut self, later: Self) -> Self {
        let sum = |a: PacketCount, b: PacketCount| PacketCount::new(a.get() + b.get());
        for port in later.ports {
            match self.ports.iter_mut().find(|own| own.name == port.name) {
                Some(own) => {
                    own.received = sum(own.received, port.received);
                    own.sent = sum(own.sent, port.sent);
                }
                None => self.ports.push(port),
            }
        }
        for drop in later.drops {
            let is_same = |own: &&mut DutDrop| (own.place, &own.at) == (drop.place, &drop.at);
            match self.drops.iter_mut().find(is_same) {
                Some(own) => own.packets = sum(own.packets, drop.packets),
                None => self.drops.push(drop),
            }
        }
        for (name, count) in later.counters {
            *self.counters.entry(name).or_default() += count;
        }
        for (stage, times) in later.stages {
            self.stages.entry(stage).or_default().merge(&times);
        }
        self
    }

    /// Frames dropped at all places together.
    pub fn dropped(&self) -> PacketCount {
        PacketCount::new(self.drops.iter().map(|drop| drop.packets.get()).sum())
    }

    /// Frames dropped at a kind of place.
    pub fn dropped_at(&self, place: DutPlace) -> PacketCount {
        let here = self.drops.iter().filter(|drop| drop.place == place);
        PacketCount::new(here.map(|drop| drop.packets.get()).sum())
    }
}

fn growth(
    counter: &str,
    before: PacketCount,
    after: PacketCount,
) -> Result<PacketCount, CounterReset> {
    let grown = after.get().checked_sub(before.get());
    grown.map(PacketCount::new).ok_or_else(|| CounterReset {
        counter: counter.to_owned(),
        before,
        after,
    })
}

/// A port of the tester that leads to a device under test.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TesterPort {
    /// Its interface, in the tester's network.
    pub interface: String,
    /// Its IPv4 address, for frames; the interface itself has none.
    pub ipv4: std::net::Ipv4Addr,
    /// Its IPv6 address, for frames; the interface itself has none.
    pub ipv6: std::net::Ipv6Addr,
    /// Its MAC address.
    pub mac: String,
    /// The MAC address to which it sends frames for the other port: that port's, or a router's.
    pub next_hop: String,
}

impl TesterPort {
    /// The datapath that sends frames between two ports through the device.
    pub fn datapath(a: &Self, b: &Self) -> DatapathChoice {
        let params = [
            ("a", a.interface.clone()),
            ("b", b.interface.clone()),
            ("a-ip", a.ipv4.to_string()),
            ("b-ip", b.ipv4.to_string()),
            ("a-to", a.next_hop.clone()),
            ("b-to", b.next_hop.clone()),
        ];
        DatapathChoice {
            id: DatapathChoice::PORTS.to_owned(),
            params: params
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(received: u64, drops: &[(DutPlace, u64)]) -> DutCounters {
        let port = DutPort {
            name: "dut-a".to_owned(),
            received: PacketCount::new(received),
            sent: PacketCount::new(7),
        };
        let drops = drops.iter().map(|(place, packets)| DutDrop {
            place: *place,
            at: "dut-a".to_owned(),
            packets: PacketCount::new(*packets),
        });
        DutCounters {
            ports: vec![port],
            drops: drops.collect(),
            counters: BTreeMap::from([("hits".to_owned(), received)]),
            stages: BTreeMap::from([(DutStage::Queue, times(received))]),
        }
    }

    /// Of so many packets.
    fn times(packets: u64) -> Histogram {
        let mut times = Histogram::new();
        times.record_n(700, packets);
        times
    }

    #[test]
    fn what_was_counted_before_is_left_out() {
        let before = counted(100, &[(DutPlace::Queue, 5), (DutPlace::PortTx, 1)]);
        let after = counted(350, &[(DutPlace::Queue, 5), (DutPlace::PortTx, 4)]);
        let grown = after.since(&before).unwrap();
        assert_eq!(grown.ports[0].received, PacketCount::new(250));
        assert_eq!(grown.ports[0].sent, PacketCount::new(0));
        assert_eq!(grown.dropped(), PacketCount::new(3));
        assert_eq!(grown.dropped_at(DutPlace::Queue), PacketCount::new(0));
        assert_eq!(grown.drops.len(), 1);
        assert_eq!(grown.counters["hits"], 250);
        assert_eq!(grown.stages[&DutStage::Queue], times(250));
    }

    #[test]
    fn what_was_counted_in_two_times_adds_up() {
        let first = counted(100, &[(DutPlace::Queue, 5)]);
        let second = counted(50, &[(DutPlace::Queue, 2), (DutPlace::Process, 9)]);
        let both = first.clone().plus(second.clone());
        assert_eq!(both.ports[0].received, PacketCount::new(150));
        assert_eq!(both.ports[0].sent, PacketCount::new(14));
        assert_eq!(both.dropped_at(DutPlace::Queue), PacketCount::new(7));
        assert_eq!(both.dropped(), PacketCount::new(16));
        assert_eq!(both.counters["hits"], 150);
        assert_eq!(both.stages[&DutStage::Queue], times(150));
        assert_eq!(both.since(&first), Ok(second.clone()));
        assert_eq!(DutCounters::default().plus(second.clone()), second);
    }

    #[test]
    fn a_place_that_appears_later_counts_from_zero() {
        let grown = counted(1, &[(DutPlace::FilterRule, 9)]).since(&counted(1, &[]));
        assert_eq!(grown.unwrap().dropped(), PacketCount::new(9));
    }

    #[test]
    fn a_device_that_restarted_is_told() {
        let error = counted(3, &[]).since(&counted(100, &[])).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("dut-a went back from 100 to 3"), "{text}");
    }

    #[test]
    fn a_devices_work_gets_a_core_of_its_own_where_there_is_one() {
        let apart = |allowed: &[u32], pinned| {
            let cores = DutCores::apart(allowed, pinned)?;
            Some([cores.sender, cores.receiver, cores.device])
        };
        assert_eq!(apart(&[0, 1, 2, 3], [None; 2]), Some([0, 1, 2]));
        assert_eq!(apart(&[4, 6], [None; 2]), Some([4, 6, 6]));
        assert_eq!(apart(&[3], [None; 2]), None);
        assert_eq!(apart(&[0, 1], [Some(1), None]), Some([1, 0, 0]));
        assert_eq!(apart(&[0, 1, 2], [None, Some(0)]), Some([1, 0, 2]));
        // Both on one core.
        assert_eq!(apart(&[0, 1], [Some(0); 2]), Some([0, 0, 1]));
        assert_eq!(apart(&[0], [Some(0); 2]), None);
        let shared = DutCores::apart(&[0, 1], [None; 2]).unwrap().to_string();
        assert!(
            shared.contains("core 1, which is also the receiver's"),
            "{shared}"
        );
    }

    #[test]
    fn the_address_of_a_device_is_a_parameter_of_it() {
        let read = "p4runtime://[::1]:9559,entries=r.stf".parse::<DutChoice>();
        let written = "p4runtime,address=[::1]:9559,entries=r.stf";
        assert_eq!(read.unwrap().to_string(), written);
        for bad in ["p4runtime://", "://h:1", "p4runtime://h:1,address=h:2"] {
            assert!(bad.parse::<DutChoice>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_choice_is_read_as_it_is_written() {
        for text in ["bridge", "router,conntrack=true,rules=100"] {
            assert_eq!(text.parse::<DutChoice>().unwrap().to_string(), text);
        }
        for bad in ["", "router,rules", ",a=b", "router,=1"] {
            assert!(bad.parse::<DutChoice>().is_err(), "{bad}");
        }
    }
}
