//! Flows whose rates move together.
//!
//! Flows of one link keep their ratio whenever both are active, whoever else is: it is 1 where all are treated alike, and
//! another constant where TCP prefers one (a shorter round trip). Flows of two links have ratios that change with the number
//! of flows that happen to be active on each. A pair of flows is judged by the likelihood of its ratios under both.

use super::DROPPED;
use linerate_model::units::float;

/// Variance of the logarithm of two readings' ratio: each scatters by some 6 %.
const NOISE: f64 = 2.0 * 0.06 * 0.06;
/// Variance that the changing number of flows on two links adds, of the logarithm.
const APART: f64 = 0.05;
/// Variance of a link's lasting preference between two flows, of the logarithm: unfairness of some 15 %.
const UNFAIR: f64 = 2.0 * 0.15 * 0.15;
/// Variance of the mean ratio of flows on two links, of the logarithm.
const ANYTHING: f64 = 0.5;
/// Most pairs of flows share nothing, and equal numbers on two links look alike: logarithm of the odds against.
const UNLIKELY: f64 = 2.0;
/// Share of the rounds in which the link that two flows share is the tightest of both.
const MOSTLY: f64 = 0.85;
/// Fewest rounds in which two flows must have been active together to be judged.
const FEWEST: usize = 3;
/// How far a group's sum may be from the link's capacity while it is full: a link has one capacity.
const STEADY: f64 = 0.1;

/// Groups of at least two of the flows that `dropped`, by the rates of the rounds.
pub(super) fn find(
    dropped: &[usize],
    alone: &[Option<f64>],
    rounds: &[Vec<Option<f64>>],
) -> Vec<Vec<usize>> {
    let count = dropped.len();
    let mut score = vec![vec![0.0; count]; count];
    for a in 0..count {
        for b in 0..a {
            let is_one_pair = dropped[a] / 2 == dropped[b] / 2;
            let likelihood = if is_one_pair {
                // The two ways of a pair share no direction of a link.
                f64::NEG_INFINITY
            } else {
                together(dropped[a], dropped[b], alone, rounds)
            };
            score[a][b] = likelihood;
            score[b][a] = likelihood;
        }
    }
    let groups = cluster(&score);
    let known = |flow: usize| alone[flow];
    groups
        .into_iter()
        .map(|group| group.into_iter().map(|place| dropped[place]).collect())
        .filter(|group: &Vec<usize>| group.len() > 1 && is_steady(group, &known, rounds))
        .collect()
}

/// Logarithm of how much likelier the ratios of two flows are if these share a link; 0 where nothing is known.
fn together(a: usize, b: usize, alone: &[Option<f64>], rounds: &[Vec<Option<f64>>]) -> f64 {
    let (Some(alone_a), Some(alone_b)) = (alone[a], alone[b]) else {
        return 0.0;
    };
    let mut ratios: Vec<f64> = rounds
        .iter()
        .filter_map(|round| round[a].zip(round[b]))
        // While one carries what it carries alone, it shares nothing.
        .filter(|(rate_a, rate_b)| *rate_a < DROPPED * alone_a && *rate_b < DROPPED * alone_b)
        .map(|(rate_a, rate_b)| (rate_a / rate_b).ln())
        .collect();
    if ratios.len() < FEWEST {
        return 0.0;
    }
    ratios.sort_by(f64::total_cmp);
    let centre = ratios[ratios.len() / 2];
    let normal = |x: f64, variance: f64| {
        (-0.5 * x * x / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
    };
    let one = |ratio: &f64| {
        let apart = normal(ratio - centre, NOISE + APART);
        // In some rounds another link may be the tighter one for either.
        let same = MOSTLY * normal(ratio - centre, NOISE) + (1.0 - MOSTLY) * apart;
        (same / apart).ln()
    };
    let lasting = (normal(centre, UNFAIR) / normal(centre, ANYTHING)).ln();
    ratios.iter().map(one).sum::<f64>() + lasting - UNLIKELY
}

/// Merges the two groups whose members are likeliest together on average, while that is likelier than not.
fn cluster(score: &[Vec<f64>]) -> Vec<Vec<usize>> {
    let count = score.len();
    let mut groups: Vec<Vec<usize>> = (0..count).map(|place| vec![place]).collect();
    // Sums over all members of two groups.
    let mut sums: Vec<Vec<f64>> = score.to_vec();
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (a, row) in sums.iter().enumerate() {
            for (b, sum) in row.iter().enumerate().take(a) {
                let members = (groups[a].len() * groups[b].len()) as u64;
                let average = sum / float(members);
                if average > best.map_or(0.0, |(average, ..)| average) {
                    best = Some((average, b, a));
                }
            }
        }
        let Some((_, into, from)) = best else {
            return groups;
        };
        let moved = groups.swap_remove(from);
        groups[into].extend(moved);
        let row = sums.swap_remove(from);
        for (own, other) in sums[into].iter_mut().zip(row) {
            *own += other;
        }
        for row in &mut sums {
            row.swap_remove(from);
        }
        let joined = sums[into].clone();
        for (row, sum) in sums.iter_mut().zip(joined) {
            row[into] = sum;
        }
    }
}

/// Sums of a group's rates in the rounds in which its link was saturated: at least two flows, and less than they carry
/// alone.
pub(super) fn saturated_sums(
    group: &[usize],
    alone: &dyn Fn(usize) -> Option<f64>,
    rounds: &[Vec<Option<f64>>],
) -> Vec<f64> {
    let of_round = |round: &Vec<Option<f64>>| {
        let active = group
            .iter()
            .filter_map(|flow| Some((round[*flow]?, alone(*flow)?)));
        let (mut sum, mut most, mut count) = (0.0, 0.0, 0);
        for (rate, alone) in active {
            sum += rate;
            most += alone;
            count += 1;
        }
        (count > 1 && sum < DROPPED * most).then_some(sum)
    };
    rounds.iter().filter_map(of_round).collect()
}

fn is_steady(
    group: &[usize],
    alone: &dyn Fn(usize) -> Option<f64>,
    rounds: &[Vec<Option<f64>>],
) -> bool {
    let sums = saturated_sums(group, alone, rounds);
    let full = full(&sums);
    // Of a link, most saturated rounds fill it.
    full.len() >= FEWEST && full.len() * 2 >= sums.len()
}

/// The sums in which nothing else held back a flow of the group: those near the upper quartile.
pub(super) fn full(sums: &[f64]) -> Vec<f64> {
    let mut sorted = sums.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(quartile) = sorted.get(sorted.len() * 3 / 4).copied() else {
        return sorted;
    };
    sorted.retain(|sum| *sum >= quartile * (1.0 - STEADY) && *sum <= quartile * (1.0 + STEADY));
    sorted
}
