//! Searches of simulated devices whose average loss ratio is known at every load.

use super::*;

/// How a device loses frames.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loss {
    /// What is above the capacity, to the frame.
    Above,
    /// What is above the capacity, and of all frames this share at random.
    AboveAndRandom(f64),
    /// At random, more and more from far below the capacity on: at the capacity half a percent, and e times less for each
    /// such share of the capacity below.
    Onset(f64),
    /// As `Above`, of a capacity that differs from trial to trial by up to this share.
    Unsteady(f64),
}

#[derive(Debug, Clone)]
struct Device {
    capacity: f64,
    loss: Loss,
    random: Random,
}

/// Share of what is offered that is more than the device forwards.
fn excess(load: f64, capacity: f64) -> f64 {
    (1.0 - capacity / load).max(0.0)
}

impl Device {
    /// Average loss ratio.
    fn ratio(&self, load: f64, capacity: f64) -> f64 {
        let above = excess(load, capacity);
        match self.loss {
            Loss::Above | Loss::Unsteady(_) => above,
            Loss::AboveAndRandom(share) => share + excess(load * (1.0 - share), capacity),
            Loss::Onset(step) => above.max(0.01 / (1.0 + ((1.0 - load / capacity) / step).exp())),
        }
    }

    fn critical_load(&self, target: f64) -> f64 {
        let [mut low, mut high] = [1.0, 1e9];
        for _ in 0..100 {
            let middle = f64::midpoint(low, high);
            if self.ratio(middle, self.capacity) > target {
                high = middle;
            } else {
                low = middle;
            }
        }
        low
    }

    fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 500.0 {
            return (mean + mean.sqrt() * self.random.normal()).round();
        }
        let (mut time, mut count) = (self.random.exponential(1.0), 0.0);
        while time < mean {
            time += self.random.exponential(1.0);
            count += 1.0;
        }
        count
    }

    fn measure(&mut self, load: PacketRate, time: Duration) -> PlrTrial {
        let sent = load.packets_in(time);
        let mut capacity = self.capacity;
        if let Loss::Unsteady(share) = self.loss {
            capacity *= 1.0 + share * (2.0 * self.random.unit() - 1.0);
        }
        let mean = sent.as_f64() * self.ratio(load.pps(), capacity);
        let lost = match self.loss {
            Loss::Above | Loss::Unsteady(_) => mean,
            Loss::AboveAndRandom(_) | Loss::Onset(_) => self.poisson(mean),
        };
        let lost = PacketRate::from_pps(lost).packets_in(Duration::from_secs(1));
        PlrTrial { load, sent, lost }
    }
}

const HIGHEST: f64 = 1e6;

fn config(seed: u64) -> PlrConfig {
    PlrConfig {
        lowest: PacketRate::from_pps(1e3),
        highest: PacketRate::from_pps(HIGHEST),
        target: LossRatio::clamped(1e-7),
        budget: Duration::from_secs(45),
        seed,
    }
}

fn device(loss: Loss, capacity: f64, seed: u64) -> Device {
    Device {
        capacity,
        loss,
        random: Random::new(mix(seed)),
    }
}

fn searched(config: PlrConfig, device: &mut Device) -> (CriticalLoadEstimate, Duration) {
    let mut search = PlrSearch::new(config).unwrap();
    let mut spent = Duration::ZERO;
    while let Some((load, time)) = search.next_trial() {
        assert!((config.lowest..=config.highest).contains(&load), "{load}");
        let trial = device.measure(load, time);
        search.record(time, Some(trial));
        spent += time;
    }
    (search.estimate().unwrap(), spent)
}

/// Searches of ten devices of this kind; in nine of them at least the truth must be within three standard deviations of the mean, and these
/// at most `deviation` of it: with none outside there is nothing to see in a wide interval.
fn assert_truth_is_inside(loss: Loss, target: f64, deviation: f64) {
    let mut inside = 0;
    for seed in 7000..7010_u64 {
        let mut device = device(loss, 1e5, seed);
        let truth = device.critical_load(target);
        let config = PlrConfig {
            target: LossRatio::clamped(target),
            ..config(seed)
        };
        let (found, spent) = searched(config, &mut device);
        assert!(spent <= config.budget && spent > config.budget.mul_f64(0.95));
        assert_eq!(
            found.place,
            LoadPlace::Within,
            "{loss:?}, seed {seed}: {found:?}"
        );
        let off = (found.mean.pps() - truth).abs() / found.deviation.pps();
        inside += u32::from(off <= 3.0);
        assert!(
            found.deviation.pps() < truth * deviation,
            "{loss:?}, seed {seed}: {found:?}"
        );
    }
    assert!(inside >= 9, "{loss:?}: {inside} of 10");
}

#[test]
fn a_hard_capacity_is_found_to_a_ten_thousandth() {
    assert_truth_is_inside(Loss::Above, 1e-7, 1e-4);
}

/// Neither function has a loss ratio that is the same at low loads: what is lost there is taken for the onset of more.
#[test]
fn random_loss_below_the_target_makes_the_estimate_too_low_but_never_too_high() {
    for seed in 7000..7005_u64 {
        let config = PlrConfig {
            target: LossRatio::clamped(1e-5),
            ..config(seed)
        };
        let (found, _) = searched(config, &mut device(Loss::AboveAndRandom(1e-6), 1e5, seed));
        let share = found.mean.pps() / 1e5;
        assert!((0.8..1.001).contains(&share), "seed {seed}: {found:?}");
    }
}

#[test]
fn an_onset_of_loss_that_no_trial_shows_is_extrapolated() {
    assert_truth_is_inside(Loss::Onset(0.004), 1e-7, 3e-2);
}

#[test]
fn a_capacity_that_changes_from_trial_to_trial_gives_a_wider_estimate() {
    let deviation = |loss| {
        searched(config(1), &mut device(loss, 1e5, 1))
            .0
            .deviation
            .pps()
    };
    let (steady, unsteady) = (deviation(Loss::Above), deviation(Loss::Unsteady(0.02)));
    assert!(unsteady > steady * 10.0, "{steady}, {unsteady}");
}

#[test]
fn a_device_that_loses_more_at_all_loads_has_no_critical_load_within_the_range() {
    let mut lossy = device(Loss::AboveAndRandom(1e-4), 1e5, 1);
    let (found, _) = searched(config(1), &mut lossy);
    assert_eq!(found.place, LoadPlace::Below, "{found:?}");
    let (found, _) = searched(config(1), &mut device(Loss::Above, 2e6, 1));
    assert_eq!(found.place, LoadPlace::Above, "{found:?}");
    assert!((found.mean.pps() / HIGHEST - 1.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn rates_of_eight_decades_are_found() {
    for capacity in [40.0, 3e3, 2e7, 4e7] {
        let config = PlrConfig {
            lowest: PacketRate::from_pps(1.0_f64.max(capacity / 100.0)),
            highest: PacketRate::from_pps(capacity * 2.5),
            ..config(3)
        };
        let mut device = device(Loss::Above, capacity, 3);
        let truth = device.critical_load(config.target.get());
        let (found, _) = searched(config, &mut device);
        let off = (found.mean.pps() - truth).abs() / found.deviation.pps();
        assert!(off <= 3.0, "{capacity}: {found:?}");
    }
}

#[test]
fn the_same_seed_and_trials_give_the_same_numbers() {
    let found = |seed| searched(config(seed), &mut device(Loss::Onset(0.004), 1e5, 5)).0;
    assert_eq!(found(1), found(1));
    assert_ne!(found(1), found(2));
}

/// Answers drawn at random, without any relation to the load: a billion frames lost, or all, or none.
#[test]
fn any_answer_gives_finite_numbers_and_ends() {
    let most = PacketCount::new(1_000_000_000);
    for seed in 0..5 {
        let mut random = Random::new(seed);
        let mut search = PlrSearch::new(config(seed)).unwrap();
        while let Some((load, time)) = search.next_trial() {
            let lost = match random.below(4) {
                0 => most,
                1 => PacketCount::new(random.bits() % most.get()),
                2 => PacketCount::new(1),
                _ => PacketCount::new(0),
            };
            let trial = PlrTrial {
                load,
                sent: most,
                lost,
            };
            search.record(time, Some(trial).filter(|_| random.below(10) > 0));
            if let Some(found) = search.estimate() {
                let [low, high] = [0.999_999, HIGHEST * 1.000_001];
                let lowest = config(seed).lowest.pps();
                for mean in [found.stretch, found.erf] {
                    assert!((lowest * low..=high).contains(&mean.pps()), "{found:?}");
                }
                assert!(found.mean.pps().is_finite() && found.deviation.pps().is_finite());
            }
        }
    }
}

#[test]
fn a_trial_that_says_nothing_is_repeated_and_takes_its_time() {
    let mut search = PlrSearch::new(config(1)).unwrap();
    let first = search.next_trial().unwrap();
    assert_eq!(first.0, PacketRate::from_pps(500_500.0));
    search.record(first.1, None);
    assert_eq!(
        (search.next_trial(), search.estimate()),
        (Some(first), None)
    );
    search.record(config(1).budget, None);
    assert_eq!(search.next_trial(), None);
}

#[test]
fn what_has_no_critical_load_is_refused() {
    let with = |of: fn(&mut PlrConfig)| {
        let mut config = config(1);
        of(&mut config);
        PlrSearch::new(config).map(|_| ()).unwrap_err().to_string()
    };
    assert!(with(|c| c.target = LossRatio::ZERO).contains("above 0 and below 1"));
    assert!(with(|c| c.target = LossRatio::clamped(1.0)).contains("above 0 and below 1"));
    assert!(with(|c| c.lowest = c.highest).contains("below the highest load"));
    assert!(with(|c| c.lowest = PacketRate::from_pps(0.5)).contains("at least 1pps"));
}
