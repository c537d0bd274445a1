//! What rules read: one direction of one run, with the quantities that several rules share.

mod bucket;
mod cpu;
mod figures;
mod needs;
mod nominal;
mod overload;
mod reader;
mod tcp;
mod window;

use crate::thresholds::load::{ABOVE_BOUND, SHORT_RATIO};
use crate::thresholds::outcome::LITTLE;
pub(super) use bucket::Bucket;
pub(crate) use bucket::has_bucket;
pub(super) use cpu::Cpu;
pub(super) use figures::{Delays, Gap, LossPlaces, Plateau};
pub(super) use overload::Overload;
pub(super) use reader::Reader;
pub(super) use tcp::{
    Others, Stall, StreamReader, is_misled, needless, receiver_window_share, share_of, time_told,
    window_share,
};

pub(super) use window::WindowEffect;

pub(crate) use needs::{Need, link_speed};

use crate::causes::{own_shaper, words};
use crate::readings::{is_duplex, is_within_veth, mean, streams};
use linerate_model::run::{BoundedBy, Finding, GoalResult, Run, RunKind, TcpSummary, Trial};
use linerate_model::signals::IP_REASM_FAILS;
use linerate_model::spec::{Direction, Side, Transport, WaitMode};
use linerate_model::{BitRate, ByteCount};

/// What stopped the load from growing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Regime {
    /// Everything that was asked for was carried.
    Nothing,
    /// Packets were lost or delayed that the sender had offered.
    Loss,
    /// The sender offered less than intended, and nothing else gave way.
    Sender,
    /// No load was intended: the sender gave what it could (or what TCP let it).
    Unpaced,
}

/// One direction of one run.
pub(crate) struct Evidence<'a> {
    run: &'a Run,
    trials: Vec<&'a Trial>,
    /// The strictest search goal of this direction.
    goal: Option<&'a GoalResult>,
    earlier: &'a [Finding],
}

impl<'a> Evidence<'a> {
    /// The valid trials of `direction`; all of them if none is valid. `earlier` are the outcomes
    /// of the rules that came before.
    pub(crate) fn new(run: &'a Run, direction: Direction, earlier: &'a [Finding]) -> Self {
        let all = || run.trials.iter().filter(|t| t.direction == direction);
        let mut trials: Vec<&Trial> = all().filter(|trial| trial.valid).collect();
        if trials.is_empty() {
            trials = all().collect();
        }
        let goal = run
            .goals()
            .iter()
            .filter(|goal| goal.direction == direction)
            .min_by(|a, b| a.loss_goal.get().total_cmp(&b.loss_goal.get()));
        Self {
            run,
            trials,
            goal,
            earlier,
        }
    }

    /// The trials of this direction in the order they were made.
    pub(super) fn trials(&self) -> &[&'a Trial] {
        &self.trials
    }

    /// Outcomes of the rules that came before this one in [`super::ALL`].
    pub(super) fn earlier(&self) -> &[Finding] {
        self.earlier
    }

    /// Whether this is request/response, which loads nothing on purpose.
    pub(super) fn is_latency(&self) -> bool {
        self.run.kind() == RunKind::Latency
    }

    /// Why what holds a stream back holds no messages back that are timed.
    pub(super) fn of_messages(&self) -> &'static str {
        if self.trials.iter().any(|trial| trial.requests().is_some()) {
            "requests at a rate are single messages, no stream"
        } else {
            "request/response keeps one message in flight"
        }
    }

    /// Whether this is a TCP byte stream.
    pub(super) fn is_tcp(&self) -> bool {
        !self.is_latency() && self.trials.iter().any(|t| t.transport == Transport::Tcp)
    }

    /// The smallest receive buffer that the system gave a stream.
    pub(super) fn receive_buffer(&self) -> Option<ByteCount> {
        let trials = self.trials.iter();
        trials
            .flat_map(|trial| streams(trial, Side::Receiver))
            .filter_map(|stream| stream.path.receive_buffer_bytes)
            .min()
    }

    /// Whether the sender gives its system many datagrams at once (UDP GSO).
    pub(super) fn aggregates(&self) -> bool {
        let test = self.run.config.test();
        test.is_some_and(|test| test.datapath.aggregates_sent())
    }

    /// Whether the receiver, one of linerate's own at a socket, can take many datagrams from its system at once and
    /// does not do so yet.
    pub(super) fn receiver_can_aggregate(&self) -> bool {
        let test = self.run.config.test();
        let can = test.is_some_and(|test| {
            test.datapath.can_aggregate() && !test.datapath.aggregates_received()
        });
        let own = |trial: &&Trial| {
            let mut received = streams(trial, Side::Receiver);
            received.any(|stream| stream.work.receive_socket().is_some())
        };
        can && self.trials.iter().all(own)
    }

    /// Why lost datagrams were none of the path, where they arrived in fragments that the receiver's system did not put together:
    /// as many as half of the loss at least.
    pub(super) fn not_reassembled(&self) -> Option<String> {
        let failed = |trial: &&Trial| trial.counters(Side::Receiver)?.get(IP_REASM_FAILS).copied();
        let lost = |trial: &&Trial| Some(trial.packets()?.lost?.get());
        let sum = |of: &dyn Fn(&&Trial) -> Option<u64>| {
            let all = self.trials.iter().filter_map(of);
            all.fold(0, u64::saturating_add)
        };
        let (failed, lost) = (sum(&failed), sum(&lost));
        (failed > 0 && failed >= lost / 2).then(|| {
            format!(
                "fragments arrived that the receiver's system could not put together, {} of them (ReasmFails)",
                words::count(failed)
            )
        })
    }

    /// Whether data takes the way on which its streams were opened.
    pub(super) fn follows_handshake(&self) -> bool {
        let test = self.run.config.test();
        test.is_none_or(|test| test.datapath.follows_handshake())
    }

    /// Whether traffic threads poll, so that their CPU time shows no load.
    pub(super) fn spins(&self) -> bool {
        let test = self.run.config.test();
        test.is_some_and(|test| test.wait == WaitMode::Spin)
    }

    /// Whether both hosts are joined by one veth, in every trial.
    pub(super) fn is_within_veth(&self) -> bool {
        !self.trials.is_empty() && self.trials.iter().all(|trial| is_within_veth(trial))
    }

    /// Whether a shaper of the sender's own host kept this direction at its rate.
    pub(super) fn has_full_shaper(&self) -> bool {
        let subject = self.subject();
        !subject.is_empty()
            && subject
                .iter()
                .all(|trial| own_shaper::is_full(self.run, trial))
    }

    /// The other way of a test with traffic both ways at once, whose queue lengthens the round trips of this one too.
    pub(super) fn other_way(&self) -> Option<Self> {
        if !is_duplex(self.run) {
            return None;
        }
        let other = match self.trials.first()?.direction {
            Direction::Forward => Direction::Reverse,
            Direction::Reverse => Direction::Forward,
            Direction::Duplex => return None,
        };
        let way = Evidence::new(self.run, other, &[]);
        (!way.trials.is_empty()).then_some(way)
    }

    /// Segments that this direction sent again.
    pub(super) fn sent_again(&self) -> Option<u64> {
        let again = |trial: &&Trial| trial.tcp()?.retransmitted_segments;
        let known = self.trials.iter().filter_map(again);
        known.reduce(u64::saturating_add)
    }

    /// Trials in which something gave way: loss above the strictest goal, or less offered than intended.
    ///
    /// Where delay bounds a search, every load above its lower bound counts; where loss does, a sender that was kept from sending is no sign. In any search only loads above the goal's lower bound count: a stray loss below it was weighed there.
    pub(super) fn stressed(&self) -> Vec<&'a Trial> {
        let tolerated = self.goal.map_or(0.0, |goal| goal.loss_goal.get());
        let floor = self.goal.and_then(|goal| goal.lower_bound);
        let bounded_by = self.goal.and_then(|goal| goal.bounded_by);
        let by_delay = bounded_by == Some(BoundedBy::Delay);
        let by_loss = bounded_by == Some(BoundedBy::Loss);
        let above = |trial: &Trial| {
            let intended = trial.intended_load.map_or(0.0, BitRate::as_f64);
            floor.is_none_or(|floor| intended > floor.as_f64() * ABOVE_BOUND)
        };
        let gave_way = |trial: &Trial| {
            by_delay
                || !by_loss && is_short(trial)
                || is_behind(trial)
                || trial
                    .loss_ratio()
                    .is_some_and(|loss| loss.get() > tolerated)
        };
        self.select(|trial| above(trial) && gave_way(trial))
    }

    /// Trials that are not stressed.
    pub(super) fn relaxed(&self) -> Vec<&'a Trial> {
        let stressed = self.stressed();
        self.select(|trial| !stressed.iter().any(|other| std::ptr::eq(*other, trial)))
    }

    fn select(&self, keep: impl Fn(&Trial) -> bool) -> Vec<&'a Trial> {
        let kept = self.trials.iter().copied();
        kept.filter(|trial| keep(trial)).collect()
    }

    /// What stopped the load from growing: the search's own answer, else the first load that gave way.
    pub(super) fn regime(&self) -> Regime {
        match self.goal.and_then(|goal| goal.bounded_by) {
            Some(BoundedBy::Limit) => return Regime::Nothing,
            Some(BoundedBy::Loss | BoundedBy::Delay) => return Regime::Loss,
            Some(BoundedBy::Sender) => return Regime::Sender,
            None => {}
        }
        if !Need::IntendedLoad.is_met(self) {
            let has_loss = |trial: &&Trial| trial.loss_ratio().is_some_and(|l| l.get() > 0.0);
            let lossy = self.trials.iter().any(has_loss);
            return if lossy { Regime::Loss } else { Regime::Unpaced };
        }
        let gap = Gap::from_trials(&self.onset());
        if gap.total() <= 0.0 && self.stressed().is_empty() {
            Regime::Nothing
        } else if self.is_tcp() {
            Regime::Unpaced
        } else if gap.is_senders() {
            Regime::Sender
        } else {
            Regime::Loss
        }
    }

    /// Whether a search ended before it had met the load at which anything gave way.
    pub(super) fn is_unfinished_search(&self) -> bool {
        self.goal
            .is_some_and(|goal| !goal.reached && goal.bounded_by.is_none())
    }

    /// Whether datagrams that were offered were lost, so that a sender which offered less than intended is not what limits:
    /// had it offered more, more would have been lost.
    pub(crate) fn is_lost_behind_sender(&self) -> bool {
        let is_stream = !self.is_latency() && !self.is_tcp();
        is_stream && self.regime() == Regime::Loss && !Gap::around_best(self).is_senders()
    }

    /// Stressed trials at the lowest load that gave way, and within a tenth above it.
    fn onset(&self) -> Vec<&'a Trial> {
        let mut stressed = self.stressed();
        let lowest = stressed
            .iter()
            .filter_map(|trial| load(trial))
            .min_by(f64::total_cmp);
        stressed.retain(|trial| load(trial) <= lowest.map(|lowest| lowest * 1.1));
        stressed
    }

    /// The trials a verdict is about: the stressed ones, else all.
    pub(super) fn subject(&self) -> Vec<&'a Trial> {
        let stressed = self.stressed();
        if stressed.is_empty() {
            self.trials.clone()
        } else {
            stressed
        }
    }

    /// Mean over the subject of what each trial knows; `None` if none does.
    pub(super) fn mean(&self, part: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
        mean(self.subject().into_iter().filter_map(part))
    }

    /// Mean rate over the subject, bit/s of L4 payload; zero if no trial knows it.
    pub(super) fn mean_rate(&self, rate: impl Fn(&Trial) -> Option<BitRate>) -> f64 {
        let mean = self.mean(|trial| Some(rate(trial)?.as_f64()));
        mean.unwrap_or(0.0)
    }

    /// Highest rate of any trial, bit/s of L4 payload; `None` if none knows it.
    pub(super) fn highest_rate(&self, rate: impl Fn(&Trial) -> Option<BitRate>) -> Option<f64> {
        let known = self.trials.iter().filter_map(|trial| rate(trial));
        known.max().map(BitRate::as_f64)
    }

    /// Highest received rate, or the highest offered one where the receiver's is not known; bit/s of L4 payload.
    pub(super) fn carried(&self) -> f64 {
        let carried = self.highest_rate(|trial| trial.received_rate.or(trial.offered_load));
        carried.unwrap_or(0.0)
    }

    /// Highest intended load at which nothing gave way.
    pub(super) fn highest_relaxed(&self) -> Option<BitRate> {
        let relaxed = self.relaxed();
        relaxed.iter().filter_map(|trial| trial.intended_load).max()
    }

    /// The highest load that arrived whole, where every load from some higher one on lost packets; `None` where a lower load
    /// lost some too, or nothing was lost.
    pub(super) fn carried_below_loss(&self) -> Option<BitRate> {
        let loads = |is_whole: bool| {
            let trials = self.trials.iter().filter(move |trial| {
                let loss = trial.loss_ratio().map(linerate_model::Ratio::get);
                loss.is_some_and(|loss| (loss <= LITTLE) == is_whole)
            });
            trials.filter_map(|trial| load(trial))
        };
        let whole = loads(true).max_by(f64::total_cmp)?;
        let lossy = loads(false).min_by(f64::total_cmp)?;
        (whole < lossy).then(|| BitRate::from_f64(whole))
    }

    /// What was intended, as a multiple of what arrived, where all trials were made at one load; `None` of a search, whose
    /// experiments have loads of their own.
    pub(crate) fn reach(&self) -> Option<f64> {
        let intended = self.trials.iter().map(|trial| trial.intended_load);
        let mut intended = intended.collect::<Option<Vec<_>>>()?.into_iter();
        let load = intended
            .next()
            .filter(|_| self.run.kind() != RunKind::Saturate)?;
        let received = self.highest_rate(|trial| trial.received_rate)?;
        (received > 0.0 && intended.all(|other| other == load)).then(|| load.as_f64() / received)
    }

    /// Mean of a TCP figure over the subject.
    pub(super) fn tcp(&self, part: impl Fn(&TcpSummary) -> Option<f64>) -> Option<f64> {
        self.mean(|trial| part(trial.tcp()?))
    }

    /// Share of the time that `side`'s busiest traffic thread ran or waited for a core; absent also
    /// when threads poll.
    pub(super) fn thread_load(&self, side: Side) -> Option<f64> {
        if self.spins() {
            return None;
        }
        self.mean(|trial| thread_load_in(trial, side))
    }

    /// MTU of the interface of `side`, in bytes, from the facts of its host.
    pub(super) fn mtu(&self, side: Side) -> Option<u64> {
        let direction = self.trials.first()?.direction;
        let host = self.run.host_of(direction, side);
        let host = host.filter(|_| direction != Direction::Duplex)?;
        host.facts.mtu_bytes.map(ByteCount::get)
    }

    /// Speed of the slower of the two test interfaces in bit/s at L1, from facts, gauges or configuration.
    pub(super) fn link_speed(&self) -> Option<f64> {
        link_speed(self.run)
    }
}

/// The lowest and the highest value; `None` of nothing.
pub(super) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values: Vec<f64> = values.collect();
    let lowest = values.iter().copied().min_by(f64::total_cmp)?;
    let highest = values.into_iter().max_by(f64::total_cmp)?;
    Some((lowest, highest))
}

/// The load that a trial was made at: intended, or what was offered if none was.
pub(super) fn load(trial: &Trial) -> Option<f64> {
    trial
        .intended_load
        .or(trial.offered_load)
        .map(BitRate::as_f64)
}

/// Whether the sender offered clearly less than intended; one packet more or less is not clear.
pub(super) fn is_short(trial: &Trial) -> bool {
    let (Some(intended), Some(offered)) = (trial.intended_load, trial.offered_load) else {
        return false;
    };
    // A rounded figure is short only if all that it may stand for is.
    let offered = trial
        .rounding(linerate_model::Quantity::OfferedRate)
        .map_or(offered.as_f64(), |rounding| rounding.high);
    let packet = trial
        .payload_bytes
        .zip(trial.duration)
        .and_then(|(bytes, time)| BitRate::from_bytes(bytes, time))
        .map_or(0.0, BitRate::as_f64);
    intended.as_f64() - offered > intended.as_f64() * SHORT_RATIO + 2.0 * packet
}

/// Whether a paced load arrived more slowly than it was offered: a queue filled during the trial.
fn is_behind(trial: &Trial) -> bool {
    // Twice what three digits of a log and a path's own delay can hide.
    const BEHIND_RATIO: f64 = 0.02;
    let rates = trial.offered_load.zip(trial.received_rate);
    trial.intended_load.is_some()
        && rates.is_some_and(|(offered, received)| {
            received.as_f64() < offered.as_f64() * (1.0 - BEHIND_RATIO)
        })
}

/// Share of `trial` in which `side`'s busiest traffic thread ran or waited for a core.
fn thread_load_in(trial: &Trial, side: Side) -> Option<f64> {
    let cpu = trial.cpu_of(side)?;
    let waited = cpu.run_delay_ratio.map_or(0.0, linerate_model::Ratio::get);
    Some((cpu.thread_ratio?.get() + waited).min(1.0))
}
