//! What a latency run was made for: how long round trips take, which wait mode is how much faster at what CPU
//! cost, what traffic beside them changed, and where the time goes.

mod modes;
mod point;
mod spent;

use super::evidence::{Delays, Evidence, Need, Overload};
use super::{Case, Cause, clear, not_evaluated, not_recorded, words};
use linerate_model::PacketCount;
use linerate_model::run::{Confidence, Experiment, RuleOutcome, Trial, TrialWork};
use linerate_model::spec::WaitMode;
use modes::Comparison;
use point::Point;

/// Round trips were timed, and none limited the rate of the others.
pub(crate) static CAUSE: Cause = Cause {
    id: "round-trip",
    name: "none looked for: round trips were timed",
    summary: "Round trips were timed: which wait mode is faster, at what CPU cost, and where the time goes.",
    needs: &[Need::RoundTrips],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if !evidence.is_latency() {
        return clear("rates were measured, not round trips");
    }
    let trials = evidence.trials();
    if trials.is_empty() {
        return not_evaluated("the run has no trial");
    }
    if trials.iter().any(|trial| trial.in_band().is_some()) {
        return clear("TCP streams filled the path on purpose, beside the probes");
    }
    if let Some(overload) = Overload::from_evidence(evidence) {
        return clear(overload.describe());
    }
    if let Some(trial) = trials.iter().find(|trial| is_short_of_answers(trial)) {
        let unanswered = unanswered(trial);
        return clear(format!(
            "{} requests got no answer",
            words::count(unanswered)
        ));
    }
    let points: Vec<Point<'_>> = trials
        .iter()
        .filter_map(|trial| Point::from_trial(trial))
        .collect();
    let case = Answer::from_points(&points).map(|answer| answer.case(&points));
    match case.or_else(|| means(trials)) {
        Some(case) => CAUSE.found(case),
        None => not_recorded(&[Need::RoundTrips]),
    }
}

/// What a log tells that has no quantiles.
fn means(trials: &[&Trial]) -> Option<Case> {
    let each = trials.iter().filter_map(|trial| {
        let (what, mean) = match trial.delay() {
            Some(delay) => (point::timed(delay.of), delay.mean_ns?),
            None => (
                "time of a connection, from its opening to its answer,",
                of_connection(trial)?,
            ),
        };
        let name = match trial.label.as_ref().filter(|_| trials.len() > 1) {
            Some(label) => format!(" in “{label}”"),
            None => String::new(),
        };
        Some(format!("the mean {what} is {}{name}", words::time(mean)))
    });
    let said = each.collect::<Vec<_>>().join(", ");
    (!said.is_empty()).then(|| Case {
        share: None,
        confidence: Confidence::Supported,
        claim: words::capital(&said) + ".",
        evidence: Vec::new(),
        experiment: Experiment::in_words(
            "measure with `linerate latency`",
            "it times each round trip: a mean hides those that take long",
        ),
    })
}

/// Mean time of a connection, where each began when the one before had been answered, in nanoseconds.
fn of_connection(trial: &Trial) -> Option<f64> {
    let is_one_by_one = matches!(trial.work, TrialWork::Connections(_)) && trial.streams == Some(1);
    let rate = trial.received_packet_rate().filter(|_| is_one_by_one)?;
    (rate.pps() > 0.0).then(|| 1e9 / rate.pps())
}

/// Requests at a rate to which no answer came, more than a stray datagram's worth: the rate, not the round trip, is
/// then what the run tells. One message at a time has no rate; what it lost is said beside the answer.
fn is_short_of_answers(trial: &Trial) -> bool {
    let sent = trial.packets().and_then(|packets| packets.sent);
    let sent = sent.map_or(0, PacketCount::get);
    trial.requests().is_some() && unanswered(trial) * STRAY > sent
}

/// One of so many requests may be lost without being what the run is about.
const STRAY: u64 = 1000;

fn unanswered(trial: &Trial) -> u64 {
    let lost = trial.packets().and_then(|packets| packets.lost);
    lost.map_or(0, PacketCount::get)
}

/// What is said first.
enum Answer<'a> {
    /// One way to wait against the others.
    Modes(Comparison<'a>),
    /// With other traffic on the path, against without.
    Queue(&'a Point<'a>, &'a Point<'a>),
    /// The fastest and the slowest, which differ in size or rate.
    Range(&'a Point<'a>, &'a Point<'a>),
    /// One figure.
    One(&'a Point<'a>),
}

impl<'a> Answer<'a> {
    fn from_points(points: &'a [Point<'a>]) -> Option<Self> {
        let plain = || points.iter().filter(|point| !point.is_stamped);
        if let Some(comparison) = Comparison::of_first_alike(points) {
            return Some(Self::Modes(comparison));
        }
        if let Some((quick, slow)) = queue(points) {
            return Some(Self::Queue(quick, slow));
        }
        let fastest = plain().min_by(|a, b| a.p50.total_cmp(&b.p50))?;
        let slowest = plain().max_by(|a, b| a.p50.total_cmp(&b.p50))?;
        if std::ptr::eq(fastest, slowest) {
            Some(Self::One(fastest))
        } else {
            Some(Self::Range(fastest, slowest))
        }
    }

    fn case(&self, points: &[Point<'_>]) -> Case {
        let (claim, confidence) = match self {
            Self::Modes(comparison) => (comparison.claim(), comparison.confidence()),
            Self::Queue(quick, slow) => (queue_claim(quick, slow), Confidence::Supported),
            Self::Range(low, high) => {
                let (quick, slow) = (low.quantiles(), high.quantiles());
                let claim = format!(
                    "The median {} is {quick} in {}, and {slow} in {}.",
                    low.what(),
                    low.name(),
                    high.name()
                );
                (claim, Confidence::Supported)
            }
            Self::One(point) => {
                let claim = format!("The median {} is {}.", point.what(), point.quantiles());
                (claim, Confidence::Supported)
            }
        };
        Case {
            share: None,
            confidence,
            claim,
            evidence: self.evidence(points),
            experiment: further(points),
        }
    }

    fn evidence(&self, points: &[Point<'_>]) -> Vec<String> {
        let mut said = Vec::new();
        if let Self::Modes(comparison) = self {
            said.extend(comparison.others());
        }
        said.extend(spent::where_time_goes(points));
        if !matches!(self, Self::Queue(..)) {
            said.extend(queue(points).map(|(quick, slow)| queue_claim(quick, slow)));
        }
        if let Self::Modes(comparison) = self {
            said.extend(comparison.of_other_sizes(points));
        }
        said.extend(points.iter().filter_map(|point| {
            let missing = unanswered(point.trial);
            let sent = point.trial.packets()?.sent?.get();
            (missing > 0).then(|| {
                format!(
                    "In {}, {} of {} messages got no answer; their time is not among these.",
                    point.name(),
                    words::count(missing),
                    words::count(sent)
                )
            })
        }));
        said
    }
}

/// The two points that show a queue best: they differ in what else there was on the path, and in nothing else.
/// Another size, another way to wait or another rate takes its own time, without any queue.
fn queue<'a>(points: &'a [Point<'a>]) -> Option<(&'a Point<'a>, &'a Point<'a>)> {
    let pairs = points.iter().filter(|p| !p.is_loaded()).flat_map(|quick| {
        let beside = points
            .iter()
            .filter(|slow| slow.is_loaded() && slow.is_like(quick));
        beside.map(move |slow| (quick, slow))
    });
    let standing = pairs.filter(|(quick, slow)| {
        let delays = Delays {
            base: quick.p50,
            loaded: slow.p50,
        };
        delays.queue_stands()
    });
    standing.max_by(|a, b| (a.1.p50 - a.0.p50).total_cmp(&(b.1.p50 - b.0.p50)))
}

fn queue_claim(quick: &Point<'_>, slow: &Point<'_>) -> String {
    format!(
        "The median {} rises from {} at rest to {} in {}: a queue stands in the way.",
        quick.what(),
        quick.quantiles(),
        slow.quantiles(),
        slow.name()
    )
}

/// What the run leaves open that another option answers.
fn further(points: &[Point<'_>]) -> Experiment {
    let waits = |wait| points.iter().any(|point| point.waits(wait));
    if waits(WaitMode::Block) && !waits(WaitMode::Spin) {
        return Experiment::in_words(
            "measure with `--wait block,spin`",
            "what spinning takes off is sleeping and waking up",
        );
    }
    if !points.iter().any(|point| point.is_stamped) {
        return Experiment::in_words(
            "measure with `--decompose`",
            "the kernel's stamps take each round trip apart",
        );
    }
    if points.iter().any(Point::is_loaded) {
        return Experiment::in_words(
            "measure with `--curve`",
            "it finds the rate of requests from which on they wait for each other",
        );
    }
    Experiment::in_words(
        "measure with `--load tcp`",
        "what rises under load waits in a shared queue",
    )
}
