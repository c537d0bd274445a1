//! After a test the interface is as it was, however the test ended.

use crate::bench::{Bench, datagrams};
use crate::traffic::{past_the_stack, ping_pong};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::Clock as _;
use linerate_model::spec::{Stop, TestSpec};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_sys::bpf::{Assembler, XdpLink, XdpMode, XdpProgram};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceName, Netlink};
use linerate_testbed::HostId;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The XDP program at a host's interface, by what `ip` says of it.
pub(crate) fn program_at(bench: &Bench, host: HostId) -> Option<String> {
    let said = bench.shell(host, "ip -o link show dev eth0");
    let (_, program) = said.split_once("prog/xdp ")?;
    Some(program.trim().to_owned())
}

/// A program that leaves every frame to the stack, at the interface of the calling thread's namespace.
pub(crate) fn hold_interface() -> (XdpProgram, XdpLink) {
    const XDP_PASS: i32 = 2;
    let name = InterfaceName::new("eth0").unwrap();
    let index = Netlink::new().unwrap().link_named(&name).unwrap().index;
    let code = Assembler::default().finish_with(XDP_PASS);
    let program = XdpProgram::load(&code).unwrap();
    let link = program.attach(index, XdpMode::Native).unwrap();
    (program, link)
}

pub(crate) fn nothing_is_left_at_the_interface() {
    let bench = Bench::direct();
    let bare = |bench: &Bench| [HostId::A, HostId::B].map(|host| program_at(bench, host));
    assert_eq!(bare(&bench), [None, None]);
    let held = bench.on(HostId::A, hold_interface);
    assert!(program_at(&bench, HostId::A).is_some(), "a program is seen");
    drop(held);
    for spec in [ping_pong(32, 100), datagrams(1_000)] {
        bench.run(&past_the_stack("", spec));
        assert_eq!(bare(&bench), [None, None]);
    }
    bench.run(&datagrams(100));
    bench.close();
}

/// The argument by which this program knows itself as the process that is killed.
pub(crate) const CHILD: &str = "--measure-until-killed";

/// Longest time that is waited for something that takes milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn a_killed_process_leaves_nothing_either() {
    let bench = Bench::direct();
    let own = std::env::current_exe().unwrap();
    let address = bench.address();
    let start = move || {
        let mut child = Command::new(own);
        child.args([CHILD, &address]).stdin(Stdio::null());
        child.spawn().unwrap()
    };
    let mut child = bench.on(HostId::A, start);
    until("programs at both ends", || {
        [HostId::A, HostId::B].map(|host| program_at(&bench, host).is_some()) == [true; 2]
    });
    assert_eq!(child.try_wait().unwrap(), None, "it measures still");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(program_at(&bench, HostId::A), None);
    until("the peer's program gone", || {
        program_at(&bench, HostId::B).is_none()
    });
    bench.run(&past_the_stack("", ping_pong(32, 100)));
    bench.close();
}

pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = MonoClock.now().after(PATIENCE);
    while !holds() {
        assert!(
            MonoClock.now() < deadline,
            "not within {PATIENCE:?}: {what}"
        );
    }
}

/// Measures for longer than anybody waits.
pub(crate) fn child(address: &str) -> ExitCode {
    let far = PeerAddress::parse(address).unwrap();
    let spec = TestSpec {
        stop: Stop::After(PATIENCE * 2),
        ..ping_pong(32, 1)
    };
    let run = unattended(|context| single(context, &Target::new(far), &past_the_stack("", spec)));
    panic!("it ended by itself: {run:?}");
}
