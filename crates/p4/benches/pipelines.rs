//! Packets per second and core through the pipelines `p4/speed_*` and `p4/copies`.
//!
//! `cargo bench -p linerate-p4 --bench pipelines -- [--rounds N] [--before PROGRAM] [--simple-switch PROGRAM]` prints one line a
//! pipeline: the median of the rounds with its 95 % interval. `--before` names this benchmark as another commit built it; then rounds
//! of both take turns, and the ratio is printed as well. `--simple-switch` names BMv2's program, which gets the same
//! program, entries and packets in files, and sends to ports that nothing is attached to. Time is CPU time: of this
//! thread, and of all threads of `simple_switch`.
//!
//! `--write FOLDER` measures nothing: it writes each program with its entries (`NAME.json`) and a packet that it forwards from
//! port 0 to port 1 (`NAME.hex`): `linerate switch --dut bmv2,program=NAME.json --template NAME.hex`, and `--dut p4,…`.
#![forbid(unsafe_code)]

#[path = "../tests/pipelines/constant.rs"]
mod constant;
#[path = "../tests/differential/peer.rs"]
mod peer;
#[path = "../tests/pipelines/mod.rs"]
mod pipelines;

use linerate_p4::{Limits, Program, Switch, hex};
use linerate_sys::clock::thread_cpu_time;
use pipelines::{ALL, BEYOND, Pipeline};
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Packets of a round.
const PACKETS: u32 = 200_000;

fn say(text: &str) {
    drop(writeln!(io::stdout(), "{text}"));
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let (mut rounds, mut before, mut bmv2, mut once) = (15, None, None, None);
    let mut folder = None;
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
            "--write" => folder = words.next(),
            // cargo's own.
            "--bench" => {}
            _ => {
                say(&format!(
                    "unknown option {word}; --rounds N, --before PROGRAM, --simple-switch PROGRAM, --write FOLDER"
                ));
                return ExitCode::from(2);
            }
        }
    }
    if let Some(folder) = folder {
        return write_all(Path::new(&folder));
    }
    if let Some(name) = once {
        for pipeline in ALL.iter().filter(|pipeline| pipeline.name == name) {
            say(&rate(pipeline).to_string());
        }
        return ExitCode::SUCCESS;
    }
    for pipeline in ALL {
        let (mut now, mut then) = (Vec::new(), Vec::new());
        let mut others = Vec::new();
        for _ in 0..rounds {
            now.push(rate(pipeline));
            then.extend(
                before
                    .as_ref()
                    .and_then(|program| other(program, pipeline.name)),
            );
            others.extend(
                bmv2.as_ref()
                    .map(|program| simple_switch(program, pipeline)),
            );
        }
        say(&line(
            pipeline.name,
            &now,
            &[("before", then), ("simple_switch", others)],
        ));
    }
    ExitCode::SUCCESS
}

/// Thousands of packets per second of CPU time.
fn rate(pipeline: &Pipeline) -> f64 {
    let mut switch = pipeline.switch();
    let packets = pipeline.packets();
    let mut sent = 0_u64;
    let mut run = |count: u32| {
        for (port, packet) in packets.iter().cycle().take(count as usize) {
            switch.process(*port, packet, 1_000_000, &mut |_, bytes| {
                sent += bytes.len() as u64;
            });
        }
    };
    run(PACKETS / 20);
    let start = thread_cpu_time();
    run(PACKETS);
    let took = thread_cpu_time().saturating_sub(start);
    assert!(sent > 0, "{} sends nothing", pipeline.name);
    f64::from(PACKETS) / took.as_secs_f64() / 1000.0
}

fn write_all(folder: &Path) -> ExitCode {
    let mut measured = ALL.iter().filter(|pipeline| pipeline.name != "copies");
    match measured.try_for_each(|pipeline| write(pipeline, folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("{}: {error}", folder.display()));
            ExitCode::FAILURE
        }
    }
}

/// Writes a program with its entries, and one of its packets.
fn write(pipeline: &Pipeline, folder: &Path) -> io::Result<()> {
    let json = with_entries(pipeline, 1);
    let program = Arc::new(Program::from_json(json.as_bytes()).expect("it loads"));
    let mut switch = Switch::new(program, Limits::default(), 1);
    let mut packets = pipeline.packets().into_iter();
    let passes = packets.find(|(_, packet)| {
        let mut to = Vec::new();
        switch.process(0, packet, 0, &mut |port, _| to.push(port));
        to == [1]
    });
    let file = |ending: &str| folder.join(format!("{}.{ending}", pipeline.name));
    let (_, packet) = passes.ok_or_else(|| io::Error::other("no packet passes"))?;
    fs::write(file("json"), json)?;
    fs::write(file("hex"), hex(&packet))
}

fn with_entries(pipeline: &Pipeline, first_out: u64) -> String {
    let loaded = Program::from_json(pipeline.json.as_bytes()).expect("it loads");
    constant::with_entries(pipeline.json, &pipeline.updates(&loaded, first_out))
}

fn other(program: &str, pipeline: &str) -> Option<f64> {
    let output = Command::new(program)
        .args(["--once", pipeline])
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stdout).trim().parse().ok()
}

/// Packets that `simple_switch` gets: it takes seconds for them.
const FEWER: u32 = 50_000;

fn simple_switch(program: &str, pipeline: &Pipeline) -> f64 {
    let packets: Vec<_> = pipeline
        .packets()
        .into_iter()
        .cycle()
        .take(FEWER as usize)
        .collect();
    let (_, took) = peer::run(
        Path::new(program),
        &with_entries(pipeline, BEYOND),
        &packets,
        8,
    )
    .expect("simple_switch runs");
    f64::from(FEWER) / took.as_secs_f64() / 1000.0
}

/// The median and its 95 % interval by order statistics.
fn interval(mut values: Vec<f64>) -> Option<(f64, f64, f64)> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let middle = *values.get(count / 2)?;
    // Ranks n/2 ± 0.98 √n enclose the median with 95 %.
    let half = count.isqrt() + 1;
    let low = values[(count / 2).saturating_sub(half)];
    let high = values[(count / 2 + half).min(count - 1)];
    Some((middle, low, high))
}

/// Rates, and those of others with what ours are times theirs.
fn line(name: &str, now: &[f64], others: &[(&str, Vec<f64>)]) -> String {
    let words = |digits: usize, values: Vec<f64>| {
        let (middle, low, high) = interval(values)?;
        Some(format!(
            "{middle:.digits$} [{low:.digits$}, {high:.digits$}]"
        ))
    };
    let mut text = format!(
        "{name:8} {} kpkt/s",
        words(0, now.to_vec()).unwrap_or_default()
    );
    for (other, rates) in others {
        let ratios = now
            .iter()
            .zip(rates)
            .map(|(now, rate)| now / rate)
            .collect();
        if let (Some(rates), Some(ratios)) = (words(0, rates.clone()), words(2, ratios)) {
            text = format!("{text}, {other} {rates} kpkt/s, ratio {ratios}");
        }
    }
    format!("{text} (95 %, n = {})", now.len())
}
