//! The metrics of a cell: what each repetition says, with what is known of its precision.

use super::Options;
use super::cells::{Cell, CellContent, Repetition};
use crate::repetition::{Units, units};
use crate::statistics::{Confidence, USUAL_CONFIDENCE, quantile_interval, to_f64};
use linerate_model::comparison::{Basis, ComparedCell};
use linerate_model::quantity::{CpuFigure, DelayPart};
use linerate_model::run::{
    Delay, GoalResult, Instance, RepetitionLevel, RunKind, Statistic, Trial, frame_rate,
};
use linerate_model::spec::Side;
use linerate_model::{BitRate, Interval, PacketRate, Quantile, Quantity};

/// One value of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observation {
    pub(super) value: f64,
    pub(super) within: Option<Within>,
    /// How the intervals of the trial scatter.
    pub(super) steadiness: Option<Steadiness>,
}

/// The scatter of a rate from interval to interval of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Steadiness {
    /// Variance of the logarithms.
    pub(super) log_variance: f64,
    /// Degrees of freedom.
    pub(super) freedom: f64,
}

/// What one trial knows of the precision of its own value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Within {
    pub(super) basis: Basis,
    /// At the usual confidence.
    pub(super) own: Interval,
    /// At half the usual error: two of these together make a ratio at the usual confidence.
    pub(super) wide: Interval,
}

/// A metric and what each repetition of a cell says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) metric: Quantity,
    pub(super) values: Vec<Observation>,
    /// Whether they are of the turns of one trial.
    pub(super) of_turns: bool,
}

/// A metric that both cells know.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Both {
    pub(super) metric: Quantity,
    pub(super) a: Vec<Observation>,
    pub(super) b: Vec<Observation>,
    /// Whether a side's are of the turns of one trial.
    pub(super) of_turns: bool,
}

const RATES: [Quantity; 3] = [
    Quantity::ReceivedRate,
    Quantity::OfferedRate,
    Quantity::LossRatio,
];

/// What a metric's key may begin with, for messages.
pub fn known() -> Vec<String> {
    let keys = RATES.map(|rate| rate.key().into_owned());
    let parts = [DelayPart::HalfRoundTrip, DelayPart::AboveSmallest];
    let others = [
        Quantity::ConditionalThroughput.key().into_owned(),
        Quantity::FrameThroughput.key().into_owned(),
        "sender_cpu".to_owned(),
        "receiver_cpu".to_owned(),
    ];
    let parts = parts.map(|part| part.prefix().trim_end_matches('_').to_owned());
    keys.into_iter().chain(parts).chain(others).collect()
}

/// What only counts where its better is missing on a side: the first of each, for the second.
const STAND_INS: [(Quantity, Quantity); 2] = [
    (Quantity::OfferedRate, Quantity::ReceivedRate),
    (
        Quantity::Delay(DelayPart::HalfRoundTrip, Statistic::Mean),
        Quantity::Delay(DelayPart::HalfRoundTrip, Statistic::MEDIAN),
    ),
];

/// The metrics that both know, in the order of the first.
pub(super) fn both(first: Vec<Observed>, second: &[Observed]) -> Vec<Both> {
    let matched = first.into_iter().filter_map(|a| {
        let b = second.iter().find(|b| b.metric == a.metric)?;
        Some(Both {
            metric: a.metric,
            a: a.values,
            b: b.values.clone(),
            of_turns: a.of_turns || b.of_turns,
        })
    });
    let all: Vec<Both> = matched.collect();
    let has = |metric: Quantity| all.iter().any(|both| both.metric == metric);
    let is_stand_in = |both: &&Both| {
        let mut pairs = STAND_INS.iter();
        pairs.any(|(stand_in, better)| both.metric == *stand_in && has(*better))
    };
    let kept = all.iter().filter(|both| !is_stand_in(both));
    kept.cloned().collect()
}

/// Every metric that a cell knows.
pub(super) fn observed(cell: &Cell<'_>, options: &Options) -> Vec<Observed> {
    let all = match &cell.seen {
        CellContent::Goals(goals) => vec![throughput(goals, &cell.key)],
        CellContent::Trials(repetitions) => told(cell.key.kind, &options.quantiles)
            .map(|metric| {
                let turns = turns_of(repetitions, metric);
                let trials = || {
                    let each = repetitions.iter().filter_map(|one| {
                        let seen = together(&one.seen, metric)?;
                        Some((one.instance, seen))
                    });
                    independent(each.collect(), metric)
                };
                Observed {
                    of_turns: turns.is_some(),
                    values: turns.unwrap_or_else(trials),
                    metric,
                }
            })
            .collect(),
    };
    let wanted = |one: &Observed| {
        let (only, key) = (&options.only, one.metric.key());
        only.is_empty() || only.iter().any(|start| key.starts_with(start.as_str()))
    };
    let known = |one: &Observed| !one.values.is_empty();
    all.into_iter()
        .filter(|one| wanted(one) && known(one))
        .collect()
}

/// What each turn says where there is one trial, measured in turns, and turns tell this metric.
fn turns_of(
    repetitions: &[Repetition<'_, Vec<&Trial>>],
    metric: Quantity,
) -> Option<Vec<Observation>> {
    let [one] = repetitions else {
        return None;
    };
    let [trial] = one.seen.as_slice() else {
        return None;
    };
    let Quantity::Delay(DelayPart::HalfRoundTrip, Statistic::Quantile(quantile)) = metric else {
        return None;
    };
    let share = DelayPart::HalfRoundTrip.share_of(trial.delay()?.of)?;
    let turns = trial.turns()?.each.iter();
    let values: Vec<_> = turns
        .filter_map(|turn| turn.at(quantile))
        .map(|nanos| plain(to_f64(nanos) * share))
        .collect();
    (values.len() > 1).then_some(values)
}

/// What is independent: the repetitions, or starts and builds of the peer's program, each with the mean of what was
/// measured with it.
fn independent(seen: Vec<(Option<&Instance>, Observation)>, metric: Quantity) -> Vec<Observation> {
    let is_log = !metric.is_share() && seen.iter().all(|(_, one)| one.value > 0.0);
    let scaled = |value: f64| if is_log { value.ln() } else { value };
    let each = seen.iter().map(|(of, one)| (*of, scaled(one.value)));
    let Units { level, units } = units(&each.collect::<Vec<_>>());
    if level == RepetitionLevel::Run {
        return seen.into_iter().map(|(_, one)| one).collect();
    }
    let mean = |value: f64| if is_log { value.exp() } else { value };
    let means = units.iter().map(|unit| plain(mean(unit.value)));
    means.filter(|one| one.value.is_finite()).collect()
}

/// The value of one repetition: of several trials their mean.
fn together(trials: &[&Trial], metric: Quantity) -> Option<Observation> {
    let seen = trials.iter().filter_map(|trial| observation(trial, metric));
    let seen: Vec<_> = seen.collect();
    match seen.as_slice() {
        [] => None,
        [one] => Some(*one),
        several => {
            let sum: f64 = several.iter().map(|one| one.value).sum();
            Some(plain(sum / to_f64(several.len() as u64)))
        }
    }
}

/// What the trials of a kind of run can tell: of delays the quantiles asked for, and the mean.
fn told(kind: RunKind, quantiles: &[Quantile]) -> impl Iterator<Item = Quantity> {
    let (rates, part, cost) = match kind {
        RunKind::Latency => (
            [].as_slice(),
            DelayPart::HalfRoundTrip,
            CpuFigure::PerTransaction,
        ),
        _ => (
            RATES.as_slice(),
            DelayPart::AboveSmallest,
            CpuFigure::PerByte,
        ),
    };
    let statistics = quantiles.iter().copied().map(Statistic::Quantile);
    let statistics = statistics.chain([Statistic::Mean]);
    let sides = [Side::Sender, Side::Receiver];
    rates
        .iter()
        .copied()
        .chain(statistics.map(move |statistic| Quantity::Delay(part, statistic)))
        .chain(sides.map(|side| Quantity::Cpu(side, cost)))
}

/// What one trial says, with what it knows of the precision.
fn observation(trial: &Trial, metric: Quantity) -> Option<Observation> {
    let value = metric.of(trial).filter(|value| value.is_finite())?;
    let within = match metric {
        Quantity::Delay(part, Statistic::Quantile(quantile)) => {
            let delay = trial.delay()?;
            within_trial(delay, quantile, part.share_of(delay.of)?)
        }
        Quantity::ReceivedRate | Quantity::OfferedRate => {
            trial.rounding(metric).map(|interval| Within {
                basis: Basis::Rounding,
                own: *interval,
                wide: *interval,
            })
        }
        _ => None,
    };
    let is_received = metric == Quantity::ReceivedRate;
    Some(Observation {
        value,
        within,
        steadiness: is_received.then(|| steadiness(trial)).flatten(),
    })
}

/// How the received rate, else the offered one, scatters from interval to interval. The first is left out, in which TCP may start slowly, and
/// the last, which may be a part of one.
fn steadiness(trial: &Trial) -> Option<Steadiness> {
    let inner = trial
        .intervals
        .get(1..trial.intervals.len().checked_sub(1)?)?;
    let logs: Option<Vec<f64>> = inner
        .iter()
        .map(|interval| {
            let rate = interval.received_rate.or(interval.offered_load)?.as_f64();
            (rate > 0.0).then(|| rate.ln())
        })
        .collect();
    let logs = logs.filter(|logs| logs.len() > 1)?;
    let count = to_f64(logs.len() as u64);
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Some(Steadiness {
        log_variance: squares / (count - 1.0),
        freedom: count - 1.0,
    })
}

const fn plain(value: f64) -> Observation {
    Observation {
        value,
        within: None,
        steadiness: None,
    }
}

/// In which interval a quantile of `share` of each delay lies by the order of the delays.
fn within_trial(delay: &Delay, quantile: Quantile, share: f64) -> Option<Within> {
    let histogram = delay.histogram.as_ref();
    let histogram = histogram.filter(|histogram| !histogram.is_empty())?;
    let interval = |confidence| {
        let all = quantile_interval(histogram, quantile.0.get(), confidence)?;
        Some(Interval::new(all.low * share, all.high * share))
    };
    let half_error = Confidence::new(f64::midpoint(USUAL_CONFIDENCE.get(), 1.0));
    Some(Within {
        basis: Basis::WithinTrial,
        own: interval(USUAL_CONFIDENCE)?,
        wide: interval(half_error?)?,
    })
}

/// The conditional throughput of a goal, within its bounds; of a device in frames.
fn throughput(goals: &[Repetition<'_, &GoalResult>], key: &ComparedCell) -> Observed {
    let frame = key.payload_bytes.filter(|_| key.kind == RunKind::Switch);
    let in_frames = |rate| frame_rate(rate, frame?).map(PacketRate::pps);
    let scaled = |rate: BitRate| in_frames(rate).unwrap_or(rate.as_f64());
    let values = goals.iter().filter_map(|Repetition { instance, seen }| {
        let rate = scaled(seen.conditional_throughput?);
        let bounds = seen.lower_bound.zip(seen.upper_bound);
        let bounds =
            bounds.map(|(low, high)| Interval::new(scaled(low).min(rate), scaled(high).max(rate)));
        let within = bounds.map(|bounds| Within {
            basis: Basis::SearchBounds,
            own: bounds,
            wide: bounds,
        });
        Some((
            *instance,
            Observation {
                within,
                ..plain(rate)
            },
        ))
    });
    let metric = match frame {
        Some(_) => Quantity::FrameThroughput,
        None => Quantity::ConditionalThroughput,
    };
    Observed {
        values: independent(values.collect(), metric),
        metric,
        of_turns: false,
    }
}
