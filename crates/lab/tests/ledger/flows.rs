//! Flows of given sizes, against the kernels' counters, whoever dropped them, and the rate of a shaped path.

use crate::bench::Bench;
use linerate_model::run::{FlowClassResult, Run};
use linerate_model::spec::{FlowLoad, SizeDistribution, Stop, TestSpec, TestWork};
use linerate_model::{BitRate, ByteCount};
use linerate_testbed::HostId;
use std::time::Duration;

const ACTIVE_OPENS: usize = 5;

/// Flows of `size` bytes at `load_mbit`, with `ideal` as the rate of an empty path, for one second.
fn flows(size: u64, load_mbit: u64, ideal: BitRate) -> TestSpec {
    TestSpec {
        stop: Stop::After(Duration::from_secs(1)),
        ..TestSpec::short_flows(FlowLoad {
            sizes: SizeDistribution::fixed(ByteCount::new(size)),
            load: BitRate::from_bps(load_mbit * 1_000_000),
            ideal,
        })
    }
}

/// The one class of a run whose flows have one size.
fn class(run: &Run) -> &FlowClassResult {
    let flows = run.trials[0].flows().unwrap();
    assert_eq!(flows.miscounted.get(), 0);
    let [one] = &flows.classes[..] else {
        panic!("{flows:?}");
    };
    println!("\n    {} of {} finished", one.finished, one.scheduled);
    one
}

/// Each flow is one connection by the kernel's counter, beside that of control and that of data, and the server has all of
/// its bytes.
pub(crate) fn all_finish() {
    const SIZE: u64 = 20_000;
    const BESIDE: u64 = 2;
    let bench = Bench::direct();
    let opened = || bench.snmp(HostId::A, "Tcp:", ACTIVE_OPENS);
    let before = opened();
    let run = bench.run(&flows(SIZE, 40, BitRate::from_bps(1_000_000_000)));
    let after = opened();
    let class = class(&run);
    let scheduled = class.scheduled.get();
    // A Poisson process of mean 250: outside of six standard deviations once in 10⁸ seeds, and this seed is always the same.
    assert!((155..=345).contains(&scheduled), "{scheduled}");
    assert_eq!(class.finished.get(), scheduled);
    assert_eq!(class.bytes.get(), scheduled * SIZE);
    assert_eq!(after - before, scheduled + BESIDE);
    bench.close();
}

/// Through a shaper of 40 Mbit/s at half its load no flow is faster than the shaper but by its burst.
pub(crate) fn take_what_a_shaped_path_makes_them_take() {
    const SIZE: u64 = 500_000;
    const BURST: u64 = 5_000;
    let bench = Bench::direct();
    let shaper = format!("tc qdisc add dev eth0 root tbf rate 40mbit burst {BURST} limit 1000000");
    bench.shell(HostId::A, &shaper);
    // L4 payload of full segments with timestamps, of the length that the shaper counts.
    let ideal = BitRate::from_bps(40_000_000 * 1448 / 1514);
    let run = bench.run(&flows(SIZE, 20, ideal));
    let class = class(&run);
    assert!(class.scheduled.get() > 0);
    assert_eq!(class.finished, class.scheduled);
    let alone_ns = (SIZE - BURST) * 8 * 1_000_000_000 / ideal.bps();
    let completion = class.completion.as_ref().unwrap();
    assert!(completion.min_ns.is_some_and(|min| min >= alone_ns));
    // Of itself a flow takes at least 0.99 of its ideal time less two round trips, which are well below it.
    let slowdown = class.slowdown.unwrap();
    assert!(slowdown.p50.is_some_and(|p50| p50 > 0.9), "{slowdown:?}");
    bench.close();
}

/// A packet filter of host B lets ten flows begin and drops the handshakes of all others: these are scheduled, unfinished and
/// timed out, and no quantile is that of the ten. Oracle: the filter's counter.
pub(crate) fn that_cannot_begin_are_unfinished() {
    const LET_IN: u64 = 10;
    let bench = Bench::direct();
    bench.let_in(LET_IN);
    let mut spec = flows(20_000, 8, BitRate::from_bps(1_000_000_000));
    if let TestWork::Connections(work) = &mut spec.work {
        // Below the first retransmission of a SYN, so that each is dropped once.
        work.timeout = Duration::from_millis(700);
    }
    let run = bench.run(&spec);
    let class = class(&run);
    let unfinished = class.scheduled.get() - class.finished.get();
    assert_eq!(class.finished.get(), LET_IN);
    assert_eq!(bench.counted_by_rule(HostId::B), unfinished);
    let client = run.trials[0].connections().unwrap().client;
    assert_eq!(client.timed_out.get(), unfinished);
    // More than half never finished, so neither did the median.
    assert!(unfinished > LET_IN, "{unfinished}");
    let slowdown = class.slowdown.unwrap();
    assert_eq!((slowdown.p50, slowdown.p99), (None, None));
    bench.close();
}
