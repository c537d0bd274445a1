//! Change points of series whose truth is known.

use super::{Rules, change_points};
use linerate_model::random::Random;

/// Levels with how many values each has, and noise of `scatter` times the level.
fn series(seed: u64, levels: &[(f64, usize)], scatter: f64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let each = levels
        .iter()
        .flat_map(|(level, count)| std::iter::repeat_n(*level, *count));
    each.map(|level| level * (1.0 + scatter * random.normal()))
        .collect()
}

fn found(values: &[f64]) -> Vec<usize> {
    change_points(values, &Rules::default())
        .iter()
        .map(|change| change.at)
        .collect()
}

#[test]
fn a_flat_noisy_series_raises_an_alarm_in_at_most_one_of_a_hundred() {
    for length in [30, 50, 100] {
        let alarms =
            (0..1000).filter(|seed| !found(&series(*seed, &[(1e9, length)], 0.03)).is_empty());
        let alarms = alarms.count();
        assert!(alarms <= 10, "{alarms} of 1000 with {length} values");
    }
}

#[test]
fn a_step_of_five_percent_at_three_percent_scatter_is_mostly_found_within_ten_values() {
    let is_found = |seed: u64| {
        let changes = found(&series(seed, &[(1e9, 40), (0.95e9, 10)], 0.03));
        changes.iter().any(|at| at.abs_diff(40) <= 5)
    };
    let hits = (0..200).filter(|seed| is_found(*seed)).count();
    assert!(hits >= 100, "{hits} of 200");
}

#[test]
fn a_clear_step_is_found_where_it_is_with_both_means() {
    let [change] = change_points(
        &series(7, &[(100.0, 20), (80.0, 20)], 0.01),
        &Rules::default(),
    )[..] else {
        panic!("not one change");
    };
    assert_eq!(change.at, 20);
    assert!((change.before.point - 100.0).abs() < 1.0 && (change.after.point - 80.0).abs() < 1.0);
    assert!(change.before.interval.is_some() && change.p < 1e-9);
    let there_and_back = series(
        8,
        &[(100.0, 30), (90.0, 30), (100.0, 30), (110.0, 30)],
        0.01,
    );
    assert_eq!(found(&there_and_back), [30, 60, 90]);
}

#[test]
fn single_spikes_and_short_series_are_no_changes() {
    let mut spiky = series(9, &[(100.0, 60)], 0.01);
    spiky[17] = 300.0;
    spiky[40] = 10.0;
    assert_eq!(found(&spiky), [0_usize; 0]);
    for length in 0..10 {
        let short: Vec<f64> = (0..length).map(f64::from).collect();
        assert_eq!(found(&short), [0_usize; 0]);
    }
    assert_eq!(found(&[5.0; 40]), [0_usize; 0]);
}

#[test]
fn neither_unit_nor_offset_moves_a_change() {
    for seed in 0..50 {
        let values = series(seed, &[(100.0, 25), (92.0, 25), (99.0, 25)], 0.02);
        let places = found(&values);
        let scaled: Vec<f64> = values.iter().map(|value| value * 1e6).collect();
        let moved: Vec<f64> = values.iter().map(|value| value + 1e3).collect();
        assert_eq!((found(&scaled), found(&moved)), (places.clone(), places));
    }
}
