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
    (
        "32 hosts, full links delay acknowledgements",
        32,
        4,
        2.0,
        Trap::Acknowledgements,
    ),
    ("8 hosts, 2 racks, 2x", 8, 2, 2.0, Trap::None),
    (
        "8 hosts, 2 racks, full links delay acknowledgements",
        8,
        2,
        2.0,
        Trap::Acknowledgements,
    ),
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
        "| network | noise, unfairness | n | proven links | of one link only | capacity within 5 % | links found | pairs of flows: precision | recall | crowds |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    // Only networks whose name contains the third argument.
    let wanted = std::env::args().nth(3).unwrap_or_default();
    for &(name, hosts, racks, uplink, trap) in SCENES {
        if !name.contains(&wanted) {
            continue;
        }
        for (noise, unfair) in [(0.03, 0.1), (0.03, 0.35), (0.08, 0.2)] {
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
            let mut sum = Score::default();
            for seed in first..first + runs {
                sum.add(run(scene, seed));
            }
            println!(
                "| {name} | {:.0} %, {:.0} % | {runs} | {} | {} | {} | {} | {} | {} | {:.0} |",
                noise * 100.0,
                unfair * 100.0,
                sum.links,
                wilson(sum.pure, sum.links),
                wilson(sum.within, sum.links),
                wilson(sum.found, sum.there),
                wilson(sum.right, sum.right + sum.wrong),
                wilson(sum.seen, sum.seen + sum.missed),
                sum.rounds as f64 / runs as f64
            );
        }
    }
}

/// Share with its 95 % interval (Wilson).
#[expect(clippy::cast_precision_loss, reason = "counts of links and flows")]
fn wilson(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "–".to_owned();
    }
    let (n, z) = (whole as f64, 1.96_f64);
    let p = part as f64 / n;
    let centre = p + z * z / (2.0 * n);
    let error = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    format!(
        "{p:.3} [{:.3}, {:.3}]",
        (centre - error) / scale,
        (centre + error) / scale
    )
}
