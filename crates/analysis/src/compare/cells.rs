//! From a run to its cells: the trials that measured one setting, by repetition.

use linerate_model::comparison::ComparedCell;
use linerate_model::run::{GoalResult, Instance, RepetitionLevel, Run, RunKind, Trial};
use linerate_model::spec::Direction;
use std::collections::BTreeMap;

/// One setting and what was measured at it.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) key: ComparedCell,
    /// Whether the source states all of its settings, so that what is absent was not set.
    pub(super) is_own: bool,
    /// Trials or goals of each repetition. Repetitions are what is independent of each other.
    pub(super) seen: CellContent<'a>,
    /// Trials that cannot be trusted, which are in no repetition.
    pub(super) invalid: usize,
}

/// What a cell holds.
#[derive(Debug, Clone)]
pub(super) enum CellContent<'a> {
    Goals(Vec<Repetition<'a, &'a GoalResult>>),
    Trials(Vec<Repetition<'a, Vec<&'a Trial>>>),
}

/// What was measured at once.
#[derive(Debug, Clone)]
pub(super) struct Repetition<'a, T> {
    /// Which start of the peer's program answered, if that is known.
    pub(super) instance: Option<&'a Instance>,
    pub(super) seen: T,
}

/// The cells of a run, in the order in which they were first measured.
pub(super) fn of(run: &Run) -> Vec<Cell<'_>> {
    let mut found = CellCollector::default();
    if run.kind() == RunKind::Study {
        for part in run.parts() {
            let place = part.config.place.as_ref();
            let cell = place.map(|place| place.cell.as_str());
            found.add(part, cell.or(part.title.as_deref()), true);
        }
    } else {
        found.add(run, None, false);
        for part in run.parts() {
            found.add(part, part.title.as_deref(), false);
        }
    }
    found.cells
}

#[derive(Default)]
struct CellCollector<'a> {
    cells: Vec<Cell<'a>>,
}

impl<'a> CellCollector<'a> {
    /// Adds what `run` measured. The trials of one setting are one repetition together if
    /// `is_repetition`, else each is one of its own.
    fn add(&mut self, run: &'a Run, part: Option<&str>, is_repetition: bool) {
        let is_own = run.source.is_none();
        if run.kind() == RunKind::Saturate && !run.goals().is_empty() {
            for goal in run.goals() {
                let key = goal_key(run, part, goal);
                if let CellContent::Goals(goals) = &mut self.cell(key, is_own).seen {
                    goals.push(repetition(run, goal));
                }
            }
            return;
        }
        let mut together: BTreeMap<String, Vec<&'a Trial>> = BTreeMap::new();
        for trial in &run.trials {
            let key = trial_key(run, part, trial);
            let name = key.name.clone();
            let cell = self.cell(key, is_own);
            match &mut cell.seen {
                _ if !trial.valid => cell.invalid += 1,
                CellContent::Trials(_) if is_repetition => {
                    together.entry(name).or_default().push(trial);
                }
                CellContent::Trials(all) => all.push(repetition(run, vec![trial])),
                CellContent::Goals(_) => {}
            }
        }
        for cell in &mut self.cells {
            if let (Some(trials), CellContent::Trials(all)) =
                (together.remove(&cell.key.name), &mut cell.seen)
            {
                all.push(repetition(run, trials));
            }
        }
    }

    fn cell(&mut self, key: ComparedCell, is_own: bool) -> &mut Cell<'a> {
        let at = self.cells.iter().position(|cell| cell.key == key);
        let at = at.unwrap_or_else(|| {
            let seen = if key.goal.is_some() {
                CellContent::Goals(Vec::new())
            } else {
                CellContent::Trials(Vec::new())
            };
            self.cells.push(Cell {
                key,
                is_own,
                seen,
                invalid: 0,
            });
            self.cells.len() - 1
        });
        &mut self.cells[at]
    }
}

fn repetition<T>(run: &Run, seen: T) -> Repetition<'_, T> {
    Repetition {
        instance: run.instance.as_ref(),
        seen,
    }
}

fn goal_key(run: &Run, part: Option<&str>, goal: &GoalResult) -> ComparedCell {
    let delay = goal
        .delay_goal
        .as_ref()
        .map_or_else(String::new, |delay| format!(", {delay}"));
    let trial = run.trials.first();
    named(ComparedCell {
        name: String::new(),
        kind: if run.is_of_device() {
            RunKind::Switch
        } else {
            run.kind()
        },
        part: part.map(str::to_owned),
        transport: trial.map(|trial| trial.transport),
        direction: Some(goal.direction),
        payload_bytes: trial.and_then(|trial| trial.payload_bytes),
        streams: trial.and_then(|trial| trial.streams),
        mode: None,
        intended_load: None,
        goal: Some(format!("loss ≤ {}{delay}", goal.loss_goal)),
    })
}

fn trial_key(run: &Run, part: Option<&str>, trial: &Trial) -> ComparedCell {
    named(ComparedCell {
        name: String::new(),
        kind: run.kind(),
        part: part.map(str::to_owned),
        transport: Some(trial.transport),
        direction: Some(trial.direction),
        payload_bytes: trial.payload_bytes,
        streams: trial.streams,
        mode: mode(run, trial),
        intended_load: trial.intended_load,
        goal: None,
    })
}

/// Wait mode and load of a latency trial: its label without the size. A log of another tool tells neither.
fn mode(run: &Run, trial: &Trial) -> Option<String> {
    if run.kind() != RunKind::Latency || run.source.is_some() {
        return None;
    }
    let label = trial.label.as_deref()?;
    let size = trial.payload_bytes.map(|size| format!("{} B", size.get()));
    let rest = size.as_deref().and_then(|size| label.strip_prefix(size));
    let rest = rest.unwrap_or(label).trim_start_matches(", ").trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The cell with its name in words.
fn named(mut key: ComparedCell) -> ComparedCell {
    let way = |direction| match (key.kind, direction) {
        (RunKind::Switch, Direction::Forward) => "A → B",
        (RunKind::Switch, Direction::Reverse) => "B → A",
        (_, Direction::Forward) => "client → server",
        (_, Direction::Reverse) => "server → client",
        (_, Direction::Duplex) => "both ways",
    };
    // The way of a request and its answer is always there and back.
    let direction = key.direction.filter(|_| key.kind != RunKind::Latency);
    let several = key.streams.filter(|streams| *streams > 1);
    let words = [
        key.part.clone(),
        key.transport.map(|transport| transport.to_string()),
        key.payload_bytes.map(|size| format!("{} B", size.get())),
        key.mode.clone(),
        several.map(|streams| format!("{streams} streams")),
        key.intended_load.map(|load| load.to_string()),
        key.goal.clone(),
        direction.map(|direction| way(direction).to_owned()),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    key.name = if words.is_empty() {
        key.kind.as_str().to_owned()
    } else {
        words.join(", ")
    };
    key
}

impl Cell<'_> {
    /// The cell as it is shown.
    pub(super) fn described(&self) -> ComparedCell {
        self.key.clone()
    }

    /// The setting of both: what this one does not tell, the other does.
    pub(super) fn described_with(&self, other: &Self) -> ComparedCell {
        let (own, other) = (self.key.clone(), other.key.clone());
        named(ComparedCell {
            name: String::new(),
            kind: own.kind,
            part: own.part.or(other.part),
            transport: own.transport.or(other.transport),
            direction: own.direction.or(other.direction),
            payload_bytes: own.payload_bytes.or(other.payload_bytes),
            streams: own.streams.or(other.streams),
            mode: own.mode.or(other.mode),
            intended_load: own.intended_load.or(other.intended_load),
            goal: own.goal.or(other.goal),
        })
    }

    /// What its repetitions are repeated on.
    pub(super) fn level(&self) -> RepetitionLevel {
        let of = |instance| (instance, 0.0);
        let all: Vec<_> = match &self.seen {
            CellContent::Goals(all) => all.iter().map(|one| of(one.instance)).collect(),
            CellContent::Trials(all) => all.iter().map(|one| of(one.instance)).collect(),
        };
        crate::repetition::units(&all).level
    }

    /// Whether anything can be compared.
    pub(super) fn is_empty(&self) -> bool {
        match &self.seen {
            CellContent::Goals(goals) => goals.is_empty(),
            CellContent::Trials(trials) => trials.is_empty(),
        }
    }
}
