//! Who is measured.

mod floor;
mod iperf2;
mod iperf3;
mod linerate;
mod neper;
mod sfnt;
mod sockperf;

pub(crate) use floor::Floor;
pub(crate) use iperf2::Iperf2;
pub(crate) use iperf3::Iperf3;
pub(crate) use linerate::{Linerate, Variant};
pub(crate) use neper::Neper;
pub(crate) use sfnt::Sfnt;
pub(crate) use sockperf::Sockperf;

use crate::activity::{Activity, Lengths, Measure, Values};
use crate::lab::Lab;
use crate::process::Done;
use crate::recorder::{Recorder, judge};
use crate::turns::Pair;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A tool that takes part.
pub(crate) trait Contender {
    /// Its name in the table.
    fn name(&self) -> &'static str;
    /// What it says of itself, or why it cannot be run and what to do.
    fn version(&self) -> Result<String, String>;
    /// Whether it has such a test; if not, why.
    fn offers(&self, activity: Activity) -> Result<(), String>;
    /// Its ping-pong, if it has one.
    fn ping_pong(&self) -> Option<&dyn PingPong> {
        None
    }
    /// Runs one test other than a ping-pong. Paced tests give no values here: the recorder judges them.
    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values>;
}

/// A tool's ping-pong, which other ones' are measured in turns with.
pub(crate) trait PingPong {
    /// Starts its server, waits until it listens, and starts its client.
    fn start(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair>;
    /// Whether it changes the device while it is up, so that others cannot be measured meanwhile.
    fn is_alone(&self) -> bool {
        false
    }
    /// What its client printed.
    fn read(&self, activity: Activity, printed: &str) -> Result<Values>;
}

/// Runs one test; a paced one under the eyes of the recorder.
pub(crate) fn perform(
    contender: &dyn Contender,
    lab: &Lab,
    activity: Activity,
    lengths: Lengths,
) -> Result<Values> {
    let Activity::Paced(pace) = activity else {
        return contender.run(lab, activity, lengths);
    };
    let recorder = Recorder::start(lab.b(), lab.cores[1])?;
    let run = contender.run(lab, activity, lengths);
    let arrivals = recorder.finish()?;
    run?;
    let error = judge(&arrivals, pace, lengths.settle)?;
    Ok(Values::from([
        (Measure::GapError(pace), error.p99_us),
        (Measure::PacedRate(pace), error.rate_ratio),
    ]))
}

/// First line that `program word` prints, or what to do about its absence.
fn first_line(program: &Path, word: &str, package: &str) -> Result<String, String> {
    let output = Command::new(program)
        .arg(word)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                format!("{package} is not installed (apt-get install {package})")
            }
            _ => format!("{} cannot be started: {error}", program.display()),
        })?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| !line.trim().is_empty());
    Ok(line.unwrap_or(package).trim().to_owned())
}

/// Of a test of many streams, which carried `bytes` at `bps`.
fn of_streams(streams: u32, both: &[Done; 2], bytes: f64, bps: f64) -> Values {
    let cpu: f64 = both.iter().map(|done| done.cpu.as_secs_f64()).sum();
    let memory: f64 = both.iter().map(|done| done.peak_memory.as_f64()).sum();
    Values::from([
        (Measure::StreamsRate(streams), bps / 1e9),
        (Measure::StreamsCpu(streams), cpu / (bytes / 1e9)),
        (Measure::StreamsMemory(streams), memory / f64::from(1 << 20)),
    ])
}

/// A number of a JSON document.
fn number(document: &Value, pointer: &str) -> Result<f64> {
    let value = document.pointer(pointer).and_then(Value::as_f64);
    value.with_context(|| format!("no number at {pointer}"))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
