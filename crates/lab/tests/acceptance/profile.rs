//! Profiles of both ends, as far as the kernel of this host allows.

use crate::bench_rig::Rig;
use linerate_model::cost::ProfileSide;
use linerate_model::run::Run;
use linerate_model::spec::{Observe, Pace, Stop, TestSpec};
use linerate_model::{BitRate, Ratio};
use linerate_studies::run::{SaturatePlan, saturate, single};
use linerate_testbed::{Link, LinkConfig};
use std::time::Duration;

fn assert_sampled_or_explained(run: &Run, index: usize) {
    let trial = &run.trials[index];
    let profile = trial.profile().unwrap();
    for (side, report) in [&profile.sender, &profile.receiver]
        .into_iter()
        .zip(trial.raw())
    {
        match side.as_ref().unwrap() {
            ProfileSide::Sampled(cost) => {
                let raw = report.profile.as_ref().unwrap();
                assert_eq!(raw.check(), Ok(()));
                let placed = cost.busy_samples + cost.idle_samples + cost.other_samples;
                assert_eq!(placed, raw.samples - raw.rest_samples);
                assert_eq!(cost.kernel, raw.kernel);
                assert!(cost.kernel || cost.remarks.iter().any(|r| r.contains("sysctl")));
            }
            ProfileSide::Missing { missing } => assert!(missing.contains("; "), "{missing}"),
        }
    }
}

pub(crate) fn both_ends_profile_themselves_or_say_what_would_let_them() {
    let rig = Rig::over(Link::Direct { mtu: 1500 });
    let spec = TestSpec {
        stop: Stop::After(Duration::from_millis(500)),
        observe: Observe::All,
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let run = rig.run(move |context, target| single(context, target, &spec));
    assert_sampled_or_explained(&run, 0);
    assert!(run.trials[0].cpu.as_ref().unwrap().sender.is_some());
    rig.close();
    // A search samples in a trial of its own, which makes no bound.
    let link = LinkConfig {
        rate: Some(BitRate::from_bps(20_000_000)),
        ..LinkConfig::default()
    };
    let rig = Rig::shaped(link);
    let plan = SaturatePlan {
        loss_goals: vec![Ratio::ZERO],
        width: Ratio::clamped(0.05),
        max_load: BitRate::from_bps(40_000_000),
        budget: Duration::from_secs(10),
        profile: true,
        ..SaturatePlan::new(TestSpec::udp_datagrams(Pace::Unpaced))
    };
    let run = rig.run(move |context, target| saturate(context, target, &plan));
    let last = run.trials.len() - 1;
    assert_eq!(run.trials[last].label.as_deref(), Some("profile"));
    assert_sampled_or_explained(&run, last);
    assert!(
        run.trials[..last]
            .iter()
            .all(|trial| trial.profile().is_none())
    );
    assert!(u64::from(run.goals()[0].trials) <= last as u64);
    rig.close();
}

pub(crate) fn without_observing_a_trial_has_its_rates_alone() {
    let rig = Rig::over(Link::Direct { mtu: 1500 });
    let spec = TestSpec {
        stop: Stop::After(Duration::from_millis(300)),
        observe: Observe::None,
        ..TestSpec::tcp_bulk()
    };
    let run = rig.run(move |context, target| single(context, target, &spec));
    let trial = &run.trials[0];
    assert!(trial.valid, "{:?}", trial.reasons);
    assert!(trial.received_rate.unwrap().bps() > 0);
    assert!(trial.measured().unwrap().counters.is_empty() && trial.profile().is_none());
    assert!(
        trial
            .raw()
            .iter()
            .all(|report| report.streams[0].work.tcp_samples().is_empty())
    );
    rig.close();
}
