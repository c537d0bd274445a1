use super::*;
use linerate_model::random::Random;
use proptest::prelude::*;

const N: u32 = 4000;

/// How often intervals over `N` seeded sets contain `truth`, as a share.
fn coverage(truth: f64, mut interval: impl FnMut(&mut Random) -> Interval) -> f64 {
    let mut random = Random::new(20_261_121);
    let hits = (0..N).filter(|_| interval(&mut random).contains(truth));
    f64::from(u32::try_from(hits.count()).unwrap()) / f64::from(N)
}

/// Four binomial standard deviations: a right interval fails this once in 16 000 seeds. The seed is
/// fixed, so it passes always or never.
fn tolerance(share: f64) -> f64 {
    4.0 * (share * (1.0 - share) / f64::from(N)).sqrt()
}

fn draw(random: &mut Random, n: usize, mut value: impl FnMut(&mut Random) -> f64) -> Vec<f64> {
    (0..n).map(|_| value(random)).collect()
}

fn normal(random: &mut Random) -> f64 {
    100.0 + 5.0 * random.normal()
}

#[test]
fn student_intervals_cover_the_mean_as_often_as_they_claim() {
    for (n, claimed) in [(2, 0.95), (3, 0.95), (5, 0.9), (10, 0.95), (10, 0.99)] {
        let confidence = Confidence::new(claimed).unwrap();
        let share = coverage(100.0, |random| {
            mean(&draw(random, n, normal), confidence)
                .unwrap()
                .interval
                .unwrap()
        });
        assert!(
            (share - claimed).abs() < tolerance(claimed),
            "n {n}: {share}"
        );
    }
}

#[test]
fn student_critical_values_are_those_of_the_tables() {
    // Two-sided 95 %: t with 1, 9 and 29 degrees of freedom is 12.706, 2.262 and 2.045.
    for (n, t) in [(2_usize, 12.706), (10, 2.262), (30, 2.045)] {
        let samples: Vec<f64> = (0..n)
            .map(|i| f64::from(u32::try_from(i).unwrap()))
            .collect();
        let estimate = mean(&samples, USUAL_CONFIDENCE).unwrap();
        let moments = Moments::from_samples(&samples).unwrap();
        let deviation = moments.variance.unwrap().sqrt();
        let root = f64::from(u32::try_from(n).unwrap()).sqrt();
        let half = estimate.interval.unwrap().high - estimate.point;
        assert!((half * root / deviation - t).abs() < 0.001);
    }
}

#[test]
fn median_intervals_cover_at_least_as_often_as_they_claim_for_any_shape() {
    let exponential = |random: &mut Random| -(1.0 - random.unit()).ln();
    for n in [6, 11, 30] {
        let share = coverage(2.0_f64.ln(), |random| {
            median(&draw(random, n, exponential), USUAL_CONFIDENCE)
                .unwrap()
                .interval
                .unwrap()
        });
        assert!(share > 0.95 - tolerance(0.95), "n {n}: {share}");
    }
}

#[test]
fn bootstrap_intervals_cover_a_little_less_than_they_claim_for_small_sets() {
    let resampling = Resampling {
        seed: 5,
        rounds: 300,
    };
    let share = coverage(100.0, |random| {
        bootstrap_mean(&draw(random, 20, normal), USUAL_CONFIDENCE, resampling)
            .unwrap()
            .interval
            .unwrap()
    });
    assert!((0.90..0.96).contains(&share), "{share}");
}

#[test]
fn a_difference_that_is_not_there_is_shown_only_as_often_as_stated() {
    let mut random = Random::new(3);
    let alarms = (0..N).filter(|_| {
        let first = draw(&mut random, 10, normal);
        let second = draw(&mut random, 7, |random| 100.0 + 20.0 * random.normal());
        against_margin(&first, &second, 0.0, 0.0, USUAL_CONFIDENCE)
            .unwrap()
            .p
            < 0.05
    });
    let share = f64::from(u32::try_from(alarms.count()).unwrap()) / f64::from(N);
    assert!((share - 0.05).abs() < tolerance(0.05), "{share}");
}

#[test]
fn a_clear_difference_is_found_with_its_sign() {
    let slow = [10.0, 10.1, 9.9, 10.0];
    let fast = [20.0, 20.3, 19.8, 20.1];
    let compare = |a, b| against_margin(a, b, 0.0, 0.0, USUAL_CONFIDENCE).unwrap();
    let (up, down) = (compare(&slow, &fast), compare(&fast, &slow));
    assert!((up.difference.point - 10.05).abs() < 1e-9);
    assert!(up.difference.interval.unwrap().low > 9.0 && up.p < 1e-6);
    assert!(down.difference.interval.unwrap().high < -9.0);
    assert!(compare(&slow, &slow).p > 0.999);
    assert!(compare(&[7.0; 5], &[7.0; 5]).p > 0.999);
}

#[test]
fn paired_ratio_cancels_what_both_share() {
    // Drift of a factor of ten over the session, ratio always near 1.1.
    let pairs: Vec<_> = (1..=10)
        .map(|i| {
            let drift = f64::from(i);
            (drift, drift * if i % 2 == 0 { 1.09 } else { 1.11 })
        })
        .collect();
    let ratio = paired_ratio(&pairs, USUAL_CONFIDENCE).unwrap();
    let interval = ratio.interval.unwrap();
    assert!(interval.contains(1.1) && interval.high - interval.low < 0.02);
}

#[test]
fn paired_ratio_intervals_cover_as_often_as_they_claim() {
    let share = coverage(1.5, |random| {
        let pairs: Vec<_> = (0..8)
            .map(|_| (2.0, 3.0 * (0.1 * random.normal()).exp()))
            .collect();
        paired_ratio(&pairs, USUAL_CONFIDENCE)
            .unwrap()
            .interval
            .unwrap()
    });
    assert!((share - 0.95).abs() < tolerance(0.95), "{share}");
}

#[test]
fn one_observation_has_no_interval_and_says_so() {
    for estimate in [
        mean(&[4.0], USUAL_CONFIDENCE).unwrap(),
        median(&[4.0], USUAL_CONFIDENCE).unwrap(),
        bootstrap_mean(&[4.0], USUAL_CONFIDENCE, Resampling::with_seed(1)).unwrap(),
    ] {
        assert_eq!(
            (estimate.point, estimate.interval, estimate.n),
            (4.0, None, 1)
        );
    }
}

#[test]
fn bad_observations_are_refused_by_position() {
    assert_eq!(mean(&[], USUAL_CONFIDENCE), Err(StatisticsError::Empty));
    assert_eq!(
        median(&[1.0, f64::NAN], USUAL_CONFIDENCE),
        Err(StatisticsError::NotFinite { index: 1 })
    );
    assert_eq!(
        against_margin(&[1.0], &[1.0, 2.0], 0.0, 0.0, USUAL_CONFIDENCE),
        Err(StatisticsError::TooFew { found: 1 })
    );
    assert_eq!(
        paired_ratio(&[(1.0, 1.0), (0.0, 1.0)], USUAL_CONFIDENCE),
        Err(StatisticsError::NotPositive { index: 1 })
    );
}

#[test]
fn median_needs_six_observations_for_an_interval_at_95_percent() {
    let five = median(&[1.0, 2.0, 3.0, 4.0, 5.0], USUAL_CONFIDENCE).unwrap();
    assert_eq!((five.point, five.interval), (3.0, None));
    let six = median(&[6.0, 1.0, 2.0, 3.0, 4.0, 5.0], USUAL_CONFIDENCE).unwrap();
    let whole = Interval {
        low: 1.0,
        high: 6.0,
    };
    assert_eq!((six.point, six.interval), (3.5, Some(whole)));
}

#[test]
fn the_same_seed_gives_the_same_bootstrap_interval() {
    let samples = draw(&mut Random::new(9), 25, normal);
    let with = |seed| {
        bootstrap_mean(&samples, USUAL_CONFIDENCE, Resampling::with_seed(seed))
            .unwrap()
            .interval
            .unwrap()
    };
    assert_eq!(with(1), with(1));
    assert_ne!(with(1), with(2));
}

#[test]
fn a_difference_on_the_margin_is_called_larger_only_as_often_as_stated() {
    let mut random = Random::new(11);
    let alarms = (0..N).filter(|_| {
        let first = draw(&mut random, 8, normal);
        let second = draw(&mut random, 6, |random| normal(random) + 3.0);
        let tested = against_margin(&first, &second, 3.0, 0.0, USUAL_CONFIDENCE).unwrap();
        tested.p < 0.05
    });
    let share = f64::from(u32::try_from(alarms.count()).unwrap()) / f64::from(N);
    // One of the two sides of the test can be reached only.
    assert!(share < 0.025 + tolerance(0.025), "{share}");
    assert!(share > 0.025 - tolerance(0.025), "{share}");
}

#[test]
fn a_margin_of_nothing_agrees_with_the_interval() {
    for shift in [0.5, 1.0, 2.0, 3.0, 4.0] {
        let first = [1.0, 2.0, 3.0, 4.0];
        let second = [2.0, 3.0, 4.5, 5.0].map(|value| value + shift);
        let own = against_margin(&first, &second, 0.0, 0.0, USUAL_CONFIDENCE).unwrap();
        let shown = own.difference.interval.unwrap().low > 0.0;
        assert_eq!(own.p < 0.05, shown, "{shift}");
    }
}

#[test]
fn a_difference_inside_the_margin_is_shown_to_be_small_by_enough_observations() {
    let first = [100.0, 100.1, 99.9, 100.0];
    let second = [100.5, 100.6, 100.4, 100.5];
    let tested = against_margin(&first, &second, 2.0, 0.0, USUAL_CONFIDENCE).unwrap();
    assert!(tested.is_within);
    assert!((tested.p - 1.0).abs() < f64::EPSILON);
    let rounded = against_margin(&first, &second, 2.0, 4.0, USUAL_CONFIDENCE).unwrap();
    assert!(
        !rounded.is_within,
        "what is not averaged out widens the interval"
    );
}

#[test]
fn holm_corrects_as_in_the_textbook_and_keeps_the_order() {
    let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
    let want = [0.03, 0.06, 0.06, 0.02];
    for (own, want) in corrected.iter().zip(want) {
        assert!((own - want).abs() < 1e-12, "{corrected:?}");
    }
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert_eq!(holm(&[]), [0.0; 0]);
}

#[test]
fn intervals_of_a_quantile_cover_it_as_often_as_they_claim() {
    let exponential = |random: &mut Random| -(1.0 - random.unit()).ln() * 1e6;
    for (n, q) in [(40, 0.5), (500, 0.9), (3000, 0.99), (3000, 0.5_f64)] {
        let truth = -(1.0 - q).ln() * 1e6;
        let mut random = Random::new(7);
        let rounds = 600_u32;
        let hits = (0..rounds).filter(|_| {
            let mut histogram = linerate_model::Histogram::new();
            for _ in 0..n {
                let value = exponential(&mut random).round();
                histogram.record(format!("{value:.0}").parse().unwrap());
            }
            let interval = quantile_interval(&histogram, q, USUAL_CONFIDENCE);
            interval.is_some_and(|interval| interval.contains(truth))
        });
        let share = f64::from(u32::try_from(hits.count()).unwrap()) / f64::from(rounds);
        // Four standard deviations of 600 rounds; discrete ranks cover a little more than claimed.
        assert!(
            share > 0.95 - 4.0 * (0.95 * 0.05 / 600.0_f64).sqrt(),
            "n {n}, q {q}: {share}"
        );
    }
}

#[test]
fn too_few_values_have_no_interval_of_their_tail() {
    let mut histogram = linerate_model::Histogram::new();
    histogram.record_n(1000, 100);
    assert_eq!(quantile_interval(&histogram, 0.99, USUAL_CONFIDENCE), None);
    assert!(quantile_interval(&histogram, 0.5, USUAL_CONFIDENCE).is_some());
    for q in [0.0, 1.0, f64::NAN] {
        assert_eq!(quantile_interval(&histogram, q, USUAL_CONFIDENCE), None);
    }
}

type Estimator = fn(&[f64], Confidence) -> Result<Estimate, StatisticsError>;

proptest! {
    #[test]
    fn intervals_contain_their_point_and_scale_with_the_unit(
        samples in prop::collection::vec(1.0e3_f64..1.0e9, 2..40),
        scale in 1.0e-3_f64..1.0e3,
    ) {
        let scaled: Vec<f64> = samples.iter().map(|value| value * scale).collect();
        for estimate in [mean as Estimator, median] {
            let (own, other) = (
                estimate(&samples, USUAL_CONFIDENCE).unwrap(),
                estimate(&scaled, USUAL_CONFIDENCE).unwrap(),
            );
            prop_assert!((own.point * scale - other.point).abs() <= other.point.abs() * 1e-9);
            if let Some(interval) = own.interval {
                prop_assert!(interval.contains(own.point));
            }
        }
    }

    #[test]
    fn more_confidence_is_never_narrower(samples in prop::collection::vec(-1.0e6..1.0e6, 2..30)) {
        let at = |ratio| mean(&samples, Confidence::new(ratio).unwrap()).unwrap().interval.unwrap();
        let (narrow, wide) = (at(0.8), at(0.99));
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
    }
}
