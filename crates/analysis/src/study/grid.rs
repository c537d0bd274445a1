//! The cells of a study in the space of its factors, for one quantity.

use super::{Runs, on_scale, scale};
use crate::estimates::values_of_runs;
use crate::repetition::units;
use crate::statistics::Unit;
use linerate_model::Quantity;
use linerate_model::run::{EffectScale, StudyPlace};
use std::collections::BTreeMap;

/// The factor that runs with traffic both ways have, and every study by the names of its trials.
const DIRECTION: &str = "direction";

/// For each factor the place of a level.
pub(super) type Levels = Vec<usize>;

/// What was varied, with its levels in the order of the plan; the first is what the others are held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Factor {
    pub(super) name: String,
    pub(super) levels: Vec<String>,
}

/// One quantity in all cells that have it twice or more.
#[derive(Debug)]
pub(super) struct Grid {
    /// The series that its cells are of, if the study has any.
    pub(super) series: Option<String>,
    pub(super) quantity: Quantity,
    pub(super) scale: EffectScale,
    pub(super) factors: Vec<Factor>,
    pub(super) cells: BTreeMap<Levels, Vec<Unit>>,
}

/// A cell by its levels, and what its independent units say on the scale of effects.
type CellUnits = (Vec<(String, String)>, Vec<Unit>);

impl Grid {
    /// `None` where no cell has two runs that tell the quantity, or nothing was varied.
    pub(super) fn new(
        quantity: Quantity,
        series: Option<&str>,
        cells: &[&str],
        runs: &Runs<'_>,
    ) -> Option<Self> {
        let scale = scale(quantity);
        let named: Vec<CellUnits> = cells
            .iter()
            .flat_map(|cell| of_cell(cell, quantity, scale, runs))
            .filter(|(_, units)| units.len() > 1)
            .collect();
        let factors = factors(&named);
        let place = |levels: &[(String, String)]| -> Option<Levels> {
            let of = |factor: &Factor| {
                let (_, level) = levels.iter().find(|(name, _)| *name == factor.name)?;
                factor.levels.iter().position(|known| known == level)
            };
            factors.iter().map(of).collect()
        };
        let cells = named
            .iter()
            .filter_map(|(levels, units)| Some((place(levels)?, units.clone())));
        let cells: BTreeMap<Levels, Vec<Unit>> = cells.collect();
        (!factors.is_empty() && cells.len() > 1).then_some(Self {
            series: series.map(str::to_owned),
            quantity,
            scale,
            factors,
            cells,
        })
    }
}

/// A cell, once for each direction of its traffic.
fn of_cell(cell: &str, quantity: Quantity, scale: EffectScale, runs: &Runs<'_>) -> Vec<CellUnits> {
    let seen = values_of_runs(runs.of_cell(cell).iter().copied());
    let ways = seen.into_iter().filter(|((_, of), _)| *of == quantity);
    let ways =
        ways.map(|((direction, _), values)| (direction, units(&on_scale(values, scale)).units));
    let place = StudyPlace {
        cell: cell.to_owned(),
        repetition: 0,
    };
    let levels = place.levels();
    let named = ways.map(|(direction, units)| {
        let mut levels: Vec<(String, String)> = levels
            .iter()
            .map(|(name, level)| ((*name).to_owned(), level.clone()))
            .collect();
        let way = direction.as_str();
        match levels.iter_mut().find(|(name, _)| name == DIRECTION) {
            Some((_, level)) if level == way => {}
            // Both ways of a duplex test are not the one way of another cell.
            Some((_, level)) => *level = format!("{level}, {way}"),
            None => levels.push((DIRECTION.to_owned(), way.to_owned())),
        }
        (levels, units)
    });
    named.collect()
}

/// What has more than one level.
fn factors(cells: &[CellUnits]) -> Vec<Factor> {
    let mut all: Vec<Factor> = Vec::new();
    for (name, level) in cells.iter().flat_map(|(levels, _)| levels) {
        let at = all.iter().position(|factor| factor.name == *name);
        let at = at.unwrap_or_else(|| {
            all.push(Factor {
                name: name.clone(),
                levels: Vec::new(),
            });
            all.len() - 1
        });
        if !all[at].levels.contains(level) {
            all[at].levels.push(level.clone());
        }
    }
    all.retain(|factor| factor.levels.len() > 1);
    all
}
