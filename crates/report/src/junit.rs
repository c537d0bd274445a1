//! Results as JUnit's XML, which CI systems show as tests: a case for each trial and goal of a run, each metric of a
//! comparison, each budget of a footprint.
//!
//! Failures and errors are what gives the command another exit code than 0: a goal that was not reached, a regression, a
//! budget that is exceeded are failures; a run that was cut short, a metric that cannot be judged are errors. A single trial
//! that is not valid is skipped, with its reasons.

use crate::charts::goal_name;
use crate::figures::clean;
use crate::words;
use linerate_model::run::{GoalResult, Run, RunStatus, Trial};
use maud::html;
use std::time::Duration;

/// Runs and their parts, a suite each.
pub fn junit(runs: &[Run]) -> String {
    let all: Vec<_> = runs.iter().flat_map(suites).collect();
    document(&all)
}

/// The suites as a file.
pub(crate) fn document(suites: &[Suite]) -> String {
    let count = |is: fn(&Outcome) -> bool| {
        let cases = suites.iter().flat_map(|suite| &suite.cases);
        cases.filter(|case| is(&case.outcome)).count()
    };
    let page = html! {
        testsuites name="linerate" tests=(count(|_| true)) failures=(count(|outcome| matches!(outcome, Outcome::Failed(_)))) errors=(count(|outcome| matches!(outcome, Outcome::Broken(_)))) skipped=(count(|outcome| matches!(outcome, Outcome::Skipped(_)))) {
            @for suite in suites {
                testsuite name=(suite.name) timestamp=[&suite.started] tests=(suite.cases.len()) {
                    @for case in &suite.cases {
                        testcase classname=(suite.name) name=(case.name) time=(case.seconds) {
                            @match &case.outcome {
                                Outcome::Passed => {}
                                Outcome::Failed(why) => { failure message=(why) {} }
                                Outcome::Broken(why) => { error message=(why) {} }
                                Outcome::Skipped(why) => { skipped message=(why) {} }
                            }
                        }
                    }
                }
            }
        }
    };
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
        page.into_string()
    )
}

/// Cases that belong together.
#[derive(Debug)]
pub struct Suite {
    name: String,
    /// RFC 3339, where it is known.
    started: Option<String>,
    cases: Vec<Case>,
}

impl Suite {
    /// Judgements that have no time of their own.
    pub(crate) fn judged(name: &str, cases: Vec<Case>) -> Self {
        Self {
            name: clean(name),
            started: None,
            cases,
        }
    }
}

/// What is one test to a CI system.
#[derive(Debug)]
pub(crate) struct Case {
    name: String,
    seconds: String,
    outcome: Outcome,
}

impl Case {
    /// A case that took no time of its own.
    pub(crate) fn judged(name: &str, outcome: Outcome) -> Self {
        Self {
            name: clean(name),
            seconds: seconds(Duration::ZERO),
            outcome,
        }
    }
}

/// How a case ended, with the reason.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It could not be judged.
    Broken(String),
    Failed(String),
    Passed,
    Skipped(String),
}

fn suites(run: &Run) -> Vec<Suite> {
    let trials = run.trials.iter().map(of_trial);
    let goals = run.goals().iter().map(of_goal);
    let own = Suite {
        name: clean(&words::title(run)),
        started: run.started.as_ref().map(ToString::to_string),
        cases: trials.chain(goals).chain(of_status(run)).collect(),
    };
    let parts = run.parts().iter().flat_map(suites);
    std::iter::once(own).chain(parts).collect()
}

fn of_trial(trial: &Trial) -> Case {
    let load = trial.intended_load.map(|load| format!(" at {load}"));
    let name = format!("trial {}{}", trial.index, load.unwrap_or_default());
    let outcome = if trial.valid {
        Outcome::Passed
    } else {
        Outcome::Skipped(clean(&trial.reasons.join("; ")))
    };
    Case {
        name,
        seconds: seconds(trial.duration.unwrap_or_default()),
        outcome,
    }
}

fn of_goal(goal: &GoalResult) -> Case {
    let why = || goal.shortfall.as_deref().unwrap_or("why is not recorded");
    Case {
        name: clean(&goal_name(goal)),
        seconds: seconds(goal.time),
        outcome: if goal.reached {
            Outcome::Passed
        } else {
            Outcome::Failed(clean(why()))
        },
    }
}

/// A run that did not come to its end, or whose result is not valid, which no single trial may say.
fn of_status(run: &Run) -> Option<Case> {
    let outcome = match run.status {
        RunStatus::Complete => return None,
        RunStatus::Incomplete => {
            Outcome::Broken("the run was interrupted before its end".to_owned())
        }
        RunStatus::Invalid => Outcome::Failed("the run's result is not valid".to_owned()),
    };
    Some(Case::judged("run", outcome))
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::missed::tests::{goal, search};

    #[test]
    fn a_goal_that_is_missed_is_a_failure_with_its_reason() {
        let run = search(vec![goal(0.0, Some("time <is> up")), goal(0.001, None)]);
        let xml = junit(&[run]);
        assert!(
            xml.contains("tests=\"2\" failures=\"1\" errors=\"0\""),
            "{xml}"
        );
        assert!(
            xml.contains("<failure message=\"time &lt;is&gt; up\"></failure>"),
            "{xml}"
        );
        assert!(
            xml.contains("classname=\"a search\" name=\"loss ≤ 0.1 %\""),
            "{xml}"
        );
        let cut = Run {
            status: RunStatus::Incomplete,
            ..search(Vec::new())
        };
        assert!(junit(&[cut]).contains("errors=\"1\""));
    }
}
