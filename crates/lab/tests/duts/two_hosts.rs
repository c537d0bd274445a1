//! A device between ports of two hosts, whose clocks differ by a known time.
//!
//! ```text
//!   host A ── port-a ══ device ══ port-b ── host B
//!      └────────── control: 10.99.0.0/24 ──────┘
//! ```

use crate::command::{of_both_ends, rows, tried};
use crate::conformance::started;
use linerate_agent::{Agent, AgentPlan};
use linerate_model::PacketCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{DelayOf, Run, RunStatus, Trial};
use linerate_sys::netlink::{Aggregation, InterfaceName, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use linerate_testbed::duts::Dut;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::IpAddr;
use std::process::{Child, Command, ExitCode as ProcessCode, Stdio};

/// First argument of this program as the agent of host B.
pub(crate) const AGENT: &str = "--agent";

/// Host B's monotonic clock is so far ahead of host A's.
const AHEAD_S: i64 = 1000;

/// Whether the agent makes tests of frames for clients without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consent {
    Given,
    Refused,
}

/// Serves until its standard input ends.
pub(crate) fn serve(consent: &str) -> ProcessCode {
    let usual = AgentPlan::listening_on("0.0.0.0:5301").unwrap();
    let plan = match consent {
        "Given" => AgentPlan {
            listen: usual.listen,
            tell_name: false,
            ..AgentPlan::private()
        },
        _ => usual,
    };
    let agent = Agent::start(plan).unwrap();
    let mut out = std::io::stdout();
    writeln!(out, "ready").unwrap();
    let _ = std::io::stdin().read(&mut [0]);
    agent.stop().unwrap();
    ProcessCode::SUCCESS
}

/// Host A is the calling thread's, until [`Lab::close`].
struct Lab {
    agent: Child,
    device: Box<dyn Dut>,
    /// Frames that it had dropped before.
    dropped: u64,
    host_a: NetNamespace,
    host_b: NetNamespace,
    home: NetNamespace,
}

impl Lab {
    fn new(kind: &str, clock_ahead_s: i64, consent: Consent) -> Self {
        let home = NetNamespace::current().unwrap();
        let mut device = started(kind);
        let dropped = device.counters().unwrap().dropped().get();
        device.tester().enter().unwrap();
        let host_a = NetNamespace::current().unwrap();
        let host_b = std::thread::spawn(NetNamespace::unshare);
        let host_b = host_b.join().unwrap().unwrap();
        join(&host_b);
        host_b.enter().unwrap();
        let mut netlink = Netlink::new().unwrap();
        for name in ["lo", "port-b", "control-b"] {
            let link = netlink.link_named(&InterfaceName::new(name).unwrap());
            let index = link.unwrap().index;
            // The device would count what the kernel says by itself.
            netlink.disable_ipv6_autoconf(index).unwrap();
            netlink.set_up(index).unwrap();
        }
        address(&mut netlink, "control-b", [10, 99, 0, 2]);
        let agent = agent(clock_ahead_s, consent);
        host_a.enter().unwrap();
        Self {
            agent,
            device,
            dropped,
            host_a,
            host_b,
            home,
        }
    }

    /// Measures as the command does with these options and few frames.
    fn measured(options: &[(&str, &str)]) -> Run {
        let usual = [
            ("ports", "port-a,port-b"),
            ("port-b", "10.99.0.2"),
            ("frame-size", "128"),
            ("warm-up", "0s"),
            ("line-rate", "5M"),
            ("budget", "3s"),
            ("diagnose", "0s"),
        ];
        let run = tried(&[&usual, options].concat()).unwrap();
        assert_eq!(run.status, RunStatus::Complete, "{:?}", run.notes);
        run
    }

    /// Takes all down; the frames that the device dropped meanwhile.
    fn close(mut self) -> u64 {
        drop(self.agent.stdin.take());
        self.agent.wait().unwrap();
        // The device reads the counters of both ports where it made them.
        self.host_b.enter().unwrap();
        move_port_b(&self.host_a);
        self.home.enter().unwrap();
        let dropped = self.device.counters().unwrap().dropped().get();
        self.device.close().unwrap();
        dropped - self.dropped
    }
}

/// Moves port B from the calling thread's network.
fn move_port_b(to: &NetNamespace) {
    let mut netlink = Netlink::new().unwrap();
    let port = InterfaceName::new("port-b").unwrap();
    let port = netlink.link_named(&port).unwrap().index;
    netlink.move_to(port, to).unwrap();
}

/// Gives host B port B, and both hosts a link of their own.
fn join(host_b: &NetNamespace) {
    move_port_b(host_b);
    let mut netlink = Netlink::new().unwrap();
    let names = ["control-a", "control-b"].map(|name| InterfaceName::new(name).unwrap());
    let end = |at: usize, namespace| VethEnd {
        name: &names[at],
        mac: MacAddress([2, 0, 0, 99, 0, u8::try_from(at).unwrap()]),
        namespace,
    };
    let (near, far) = (end(0, None), end(1, Some(host_b)));
    netlink
        .add_veth(&near, &far, 1500, Aggregation::Default)
        .unwrap();
    let index = netlink.link_named(&names[0]).unwrap().index;
    netlink.set_up(index).unwrap();
    address(&mut netlink, "control-a", [10, 99, 0, 1]);
}

fn address(netlink: &mut Netlink, interface: &str, address: [u8; 4]) {
    let name = InterfaceName::new(interface).unwrap();
    let index = netlink.link_named(&name).unwrap().index;
    netlink
        .add_address(index, IpAddr::from(address), 24)
        .unwrap();
}

/// A process of its own in the calling thread's network, with a clock of its own if that is ahead.
fn agent(clock_ahead_s: i64, consent: Consent) -> Child {
    let own = std::env::current_exe().unwrap();
    let mut command = if clock_ahead_s == 0 {
        Command::new(own)
    } else {
        let mut moved = Command::new("unshare");
        let ahead = clock_ahead_s.to_string();
        moved.args(["--time", "--monotonic", &ahead, "--kill-child"]);
        moved.arg(own);
        moved
    };
    command.args([AGENT, &format!("{consent:?}")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

fn lost(trial: &Trial) -> u64 {
    let lost = trial.packets().unwrap().lost;
    lost.map_or(0, PacketCount::get)
}

/// One of 200 frames is dropped, which the device counts. Delays are known to the error of comparing both clocks, of which
/// the truth is the time that the agent's is ahead.
pub(crate) fn the_ledger_is_exact_and_the_clocks_error_is_told() {
    for (way, ahead) in [("forward", AHEAD_S), ("reverse", -AHEAD_S)] {
        let lab = Lab::new("xdp,drop=1/200", AHEAD_S, Consent::Given);
        let reverse = if way == "reverse" { "true" } else { "false" };
        let run = Lab::measured(&[
            ("generator", "af-packet"),
            ("budget", "20s"),
            ("loss-goal", "1%"),
            ("delay-load", "0,50%"),
            ("reverse", reverse),
        ]);
        let dropped = lab.close();
        let (forwarding, parts) = rows(&run);
        let trials = &parts[0].trials;
        for trial in trials {
            let [sent, came] = of_both_ends(trial);
            assert!(sent > 0, "{way}, trial {}", trial.index);
            assert_eq!(sent - came, lost(trial), "{way}, trial {}", trial.index);
        }
        assert!(dropped > 0, "{way}");
        assert_eq!(trials.iter().map(lost).sum::<u64>(), dropped, "{way}");
        let compared = trials.iter().filter_map(|trial| trial.one_way());
        let clocks: Vec<_> = compared.filter_map(|one_way| one_way.clock).collect();
        let delays = &forwarding[0].delays;
        assert_eq!((clocks.len(), delays.len()), (2, 2), "{way}: {clocks:?}");
        for clock in clocks {
            let error = clock.offset_ns.abs_diff(ahead * 1_000_000_000);
            assert!(error <= clock.uncertainty_ns, "{way}: {clock:?}");
        }
        for delay in delays {
            let error = delay.clock_error_ns.unwrap();
            let is_known = delay.of == Some(DelayOf::OneWay);
            assert!(error > 0, "{way}");
            assert!(!is_known || delay.p50_ns.unwrap() > error, "{delay:?}");
        }
    }
}

/// Frames of two kernels, both ways: each host finds and answers the other at its own port, and counts its own.
pub(crate) fn frames_of_two_kernels_are_counted_and_neighbours_found() {
    for (device, options) in [
        ("bridge", &[("reverse", "true")][..]),
        (
            "router,neighbours=learned",
            &[
                ("a-ip", "198.18.0.2"),
                ("b-ip", "198.19.0.2"),
                ("a-gateway", "198.18.0.1"),
                ("b-gateway", "198.19.0.1"),
                ("duplex", "true"),
            ],
        ),
    ] {
        let lab = Lab::new(device, 0, Consent::Given);
        let usual = [
            ("neighbours", "resolve"),
            ("loss-goal", "0"),
            ("line-rate", "2M"),
            ("delay-load", ""),
        ];
        let run = Lab::measured(&[&usual, options].concat());
        lab.close();
        let (_, parts) = rows(&run);
        assert!(!parts[0].trials.is_empty(), "{device}");
        let test = parts[0].config.test().unwrap();
        assert_eq!(test.datapath.params["generator"], "kernel", "{device}");
        for trial in &parts[0].trials {
            let [sent, came] = of_both_ends(trial);
            assert!(sent > 0, "{device}");
            assert_eq!(sent, came, "{device}, trial {}", trial.index);
        }
        assert!(run.notes.iter().any(|note| note.contains("two hosts")));
    }
}

/// Programs in the kernel read its own clock, and not that of the agent's time namespace: frames are made otherwise.
pub(crate) fn a_kernel_with_another_clock_counts_no_frames() {
    let lab = Lab::new("bridge", AHEAD_S, Consent::Given);
    let run = Lab::measured(&[("loss-goal", "1%"), ("delay-load", "")]);
    lab.close();
    let said = |note: &String| note.contains("AF_XDP") && note.contains("time namespace");
    assert!(run.notes.iter().any(said), "{:?}", run.notes);
    let (_, parts) = rows(&run);
    let came = parts[0].trials.iter().map(|trial| of_both_ends(trial)[1]);
    assert!(came.sum::<u64>() > 0);
}

/// Nothing is sent where host B does not consent, or has no such port.
pub(crate) fn a_host_that_refuses_or_has_no_such_port_is_told() {
    let refused = |ports, consent| {
        let lab = Lab::new("wire", 0, consent);
        let tried = tried(&[
            ("ports", ports),
            ("port-b", "10.99.0.2"),
            ("frame-size", "64"),
        ]);
        lab.close();
        let error = tried.unwrap_err();
        let code = Failure::of(error.as_ref()).map(|failure| failure.code);
        (code, format!("{error:#}"))
    };
    for (ports, consent, expected, words) in [
        (
            "port-a,port-b",
            Consent::Refused,
            ExitCode::Usage,
            "--allow-intrusive",
        ),
        (
            "port-a,port-c",
            Consent::Given,
            ExitCode::HostLacks,
            "port-c",
        ),
    ] {
        let (code, error) = refused(ports, consent);
        assert_eq!(code, Some(expected), "{error}");
        assert!(
            error.contains(words) && error.contains("10.99.0.2"),
            "{error}"
        );
    }
}
