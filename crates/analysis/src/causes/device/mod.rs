//! The device under test: what it dropped by its own counters, or what its work costs on the cores of this host.

use super::evidence::{Delays, Evidence, LossPlaces};
use super::{Cause, link, path_loss, policer, sender_cpu, tool, words};
use crate::experiment::{wire_that_carries_more, wire_that_drops_nothing};
use crate::readings::device_cores;
use crate::thresholds::ceiling::NEAR;
use crate::thresholds::device::{BESIDE_OTHERS, CLEARLY, DISTURBED, MOST};
use linerate_model::run::{Confidence, Experiment, Limit, Place, Run, Trial, Verdict, frame_rate};
use linerate_model::spec::Direction;
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
        dropped(run, &placed, &evidence, verdict);
    } else if is_silent(&evidence, verdict) {
        dropped_silently(run, &evidence, verdict);
    } else if let Some(cost) = Cost::from_evidence(run, &evidence, verdict) {
        cost.judge(verdict);
    } else {
        return;
    }
    verdict.evidence.extend(busiest_functions(&evidence));
}

/// The functions in which the device's programs spend most of their time, in the newest trial that was sampled; `None` for a
/// device that is the kernel's, whose time is the soft interrupts' that also send and receive.
fn busiest_functions(evidence: &Evidence<'_>) -> Option<String> {
    /// So many say what a program is about.
    const MOST_FUNCTIONS: usize = 3;
    let mut trials = evidence.trials().iter().rev();
    let (_, times) = trials.find_map(|trial| trial.started_times())?;
    let all = times
        .iter()
        .fold(0_u64, |sum, time| sum.saturating_add(time.samples));
    let shares = times.iter().take(MOST_FUNCTIONS).map(|time| {
        let share = Ratio::from_parts(time.samples, all).get();
        format!("{} of it in {}", words::percent(share), time.function)
    });
    let shares: Vec<_> = shares.collect();
    Some(format!(
        "Where its programs spent their time, sampled: {}.",
        shares.join(", ")
    ))
}

/// The device dropped most of what was lost.
fn dropped(run: &Run, placed: &LossPlaces, evidence: &Evidence<'_>, verdict: &mut Verdict) {
    verdict.claim = format!(
        "The device under test limits: it dropped {} by its own counters, first at its {}.",
        placed.figure(&[Place::Device]),
        placed.source(Place::Device)
    );
    if verdict.limit.is_unknown() {
        verdict.evidence.clear();
    }
    let cores = evidence.mean(|trial| device_cores(trial).filter(|cores| *cores > 0.0));
    if let Some(cores) = cores {
        let used = format!("Its threads used {} of a core.", words::percent(cores));
        verdict.evidence.insert(0, used);
    }
    verdict.limit = CAUSE.limit();
    verdict.side = None;
    verdict.confidence = Confidence::Supported;
    verdict.share_ratio = None;
    verdict.experiment = Some(Box::new(proof(
        run,
        "give the device more of what drops there: CPU time, a longer queue, fewer rules",
    )));
}

/// What would prove that it drops: a wire in its place where linerate measured one already and can test one way, else a
/// change in words.
fn proof(run: &Run, otherwise: &str) -> Experiment {
    let test = run.config.test();
    let is_one_way = test.is_some_and(|test| test.direction != Direction::Duplex);
    if run.config.ceiling.is_some() && is_one_way {
        wire_that_drops_nothing().into()
    } else {
        Experiment::in_words(otherwise, "it forwards more frames without loss")
    }
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
fn dropped_silently(run: &Run, evidence: &Evidence<'_>, verdict: &mut Verdict) {
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
    verdict.experiment = Some(Box::new(proof(run, change)));
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
            || evidence.mean(|trial| Some(trial.sender_running_ratio().get())) < Some(DISTURBED);
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
        verdict.experiment = Some(Box::new(wire_that_carries_more().into()));
    }
}

/// The rate of a trial whose sender would have run all the time.
fn undisturbed(trial: &Trial) -> Option<BitRate> {
    let rate = trial.received_rate?.as_f64();
    let running = trial.sender_running_ratio().get();
    (running > 0.0).then(|| BitRate::from_f64(rate / running))
}

/// Time of a frame at a rate of L4 payload.
fn nanos(rate: BitRate, payload: ByteCount) -> Option<f64> {
    let frames = frame_rate(rate, payload)?.pps();
    (frames > 0.0).then(|| 1e9 / frames)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::cost::{CostLayer, ProfileCost, ProfileSide, ProfileSummary};
    use linerate_model::profile::{
        Profile, ProfileEvent, ProfileScope, ProfileStack, STARTED_PROGRAM,
    };
    use linerate_model::run::{DatagramsResult, RunKind, Tool};
    use linerate_model::sample::EndpointReport;
    use linerate_model::spec::{Side, Transport};

    /// A device's program with two functions, and interrupts that borrow its time, beside the tester.
    fn sampled() -> (Profile, ProfileCost) {
        let stack = |frames: &[u32], samples| ProfileStack {
            frames: frames.to_vec(),
            samples,
            user: true,
        };
        let names = [
            &*format!("{STARTED_PROGRAM}pmd"),
            "lookup",
            "poll",
            "net_rx_action",
            "linerate",
        ];
        let profile = Profile {
            event: ProfileEvent::CpuClock,
            scope: ProfileScope::Host,
            kernel: true,
            rate_hz: 1000,
            duration_ns: 1_000_000_000,
            samples: 200,
            lost: 0,
            rest_samples: 0,
            names: names.map(str::to_owned).to_vec(),
            stacks: vec![
                stack(&[0, 2, 1], 60),
                stack(&[0, 2], 20),
                stack(&[0, 3], 20),
                stack(&[4, 1], 100),
            ],
            remarks: Vec::new(),
        };
        let softirq = Some(CostLayer::Softirq);
        let cost = ProfileCost {
            event: profile.event,
            scope: profile.scope,
            kernel: true,
            busy_samples: 120,
            idle_samples: 0,
            other_samples: 80,
            unplaced_samples: 0,
            packets: None,
            packet_kind: None,
            ns_per_packet: None,
            ns_per_byte: None,
            layers: Vec::new(),
            stack_layers: vec![None, None, softirq, Some(CostLayer::Application)],
            remarks: Vec::new(),
        };
        (profile, cost)
    }

    #[test]
    fn the_functions_of_the_devices_program_are_named_without_interrupts() {
        let (profile, cost) = sampled();
        let work = DatagramsResult::default();
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        let measured = trial.measured_mut().unwrap();
        measured.profile = Some(ProfileSummary {
            sender: Some(ProfileSide::Sampled(cost)),
            receiver: None,
        });
        let mut report = EndpointReport::of_streams(Side::Sender, Vec::new());
        report.profile = Some(profile);
        measured.raw = vec![report];
        let mut run = Run::new("r", RunKind::Udp, Tool::unversioned("linerate"));
        run.trials = vec![trial];
        let evidence = Evidence::new(&run, Direction::Forward, &[]);
        assert_eq!(
            busiest_functions(&evidence).unwrap(),
            "Where its programs spent their time, sampled: 75 % of it in lookup, 25 % of it in poll."
        );
    }
}
