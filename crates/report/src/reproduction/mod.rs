//! Whether a published result holds, as text and HTML.
//!
//! Draws no conclusion: verdicts, intervals and counts come with the reproduction.

mod html;
mod text;

pub use html::reproduction_html;
pub use text::reproduction_text;

use crate::figures::{digits, percent};
use linerate_model::reproduction::{
    CellOutcome, CellVerdict, ClaimTally, ClaimVerdict, Reproduction, SetupBearing, SetupFact,
};

/// The reproduction in a sentence.
fn conclusion(of: &Reproduction) -> String {
    let tally = of.tally;
    let counts = [
        (tally.reproduced, "reproduced"),
        (tally.compatible, "compatible"),
        (tally.differs, "differ"),
        (tally.cannot_tell, "cannot be told"),
        (tally.not_comparable, "not comparable"),
        (tally.not_measured, "not measured"),
    ];
    let said = counts.iter().filter(|(count, _)| *count > 0);
    let said: Vec<_> = said
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let claims = claims_in_short(&of.claims);
    format!("Of {} cells {}{claims}.", of.cells.len(), said.join(", "))
}

/// `; 2 of 3 claims hold as often as published`.
fn claims_in_short(claims: &[ClaimVerdict]) -> String {
    let asked: u32 = claims.iter().map(|claim| claim.measured.asked).sum();
    if claims.is_empty() {
        return String::new();
    }
    let held: u32 = claims.iter().map(|claim| claim.measured.held).sum();
    format!("; claims hold in {held} of {asked} combinations that were measured")
}

/// What counts as reproduced, and what chance makes of it.
fn rule(of: &Reproduction) -> String {
    format!(
        "reproduced: 90 % interval of measured / published within ± {}; differs: outside the 95 % prediction interval, \
         corrected for all cells (Holm); cannot tell: {} would not be shown",
        percent(of.margin_ratio),
        percent(of.sensitivity_ratio)
    )
}

/// What to expect by chance.
fn expected(of: &Reproduction) -> String {
    format!(
        "if all true values are equal, any cell differs with a probability of {} at most; of cells on the margin, {} would \
         be called reproduced",
        digits(of.expected.any_differs),
        digits(of.expected.reproduced)
    )
}

/// `cpu: published a, measured b: differs`.
fn fact(fact: &SetupFact) -> String {
    let bearing = match fact.bearing {
        SetupBearing::Accepted => "differs, accepted",
        SetupBearing::Differs => "differs: values are not comparable",
        SetupBearing::Same => "the same",
    };
    let measured = fact.measured.as_deref().unwrap_or("not recorded");
    format!(
        "{}: published {}, measured {measured}: {bearing}",
        fact.fact, fact.published
    )
}

/// The verdict of a cell in words.
fn verdict(cell: &CellVerdict) -> String {
    match cell.verdict {
        CellOutcome::Compatible => "compatible".to_owned(),
        CellOutcome::CannotTell { repetitions: None } => "cannot tell".to_owned(),
        CellOutcome::CannotTell {
            repetitions: Some(needed),
        } => format!("cannot tell (n = {needed} would)"),
        CellOutcome::Differs => "differs".to_owned(),
        CellOutcome::NotComparable => "not comparable".to_owned(),
        CellOutcome::NotMeasured => "not measured".to_owned(),
        CellOutcome::Reproduced => "reproduced".to_owned(),
    }
}

/// The columns of a cell: published, measured with n, ratio, its interval.
fn columns(cell: &CellVerdict) -> [String; 5] {
    let none = || "–".to_owned();
    let interval = cell.ratio.and_then(|ratio| ratio.interval);
    [
        format!("{} {}", digits(cell.published), cell.unit)
            .trim()
            .to_owned(),
        cell.measured
            .map_or_else(none, |measured| digits(measured.point)),
        cell.measured
            .map_or_else(none, |measured| measured.n.to_string()),
        cell.ratio.map_or_else(none, |ratio| factor(ratio.point)),
        interval.map_or_else(none, |interval| {
            format!("{}–{}", factor(interval.low), factor(interval.high))
        }),
    ]
}

/// `3 of 4 (shown in 2, refuted in 1)`.
fn held(tally: ClaimTally) -> String {
    if tally.asked == 0 {
        return "not measured".to_owned();
    }
    format!(
        "{} of {} (shown in {}, refuted in {})",
        tally.held, tally.asked, tally.shown, tally.refuted
    )
}

/// Reasons of cells, each once, with how many cells have it.
fn reasons(of: &Reproduction) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for cell in &of.cells {
        let Some(why) = &cell.why else { continue };
        match found.iter_mut().find(|(known, _)| known == why) {
            Some((_, count)) => *count += 1,
            None => found.push((why.clone(), 1)),
        }
    }
    found
}

/// A ratio; beyond a thousandfold its digits say nothing.
fn factor(ratio: f64) -> String {
    match ratio {
        _ if ratio < 0.001 => "< 0.001".to_owned(),
        _ if ratio > 1000.0 => "> 1000".to_owned(),
        _ => format!("{ratio:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::factor;

    #[test]
    fn ratios_beyond_a_thousandfold_have_no_digits() {
        let shown = [7.8e10, 4.995, 1e-9].map(factor);
        assert_eq!(shown, ["> 1000", "4.995", "< 0.001"]);
    }
}
