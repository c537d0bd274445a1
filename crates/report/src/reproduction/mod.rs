//! Whether a published result holds.
//!
//! Draws no conclusion: verdicts, intervals and counts come with the reproduction.

use crate::audit;
use crate::document::{Block, Document, DocumentFormat, Head, PAGE, Sheet, TERMINAL, Tone};
use crate::figures::{digits, percent};
use crate::table::{Cell, Column, Medium, column, words};
use crate::words::counted;
use linerate_model::audit::Audit;
use linerate_model::reproduction::{
    CellOutcome, CellVerdict, ClaimTally, ClaimVerdict, Reproduction, SetupFact,
};
use linerate_model::run::Run;
use serde::Serialize;

/// Reasons that the terminal shows; the JSON has each cell's.
const MAX_REASONS: usize = 8;

/// What is answered when a published result is reproduced.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Answer {
    /// What the figures of a table contradict.
    Audit(Audit),
    /// Whether a published result holds.
    Reproduction(Box<JudgedReproduction>),
}

/// A reproduction and what it is judged by.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct JudgedReproduction {
    /// The verdicts.
    pub of: Reproduction,
    /// The studies, which its page shows as their own reports do.
    #[serde(skip)]
    pub studies: Vec<Run>,
}

impl Document for Answer {
    const FORMATS: &'static [DocumentFormat] = Audit::FORMATS;
    const NAME: &'static str = Audit::NAME;

    fn head(&self) -> Head {
        match self {
            Self::Audit(audit) => audit.head(),
            Self::Reproduction(judged) => Head {
                heading: format!("Does it hold? {}", audit::table_name(&judged.of.audit)),
                made_what: "Reproduction",
                reading: "“Compatible” does not mean equal. A finding of the audit is arithmetic and says nothing of causes.",
            },
        }
    }

    fn blocks(&self) -> Vec<Block<'_>> {
        match self {
            Self::Audit(audit) => audit.blocks(),
            Self::Reproduction(judged) => blocks(&judged.of, &judged.studies),
        }
    }

    fn json(&self) -> impl Serialize {
        self
    }
}

fn blocks<'a>(of: &'a Reproduction, studies: &'a [Run]) -> Vec<Block<'a>> {
    let command = of.command.iter();
    let command = command.map(|command| Block::toned(Tone::Code, "command", command));
    let mut blocks = vec![Block::title(conclusion(of))];
    blocks.extend(audit::published(&of.audit));
    blocks.extend([
        Block::fact("runs", of.runs.join(", ")),
        Block::fact("counts as", rule(of)),
        Block::fact("by chance", expected(of)),
        Block::Only(PAGE, command.collect()),
        Block::List {
            label: "set-up",
            items: of.setup.iter().map(fact).collect(),
            most: usize::MAX,
        },
    ]);
    blocks.extend(claims(of));
    blocks.extend(cells(of));
    let reasons = reasons(of).into_iter().take(MAX_REASONS);
    let reasons =
        reasons.map(|(why, count)| Block::Remark(format!("({}: {why})", counted(count, "cell"))));
    let audited = audit::audit_conclusion(&of.audit);
    let audit_on_terminal = vec![Block::Gap, Block::fact("audit", &audited)];
    blocks.extend([
        Block::Only(TERMINAL, reasons.collect()),
        Block::Drawn(Box::new(|drawings| {
            crate::html::measured(studies, drawings)
        })),
        Block::Only(TERMINAL, audit_on_terminal),
        Block::Only(PAGE, vec![Block::title(audited)]),
    ]);
    blocks.extend(audit::findings(&of.audit));
    blocks.push(audit::every_check(&of.audit));
    blocks
}

/// How often each claim holds, published and measured.
fn claims(of: &Reproduction) -> [Block<'_>; 2] {
    let name = |claim: &ClaimVerdict| claim.words.as_deref().unwrap_or(&claim.claim).to_owned();
    let said = move |claim: &ClaimVerdict| {
        let both = claim.published.asked.min(claim.measured.asked);
        [
            Block::Gap,
            Block::fact("claim", name(claim)),
            Block::fact("published", held(claim.published)),
            Block::fact("measured", held(claim.measured)),
            Block::fact("both agree", format!("in {} of {both}", claim.agree)),
        ]
    };
    let columns = vec![
        words("claim", name),
        words("published", |claim: &ClaimVerdict| held(claim.published)),
        words("measured", |claim: &ClaimVerdict| held(claim.measured)),
        column("both agree in", |claim: &ClaimVerdict| {
            Cell::count(Some(claim.agree.into()))
        }),
    ];
    let table = Sheet::new("Claims", &of.claims, columns);
    [
        Block::Only(TERMINAL, of.claims.iter().flat_map(said).collect()),
        Block::Only(PAGE, vec![Block::Table(table)]),
    ]
}

/// Cell by cell; a terminal shows those that were measured.
fn cells(of: &Reproduction) -> [Block<'_>; 2] {
    let is_measured = |cell: &&CellVerdict| cell.verdict != CellOutcome::NotMeasured;
    let all: Vec<&CellVerdict> = of.cells.iter().collect();
    let measured: Vec<&CellVerdict> = of.cells.iter().filter(is_measured).collect();
    let gap = (!measured.is_empty()).then_some(Block::Gap);
    let table = |cells: &[&CellVerdict]| Block::Table(Sheet::new("Cells", cells, cell_columns()));
    [
        Block::Only(
            TERMINAL,
            gap.into_iter().chain([table(&measured)]).collect(),
        ),
        Block::Only(PAGE, vec![table(&all)]),
    ]
}

fn cell_columns<'a>() -> Vec<Column<'a, &'a CellVerdict>> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    vec![
        words("cell", |cell: &&CellVerdict| &cell.cell),
        words("published", |cell: &&CellVerdict| {
            let published = format!("{} {}", digits(cell.published), cell.unit);
            published.trim().to_owned()
        }),
        words("measured", move |cell: &&CellVerdict| {
            or_none(cell.measured.map(|measured| digits(measured.point)))
        }),
        words("n", move |cell: &&CellVerdict| {
            or_none(cell.measured.map(|measured| measured.n.to_string()))
        }),
        words("ratio", move |cell: &&CellVerdict| {
            or_none(cell.ratio.map(|ratio| factor(ratio.point)))
        }),
        words("90 % interval", move |cell: &&CellVerdict| {
            let interval = cell.ratio.and_then(|ratio| ratio.interval);
            or_none(interval.map(|of| format!("{}–{}", factor(of.low), factor(of.high))))
        }),
        words("verdict", |cell: &&CellVerdict| verdict(cell)),
        words("why", |cell: &&CellVerdict| {
            cell.why.clone().unwrap_or_default()
        })
        .on(Medium::Page),
    ]
}

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
    let measured = fact.measured.as_deref().unwrap_or("not recorded");
    format!(
        "{}: published {}, measured {measured}: {}",
        fact.fact, fact.published, fact.bearing
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
