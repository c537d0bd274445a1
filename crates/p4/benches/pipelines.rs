//! Packets per second and core through the pipelines `p4/speed_*` and `p4/copies`.
//!
//! `cargo bench -p linerate-p4 --bench pipelines -- [--rounds N] [--before PROGRAM] [--simple-switch PROGRAM]` prints one line a pipeline: the
//! median of the rounds with its 95 % interval. `--before` names this benchmark as another commit built it; then rounds
//! of both take turns, and the ratio is printed as well. `--simple-switch` names BMv2's program, which gets the same
//! program, entries and packets in files, and sends to ports that nothing is attached to. Time is CPU time: of this
//! thread, and of all threads of `simple_switch`.
#![forbid(unsafe_code)]

#[path = "../tests/pipelines/constant.rs"]
mod constant;
#[path = "../tests/differential/peer.rs"]
mod peer;
#[path = "../tests/pipelines/mod.rs"]
mod pipelines;

use linerate_p4::Program;
use linerate_sys::clock::thread_cpu_time;
use pipelines::{ALL, Pipeline};
use std::path::Path;
use std::process::{Command, ExitCode};

/// Packets of a round.
const PACKETS: usize = 200_000;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (mut rounds, mut before, mut bmv2, mut once) = (15, None, None, None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => {
                rounds = words
                    .next()
                    .and_then(|count| count.parse().ok())
                    .unwrap_or(rounds);
            }
            "--before" => before = words.next(),
            "--simple-switch" => bmv2 = words.next(),
            "--once" => once = words.next(),
            // cargo's own.
            "--bench" => {}
            _ => {
                println!(
                    "unknown option {word}; --rounds N, --before PROGRAM, --simple-switch PROGRAM"
                );
                return ExitCode::from(2);
            }
        }
    }
    if let Some(name) = once {
        for pipeline in ALL.iter().filter(|pipeline| pipeline.name == name) {
            println!("{}", rate(pipeline));
        }
        return ExitCode::SUCCESS;
    }
    for pipeline in ALL {
        let (mut now, mut then) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            now.push(rate(pipeline));
            then.extend(
                before
                    .as_ref()
                    .and_then(|program| other(program, pipeline.name)),
            );
        }
        let ratios = now
            .iter()
            .zip(&then)
            .map(|(now, then)| now / then)
            .collect();
        println!("{}", line(pipeline.name, now, then, ratios));
    }
    ExitCode::SUCCESS
}

/// Thousands of packets per second of CPU time.
fn rate(pipeline: &Pipeline) -> f64 {
    let mut switch = pipeline.switch();
    let packets = pipeline.packets();
    let mut sent = 0_u64;
    let mut run = |count: usize| {
        for (port, packet) in packets.iter().cycle().take(count) {
            switch.process(*port, packet, 1_000_000, &mut |_, bytes| {
                sent += bytes.len() as u64
            });
        }
    };
    run(PACKETS / 20);
    let start = thread_cpu_time();
    run(PACKETS);
    let took = thread_cpu_time().saturating_sub(start);
    assert!(sent > 0, "{} sends nothing", pipeline.name);
    PACKETS as f64 / took.as_secs_f64() / 1000.0
}

fn other(program: &str, pipeline: &str) -> Option<f64> {
    let output = Command::new(program)
        .args(["--once", pipeline])
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// Packets that `simple_switch` gets: it takes seconds for them.
const FEWER: usize = 50_000;

fn simple_switch(program: &str, pipeline: &Pipeline) -> f64 {
    let packets: Vec<_> = pipeline.packets().into_iter().cycle().take(FEWER).collect();
    let loaded = Program::from_json(pipeline.json.as_bytes()).expect("it loads");
    let json = constant::with_entries(pipeline.json, &pipeline.updates(&loaded));
    let (_, took) = peer::run(Path::new(program), &json, &packets, 8).expect("simple_switch runs");
    FEWER as f64 / took.as_secs_f64() / 1000.0
}

/// The median and its 95 % interval by order statistics.
fn interval(mut values: Vec<f64>) -> Option<(f64, f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let middle = *values.get(count / 2)?;
    // Ranks n/2 ± 0.98 √n enclose the median with 95 %.
    let half = (0.98 * (count as f64).sqrt()).ceil() as usize;
    let low = values[(count / 2).saturating_sub(half)];
    let high = values[(count / 2 + half).min(count - 1)];
    Some((middle, low, high))
}

fn line(name: &str, now: Vec<f64>, (other, then): (&str, Vec<f64>)) -> String {
    let rounds = now.len();
    let ratios = now
        .iter()
        .zip(&then)
        .map(|(now, then)| now / then)
        .collect();
    let words = |label: &str, unit: &str, digits: usize, values: Vec<f64>| {
        let (middle, low, high) = interval(values)?;
        Some(format!(
            "{label}{middle:.digits$} [{low:.digits$}, {high:.digits$}]{unit}"
        ))
    };
    let parts = [
        words("", " kpkt/s", 0, now),
        words(&format!("{other} "), " kpkt/s", 0, then),
        words("ratio ", "", 2, ratios),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    format!("{name:8} {} (95 %, n = {rounds})", parts.join(", "))
}
