//! The numbers of the path's picture, as a table.

use super::{PathPicture, StageLoss};
use crate::table::{Cell, Table};
use crate::words;

/// One row for each place, in path order, and one for what has no place.
pub(crate) fn table(path: &PathPicture) -> Table {
    let unit = path.unit.as_str();
    let mut table = Table::new([
        "Place".to_owned(),
        "Side".to_owned(),
        format!("Came here ({unit})"),
        format!("Lost here ({unit})"),
        "Known from".to_owned(),
        "Figures".to_owned(),
    ]);
    for flow in &path.stages {
        let (lost, source) = match &flow.loss {
            StageLoss::Counted { packets, sources } => {
                (Cell::count(Some(*packets)), sources.as_str())
            }
            StageLoss::Clear => (Cell::count(Some(0)), ""),
            StageLoss::NotKnown => (Cell::text("not known"), ""),
        };
        let figures = flow.figures.iter();
        let figures: Vec<String> = figures
            .map(|figure| format!("{}: {}", figure.name, figure.value))
            .collect();
        let name = if flow.limits {
            format!("{} (limit)", flow.name)
        } else {
            flow.name.to_owned()
        };
        table.push(vec![
            Cell::text(name),
            Cell::text(
                flow.stage
                    .side()
                    .map_or("between", |side| words::side(Some(side))),
            ),
            Cell::count(flow.entered),
            lost,
            Cell::text(source),
            Cell::text(figures.join("; ")),
        ]);
    }
    if let Some(rest) = &path.unplaced {
        table.push(vec![
            Cell::text("place not known"),
            Cell::text("–"),
            Cell::text("–"),
            Cell::count(Some(rest.packets)),
            Cell::text(&rest.why),
            Cell::text(""),
        ]);
    }
    table
}
