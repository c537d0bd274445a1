//! From a run and what its verdict claims to the baseline of an experiment.

use crate::readings::streams;
use linerate_model::dut::{DutPlace, DutRelief};
use linerate_model::run::{
    Baseline, BoundedBy, Change, ExperimentTest, GoalResult, Limit, Prediction, Quantity, Run,
    RunKind, Trial, Verdict,
};
use linerate_model::sample::StreamReport;
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport, validate};
use linerate_model::{BitRate, ByteCount};
use std::time::Duration;

/// Why an experiment cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRun {
    /// The log of another tool: there is no peer to ask again.
    #[error("the run was imported from {tool}, so linerate cannot repeat it")]
    Imported {
        /// Whose log.
        tool: String,
    },
    /// The rule proposes nothing that linerate can do.
    #[error("linerate cannot run it by itself: {change}")]
    ByHand {
        /// What people can do.
        change: String,
    },
    /// Not a test that has one direction of bulk traffic.
    #[error("{0}")]
    Kind(&'static str),
    /// What was set is not in the run.
    #[error("the run does not hold the test that was made")]
    NoTest,
    /// The change cannot be made here.
    #[error("{0}")]
    Impossible(String),
}

/// An experiment on what a verdict claims.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// What the claim says limits.
    pub limit: Limit,
    /// On which side.
    pub side: Option<Side>,
    /// What is changed and predicted.
    pub test: ExperimentTest,
    /// The test of the run, short; also the pilot.
    pub baseline: TestSpec,
}

/// Length of a trial of datagrams, as of a search's final trials.
const UDP_TIME: Duration = Duration::from_secs(1);
/// Its second half tells what lasts from what a bucket or a queue held.
const UDP_INTERVAL: Duration = Duration::from_millis(250);
/// Length of a trial of TCP.
const TCP_TIME: Duration = Duration::from_millis(1500);
/// In an experiment it lasts so many round trips at least: a segment that is lost holds back what came after it for one.
const TRIAL_RTTS: u32 = 10;
const MAX_TCP_TIME: Duration = Duration::from_secs(5);
/// A slow start from ten segments to a window of ten thousand takes ten round trips; leave twice that.
const SLOW_START_RTTS: u32 = 10;
const MIN_WARM_UP: Duration = Duration::from_millis(500);
const MAX_WARM_UP: Duration = Duration::from_millis(1500);
/// TCP state is read once per interval.
const TCP_INTERVAL: Duration = Duration::from_millis(250);
/// Above a search's bound by this much, what limits is clearly over its limit.
const ABOVE_BOUND: f64 = 1.1;
/// Twice the scatter of a receiver that is busy all the time: a quarter from trial to trial on an emulated board.
const FAR_ABOVE: f64 = 1.5;
/// A sender that is the limit is asked for clearly more than it ever offered.
const ABOVE_SENDER: f64 = 1.25;
/// A sender that waits for its core must have room to show what it does with another.
const ABOVE_STARVED: f64 = 3.0;
/// Loss that does not come from load shows below any other limit.
const BELOW_BEST: f64 = 0.8;

impl Design {
    /// The experiment on `verdict`, which is one of `run`.
    pub fn from_run(run: &Run, verdict: &Verdict) -> Result<Self, NotRun> {
        let mut baseline = repeatable(run)?;
        if run.kind() == RunKind::Saturate {
            let load = saturating_load(run, baseline.direction, verdict)
                .ok_or(NotRun::Kind("the search found no load to repeat"))?;
            baseline.work.set_pace(Pace::At(load));
        }
        shorten(&mut baseline, run);
        if baseline.transport() == Transport::Tcp {
            let trips = longest_round_trip(run).saturating_mul(TRIAL_RTTS);
            baseline.stop = Stop::After(trips.clamp(TCP_TIME, MAX_TCP_TIME));
        }
        validate(&baseline).map_err(|error| NotRun::Impossible(error.to_string()))?;
        let experiment = verdict
            .experiment
            .as_ref()
            .ok_or(NotRun::Kind("the verdict proposes no experiment"))?;
        let test = experiment.test.clone().ok_or_else(|| NotRun::ByHand {
            change: experiment.change.clone(),
        })?;
        Ok(Self {
            limit: verdict.limit.clone(),
            side: verdict.side,
            test,
            baseline,
        })
    }
}

/// A device that limits lets pass less than a wire by more than trials scatter.
const CLEARLY_MORE: Prediction = Prediction::at_least(Quantity::ReceivedPacketRate, 1.05);
/// Of what a device drops, a wire in its place loses next to nothing; others of the host may drop some too.
const MOST_ARRIVES: Prediction = Prediction::at_most(Quantity::LossRatio, 0.5);

/// An experiment on a claim that a device drops: over a wire in its place most of it arrives.
pub(crate) fn wire_that_drops_nothing() -> ExperimentTest {
    one_prediction(Change::Wire, MOST_ARRIVES, Baseline::AboveLoss)
}

/// An experiment on a claim that a device's work takes the time of those who send: a wire in its place carries more.
pub(crate) fn wire_that_carries_more() -> ExperimentTest {
    one_prediction(Change::Wire, CLEARLY_MORE, Baseline::FarAboveBound)
}

/// An experiment on what would help a device: relieved it clearly forwards more frames, at the highest load so that the gain
/// has room; with a longer queue it loses clearly less of a load that it just does not carry.
pub fn relieved(relief: DutRelief) -> ExperimentTest {
    let (prediction, baseline) = match relief {
        DutRelief::LongerQueue { .. } => (MOST_ARRIVES, Baseline::AboveLoss),
        DutRelief::OtherCore(_) | DutRelief::Without { .. } => (CLEARLY_MORE, Baseline::Ceiling),
    };
    one_prediction(Change::Relief { relief }, prediction, baseline)
}

/// Whether `relief` is an answer to what limits a device in `run`: a longer queue only where most that it dropped found no
/// room in one.
pub fn may_help(run: &Run, relief: DutRelief) -> bool {
    if !matches!(relief, DutRelief::LongerQueue { .. }) {
        return true;
    }
    let devices = run
        .trials
        .iter()
        .filter_map(|trial| trial.measured()?.device.as_ref());
    let (queue, all) = devices.fold((0, 0), |(queue, all), device| {
        let here = device.counted.dropped_at(DutPlace::Queue).get();
        (queue + here, all + device.counted.dropped().get())
    });
    queue > all / 2
}

fn one_prediction(change: Change, prediction: Prediction, baseline: Baseline) -> ExperimentTest {
    ExperimentTest {
        change,
        predictions: vec![prediction],
        baseline,
    }
}

/// The run's own test as long as a trial of an experiment.
pub(crate) fn short_test(run: &Run) -> Result<TestSpec, NotRun> {
    let mut test = repeatable(run)?;
    shorten(&mut test, run);
    Ok(test)
}

/// The test that `run` made, if it can be made again for an experiment; else why not.
pub fn repeatable(run: &Run) -> Result<TestSpec, NotRun> {
    if run.source.is_some() || !run.tool.is_linerate() {
        let tool = run.tool.name.clone();
        return Err(NotRun::Imported { tool });
    }
    match run.kind() {
        RunKind::Tcp | RunKind::Udp | RunKind::Saturate => {}
        RunKind::Latency => {
            return Err(NotRun::Kind(
                "request/response does not load the path, so there is no limit to prove",
            ));
        }
        RunKind::Demo | RunKind::Study | RunKind::Switch => {
            return Err(NotRun::Kind(
                "the run is made of parts; prove the limit of a single test",
            ));
        }
    }
    let spec = run.config.test().cloned().ok_or(NotRun::NoTest)?;
    if spec.work.connections().is_some() {
        return Err(NotRun::Kind(
            "connections were opened one after the other, and no change of a transfer tells what limits them",
        ));
    }
    if spec.direction == Direction::Duplex {
        return Err(NotRun::Kind(
            "traffic flowed both ways at once, so a change to one way changes the other; test one way at a time",
        ));
    }
    Ok(spec)
}

fn shorten(spec: &mut TestSpec, run: &Run) {
    match spec.transport() {
        Transport::Udp => {
            spec.stop = Stop::After(UDP_TIME);
            spec.warm_up = Duration::ZERO;
            spec.interval = spec.interval.min(UDP_INTERVAL);
        }
        Transport::Tcp => {
            spec.stop = Stop::After(TCP_TIME);
            spec.warm_up = longest_round_trip(run)
                .saturating_mul(SLOW_START_RTTS)
                .clamp(MIN_WARM_UP, MAX_WARM_UP);
            spec.interval = spec.interval.min(TCP_INTERVAL);
        }
    }
}

/// Of the trials' mean round trips under load; zero where none is known.
fn longest_round_trip(run: &Run) -> Duration {
    let mean = |trial: &Trial| trial.tcp()?.srtt_mean_ns.map(Duration::from_nanos);
    let of_each = run.trials.iter().filter_map(mean);
    of_each.max().unwrap_or_default()
}

/// The load of a search's baseline: just above the bound, where the limit shows and little else does.
fn saturating_load(run: &Run, direction: Direction, verdict: &Verdict) -> Option<BitRate> {
    let test = verdict
        .experiment
        .as_ref()
        .and_then(|experiment| experiment.test.as_ref());
    let above_sender = match test.map(|test| test.change) {
        Some(Change::OtherCore { side: Side::Sender }) => ABOVE_STARVED,
        _ => ABOVE_SENDER,
    };
    let here = || run.trials.iter().filter(|t| t.direction == direction);
    let scaled = |rate: BitRate, factor: f64| BitRate::from_f64(rate.as_f64() * factor);
    let best = here().filter_map(|trial| trial.received_rate).max();
    let carried = |trial: &&Trial| trial.loss_ratio().is_none_or(|loss| loss.get() <= 0.0);
    let goals = || {
        run.goals()
            .iter()
            .filter(|goal| goal.direction == direction)
    };
    let bound = |by_sender: bool| {
        let of =
            move |goal: &&GoalResult| (goal.bounded_by == Some(BoundedBy::Sender)) == by_sender;
        goals().filter(of).filter_map(|goal| goal.upper_bound).max()
    };
    let above = |factor| bound(false).or(best).map(|rate| scaled(rate, factor));
    match test.map_or_else(Baseline::default, |test| test.baseline) {
        Baseline::Carried => here()
            .filter(carried)
            .filter_map(|trial| trial.intended_load)
            .max(),
        Baseline::BelowBest => best.map(|rate| scaled(rate, BELOW_BEST)),
        Baseline::AbovePath => bound(false).max(best).map(|rate| scaled(rate, ABOVE_BOUND)),
        Baseline::AboveBound => bound(true)
            .map(|rate| scaled(rate, above_sender))
            .or_else(|| above(ABOVE_BOUND)),
        Baseline::FarAboveBound => above(FAR_ABOVE),
        Baseline::AboveLoss => {
            let lossy = here().filter(|trial| !carried(trial));
            let lowest = lossy.filter_map(|trial| trial.intended_load).min();
            let start = bound(false).or(lowest);
            start.map(|rate| scaled(rate, ABOVE_BOUND))
        }
        Baseline::Ceiling => run.config.ceiling.as_ref().map(|most| most.offered),
    }
}

/// The buffer that the system gave to `side`'s smallest socket.
pub(crate) fn given_buffer(trial: &Trial, side: Side) -> Option<ByteCount> {
    let buffer = |stream: &StreamReport| match side {
        Side::Sender => stream.path.send_buffer_bytes,
        Side::Receiver => stream.path.receive_buffer_bytes,
    };
    streams(trial, side).filter_map(buffer).min()
}
