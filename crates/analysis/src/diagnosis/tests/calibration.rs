//! The tables add up, and weights are as often right as they say where the tables are true.

use super::BUDGET;
use super::of;
use crate::causes::{self, link};
use crate::diagnosis::counts::key;
use crate::diagnosis::likelihoods::{LikelihoodData, Likelihoods};
use crate::diagnosis::weights::{Suspect, Suspects};
use crate::diagnosis::{Counts, SURE, most_telling, probes, signs};
use linerate_model::random::Random;
use linerate_model::spec::Transport;

const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Udp];

#[test]
fn the_classes_of_every_suspect_add_up_to_one() {
    for transport in TRANSPORTS {
        let suspects = of(transport);
        let before: f64 = suspects.iter().map(|(_, weight)| weight).sum();
        assert!((before - 1.0).abs() < 1e-9, "{before}");
        let probes = probes(transport).iter();
        let tables = probes.map(|probe| (probe.id(), probe.classes()));
        let signs = signs::of(transport).iter();
        for (id, classes) in tables.chain(signs.map(|sign| (sign.id, sign.classes))) {
            let key = key(transport, id);
            assert_eq!(LikelihoodData::built_in().classes(&key), classes, "{key}");
            for (suspect, _) in &suspects {
                let chances = LikelihoodData::built_in().judged(&key, suspect);
                let sum: f64 = chances.iter().sum();
                let of = format!("{transport:?} {id} {suspect:?}: {sum}");
                assert!((sum - 1.0).abs() < 1e-9, "{of}");
                assert!(
                    chances.iter().all(|chance| *chance > 0.0),
                    "impossible: {of}"
                );
            }
        }
    }
}

/// What the table counts and judges is of causes and classes that exist.
#[test]
fn the_table_is_of_known_causes_and_classes() {
    let is_cause = |id: &String| causes::ALL.iter().any(|cause| cause.id == id);
    for (key, counted) in &Counts::built_in().0 {
        let classes = LikelihoodData::built_in().classes(key);
        let (transport, id) = key.split_once('/').unwrap();
        let transport = if transport == "tcp" {
            Transport::Tcp
        } else {
            Transport::Udp
        };
        let is_sign = signs::of(transport).iter().any(|sign| sign.id == id);
        let is_probe = probes(transport).iter().any(|probe| probe.id() == id);
        assert!(is_sign || is_probe, "{key}");
        for (cause, counts) in counted {
            assert!(is_cause(cause), "{key}: {cause}");
            let is_known = |class: &String| classes.contains(&class.as_str());
            assert!(counts.keys().all(is_known), "{key}: {counts:?}");
        }
    }
    assert!(LikelihoodData::built_in().named().all(is_cause));
}

/// Draws one of `weights`, which add up to 1.
fn drawn(random: &mut Random, weights: impl Iterator<Item = f64>) -> usize {
    const STEPS: usize = 1_000_000;
    let at = random.below(STEPS);
    let steps = f64::from(u32::try_from(STEPS).unwrap());
    let at = f64::from(u32::try_from(at).unwrap()) / steps;
    let mut sum = 0.0;
    let mut last = 0;
    for (index, weight) in weights.enumerate() {
        sum += weight;
        last = index;
        if at < sum {
            break;
        }
    }
    last
}

const RUNS: u32 = 4000;

/// Where the tables are true, the weight of the answer is how often it is right: 4000 runs whose limit and answers are
/// drawn from them. The bounds are four standard errors wide: a false alarm in 1 of 10 000 sets of draws.
#[test]
fn a_weight_is_how_often_it_is_right_where_the_tables_are_true() {
    TRANSPORTS.into_iter().for_each(is_calibrated);
}

fn is_calibrated(transport: Transport) {
    let counts = Counts::default();
    let mut random = Random::new(7);
    let every = of(transport);
    let (mut sure, mut right, mut expected) = (0.0, 0.0, 0.0);
    let mut decided = 0.0;
    for _ in 0..RUNS {
        let truth = every[drawn(&mut random, every.iter().map(|(_, weight)| *weight))].0;
        let mut suspects = Suspects::unweighed(transport);
        let mut probes = probes(transport).to_vec();
        let mut left = BUDGET;
        while suspects.best().1 < SURE {
            probes.retain(|probe| probe.cost() <= left);
            let Some(next) = most_telling(&suspects, &counts, probes.iter().copied()) else {
                break;
            };
            let probe = probes.swap_remove(next);
            left -= probe.cost();
            let chances = LikelihoodData::built_in().judged(&key(transport, probe.id()), truth);
            let table = Likelihoods::of(transport, probe.id(), &counts);
            let answer = drawn(&mut random, chances.into_iter());
            suspects.update(&table, &[answer], 1.0);
        }
        let (best, weight) = suspects.best();
        if weight >= 0.9 {
            sure += 1.0;
            expected += weight;
            right += f64::from(u8::from(best == truth));
        }
        decided += f64::from(u8::from(weight >= 0.5));
    }
    let (share, promised) = (right / sure, expected / sure);
    let error = (promised * (1.0 - promised) / sure).sqrt();
    assert!(
        (share - promised).abs() < 4.0 * error,
        "{transport:?}: {share} right, {promised} promised, of {sure}"
    );
    assert!(
        decided > 0.6 * f64::from(RUNS),
        "{transport:?}: {decided} decided"
    );
}

/// Suspects are told apart by what they are, not by their order.
#[test]
fn equal_weights_are_as_uncertain_as_can_be() {
    let every = of(Transport::Tcp);
    let mut suspects = Suspects::unweighed(Transport::Tcp);
    let inverse = every
        .iter()
        .map(|(suspect, weight)| (*suspect, vec![1.0 / weight]));
    suspects.update(&Likelihoods::new(inverse.collect()), &[0], 1.0);
    let most = f64::from(u32::try_from(every.len()).unwrap()).log2();
    assert!((suspects.entropy() - most).abs() < 1e-9);
    let only: Suspect = &link::CAUSE;
    let certain = every
        .iter()
        .map(|(suspect, _)| (*suspect, vec![f64::from(u8::from(*suspect == only))]));
    suspects.update(&Likelihoods::new(certain.collect()), &[0], 1.0);
    assert!(suspects.entropy().abs() < 1e-9);
    assert_eq!(suspects.best().0, only);
}
