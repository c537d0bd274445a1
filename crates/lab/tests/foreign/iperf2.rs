//! iperf2: the number of a stream's end shows its receiver what was lost at the end too.

use crate::bench::{Bench, DROPPED, Drops, PAYLOAD, RATE, SENT, assert_lost, datagrams};
use linerate_model::spec::Direction;
use linerate_testbed::HostId;

const IPERF: &str = "iperf";

/// linerate opens a stream with a datagram that is not counted, so its last one is the 501st.
pub(crate) fn server() {
    let bench = Bench::lossy(Drops::UpTo(SENT + 1));
    let theirs = bench.program(HostId::B, "stdbuf", &["-oL", IPERF, "-s", "-u"]);
    theirs.wait_for("buffer size");
    let url = format!("iperf2://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Forward));
    let truth = bench.truth(Direction::Forward);
    assert_eq!(truth.dropped, DROPPED, "{truth:?}");
    assert_lost(ours, SENT, DROPPED);
    // The opening and the end are in its count of all.
    assert_eq!(share(&theirs.wait_for(" ms ")), (DROPPED, SENT + 2));
    drop(theirs);
    bench.close();
}

pub(crate) fn server_that_sends() {
    let bench = Bench::lossy(Drops::UpTo(SENT));
    let theirs = bench.program(HostId::B, "stdbuf", &["-oL", IPERF, "-s", "-u"]);
    theirs.wait_for("buffer size");
    let url = format!("iperf2://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Reverse));
    let truth = bench.truth(Direction::Reverse);
    assert_eq!(truth.dropped, DROPPED, "{truth:?}");
    // Its end is one datagram more.
    assert_lost(ours, truth.sent - 1, DROPPED);
    drop(theirs);
    bench.close();
}

pub(crate) fn client() {
    let bench = Bench::lossy(Drops::UpTo(SENT));
    let bytes = (SENT * PAYLOAD).to_string();
    let said = their_test(&bench, &["-n", &bytes]);
    let truth = bench.truth(Direction::Forward);
    assert_eq!(truth.dropped, DROPPED, "{truth:?}");
    let mut report = said
        .iter()
        .skip_while(|line| !line.contains("Server Report"));
    let report = report.find(|line| line.contains(" ms ")).unwrap();
    assert_eq!(share(report), (DROPPED, SENT), "{said:?}");
    bench.close();
}

pub(crate) fn client_that_receives() {
    let bench = Bench::lossy(Drops::UpTo(SENT));
    // By number: a machine that stands still for a second sends fewer in a given time.
    let bytes = (SENT * PAYLOAD).to_string();
    let said = their_test(&bench, &["--reverse", "-n", &bytes]);
    let truth = bench.truth(Direction::Reverse);
    assert_eq!(truth.dropped, DROPPED, "{truth:?}");
    let line = said.iter().find(|line| line.contains(" ms ")).unwrap();
    let (lost, _) = share(line);
    assert_eq!(lost, DROPPED, "{said:?}");
    bench.close();
}

/// What a stock client prints of a UDP test with our server.
fn their_test(bench: &Bench, options: &[&str]) -> Vec<String> {
    let server = bench.serve("iperf2");
    let (host, port) = (bench.far().to_string(), server.port().to_string());
    let (rate, payload) = (RATE.to_string(), PAYLOAD.to_string());
    let usual = ["-u", "-c", &host, "-p", &port, "-b", &rate, "-l", &payload];
    let theirs = bench.program(HostId::A, IPERF, &[&usual, options].concat());
    let said = theirs.output();
    server.stop().unwrap();
    said
}

/// Lost, and all, of `… 0.010 ms 137/502 (27%)`.
fn share(line: &str) -> (u64, u64) {
    let (_, rest) = line.split_once(" ms ").unwrap();
    let (lost, all) = rest.split_once('/').unwrap();
    let all = all.split_whitespace().next().unwrap();
    (lost.trim().parse().unwrap(), all.parse().unwrap())
}
