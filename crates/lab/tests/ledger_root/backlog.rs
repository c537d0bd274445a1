//! Drops of the softnet backlog.

use crate::bench::{Bench, COUNTED, datagrams, ledger_of};
use linerate_model::run::Place;
use linerate_model::spec::{Pace, Pinning, TestSpec};
use linerate_testbed::HostId;
use std::fs;

/// The most packets that a core's backlog holds; of the whole machine.
pub(crate) const LIMIT: &str = "/proc/sys/net/core/netdev_max_backlog";

/// A backlog of one packet, until dropped.
struct Short {
    before: String,
}

impl Short {
    fn new() -> Self {
        let before = fs::read_to_string(LIMIT).unwrap();
        fs::write(LIMIT, "1").unwrap();
        Self { before }
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        fs::write(LIMIT, &self.before).unwrap();
    }
}

/// Column 2 of `/proc/net/softnet_stat`, all cores.
fn dropped_by_backlog() -> u64 {
    let text = fs::read_to_string("/proc/net/softnet_stat").unwrap();
    let column = |line: &str| {
        let text = line.split_ascii_whitespace().nth(1).unwrap();
        u64::from_str_radix(text, 16).unwrap()
    };
    text.lines().map(column).sum()
}

/// Packets are steered to another core, whose backlog holds one. Oracle: the test's datagrams that
/// the packet filter sees before the sender's interface, less those it sees behind the receiver's
/// backlog. Handshakes that the backlog refuses are in neither, as they are outside of the ledger's
/// window. The backlog's own counter has the whole machine's drops, so it must have gained at least
/// as many.
pub(crate) fn in_the_receiving_backlog() {
    for (amount, total) in [(1, 2_000), (100, 20_000), (100_000, 3_000_000)] {
        let bench = Bench::direct();
        bench.shell(
            HostId::B,
            "unshare -m sh -ec 'mount -t sysfs none /sys; echo 2 >/sys/class/net/eth0/queues/rx-0/rps_cpus'",
        );
        let spec = TestSpec {
            pinning: Pinning {
                local: Some(0),
                remote: Some(1),
            },
            ..datagrams(total).with_pace(Pace::Unpaced)
        };
        let (before, short) = (dropped_by_backlog(), Short::new());
        let count = format!("{COUNTED} counter");
        bench.add_rule(HostId::A, "egress", &count);
        bench.add_rule(HostId::B, "ingress", &count);
        let oracle =
            |bench: &Bench| bench.counted_by_rule(HostId::A) - bench.counted_by_rule(HostId::B);
        let place = Place::ReceiverBacklog;
        let trial = bench.check("backlog", &spec, &[(place, &oracle)]);
        drop(short);
        let dropped = ledger_of(&trial)[&place];
        assert!(dropped >= amount, "{dropped} of at least {amount}");
        assert!(dropped_by_backlog() - before >= dropped);
        bench.close();
    }
}
