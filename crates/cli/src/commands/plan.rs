//! `linerate plan`: an example to begin with, and what a plan will cost.

use crate::args::output::OutputArgs;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Subcommand};
use linerate_model::exit::{ExitCode, Failure};
use linerate_studies::archive;
use linerate_studies::plan::{EXAMPLES, StudyPlan, json_schema};
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
    archive::write_text(path, text)?;
    if !output.quiet {
        let name = path.display();
        terminal::note(&format!(
            "{name}: set its host, then `linerate plan check {name}`"
        ));
    }
    Ok(())
}

fn check(plan: &StudyPlan, output: &OutputArgs) -> Result<()> {
    let (cells, runs, time) = (plan.cells.len(), plan.runs(), plan.time());
    if output.json {
        let names: Vec<_> = plan.cells.iter().map(|cell| &cell.label).collect();
        let text = json!({
            "title": plan.title, "cells": names, "repetitions": plan.repetitions, "runs": runs,
            "time_s": time.as_secs_f64(),
        });
        return terminal::print_line(&serde_json::to_string_pretty(&text)?);
    }
    let mut lines = vec![format!(
        "{}: {cells} cells, {} repetitions, {runs} runs; at most about {}{}",
        plan.title,
        plan.repetitions,
        spoken(time),
        if plan.prove { ", proofs aside" } else { "" }
    )];
    lines.extend(plan.cells.iter().map(|cell| format!("  {}", cell.label)));
    let clean = lines
        .iter()
        .map(|line| linerate_report::figures::clean(line));
    terminal::print_line(&clean.collect::<Vec<_>>().join("\n"))
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
