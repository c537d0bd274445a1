//! A mesh of ports around a bridge whose filter is known.
//!
//! ```text
//!   port-0 ══ br-0 ┐          ┌ br-2 ══ port-2
//!                  ├─ bridge ─┤
//!   port-1 ══ br-1 ┘          └ br-3 ══ port-3
//! ```

use crate::command::{of_both_ends, rows, tried};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{PairLoss, Run, RunStatus, Trial};
use linerate_model::sample::StreamWork;
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::{Aggregation, InterfaceName, Learning, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use std::io::Write as _;
use std::process::{Command, Stdio};

const PORTS: u8 = 4;

/// The bridge; the calling thread is in the network of its ports until [`Fabric::close`].
struct Fabric {
    home: NetNamespace,
    tester: NetNamespace,
    bridge: NetNamespace,
}

fn port(at: u8) -> InterfaceName {
    InterfaceName::new(&format!("port-{at}")).unwrap()
}

fn bridge_port(at: u8) -> InterfaceName {
    InterfaceName::new(&format!("br-{at}")).unwrap()
}

fn mac(at: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0x4d, 9, at])
}

impl Fabric {
    fn new() -> Self {
        let home = NetNamespace::current().unwrap();
        let bridge = NetNamespace::unshare().unwrap();
        let tester = NetNamespace::unshare().unwrap();
        let fabric = Self {
            home,
            tester,
            bridge,
        };
        let mut netlink = Netlink::new().unwrap();
        for at in 0..PORTS {
            let (near, far) = (port(at), bridge_port(at));
            let near = VethEnd {
                name: &near,
                mac: mac(at),
                namespace: None,
            };
            let far = VethEnd {
                name: &far,
                mac: MacAddress([2, 0, 0, 0x4d, 10, at]),
                namespace: Some(&fabric.bridge),
            };
            netlink
                .add_veth(&near, &far, 1500, Aggregation::None)
                .unwrap();
        }
        fabric.bridge.enter().unwrap();
        join();
        fabric.tester.enter().unwrap();
        let lo = InterfaceName::new("lo").unwrap();
        bring_up(std::iter::once(lo).chain((0..PORTS).map(port)));
        fabric
    }

    /// Has the bridge drop every `n`-th frame from one port that is for another, and count them.
    fn filter(&self, from: u8, to: u8, n: u32) {
        let to = mac(to);
        let rules = format!(
            "table bridge lab {{ chain c {{ type filter hook forward priority 0;\n\
             iifname \"br-{from}\" ether daddr {to} \
             numgen inc mod {n} == 0 counter drop\n}}\n}}\n"
        );
        self.bridge.enter().unwrap();
        let mut nft = Command::new("nft");
        let mut nft = nft.args(["-f", "-"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = nft.stdin.take().unwrap();
        input.write_all(rules.as_bytes()).unwrap();
        drop(input);
        assert!(nft.wait().unwrap().success());
        self.tester.enter().unwrap();
    }

    /// Frames that the filter dropped.
    fn filtered(&self) -> u64 {
        self.bridge.enter().unwrap();
        let listed = Command::new("nft").args(["list", "ruleset"]).output();
        self.tester.enter().unwrap();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let (_, counted) = listed.split_once("counter packets ").unwrap();
        let count = counted.split(' ').next().unwrap();
        count.parse().unwrap()
    }

    fn close(self) {
        self.home.enter().unwrap();
    }
}

/// Makes the bridge of the calling thread's network, of all ports there.
fn join() {
    let mut netlink = Netlink::new().unwrap();
    let name = InterfaceName::new("br0").unwrap();
    netlink.add_bridge(&name, None).unwrap();
    let bridge = netlink.link_named(&name).unwrap().index;
    for at in 0..PORTS {
        let index = netlink.link_named(&bridge_port(at)).unwrap().index;
        netlink
            .add_bridge_port(index, bridge, Learning::On)
            .unwrap();
    }
    bring_up((0..PORTS).map(bridge_port).chain([name]));
    let ethtool = Ethtool::new().unwrap();
    for at in 0..PORTS {
        // Frames that a program makes at the other end arrive only at a port with a queue of its own.
        ethtool
            .switch_on(&bridge_port(at), Offload::GenericReceive)
            .unwrap();
    }
}

fn bring_up(names: impl Iterator<Item = InterfaceName>) {
    let mut netlink = Netlink::new().unwrap();
    for name in names {
        let index = netlink.link_named(&name).unwrap().index;
        // The bridge would count what the kernel says by itself.
        netlink.disable_ipv6_autoconf(index).unwrap();
        netlink.set_up(index).unwrap();
    }
}

fn meshed(options: &[(&str, &str)]) -> anyhow::Result<Run> {
    let usual = [
        ("ports", "port-0,port-1,port-2,port-3"),
        ("frame-size", "128"),
        // A bound takes three trials of a second at its load.
        ("budget", "6s"),
        // Of each port: some thousand frames per second of all, so that no program beside the test matters.
        ("line-rate", "2M"),
        ("delay-load", "50%"),
        ("diagnose", "0s"),
    ];
    tried(&[&usual, options].concat())
}

fn complete(options: &[(&str, &str)]) -> Run {
    let run = meshed(options).unwrap();
    assert_eq!(run.status, RunStatus::Complete, "{:?}", run.notes);
    run
}

/// Frames that came at each port, of each stream.
fn came(trial: &Trial) -> Vec<(u16, String, u64)> {
    let streams = trial.raw().iter().flat_map(|report| &report.streams);
    let counts = streams.flat_map(|stream| match &stream.work {
        StreamWork::DatagramReceiver(receiver) => receiver
            .by_port
            .iter()
            .map(|port| (stream.index, port.interface.clone(), port.received.get()))
            .collect(),
        _ => Vec::new(),
    });
    counts.collect()
}

/// Every frame of each port comes at the port that it is for, as many at each, and is counted once.
pub(crate) fn every_port_sends_to_all_others_and_each_frame_is_counted() {
    for options in [
        &[][..],
        &[("frame-size", "imix"), ("flows", "100")],
        &[("ipv6", "true"), ("headers", "vlan=5")],
    ] {
        let fabric = Fabric::new();
        let run = complete(&[&[("loss-goal", "0")], options].concat());
        let (forwarding, parts) = rows(&run);
        assert_eq!(forwarding[0].pairs, [], "{options:?}");
        assert!(!parts[0].trials.is_empty());
        for trial in &parts[0].trials {
            let packets = trial.packets().unwrap();
            assert_eq!(packets.lost.unwrap().get(), 0, "{options:?}");
            assert_eq!(packets.duplicated.unwrap().get(), 0, "{options:?}");
            assert_eq!(packets.reordered.unwrap().get(), 0, "{options:?}");
            let [sent, came_in_all] = of_both_ends(trial);
            // Before its address was learned, a port's frames are flooded; they count where they are for.
            assert!(sent - came_in_all <= u64::from(PORTS), "{options:?}");
            let came = came(trial);
            assert_eq!(came.len(), usize::from(PORTS * (PORTS - 1)));
            for stream in 0..u16::from(PORTS) {
                let its = came.iter().filter(|(of, ..)| *of == stream);
                let counts: Vec<_> = its.map(|(.., count)| *count).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(*least > 0 && most - least <= 1, "{came:?}");
            }
            let own = |(stream, port, _): &(u16, String, u64)| *port == format!("port-{stream}");
            assert!(!came.iter().any(own), "{came:?}");
        }
        let [delay] = forwarding[0].delays.as_slice() else {
            panic!("{options:?}: {:?}", forwarding[0].goals);
        };
        assert!(
            delay.p50_ns.is_some_and(|ns| (1..10_000_000).contains(&ns)),
            "{delay:?}"
        );
        fabric.close();
    }
}

/// The filter's counter, the loss of the pair that it is between, and the loss of the whole are one number.
pub(crate) fn what_is_lost_between_two_ports_is_theirs_alone() {
    let fabric = Fabric::new();
    fabric.filter(1, 3, 10);
    let run = complete(&[("loss-goal", "0"), ("warm-up", "0s")]);
    let (forwarding, parts) = rows(&run);
    let (filtered, others): (Vec<&PairLoss>, _) = forwarding[0]
        .pairs
        .iter()
        .partition(|pair| pair.from == "port-1" && pair.to == "port-3");
    assert!(others.iter().all(|pair| pair.lost.get() == 0), "{others:?}");
    let lost = parts.iter().flat_map(|part| &part.trials).map(|trial| {
        let packets = trial.packets().unwrap();
        packets.lost.unwrap().get()
    });
    let all: u64 = lost.sum();
    assert!(all > 0);
    assert_eq!(filtered[0].lost.get(), all);
    // Before the search, twenty frames of all ports try the generator.
    let tried = fabric.filtered() - all;
    assert!(tried <= 1, "{tried} beside {all}");
    let ratio = filtered[0].ratio().get();
    assert!((ratio - 0.1).abs() < 0.01, "{ratio}");
    // A tenth of a twelfth of all: above a goal of 0, below one of 1 %.
    let goal = &forwarding[0].goals[0];
    assert!(goal.lower_bound.is_none(), "{goal:?}");
    let tolerant = complete(&[("loss-goal", "1%"), ("warm-up", "0s")]);
    let goal = &rows(&tolerant).0[0].goals[0];
    assert!(
        goal.lower_bound.is_some() && goal.upper_bound.is_none(),
        "{goal:?}"
    );
    fabric.close();
}

/// What a mesh is not measured by is refused before anything is sent, and a port that is away is named.
pub(crate) fn what_two_ports_have_alone_is_refused() {
    let fabric = Fabric::new();
    let error = meshed(&[("ports", "port-0,port-1,port-9")]).unwrap_err();
    let failure = Failure::of(error.as_ref()).unwrap();
    assert_eq!(failure.code, ExitCode::HostLacks);
    assert!(failure.message.contains("port-9"), "{failure:?}");
    let mut netlink = Netlink::new().unwrap();
    let index = netlink.link_named(&port(2)).unwrap().index;
    netlink.set_down(index).unwrap();
    let error = meshed(&[]).unwrap_err();
    let failure = Failure::of(error.as_ref()).unwrap();
    assert_eq!(failure.code, ExitCode::HostLacks);
    assert!(failure.message.contains("port-2"), "{failure:?}");
    fabric.close();
}
