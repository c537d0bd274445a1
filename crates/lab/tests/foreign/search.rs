//! A saturation search through a link of known rate, each trial of which is a test of another tool.

use crate::bench::Bench;
use linerate_model::run::{BoundedBy, Run};
use linerate_model::spec::{Pace, SocketChoice, TestSpec};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer};
use linerate_studies::run::{SaturatePlan, saturate};
use linerate_testbed::LinkConfig;
use linerate_testkit::disturbance::undisturbed;
use std::time::Duration;

const LINK: BitRate = BitRate::from_bps(20_000_000);
const QUEUE: ByteCount = ByteCount::new(16 * 1024);

/// The link.
pub(crate) fn narrow() -> Bench {
    Bench::over(LinkConfig::with_rate(LINK, QUEUE))
}

/// Searches with what speaks `protocol` on the other host; the bounds of zero loss must hold the link's rate, or at most
/// a queue per trial more, which may pass for carried.
pub(crate) fn capacity(bench: &Bench, protocol: &str) -> Run {
    let spec = TestSpec {
        // What an unprivileged iperf3 gets: it refuses to go on with less than it was asked for.
        socket: SocketChoice {
            receive_buffer_bytes: Some(ByteCount::new(200 * 1024)),
            ..SocketChoice::default()
        },
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let payload = spec.payload().get();
    let capacity = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, LINK, payload);
    let plan = SaturatePlan {
        max_load: BitRate::from_bps(200_000_000),
        // A disturbed search repeats trials; undisturbed ones take half of this.
        budget: Duration::from_mins(1),
        ..SaturatePlan::new(spec)
    };
    let url = format!("{protocol}://{}", bench.far());
    let search = || {
        let plan = plan.clone();
        bench.linerate(&url, move |context, target| {
            saturate(context, target, &plan)
        })
    };
    let measured = undisturbed(search);
    let is_disturbed = measured.is_disturbed();
    let run = measured.value;
    let goal = run.goals().iter().find(|goal| goal.loss_goal.get() == 0.0);
    let goal = goal.unwrap();
    let bounds = goal.lower_bound.zip(goal.upper_bound);
    let (lower, upper) = bounds.unwrap_or_else(|| panic!("{goal:?}"));
    // Final trials take a second.
    let with_queue = BitRate::from_bps(capacity.bps() + QUEUE.get() * 8);
    assert!(
        // What others take makes loss of its own: the search may then end lower than the link.
        lower <= with_queue && (capacity <= upper || is_disturbed),
        "{capacity} to {with_queue} is not within {lower} to {upper}: {}",
        trials(&run)
    );
    assert_eq!(goal.bounded_by, Some(BoundedBy::Loss), "{goal:?}");
    run
}

/// What each trial was told to send, sent and lost.
fn trials(run: &Run) -> String {
    let words = run.trials.iter().map(|trial| {
        let (load, reasons) = (trial.intended_load, &trial.reasons);
        let packets = trial.packets().map(|packets| (packets.sent, packets.lost));
        format!("{load:?} {packets:?} {reasons:?}")
    });
    words.collect::<Vec<_>>().join("\n")
}
