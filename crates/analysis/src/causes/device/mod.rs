//! The device under test: what it dropped by its own counters, or what its work costs on the cores of this host.

use super::evidence::{Delays, Evidence, LossPlaces};
use super::{Cause, link, path_loss, policer, sender_cpu, tool, words};
use crate::readings::device_cores;
use crate::thresholds::ceiling::NEAR;
use crate::thresholds::device::{BESIDE_OTHERS, CLEARLY, DISTURBED, MOST};
use linerate_model::run::{
    Confidence, CpuSide, Experiment, Limit, Place, Run, Trial, Verdict, frame_rate,
};
use linerate_model::spec::{Direction, Side};
use linerate_model::{BitRate, ByteCount, Ratio};

/// What lies between the two ports forwards no more.
pub(crate) static CAUSE: Cause = Cause {
    id: "device",
    name: "the device under test",
    subject: "the device under test",
    summary: "Its counters hold most of what was lost; or most was lost between its ports uncounted; or its work takes CPU time in which a wire in its place carries more.",
    ..Cause::BASE
};

/// Names the device, where its counters or a wire in its place show that it limits.
///
/// Only for tests between two ports of one host, whose ceiling is of a wire between them.
pub(crate) fn apply(run: &Run, direction: Direction, verdict: &mut Verdict) {
    if !run.is_of_device() {
        return;
    }
    let evidence = Evidence::new(run, direction, &[]);
    if let Some(placed) =
        LossPlaces::from_evidence(&evidence).filter(|p| p.share(&[Place::Device]) >= MOST)
    {
        dropped(&placed, &evidence, verdict);
    } else if is_silent(&evidence, verdict) {
        dropped_silently(&evidence, verdict);
    } else if let Some(cost) = Cost::from_evidence(run, &evidence, verdict) {
        cost.judge(verdict);
    }
}

/// The device dropped most of what was lost.
fn dropped(placed: &LossPlaces, evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let claim = format!(
        "The device under test limits: it dropped {} by its own counters, first at its {}.",
        placed.figure(&[Place::Device]),
        placed.source(Place::Device)
    );
    let before = std::mem::replace(&mut verdict.claim, claim);
    if verdict.limit.is_unknown() {
        verdict.evidence.clear();
    } else {
        verdict.evidence.insert(0, before);
    }
    let cores = evidence.mean(|trial| Some(device_cores(trial)).filter(|cores| *cores > 0.0));
    if let Some(cores) = cores {
        let used = format!("Its threads used {} of a core.", words::percent(cores));
        verdict.evidence.insert(0, used);
    }
    verdict.limit = CAUSE.limit();
    verdict.side = None;
    verdict.confidence = Confidence::Supported;
    verdict.share_ratio = None;
    verdict.experiment = Some(Box::new(Experiment::in_words(
        "give the device more of what drops there: CPU time, a longer queue, fewer rules",
        "it forwards more frames without loss",
    )));
}

/// Whether most was lost between the two ports, and nothing but the path is blamed: the device is all the path there is.
fn is_silent(evidence: &Evidence<'_>, verdict: &Verdict) -> bool {
    let is_of_path = [&link::CAUSE, &path_loss::CAUSE, &policer::CAUSE]
        .iter()
        .any(|cause| cause.is_in(verdict));
    let placed = LossPlaces::from_evidence(evidence);
    let between = placed.is_some_and(|placed| placed.share(&BETWEEN) >= MOST);
    between && (is_of_path || verdict.limit.is_unknown())
}

/// Places between the tester's ports.
const BETWEEN: [Place; 2] = [Place::Device, Place::Network];

/// The device lost most of what was lost, and no counter of its own says where. How it drops follows from the one-way delay:
/// a process that falls behind has a full queue, in which every frame waits that it forwards; what polices forwards at once or
/// not at all.
fn dropped_silently(evidence: &Evidence<'_>, verdict: &mut Verdict) {
    let Some(placed) = LossPlaces::from_evidence(evidence) else {
        return;
    };
    let delays = Delays::one_way(evidence);
    let (why, change) = match delays {
        Some(delays) if delays.queue_stands() => (
            "a queue is full in it, so it forwards no faster",
            "give the device's process a core of its own, or less work for each frame",
        ),
        Some(_) => (
            "what exceeds a rate is dropped without waiting, as a policer or a queue of few frames drops",
            "raise the rate that the device polices, or give it a longer queue",
        ),
        None => (
            "how it drops is not known: one-way delay was not measured with and without loss",
            "measure delay at a low load too (--delay-load 0)",
        ),
    };
    verdict.claim = format!(
        "The device under test limits: {} were lost between its ports, and no counter of its own says where; {why}.",
        placed.figure(&BETWEEN)
    );
    verdict.evidence.clear();
    verdict.evidence.extend(delays.map(|delays| {
        format!(
            "Median one-way delay was {} under load and {} without.",
            words::time(delays.loaded),
            words::time(delays.base)
        )
    }));
    verdict.limit = CAUSE.limit();
    verdict.side = None;
    verdict.confidence = if delays.is_some() {
        Confidence::Supported
    } else {
        Confidence::Weak
    };
    verdict.share_ratio = Some(Ratio::clamped(placed.share(&BETWEEN)));
    verdict.experiment = Some(Box::new(Experiment::in_words(
        change,
        "it forwards more frames without loss",
    )));
}

/// Time of a frame in nanoseconds, through the device and over a wire in its place: of the time in which the sender ran. A
/// frame over a bare wire beside other programs takes no more of it, however few are sent.
struct Cost {
    through: f64,
    wire: f64,
}

impl Cost {
    /// `None` where no CPU is blamed, or the wire carries hardly more.
    fn from_evidence(run: &Run, evidence: &Evidence<'_>, verdict: &Verdict) -> Option<Self> {
        let is_open = [
            sender_cpu::CAUSE.limit(),
            tool::CAUSE.limit(),
            Limit::unknown(),
        ]
        .contains(&verdict.limit);
        let ceiling = run.config.ceiling.as_ref().filter(|_| is_open)?;
        let payload = run.config.test()?.payload();
        let most = ceiling.offered.min(ceiling.received);
        let best = evidence.highest_rate(undisturbed)?;
        let running = ceiling.running_ratio.map_or(1.0, Ratio::get);
        let (through, wire) = (
            nanos(BitRate::from_f64(best), payload)?,
            nanos(most, payload)? * running,
        );
        let is_disturbed = running < DISTURBED
            || evidence.mean(|trial| Some(running_ratio(trial))) < Some(DISTURBED);
        let is_more = if is_disturbed {
            through > BESIDE_OTHERS * wire
        } else {
            through * NEAR > wire
        };
        is_more.then_some(Self { through, wire })
    }

    fn judge(&self, verdict: &mut Verdict) {
        let Self { through, wire } = self;
        let claim = format!(
            "The device under test limits: a frame takes {} through it and {} over a wire in its place, so its work costs {} a frame on the cores that also send and receive.",
            words::time(*through),
            words::time(*wire),
            words::time(through - wire)
        );
        let before = std::mem::replace(&mut verdict.claim, claim);
        if !verdict.limit.is_unknown() {
            verdict.evidence.insert(0, before);
        }
        if verdict.limit != sender_cpu::CAUSE.limit() || *through < CLEARLY * wire {
            verdict.confidence = Confidence::Weak;
        }
        verdict.limit = CAUSE.limit();
        verdict.side = None;
        verdict.experiment = Some(Box::new(Experiment::in_words(
            "take work from the device (fewer rules, no connection tracking), or give it a core of its own",
            "a frame takes less time, and more are forwarded",
        )));
    }
}

/// The rate of a trial whose sender would have run all the time.
fn undisturbed(trial: &Trial) -> Option<BitRate> {
    let rate = trial.received_rate?.as_f64();
    let running = running_ratio(trial);
    (running > 0.0).then(|| BitRate::from_f64(rate / running))
}

/// Share of a trial in which its sender ran; all where that is not known.
fn running_ratio(trial: &Trial) -> f64 {
    let cpu = trial.cpu_of(Side::Sender);
    let running = cpu.and_then(CpuSide::running_ratio);
    running.map_or(1.0, Ratio::get)
}

/// Time of a frame at a rate of L4 payload.
fn nanos(rate: BitRate, payload: ByteCount) -> Option<f64> {
    let frames = frame_rate(rate, payload)?.pps();
    (frames > 0.0).then(|| 1e9 / frames)
}
