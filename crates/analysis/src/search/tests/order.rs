//! Goals of one search never contradict each other, whatever its trials say.

use super::*;
use linerate_model::Ratio;

/// A trial of any outcome: lost or not, short of the load or not, delayed or not, ended early, invalid.
fn any(random: &mut Random, load: BitRate, duration: Duration) -> TrialOutcome {
    let mut one_in = |n: u64| random.bits().is_multiple_of(n);
    let loss = match (one_in(2), one_in(2), one_in(3)) {
        (true, ..) => 0.0,
        (_, true, _) => 0.0005,
        (.., true) => 0.003,
        _ => 0.2,
    };
    let offered = match (one_in(3), one_in(3)) {
        (true, true) => 0.3,
        (true, false) => 0.95,
        _ => 1.0,
    };
    let growth = one_in(4).then_some(Duration::from_millis(30));
    let valid = !one_in(12);
    let ended = if one_in(10) { 0.5 } else { 1.0 };
    TrialOutcome {
        intended_load: load,
        offered_load: BitRate::from_f64(load.as_f64() * offered),
        received_rate: BitRate::from_f64(load.as_f64() * offered * (1.0 - loss)),
        loss_ratio: Ratio::clamped(loss),
        sent: PacketCount::new(load.bps() / 11_584 + 1),
        duration: duration.mul_f64(ended),
        receiver_duration: None,
        delay: None,
        delay_growth: growth,
        valid,
    }
}

fn assert_ordered(goals: &[GoalResult], of: &str) {
    for pair in goals.windows(2) {
        let [strict, loose] = pair else { continue };
        let context = || format!("{of}: {strict:?}\n{loose:?}");
        assert!(strict.lower_bound <= loose.lower_bound, "{}", context());
        if let Some(refused) = loose.refused_load() {
            let lowest = strict.refused_load();
            assert!(lowest.is_some_and(|own| own <= refused), "{}", context());
        }
    }
    for goal in goals {
        if let (Some(lower), Some(refused)) = (goal.lower_bound, goal.refused_load()) {
            assert!(lower <= refused, "{of}: {goal:?}");
        }
        if goal.reached {
            assert!(goal.lower_bound.is_some(), "{of}: {goal:?}");
        }
    }
}

#[test]
fn no_sequence_of_trials_makes_goals_contradict() {
    for (seed, id) in (0..300).flat_map(|seed| ["mlrsearch", "binary"].map(|id| (seed, id))) {
        let mut random = Random::new(seed);
        let mut search = find(id).unwrap().start(config(seed)).unwrap();
        for step in 0..400 {
            let Step::Measure {
                intended_load,
                duration,
            } = search.next_step()
            else {
                break;
            };
            search.record(any(&mut random, intended_load, duration));
            assert_ordered(&search.goals(), &format!("{id}, seed {seed}, trial {step}"));
        }
    }
}

/// A search whose trials all miss while they are short: nothing of what a moment lost is a bound.
#[test]
fn no_bound_rests_on_short_trials_alone() {
    for seed in 0..SEEDS {
        let mut search = start(config(seed));
        let mut longest: BTreeMap<BitRate, Duration> = BTreeMap::new();
        let mut random = Random::new(seed);
        while let Step::Measure {
            intended_load,
            duration,
        } = search.next_step()
        {
            let mut outcome = any(&mut random, intended_load, duration);
            (outcome.valid, outcome.duration) = (true, duration);
            outcome.offered_load = intended_load;
            search.record(outcome);
            let seen = longest.entry(intended_load).or_default();
            *seen = duration.max(*seen);
            for goal in search.goals() {
                if let Some(refused) = goal.refused_load() {
                    let longest = longest.get(&refused).copied().unwrap_or_default();
                    assert!(longest >= Duration::from_secs(1), "{goal:?}");
                }
            }
        }
    }
}
