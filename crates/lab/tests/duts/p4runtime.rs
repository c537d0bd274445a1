//! A P4Runtime switch that runs already: linerate's own, between two interfaces.

use crate::command::{measured, of_both_ends, rows, tried};
use crate::conformance::need;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{Aggregation, InterfaceName, MacAddress, Netlink, VethEnd};
use linerate_sys::netns::NetNamespace;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ADDRESS: &str = "127.0.0.1:9559";

/// Ends with its input, which ends with this value.
struct Switch(Child);

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

pub(crate) fn a_switch_that_runs_is_set_up_and_its_counters_are_read() {
    need("p4");
    let _own = network();
    let _switch = started();
    let folder = tempfile::tempdir().unwrap();
    let entries = folder.path().join("entries.stf");
    let route = "route(next_hop:0x0a0000000011, own:0x0a0000000001, port:1)";
    fs::write(
        &entries,
        format!("add routes ipv4.dst:198.19.0.0/16 {route}\n"),
    )
    .unwrap();
    let router = |file: &str| program("l3_router", file);
    let router_parameters = format!(
        "p4runtime://{ADDRESS},pipeline={},p4info={}",
        router("l3_router.json"),
        router("l3_router.p4info.txt")
    );
    let device = format!("{router_parameters},entries={}", entries.display());

    let run = measured(&[&[("dut", &*device)], OPTIONS].concat());
    let (_, parts) = rows(&run);
    let trials = &parts[0].trials;
    assert!(trials.iter().any(|trial| of_both_ends(trial)[1] > 0));
    for trial in trials {
        let device = trial.measured().unwrap().device.as_ref().unwrap();
        let [a, b] = &device.counted.ports[..] else {
            panic!("a device has two ports");
        };
        let passed = [a.received.get(), b.sent.get()];
        assert_eq!(passed, of_both_ends(trial), "trial {}", trial.index);
    }

    // A program that counts: what passed it is in the run.
    let forward = "add forward ethernet.dst:0x020000000102 send(port:1)\n";
    fs::write(&entries, forward).unwrap();
    let counting = format!(
        "p4runtime://{ADDRESS},pipeline={},p4info={},entries={}",
        program("counters", "counters.json"),
        program("counters", "counters.p4info.txt"),
        entries.display()
    );
    let run = measured(&[&[("dut", &*counting)], OPTIONS].concat());
    let (_, parts) = rows(&run);
    for trial in &parts[0].trials {
        let device = trial.measured().unwrap().device.as_ref().unwrap();
        let [sent, came] = of_both_ends(trial);
        let of = |cell: &str| {
            let mut all = device.counted.counters.iter();
            all.find(|(name, _)| name.ends_with(cell))
                .map(|(_, count)| *count)
        };
        let cells = [of("received [0]"), of("sent [1]")];
        assert_eq!(cells, [Some(sent), Some(came)], "{:?}", device.counted);
    }

    refusals(&router_parameters, &entries);
}

/// What the device says of entries, addresses and pipelines that do not fit; `router_parameters` fit.
fn refusals(router_parameters: &str, entries: &Path) {
    let device = format!("{router_parameters},entries={}", entries.display());
    fs::write(entries, "add routes ipv4.dst:198.19.0.0/16 fly(port:1)\n").unwrap();
    let refused = |device: &str, code: ExitCode, words: &str| {
        let error = tried(&[&[("dut", device)], OPTIONS].concat()).unwrap_err();
        let failure = Failure::of(error.as_ref()).unwrap();
        assert_eq!(failure.code, code, "{failure}");
        assert!(failure.message.contains(words), "{failure}");
    };
    refused(&device, ExitCode::Plan, "fly");
    refused(
        "p4runtime://127.0.0.1:1",
        ExitCode::Peer,
        "no P4Runtime switch answers at 127.0.0.1:1",
    );
    let mixed = router_parameters.replace("l3_router.json", "../counters/counters.json");
    refused(&mixed, ExitCode::Peer, "the switch refuses");
    let alone = format!(
        "p4runtime://{ADDRESS},pipeline={}",
        program("l3_router", "l3_router.json")
    );
    refused(&alone, ExitCode::Usage, "needs its P4Info");
}

const OPTIONS: &[(&str, &str)] = &[
    ("ports", "ta,tb"),
    ("frame-size", "128"),
    ("loss-goal", "0.5%"),
    ("line-rate", "20M"),
    ("budget", "3s"),
    ("delay-load", "0"),
    ("diagnose", "0s"),
];

fn program(name: &str, file: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../p4");
    let path = folder.join(name).join(file);
    path.display().to_string()
}

/// A network of the calling thread with two veth pairs that carry frames: `ta` and `tb` of the tester, `da` and `db` of the switch.
fn network() -> NetNamespace {
    let own = NetNamespace::unshare().unwrap();
    fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    let mut netlink = Netlink::new().unwrap();
    let up = |netlink: &mut Netlink, name: &InterfaceName| {
        let index = netlink.link_named(name).unwrap().index;
        netlink.set_up(index).unwrap();
    };
    for (number, side) in [(1, 'a'), (2, 'b')] {
        let names = ["t", "d"].map(|end| InterfaceName::new(&format!("{end}{side}")).unwrap());
        let end = |name, half| VethEnd {
            name,
            mac: MacAddress([2, 0, 0, 0, half, number]),
            namespace: None,
        };
        let [near, far] = [end(&names[0], 1), end(&names[1], 2)];
        netlink
            .add_veth(&near, &far, 1500, Aggregation::None)
            .unwrap();
        for name in &names {
            up(&mut netlink, name);
        }
    }
    up(&mut netlink, &InterfaceName::new("lo").unwrap());
    let deadline = MonoClock.now().after(PATIENCE);
    for name in ["ta", "tb", "da", "db"] {
        let name = InterfaceName::new(name).unwrap();
        let is_up = |netlink: &mut Netlink| Ok(netlink.link_named(&name)?.is_operational);
        netlink.wait_until(deadline, is_up).unwrap();
    }
    own
}

fn started() -> Switch {
    let own = std::env::current_exe().unwrap();
    // Tests are in a folder below that of programs.
    let program = own.ancestors().nth(2).unwrap().join("linerate-p4");
    let mut command = Command::new(program);
    command.args([
        "run",
        "--port",
        "da",
        "--port",
        "db",
        "--p4runtime",
        "--ask",
    ]);
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    let switch = Switch(command.spawn().unwrap());
    let deadline = MonoClock.now().after(PATIENCE);
    while TcpStream::connect(ADDRESS).is_err() {
        assert!(MonoClock.now() < deadline, "it does not listen");
        std::thread::yield_now();
    }
    switch
}

const PATIENCE: Duration = Duration::from_secs(20);
