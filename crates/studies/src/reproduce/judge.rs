//! A published table, judged by what a study of a plan measured.

use super::mapping::measured;
use crate::context::Context;
use crate::plan::StudyPlan;
use crate::run::study;
use anyhow::Result;
use linerate_analysis::compare::recorded_fact;
use linerate_analysis::published::{JudgeOptions, Judgement, PublishedTable, audit, judge};
use linerate_model::consent::Allowed;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::reproduction::{Reproduction, SCHEMA, SetupBearing, SetupFact};
use linerate_model::run::{Run, Tool};

/// What is asked of a published table.
#[derive(Debug, Clone)]
pub struct ReproducePlan {
    /// How the cells of what is measured are those of the table.
    pub plan: StudyPlan,
    /// The table.
    pub table: PublishedTable,
    /// What it was asked for as.
    pub name: String,
    /// What counts as the same.
    pub options: JudgeOptions,
    /// Facts of the set-up that may differ; `all` for all.
    pub accepted: Vec<String>,
}

/// Where the measurements come from.
#[derive(Debug)]
pub enum Measurements {
    /// Measured now; of an incomplete study of the same plan the finished parts are taken over.
    Now {
        /// What is measured.
        plan: Box<Allowed<StudyPlan>>,
        /// The incomplete study.
        resumed: Option<Box<Run>>,
    },
    /// Of studies that are there.
    Stored(Vec<Run>),
}

/// Measures where that is asked for, and judges the table. Returns also the studies that it is judged by.
pub fn reproduce(
    context: &mut Context<'_>,
    asked: &ReproducePlan,
    from: Measurements,
) -> Result<(Reproduction, Vec<Run>)> {
    let studies = match from {
        Measurements::Stored(runs) => runs,
        Measurements::Now { plan, resumed } => {
            vec![study(context, &plan, resumed.map(|run| *run))?]
        }
    };
    let command = Some(context.command.clone()).filter(|command| !command.is_empty());
    Ok((judged(asked, &studies, command)?, studies))
}

fn judged(
    asked: &ReproducePlan,
    studies: &[Run],
    command: Option<String>,
) -> Result<Reproduction, Failure> {
    let table = &asked.table;
    let parts: Vec<&Run> = studies.iter().flat_map(Run::parts).collect();
    let is_of_plan = |part: &&Run| {
        let mut cells = asked.plan.cells.iter();
        cells.any(|cell| part.is_of_cell(&cell.label))
    };
    if !parts.iter().any(is_of_plan) {
        let message = "none of the runs is a study with a cell of the plan; give studies that `linerate run` made of it";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let setup = setup(table, studies, &asked.accepted);
    let differing = setup
        .iter()
        .filter(|fact| fact.bearing == SetupBearing::Differs);
    let differing: Vec<String> = differing.map(in_words).collect();
    let why = (!differing.is_empty()).then(|| differing.join("; "));
    let Judgement {
        cells,
        claims,
        tally,
        expected,
    } = judge(
        table,
        &measured(table, &asked.plan, &parts),
        why.as_deref(),
        asked.options,
    );
    let tool = Tool::linerate(env!("CARGO_PKG_VERSION"));
    Ok(Reproduction {
        schema: SCHEMA.to_owned(),
        audit: audit(table, &asked.name, tool.clone()),
        tool,
        runs: studies.iter().map(|run| run.id.clone()).collect(),
        command,
        margin_ratio: asked.options.margin,
        sensitivity_ratio: asked.options.sensitivity,
        tally,
        expected,
        setup,
        cells,
        claims,
    })
}

/// Every fact that the table states of its set-up, beside what the runs recorded.
fn setup(table: &PublishedTable, studies: &[Run], accepted: &[String]) -> Vec<SetupFact> {
    let one = |(fact, published): (&String, &String)| {
        let measured = studies.iter().find_map(|run| recorded_fact(run, fact));
        let is_accepted = accepted.iter().any(|one| one == fact || one == "all");
        let is_same = measured
            .as_deref()
            .is_some_and(|own| own.split(" / ").any(|own| own == published));
        SetupFact {
            fact: fact.clone(),
            published: published.clone(),
            bearing: match (is_same, is_accepted) {
                (true, _) => SetupBearing::Same,
                (false, true) => SetupBearing::Accepted,
                (false, false) => SetupBearing::Differs,
            },
            measured,
        }
    };
    table.setup.iter().map(one).collect()
}

fn in_words(fact: &SetupFact) -> String {
    let measured = fact.measured.as_deref().unwrap_or("not recorded");
    format!(
        "{}: published {}, measured {measured}",
        fact.fact, fact.published
    )
}
