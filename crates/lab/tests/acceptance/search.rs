//! The saturation search against a link of known rate, and against a sender that cannot keep up.

use crate::bench_rig::Rig;
use linerate_analysis::search::SENDER_TOLERANCE;
use linerate_model::consent::Consent;
use linerate_model::run::{BoundedBy, GoalResult};
use linerate_model::spec::{Direction, Pace, Pinning, Side, TestSpec};
use linerate_model::{BitRate, FrameOverhead, Layer, WallTime};
use linerate_report::{Report, renderers};
use linerate_studies::plan::StudyPlan;
use linerate_studies::run::{SaturatePlan, saturate, study};
use linerate_testbed::{Link, LinkConfig};
use linerate_testkit::disturbance::{Measured, undisturbed};
use linerate_testkit::namespaces::not_run;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const LINK: BitRate = BitRate::from_bps(100_000_000);
const PAYLOAD: u64 = 1448;

fn plan(seed: u64) -> SaturatePlan {
    let spec = TestSpec {
        seed,
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    SaturatePlan {
        max_load: BitRate::from_bps(1_000_000_000),
        budget: Duration::from_secs(30),
        ..SaturatePlan::new(spec)
    }
}

fn zero_loss(goals: &[GoalResult]) -> &GoalResult {
    goals
        .iter()
        .find(|goal| goal.loss_goal.get() == 0.0)
        .unwrap()
}

pub(crate) fn the_bounds_hold_the_link_capacity() {
    let rig = Rig::shaped(LinkConfig {
        rate: Some(LINK),
        ..LinkConfig::default()
    });
    let capacity = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, LINK, PAYLOAD);
    let plan = SaturatePlan {
        // A disturbed search repeats trials; undisturbed ones take half of this.
        budget: Duration::from_mins(1),
        ..plan(1)
    };
    let search = || {
        let plan = plan.clone();
        rig.run(move |context, target| saturate(context, target, &plan))
    };
    let measured = undisturbed(search);
    let is_disturbed = measured.is_disturbed();
    let run = measured.value;
    let goal = zero_loss(run.goals());
    let (lower, upper) = (goal.lower_bound.unwrap(), goal.upper_bound.unwrap());
    // Over a final trial of one second an excess of 0.1 % puts 12 KiB into the queue, a millisecond of delay: no
    // more than a core that is taken away for a moment.
    let unseen = BitRate::from_bps(capacity.bps() / 1000);
    assert!(
        lower.bps() <= capacity.bps() + unseen.bps(),
        "{capacity} is below {lower}"
    );
    if is_disturbed {
        // What others take makes loss of its own: the search may end lower than the link.
        rig.close();
        return;
    }
    assert!(capacity <= upper, "{capacity} is above {upper}");
    assert!(goal.reached, "{goal:?}");
    // The bounds are what was offered, and that is less than what was intended by the sender's tolerance at most.
    assert!(
        goal.width.unwrap().get() <= plan.width.get() + SENDER_TOLERANCE,
        "{goal:?}"
    );
    assert_eq!(goal.bounded_by, Some(BoundedBy::Loss));
    assert_eq!(
        run.verdict.as_ref().unwrap().limit.id(),
        "link",
        "{:?}",
        run.verdict
    );
    rig.close();
}

/// A sweep by hand, both ways: 11 rates × 2 directions × 4 repetitions.
const SWEEP: &str = "
repetitions = 4
[defaults]
kind = 'udp'
time = '300ms'
diagnose = '0s'
[factors]
direction = ['forward', 'reverse']
rate = ['10M', '20M', '40M', '60M', '70M', '80M', '90M', '100M', '110M', '130M', '150M']
";

/// What a user reads off the page of a sweep holds what the search finds, in each direction.
pub(crate) fn the_saturation_on_the_page_of_a_sweep_is_that_of_the_search() {
    let rig = Rig::shaped(LinkConfig {
        rate: Some(LINK),
        ..LinkConfig::default()
    });
    let sweep = || {
        rig.run(|context, target| {
            let file = tempfile::NamedTempFile::new()?;
            let head = format!("[study]\ntitle = 'sweep'\nhost = '{}'", target.far);
            std::fs::write(file.path(), format!("{head}{SWEEP}"))?;
            study(
                context,
                &StudyPlan::read(file.path())?.allow(Consent::to_plan(false))?,
                None,
            )
        })
    };
    let sweep = undisturbed(sweep);
    // The first cell is measured twice: the control of the study.
    assert_eq!(sweep.value.parts().len(), 88 + 4);
    let report = Report {
        title: "sweep".to_owned(),
        made: WallTime::from_unix(1_795_514_400).unwrap(),
        runs: std::slice::from_ref(&sweep.value),
    };
    let html = renderers::ALL.iter().find(|one| one.id == "html").unwrap();
    let page = html.render(&report).unwrap();
    let searches = [Direction::Forward, Direction::Reverse].map(|direction| {
        let mut plan = plan(1);
        plan.spec.direction = direction;
        undisturbed(|| {
            let plan = plan.clone();
            rig.run(move |context, target| saturate(context, target, &plan))
        })
    });
    rig.close();
    if sweep.is_disturbed() || searches.iter().any(Measured::is_disturbed) {
        not_run("other programs make loss of their own, at loads that differ");
    }
    let read_off: Vec<_> = page
        .split("Saturation between ")
        .skip(1)
        .map(between)
        .collect();
    // One curve for each direction, each with its caption, which stands in more than one place.
    assert!(read_off.len() >= searches.len(), "{read_off:?}");
    for search in searches {
        let goal = zero_loss(search.value.goals());
        let (lower, upper) = (goal.lower_bound.unwrap(), goal.upper_bound.unwrap());
        for (from, to) in &read_off {
            assert!(lower <= *to && *from <= upper, "{from} to {to}: {goal:?}");
        }
    }
}

/// The two rates of `90 and 100 Mbit/s intended…`.
fn between(text: &str) -> (BitRate, BitRate) {
    let (both, _) = text.split_once(" Mbit/s").unwrap();
    let (from, to) = both.split_once(" and ").unwrap();
    let rate = |megabits: &str| BitRate::from_f64(megabits.parse::<f64>().unwrap() * 1e6);
    (rate(from), rate(to))
}

/// The sender shares its core with busy loops: it offers less than asked, and that is not loss.
pub(crate) fn a_starved_sender_is_the_limit_and_not_loss() {
    let rig = Rig::over(Link::Direct { mtu: 1500 });
    let running = Arc::new(AtomicBool::new(true));
    let hogs: Vec<_> = (0..6).map(|_| hog(&running)).collect();
    let mut plan = plan(1);
    plan.max_load = BitRate::from_bps(100_000_000_000);
    plan.spec.pinning = Pinning {
        local: Some(0),
        remote: Some(1),
    };
    let search = || {
        let plan = plan.clone();
        rig.run(move |context, target| saturate(context, target, &plan))
    };
    let measured = undisturbed(search);
    running.store(false, Ordering::Relaxed);
    for hog in hogs {
        hog.join().unwrap();
    }
    let is_disturbed = measured.is_disturbed();
    let run = measured.value;
    let verdict = run.verdict.as_ref().unwrap();
    for goal in run.goals() {
        assert_eq!(goal.bounded_by, Some(BoundedBy::Sender), "{goal:?}");
    }
    rig.close();
    // Signs alone leave it at what is most likely where others take cores too.
    if verdict.limit.is_unknown() && is_disturbed {
        not_run("other programs took the CPU beside the busy loops of this test");
    }
    assert_eq!(verdict.limit.id(), "other-programs", "{verdict:?}");
    assert_eq!(verdict.side, Some(Side::Sender), "{verdict:?}");
}

/// A thread that burns core 0 while `running`.
fn hog(running: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let running = Arc::clone(running);
    thread::spawn(move || {
        linerate_sys::affinity::pin_current_thread(0).unwrap();
        while running.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    })
}
