//! Searches simulated paths, or plays one of them for another program's search.
//!
//! ```text
//! search_sim [ALGORITHM [SEEDS]]   one JSON line per device and seed: trials, trial time, bounds
//! search_sim serve DEVICE SEED     reads "LOAD_BPS DURATION_S" lines, answers one JSON line each
//! ```
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "its output is its only purpose")]

use linerate_analysis::search::simulated::Device;
use linerate_analysis::search::{Search, SearchConfig, Step, find};
use linerate_model::BitRate;
use serde_json::{Value, json};
use std::error::Error;
use std::io::{BufRead, Write};
use std::time::Duration;

/// L4 payload of 1448-byte datagrams on 100 Mbit/s Ethernet.
const CAPACITY: BitRate = BitRate::from_bps(95_642_000);
const MIN_LOAD: BitRate = BitRate::from_bps(1_000_000);
const MAX_LOAD: BitRate = BitRate::from_bps(1_000_000_000);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", device, seed] => serve(device, seed.parse()?),
        [] => search_all("mlrsearch", 1),
        [algorithm] => search_all(algorithm, 1),
        [algorithm, seeds] => search_all(algorithm, seeds.parse()?),
        _ => Err("usage: search_sim [ALGORITHM [SEEDS]] | search_sim serve DEVICE SEED".into()),
    }
}

fn search_all(algorithm: &str, seeds: u64) -> Result<(), Box<dyn Error>> {
    let kind = find(algorithm).ok_or_else(|| format!("no search algorithm {algorithm}"))?;
    for index in 0..Device::all(CAPACITY, 0).len() {
        for seed in 0..seeds {
            let mut device = Device::all(CAPACITY, seed).swap_remove(index);
            let mut config = SearchConfig::between(MIN_LOAD, MAX_LOAD);
            config.seed = seed;
            if algorithm == "binary" {
                // It has no ramp and no prediction: let it show what it needs.
                config.time_budget = Duration::from_hours(1);
            }
            let (trials, time, search) = run(kind.start(config)?, &mut device);
            println!(
                "{}",
                describe(&device, seed, (trials, time), search.as_ref())
            );
        }
    }
    Ok(())
}

fn run(mut search: Box<dyn Search>, device: &mut Device) -> (u32, Duration, Box<dyn Search>) {
    let (mut trials, mut time) = (0, Duration::ZERO);
    while let Step::Measure {
        intended_load,
        duration,
    } = search.next_step()
    {
        trials += 1;
        time += duration;
        search.record(device.measure(intended_load, duration));
    }
    (trials, time, search)
}

fn describe(device: &Device, seed: u64, cost: (u32, Duration), search: &dyn Search) -> Value {
    json!({
        "device": device.id,
        "summary": device.summary,
        "seed": seed,
        "capacity_bps": CAPACITY.bps(),
        "trials": cost.0,
        "time_s": cost.1.as_secs_f64(),
        "goals": search.goals(),
        "curve": search.curve(),
        "notes": search.notes(),
    })
}

fn serve(id: &str, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut devices = Device::all(CAPACITY, seed).into_iter();
    let mut device = devices
        .find(|device| device.id == id)
        .ok_or_else(|| format!("no simulated device {id}"))?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (load, seconds) = line
            .split_once(' ')
            .ok_or_else(|| format!("want LOAD_BPS DURATION_S, got {line:?}"))?;
        let duration = Duration::try_from_secs_f64(seconds.parse()?)?;
        let outcome = device.measure(BitRate::from_f64(load.parse()?), duration);
        let sent = outcome.sent.get();
        println!(
            "{}",
            json!({
                "offered_bps": outcome.offered_load.bps(),
                "sent": sent,
                "lost": outcome.lost().round(),
            })
        );
        std::io::stdout().flush()?;
    }
    Ok(())
}
