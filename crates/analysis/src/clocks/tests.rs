//! Simulated clocks and paths: the truth is inside the stated error in every one of them.

use super::*;
use linerate_model::one_way::{Passage, Passages};
use linerate_model::random::Random;

const MASK: u64 = (1 << 48) - 1;

/// Two hosts, and a path between them. Times in nanoseconds of the sender's clock.
struct World {
    offset: f64,
    skew: f64,
    /// Smallest delay of each way.
    least: [f64; 2],
    /// Mean of the queue on top, exponential, of each way.
    queue: [f64; 2],
    messages: u64,
    gap: f64,
}

/// When the test begins, on the sender's clock. Its 48 bits wrap a second later.
const START: f64 = 2.814_74e14;

impl World {
    /// The receiver's clock at a time of the sender's.
    fn there(&self, now: f64) -> f64 {
        now + self.offset + self.skew * (now - START)
    }

    fn delay(&self, way: usize, random: &mut Random) -> f64 {
        self.least[way] - self.queue[way] * (1.0 - random.unit()).ln()
    }

    /// Both ends' records of a ping-pong.
    fn exchange(&self, random: &mut Random) -> (Transits, Transits) {
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        let mut now = START;
        for _ in 0..self.messages {
            let arrived = now + self.delay(0, random);
            let back = arrived + self.delay(1, random);
            let stamp = stamp(self.there(arrived));
            forward.push((self::stamp(now), stamp));
            backward.push((stamp, self::stamp(back)));
            now = back + self.gap;
        }
        (transits(&forward), transits(&backward))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, below 2^63"
)]
fn stamp(time: f64) -> u64 {
    time.floor() as u64
}

/// What the receiving end keeps: here the fastest of every five.
fn transits(times: &[(u64, u64)]) -> Transits {
    let (sent, received) = times[0];
    let first_ns = received.wrapping_sub(sent) & MASK;
    let passage = |&(left, came): &(u64, u64)| Passage {
        key: near(left, sent),
        took_ns: near(came.wrapping_sub(left), first_ns),
    };
    let floor: Passages = times
        .chunks(5)
        .filter_map(|five| five.iter().map(passage).min_by_key(|p| p.took_ns))
        .collect();
    Transits {
        first_sent_ns: sent & MASK,
        first_ns,
        least_ns: floor.iter().map(|p| p.took_ns).min().unwrap(),
        sample: floor.clone(),
        floor,
    }
}

fn fitted(world: &World, seed: u64) -> (Bounds, Fit) {
    let (forward, backward) = world.exchange(&mut Random::new(seed));
    let mut bounds = Bounds::default();
    bounds.add(&forward, &backward);
    let fit = bounds.fit().unwrap();
    (bounds, fit)
}

/// By how much the estimate at a share of the test is off.
fn error_at(world: &World, bounds: &Bounds, fit: &Fit, share: f64) -> f64 {
    let base = bounds.base().unwrap();
    let at = fit.middle() + (share - 0.5) * 2.0 * fit.frame.half;
    let truth = world.there(START + at) - (START + at);
    let estimate =
        fit.offset_at(at) + float(near(base.offset, stamp(truth.rem_euclid(2_f64.powi(48)))));
    estimate - truth.fract()
}

fn worlds() -> impl Iterator<Item = (World, u64)> {
    (0..400).map(|seed| {
        let mut random = Random::new(seed ^ 0xc10c);
        let between = |random: &mut Random, low: f64, high: f64| low + (high - low) * random.unit();
        let least = [
            between(&mut random, 2e3, 3e7),
            between(&mut random, 2e3, 3e7),
        ];
        let world = World {
            offset: between(&mut random, -1e10, 1e10),
            skew: between(&mut random, -1e-4, 1e-4),
            queue: [
                between(&mut random, 0.0, 3e6),
                between(&mut random, 0.0, 3e5),
            ],
            least,
            messages: 20 + random.bits() % 2_000,
            gap: between(&mut random, 0.0, 1e6),
        };
        (world, seed)
    })
}

/// The bounds are of arithmetic, not of chance: no share of misses is allowed for.
#[test]
fn the_truth_is_within_the_stated_error_at_any_time_of_the_messages() {
    for (world, seed) in worlds() {
        let (bounds, fit) = fitted(&world, seed);
        for share in [0.0, 0.3, 0.5, 1.0] {
            let error = error_at(&world, &bounds, &fit, share);
            assert!(
                error.abs() <= fit.uncertainty() + 2.0,
                "seed {seed}: {error} of {}",
                fit.uncertainty()
            );
        }
        let skew = (fit.skew() - world.skew).abs();
        assert!(skew <= fit.skew_uncertainty(), "seed {seed}: skew {skew}");
        assert!(fit.uncertainty() + 2.0 >= fit.asymmetry(), "seed {seed}");
    }
}

#[test]
fn a_symmetric_path_is_told_far_better_than_its_bound() {
    let world = World {
        offset: 7e9,
        skew: 5e-5,
        least: [1e7, 1e7],
        queue: [2e4, 2e4],
        messages: 500,
        gap: 0.0,
    };
    let (bounds, fit) = fitted(&world, 3);
    for share in [0.0, 0.5, 1.0] {
        assert!(error_at(&world, &bounds, &fit, share).abs() < 2e5);
    }
    let half = fit.asymmetry();
    assert!((half - 1e7).abs() < 1e5, "{half}");
    assert!((fit.skew() - 5e-5).abs() < 1e-7);
}

#[test]
fn what_asymmetry_hides_is_half_of_the_smallest_round_trip() {
    let world = World {
        offset: -3e9,
        skew: 0.0,
        least: [9e6, 1e6],
        queue: [1e3, 1e3],
        messages: 2_000,
        gap: 1e5,
    };
    let (bounds, fit) = fitted(&world, 5);
    // The estimate halves the round trip: it is wrong by four of its ten milliseconds, and says five.
    let error = error_at(&world, &bounds, &fit, 0.5);
    assert!((error - 4e6).abs() < 1e5, "{error}");
    assert!((fit.asymmetry() - 5e6).abs() < 1e4);
    assert!(fit.uncertainty() < 5.5e6);
}

#[test]
fn exchanges_before_and_after_bound_the_time_between() {
    let mut world = World {
        offset: 1e9,
        skew: 4e-5,
        least: [5e5, 5e5],
        queue: [1e5, 1e5],
        messages: 100,
        gap: 1e5,
    };
    let mut random = Random::new(1);
    let mut bounds = Bounds::default();
    let (forward, backward) = world.exchange(&mut random);
    bounds.add(&forward, &backward);
    let alone = bounds.fit().unwrap();
    // Ten seconds later.
    let later = 1e10;
    let truth = world.there(START + later / 2.0) - world.there(START) - later / 2.0;
    world.offset += world.skew * later;
    let (mut forward, mut backward) = world.exchange(&mut random);
    for transits in [&mut forward, &mut backward] {
        transits.first_sent_ns = (transits.first_sent_ns + stamp(later)) & MASK;
    }
    bounds.add(&forward, &backward);
    let both = bounds.fit().unwrap();
    assert!(both.skew_uncertainty() < alone.skew_uncertainty() / 5.0);
    let found = both.offset_at(later / 2.0) - both.offset_at(0.0);
    assert!((found - truth).abs() < 1e5, "{found} {truth}");
    assert!(both.uncertainty_at(later / 2.0) < 8e5);
}

#[test]
fn a_clock_that_is_set_meanwhile_is_no_line() {
    let world = World {
        offset: 0.0,
        skew: 0.0,
        least: [1e4, 1e4],
        queue: [1e3, 1e3],
        messages: 500,
        gap: 0.0,
    };
    let mut random = Random::new(9);
    let (forward, mut backward) = world.exchange(&mut random);
    backward.floor = backward
        .floor
        .iter()
        .map(|p| Passage {
            took_ns: p.took_ns - 100_000 * i64::from(p.key > 5_000_000),
            ..p
        })
        .collect();
    let mut bounds = Bounds::default();
    bounds.add(&forward, &backward);
    assert_eq!(bounds.fit().unwrap_err(), NoFit::NotStraight);
}

#[test]
fn nothing_and_one_direction_say_nothing() {
    assert_eq!(Bounds::default().fit().unwrap_err(), NoFit::OneWayOnly);
    let mut bounds = Bounds::default();
    let one: Transits = Transits {
        floor: [Passage::default()].into_iter().collect(),
        ..Transits::default()
    };
    bounds.add(&one, &Transits::default());
    assert_eq!(bounds.fit().unwrap_err(), NoFit::OneWayOnly);
}

#[test]
fn absurd_times_of_a_peer_do_no_harm() {
    let odd: Passages = [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (0, 0)]
        .into_iter()
        .map(|(key, took_ns)| Passage { key, took_ns })
        .collect();
    let transits = Transits {
        first_sent_ns: u64::MAX,
        first_ns: u64::MAX,
        least_ns: i64::MIN,
        floor: odd.clone(),
        sample: odd,
    };
    let mut bounds = Bounds::default();
    bounds.add(&transits, &transits);
    if let Ok(fit) = bounds.fit() {
        assert!(fit.uncertainty() >= 0.0);
    }
}
