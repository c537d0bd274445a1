//! Measures without a peer: time of a saturation search, memory and size of the binary.

use crate::goals::OWN;
use crate::lab::Lab;
use crate::options::Options;
use crate::process::{memory, pause};
use crate::table::{Line, estimate_text, figure, outcome};
use anyhow::{Context as _, Result, bail};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, median, paired_ratio};
use linerate_model::comparison::BetterWhen;
use linerate_model::{BitRate, ByteCount, Clock as _};
use linerate_sys::clock::MonoClock;
use linerate_testbed::{Link, LinkConfig};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// Wall time of the search on a link of 100 Mbit/s against the manual sweep of the published study.
pub(crate) fn search_line(program: &Path, options: &Options, cores: [u32; 2]) -> Result<Line> {
    let rate = BitRate::from_bps(100_000_000);
    let config = LinkConfig::with_rate(rate, ByteCount::new(64 * 1024));
    let lab = Lab::new(Link::symmetric(config), cores, options.seed)?;
    let repetitions = options.rounds.min(MOST_SEARCHES);
    let seconds = (0..repetitions)
        .map(|_| search(program, &lab))
        .collect::<Result<Vec<f64>>>()?;
    let pairs: Vec<_> = seconds.iter().map(|own| (SWEEP_S, *own)).collect();
    let ratio = paired_ratio(&pairs, USUAL_CONFIDENCE)?;
    let own = median(&seconds, USUAL_CONFIDENCE)?.point;
    Ok(Line {
        measure: "saturation search, width 0.5 %, link of 100 Mbit/s, wall s".to_owned(),
        own: OWN.to_owned(),
        value: figure(own),
        against: format!("13 runs of 10 s {SWEEP_S}"),
        ratio: estimate_text(&ratio),
        n: ratio.n,
        goal: "≤ 0.25×".to_owned(),
        result: outcome(&ratio, BetterWhen::Lower, Some(0.25)).to_owned(),
    })
}

fn search(program: &Path, lab: &Lab) -> Result<f64> {
    let port = lab.port();
    let far = format!("{}:{port}", lab.b().ipv4());
    let word = str::to_owned;
    let serve = ["serve", "--once", "--listen", &far].map(word);
    let server = lab.serve(program, &serve, ("tcp", port))?;
    let client = [
        "saturate",
        &far,
        "--width",
        "0.5%",
        "--json",
        "--no-store",
        "-q",
    ]
    .map(word);
    let begin = MonoClock.now();
    lab.client(program, &client, SEARCH_PATIENCE)?;
    let lasted = MonoClock.now().saturating_since(begin);
    server.finish(SEARCH_PATIENCE)?;
    Ok(lasted.as_secs_f64())
}

/// Resident memory of a server that waits for clients.
pub(crate) fn memory_line(program: &Path, lab: &Lab) -> Result<Line> {
    let port = lab.port();
    let listen = format!("{}:{port}", lab.b().ipv4());
    let serve = ["serve", "--listen", &listen].map(str::to_owned);
    let server = lab.serve(program, &serve, ("tcp", port))?;
    pause(IDLE);
    let resident = memory(server.id(), "VmRSS").context("the server has ended")?;
    server.stop()?;
    let mib = resident.as_f64() / f64::from(1 << 20);
    let row = limit_line("`linerate serve` idle, resident MiB", mib, 16.0);
    Ok(row)
}

/// Size of the binary without symbols.
pub(crate) fn size_line(program: &Path, folder: &TempDir) -> Result<Line> {
    let stripped = folder.path().join("stripped");
    let output = Command::new("strip")
        .arg("-o")
        .arg(&stripped)
        .arg(program)
        .output()
        .context("strip cannot be started (apt-get install binutils)")?;
    if !output.status.success() {
        bail!("strip: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let kib = u32::try_from(fs::metadata(&stripped)?.len() / 1024)?;
    let mib = f64::from(kib) / 1024.0;
    Ok(limit_line(
        "binary stripped, dynamically linked, MiB",
        mib,
        8.0,
    ))
}

fn limit_line(what: &str, value: f64, most: f64) -> Line {
    let result = if value <= most { "met" } else { "**missed**" };
    Line {
        measure: what.to_owned(),
        own: OWN.to_owned(),
        value: figure(value),
        n: 1,
        goal: format!("≤ {most} MiB"),
        result: result.to_owned(),
        ..Line::default()
    }
}

/// The published study: 13 runs of 10 s.
const SWEEP_S: f64 = 130.0;
const MOST_SEARCHES: u32 = 5;
const SEARCH_PATIENCE: Duration = Duration::from_secs(200);
const IDLE: Duration = Duration::from_millis(500);
