//! A router of `p4/` between veth pairs in a network of its own: every frame is forwarded or counted as dropped. Run as root
//! with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_model::Clock as _;
use linerate_model::dut::{DutCounters, DutPlace, DutPort, DutStage};
use linerate_p4::{DataPlane as _, Limits, Program, Switch, stf};
use linerate_p4_switch::{OpenPort, PortError, PortKind, Station, open, open_vlan};
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::netlink::{
    Aggregation, InterfaceIndex, InterfaceName, MacAddress, Netlink, VethEnd,
};
use linerate_sys::netns::NetNamespace;
use linerate_sys::packet::{FrameSender, PacketRing, RingLayout, Tags, VlanId};
use linerate_sys::privilege::{is_in_user_namespace, lacking_for_xdp};
use linerate_testkit::namespaces::{Case, namespace_main, not_run};
use std::io::IoSlice;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "af_xdp_ports_forward_every_frame",
        run: || forwards(Some("af-xdp"), "af-xdp, native, copied"),
    },
    Case {
        name: "packet_sockets_forward_every_frame",
        run: || forwards(Some("af-packet"), "af-packet"),
    },
    Case {
        name: "the_best_kind_is_af_xdp_where_the_host_has_no_address",
        run: || forwards(None, "af-xdp, native, copied"),
    },
    Case {
        name: "a_port_with_addresses_of_the_host_is_a_packet_socket",
        run: a_used_interface_is_left_to_the_host,
    },
    Case {
        name: "a_tap_port_is_an_interface_that_ends_with_it",
        run: a_tap_comes_and_goes,
    },
    Case {
        name: "a_port_that_is_removed_ends_the_run",
        run: a_removed_port_ends_the_run,
    },
    Case {
        name: "ports_that_flood_back_end_with_the_run_and_each_frame_is_counted",
        run: ports_that_flood_back_end_with_the_run_and_each_frame_is_counted,
    },
    Case {
        name: "copies_of_a_frame_wait_for_each_other",
        run: copies_of_a_frame_wait_for_each_other,
    },
    Case {
        name: "a_frame_above_the_mtu_is_counted",
        run: a_frame_above_the_mtu_is_counted,
    },
    Case {
        name: "vlans_of_one_interface_are_ports",
        run: vlans_of_one_interface_are_ports,
    },
    Case {
        name: "a_port_without_a_vlan_leaves_tags_in_their_frames",
        run: a_port_without_a_vlan_leaves_tags_in_their_frames,
    },
];

fn main() -> ExitCode {
    namespace_main(|| Ok::<(), String>(()), CASES)
}

const FRAMES: u64 = 5000;

/// Frames keep their order, so with the last all others are through. They go in at port 0 and come out at port 1 with a TTL less; one in two has no route.
fn forwards(kind: Option<&str>, datapath: &str) {
    let net = Net::new();
    let port = |name| match kind {
        Some(kind) => of_kind(kind, &InterfaceName::new(name).unwrap()),
        None => open(&InterfaceName::new(name).unwrap()),
    };
    let ports = vec![(0, port("da").unwrap()), (1, port("db").unwrap())];
    assert_eq!(ports[0].1.to_string(), format!("da ({datapath})"));
    let counts = net.run(ports, |net| {
        let mut seen = 0;
        for round in 0..FRAMES / 100 {
            net.send(50, &frame(false));
            net.send(50, &frame(true));
            seen += net.receive((round + 1) * 50 - seen);
        }
        assert_eq!(seen, FRAMES / 2);
    });
    assert_eq!(counts.ports[0].received.get(), FRAMES);
    assert_eq!(counts.ports[1].sent.get(), FRAMES / 2);
    assert_eq!(counts.ports[1].received.get(), 0);
    // Those without a route, and no other.
    assert_eq!(counts.dropped().get(), FRAMES / 2);
    assert_eq!(counts.dropped_at(DutPlace::Process).get(), FRAMES / 2);
    for (stage, times) in &counts.stages {
        assert_eq!(times.len(), FRAMES / 2, "{stage}");
    }
    for stage in [DutStage::Ingress, DutStage::Egress] {
        assert!(counts.stages[&stage].min_nanos() > 0, "{stage}");
    }
}

/// Eight copies of a frame go to one port: half of them wait until three others have left.
fn copies_of_a_frame_wait_for_each_other() {
    const COPIES: u64 = 8;
    let net = Net::new();
    let ports = ["da", "db"].map(|name| open(&InterfaceName::new(name).unwrap()).unwrap());
    let arrived = || {
        let counted = Netlink::new().unwrap().link_stats(index("tb"));
        counted.unwrap().rx_packets
    };
    let before = arrived();
    let ports = (0..).zip(ports).collect();
    let counts = net.run_program(multicast(COPIES), ports, |net| {
        for sent in 1..=50 {
            net.send(1, &frame(true));
            let limit = MonoClock.now().after(PATIENCE);
            while arrived() - before < sent * COPIES {
                assert!(!has_passed(limit), "{} arrived", arrived() - before);
                std::thread::yield_now();
            }
        }
    });
    let median = |stage| counts.stages[&stage].quantile_nanos(0.5);
    let [queue, egress] = [DutStage::Queue, DutStage::Egress].map(median);
    assert!(queue > egress, "{queue} ns, and {egress} ns in egress");
    assert_eq!(counts.stages[&DutStage::Queue].len(), 50 * COPIES);
}

/// Frames of ours go to port 1 so often.
fn multicast(copies: u64) -> Switch {
    let program = include_bytes!("../../../p4/multicast/multicast.json");
    let program = Program::from_json(program).unwrap();
    let mut switch = Switch::new(Arc::new(program), Limits::default(), 1);
    let nodes =
        (0..copies).map(|node| format!("mc_node_create {node} 1\nmc_node_associate 5 {node}\n"));
    let group =
        "mc_mgrp_create 5\nadd groups ethernet.dst:0x020000000000 replicate(group:5)\n".to_owned();
    let group = group + &nodes.collect::<String>();
    stf::control(&mut switch, &stf::parse(&group).unwrap()).unwrap();
    switch
}

fn a_used_interface_is_left_to_the_host() {
    let _net = Net::new();
    let mut netlink = Netlink::new().unwrap();
    netlink
        .add_address(index("da"), "10.9.0.1".parse().unwrap(), 24)
        .unwrap();
    let port = open(&InterfaceName::new("da").unwrap()).unwrap();
    assert_eq!(port.to_string(), "da (af-packet)");
    assert!(port.notes[0].contains("addresses of this host"));
}

fn a_tap_comes_and_goes() {
    let net = Net::new();
    let name = InterfaceName::new("t0").unwrap();
    let ports = vec![
        (0, open(&InterfaceName::new("da").unwrap()).unwrap()),
        (1, of_kind("tap", &name).unwrap()),
    ];
    let counts = net.run(ports, |net| {
        let mut host = Watcher::new(index("t0"));
        net.send(100, &frame(true));
        assert_eq!(host.receive(100), 100);
    });
    assert_eq!(counts.ports[1].sent.get(), 100);
    assert!(Netlink::new().unwrap().link_named(&name).is_err());
}

fn a_removed_port_ends_the_run() {
    let _net = Net::new();
    let ports = ["da", "db"].map(|name| open(&InterfaceName::new(name).unwrap()).unwrap());
    let removed = index("db");
    let (mut station, _control) = Station::new((0..).zip(ports).collect(), None).unwrap();
    Netlink::new().unwrap().delete(removed).unwrap();
    let limit = MonoClock.now().after(PATIENCE);
    let ended = station.run(|| has_passed(limit));
    assert!(matches!(ended, Err(PortError::Gone(name)) if name == "db"));
}

/// Both ends of one cable: what goes out at a port comes in at the other, for ever.
fn ports_that_flood_back_end_with_the_run_and_each_frame_is_counted() {
    let net = Net::new();
    let passed = || {
        let sent = Netlink::new().unwrap().link_stats(index("ta"));
        sent.unwrap().tx_packets
    };
    for kind in ["af-packet", "af-xdp"] {
        let before = passed();
        let ports = ["ta", "da"].map(|name| of_kind(kind, &InterfaceName::new(name).unwrap()));
        let ports = (0..).zip(ports.map(Result::unwrap)).collect();
        let counts = net.run_program(patch_panel(), ports, |net| {
            net.send(100, &frame(true));
            let limit = MonoClock.now().after(PATIENCE);
            while passed() - before < 2000 {
                assert!(!has_passed(limit), "{kind}");
                std::thread::yield_now();
            }
        });
        let total = |of: fn(&DutPort) -> u64| counts.ports.iter().map(of).sum::<u64>();
        let received = total(|port| port.received.get());
        let lost = counts.dropped().get() - counts.dropped_at(DutPlace::PortRx).get();
        let sent = total(|port| port.sent.get());
        assert_eq!(sent + lost, received, "{kind}: {counts:?}");
    }
}

fn a_frame_above_the_mtu_is_counted() {
    let net = Net::new();
    let mut netlink = Netlink::new().unwrap();
    netlink.set_mtu(index("db"), 1000).unwrap();
    for kind in ["af-xdp", "af-packet"] {
        let ports = ["da", "db"].map(|name| of_kind(kind, &InterfaceName::new(name).unwrap()));
        let ports = (0..).zip(ports.map(Result::unwrap)).collect();
        let long = [frame(true), vec![0; 1200]].concat();
        let counts = net.run(ports, |net| {
            // Frames keep their order: with the last all others are through.
            net.send(10, &long);
            net.send(10, &frame(true));
            assert_eq!(net.receive(10), 10);
        });
        assert_eq!(counts.ports[1].sent.get(), 10);
        assert_eq!(counts.dropped_at(DutPlace::PortTx).get(), 10);
    }
}

/// Frames of other VLANs, and those without a tag, are none of the ports'.
fn vlans_of_one_interface_are_ports() {
    let net = Net::new();
    let name = InterfaceName::new("da").unwrap();
    let [near, far, other] = [10, 4094, 12].map(|vlan| VlanId::new(vlan).unwrap());
    let ports = [near, far].map(|vlan| open_vlan(&name, vlan).unwrap());
    assert_eq!(ports[0].to_string(), "da,vlan=10 (af-packet, tagged)");
    let layout = RingLayout::new(2000, 1 << 20).unwrap();
    let ring = PacketRing::open_with(index("ta"), layout, Tags::Only(far));
    let mut watcher = Watcher(ring.unwrap());
    let counts = net.run((0..).zip(ports).collect(), |net| {
        // Frames keep their order.
        net.send(100, &tagged(other, &frame(true)));
        net.send(100, &frame(true));
        for _ in 0..FRAMES / 100 {
            net.send(50, &tagged(near, &frame(false)));
            net.send(50, &tagged(near, &frame(true)));
            assert_eq!(watcher.receive(50), 50);
        }
    });
    assert_eq!(counts.ports[0].name, "da,vlan=10");
    let received = counts.ports.iter().map(|port| port.received.get());
    assert_eq!(received.collect::<Vec<_>>(), [FRAMES, 0]);
    assert_eq!(counts.ports[1].sent.get(), FRAMES / 2);
    assert_eq!(counts.dropped_at(DutPlace::Process).get(), FRAMES / 2);
    // The MTU's longest packet, with header and tag.
    let mut longest = frame(true);
    longest.resize(1514, 0);
    let ports = [near, far].map(|vlan| open_vlan(&name, vlan).unwrap());
    let counts = net.run((0..).zip(ports).collect(), |net| {
        net.send(1, &tagged(near, &longest));
        assert_eq!(watcher.receive(1), 1);
    });
    assert_eq!(counts.ports[1].sent.get(), 1);
}

fn a_port_without_a_vlan_leaves_tags_in_their_frames() {
    let net = Net::new();
    let frames: Vec<_> = [1, 0x0abc]
        .map(|vlan| tagged(VlanId::new(vlan).unwrap(), &frame(true)))
        .into();
    let layout = RingLayout::new(2000, 1 << 20).unwrap();
    for kind in ["af-packet", "af-xdp"] {
        let mut ring = PacketRing::open_with(index("tb"), layout, Tags::Kept).unwrap();
        let ports = ["da", "db"].map(|name| of_kind(kind, &InterfaceName::new(name).unwrap()));
        let ports = (0..).zip(ports.map(Result::unwrap)).collect();
        net.run_program(patch_panel(), ports, |net| {
            let (mut seen, limit) = (Vec::new(), MonoClock.now().after(PATIENCE));
            for frame in &frames {
                net.send(1, frame);
            }
            while seen.len() < frames.len() && !has_passed(limit) {
                ring.drain(64, |frame| seen.push(frame.bytes.to_vec()));
                std::thread::yield_now();
            }
            assert_eq!(seen, frames, "{kind}");
        });
    }
}

/// With a tag of 802.1Q.
fn tagged(vlan: VlanId, frame: &[u8]) -> Vec<u8> {
    let (addresses, rest) = frame.split_at(12);
    [addresses, &vlan.tag(), rest].concat()
}

fn of_kind(kind: &str, name: &InterfaceName) -> Result<OpenPort, PortError> {
    let mut kinds = linerate_p4_switch::ALL.iter();
    let kind: &&dyn PortKind = kinds.find(|known| known.id() == kind).unwrap();
    kind.open(name)
}

/// How long a frame may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A frame of the router's packet test, with a route or without.
fn frame(has_route: bool) -> Vec<u8> {
    let addresses = if has_route {
        "ad22c0a800010a020304"
    } else {
        "ac22c0a800010b020304"
    };
    let hex = format!("02000000000002000000000108004500001c000000004011{addresses}");
    let mut frame: Vec<u8> = (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect();
    frame.resize(60, 0);
    frame
}

/// A network with two veth pairs: `ta` and `tb` of the test, `da` and `db` of the switch.
struct Net {
    _own: NetNamespace,
    sender: FrameSender,
    watcher: std::cell::RefCell<Watcher>,
}

impl Net {
    /// The calling thread moves into it.
    fn new() -> Self {
        let lacking = lacking_for_xdp();
        if is_in_user_namespace() || !lacking.is_empty() {
            not_run(format!("needs root: {}", lacking.join(" and ")));
        }
        let own = NetNamespace::unshare().unwrap();
        let mut netlink = Netlink::new().unwrap();
        for (at, [near, far]) in [["ta", "da"], ["tb", "db"]].iter().enumerate() {
            let names = [near, far].map(|name| InterfaceName::new(name).unwrap());
            let mac = |end| MacAddress([2, 0, 0, 0, u8::try_from(at).unwrap(), end]);
            let end = |name, mac| VethEnd {
                name,
                mac,
                namespace: None,
            };
            netlink
                .add_veth(
                    &end(&names[0], mac(1)),
                    &end(&names[1], mac(2)),
                    1500,
                    Aggregation::None,
                )
                .unwrap();
            for name in &names {
                let index = netlink.link_named(name).unwrap().index;
                netlink.disable_ipv6_autoconf(index).unwrap();
                netlink.set_up(index).unwrap();
            }
            for name in &names {
                let index = netlink.link_named(name).unwrap().index;
                netlink
                    .wait_until(MonoClock.now().after(PATIENCE), |netlink| {
                        Ok(netlink.link(index)?.is_operational)
                    })
                    .unwrap();
            }
        }
        Self {
            sender: FrameSender::open(index("ta")).unwrap(),
            watcher: Watcher::new(index("tb")).into(),
            _own: own,
        }
    }

    /// Runs the router between `ports` while `test` sends and receives; returns what it counted.
    fn run(&self, ports: Vec<(u32, OpenPort)>, test: impl FnOnce(&Self)) -> DutCounters {
        self.run_program(router(), ports, test)
    }

    /// Runs a program between `ports` while `test` sends and receives; returns what it counted.
    fn run_program(
        &self,
        switch: Switch,
        ports: Vec<(u32, OpenPort)>,
        test: impl FnOnce(&Self),
    ) -> DutCounters {
        let (mut station, control) = Station::new(ports, None).unwrap();
        // As a control plane does it: between two rounds, on the thread of the station.
        control.run(Box::new(move |plane, _| plane.switch = Some(switch)));
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            station.run(|| is_over.load(Ordering::Relaxed)).unwrap();
            station.counts()
        });
        // Frames that came before the program would be counted as such.
        let (told, ready) = std::sync::mpsc::channel();
        control.run(Box::new(move |_, _| told.send(()).unwrap()));
        ready.recv_timeout(PATIENCE).unwrap();
        test(self);
        over.store(true, Ordering::Relaxed);
        thread.join().unwrap()
    }

    fn send(&self, count: usize, frame: &[u8]) {
        for _ in 0..count {
            assert_eq!(self.sender.send(&[IoSlice::new(frame)]).unwrap(), 1);
        }
    }

    fn receive(&self, count: u64) -> u64 {
        self.watcher.borrow_mut().receive(count)
    }
}

/// Receives routed frames at an interface.
struct Watcher(PacketRing);

impl Watcher {
    fn new(index: InterfaceIndex) -> Self {
        let layout = RingLayout::new(2000, 8 << 20).unwrap();
        Self(PacketRing::open(index, layout).unwrap())
    }

    /// Waits for up to `count` frames; fails on one that the router does not send.
    fn receive(&mut self, count: u64) -> u64 {
        let (mut seen, limit) = (0, MonoClock.now().after(PATIENCE));
        while seen < count && !has_passed(limit) {
            let taken = self.0.drain(64, |frame| {
                assert_eq!(frame.bytes[..6], [0x0a, 0, 0, 0, 0, 0x11]);
                assert_eq!(frame.bytes[22], 0x3f, "TTL");
            });
            seen += taken as u64;
            std::thread::yield_now();
        }
        seen
    }
}

fn index(name: &str) -> InterfaceIndex {
    let name = InterfaceName::new(name).unwrap();
    Netlink::new().unwrap().link_named(&name).unwrap().index
}

fn patch_panel() -> Switch {
    let program = include_bytes!("../../../p4/cross_connect/cross_connect.json");
    let program = Program::from_json(program).unwrap();
    Switch::new(Arc::new(program), Limits::default(), 1)
}

fn router() -> Switch {
    let program = include_bytes!("../../../p4/l3_router/l3_router.json");
    let program = Program::from_json(program).unwrap();
    let mut switch = Switch::new(Arc::new(program), Limits::default(), 1);
    let test = include_str!("../../../p4/l3_router/l3_router.stf");
    let entries: Vec<_> = test
        .lines()
        .filter(|line| line.starts_with("add"))
        .collect();
    let entries = stf::parse(&entries.join("\n")).unwrap();
    stf::control(&mut switch, &entries).unwrap();
    switch
}
