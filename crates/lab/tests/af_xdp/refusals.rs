//! What cannot be is said with what it lacks, and exits as such.

use crate::bench::{Bench, datagrams};
use crate::ending::{hold_interface, program_at};
use crate::traffic::{of_both_families, past_the_stack, ping_pong};
use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Direction, TestSpec};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, TwoHosts, enter_user_namespace};
use std::process::Command;

/// The words and the exit code of a test that is not made.
fn refusal(hosts: &TwoHosts, port: u16, address: &str, spec: TestSpec) -> (ExitCode, String) {
    let far = PeerAddress::parse(&format!("{address}:{port}")).unwrap();
    let work = move || unattended(|context| single(context, &Target::new(far), &spec));
    let thread = hosts.host(HostId::A).spawn("client", work).unwrap();
    let error = thread.join().unwrap().unwrap_err();
    let failure = error.downcast_ref::<Failure>().unwrap();
    (failure.code, failure.to_string())
}

fn both_ways() -> TestSpec {
    TestSpec {
        direction: Direction::Duplex,
        ..datagrams(1)
    }
}

fn two_streams() -> TestSpec {
    TestSpec {
        streams: 2,
        ..datagrams(2)
    }
}

pub(crate) fn what_cannot_be_is_said_before_it_is_tried() {
    let hosts = TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap();
    let far = Agent::start_on(hosts.host(HostId::B), of_both_families()).unwrap();
    let near = Agent::start_on(hosts.host(HostId::A), AgentPlan::private()).unwrap();
    let own = "this host's own";
    let wrong = [
        ("10.77.0.2", ping_pong(1473, 1), "at most 1472 b"),
        ("[fd77::2]", ping_pong(1453, 1), "at most 1452 b"),
        ("10.77.0.2", both_ways(), "sends or receives"),
        ("10.77.0.2", two_streams(), "use one stream"),
        ("10.77.0.2", TestSpec::tcp_bulk(), "TCP needs"),
    ];
    for (address, spec, word) in wrong {
        let spec = past_the_stack("", spec);
        let (code, said) = refusal(&hosts, far.port(), address, spec);
        assert!(said.contains(word), "{said}");
        assert_eq!(code, ExitCode::Usage, "{said}");
    }
    let lacking = [
        (&near, "10.77.0.1", "", own),
        (&near, "127.0.0.1", "", own),
        (&far, "10.77.0.2", ",queue=7", "no such"),
    ];
    for (agent, address, params, word) in lacking {
        let spec = past_the_stack(params, ping_pong(32, 1));
        let (code, said) = refusal(&hosts, agent.port(), address, spec);
        assert!(said.contains(word), "{said}");
        assert_eq!(code, ExitCode::HostLacks, "{said}");
    }
    far.stop().unwrap();
    near.stop().unwrap();
    hosts.close().unwrap();
}

/// Somebody's program at the peer's interface stays what it is.
pub(crate) fn an_interface_with_a_program_is_left_alone() {
    let bench = Bench::direct();
    let held = bench.on(HostId::B, hold_interface);
    let before = program_at(&bench, HostId::B);
    assert!(before.is_some());
    let error = bench.try_run(&past_the_stack("", ping_pong(32, 1)));
    let said = format!("{:#}", error.unwrap_err());
    assert!(said.contains("it has one already"), "{said}");
    assert_eq!(program_at(&bench, HostId::B), before);
    assert_eq!(program_at(&bench, HostId::A), None, "taken away again");
    drop(held);
    bench.close();
}

/// The argument by which this program knows itself as the child below.
pub(crate) const CHILD: &str = "--in-a-user-namespace";

pub(crate) fn a_user_namespace_is_named_as_what_forbids_it() {
    let own = std::env::current_exe().unwrap();
    let output = Command::new(own).arg(CHILD).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}

/// A process with one thread still, as user namespaces ask for.
pub(crate) fn child() -> std::process::ExitCode {
    enter_user_namespace().unwrap();
    let hosts = TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap();
    let agent = Agent::start_on(hosts.host(HostId::B), AgentPlan::private()).unwrap();
    let spec = past_the_stack("", ping_pong(32, 1));
    let (code, said) = refusal(&hosts, agent.port(), "10.77.0.2", spec);
    assert_eq!(code, ExitCode::HostLacks, "{said}");
    assert!(said.contains("the initial user namespace"), "{said}");
    assert!(said.contains("run as root"), "{said}");
    std::process::ExitCode::SUCCESS
}
