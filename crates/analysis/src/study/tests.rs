use super::plan_power::{PlannedStudy, earlier_scatter};
use super::*;
use linerate_model::random::Random;
use linerate_model::run::{ByteStreamResult, RunKind, StudyPlace, Tool, Trial, TrialInterval};
use linerate_model::spec::{Direction, Transport};
use linerate_model::{BitRate, Interval};
use std::time::Duration;

/// A run of a cell that received so many Mbit/s.
fn part(cell: &str, repetition: u32, mbit: f64) -> Run {
    let mut trial = Trial::new(
        0,
        Transport::Tcp,
        Direction::Forward,
        ByteStreamResult::default(),
    );
    trial.received_rate = Some(BitRate::from_f64(mbit * 1e6));
    let mut run = Run::new("part", RunKind::Tcp, Tool::unversioned("linerate"));
    run.trials = vec![trial];
    run.config.place = Some(StudyPlace {
        cell: cell.to_owned(),
        repetition,
    });
    run
}

/// A simulated study: a factor of each level of `ip` and `stack`, and the relative scatter of runs.
struct Simulated {
    cells: Vec<(String, f64)>,
    scatter: f64,
    repetitions: u32,
}

impl Simulated {
    /// Two stacks and two versions of IP, of which one costs more with the second stack.
    fn two_by_two(cost: [f64; 2], scatter: f64, repetitions: u32) -> Self {
        let mut cells = Vec::new();
        for (ip, is_six) in [("v4", false), ("v6", true)] {
            for ((stack, base), cost) in [("lwip", 90.0), ("kernel", 94.0)].into_iter().zip(cost) {
                let rate = if is_six { base * cost } else { base };
                cells.push((format!("ip = {ip}, stack = {stack}"), rate));
            }
        }
        Self {
            cells,
            scatter,
            repetitions,
        }
    }

    fn labels(&self) -> Vec<&str> {
        self.cells.iter().map(|(label, _)| label.as_str()).collect()
    }

    fn parts(&self, random: &mut Random) -> Vec<Run> {
        let mut parts = Vec::new();
        for repetition in 1..=self.repetitions {
            for (label, rate) in &self.cells {
                let value = rate * (self.scatter * random.normal()).exp();
                parts.push(part(label, repetition, value));
            }
        }
        parts
    }

    fn findings(&self, random: &mut Random) -> StudyFindings {
        findings(self.labels(), None, &self.parts(random))
    }
}

fn inside(effect: &Effect, truth: f64) -> u32 {
    u32::from(effect.estimate.interval.unwrap().contains(truth))
}

/// 1000 studies of 2 × 2 cells × 5: 95 % ± four standard deviations of a share.
#[test]
fn intervals_of_a_study_cover_main_effect_interaction_and_simple_effects() {
    const ROUNDS: u32 = 1000;
    let study = Simulated::two_by_two([0.96, 0.91], 0.01, 5);
    let mut random = Random::new(17);
    let (mut main, mut both, mut simple, mut named) = (0, 0, 0, 0);
    for _ in 0..ROUNDS {
        let found = study.findings(&mut random);
        assert_eq!(found.tests, 3);
        let ip = &found.main_effects[0];
        assert_eq!(
            (&*ip.of.factor, &*ip.of.level, &*ip.against),
            ("ip", "v6", "v4")
        );
        main += inside(&ip.effect, (0.96_f64 * 0.91).sqrt());
        let interaction = &found.interactions[0];
        both += inside(&interaction.effect, 0.91 / 0.96);
        if interaction.effect.verdict == EffectVerdict::Shown {
            named += 1;
            let lwip = &interaction.simple[0];
            assert_eq!((&*lwip.of.level, &*lwip.at.level), ("v6", "lwip"));
            simple += u32::from(lwip.estimate.interval.unwrap().contains(0.96));
        }
    }
    let within = |hits: u32, of: u32| (0.92..0.975).contains(&(f64::from(hits) / f64::from(of)));
    assert!(
        within(main, ROUNDS) && within(both, ROUNDS),
        "{main} {both}"
    );
    assert!(
        named > ROUNDS * 9 / 10 && within(simple, named),
        "{named} {simple}"
    );
}

/// 201 equal cells in 3 × 67 levels make 200 comparisons. Of 150 such studies any effect may be shown in 5 %: 7.5, and
/// four standard deviations of 2.7 more.
#[test]
fn an_a_a_study_of_200_comparisons_has_false_alarms_within_the_stated_rate() {
    let cells = (0..3).flat_map(|a| (0..67).map(move |b| (format!("a = {a}, b = {b}"), 100.0)));
    let study = Simulated {
        cells: cells.collect(),
        scatter: 0.02,
        repetitions: 5,
    };
    let mut random = Random::new(200);
    let mut alarms = 0;
    let mut uncorrected = 0;
    for _ in 0..150 {
        let found = study.findings(&mut random);
        assert_eq!(found.tests, 200);
        let effects = || {
            let main = found.main_effects.iter().map(|one| one.effect);
            main.chain(found.interactions.iter().map(|one| one.effect))
        };
        alarms += u32::from(effects().any(|effect| effect.verdict == EffectVerdict::Shown));
        uncorrected += u32::from(effects().any(|effect| effect.p < 0.05));
    }
    assert!(alarms <= 18, "{alarms} of 150");
    assert!(
        uncorrected > 125,
        "{uncorrected} of 150 without the correction"
    );
}

/// Of 1000 controls of one quantity 5 % may show a difference: 50, and four standard deviations of 6.9 more.
#[test]
fn a_control_shows_a_difference_as_rarely_as_stated() {
    let study = Simulated {
        cells: vec![
            ("a = 1".to_owned(), 50.0),
            (StudyPlace::CONTROL.to_owned(), 50.0),
        ],
        scatter: 0.05,
        repetitions: 5,
    };
    let mut random = Random::new(23);
    let alarms = (0..1000).filter(|_| {
        let parts = study.parts(&mut random);
        let found = findings(["a = 1"], Some("a = 1"), &parts);
        found.control.unwrap().shows_difference()
    });
    assert!(alarms.count() <= 78);
}

#[test]
fn what_the_control_shows_as_large_is_no_effect() {
    let mut study = Simulated::two_by_two([0.97, 0.97], 0.001, 5);
    study
        .cells
        .push((StudyPlace::CONTROL.to_owned(), 90.0 * 0.95));
    let parts = study.parts(&mut Random::new(3));
    let cell = "ip = v4, stack = lwip";
    let labels = &study.labels()[..4];
    let found = findings(labels.iter().copied(), Some(cell), &parts);
    let control = found.control.as_ref().unwrap();
    assert!(control.shows_difference());
    assert_eq!(control.cell, cell);
    assert!((control.differences[0].effect.estimate.point - 0.95).abs() < 0.002);
    assert_eq!(
        found.main_effects[0].effect.verdict,
        EffectVerdict::WithinControl
    );
    let alone = findings(labels.iter().copied(), None, &parts);
    assert_eq!(alone.main_effects[0].effect.verdict, EffectVerdict::Shown);
    assert_eq!(alone.control, None);
}

#[test]
fn what_a_study_could_have_shown_is_found_in_four_of_five() {
    let mut random = Random::new(29);
    let probe = Simulated::two_by_two([1.0, 1.0], 0.02, 6);
    let shift: f64 = (0..200)
        .map(|_| {
            probe.findings(&mut random).main_effects[0]
                .effect
                .detectable_ratio
                / 200.0
        })
        .sum();
    let effect = Simulated::two_by_two([1.0 + shift, 1.0 + shift], 0.02, 6);
    let shown = (0..1000).filter(|_| {
        let found = effect.findings(&mut random);
        found.main_effects[0].effect.verdict == EffectVerdict::Shown
    });
    let share = shown.count();
    assert!((720..=920).contains(&share), "{share} of 1000");
}

#[test]
fn a_plan_says_before_what_the_study_says_after() {
    let mut random = Random::new(31);
    let study = Simulated::two_by_two([1.0, 1.0], 0.02, 40);
    let parts = study.parts(&mut random);
    let of_cell = |label: &str| -> Vec<&Run> {
        let is_of = |part: &&Run| part.config.place.as_ref().unwrap().cell == label;
        parts.iter().filter(is_of).collect()
    };
    let cells: Vec<Vec<&Run>> = study.labels().into_iter().map(of_cell).collect();
    let scatter = earlier_scatter(&cells);
    assert_eq!(
        (scatter.len(), scatter[0].runs, scatter[0].cells),
        (1, 160, 4)
    );
    assert!((scatter[0].deviation / 0.02 - 1.0).abs() < 0.15);
    let planned = PlannedStudy {
        series: vec![vec![("ip".to_owned(), 2), ("stack".to_owned(), 2)]],
        repetitions: 40,
        quantities: 1,
    };
    let before = planned.detectable(0, 0, scatter[0].deviation).unwrap();
    let found = findings(study.labels(), None, &parts);
    let after = found.main_effects[0].effect.detectable_ratio;
    assert!((before / after - 1.0).abs() < 0.1, "{before} {after}");
}

#[test]
fn the_order_of_measuring_and_of_levels_is_of_no_account() {
    let study = Simulated::two_by_two([0.96, 0.91], 0.01, 5);
    let parts = study.parts(&mut Random::new(5));
    let mut turned = parts.clone();
    Random::new(6).shuffle(&mut turned);
    assert_eq!(
        findings(study.labels(), None, &parts),
        findings(study.labels(), None, &turned)
    );
}

#[test]
fn one_repetition_shows_nothing_and_figures_that_do_not_scatter_no_rounding() {
    let once = Simulated::two_by_two([0.5, 0.5], 0.0, 1);
    let found = once.findings(&mut Random::new(1));
    assert_eq!((found.tests, found.main_effects.len()), (0, 0));
    let still = Simulated::two_by_two([1.0004, 1.0004], 0.0, 3);
    let found = still.findings(&mut Random::new(1));
    assert_eq!(
        found.main_effects[0].effect.verdict,
        EffectVerdict::NotShown
    );
}

#[test]
fn an_intended_load_is_no_factor_of_what_was_received() {
    let rate =
        |rate: u32, way: &str, mbit: f64| (format!("direction = {way}, rate = {rate}M"), mbit);
    let study = Simulated {
        cells: vec![
            rate(10, "forward", 10.0),
            rate(20, "forward", 20.0),
            rate(10, "up", 9.0),
            rate(20, "up", 18.0),
        ],
        scatter: 0.001,
        repetitions: 4,
    };
    let found = study.findings(&mut Random::new(8));
    let named: Vec<&str> = found
        .main_effects
        .iter()
        .map(|one| &*one.of.factor)
        .collect();
    assert_eq!(named, ["direction"]);
    assert!(found.interactions.is_empty());
    assert!((found.main_effects[0].effect.estimate.point - 0.9).abs() < 0.01);
}

#[test]
fn a_run_far_from_the_others_is_named_and_stays_in_the_mean() {
    let mut parts: Vec<Run> = (1..=9)
        .map(|repetition| part("all", repetition, 100.0 + f64::from(repetition % 3)))
        .collect();
    parts.push(part("all", 10, 50.0));
    let found = findings(["all"], None, &parts);
    assert_eq!(found.outliers.len(), 1);
    let outlier = &found.outliers[0];
    assert_eq!(
        (outlier.place.repetition, outlier.quantity),
        (10, Quantity::ReceivedRate)
    );
    let mean = &crate::estimates(["all"], &parts)[0];
    assert_eq!(mean.estimate.n, 10);
    assert!((mean.estimate.point / 1e6 - 95.9).abs() < 1e-6);
    assert_eq!(findings(["all"], None, &parts[..9]).outliers, []);
}

/// A run whose first `slow` intervals have half the rate.
fn slow_start(repetition: u32, slow: usize) -> Run {
    let mut run = part("all", repetition, 90.0);
    let intervals = (0..21_usize).map(|at| {
        let mbit = if at < slow {
            45.0
        } else {
            90.0 + [0.0, 0.4][at % 2]
        };
        let start = Duration::from_millis(100 * at as u64);
        TrialInterval {
            start,
            end: start + Duration::from_millis(100),
            received_rate: Some(BitRate::from_f64(mbit * 1e6)),
            ..TrialInterval::default()
        }
    });
    run.trials[0].intervals = intervals.collect();
    run
}

#[test]
fn a_slow_start_is_found_with_its_end() {
    let parts: Vec<Run> = (1..=4)
        .map(|repetition| slow_start(repetition, 3))
        .collect();
    let found = findings(["all"], None, &parts);
    let transient = &found.transients[0];
    assert_eq!(
        (transient.runs, transient.unsteady, transient.never_steady),
        (4, 4, 0)
    );
    assert_eq!(transient.steady_from, Duration::from_millis(300));
    assert!(transient.steady_ratio > 1.05);
    let steady: Vec<Run> = (1..=4)
        .map(|repetition| slow_start(repetition, 0))
        .collect();
    assert_eq!(findings(["all"], None, &steady).transients, []);
    let levels: Vec<_> = found.scatter.iter().map(|one| one.level).collect();
    assert_eq!(
        levels,
        [
            linerate_model::run::RepetitionLevel::Run,
            linerate_model::run::RepetitionLevel::Interval
        ]
    );
    assert!(found.scatter[1].deviation_ratio > found.scatter[0].deviation_ratio);
}

#[test]
fn intervals_hold_both_directions_of_a_factor_apart() {
    let way = Interval {
        low: 0.49,
        high: 0.51,
    };
    let mut parts = Vec::new();
    for repetition in 1..=4 {
        parts.push(part("direction = forward", repetition, 100.0));
        let mut back = part("direction = reverse", repetition, 50.0);
        back.trials[0].direction = Direction::Reverse;
        parts.push(back);
    }
    let found = findings(["direction = forward", "direction = reverse"], None, &parts);
    let effect = &found.main_effects[0];
    assert_eq!(
        (&*effect.of.factor, &*effect.of.level, &*effect.against),
        ("direction", "reverse", "forward")
    );
    assert!(way.contains(effect.effect.estimate.point));
    assert_eq!(effect.effect.verdict, EffectVerdict::Shown);
}

/// Each series is a study of its own but for the correction, which is of all tests.
#[test]
fn cells_are_compared_within_their_series() {
    let study = Simulated::two_by_two([0.96, 0.91], 0.01, 10);
    let mut random = Random::new(3);
    let mut parts = study.parts(&mut random);
    let mut labels: Vec<String> = study.labels().into_iter().map(str::to_owned).collect();
    let name = |series: &str, label: &str| format!("series = {series}, {label}");
    for label in &mut labels {
        *label = name("tcp", label);
    }
    for part in &mut parts {
        let place = part.config.place.as_mut().unwrap();
        place.cell = name("tcp", &place.cell);
    }
    for (streams, mbit) in [("1", 5.0), ("2", 10.0)] {
        let label = name("udp", &format!("streams = {streams}"));
        for repetition in 1..=10 {
            let wobble = f64::from(repetition) * 1e-3;
            parts.push(part(&label, repetition, mbit + wobble));
        }
        labels.push(label);
    }
    let found = findings(labels.iter().map(String::as_str), None, &parts);
    let named: Vec<(Option<&str>, &str)> = found
        .main_effects
        .iter()
        .map(|one| (one.series.as_deref(), one.of.factor.as_str()))
        .collect();
    assert_eq!(
        named,
        [
            (Some("tcp"), "ip"),
            (Some("tcp"), "stack"),
            (Some("udp"), "streams")
        ]
    );
    assert_eq!(found.tests, 4);
    assert_eq!(found.interactions.len(), 1);
    let alone = study.findings(&mut Random::new(3));
    assert_eq!(
        found.main_effects[0].effect.estimate,
        alone.main_effects[0].effect.estimate
    );
    assert!((found.main_effects[2].effect.estimate.point - 2.0).abs() < 0.01);
}
