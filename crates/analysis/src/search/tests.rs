use super::simulated::Device;
use super::*;
use linerate_model::BitRate;
use linerate_model::run::BoundedBy;
use std::time::Duration;

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
        trials,
        time,
    }
}

fn search(id: &str, seed: u64) -> Run {
    let mut device = device(id, seed);
    let search = find("mlrsearch").unwrap().start(config(seed)).unwrap();
    run(search, |load, duration| device.measure(load, duration))
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
