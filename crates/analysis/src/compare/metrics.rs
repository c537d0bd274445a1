//! The metrics of a cell: what each repetition says, with what is known of its precision.

use super::Options;
use super::cells::{Cell, Repetition, Seen};
use crate::repetition::{Units, units};
use crate::statistics::{Confidence, USUAL_CONFIDENCE, quantile_interval, to_f64};
use linerate_model::comparison::{Basis, BetterWhen};
use linerate_model::run::{
    CpuSide, Delay, DelayOf, GoalResult, Instance, RepetitionLevel, RunKind, Trial,
};
use linerate_model::{BitRate, Interval, Quantile, Ratio};

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

/// How a difference of a metric is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    /// B − A against the threshold of losses.
    Loss,
    /// B / A against the relative threshold.
    Ratio,
}

/// What a metric is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metric {
    pub(super) id: String,
    pub(super) words: String,
    pub(super) better: BetterWhen,
    pub(super) scale: Scale,
    /// Of delay, if it is that.
    quantile: Option<Quantile>,
}

/// A metric and what each repetition of a cell says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Observed {
    pub(super) metric: Metric,
    pub(super) values: Vec<Observation>,
    /// Whether they are of the turns of one trial.
    pub(super) of_turns: bool,
}

/// A metric that both cells know.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Both {
    pub(super) metric: Metric,
    pub(super) a: Vec<Observation>,
    pub(super) b: Vec<Observation>,
    /// Whether a side's are of the turns of one trial.
    pub(super) of_turns: bool,
}

type Get<'a> = Box<dyn Fn(&Trial) -> Option<Observation> + 'a>;

/// Ids that a metric may begin with, for messages.
pub fn known() -> &'static [&'static str] {
    &[
        "received_bps",
        "offered_bps",
        "loss_ratio",
        "half_round_trip",
        "delay_above_smallest",
        "conditional_throughput_bps",
        "sender_cpu",
        "receiver_cpu",
    ]
}

/// What only counts where its better is missing on a side: the first of each, for the second.
const STAND_INS: [(&str, &str); 2] = [
    ("offered_bps", "received_bps"),
    ("half_round_trip_mean_ns", "half_round_trip_p50_ns"),
];

/// The metrics that both know, in the order of the first.
pub(super) fn both(first: Vec<Observed>, second: &[Observed]) -> Vec<Both> {
    let matched = first.into_iter().filter_map(|a| {
        let b = second.iter().find(|b| b.metric.id == a.metric.id)?;
        Some(Both {
            metric: a.metric,
            a: a.values,
            b: b.values.clone(),
            of_turns: a.of_turns || b.of_turns,
        })
    });
    let all: Vec<Both> = matched.collect();
    let has = |id: &str| all.iter().any(|both| both.metric.id == id);
    let is_stand_in = |both: &Both| {
        let mut pairs = STAND_INS.iter();
        pairs.any(|(stand_in, better)| both.metric.id == *stand_in && has(better))
    };
    let kept = all.iter().filter(|both| !is_stand_in(both));
    kept.cloned().collect()
}

/// Every metric that a cell knows.
pub(super) fn observed(cell: &Cell<'_>, options: &Options) -> Vec<Observed> {
    let all = match &cell.seen {
        Seen::Goals(goals) => vec![throughput(goals)],
        Seen::Trials(repetitions) => gets(cell.key.kind, options)
            .into_iter()
            .map(|(metric, get)| {
                let turns = turns_of(repetitions, &metric);
                let trials = || {
                    let each = repetitions.iter().filter_map(|one| {
                        let seen = together(&one.seen, &get)?;
                        Some((one.instance, seen))
                    });
                    independent(each.collect(), metric.scale)
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
        let only = &options.only;
        only.is_empty()
            || only
                .iter()
                .any(|start| one.metric.id.starts_with(start.as_str()))
    };
    let known = |one: &Observed| !one.values.is_empty();
    all.into_iter()
        .filter(|one| wanted(one) && known(one))
        .collect()
}

/// What each turn says where there is one trial, measured in turns, and turns tell this metric.
fn turns_of(
    repetitions: &[Repetition<'_, Vec<&Trial>>],
    metric: &Metric,
) -> Option<Vec<Observation>> {
    let [one] = repetitions else {
        return None;
    };
    let [trial] = one.seen.as_slice() else {
        return None;
    };
    let quantile = metric.quantile?;
    let share = half_round_trip(trial.delay()?.of)?;
    let turns = trial.turns()?.each.iter();
    let values: Vec<_> = turns
        .filter_map(|turn| turn.at(quantile))
        .filter_map(|nanos| plain(Some(to_f64(nanos) * share)))
        .collect();
    (values.len() > 1).then_some(values)
}

/// What is independent: the repetitions, or starts and builds of the peer's program, each with the mean of what was
/// measured with it.
fn independent(seen: Vec<(Option<&Instance>, Observation)>, scale: Scale) -> Vec<Observation> {
    let is_log = scale == Scale::Ratio && seen.iter().all(|(_, one)| one.value > 0.0);
    let scaled = |value: f64| if is_log { value.ln() } else { value };
    let each = seen.iter().map(|(of, one)| (*of, scaled(one.value)));
    let Units { level, units } = units(&each.collect::<Vec<_>>());
    if level == RepetitionLevel::Run {
        return seen.into_iter().map(|(_, one)| one).collect();
    }
    let mean = |value: f64| if is_log { value.exp() } else { value };
    units
        .iter()
        .filter_map(|unit| plain(Some(mean(unit.value))))
        .collect()
}

/// The value of one repetition: of several trials their mean.
fn together(trials: &[&Trial], get: &Get<'_>) -> Option<Observation> {
    let seen: Vec<_> = trials.iter().filter_map(|trial| get(trial)).collect();
    match seen.as_slice() {
        [] => None,
        [one] => Some(*one),
        several => {
            let sum: f64 = several.iter().map(|one| one.value).sum();
            let count = to_f64(several.len() as u64);
            Some(Observation {
                value: sum / count,
                within: None,
                steadiness: None,
            })
        }
    }
}

fn metric(id: impl Into<String>, words: impl Into<String>, better: BetterWhen) -> Metric {
    Metric {
        id: id.into(),
        words: words.into(),
        better,
        scale: Scale::Ratio,
        quantile: None,
    }
}

/// What the trials of a kind of run can tell.
fn gets(kind: RunKind, options: &Options) -> Vec<(Metric, Get<'_>)> {
    let mut all = if kind == RunKind::Latency {
        delays(
            options,
            "half_round_trip",
            "half round trip",
            half_round_trip,
        )
    } else {
        let mut all = rates();
        all.extend(delays(
            options,
            "delay_above_smallest",
            "one-way delay above the smallest",
            above_smallest,
        ));
        all
    };
    all.extend(costs(kind));
    all
}

fn rates<'a>() -> Vec<(Metric, Get<'a>)> {
    let rate = |key: &'static str, get: fn(&Trial) -> Option<BitRate>| -> Get<'a> {
        Box::new(move |trial| {
            let within = trial.rounding(key).map(|interval| Within {
                basis: Basis::Rounding,
                own: *interval,
                wide: *interval,
            });
            let value = get(trial)?.as_f64();
            let steadiness = (key == "received_bps").then(|| steadiness(trial)).flatten();
            Some(Observation {
                value,
                within,
                steadiness,
            })
        })
    };
    let loss = Metric {
        scale: Scale::Loss,
        ..metric("loss_ratio", "loss", BetterWhen::Lower)
    };
    vec![
        (
            metric("received_bps", "received, L4 payload", BetterWhen::Higher),
            rate("received_bps", |trial| trial.received_rate),
        ),
        (
            metric("offered_bps", "offered, L4 payload", BetterWhen::Higher),
            rate("offered_bps", |trial| trial.offered_load),
        ),
        (
            loss,
            Box::new(|trial| plain(trial.loss_ratio().map(Ratio::get))),
        ),
    ]
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

fn plain(value: Option<f64>) -> Option<Observation> {
    let value = value.filter(|value| value.is_finite())?;
    Some(Observation {
        value,
        within: None,
        steadiness: None,
    })
}

/// The part of a round trip that is compared; `None` if something else was timed.
fn half_round_trip(of: DelayOf) -> Option<f64> {
    match of {
        DelayOf::HalfRoundTrip => Some(1.0),
        DelayOf::RoundTrip => Some(0.5),
        _ => None,
    }
}

fn above_smallest(of: DelayOf) -> Option<f64> {
    (of == DelayOf::Pdv).then_some(1.0)
}

/// The quantiles asked for, and the mean.
fn delays<'a>(
    options: &'a Options,
    id: &'static str,
    words: &str,
    share: fn(DelayOf) -> Option<f64>,
) -> Vec<(Metric, Get<'a>)> {
    let quantiles = options.quantiles.iter().map(|quantile| {
        let name = quantile.to_string();
        let key = format!("{id}_{}_ns", name.replace('.', ""));
        let get: Get<'a> = Box::new(move |trial| {
            let delay = trial.delay()?;
            Some(scaled(at_quantile(delay, *quantile)?, share(delay.of)?))
        });
        let metric = Metric {
            quantile: Some(*quantile),
            ..metric(key, format!("{words}, {name}"), BetterWhen::Lower)
        };
        (metric, get)
    });
    let mean: Get<'a> = Box::new(move |trial| {
        let delay = trial.delay()?;
        Some(scaled(plain(delay.mean_ns)?, share(delay.of)?))
    });
    let mean = (
        metric(
            format!("{id}_mean_ns"),
            format!("{words}, mean"),
            BetterWhen::Lower,
        ),
        mean,
    );
    quantiles.chain([mean]).collect()
}

fn scaled(seen: Observation, share: f64) -> Observation {
    let times = |interval: Interval| Interval {
        low: interval.low * share,
        high: interval.high * share,
    };
    Observation {
        value: seen.value * share,
        within: seen.within.map(|within| Within {
            own: times(within.own),
            wide: times(within.wide),
            ..within
        }),
        steadiness: seen.steadiness,
    }
}

/// A quantile as the summary or else the whole distribution has it.
fn at_quantile(delay: &Delay, quantile: Quantile) -> Option<Observation> {
    let q = quantile.0.get();
    let histogram = delay
        .histogram
        .as_ref()
        .filter(|histogram| !histogram.is_empty());
    let value = delay.at(quantile)?;
    let half_error = Confidence::new(f64::midpoint(USUAL_CONFIDENCE.get(), 1.0));
    let within = histogram.and_then(|histogram| {
        Some(Within {
            basis: Basis::WithinTrial,
            own: quantile_interval(histogram, q, USUAL_CONFIDENCE)?,
            wide: quantile_interval(histogram, q, half_error?)?,
        })
    });
    Some(Observation {
        value: to_f64(value),
        within,
        steadiness: None,
    })
}

/// CPU time of the whole host for what moved.
fn costs<'a>(kind: RunKind) -> Vec<(Metric, Get<'a>)> {
    let per_byte: fn(&CpuSide) -> Option<f64> = |side| side.host_ns_per_byte;
    let per_packet: fn(&CpuSide) -> Option<f64> = |side| Some(side.per_packet?.total_ns);
    let (id, words, get) = match kind {
        RunKind::Latency => ("transaction", "transaction", per_packet),
        _ => ("byte", "byte", per_byte),
    };
    let of = |name: &str, end: fn(&Trial) -> Option<&CpuSide>| -> (Metric, Get<'a>) {
        let metric = metric(
            format!("{name}_cpu_ns_per_{id}"),
            format!("CPU time of the {name}'s host per {words}"),
            BetterWhen::Lower,
        );
        (metric, Box::new(move |trial| plain(get(end(trial)?))))
    };
    vec![
        of("sender", |trial| trial.cpu.as_ref()?.sender.as_ref()),
        of("receiver", |trial| trial.cpu.as_ref()?.receiver.as_ref()),
    ]
}

/// The conditional throughput of a goal, within its bounds.
fn throughput(goals: &[Repetition<'_, &GoalResult>]) -> Observed {
    let values = goals.iter().filter_map(
        |Repetition {
             instance,
             seen: goal,
         }| {
            let rate = goal.conditional_throughput?.as_f64();
            let bounds = goal
                .lower_bound
                .zip(goal.upper_bound)
                .map(|(low, high)| Interval {
                    low: low.as_f64().min(rate),
                    high: high.as_f64().max(rate),
                });
            let seen = Observation {
                value: rate,
                within: bounds.map(|bounds| Within {
                    basis: Basis::SearchBounds,
                    own: bounds,
                    wide: bounds,
                }),
                steadiness: None,
            };
            Some((*instance, seen))
        },
    );
    Observed {
        metric: metric(
            "conditional_throughput_bps",
            "conditional throughput, L4 payload",
            BetterWhen::Higher,
        ),
        values: independent(values.collect(), Scale::Ratio),
        of_turns: false,
    }
}
