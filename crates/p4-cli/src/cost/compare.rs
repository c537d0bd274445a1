//! Costs beside those of another target, by the document that `cost --json` printed there.

use super::Measured;
use super::words::{columns, figure, interval};
use crate::files;
use linerate_model::Estimate;
use linerate_model::exit::{ExitCode, Failure, Result};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

/// What is read of the document.
#[derive(Debug, Deserialize)]
pub(super) struct Document {
    kind: String,
    architecture: String,
    optimised: bool,
    factors: Vec<Factor>,
}

#[derive(Debug, Deserialize)]
struct Factor {
    factor: String,
    each_ns: Bounds,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Bounds {
    point: f64,
    low: Option<f64>,
    high: Option<f64>,
}

const KIND: &str = "linerate/p4-cost/1";

/// Reads the document of another target.
pub(super) fn read(path: &Path) -> Result<Document> {
    let wrong = |why: &str| {
        let message = format!(
            "{}: {why}; give what `linerate p4 cost --json` printed",
            path.display()
        );
        Failure::new(ExitCode::Plan, message)
    };
    let document: Document =
        serde_json::from_slice(&files::read(path)?).map_err(|error| wrong(&error.to_string()))?;
    match document.kind.as_str() {
        KIND if document.factors.is_empty() => Err(wrong("it has no factors")),
        KIND => Ok(document),
        other => Err(wrong(&format!("its kind is {other}"))),
    }
}

impl Bounds {
    fn of(estimate: &Estimate) -> Self {
        Self {
            point: estimate.point,
            low: estimate.interval.map(|found| found.low),
            high: estimate.interval.map(|found| found.high),
        }
    }

    /// `12.3 [12.1, 12.5]`.
    fn text(self) -> String {
        match self.low.zip(self.high) {
            None => figure(self.point, self.point / 10.0),
            Some((low, high)) => {
                let half = (high - low) / 2.0;
                let [point, low, high] = [self.point, low, high].map(|value| figure(value, half));
                format!("{point} [{low}, {high}]")
            }
        }
    }

    /// How many times this one the other is, with bounds that hold where both intervals do; `None` where this one may be
    /// none at all.
    fn times(self, other: Self) -> Option<String> {
        let (low, high) = self.low.zip(self.high).filter(|(low, _)| *low > 0.0)?;
        let (other_low, other_high) = other.low.zip(other.high)?;
        let (least, most) = (other_low / high, other_high / low);
        let half = (most - least) / 2.0;
        let [point, least, most] =
            [other.point / self.point, least, most].map(|value| figure(value, half));
        Some(format!("{point} [{least}, {most}]"))
    }
}

/// Factors that both have, in the order of the ones measured here.
pub(super) fn text(measured: &[Measured], other: &Document) -> String {
    let (here, there) = (std::env::consts::ARCH, &other.architecture);
    let mut text =
        "ns of one core for one more, with 95 % interval; times: bounds hold where both do (at least 90 %).\n".to_owned();
    if cfg!(debug_assertions) || !other.optimised {
        let which = if other.optimised { "here" } else { "there" };
        let _ = writeln!(
            text,
            "The linerate {which} was built without optimisation: its figures say nothing about a release."
        );
    }
    text.push('\n');
    let here = format!("here ({here})");
    let there = format!("there ({there})");
    let mut rows = vec![vec![
        "factor".to_owned(),
        "one more".to_owned(),
        here,
        there,
        "there, times".to_owned(),
    ]];
    for one in measured {
        let same = |factor: &&Factor| factor.factor == one.family.id;
        let Some(factor) = other.factors.iter().find(same) else {
            continue;
        };
        let times = Bounds::of(&one.line.slope).times(factor.each_ns);
        rows.push(vec![
            one.family.id.to_owned(),
            one.family.unit.to_owned(),
            interval(&one.line.slope),
            factor.each_ns.text(),
            times.unwrap_or_default(),
        ]);
    }
    text + &columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn bounds(point: f64, low: f64, high: f64) -> Bounds {
        Bounds {
            point,
            low: Some(low),
            high: Some(high),
        }
    }

    #[test]
    fn a_ratio_has_bounds_and_none_of_what_may_be_nothing() {
        let here = bounds(10.0, 8.0, 12.0);
        let there = bounds(100.0, 96.0, 104.0);
        assert_eq!(here.times(there).unwrap(), "10.0 [8.0, 13.0]");
        assert_eq!(bounds(1.0, -1.0, 3.0).times(there), None);
        assert_eq!(here.text(), "10.0 [8.0, 12.0]");
    }

    #[test]
    fn only_a_document_of_costs_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("costs.json");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().message
        };
        let head = r#""architecture": "riscv64", "optimised": true"#;
        assert!(refused("{").contains("cost --json"));
        let other = format!(r#"{{"kind": "linerate/run/2", {head}, "factors": []}}"#);
        assert!(refused(&other).contains("its kind is linerate/run/2"));
        let empty = format!(r#"{{"kind": "{KIND}", {head}, "factors": []}}"#);
        assert!(refused(&empty).contains("it has no factors"));
    }
}
