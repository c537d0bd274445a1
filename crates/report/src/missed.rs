//! The goals that a search did not reach, in sentences.

use crate::charts::goal_name;
use crate::words;
use linerate_model::run::{GoalResult, Run};

/// One sentence for all goals of a run and its parts that share their bounds and what ended the search; empty if
/// all are reached.
pub fn missed_goals(run: &Run) -> Vec<String> {
    let own = of_one(run);
    let parts = run.parts().iter().flat_map(|part| {
        let title = words::title(part);
        let of_part = missed_goals(part).into_iter();
        of_part.map(move |sentence| format!("{title}: {sentence}"))
    });
    own.into_iter().chain(parts).collect()
}

fn of_one(run: &Run) -> Vec<String> {
    let mut causes: Vec<(&str, Vec<&GoalResult>)> = Vec::new();
    for goal in run.goals().iter().filter(|goal| !goal.reached) {
        let why = goal.shortfall.as_deref().unwrap_or("why is not recorded");
        match causes.iter_mut().find(|(cause, _)| *cause == why) {
            Some((_, goals)) => goals.push(goal),
            None => causes.push((why, vec![goal])),
        }
    }
    let sentence = |(why, goals): (&str, Vec<&GoalResult>)| {
        let names: Vec<_> = goals.into_iter().map(goal_name).collect();
        format!("not reached: {}; {why}", names.join(", "))
    };
    causes.into_iter().map(sentence).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use linerate_model::Ratio;
    use linerate_model::run::{RunWork, Tool};
    use linerate_model::spec::Direction;
    use std::time::Duration;

    pub(crate) fn goal(loss: f64, shortfall: Option<&str>) -> GoalResult {
        GoalResult {
            direction: Direction::Forward,
            loss_goal: Ratio::clamped(loss),
            delay_goal: None,
            lower_bound: None,
            upper_bound: None,
            conditional_throughput: None,
            reached: shortfall.is_none(),
            shortfall: shortfall.map(str::to_owned),
            bounded_by: None,
            width: None,
            trials: 1,
            time: Duration::ZERO,
        }
    }

    pub(crate) fn search(goals: Vec<GoalResult>) -> Run {
        let tool = Tool {
            name: "linerate".to_owned(),
            version: None,
        };
        Run {
            title: Some("a search".to_owned()),
            ..Run::new(
                "r",
                RunWork::Saturate {
                    goals,
                    curve: None,
                    delay_trials: Vec::new(),
                },
                tool,
            )
        }
    }

    #[test]
    fn goals_that_share_their_cause_are_one_sentence() {
        let why = "no load was judged: the trial time of 4 s is used up";
        let run = search(vec![
            goal(0.0, Some(why)),
            goal(0.001, Some(why)),
            goal(0.005, None),
        ]);
        let said = format!("not reached: loss ≤ 0 %, loss ≤ 0.1 %; {why}");
        assert_eq!(missed_goals(&run), std::slice::from_ref(&said));
        let demo = Run {
            work: RunWork::Demo { parts: vec![run] },
            ..search(Vec::new())
        };
        assert_eq!(missed_goals(&demo), [format!("a search: {said}")]);
        assert!(missed_goals(&search(vec![goal(0.0, None)])).is_empty());
    }
}
