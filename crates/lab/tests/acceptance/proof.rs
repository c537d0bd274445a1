//! Verdicts that experiments confirm, and one that they refute.

use crate::bench_rig::Rig;
use linerate_model::run::{Answer, Confidence, Part, Run, TrialWork, Verdict};
use linerate_model::sample::ByteStreamSender;
use linerate_model::spec::{Pace, SocketChoice, Stop, TestSpec};
use linerate_model::tcp::{TcpShares, TcpWait};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::{diagnose, prove, single};
use linerate_testbed::LinkConfig;
use linerate_testkit::disturbance::{Measured, undisturbed};
use std::time::Duration;

const NO_PROBES: Duration = Duration::ZERO;

fn shaped() -> LinkConfig {
    LinkConfig {
        rate: Some(BitRate::from_bps(20_000_000)),
        ..LinkConfig::default()
    }
}

/// Under CUBIC, whatever the host's default is: one stream of BBR takes from 0.94 to 1.00 of a link of 20 Mbit/s, less
/// on a busy machine, and paces by what it takes for the path's rate where a window limits.
fn tcp(seconds: u64) -> TestSpec {
    TestSpec {
        stop: Stop::After(Duration::from_secs(seconds)),
        socket: SocketChoice {
            congestion_control: Some("cubic".to_owned()),
            ..SocketChoice::default()
        },
        ..TestSpec::tcp_bulk()
    }
}

fn small_window() -> TestSpec {
    let mut spec = tcp(2);
    spec.socket.receive_buffer_bytes = Some(ByteCount::new(64 * 1024));
    spec
}

/// Measures, probes for at most `time` and proves, after `doctor` had its way with the run.
fn proved(rig: &Rig, spec: &TestSpec, time: Duration, doctor: fn(&mut Run)) -> Measured<Run> {
    let once = || {
        let spec = spec.clone();
        rig.run(move |context, target| {
            let mut run = single(context, target, &spec)?;
            doctor(&mut run);
            let run = diagnose(context, target, run, time);
            prove(context, target, run)
        })
    };
    undisturbed(once)
}

/// Confirmed; on a machine whose cores were taken away throughout, no other limit is.
#[track_caller]
fn confirmed(measured: &Measured<Run>, limit: &str) {
    let run = &measured.value;
    let verdict = run.verdict.as_ref().unwrap();
    if measured.is_disturbed() {
        let is_other = verdict.limit.id() != limit;
        assert!(
            !(is_other && verdict.confidence == Confidence::Confirmed),
            "{verdict:#?}"
        );
        return;
    }
    assert_eq!(
        (verdict.limit.id(), verdict.confidence),
        (limit, Confidence::Confirmed),
        "{verdict:#?}"
    );
    let record = &run.experiments[0];
    let count = |part| record.trials.iter().filter(|t| t.part == part).count();
    let pairs = record.experiment.outcome.as_ref().unwrap().pairs;
    assert_eq!(count(Part::Pilot), 1);
    assert_eq!(count(Part::Baseline), count(Part::Changed));
    assert!(count(Part::Changed) >= pairs as usize);
    assert_eq!(run.trials.len(), 1, "the run's own trials stay apart");
}

pub(crate) fn datagrams_above_a_shaped_link_are_confirmed() {
    let rig = Rig::shaped(shaped());
    let datagrams = TestSpec {
        stop: Stop::After(Duration::from_secs(2)),
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(40_000_000)))
    };
    confirmed(&proved(&rig, &datagrams, NO_PROBES, |_| {}), "link");
    rig.close();
}

pub(crate) fn tcp_that_fills_a_shaped_link_is_confirmed() {
    let rig = Rig::shaped(shaped());
    let probes = Duration::from_secs(10);
    confirmed(&proved(&rig, &tcp(3), probes, |_| {}), "link");
    rig.close();
}

/// 128 KiB in flight over a round trip of 20 ms.
pub(crate) fn a_small_window_is_confirmed() {
    let rig = Rig::shaped(LinkConfig {
        delay: Duration::from_millis(10),
        ..LinkConfig::default()
    });
    let measured = proved(&rig, &small_window(), NO_PROBES, |_| {});
    confirmed(&measured, "receiver-window");
    rig.close();
}

/// A full link whose run is made to look as if the window were the limit: the window is doubled in
/// vain, and what was seen is said.
pub(crate) fn a_false_verdict_is_refuted() {
    let rig = Rig::shaped(shaped());
    let measured = proved(&rig, &tcp(3), NO_PROBES, |run| {
        let TrialWork::ByteStream(stream) = &mut run.trials[0].work else {
            panic!("a byte stream");
        };
        let tcp = stream.tcp.as_mut().unwrap();
        let mut shares = TcpShares::default();
        shares.set(TcpWait::ReceiverWindow, Ratio::clamped(0.9));
        tcp.shares = Some(shares);
        (tcp.queueing, tcp.windows) = (None, None);
        tcp.rwnd_limited_ratio = Some(Ratio::clamped(0.9));
        tcp.sndbuf_limited_ratio = Some(Ratio::ZERO);
        tcp.srtt_mean_ns = tcp.min_rtt_ns;
        for side in &mut run.trials[0].measured_mut().unwrap().raw {
            for stream in &mut side.streams {
                stream.work = ByteStreamSender::default().into();
            }
        }
    });
    let (run, is_disturbed) = (&measured.value, measured.is_disturbed());
    let about = |limit| {
        let record = run.experiments.iter().find(|r| r.limit.id() == limit);
        record.and_then(|r| r.experiment.outcome.as_ref())
    };
    let answer = about("receiver-window").map(|outcome| outcome.answer);
    let verdict: &Verdict = run.verdict.as_ref().unwrap();
    if is_disturbed {
        // A pair that was disturbed may leave the question open; it proves nothing that is false.
        assert_ne!(answer, Some(Answer::Agreed), "{:#?}", run.experiments);
        assert_ne!(verdict.confidence, Confidence::Confirmed, "{verdict:#?}");
        rig.close();
        return;
    }
    assert_eq!(answer, Some(Answer::Disagreed), "{:#?}", run.experiments);
    assert_ne!(verdict.limit.id(), "receiver-window", "{verdict:#?}");
    assert_ne!(verdict.confidence, Confidence::Confirmed, "{verdict:#?}");
    let found = run.findings.iter().find(|f| f.rule == "receiver-window");
    let text = serde_json::to_string(&found).unwrap();
    assert!(text.contains("An experiment refutes it"), "{text}");
    rig.close();
}
