//! What became of connections, against the counters of both kernels and of whoever dropped them.

use crate::bench::Bench;
use linerate_model::PacketCount;
use linerate_model::run::{ConnectionOutcomes, Run};
use linerate_model::spec::{ConnectionClose, ShortConnections, Stop, TestSpec, TestWork};
use linerate_testbed::HostId;
use std::time::Duration;

/// Columns of TCP's row in `/proc/net/snmp`.
const ACTIVE_OPENS: usize = 5;
const PASSIVE_OPENS: usize = 6;

fn crr(stop: Stop, concurrent: u32, close: ConnectionClose) -> TestSpec {
    TestSpec {
        stop,
        work: TestWork::Connections(ShortConnections {
            concurrent,
            close,
            ..TestSpec::tcp_crr().work.connections().unwrap().clone()
        }),
        ..TestSpec::tcp_crr()
    }
}

fn outcomes(run: &Run) -> &ConnectionOutcomes {
    run.trials[0].connections().unwrap()
}

/// Each close, two threads: what host A opened and host B took by their own counters is what both ends say, and one
/// connection of control and one of data for each thread.
pub(crate) fn counted_by_both_kernels() {
    const ALL: u64 = 600;
    const BESIDE: u64 = 3;
    let bench = Bench::direct();
    for close in [
        ConnectionClose::Client,
        ConnectionClose::Reset,
        ConnectionClose::Server,
    ] {
        let spec = TestSpec {
            streams: 2,
            ..crr(Stop::Transactions(ALL), 20, close)
        };
        let opened = |host, column| bench.snmp(host, "Tcp:", column);
        let before = [
            opened(HostId::A, ACTIVE_OPENS),
            opened(HostId::B, PASSIVE_OPENS),
        ];
        let run = bench.run(&spec);
        let after = [
            opened(HostId::A, ACTIVE_OPENS),
            opened(HostId::B, PASSIVE_OPENS),
        ];
        let ConnectionOutcomes { client, server, .. } = outcomes(&run);
        let server = server.unwrap();
        println!("\n    {close:?}: {client:?} {server:?}, {before:?} to {after:?}");
        assert_eq!([client.attempted.get(), client.answered.get()], [ALL; 2]);
        assert_eq!([server.accepted.get(), server.answered.get()], [ALL; 2]);
        assert_eq!(after[0] - before[0], ALL + BESIDE, "{close:?}");
        assert_eq!(after[1] - before[1], ALL + BESIDE, "{close:?}");
    }
    bench.close();
}

/// A packet filter of host B lets twelve handshakes begin, those of control and data among them, and drops all others: each
/// is counted as timed out. Oracle: the filter's counter.
pub(crate) fn dropped_handshakes_time_out() {
    const LET_IN: u64 = 10;
    const DROPPED: u64 = 10;
    let bench = Bench::direct();
    bench.let_in(LET_IN);
    let mut spec = crr(
        Stop::Transactions(LET_IN + DROPPED),
        5,
        ConnectionClose::Server,
    );
    if let TestWork::Connections(work) = &mut spec.work {
        // Below the first retransmission of a SYN, so that each is dropped once.
        work.timeout = Duration::from_millis(700);
    }
    let run = bench.run(&spec);
    let client = outcomes(&run).client;
    println!("\n    {client:?}");
    let counts = [client.attempted, client.answered, client.timed_out];
    assert_eq!(
        counts.map(PacketCount::get),
        [LET_IN + DROPPED, LET_IN, DROPPED]
    );
    assert_eq!(bench.counted_by_rule(HostId::B), DROPPED);
    let claim = &run.verdict.as_ref().unwrap().claim;
    assert!(
        claim.contains("10 of 20 connections failed (10 timed out in the handshake)"),
        "{claim}"
    );
    bench.close();
}

/// Host A has ten local ports, and closes first: after as many connections each port is in TIME_WAIT, and that is what
/// limits.
pub(crate) fn a_range_of_ports_is_used_up() {
    const PORTS: u64 = 10;
    let bench = Bench::direct();
    bench.shell(
        HostId::A,
        "echo 40000 40009 > /proc/sys/net/ipv4/ip_local_port_range",
    );
    let time = Stop::After(Duration::from_secs(1));
    let run = bench.run(&crr(time, 2, ConnectionClose::Client));
    let client = outcomes(&run).client;
    println!("\n    {client:?}");
    assert!(client.answered.get() <= PORTS, "{client:?}");
    assert!(client.without_port.get() > 0, "{client:?}");
    assert_eq!(client.local_ports.map(PacketCount::get), Some(PORTS));
    let verdict = run.verdict.as_ref().unwrap();
    assert_eq!(verdict.limit.id(), "ephemeral-ports", "{verdict:?}");
    // The server closes first, and the same ports are enough.
    let run = bench.run(&crr(time, 2, ConnectionClose::Server));
    let client = outcomes(&run).client;
    println!("    {client:?}");
    assert!(client.answered.get() > 10 * PORTS, "{client:?}");
    bench.close();
}
