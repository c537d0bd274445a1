//! `linerate p4 test`.

use crate::{files, junit, print};
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::stf::{self, Report};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Arguments of `test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// What p4c-bm2-ss wrote.
    program: PathBuf,
    /// A packet test; once for each.
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    stf: Vec<PathBuf>,
    /// The program's P4Info in text form; it is checked to be of this program.
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the results in JUnit's form, for CI.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(args: &TestArgs) -> Result<ExitCode, Failure> {
    let program = files::program(&args.program)?;
    if let Some(path) = &args.p4info {
        files::check_p4info(&program, path)?;
    }
    let mut results = Vec::new();
    for path in &args.stf {
        let wrong = |error| Failure::new(ExitCode::Plan, format!("{}: {error}", path.display()));
        let statements = stf::parse(&files::read_text(path)?).map_err(wrong)?;
        results.push((
            path.as_path(),
            stf::run(&program, &statements).map_err(wrong)?,
        ));
    }
    if let Some(path) = &args.junit {
        let written = std::fs::write(path, junit::document(&args.program, &results));
        written.map_err(|error| {
            Failure::new(
                ExitCode::Other,
                format!("cannot write {}: {error}", path.display()),
            )
        })?;
    }
    print(&if args.json {
        json(&results)
    } else {
        text(&results)
    })?;
    let passed = results
        .iter()
        .all(|(_, report)| report.mismatches.is_empty());
    Ok(if passed {
        ExitCode::Done
    } else {
        ExitCode::GoalMissed
    })
}

fn text(results: &[(&Path, Report)]) -> String {
    let mut text = String::new();
    for (path, report) in results {
        let failed = report.mismatches.len();
        let word = if failed == 0 { "passed" } else { "FAILED" };
        let _ = writeln!(
            text,
            "{word} {}: {} packets, {} expectations",
            path.display(),
            report.packets,
            report.expectations
        );
        for mismatch in &report.mismatches {
            let line = mismatch
                .line
                .map_or(String::new(), |line| format!("line {line}, "));
            let _ = writeln!(text, "  {line}{}", mismatch.what.replace('\n', "\n  "));
            for step in mismatch.trace.lines() {
                let _ = writeln!(text, "    | {step}");
            }
        }
    }
    let failed = results
        .iter()
        .filter(|(_, report)| !report.mismatches.is_empty())
        .count();
    let _ = writeln!(text, "{} passed, {failed} failed", results.len() - failed);
    text
}

fn json(results: &[(&Path, Report)]) -> String {
    let tests = results.iter().map(|(path, report)| {
        let mismatches = report.mismatches.iter().map(|mismatch| {
            json!({"line": mismatch.line, "what": mismatch.what, "trace": mismatch.trace.lines()})
        });
        json!({
            "test": path.to_string_lossy(),
            "passed": report.mismatches.is_empty(),
            "packets": report.packets,
            "expectations": report.expectations,
            "mismatches": mismatches.collect::<Vec<Value>>(),
        })
    });
    format!("{:#}\n", json!({"tests": tests.collect::<Vec<Value>>()}))
}
