use super::simulated::Device;
use super::*;
use linerate_model::random::Random;
use linerate_model::run::BoundedBy;
use linerate_model::{BitRate, PacketCount};
use std::collections::BTreeMap;
use std::time::Duration;

mod contract;
mod order;

const CAPACITY: BitRate = BitRate::from_bps(95_700_000);

fn config(seed: u64) -> SearchConfig {
    SearchConfig {
        seed,
        ..SearchConfig::between(
            BitRate::from_bps(1_000_000),
            BitRate::from_bps(1_000_000_000),
        )
    }
}

fn device(id: &str, seed: u64) -> Device {
    let mut devices = Device::all(CAPACITY, seed).into_iter();
    devices.find(|device| device.id == id).unwrap()
}

struct Run {
    goals: Vec<GoalResult>,
    curve: CurveFacts,
    notes: Vec<String>,
    trials: u32,
    time: Duration,
}

fn run(
    mut search: Box<dyn Search>,
    mut measure: impl FnMut(BitRate, Duration) -> TrialOutcome,
) -> Run {
    let (mut trials, mut time, mut share) = (0, Duration::ZERO, 0.0);
    while let Step::Measure {
        intended_load,
        duration,
    } = search.next_step()
    {
        trials += 1;
        time += duration;
        assert!(trials < 5000, "the search does not end");
        let outcome = measure(intended_load, duration);
        search.record(outcome);
        let now = search.progress().0.get();
        assert!(now >= share, "progress went back from {share} to {now}");
        share = now;
    }
    let goals = search.goals();
    for goal in &goals {
        if let (Some(lower), Some(upper)) = (goal.lower_bound, goal.upper_bound) {
            assert!(lower <= upper, "{goal:?}");
        }
    }
    Run {
        goals,
        curve: search.curve(),
        notes: search.notes(),
        trials,
        time,
    }
}

fn search(id: &str, seed: u64) -> Run {
    let mut device = device(id, seed);
    run(start(config(seed)), |load, duration| {
        device.measure(load, duration)
    })
}

fn start(config: SearchConfig) -> Box<dyn Search> {
    find("mlrsearch").unwrap().start(config).unwrap()
}

fn lower(goal: &GoalResult) -> BitRate {
    goal.lower_bound.unwrap()
}

fn upper(goal: &GoalResult) -> BitRate {
    goal.upper_bound.unwrap()
}

/// Loss ratio a steady overload has at `load`.
fn critical(loss: f64) -> BitRate {
    BitRate::from_f64(CAPACITY.as_f64() / (1.0 - loss))
}

const SEEDS: u64 = 40;

#[test]
fn bounds_of_a_steady_device_contain_its_capacity() {
    for (id, seed) in ["hard", "queue", "deep-queue", "falling"]
        .into_iter()
        .flat_map(|id| (0..SEEDS).map(move |seed| (id, seed)))
    {
        let run = search(id, seed);
        for (goal, loss) in run.goals.iter().zip([0.0, 0.001, 0.005]) {
            assert!(goal.reached, "{id} {seed}: {goal:?}");
            assert!(goal.width.unwrap().get() <= 0.005, "{id} {seed}: {goal:?}");
            assert_eq!(goal.bounded_by, Some(BoundedBy::Loss));
            if id != "falling" {
                let truth = critical(loss);
                assert!(
                    lower(goal) <= truth && truth <= upper(goal),
                    "{id} {seed}: {goal:?}"
                );
            }
        }
        assert!(lower(&run.goals[0]) <= CAPACITY && CAPACITY <= upper(&run.goals[0]));
    }
}

#[test]
fn a_steady_device_costs_less_than_a_quarter_of_a_manual_sweep() {
    // The sweep: 13 runs of 10 s.
    for id in ["hard", "queue", "deep-queue", "falling", "sender-limited"] {
        for seed in 0..SEEDS {
            let run = search(id, seed);
            assert!(
                run.time <= Duration::from_secs(130) / 4,
                "{id}: {:?}",
                run.time
            );
            assert!(run.trials <= 40, "{id} {seed}: {}", run.trials);
            assert!(run.curve.peak_received.is_some());
        }
    }
}

#[test]
fn ten_searches_with_different_seeds_spread_by_at_most_the_width() {
    for id in ["hard", "queue", "deep-queue", "falling", "sender-limited"] {
        let lowers: Vec<f64> = (100..110)
            .map(|seed| lower(&search(id, seed).goals[0]).as_f64())
            .collect();
        let least = lowers.iter().copied().fold(f64::MAX, f64::min);
        let most = lowers.iter().copied().fold(0.0, f64::max);
        assert!(most / least - 1.0 <= 0.005, "{id}: {least} to {most}");
    }
}

#[test]
fn conditional_throughput_of_a_hard_limit_never_exceeds_it() {
    for id in ["hard", "queue", "deep-queue"] {
        for seed in 0..SEEDS {
            for goal in search(id, seed).goals {
                let throughput = goal.conditional_throughput.unwrap().as_f64();
                // The packets and the jitter of one second.
                assert!(
                    throughput <= CAPACITY.as_f64() * 1.0005,
                    "{id} {seed}: {goal:?}"
                );
            }
        }
    }
}

#[test]
fn a_limited_sender_bounds_the_search_and_is_never_taken_for_loss() {
    for (id, seed) in ["sender-limited", "sender-falling"]
        .into_iter()
        .flat_map(|id| (0..SEEDS).map(move |seed| (id, seed)))
    {
        let run = search(id, seed);
        for goal in &run.goals {
            assert_eq!(
                goal.bounded_by,
                Some(BoundedBy::Sender),
                "{id} {seed}: {goal:?}"
            );
            let apart = upper(goal).as_f64() / CAPACITY.as_f64() - 1.0;
            assert!(apart.abs() < 0.005, "{id} {seed}: {goal:?}");
            assert_eq!(
                upper(goal),
                run.curve.max_offered.unwrap(),
                "{id} {seed}: {goal:?}"
            );
        }
    }
}

/// A CPU quota: from the lowest load on, the sender offers between a half and nearly all of what it is
/// asked for, and never more than the quota lets it.
#[test]
fn a_sender_that_varies_has_what_it_offered_for_a_lower_bound() {
    for seed in 0..SEEDS {
        let mut device = device("hard", seed);
        let mut random = Random::new(seed);
        let run = run(start(config(seed)), |load, duration| {
            let mut outcome = device.measure(load, duration);
            let quota = load.as_f64().min(40e6) * (0.6 + 0.35 * random.unit());
            outcome.offered_load = BitRate::from_f64(quota);
            outcome.received_rate = outcome.offered_load;
            outcome.loss_ratio = Ratio::ZERO;
            outcome.delay_growth = Some(Duration::ZERO);
            outcome
        });
        for goal in &run.goals {
            assert_eq!(goal.bounded_by, Some(BoundedBy::Sender), "{seed}: {goal:?}");
            assert!(!goal.reached, "{seed}: {goal:?}");
            let bound = lower(goal);
            assert!(
                bound > BitRate::default() && bound <= upper(goal),
                "{seed}: {goal:?}"
            );
            assert_eq!(goal.conditional_throughput, goal.lower_bound);
        }
    }
}

#[test]
fn loss_at_every_load_ends_the_strict_goals_soon_and_leaves_the_others_alone() {
    for seed in 0..SEEDS {
        let run = search("lossy", seed);
        assert!(
            run.time <= Duration::from_secs(20),
            "seed {seed}: {:?}",
            run.time
        );
        let strict = &run.goals[0];
        assert!(!strict.reached, "seed {seed}: {strict:?}");
        assert_eq!(strict.bounded_by, Some(BoundedBy::Loss));
        // Few packets at the lowest loads may all arrive; no more than chance is claimed.
        assert!(
            strict
                .lower_bound
                .is_none_or(|load| load.as_f64() < 0.3 * CAPACITY.as_f64())
        );
        let loose = &run.goals[2];
        let truth = critical(0.005 - 0.001);
        assert!(
            loose.reached && lower(loose) <= truth && truth <= upper(loose),
            "{seed}: {loose:?}"
        );
        assert!(
            run.notes
                .iter()
                .any(|note| note.starts_with("loss goal 0 %: out of reach")),
            "{seed}"
        );
    }
}

/// A receiver that stands still a tenth of the time loses that share of packets at any load above 7.5 Mbit/s, and nothing
/// below, where its buffer holds what comes meanwhile: once a second, which one short trial in five sees, or ten times.
#[test]
fn loss_that_is_gone_far_below_saturation_is_no_floor() {
    for (stall, every, critical) in [(100, 1000, 65.0 / 0.1), (10, 100, 7.0 / 0.01)] {
        let critical = critical * 1448.0 * 8.0;
        for seed in 0..SEEDS {
            let mut device = Device::stalling(CAPACITY, seed);
            device.stall = Duration::from_millis(stall);
            device.stall_every = Duration::from_millis(every);
            device.stall_buffer = PacketCount::new(64 * stall / 100);
            let config = SearchConfig {
                time_budget: Duration::from_mins(1),
                ..config(seed)
            };
            let run = run(start(config), |load, duration| {
                device.measure(load, duration)
            });
            assert_eq!(run.notes, Vec::<String>::new(), "{every} {seed}");
            for goal in &run.goals {
                let (lower, upper) = (lower(goal).as_f64(), upper(goal).as_f64());
                let holds = lower > 0.9 * critical && upper < 1.15 * critical;
                assert!(holds, "{every} {seed}: {goal:?}");
            }
            assert!(
                lower(&run.goals[0]).as_f64() < 1.01 * critical,
                "{every} {seed}"
            );
        }
    }
}

#[test]
fn a_noisy_device_is_bounded_within_its_noise() {
    for seed in 0..4 * SEEDS {
        let run = search("noisy", seed);
        assert!(run.time <= Duration::from_secs(30));
        let goal = &run.goals[0];
        for bound in [goal.lower_bound, goal.upper_bound].into_iter().flatten() {
            let apart = bound.as_f64() / CAPACITY.as_f64() - 1.0;
            assert!(apart.abs() <= 0.025, "seed {seed}: {goal:?}");
        }
        assert!(goal.lower_bound.is_some(), "seed {seed}: {goal:?}");
    }
}

#[test]
fn a_path_faster_than_the_highest_load_is_bounded_by_the_limit() {
    let highest = BitRate::from_bps(50_000_000);
    let mut device = device("hard", 1);
    let config = SearchConfig {
        max_load: highest,
        ..config(1)
    };
    let run = run(start(config), |load, duration| {
        device.measure(load, duration)
    });
    for goal in &run.goals {
        assert_eq!((lower(goal), upper(goal)), (highest, highest));
        assert_eq!(
            (goal.bounded_by, goal.reached),
            (Some(BoundedBy::Limit), true)
        );
    }
    assert!(run.time < Duration::from_secs(6));
}

#[test]
fn a_path_slower_than_the_lowest_load_has_no_lower_bound() {
    let mut device = device("hard", 1);
    let lowest = BitRate::from_bps(200_000_000);
    let config = SearchConfig {
        min_load: lowest,
        ..config(1)
    };
    let run = run(start(config), |load, duration| {
        device.measure(load, duration)
    });
    for goal in &run.goals {
        assert_eq!((goal.lower_bound, goal.upper_bound), (None, Some(lowest)));
        assert_eq!(
            (goal.bounded_by, goal.reached),
            (Some(BoundedBy::Loss), false)
        );
    }
}

/// The 64 KiB queue is full after 5.5 ms of delay: a goal of 1 ms is missed before any loss.
#[test]
fn a_delay_goal_is_bounded_by_delay() {
    let mut goal = SearchGoal::for_loss(Ratio::clamped(0.01));
    goal.delay_goal = Some(DelayGoal {
        quantile: linerate_model::Quantile(Ratio::clamped(0.99)),
        limit: Duration::from_millis(1),
    });
    for seed in 0..SEEDS {
        let mut device = device("queue", seed);
        let config = SearchConfig {
            goals: vec![goal.clone()],
            ..config(seed)
        };
        let run = run(start(config), |load, duration| {
            device.measure(load, duration)
        });
        let result = &run.goals[0];
        assert!(result.reached, "{result:?}");
        assert_eq!(result.bounded_by, Some(BoundedBy::Delay));
        assert_eq!(result.delay_goal.as_deref(), Some("p99<1ms"));
        assert!(
            lower(result) <= CAPACITY && upper(result) >= CAPACITY,
            "{result:?}"
        );
    }
}

#[test]
fn a_delay_goal_without_delays_is_not_judged_rather_than_passed() {
    let mut goal = SearchGoal::for_loss(Ratio::ZERO);
    goal.delay_goal = Some(DelayGoal {
        quantile: linerate_model::Quantile(Ratio::clamped(0.99)),
        limit: Duration::from_millis(1),
    });
    let config = SearchConfig {
        goals: vec![goal, SearchGoal::for_loss(Ratio::ZERO)],
        ..config(1)
    };
    let mut device = device("hard", 1);
    let run = run(start(config), |load, duration| TrialOutcome {
        delay: None,
        ..device.measure(load, duration)
    });
    assert_eq!(
        (run.goals[0].lower_bound, run.goals[0].reached),
        (None, false)
    );
    assert!(run.goals[1].reached);
    assert!(run.notes[0].contains("no trial measured a delay"));
}

/// One trial in ten is invalid, with numbers that would mislead.
#[test]
fn invalid_trials_are_repeated_and_their_numbers_ignored() {
    for seed in 0..SEEDS {
        let mut device = device("queue", seed);
        let mut random = Random::new(seed);
        let run = run(start(config(seed)), |load, duration| {
            let outcome = device.measure(load, duration);
            let valid = random.unit() > 0.1;
            let loss_ratio = if valid {
                outcome.loss_ratio
            } else {
                Ratio::clamped(0.9)
            };
            TrialOutcome {
                loss_ratio,
                valid,
                ..outcome
            }
        });
        let goal = &run.goals[0];
        assert!(
            goal.reached && lower(goal) <= CAPACITY && CAPACITY <= upper(goal),
            "{seed}: {goal:?}"
        );
    }
}

#[test]
fn a_device_whose_trials_are_all_invalid_ends_the_search_without_bounds() {
    let mut device = device("hard", 1);
    let run = run(start(config(1)), |load, duration| TrialOutcome {
        valid: false,
        ..device.measure(load, duration)
    });
    assert_eq!(run.trials, 4);
    for goal in &run.goals {
        assert_eq!((goal.lower_bound, goal.upper_bound), (None, None));
        assert!(!goal.reached);
    }
    assert!(run.notes.iter().any(|note| note.contains("no valid trial")));
}

#[test]
fn loads_that_cannot_be_measured_stop_the_ramp_and_leave_a_confirmed_lower_bound() {
    let mut device = device("hard", 1);
    let run = run(start(config(1)), |load, duration| TrialOutcome {
        valid: load < BitRate::from_bps(40_000_000),
        ..device.measure(load, duration)
    });
    let goal = &run.goals[0];
    assert!(!goal.reached && lower(goal) < BitRate::from_bps(40_000_000));
    assert_eq!((goal.upper_bound, goal.bounded_by), (None, None));
}

/// What an accident in the host does to a trial.
#[derive(Debug, Clone, Copy)]
enum Accident {
    /// Up to 0.3 % of the packets are lost.
    Loss,
    /// The sender offers up to 2 % less.
    Sender,
    /// The last packet is up to 10 ms late, and no delays are told to contradict it.
    Straggler,
}

fn spoil(outcome: &mut TrialOutcome, accident: Accident, size: f64) {
    match accident {
        Accident::Loss => {
            outcome.loss_ratio = Ratio::clamped(outcome.loss_ratio.get() + 0.003 * size);
        }
        Accident::Sender => {
            let offered = outcome.offered_load.as_f64() * (1.0 - 0.02 * size);
            outcome.offered_load = BitRate::from_f64(offered);
        }
        Accident::Straggler => {
            let late = Duration::from_millis(10).mul_f64(size);
            outcome.receiver_duration = outcome.receiver_duration.map(|span| span + late);
            outcome.delay = None;
        }
    }
}

/// One second in ten has an accident, whatever the load.
#[test]
fn accidents_do_not_move_the_bounds() {
    for accident in [Accident::Loss, Accident::Sender, Accident::Straggler] {
        let mut misled = 0;
        for seed in 0..100 {
            let mut device = device("queue", seed);
            let mut random = Random::new(seed + 1000);
            let run = run(start(config(seed)), |load, duration| {
                let mut outcome = device.measure(load, duration);
                if random.unit() < 1.0 - 0.9_f64.powf(duration.as_secs_f64()) {
                    spoil(&mut outcome, accident, random.unit());
                }
                outcome
            });
            let goal = &run.goals[0];
            let right = goal.reached && lower(goal) <= CAPACITY && CAPACITY <= upper(goal);
            misled += u32::from(!right);
        }
        assert!(misled <= 3, "{accident:?}: {misled} of 100 were misled");
    }
}

/// A lower bound that later trials refute is given up for a lower one.
#[test]
fn a_device_that_slows_down_in_mid_search_moves_the_bounds_down() {
    let slow = BitRate::from_bps(80_000_000);
    let mut fast = Device::hard(CAPACITY, 1);
    let mut later = Device::hard(slow, 1);
    let mut trials = 0;
    let run = run(start(config(1)), |load, duration| {
        trials += 1;
        if trials <= 8 {
            fast.measure(load, duration)
        } else {
            later.measure(load, duration)
        }
    });
    let goal = &run.goals[0];
    assert!(
        lower(goal) <= slow && upper(goal).as_f64() < slow.as_f64() * 1.01,
        "{goal:?}"
    );
}

/// Answers drawn at random, without any relation to the load.
#[test]
fn random_answers_end_within_the_budget_with_ordered_bounds() {
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let run = run(start(config(seed)), |load, duration| {
            let mut share = || Ratio::clamped(random.unit() * 1.2 - 0.1);
            let rate = |share: Ratio| BitRate::from_f64(load.as_f64() * share.get());
            TrialOutcome {
                intended_load: load,
                offered_load: rate(share()),
                received_rate: rate(share()),
                loss_ratio: share(),
                sent: PacketCount::new(1000),
                duration: duration.mul_f64(share().get()),
                receiver_duration: Some(duration.mul_f64(share().get())),
                delay: None,
                delay_growth: None,
                valid: share().get() > 0.2,
            }
        });
        assert!(
            run.time <= Duration::from_secs(30),
            "seed {seed}: {:?}",
            run.time
        );
    }
}

fn nothing(load: BitRate, duration: Duration) -> TrialOutcome {
    TrialOutcome {
        intended_load: load,
        offered_load: BitRate::default(),
        received_rate: BitRate::default(),
        loss_ratio: Ratio::ZERO,
        sent: PacketCount::new(0),
        duration,
        receiver_duration: None,
        delay: None,
        delay_growth: None,
        valid: true,
    }
}

#[test]
fn trials_without_a_duration_count_as_invalid() {
    let run = run(start(config(1)), |load, _| nothing(load, Duration::ZERO));
    assert_eq!(run.trials, 4);
    assert!(run.goals.iter().all(|goal| goal.upper_bound.is_none()));
}

#[test]
fn a_sender_that_sends_nothing_is_the_limit_at_zero() {
    let run = run(start(config(1)), nothing);
    assert!(run.time <= Duration::from_secs(30));
    for goal in &run.goals {
        assert_eq!((goal.lower_bound, upper(goal)), (None, BitRate::default()));
        assert_eq!(goal.bounded_by, Some(BoundedBy::Sender));
    }
}

#[test]
fn capacities_over_five_decades_are_bounded() {
    for (seed, capacity) in [1.3e6, 9.7e6, 2.5e8, 9.4e9, 4.0e10].into_iter().enumerate() {
        let seed = u64::try_from(seed).unwrap();
        let capacity = BitRate::from_f64(capacity);
        let mut device = Device::hard(capacity, seed);
        let config = SearchConfig {
            seed,
            max_load: BitRate::from_bps(100_000_000_000),
            ..config(seed)
        };
        let run = run(start(config), |load, duration| {
            device.measure(load, duration)
        });
        let goal = &run.goals[0];
        // At 1.3 Mbit/s a second holds 112 packets: the bounds are as exact as a packet.
        let packet = 1448.0 * 8.0;
        assert!(goal.reached, "{goal:?}");
        assert!(
            lower(goal).as_f64() <= capacity.as_f64() + packet
                && capacity.as_f64() <= upper(goal).as_f64() + packet,
            "{goal:?}"
        );
    }
}
