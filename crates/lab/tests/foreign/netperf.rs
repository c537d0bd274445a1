//! netperf: its datagrams have no numbers, so loss is the difference of what both ends counted.

use crate::bench::{Bench, DROPPED, Drops, PAYLOAD, SENT, assert_lost, datagrams};
use linerate_model::spec::Direction;
use linerate_testbed::HostId;

/// Where ci/need unpacks it (ci/packages).
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/foreign/usr/bin/");

/// A stock server is told of the end by datagrams too short for a link's list.
pub(crate) fn server() {
    let bench = Bench::lossy(Drops::AndAllAfter);
    let netserver = format!("{FOLDER}netserver");
    let theirs = bench.program(HostId::B, &netserver, &["-D", "-N"]);
    theirs.wait_for("Starting");
    let url = format!("netperf://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Forward));
    let truth = bench.truth(Direction::Forward);
    assert_eq!((truth.sent, truth.dropped), (SENT, DROPPED));
    assert_lost(ours, truth.sent, truth.dropped);
    drop(theirs);
    bench.close();
}

/// A stock client sends as fast as it can: a queue at its interface holds it back.
pub(crate) fn client() {
    let bench = Bench::lossy(Drops::UpTo(SENT));
    let interface = bench.interface(HostId::A);
    let shaped = "root tbf rate 8mbit burst 3100 limit 1000000";
    let command = ["qdisc", "add", "dev", &interface];
    let all = [&command[..], &shaped.split(' ').collect::<Vec<_>>()].concat();
    assert_eq!(bench.program(HostId::A, "tc", &all).output(), [""; 0]);
    let server = bench.serve("netperf");
    let (host, port) = (bench.far().to_string(), server.port().to_string());
    let payload = PAYLOAD.to_string();
    let test = [
        "-H",
        &host,
        "-p",
        &port,
        "-t",
        "UDP_STREAM",
        "-l",
        "1",
        "-P",
        "0",
        "--",
        "-m",
        &payload,
        "-R",
        "1",
        "-k",
        "all",
    ];
    let netperf = format!("{FOLDER}netperf");
    let said = bench.program(HostId::A, &netperf, &test).output();
    server.stop().unwrap();
    let of = |key: &str| -> u64 {
        let value = said.iter().find_map(|line| line.strip_prefix(key));
        value.unwrap_or_else(|| panic!("{said:?}")).parse().unwrap()
    };
    let truth = bench.truth(Direction::Forward);
    assert_eq!(truth.dropped, DROPPED, "{truth:?}");
    let (sent, received) = (of("LOCAL_SEND_CALLS="), of("REMOTE_RECV_CALLS="));
    assert_eq!((sent, received), (truth.sent, truth.sent - DROPPED));
    bench.close();
}
