//! `linerate plan`: an example to begin with, and what a plan will cost.

use crate::args::output::OutputArgs;
use crate::context::open_store;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use linerate_archive as archive;
use linerate_model::consent::Foreign;
use linerate_model::exit::{ExitCode, Failure};
use linerate_report::figures::significant;
use linerate_studies::plan::{EXAMPLES, StudyPlan, json_schema};
use linerate_studies::plan_power::{PlanPower, PowerRow, plan_power};
use serde_json::json;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `plan`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    action: PlanAction,
}

/// What to do with a plan.
#[derive(Debug, Clone, Subcommand)]
enum PlanAction {
    /// Print a commented example, or write it with -o FILE.
    Init {
        /// What the study is for.
        #[arg(value_parser = purposes())]
        purpose: String,
    },
    /// Say what is wrong with a plan, or which cells it has, how many runs, and how long it takes.
    Check {
        /// The plan, a TOML file.
        plan: PathBuf,
    },
    /// Print the JSON Schema of plans, by which editors complete and check them.
    Schema,
}

/// The purposes of the examples.
fn purposes() -> PossibleValuesParser {
    let shown = |example: &linerate_studies::plan::Example| {
        PossibleValue::new(example.purpose).help(example.summary.trim_end_matches('.'))
    };
    PossibleValuesParser::new(EXAMPLES.iter().map(shown))
}

impl PlanArgs {
    /// Does it.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        match &self.action {
            PlanAction::Init { purpose } => init(purpose, output)?,
            PlanAction::Check { plan } => {
                no_report(output, "plan check")?;
                check(&StudyPlan::read(plan)?, output)?;
            }
            PlanAction::Schema => {
                no_report(output, "plan schema")?;
                terminal::print_line(&serde_json::to_string_pretty(&json_schema())?)?;
            }
        }
        Ok(ExitCode::Done)
    }
}

fn init(purpose: &str, output: &OutputArgs) -> Result<()> {
    let example = EXAMPLES.iter().find(|example| example.purpose == purpose);
    let text = example.map_or("", |example| example.text);
    let Some(path) = &output.output else {
        return terminal::print_line(text.trim_end());
    };
    if path.exists() {
        let message = format!(
            "{} is there already; choose another name with -o",
            path.display()
        );
        return Err(Failure::new(ExitCode::Usage, message).into());
    }
    archive::write_file(path, text)?;
    if !output.quiet {
        let name = path.display();
        terminal::note(&format!(
            "{name}: set its host, then `linerate plan check {name}`"
        ));
    }
    Ok(())
}

fn check(plan: &Foreign<StudyPlan>, output: &OutputArgs) -> Result<()> {
    plan.check_budget()?;
    plan.check_restart()?;
    let store = if output.no_store {
        None
    } else {
        Some(open_store(output)?)
    };
    let power = plan_power(plan, store.as_ref())?;
    if output.json {
        let text = serde_json::to_string_pretty(&document(plan, power.as_ref()))?;
        return terminal::print_line(&text);
    }
    let mut lines = vec![format!("{}: {}", plan.title, cost(plan))];
    lines.extend(plan.cells.iter().map(|cell| format!("  {}", cell.label)));
    if let Some(control) = plan.control() {
        lines.push(format!("A/A control: {}, measured twice", control.label));
    }
    lines.extend(
        plan.quick
            .as_ref()
            .map(|quick| format!("--quick: {}", cost(quick))),
    );
    let programs = plan.programs().into_iter();
    lines.extend(programs.map(|program| format!("starts on this host: {program}")));
    lines.extend(power.iter().flat_map(shown));
    let clean = lines
        .iter()
        .map(|line| linerate_report::figures::clean(line));
    terminal::print_line(&clean.collect::<Vec<_>>().join("\n"))
}

/// How much a plan measures, and how long that takes.
fn cost(plan: &StudyPlan) -> String {
    let counted = |count: usize, what: &str| {
        let ending = if count == 1 { "" } else { "s" };
        format!("{count} {what}{ending}")
    };
    let how_often = match plan.budget {
        Some(_) => "a budget, at least".to_owned(),
        None => format!("{},", counted(plan.repetitions as usize, "repetition")),
    };
    format!(
        "{}, {how_often} {}; at most about {}{}",
        counted(plan.cells.len(), "cell"),
        counted(plan.runs(), "run"),
        spoken(plan.time()),
        if plan.prove { ", without proofs" } else { "" }
    )
}

/// Size and power of a plan, as JSON.
fn document(plan: &Foreign<StudyPlan>, power: Option<&PlanPower>) -> serde_json::Value {
    let names: Vec<_> = plan.cells.iter().map(|cell| &cell.label).collect();
    let row = |row: &PowerRow| {
        let factors = row.factors.iter();
        let factors: serde_json::Map<String, serde_json::Value> = factors
            .map(|(name, detectable)| (name.clone(), json!(detectable)))
            .collect();
        let known = row.known_by.as_ref();
        json!({
            "deviation_ratio": row.deviation, "detectable_ratio": factors,
            "quantity": known.map(|known| known.quantity), "runs": known.map(|known| known.runs),
        })
    };
    let power = power.map(|power| power.rows.iter().map(row).collect::<Vec<_>>());
    let quick = plan
        .quick
        .as_ref()
        .map(|quick| json!({"runs": quick.runs(), "time_s": quick.time().as_secs_f64()}));
    json!({
        "title": plan.title, "cells": names, "repetitions": plan.repetitions, "runs": plan.runs(),
        "time_s": plan.time().as_secs_f64(), "control": plan.control().map(|cell| &cell.label), "power": power,
        "quick": quick, "starts": plan.programs(),
    })
}

/// What the plan can show, in lines: a sentence for each quantity, or a table of assumed scatter.
fn shown(power: &PlanPower) -> Vec<String> {
    let percent = |ratio: f64| format!("{} %", significant(ratio * 100.0, 2));
    let mut lines = Vec::new();
    for row in &power.rows {
        let factors = row.factors.iter();
        let factors: Vec<String> = factors
            .map(|(name, detectable)| format!("{} by {name}", percent(*detectable)))
            .collect();
        lines.push(match &row.known_by {
            Some(known) => format!(
                "{} repetitions can show {} of {} (four of five such studies do; {} earlier runs of {} cells scatter by {})",
                power.repetitions,
                factors.join(", "),
                known.quantity.name(),
                known.runs,
                known.cells,
                percent(row.deviation),
            ),
            None => format!(
                "  runs that scatter by {}: {}",
                percent(row.deviation),
                factors.join(", ")
            ),
        });
    }
    if power.rows.iter().all(|row| row.known_by.is_none()) {
        let head = format!(
            "What {} repetitions can show (four of five such studies do; no earlier run of these cells tells their scatter):",
            power.repetitions
        );
        lines.insert(0, head);
    }
    lines
}

/// `12 min`, `3 h 20 min`.
fn spoken(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        (0, 0..=1) => format!("{} s", time.as_secs().max(1)),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}
