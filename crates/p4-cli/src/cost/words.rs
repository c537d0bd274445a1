//! Costs for people: what stands out first, then one line per factor.

use super::measure::Effort;
use super::{Measured, SMALLEST};
use linerate_analysis::statistics;
use linerate_model::Estimate;
use linerate_p4::generate::{ALL, Family, Scale};
use std::fmt::Write as _;

/// How many of the dearest constructs the conclusion names.
const DEAREST: usize = 3;

/// The factors, with what each counts.
pub(crate) fn list() -> String {
    let mut text = String::new();
    for family in ALL {
        let _ = writeln!(text, "{:18} {}", family.id, family.unit);
    }
    text
}

/// A number with as many decimals as an uncertainty of this size supports: its second digit.
pub(crate) fn figure(value: f64, uncertainty: f64) -> String {
    let decimals = match uncertainty.abs() {
        wide if wide >= 10.0 => 0,
        wide if wide >= 1.0 => 1,
        wide if wide >= 0.1 => 2,
        _ => 3,
    };
    // What rounds to zero has no sign.
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|one| matches!(one, '0' | '.')) => rest.to_owned(),
        _ => text,
    }
}

/// `12.3 [12.1, 12.5]`.
pub(crate) fn interval(estimate: &Estimate) -> String {
    match estimate.interval {
        None => figure(estimate.point, estimate.point / 10.0),
        Some(found) => {
            let half = (found.high - found.low) / 2.0;
            let [point, low, high] =
                [estimate.point, found.low, found.high].map(|value| figure(value, half));
            format!("{point} [{low}, {high}]")
        }
    }
}

/// `3.21 M` packets/s of a cost in nanoseconds.
pub(super) fn rate(ns: f64) -> String {
    match 1e9 / ns {
        many if many >= 1e6 => format!("{:.3} M", many / 1e6),
        few => format!("{:.1} k", few / 1e3),
    }
}

fn short(family: &Family, level: u32) -> String {
    match family.scale {
        Scale::Decades if level >= 1_000 => format!("{}k", level / 1_000),
        _ => level.to_string(),
    }
}

impl Measured {
    /// The mean of a level over all sweeps, nanoseconds per packet.
    pub(crate) fn level(&self, at: usize) -> Option<Estimate> {
        let costs: Vec<f64> = self
            .samples
            .sweeps()
            .iter()
            .map(|costs| costs[at])
            .collect();
        statistics::mean(&costs, statistics::USUAL_CONFIDENCE).ok()
    }

    fn bend(&self) -> String {
        let Some(bend) = self.line.bend else {
            return String::new();
        };
        let at = match self.family.scale {
            Scale::Decades => figure(10_f64.powf(bend.at), 10.0),
            Scale::Linear => figure(bend.at, 10.0),
        };
        let side = |estimate: &Estimate| figure(estimate.point, estimate.point.abs() / 10.0);
        format!(
            "{} up to {at}, then {}",
            side(&bend.below),
            side(&bend.above)
        )
    }

    /// By how much more one more costs above the bend than below it, nanoseconds.
    fn steepening(&self) -> f64 {
        self.line
            .bend
            .map_or(0.0, |bend| bend.above.point - bend.below.point)
    }

    fn row(&self) -> Vec<String> {
        let levels = &self.samples.levels;
        let last = levels.len() - 1;
        let rate = |at: usize| {
            self.level(at)
                .map_or(String::new(), |mean| rate(mean.point))
        };
        let end = |at: usize| format!("{} at {}", rate(at), short(self.family, levels[at]));
        vec![
            self.family.id.to_owned(),
            self.family.unit.to_owned(),
            interval(&self.line.slope),
            format!("{}, {}", end(0), end(last)),
            self.bend(),
            self.family.published.map_or(String::new(), |published| {
                format!("{} ({})", published.cycles, published.at)
            }),
        ]
    }
}

/// A table whose first row is its head. A column that nothing stands in is left out.
pub(super) fn columns(rows: &[Vec<String>]) -> String {
    let of = |at: usize| rows.iter().map(move |row| row[at].as_str());
    let filled = (0..rows[0].len()).filter(|at| of(*at).skip(1).any(|cell| !cell.is_empty()));
    let filled: Vec<(usize, usize)> = filled
        .map(|at| {
            (
                at,
                of(at).map(|cell| cell.chars().count()).max().unwrap_or(0),
            )
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let cells = filled
            .iter()
            .map(|(at, width)| format!("{:width$}", row[*at]));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

/// The whole answer.
pub(crate) fn text(measured: &[Measured], effort: &Effort) -> String {
    let mut text = conclusion(measured);
    let _ = writeln!(
        text,
        "ns of one core for one more; mean of {} sweeps, {} rounds each, with 95 % interval. CPU time of this process, packets in memory: no ports.",
        effort.sweeps, effort.rounds
    );
    if cfg!(debug_assertions) {
        text.push_str("This linerate was built without optimisation: the figures say nothing about a release.\n");
    }
    text.push('\n');
    let head = [
        "factor",
        "one more",
        "ns [95 %]",
        "packets/s",
        "bends",
        "NIKSS, cycles",
    ]
    .map(str::to_owned)
    .to_vec();
    let rows: Vec<_> = std::iter::once(head)
        .chain(measured.iter().map(Measured::row))
        .collect();
    text += &columns(&rows);
    if measured
        .iter()
        .any(|measured| measured.family.published.is_some())
    {
        text.push_str("\nNIKSS: published cycles of another target (eBPF) on another machine, for orientation.\n");
    }
    text
}

fn conclusion(measured: &[Measured]) -> String {
    let mut text = String::new();
    if let Some(smallest) = measured
        .iter()
        .find(|measured| measured.family.id == SMALLEST)
        && let Some(cost) = smallest.level(0)
    {
        let _ = writeln!(
            text,
            "One core carries {}packets/s through the smallest program (Ethernet parsed, one port): {} ns per packet.",
            rate(cost.point),
            interval(&cost)
        );
    }
    // What is told by how many there are of it says nothing of one of it.
    let mut dearest: Vec<_> = measured
        .iter()
        .filter(|measured| measured.family.scale == Scale::Linear)
        .collect();
    dearest.sort_by(|one, other| other.line.slope.point.total_cmp(&one.line.slope.point));
    let names = dearest.iter().take(DEAREST);
    let names = names.map(|one| {
        format!(
            "{} {} ns",
            one.family.id,
            figure(one.line.slope.point, 10.0)
        )
    });
    let names: Vec<_> = names.collect();
    match measured {
        [] => {}
        [one] => {
            let _ = writeln!(
                text,
                "One more {}: {} ns.",
                one.family.unit,
                interval(&one.line.slope)
            );
        }
        _ => {
            let _ = writeln!(text, "Dearest: {}.", names.join(", "));
            let steepest = |one: &&Measured, other: &&Measured| {
                one.steepening().total_cmp(&other.steepening())
            };
            let bent = measured
                .iter()
                .filter(|one| one.steepening() > 0.0)
                .max_by(steepest);
            if let Some(one) = bent {
                let _ = writeln!(
                    text,
                    "Bends most: {}, {} ns for one more {}.",
                    one.family.id,
                    one.bend(),
                    one.family.unit
                );
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_end_where_the_uncertainty_begins() {
        assert_eq!(figure(123.456, 25.0), "123");
        assert_eq!(figure(123.456, 2.5), "123.5");
        assert_eq!(figure(4.321, 0.25), "4.32");
        assert_eq!(figure(-0.0004, 0.01), "0.000");
        assert_eq!(figure(-1.26, 1.0), "-1.3");
    }

    #[test]
    fn every_factor_is_listed() {
        assert_eq!(list().lines().count(), ALL.len());
    }

    #[test]
    fn rates_have_their_prefix() {
        assert_eq!([rate(311.0), rate(25_000.0)], ["3.215 M", "40.0 k"]);
    }
}
