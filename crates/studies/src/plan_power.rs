//! What a plan can show before it is run: by the scatter of earlier runs of its cells, where the store has some.

use crate::plan::{Cell, StudyPlan};
use linerate_analysis::study::plan_power::{EarlierScatter, PlannedStudy, earlier_scatter};
use linerate_analysis::study::rounds::MIN_RUNS;
use linerate_model::run::{Run, RunKind, RunRequest, StudySettings};
use linerate_store::{Entry, Store, StoreError};

/// Earlier runs that are looked into, the newest first.
const MAX_LOOKED_AT: usize = 30;
/// Scatter that is assumed where no run tells one.
pub const ASSUMED: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.1];

/// What a plan can show.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPower {
    /// How often each cell is measured; with a budget, at least.
    pub repetitions: u32,
    /// One for each quantity that earlier runs of the cells tell, else one for each of [`ASSUMED`].
    pub rows: Vec<PowerRow>,
}

/// What can be shown where runs of a cell scatter so.
#[derive(Debug, Clone, PartialEq)]
pub struct PowerRow {
    /// Standard deviation from run to run, relative.
    pub deviation: f64,
    /// The runs that it is known by; `None` if it is assumed.
    pub known_by: Option<EarlierScatter>,
    /// The factors, each with its smallest relative main effect that is shown in four of five such studies.
    pub factors: Vec<(String, f64)>,
}

/// What `plan` can show; `None` where nothing is compared or repeated.
pub fn plan_power(
    plan: &StudyPlan,
    store: Option<&Store>,
) -> Result<Option<PlanPower>, StoreError> {
    let repetitions = match plan.budget {
        Some(_) => u32::try_from(MIN_RUNS).unwrap_or(u32::MAX),
        None => plan.repetitions,
    };
    let planned = PlannedStudy {
        series: plan.series.iter().map(|of| of.factors.clone()).collect(),
        repetitions,
        quantities: plan.cells.first().map_or(1, quantities),
    };
    let row = |deviation: f64, known_by: Option<EarlierScatter>| PowerRow {
        deviation,
        known_by,
        factors: plan
            .series
            .iter()
            .enumerate()
            .flat_map(|(number, of)| {
                let factors = of.factors.iter().enumerate();
                factors
                    .filter(|(_, factor)| factor.1 > 1 && !is_load(plan, &factor.0))
                    .filter_map(|(at, (name, _))| {
                        let least = planned.detectable(number, at, deviation)?;
                        Some((of.named(name), least))
                    })
                    .collect::<Vec<_>>()
            })
            .collect(),
    };
    let runs = store.map(|store| earlier(plan, store)).transpose()?;
    let known = earlier_scatter_of(plan, &runs.unwrap_or_default());
    let rows: Vec<PowerRow> = if known.is_empty() {
        ASSUMED.map(|deviation| row(deviation, None)).to_vec()
    } else {
        let each = known.into_iter();
        each.map(|known| row(known.deviation, Some(known)))
            .collect()
    };
    let is_told = rows.iter().any(|row| !row.factors.is_empty());
    Ok(is_told.then_some(PlanPower { repetitions, rows }))
}

/// Whether a factor is the load of what is received, whose effect is no news.
fn is_load(plan: &StudyPlan, factor: &str) -> bool {
    let is_exchange = |cell: &Cell| matches!(cell.test.asked(), RunRequest::Latency { .. });
    matches!(factor, "rate" | "pace") && !plan.cells.iter().any(is_exchange)
}

/// Rates and losses, medians and tails: what effects of a kind of test are tested for together.
fn quantities(cell: &Cell) -> usize {
    match cell.test.asked() {
        RunRequest::Test { test } if test.transport() == linerate_model::spec::Transport::Tcp => 1,
        RunRequest::Test { .. } | RunRequest::Latency { .. } => 2,
        RunRequest::Search { .. }
        | RunRequest::Study(_)
        | RunRequest::Switch(_)
        | RunRequest::Demo(_) => 1,
    }
}

/// The newest runs of the store that may have measured a cell of the plan.
fn earlier(plan: &StudyPlan, store: &Store) -> Result<Vec<Run>, StoreError> {
    let wanted = |kind: RunKind| kind != RunKind::Demo;
    let listed = store.list()?;
    let likely = listed.iter().rev().filter(|listed| match &listed.entry {
        Entry::Run(summary) => wanted(summary.kind),
        Entry::Broken { .. } => false,
    });
    // One that cannot be read, or is gone meanwhile, tells nothing.
    let loaded = likely
        .take(MAX_LOOKED_AT)
        .filter_map(|listed| store.load(&listed.id).ok());
    Ok(loaded.filter(|run| is_of_host(plan, run)).collect())
}

fn is_of_host(plan: &StudyPlan, run: &Run) -> bool {
    let host = plan.peers();
    match &run.config.asked {
        Some(RunRequest::Study(settings)) => settings.host == host,
        _ => run
            .config
            .target
            .as_ref()
            .is_some_and(|target| target.peer == host),
    }
}

/// The scatter within the cells of the plan over those runs that measured the same.
fn earlier_scatter_of(plan: &StudyPlan, runs: &[Run]) -> Vec<EarlierScatter> {
    let of_cell = |cell: &Cell| -> Vec<&Run> {
        let asked = cell.test.asked();
        let same =
            |run: &'_ Run| cell.beside.is_none() && run.config.asked.as_ref() == Some(&asked);
        let parts = |run, settings: &StudySettings| same_parts(run, settings, cell, &asked);
        runs.iter()
            .flat_map(|run| match &run.config.asked {
                Some(RunRequest::Study(settings)) => parts(run, settings),
                _ if same(run) => vec![run],
                _ => Vec::new(),
            })
            .collect()
    };
    let cells: Vec<Vec<&Run>> = plan.cells.iter().map(of_cell).collect();
    earlier_scatter(&cells)
}

/// The parts of a study that measured the same as `cell`, whatever it was called there.
fn same_parts<'a>(
    run: &'a Run,
    settings: &StudySettings,
    cell: &Cell,
    asked: &RunRequest,
) -> Vec<&'a Run> {
    let known = settings.cells.iter();
    let known = known.filter(|known| known.test == *asked && known.beside == cell.beside);
    let labels: Vec<&str> = known.map(|known| known.cell.as_str()).collect();
    let is_of = |part: &&Run| {
        let place = part.config.place.as_ref();
        place.is_some_and(|place| labels.contains(&place.cell.as_str()))
    };
    run.parts().iter().filter(is_of).collect()
}
