//! `linerate compare --interleave 'A' 'B'`: measures both sides in random turns, and A a second time as the control.
//!
//! A side is a command line of linerate. Each turn runs it in a process of its own, so that a side may have another
//! environment, wrapper or build. What they measured is stored as one study.

use crate::compare::{Comparison, Options, check_metrics, comparable};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::watch::Event;
use anyhow::{Context as _, Result};
use linerate_analysis::compare::{NamedRun, compare_in_turns};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::random::Random;
use linerate_model::run::{Run, RunKind, RunRequest, StudyPlace, StudySettings};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What is measured in turns.
#[derive(Debug, Clone)]
pub struct InterleavePlan {
    /// The program that a side's `linerate` is.
    pub program: String,
    /// The base, as words of a command line.
    pub a: Side,
    /// What is judged against it.
    pub b: Side,
    /// Turns of each side.
    pub repetitions: u32,
    /// Seed of the order.
    pub seed: u64,
}

/// One side: a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The command line as the user wrote it.
    name: String,
    words: Vec<String>,
}

/// What is measured, by its cell in the study.
const CELLS: [&str; 3] = ["A", "A again", "B"];

/// Commands of linerate that measure.
const MEASURING: [&str; 4] = ["tcp", "udp", "latency", "saturate"];

impl Side {
    /// Reads `tcp board -t 5`, or with a wrapper or another environment `env X=1 linerate tcp board`. Quotes work as in
    /// a shell; nothing else of one does.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = |why: &str| {
            let message = format!("--interleave: \"{text}\" {why}");
            Failure::new(ExitCode::Usage, message)
        };
        let words = split(text).ok_or_else(|| wrong("has a quote that does not end"))?;
        let measures = |word: &String| MEASURING.contains(&word.as_str());
        let at = match words.first() {
            Some(first) if measures(first) => Some(0),
            _ => words
                .iter()
                .position(|word| word == "linerate")
                .map(|at| at + 1),
        };
        if !at.and_then(|at| words.get(at)).is_some_and(measures) {
            let known = MEASURING.join(", ");
            return Err(wrong(&format!(
                "is not a command line of linerate that measures ({known})"
            )));
        }
        Ok(Self {
            name: text.to_owned(),
            words,
        })
    }

    /// The process of one turn.
    fn command(&self, program: &str) -> Command {
        let mut words = self.words.iter().map(|word| match word.as_str() {
            "linerate" => program,
            other => other,
        });
        let wrapped = self.words.iter().any(|word| word == "linerate");
        let first = if wrapped { words.next() } else { None };
        let mut command = Command::new(first.unwrap_or(program));
        command
            .args(words)
            .args(["--json", "--quiet", "--no-store"]);
        command.stdin(Stdio::null());
        command
    }
}

/// The words of a command line; `None` if a quote does not end.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let (mut quote, mut is_open) = (None, false);
    for letter in text.chars() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                if !is_open {
                    words.push(String::new());
                    is_open = true;
                }
            }
            (None, _) if letter.is_whitespace() => is_open = false,
            _ => {
                if !is_open {
                    words.push(String::new());
                    is_open = true;
                }
                words.last_mut()?.push(letter);
            }
        }
    }
    quote.is_none().then_some(words)
}

/// Measures both sides in random turns and judges B against A.
pub fn compare_interleaved(
    context: &mut Context<'_>,
    plan: &InterleavePlan,
    options: &Options,
) -> Result<Comparison> {
    check_metrics(options)?;
    let study = measure(context, plan)?;
    let sides = CELLS.map(|cell| side(&study, cell));
    let [a, again, b] = &sides;
    let named = |name, run| NamedRun { name, run };
    let comparison = compare_in_turns(
        named(&plan.a.name, a),
        named(&plan.a.name, again),
        named(&plan.b.name, b),
        options,
        plan.repetitions,
        plan.seed,
    );
    comparable(comparison)
}

/// One side of the study as a study of its own, whose cells are called alike.
fn side(study: &Run, cell: &str) -> Run {
    let mut side = study.clone();
    if let Some(parts) = side.parts_mut() {
        parts.retain(|part| part.is_of_cell(cell));
        for part in parts {
            part.title = None;
            part.config.place = None;
        }
    }
    side
}

fn measure(context: &mut Context<'_>, plan: &InterleavePlan) -> Result<Run> {
    let order = order(plan);
    let mut recorder = Recorder::begin(context, header(plan, &order))?;
    let turns = f64::from(u32::try_from(order.len()).unwrap_or(u32::MAX));
    let mut done = [0; CELLS.len()];
    for (turn, cell) in (0_u32..).zip(&order) {
        if context.interrupted() {
            break;
        }
        context.watcher.event(Event::Progress {
            share: f64::from(turn) / turns,
            text: &format!("{}, turn {} of {}", CELLS[*cell], turn + 1, order.len()),
            elapsed: Duration::ZERO,
        });
        let which = if *cell == 2 { &plan.b } else { &plan.a };
        let made = measured(which, &plan.program);
        let mut part = made.inspect_err(|error| recorder.give_up(error))?;
        done[*cell] += 1;
        let (name, repetition) = (CELLS[*cell].to_owned(), done[*cell]);
        part.title = Some(format!("{name} (repetition {repetition}): {}", which.name));
        part.config.place = Some(StudyPlace {
            cell: name,
            repetition,
        });
        recorder.part(context, part);
    }
    let is_whole = !context.interrupted();
    let run = recorder.finish(context);
    if is_whole {
        return Ok(run);
    }
    let message = format!(
        "{} was interrupted; what it had measured is kept in it, and nothing is compared",
        run.id
    );
    Err(Failure::new(ExitCode::Other, message).into())
}

/// Every repetition measures each side once, in an order drawn for it.
fn order(plan: &InterleavePlan) -> Vec<usize> {
    let mut random = Random::new(plan.seed);
    let round = |_| {
        let mut round: Vec<usize> = (0..CELLS.len()).collect();
        random.shuffle(&mut round);
        round
    };
    (0..plan.repetitions).flat_map(round).collect()
}

fn header(plan: &InterleavePlan, order: &[usize]) -> Header {
    Header {
        kind: RunKind::Study,
        title: format!("{} against {}, in turns", plan.b.name, plan.a.name),
        target: None,
        asked: RunRequest::Study(StudySettings {
            host: String::new(),
            repetitions: plan.repetitions,
            seed: plan.seed,
            cells: Vec::new(),
            order: order.to_vec(),
            prove: false,
            restart: false,
            control: None,
            budget: None,
            series: Vec::new(),
        }),
        hosts: Vec::new(),
    }
}

/// One turn of a side.
fn measured(side: &Side, program: &str) -> Result<Run> {
    let name = &side.name;
    let output = side
        .command(program)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| {
            Failure::new(ExitCode::Usage, format!("cannot run \"{name}\": {error}"))
        })?;
    let said = String::from_utf8_lossy(&output.stderr);
    // A search that missed a goal has measured all the same.
    let has_measured = matches!(output.status.code(), Some(0 | 7));
    if !has_measured {
        let why = said
            .lines()
            .find(|line| !line.starts_with("note: "))
            .unwrap_or("it said nothing");
        let message = format!(
            "\"{name}\" failed: {}",
            why.trim_start_matches("linerate: ")
        );
        return Err(Failure::new(code(output.status.code()), message).into());
    }
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("\"{name}\" printed no run document of this version of linerate"))
}

/// The code that a failed turn hands on.
fn code(code: Option<i32>) -> ExitCode {
    let known = ExitCode::ALL.iter().map(|(known, _)| *known);
    let mut known = known.filter(|known| Some(*known as i32) == code);
    known.next().unwrap_or(ExitCode::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_command_line_of_linerate_that_measures() {
        let words = |text: &str| Side::parse(text).map(|side| side.words).unwrap();
        assert_eq!(words("tcp board -t 5"), ["tcp", "board", "-t", "5"]);
        assert_eq!(
            words("env 'X=a b' linerate udp board --rate \"10 M\""),
            ["env", "X=a b", "linerate", "udp", "board", "--rate", "10 M"]
        );
        for wrong in [
            "",
            "linerate",
            "list",
            "env X=1 tcp board",
            "tcp 'board",
            "rm -rf x",
            "linerate serve",
        ] {
            assert_eq!(
                Side::parse(wrong).unwrap_err().code,
                ExitCode::Usage,
                "{wrong}"
            );
        }
    }

    #[test]
    fn every_round_has_each_side_once_in_an_order_of_its_own() {
        let side = Side::parse("tcp board").unwrap();
        let plan = InterleavePlan {
            program: "linerate".to_owned(),
            a: side.clone(),
            b: side,
            repetitions: 50,
            seed: 1,
        };
        let order = order(&plan);
        let rounds: Vec<_> = order.chunks(3).collect();
        assert_eq!(rounds.len(), 50);
        for round in &rounds {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(rounds.iter().any(|round| round != &rounds[0]));
        assert_eq!(order, super::order(&plan));
    }
}
