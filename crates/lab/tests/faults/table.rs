//! The table of results, in Markdown, and whether it is good enough.

use crate::fault::{Fault, Strength};
use linerate_model::run::{Confidence, Verdict};
use statrs::distribution::{Binomial, DiscreteCDF as _};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Share of the cells whose verdict shall be right.
const RIGHT_SHARE: f64 = 0.95;

/// How often a set that is right in [`RIGHT_SHARE`] of all cases fails by chance.
pub(crate) const FALSE_ALARMS: f64 = 0.001;

/// What became of one cell.
pub(crate) enum Outcome {
    /// A verdict was given.
    Judged(Box<Verdict>),
    /// One was given while others took so much of the CPU that the scene was not the one that was built: it is
    /// shown, and judged only if an experiment confirmed it.
    Disturbed(Box<Verdict>),
    /// Something failed before there was a verdict.
    Failed(String),
    /// The host lacks what the cell needs.
    NotRun(String),
}

/// One row.
pub(crate) struct Row {
    pub(crate) fault: &'static Fault,
    pub(crate) strength: &'static Strength,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    /// How often its test was made again because it was disturbed.
    pub(crate) repeats: u32,
}

impl Row {
    pub(crate) fn is_right(&self) -> bool {
        matches!(&self.outcome, Outcome::Judged(verdict) if self.fault.expect.contains(&verdict.limit.id()))
    }

    fn is_confidently_wrong(&self) -> bool {
        match &self.outcome {
            Outcome::Judged(verdict) | Outcome::Disturbed(verdict) => {
                verdict.confidence == Confidence::Confirmed
                    && !self.fault.expect.contains(&verdict.limit.id())
            }
            Outcome::Failed(_) | Outcome::NotRun(_) => false,
        }
    }

    fn ran(&self) -> bool {
        !matches!(self.outcome, Outcome::NotRun(_))
    }

    fn is_disturbed(&self) -> bool {
        matches!(self.outcome, Outcome::Disturbed(_))
    }

    /// The line that is printed when the cell is done.
    pub(crate) fn line(&self) -> String {
        format!(
            "| {} | {} | {} | {} | {:.1} s |",
            self.fault.name,
            self.strength.name,
            self.fault.expect.join(" or "),
            self.words(),
            self.took.as_secs_f64()
        )
    }

    /// What was found, how sure, and whether that is right.
    fn words(&self) -> String {
        let found = match &self.outcome {
            Outcome::Judged(verdict) | Outcome::Disturbed(verdict) => {
                format!("{} {}", verdict.limit.id(), confidence(verdict.confidence))
            }
            Outcome::Failed(why) => format!("error: {}", why.replace(['|', '\n'], " ")),
            Outcome::NotRun(why) => why.clone(),
        };
        let mark = match (self.ran(), self.is_right()) {
            (false, _) => "not run",
            (true, _) if self.is_disturbed() => "not judged",
            (true, true) => "right",
            (true, false) => "**wrong**",
        };
        format!("{found}, {mark}")
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Weak => "weak",
        Confidence::Supported => "supported",
        Confidence::Confirmed => "confirmed",
    }
}

/// The head of the lines that are printed cell by cell.
pub(crate) const PROGRESS: &str =
    "| fault | strength | expected limit | found | time |\n|---|---|---|---|--:|";

/// The head of the page's table.
const HEAD: &str = "| expected limit | faults, each at three strengths | found |\n|---|---|---|";

/// The table of the page: a row for all faults of which the same limit is expected; what is not right stands by name.
pub(crate) fn text(rows: &[Row]) -> String {
    let mut by_limit: Vec<(&[&str], Vec<&Row>)> = Vec::new();
    for row in rows {
        let expected = row.fault.expect;
        match by_limit.iter_mut().find(|(other, _)| *other == expected) {
            Some((_, rows)) => rows.push(row),
            None => by_limit.push((expected, vec![row])),
        }
    }
    let lines = by_limit.iter().map(|(expected, rows)| {
        let mut faults: Vec<&str> = rows.iter().map(|row| row.fault.name).collect();
        faults.dedup();
        let expected = expected.join(" or ");
        format!("| {expected} | {} | {} |", faults.join(", "), found(rows))
    });
    let lines: Vec<String> = lines.collect();
    format!("{HEAD}\n{}", lines.join("\n"))
}

/// `6 confirmed, 1 supported`, by limit where several are right; then what is not right.
fn found(rows: &[&Row]) -> String {
    let mut right: BTreeMap<&str, [u32; 3]> = BTreeMap::new();
    let mut others = Vec::new();
    for row in rows {
        match &row.outcome {
            Outcome::Judged(verdict) if row.is_right() => {
                let limit = if row.fault.expect.len() > 1 {
                    verdict.limit.id()
                } else {
                    ""
                };
                let at = match verdict.confidence {
                    Confidence::Confirmed => 0,
                    Confidence::Supported => 1,
                    Confidence::Weak => 2,
                };
                right.entry(limit).or_default()[at] += 1;
            }
            _ => others.push(format!(
                "{} ({}): {}",
                row.fault.name,
                row.strength.name,
                row.words()
            )),
        }
    }
    let right = right.into_iter().map(|(limit, counts)| {
        let each = counts.into_iter().zip(["confirmed", "supported", "weak"]);
        let each = each.filter(|(n, _)| *n > 0);
        let each: Vec<String> = each.map(|(n, word)| format!("{n} {word}")).collect();
        let colon = if limit.is_empty() { "" } else { ": " };
        format!("{limit}{colon}{}", each.join(", "))
    });
    right.chain(others).collect::<Vec<_>>().join("; ")
}

/// Counts and what they mean, below the table; and whether that is a pass.
pub(crate) fn conclusion(rows: &[Row]) -> (String, bool) {
    let disturbed = rows.iter().filter(|row| row.is_disturbed()).count();
    let ran = rows.iter().filter(|row| row.ran()).count() - disturbed;
    let right = rows.iter().filter(|row| row.is_right()).count();
    let sure: Vec<&Row> = rows
        .iter()
        .filter(|row| row.is_confidently_wrong())
        .collect();
    let chance = at_most(right, ran);
    let mut text = format!(
        "\n{right} of {ran} cells that ran undisturbed are right, {disturbed} were disturbed; if {:.0} % were in the long run, so few or fewer would be with probability {chance:.3}.",
        RIGHT_SHARE * 100.0
    );
    let left_out: Vec<String> = rows
        .iter()
        .filter(|row| !row.ran())
        .map(|row| format!("{} ({})", row.fault.name, row.strength.name))
        .collect();
    if !left_out.is_empty() {
        let _ = write!(text, "\nNot run, so not passed: {}.", left_out.join(", "));
    }
    let repeated = rows.iter().filter(|row| row.repeats > 0);
    let again: Vec<String> = repeated
        .map(|row| {
            format!(
                "{} ({}, {} times)",
                row.fault.name, row.strength.name, row.repeats
            )
        })
        .collect();
    if !again.is_empty() {
        let _ = write!(
            text,
            "\nMeasured again because the hypervisor or other programs took 5 % of the CPU or more: {}.",
            again.join(", ")
        );
    }
    for row in &sure {
        let _ = write!(
            text,
            "\nConfidently wrong: {} ({}).",
            row.fault.name, row.strength.name
        );
    }
    for (fault, why) in reasons(rows) {
        let _ = write!(text, "\n{fault}: {why}");
    }
    (
        text,
        chance >= FALSE_ALARMS && ran + disturbed > 0 && sure.is_empty(),
    )
}

/// Probability that at most `right` of `ran` cells are right if each is with [`RIGHT_SHARE`].
fn at_most(right: usize, ran: usize) -> f64 {
    let (right, ran) = (right as u64, ran as u64);
    Binomial::new(RIGHT_SHARE, ran).map_or(0.0, |all| all.cdf(right))
}

/// Why a fault has several right names, once each.
fn reasons(rows: &[Row]) -> Vec<(&'static str, &'static str)> {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for fault in rows.iter().map(|row| row.fault) {
        if fault.expect.len() > 1 && !seen.iter().any(|(name, _)| *name == fault.name) {
            seen.push((fault.name, fault.why));
        }
    }
    seen
}

/// What is wrong with a fault as a value; a list of names needs a reason.
pub(crate) fn complaint(fault: &Fault) -> Option<String> {
    let name = fault.name;
    if fault.expect.is_empty() || fault.expect.contains(&"unknown") {
        return Some(format!("{name} expects nothing"));
    }
    ((fault.expect.len() > 1) == fault.why.is_empty())
        .then(|| format!("{name}: several right names need a reason, and one needs none"))
}
