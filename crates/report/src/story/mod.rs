//! What a report says first, of one run or of many: a title, one sentence, a few figures, the path.
//!
//! Chooses and words what the runs hold; bounds, means and verdicts are theirs.

mod delay;
mod devices;
mod rates;

pub(crate) use rates::{SideBySide, of_run};

use crate::connections;
use crate::figures::{BigFigure, Headline};
use crate::headline::{outage_beside, spoilt};
use crate::path::PathPicture;
use crate::words;
use devices::Forwarded;
use linerate_model::run::{HostRole, Run, RunKind, Trial};
use linerate_model::spec::Direction;

/// The first screen of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Story {
    /// The conclusion.
    pub(crate) sentence: String,
    /// At most [`MAX_FIGURES`].
    pub(crate) figures: Vec<BigFigure>,
    /// At most one for each direction.
    pub(crate) paths: Vec<PathPicture>,
    /// The runs that the sentence is about, by their place among the leaves.
    pub(crate) with_result: Vec<usize>,
}

/// More large figures than this are a table.
const MAX_FIGURES: usize = 4;

/// The story of some runs.
pub(crate) fn story(runs: &[Run]) -> Story {
    if let [run] = runs
        && let Some(compared) = run.findings().and_then(crate::study::compared)
    {
        // A mean over all that was compared, or the path of one of them, would be nobody's.
        return Story {
            sentence: compared.sentence,
            figures: compared.figures.into_iter().take(MAX_FIGURES).collect(),
            paths: Vec::new(),
            with_result: Vec::new(),
        };
    }
    let leaves = leaves(runs);
    let rates = rates::by_direction(&leaves);
    if let Some(Forwarded { sentence, figures }) = devices::forwarded(runs, &rates) {
        return Story {
            sentence,
            figures,
            paths: paths(&leaves, &rates),
            with_result: Vec::new(),
        };
    }
    let delay = delay::fastest_and_slowest(&leaves);
    let mut clauses = rates::clauses(&rates);
    if let [run] = leaves.as_slice() {
        clauses.extend(outage_beside(run));
    }
    clauses.extend(delay.iter().map(|story| story.clause.clone()));
    let counted = leaves.iter().filter_map(|run| connections::headline(run));
    let counted: Vec<_> = counted.collect();
    let clause_of = |one: &Headline| format!("{} {}", one.figure, one.about());
    clauses.extend(counted.iter().map(clause_of));
    let sentence = sentence(&clauses, &leaves);
    let has_result = |run: &Run| {
        let mut carrying = rates.iter().flat_map(|one| &one.runs);
        carrying.any(|one| std::ptr::eq(*one, run))
            || run.kind() == RunKind::Latency
            || connections::is_of(run)
    };
    let places = leaves.iter().enumerate().filter(|(_, run)| has_result(run));
    let with_result = places.map(|(place, _)| place).collect();
    let figures = rates.iter().map(rates::figure);
    let delays = delay.into_iter().flat_map(|story| story.figures);
    let counted = counted.into_iter().map(|one| BigFigure {
        about: one.about(),
        value: one.figure,
        interval: None,
    });
    Story {
        sentence,
        figures: figures
            .chain(delays)
            .chain(counted)
            .take(MAX_FIGURES)
            .collect(),
        paths: paths(&leaves, &rates),
        with_result,
    }
}

/// The clauses as a sentence; without any, why there is no result.
fn sentence(clauses: &[String], leaves: &[&Run]) -> String {
    if !clauses.is_empty() {
        return opened(&clauses.join("; ")) + ".";
    }
    let why = leaves.iter().find_map(|run| spoilt(run));
    why.map_or_else(
        || "No result was recorded.".to_owned(),
        |why| format!("No result: {why}."),
    )
}

/// With a capital letter, unless it begins with a host's name.
fn opened(sentence: &str) -> String {
    let own = ["client ", "server ", "the "];
    if own.iter().any(|word| sentence.starts_with(word)) {
        return crate::charts::capital(sentence);
    }
    sentence.to_owned()
}

/// The runs that have trials of their own, in order.
pub(crate) fn leaves(runs: &[Run]) -> Vec<&Run> {
    let mut all = Vec::new();
    for run in runs {
        if run.parts().is_empty() {
            all.push(run);
        } else {
            all.extend(leaves(run.parts()));
        }
    }
    all
}

/// The pictures that explain the rates, of runs with the limit that is said; of runs without any rate, that of the slowest
/// round trips.
fn paths(leaves: &[&Run], rates: &[rates::DirectionRate<'_>]) -> Vec<PathPicture> {
    let of_rates = rates
        .iter()
        .filter_map(|rated| picture(&rated.agreeing(), rated.direction));
    let pictures: Vec<_> = of_rates.collect();
    if !pictures.is_empty() {
        return pictures;
    }
    let exchanged = leaves.iter().filter(|run| run.kind() == RunKind::Latency);
    let exchanged: Vec<&Run> = exchanged.copied().collect();
    picture(&exchanged, Direction::Forward)
        .into_iter()
        .collect()
}

/// The picture of the trial that tells most: of those that lost packets the one with the highest received rate, else
/// that one of all.
fn picture(runs: &[&Run], direction: Direction) -> Option<PathPicture> {
    let all = runs
        .iter()
        .flat_map(|run| run.trials.iter().map(move |trial| (*run, trial)));
    let valid: Vec<(&Run, &Trial)> = all
        .filter(|(_, trial)| trial.valid && trial.direction == direction)
        .collect();
    let lossy = |trial: &Trial| trial.loss_ratio().is_some_and(|loss| loss.get() > 0.0);
    let any = valid.iter().any(|(_, trial)| lossy(trial));
    let fit = valid.iter().filter(|(_, trial)| !any || lossy(trial));
    let (run, trial) = fit.max_by_key(|(_, trial)| trial.received_rate)?;
    let why = match (valid.len(), any) {
        (1, _) => "the only trial this way".to_owned(),
        (n, true) => {
            format!("of {n} trials the one that lost packets at the highest received rate")
        }
        (n, false) => format!("the highest received rate of {n} trials; none lost packets"),
    };
    Some(PathPicture::new(run, trial, &why))
}

/// Both hosts of all these runs, if they are the same; `None` without any run.
pub(crate) fn hosts(leaves: &[&Run]) -> Option<String> {
    let mut all = leaves.iter().map(|run| way(run, Direction::Duplex));
    let first = all.next()?;
    Some(if all.all(|other| other == first) {
        first
    } else {
        "several hosts".to_owned()
    })
}

/// `client → server` with the hosts' names; `port A → port B` of a device.
pub(crate) fn way(run: &Run, direction: Direction) -> String {
    if run.is_of_mesh() {
        return words::EACH_TO_ALL.to_owned();
    }
    if run.is_of_device() {
        return match direction {
            Direction::Duplex => "port A ↔ port B".to_owned(),
            one => words::between_ports(one).to_owned(),
        };
    }
    let client = words::host(run, HostRole::Client);
    let server = words::host(run, HostRole::Server);
    match direction {
        Direction::Forward => format!("{client} → {server}"),
        Direction::Reverse => format!("{server} → {client}"),
        Direction::Duplex => format!("{client} ↔ {server}"),
    }
}

/// The title of a report that its user gave none: that of a single run, else hosts and date.
pub fn title(runs: &[Run]) -> String {
    if let [run] = runs
        && let Some(title) = &run.title
    {
        return title.clone();
    }
    let leaves = leaves(runs);
    let Some(hosts) = hosts(&leaves) else {
        return "No runs".to_owned();
    };
    let started = runs.iter().find_map(|run| run.started.as_ref());
    let day = started.map_or_else(String::new, |started| {
        let text = started.to_string();
        format!(", {}", text.split('T').next().unwrap_or_default())
    });
    match runs.len() {
        1 => format!("{hosts}{day}"),
        n => format!("{hosts}{day}: {n} runs"),
    }
}
