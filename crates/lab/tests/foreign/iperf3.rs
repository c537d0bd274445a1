//! iperf3: its receivers see gaps in the numbers only, so what is lost at the end is known to a linerate that knows
//! what was sent.

use crate::bench::{Bench, PAYLOAD, RATE, SENT, datagrams};
use linerate_lab::run::{SaturatePlan, saturate};
use linerate_model::run::{BoundedBy, Packets};
use linerate_model::spec::{Direction, Pace, SocketChoice, TestSpec};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer, PacketCount};
use linerate_testbed::{HostId, LinkConfig};
use linerate_testkit::disturbance::undisturbed;
use serde_json::Value;
use std::time::Duration;

const IPERF3: &str = "iperf3";

pub(crate) fn server() {
    let bench = Bench::lossy();
    let mut theirs = bench.program(HostId::B, IPERF3, &["-s", "-1", "--forceflush"]);
    theirs.wait_for("listening");
    let url = format!("iperf3://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Forward));
    let truth = bench.truth(Direction::Forward);
    assert_eq!((truth.sent, truth.dropped), (SENT, 137));
    assert_lost(ours, truth.sent, truth.dropped);
    let said = receivers_line(&theirs.output());
    assert_eq!(said, (truth.shown, SENT - 10));
    bench.close();
}

pub(crate) fn server_that_sends() {
    let bench = Bench::lossy();
    let mut theirs = bench.program(HostId::B, IPERF3, &["-s", "-1", "--forceflush"]);
    theirs.wait_for("listening");
    let url = format!("iperf3://{}", bench.far());
    let ours = bench.packets(&url, datagrams(Direction::Reverse));
    let truth = bench.truth(Direction::Reverse);
    assert!(truth.dropped > truth.shown, "{truth:?}");
    assert_lost(ours, truth.sent, truth.dropped);
    bench.close();
}

pub(crate) fn client() {
    let bench = Bench::lossy();
    let count = SENT.to_string();
    let end = their_test(&bench, &["-k", &count]);
    let truth = bench.truth(Direction::Forward);
    let of = |key: &str| end["sum_received"][key].as_u64();
    assert_eq!((truth.sent, truth.dropped), (SENT, 137));
    assert_eq!(of("lost_packets"), Some(truth.dropped), "{end}");
    assert_eq!(of("packets"), Some(truth.sent), "{end}");
    bench.close();
}

pub(crate) fn client_that_receives() {
    let bench = Bench::lossy();
    let end = their_test(&bench, &["-R", "-t", "3"]);
    let truth = bench.truth(Direction::Reverse);
    let of = |sum: &str, key: &str| end[sum][key].as_u64();
    assert!(truth.dropped > truth.shown, "{truth:?}");
    assert_eq!(
        of("sum_received", "lost_packets"),
        Some(truth.shown),
        "{end}"
    );
    assert_eq!(of("sum_sent", "packets"), Some(truth.sent), "{end}");
    bench.close();
}

/// iperf3 does not tell how long its receiver took, so what the queue holds at the end of a trial passes for
/// carried: the bounds hold the link's rate and at most a queue per trial more.
pub(crate) fn search() {
    const LINK: BitRate = BitRate::from_bps(20_000_000);
    const QUEUE: ByteCount = ByteCount::new(16 * 1024);
    let bench = Bench::over(LinkConfig::with_rate(LINK, QUEUE));
    let mut theirs = bench.program(HostId::B, IPERF3, &["-s", "--forceflush"]);
    theirs.wait_for("listening");
    let spec = TestSpec {
        // What an unprivileged iperf3 gets: it refuses to go on with less than it was asked for.
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(200 * 1024)),
            ..SocketChoice::default()
        },
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let payload = spec.payload_bytes.get();
    let capacity = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, LINK, payload);
    let plan = SaturatePlan {
        max_load: BitRate::from_bps(200_000_000),
        // A disturbed search repeats trials; undisturbed ones take half of this.
        budget: Duration::from_mins(1),
        ..SaturatePlan::new(spec)
    };
    let url = format!("iperf3://{}", bench.far());
    let search = || {
        let plan = plan.clone();
        bench.linerate(&url, move |context, target| {
            saturate(context, target, &plan)
        })
    };
    let run = undisturbed(search).value;
    let goal = run.goals.iter().find(|goal| goal.loss_goal.get() == 0.0);
    let goal = goal.unwrap();
    let bounds = goal.lower_bound.zip(goal.upper_bound);
    let (lower, upper) = bounds.unwrap_or_else(|| panic!("{goal:?}"));
    // Final trials take a second.
    let with_queue = BitRate::from_bps(capacity.bps() + QUEUE.get() * 8);
    assert!(
        lower <= with_queue && capacity <= upper,
        "{capacity} to {with_queue} is not within {lower} to {upper}"
    );
    assert_eq!(goal.bounded_by, Some(BoundedBy::Loss), "{goal:?}");
    assert!(run.notes.iter().any(|note| note.contains("does not tell")));
    drop(theirs);
    bench.close();
}

/// What a stock client's JSON says at the end of a UDP test with our server.
fn their_test(bench: &Bench, options: &[&str]) -> Value {
    let server = bench.serve("iperf3");
    let (host, port) = (bench.far().to_string(), server.port().to_string());
    let (rate, payload) = (RATE.to_string(), PAYLOAD.to_string());
    let usual = [
        "-J", "-u", "-c", &host, "-p", &port, "-b", &rate, "-l", &payload,
    ];
    let theirs = bench.program(HostId::A, IPERF3, &[&usual, options].concat());
    let document: Value = serde_json::from_str(&theirs.output().join("\n")).unwrap();
    server.stop().unwrap();
    assert!(document["error"].is_null(), "{}", document["error"]);
    document["end"].clone()
}

/// Lost, and the highest number, of `… 0.010 ms  127/490 (26%)  receiver`.
fn receivers_line(said: &[String]) -> (u64, u64) {
    let line = said.iter().find(|line| line.ends_with("receiver")).unwrap();
    let share = line.split_whitespace().find_map(|word| {
        let (lost, of) = word.split_once('/')?;
        Some((lost.parse().ok()?, of.parse().ok()?))
    });
    share.unwrap()
}

fn assert_lost(packets: Packets, sent: u64, lost: u64) {
    assert_eq!(packets.sent, Some(PacketCount::new(sent)), "{packets:?}");
    assert_eq!(packets.lost, Some(PacketCount::new(lost)), "{packets:?}");
}
