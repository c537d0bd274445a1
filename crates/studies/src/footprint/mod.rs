//! Footprints of builds: files are read, others are built; nothing is stored.

pub mod lwip;

use anyhow::Result;
pub use linerate_footprint::{Budget, GivenStack, Group, KNOWN_GROUPS, Options};
use linerate_footprint::{
    FootprintError, Input, difference, examine, format_of, gather, judge, set_beside,
};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::footprint::{BudgetOn, Footprint, FootprintContent, FootprintFormat};
use linerate_model::run::Run;
use linerate_model::stack::StackReport;
use std::fs;
use std::path::{Path, PathBuf};

/// Whether two files are one build or two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sides {
    /// Two files with sections are A and B.
    Compared,
    /// All files are of one build.
    Together,
}

/// The footprint of the files, or the difference of two.
pub fn footprint(paths: &[PathBuf], sides: Sides, options: &Options) -> Result<FootprintContent> {
    let files = paths
        .iter()
        .map(|path| read(path))
        .collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<Input<'_>> = files
        .iter()
        .map(|(name, bytes)| Input { name, bytes })
        .collect();
    let second = match sides {
        Sides::Compared => second_side(&inputs).map_err(|error| failure(&error))?,
        Sides::Together => None,
    };
    let Some(second) = second else {
        let mut footprint = examine(&inputs, options).map_err(|error| failure(&error))?;
        judge(&mut footprint, None, options).map_err(|error| failure(&error))?;
        return Ok(FootprintContent::Footprint(footprint));
    };
    let (a, b) = inputs.split_at(second);
    let a = examine(a, options).map_err(|error| failure(&error))?;
    let mut b = examine(b, options).map_err(|error| failure(&error))?;
    judge(&mut b, Some(&a), options).map_err(|error| failure(&error))?;
    Ok(FootprintContent::Difference(difference(&a, &b)))
}

/// Sets the memory that stacks used in `runs` beside what the build, or B of two, sets aside for it.
pub fn set_runs_beside(content: &mut FootprintContent, runs: &[Run]) -> Result<(), Failure> {
    let all = runs
        .iter()
        .flat_map(|run| std::iter::once(run).chain(run.parts()));
    let reports: Vec<&StackReport> = all.filter_map(|run| run.stack.as_ref()).collect();
    let measured = gather(reports);
    let refuse = |why: &str| Err(Failure::new(ExitCode::Usage, format!("--run: {why}")));
    match content {
        _ if measured.is_empty() => refuse(
            "no run has a stack that tells its memory; give runs of stack://lwip or stack://smoltcp",
        ),
        FootprintContent::Footprint(footprint) => {
            set_beside(footprint, measured);
            Ok(())
        }
        FootprintContent::Builds(_) | FootprintContent::Difference(_) => {
            refuse("give the files of one build, with --together if they are two")
        }
    }
}

/// Where B begins, if there are two files that have sections: maps and stack usage belong to the one before them.
fn second_side(inputs: &[Input<'_>]) -> Result<Option<usize>, FootprintError> {
    let mut sides = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        if !matches!(
            format_of(input)?,
            FootprintFormat::Map | FootprintFormat::StackUsage
        ) {
            sides.push(at);
        }
    }
    Ok(match sides[..] {
        [_, second] => Some(second),
        _ => None,
    })
}

fn read(path: &Path) -> Result<(String, Vec<u8>), Failure> {
    let name = path.display().to_string();
    let failed = |why: String| {
        Failure::new(
            ExitCode::Plan,
            format!("cannot read {name}: {why}; give a file that this user may read"),
        )
    };
    let known = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !known.is_file() {
        return Err(failed("it is not a regular file".to_owned()));
    }
    let bytes = fs::read(path).map_err(|error| failed(error.to_string()))?;
    Ok((name, bytes))
}

/// An error of the command line or of a file.
fn failure(error: &FootprintError) -> Failure {
    let code = if error.is_usage() {
        ExitCode::Usage
    } else {
        ExitCode::Plan
    };
    Failure::new(code, error.to_string())
}

/// A group from `NAME=PATTERN`, or by the name of one that is known.
pub fn group(text: &str) -> Result<Group, String> {
    Group::parse(text).map_err(|error| error.to_string())
}

/// Budgets that are not kept, as sentences.
pub fn missed(content: &FootprintContent) -> Vec<String> {
    let budgets = match content {
        FootprintContent::Builds(_) => &[][..],
        FootprintContent::Difference(difference) => &difference.budgets,
        FootprintContent::Footprint(footprint) => &footprint.budgets,
    };
    let missed = budgets.iter().filter(|budget| !budget.met);
    missed
        .map(|budget| {
            let (used, limit) = (budget.used.get(), budget.limit.get());
            let took = match budget.on {
                BudgetOn::Growth => "grew by",
                BudgetOn::Size => "takes",
            };
            format!("{} {took} {used} B; {limit} B allowed", budget.name)
        })
        .collect()
}

/// The footprint of files that were just built.
fn built(files: &[PathBuf]) -> Result<Footprint> {
    match footprint(files, Sides::Together, &Options::default())? {
        FootprintContent::Footprint(footprint) => Ok(footprint),
        FootprintContent::Builds(_) | FootprintContent::Difference(_) => {
            unreachable!("invariant: files of one build are asked for")
        }
    }
}
