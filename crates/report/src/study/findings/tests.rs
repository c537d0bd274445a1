use super::*;
use linerate_model::run::{
    ControlDifference, EffectScale, Outlier, Repetition, RepetitionLevel, Scatter, SimpleEffect,
    StudyPlace, Transient,
};
use linerate_model::{Estimate, Interval, Quantity};
use std::time::Duration;

fn estimate(point: f64, low: f64, high: f64) -> Estimate {
    Estimate {
        point,
        interval: Some(Interval { low, high }),
        confidence_ratio: 0.95,
        n: 20,
    }
}

fn effect(point: f64, low: f64, high: f64, verdict: EffectVerdict) -> Effect {
    Effect {
        scale: EffectScale::Ratio,
        estimate: estimate(point, low, high),
        p: 0.01,
        p_adjusted: 0.03,
        verdict,
        detectable_ratio: 0.012,
    }
}

fn at(factor: &str, level: &str) -> FactorLevel {
    FactorLevel {
        factor: factor.to_owned(),
        level: level.to_owned(),
    }
}

fn main_effect(factor: &str, (level, against): (&str, &str), effect: Effect) -> MainEffect {
    MainEffect {
        quantity: Quantity::ReceivedRate,
        of: at(factor, level),
        against: against.to_owned(),
        effect,
        series: None,
    }
}

/// IPv6 costs 4 % with one stack and 9 % with the other.
fn differing() -> StudyFindings {
    let simple = |level: &str, point, low, high| SimpleEffect {
        of: at("ip", "v6"),
        at: at("stack", level),
        estimate: estimate(point, low, high),
    };
    let interaction = Interaction {
        quantity: Quantity::ReceivedRate,
        of: [at("ip", "v6"), at("stack", "kernel")],
        against: ["v4".to_owned(), "lwip".to_owned()],
        effect: effect(0.948, 0.93, 0.96, EffectVerdict::Shown),
        simple: vec![
            simple("lwip", 0.96, 0.95, 0.97),
            simple("kernel", 0.91, 0.89, 0.93),
        ],
        series: None,
    };
    let shown = EffectVerdict::Shown;
    StudyFindings {
        tests: 3,
        main_effects: vec![
            main_effect("ip", ("v6", "v4"), effect(0.935, 0.92, 0.95, shown)),
            main_effect("stack", ("kernel", "lwip"), effect(1.05, 1.04, 1.06, shown)),
        ],
        interactions: vec![interaction],
        ..StudyFindings::default()
    }
}

#[test]
fn an_effect_that_differs_by_another_factor_is_said_at_each_of_its_levels() {
    let said = said(&differing());
    assert_eq!(
        said.effects,
        [
            "Stack kernel raises the received rate (L4 payload) by 5 % [4, 6], on average over ip (against stack lwip).",
            "Ip v6 lowers the received rate (L4 payload) by 4 % [3, 5] with stack lwip and by 9 % [7, 11] with stack kernel \
             (against ip v4).",
        ]
    );
    assert_eq!(said.alarm, None);
}

#[test]
fn without_an_interaction_the_main_effect_is_said_and_else_what_could_have_been_shown() {
    let mut findings = differing();
    findings.interactions[0].effect.verdict = EffectVerdict::NotShown;
    findings.main_effects[1].effect.verdict = EffectVerdict::NotShown;
    assert_eq!(
        said(&findings).effects,
        [
            "Ip v6 lowers the received rate (L4 payload) by 6.5 % [5, 8] (against ip v4).",
            "No effect of stack on the received rate (L4 payload) is shown; one of 1.2 % would have been in four of five such \
             studies.",
        ]
    );
}

#[test]
fn a_control_that_differs_from_itself_stands_above_all_and_hides_what_is_no_larger() {
    let control = |verdict| StudyControl {
        cell: "ip = v4".to_owned(),
        differences: vec![ControlDifference {
            quantity: Quantity::ReceivedRate,
            direction: Direction::Forward,
            effect: effect(1.04, 1.02, 1.06, verdict),
        }],
    };
    let mut findings = differing();
    findings.interactions.clear();
    findings.control = Some(control(EffectVerdict::Shown));
    findings.main_effects[1].effect.verdict = EffectVerdict::WithinControl;
    let loud = said(&findings);
    let alarm = loud.alarm.unwrap();
    assert!(
        alarm.contains("the cell “ip = v4” differs from itself (received, L4 payload 4 % [2, 6])"),
        "{alarm}"
    );
    assert!(
        loud.effects[1].starts_with("Within what the A/A control shows: stack kernel"),
        "{:?}",
        loud.effects
    );
    findings.control = Some(control(EffectVerdict::NotShown));
    let quiet = said(&findings);
    assert_eq!(quiet.alarm, None);
    assert!(
        quiet.runs[0].contains("no difference is shown") && quiet.runs[0].contains("1.2 %"),
        "{:?}",
        quiet.runs
    );
}

#[test]
fn no_scatter_of_runs_beside_that_within_them_is_said_as_such() {
    let scatter = |level, deviation_ratio| Scatter {
        quantity: Quantity::ReceivedRate,
        level,
        deviation_ratio,
        repetitions: 4.0,
    };
    let findings = StudyFindings {
        scatter: vec![
            scatter(RepetitionLevel::Run, 0.0),
            scatter(RepetitionLevel::Interval, 0.05),
        ],
        ..StudyFindings::default()
    };
    let said = said(&findings).runs;
    assert!(
        said[0].contains("no more than what varies within them") && !said[0].contains(" 0 %"),
        "{said:?}"
    );
}

#[test]
fn scatter_outliers_and_beginnings_are_said() {
    let scatter = |level, deviation_ratio, repetitions| Scatter {
        quantity: Quantity::ReceivedRate,
        level,
        deviation_ratio,
        repetitions,
    };
    let findings = StudyFindings {
        scatter: vec![
            scatter(RepetitionLevel::Run, 0.02, 10.0),
            scatter(RepetitionLevel::Interval, 0.05, 100.0),
        ],
        outliers: vec![Outlier {
            place: StudyPlace {
                cell: "ip = v6".to_owned(),
                repetition: 7,
            },
            direction: Direction::Forward,
            quantity: Quantity::ReceivedRate,
            value: 50e6,
            median: 94e6,
        }],
        transients: vec![Transient {
            cell: "ip = v6".to_owned(),
            direction: Direction::Forward,
            runs: 10,
            unsteady: 9,
            never_steady: 0,
            steady_from: Duration::from_millis(300),
            steady_ratio: 1.05,
        }],
        ..StudyFindings::default()
    };
    assert_eq!(
        said(&findings).runs,
        [
            "Runs of a cell scatter by 2 % of their own in received, L4 payload, intervals within a trial by 5 %: more \
             runs narrow the intervals, longer ones hardly.",
            "Outliers, which are in every mean (1): the cell “ip = v6”, repetition 7: received, L4 payload 50 Mbit/s, \
             median 94 Mbit/s.",
            "Runs that begin unlike they go on, which `warm-up` would leave out: the cell “ip = v6”, client → server: \
             9 of 10 runs are steady from 0.3 s on, at 105 % of the whole run's rate.",
        ]
    );
}

#[test]
fn what_n_counts_and_what_no_interval_holds_is_said() {
    let said = |level, starts, builds| {
        let repetition = Some(Repetition {
            builds,
            starts,
            runs: 40,
            level,
        });
        let findings = StudyFindings {
            repetition,
            ..StudyFindings::default()
        };
        said(&findings).runs
    };
    assert_eq!(
        said(RepetitionLevel::Start, 5, Some(1)),
        [
            "Intervals are over 5 starts of the peer's program, not over 40 runs: what a start decides, its runs share."
        ]
    );
    assert_eq!(
        said(RepetitionLevel::Build, 9, Some(3)),
        [
            "Intervals are over 3 builds of the peer's program, not over 40 runs: what a build decides, its runs share."
        ]
    );
    assert!(said(RepetitionLevel::Run, 1, None)[0].contains("one start of its peer's program"));
    // A start for each run is in every interval already.
    assert!(said(RepetitionLevel::Start, 40, None).is_empty());
}

#[test]
fn the_scatter_of_starts_tells_whether_more_of_them_are_of_use() {
    let scatter = |level, deviation_ratio, repetitions| Scatter {
        quantity: Quantity::ReceivedRate,
        level,
        deviation_ratio,
        repetitions,
    };
    let findings = StudyFindings {
        scatter: vec![
            scatter(RepetitionLevel::Start, 0.03, 5.0),
            scatter(RepetitionLevel::Run, 0.01, 4.0),
        ],
        ..StudyFindings::default()
    };
    assert_eq!(
        said(&findings).runs,
        [
            "Starts of a cell scatter by 3 % of their own in received, L4 payload, runs of a start by 1 %: more starts \
             narrow the intervals, more runs of each hardly."
        ]
    );
}

#[test]
fn the_table_has_every_effect() {
    let table = effects_table(&differing());
    assert_eq!(table.rows.len(), 3);
    let texts: Vec<&str> = table.rows[2].iter().map(|cell| &*cell.text).collect();
    assert_eq!(
        texts,
        [
            "received, L4 payload",
            "ip v6 × stack kernel",
            "ip v4 × stack lwip",
            "−5.2 % [−7, −4]",
            "0.030",
            "yes",
            "1.2 %"
        ]
    );
}

#[test]
fn effects_of_several_series_are_said_by_their_names() {
    let mut findings = differing();
    let alone = said(&findings).effects;
    for one in &mut findings.main_effects {
        one.series = Some("tcp".to_owned());
    }
    for one in &mut findings.interactions {
        one.series = Some("tcp".to_owned());
    }
    let mut other = main_effect(
        "ip",
        ("v6", "v4"),
        effect(1.2, 1.1, 1.3, EffectVerdict::Shown),
    );
    other.series = Some("udp".to_owned());
    findings.main_effects.push(other);
    let mut expected: Vec<String> = alone.iter().map(|said| format!("tcp: {said}")).collect();
    expected.push(
        "udp: Ip v6 raises the received rate (L4 payload) by 20 % [10, 30] (against ip v4)."
            .to_owned(),
    );
    assert_eq!(said(&findings).effects, expected);
}

#[test]
fn what_is_compared_is_said_before_larger_effects_of_what_is_not() {
    let against = |level| ("stack", (level, "kernel"));
    let of = |(factor, levels), effect| main_effect(factor, levels, effect);
    let mut findings = StudyFindings {
        main_effects: vec![
            of(
                ("kind", ("udp", "tcp")),
                effect(9.0, 8.0, 10.0, EffectVerdict::Shown),
            ),
            of(
                against("lwip"),
                effect(0.96, 0.9, 1.02, EffectVerdict::NotShown),
            ),
            of(
                against("smoltcp"),
                effect(1.52, 1.46, 1.58, EffectVerdict::Shown),
            ),
        ],
        ..StudyFindings::default()
    };
    let first = compared(&findings).unwrap();
    assert_eq!(
        first.sentence,
        "Received, L4 payload, against stack kernel: 1.52 times [1.46, 1.58] with stack smoltcp and no difference is shown with stack lwip, on average over all tests."
    );
    let values: Vec<_> = first.figures.iter().map(|one| one.value.as_str()).collect();
    assert_eq!(values, ["1.52 ×", "0.96 ×"]);
    assert!(said(&findings).effects[0].starts_with("Stack smoltcp raises"));
    findings.main_effects.truncate(1);
    assert_eq!(compared(&findings), None);
}
