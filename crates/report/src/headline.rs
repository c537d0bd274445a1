//! A run's result in one line or two: the figure that people ask for first.

use crate::charts::{bounds, bounds_in, goal_name};
use crate::connections;
use crate::curve::{LoadCurve, LoadPoint, load_curves, seen};
pub(crate) use crate::figures::Headline;
use crate::figures::{Value, between, nanos, per_second, percent, rate, significant};
use crate::words;
use linerate_model::run::{GoalResult, Run, RunKind, Trial, TrialWork};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, Quantity};
use std::time::Duration;

/// The results of one run, its parts not included; empty when it measured nothing.
pub(crate) fn headlines(run: &Run) -> Vec<Headline> {
    match run.kind() {
        RunKind::Demo | RunKind::Study | RunKind::Switch => Vec::new(),
        RunKind::Latency => latency(run),
        _ if connections::is_of(run) => connections::headline(run).into_iter().collect(),
        RunKind::Saturate if !run.goals().is_empty() => goals(run),
        _ if load_curves(run).is_empty() => rates(run),
        RunKind::Saturate | RunKind::Tcp | RunKind::Udp => peaks(run),
    }
}

/// What spoilt a run without a valid trial: there is no figure, and nothing to limit.
pub(crate) fn spoilt(run: &Run) -> Option<&str> {
    let no_figure = run.goals().is_empty() && run.trials.iter().all(|trial| !trial.valid);
    let first = run.trials.first().filter(|_| no_figure)?;
    first.reasons.first().map(String::as_str)
}

/// The outage that a run had, where its verdict is on something else: no figure of the whole is to be read without it.
pub(crate) fn outage_beside(run: &Run) -> Option<String> {
    const OUTAGE: &str = "outage";
    let is_verdict = run
        .verdict
        .as_ref()
        .is_some_and(|verdict| verdict.limit.id() == OUTAGE);
    // A search repeats the trial.
    if is_verdict || !run.goals().is_empty() {
        return None;
    }
    let mut findings = run.findings.iter().filter(|finding| finding.rule == OUTAGE);
    let claim = findings.find_map(|finding| Some(&finding.found()?.claim));
    let found = claim.map(|claim| words::lower(claim.trim_end_matches('.')));
    found.or_else(|| run.trials.iter().find_map(silence))
}

/// Seconds in which nothing arrived, whoever was why: a thread that waited for a core, a sender that paused.
fn silence(trial: &Trial) -> Option<String> {
    /// Shorter ones are the ends of a test, and single intervals.
    const LEAST: Duration = Duration::from_secs(2);
    let is_one_way = matches!(
        trial.work,
        TrialWork::ByteStream(_) | TrialWork::Datagrams(_)
    );
    if !is_one_way || !trial.valid {
        return None;
    }
    let mut longest: Option<(Duration, Duration)> = None;
    let mut now: Option<(Duration, Duration)> = None;
    for (interval, rate) in trial.carried_by_interval() {
        now = match (now, rate.bps()) {
            (Some((start, _)), 0) => Some((start, interval.end)),
            (None, 0) => Some((interval.start, interval.end)),
            _ => None,
        };
        let length = |time: Option<(Duration, Duration)>| {
            time.map_or(Duration::ZERO, |(start, end)| end.saturating_sub(start))
        };
        if length(now) > length(longest) {
            longest = now;
        }
    }
    let (start, end) = longest.filter(|(start, end)| end.saturating_sub(*start) >= LEAST)?;
    let seconds = |time: Duration| significant(time.as_secs_f64(), 3);
    Some(format!(
        "nothing arrived from {} s to {} s",
        seconds(start),
        seconds(end)
    ))
}

/// Whether each of the results is of another load, and none more the run's than the others.
pub(crate) fn is_by_load(run: &Run) -> bool {
    let is_rate = matches!(run.kind(), RunKind::Tcp | RunKind::Udp);
    is_rate && !connections::is_of(run) && load_curves(run).is_empty()
}

fn goals(run: &Run) -> Vec<Headline> {
    let several = run
        .goals()
        .iter()
        .any(|g| g.direction != run.goals()[0].direction);
    // Goals with the same bounds are said once.
    let same = |one: &GoalResult, next: &GoalResult| {
        (one.direction, bounds(one)) == (next.direction, bounds(next))
    };
    let each = run.goals().chunk_by(same).map(|goals| {
        let (figure, about) = bounds_in(run, &goals[0]);
        let names: Vec<_> = goals.iter().map(goal_name).collect();
        let names = names.join(", and with ");
        Headline {
            figure,
            what: if several {
                format!("with {names}")
            } else {
                format!("{about} with {names}")
            },
            rest: if several {
                words::direction_in(run, goals[0].direction).to_owned()
            } else {
                String::new()
            },
        }
    });
    each.collect()
}

fn peaks(run: &Run) -> Vec<Headline> {
    let curves = load_curves(run);
    curves
        .iter()
        .flat_map(|curve| notable(run, curve))
        .collect()
}

/// The peak of a curve, where it leaves the diagonal, and what is left under overload.
fn notable(run: &Run, curve: &LoadCurve<'_>) -> Vec<Headline> {
    let Some(peak) = curve.peak() else {
        return Vec::new();
    };
    let way = curve.suffix(run);
    let rate_of = |value: f64| rate(BitRate::from_f64(value));
    let received = |point: &LoadPoint<'_>| point.received.as_ref().map_or(0.0, Value::point);
    let mut all = vec![Headline {
        figure: rate_of(received(peak)),
        what: "received at most".to_owned(),
        rest: format!("L4 payload, at {} intended{way}", rate_of(peak.intended)),
    }];
    if let Some(last) = curve.follows_up_to() {
        all.push(Headline {
            figure: rate_of(last.intended),
            what: "intended".to_owned(),
            rest: format!("L4 payload: the highest load received in full{way}"),
        });
    }
    if let Some(end) = curve
        .last()
        .filter(|end| received(end) < 0.97 * received(peak))
    {
        all.push(Headline {
            figure: rate_of(received(end)),
            what: "received under overload".to_owned(),
            rest: format!("L4 payload, at {} intended{way}", rate_of(end.intended)),
        });
    }
    all
}

fn rates(run: &Run) -> Vec<Headline> {
    let mut ways: Vec<_> = run.trials.iter().map(|trial| trial.direction).collect();
    ways.sort_unstable();
    ways.dedup();
    let each = ways.iter().flat_map(|way| {
        let valid = run.trials.iter().filter(|t| t.valid && t.direction == *way);
        let trials: Vec<&Trial> = valid.collect();
        let suffix = if ways.len() > 1 {
            format!(", {}", words::direction_in(run, *way))
        } else {
            String::new()
        };
        of_way(run, &trials, &suffix)
    });
    each.collect()
}

/// The rates of trials of one direction: a mean of those of one load, never over several loads.
fn of_way(run: &Run, trials: &[&Trial], suffix: &str) -> Vec<Headline> {
    let groups = same_load(run, trials);
    if let [one] = groups.as_slice() {
        return mean_rate(one, suffix).into_iter().collect();
    }
    let each = groups.iter().filter_map(|group| {
        let first = group.first()?;
        let at = match (first.intended_load, first.offered_load) {
            (Some(load), _) => format!(" at {} intended", rate(load)),
            // What its datagrams were sent at is the load of a log that shows no command.
            (None, Some(load)) if first.transport == Transport::Udp => {
                format!(" at {} offered", rate(load))
            }
            (None, _) => format!(" ({})", crate::charts::trial_name(run, first)),
        };
        let mut line = mean_rate(group, suffix)?;
        line.what.push_str(&at);
        Some(line)
    });
    let all: Vec<_> = each.collect();
    match all.as_slice() {
        [first, .., last] if all.len() > MOST_LOADS => vec![first.clone(), last.clone()],
        _ => all,
    }
}

/// More loads than these are told by the lowest and the highest.
const MOST_LOADS: usize = 4;

/// The format of tables of results.
const TABLE: &str = "table";

/// Trials by their intended load, in rising order. Of an imported log whose load is not known each test stands by itself:
/// a session of several is as likely one of several loads.
pub(crate) fn same_load<'a>(run: &Run, trials: &[&'a Trial]) -> Vec<Vec<&'a Trial>> {
    // Equal lines of a table are repetitions by its own columns.
    let is_log = run
        .source
        .as_ref()
        .is_some_and(|source| source.format != TABLE);
    let mut groups: Vec<Vec<&Trial>> = Vec::new();
    for trial in trials {
        let is_udp = trial.transport == Transport::Udp;
        let is_unknown = is_log && is_udp && trial.intended_load.is_none();
        let known = groups.iter_mut().find(|group| {
            let first = group.first().and_then(|first| first.intended_load);
            !is_unknown && first == trial.intended_load
        });
        match known {
            Some(group) => group.push(trial),
            None => groups.push(vec![trial]),
        }
    }
    let load = |trial: &Trial| match trial.transport {
        Transport::Udp => trial.intended_load.or(trial.offered_load),
        Transport::Tcp => trial.intended_load,
    };
    groups.sort_by_key(|group| group.first().and_then(|first| load(first)));
    groups
}

/// The mean of the received rate; when no receiver told, of what its TCP acknowledged, or of the offered load.
fn mean_rate(trials: &[&Trial], suffix: &str) -> Option<Headline> {
    let (value, side) = [
        (Quantity::ReceivedRate, "received"),
        (
            Quantity::AcknowledgedRate,
            "acknowledged by the receiver's TCP",
        ),
        (Quantity::OfferedRate, "offered by the sender"),
    ]
    .into_iter()
    .find_map(|(quantity, side)| {
        let all = trials.iter().filter_map(|trial| seen(trial, quantity));
        Some((Value::from_observations(&all.collect::<Vec<_>>())?, side))
    })?;
    let worst = worst_loss(trials).map_or_else(String::new, |loss| format!(", loss {loss}"));
    let unit = crate::figures::Unit::for_rate(value.point() * 2.0);
    let alone = if value.estimate.n == 1 { ", n = 1" } else { "" };
    Some(Headline {
        figure: value.show(unit),
        what: side.to_owned(),
        rest: format!("{}{worst}{alone}{suffix}", trials.first()?.layer),
    })
}

/// The largest loss of any trial, with the interval of one that a log leaves open.
fn worst_loss(trials: &[&Trial]) -> Option<String> {
    let known = trials.iter().filter_map(|trial| {
        let interval = trial.rounding(Quantity::LossRatio);
        Some((trial.loss_ratio()?, interval))
    });
    let (ratio, interval) = known.max_by_key(|(ratio, _)| *ratio)?;
    Some(match interval {
        Some(interval) => {
            let [low, high] =
                [interval.low, interval.high].map(|share| significant(share * 100.0, 3));
            format!("{} %", between(&low, &high))
        }
        None => percent(ratio),
    })
}

/// The rate of requests, or of connections that were opened for one each, where a log tells no more.
fn transactions(run: &Run, trial: &Trial) -> Option<Headline> {
    let rate = trial.received_packet_rate()?;
    let what = match trial.work {
        TrialWork::Connections(_) => "TCP connections opened, answered and closed",
        TrialWork::ClosedLoop(_) => "requests answered",
        _ => return None,
    };
    Some(Headline {
        figure: per_second(rate),
        what: what.to_owned(),
        rest: crate::charts::trial_name(run, trial),
    })
}

fn latency(run: &Run) -> Vec<Headline> {
    let valid = run.trials.iter().filter(|trial| trial.valid);
    let each = valid.filter_map(|trial| {
        let Some(delay) = trial.delay() else {
            return transactions(run, trial);
        };
        let time = |ns: u64| nanos(crate::figures::float(ns));
        let name = crate::charts::trial_name(run, trial);
        // Some imported logs tell only the mean.
        let (what, figure) = match delay.p50_ns {
            Some(median) => ("median", time(median)),
            None => match delay.mean_ns {
                Some(mean) => ("mean", nanos(mean)),
                None => return transactions(run, trial),
            },
        };
        let what = format!("{what} {}", delay.of.as_str());
        let (what, rest) = match delay.p99_ns {
            Some(ns) => (what, format!("p99 {} ({name})", time(ns))),
            None => (format!("{what} ({name})"), String::new()),
        };
        Some(Headline { figure, what, rest })
    });
    let all: Vec<_> = each.collect();
    if all.len() > 4 {
        // A sweep: its ends tell the most.
        return [all.first(), all.last()]
            .into_iter()
            .flatten()
            .cloned()
            .collect();
    }
    all
}
