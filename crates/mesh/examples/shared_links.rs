//! Precision and recall of the search for shared links, in simulated networks: `shared_links FIRST_SEED COUNT`.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{Scene, Score, Trap, run};

const SCENES: &[(&str, usize, usize, f64, Trap)] = &[
    ("32 hosts, 4 racks, 2x", 32, 4, 2.0, Trap::None),
    ("64 hosts, 4 racks, 4x", 64, 4, 4.0, Trap::None),
    ("128 hosts, 8 racks, 4x", 128, 8, 4.0, Trap::None),
    ("1000 hosts, 25 racks, 10x", 1000, 25, 10.0, Trap::None),
    ("32 hosts, ECMP", 32, 4, 2.0, Trap::Ecmp),
    ("32 hosts, slow hosts", 32, 4, 2.0, Trap::HostLimits),
    ("32 hosts, lossy paths", 32, 4, 2.0, Trap::Lossy),
    ("32 hosts, nothing shared", 32, 4, f64::INFINITY, Trap::None),
];

#[expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a table for people"
)]
fn main() {
    let number = |at: usize, usual: u64| {
        let text = std::env::args().nth(at);
        text.map_or(usual, |text| text.parse().expect("a number"))
    };
    let (first, count) = (number(1, 1000), number(2, 100));
    println!(
        "| network | noise, unfairness | n | precision | recall | capacity within 5 % | links | rounds |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &(name, hosts, racks, uplink, trap) in SCENES {
        for (noise, unfair) in [(0.03, 0.0), (0.05, 0.1), (0.08, 0.2)] {
            let scene = Scene {
                hosts,
                racks,
                uplink,
                noise,
                unfair,
                trap,
            };
            let runs = if hosts > 500 {
                count.div_ceil(10)
            } else {
                count
            };
            let scores: Vec<Score> = (first..first + runs).map(|seed| run(scene, seed)).collect();
            let mut sum = Score::default();
            for score in &scores {
                sum.add(*score);
            }
            // Networks, not pairs of flows, are independent: the interval is over them.
            let share = |part: fn(&Score) -> usize, whole: fn(&Score) -> usize| {
                let of: Vec<f64> = scores
                    .iter()
                    .filter(|score| whole(score) > 0)
                    .map(|score| part(score) as f64 / whole(score) as f64)
                    .collect();
                interval(&of)
            };
            let precision = share(|s| s.right, |s| s.right + s.wrong);
            let recall = share(|s| s.right, |s| s.right + s.missed);
            let within = share(|s| s.within, |s| s.links);
            println!(
                "| {name} | {:.0} %, {:.0} % | {runs} | {precision} | {recall} | {within} | {} | {} |",
                noise * 100.0,
                unfair * 100.0,
                sum.links,
                sum.rounds as f64 / runs as f64
            );
        }
    }
}

/// Mean with a 95 % interval of normal theory.
#[expect(clippy::cast_precision_loss, reason = "counts of networks")]
fn interval(values: &[f64]) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0).max(1.0);
    let error = 1.96 * (variance / count).sqrt();
    format!(
        "{mean:.3} [{:.3}, {:.3}]",
        (mean - error).max(0.0),
        (mean + error).min(1.0)
    )
}
