//! sockperf under load: its client counts what it sent and what came back of it.

use crate::bench::{Bench, Drops, SENT};
use linerate_model::spec::Direction;
use linerate_testbed::HostId;

/// The link drops of both ways by the same list: messages, and answers to those that arrived.
pub(crate) fn client() {
    let bench = Bench::lossy(Drops::UpTo(SENT));
    let server = bench.serve("sockperf");
    let (host, port) = (bench.far().to_string(), server.port().to_string());
    let test = [
        "under-load",
        "-i",
        &host,
        "-p",
        &port,
        "-t",
        "3",
        "-m",
        "100",
        "--mps",
        "250",
        "--reply-every",
        "1",
    ];
    let said = bench.program(HostId::A, "sockperf", &test).output();
    server.stop().unwrap();
    let [forth, back] = [Direction::Forward, Direction::Reverse].map(|way| bench.truth(way));
    let line = said.iter().find(|line| line.contains("[Total Run]"));
    let line = line.unwrap_or_else(|| panic!("{said:?}"));
    let of = |word: &str| -> u64 {
        let (_, rest) = line.split_once(word).unwrap();
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest[..end].parse().unwrap()
    };
    let (sent, received) = (of("SentMessages="), of("ReceivedMessages="));
    assert_eq!(sent, forth.sent, "{line}");
    // It may end before the answer to its last message is there.
    let came = back.sent - back.dropped;
    assert!(received == came || received + 1 == came, "{line} of {came}");
    assert_eq!(back.sent, forth.sent - forth.dropped);
    bench.close();
}
