//! Kept scenes as the guard of `analysis` has them: small enough for the repository, and judged by it in seconds.

use crate::records::{Record, read};
use crate::say;
use anyhow::{Context as _, Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use linerate_model::run::Run;
use linerate_model::signals::LINK_SPEED_BPS;
use linerate_testkit::pages;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::Write as _;
use std::path::Path;

/// Where the guard looks for its scenes.
const FOLDER: &str = "crates/analysis/tests/scenes";

/// Writes the steady scenes of `folder` that have one main limit as the guard's `set`.
pub(crate) fn write(folder: &Path, set: &str) -> Result<()> {
    let target = pages::root().join(FOLDER);
    let file = fs::File::create(target.join(format!("{set}.runs.jsonl.gz")))?;
    let mut runs = GzEncoder::new(file, Compression::best());
    let mut labels = String::new();
    for record in read(folder)? {
        let Some(limit) = record.label() else {
            continue;
        };
        let (scene, run) = (record.name(), reduced(&record)?);
        writeln!(runs, "{}", json!({"scene": scene, "run": run}))?;
        let disturbed = !record.is_quiet();
        let label = json!({"scene": scene, "limit": limit, "disturbed": disturbed});
        labels.push_str(&label.to_string());
        labels.push('\n');
    }
    let bytes = runs.finish()?.metadata()?.len();
    fs::write(target.join(format!("{set}.labels.jsonl")), &labels)?;
    say(&format!(
        "{set}: {} scenes in {bytes} bytes",
        labels.lines().count()
    ));
    Ok(())
}

/// What no verdict is drawn from, by its key: anything under it is left out.
const LEFT_OUT: &[&str] = &[
    "command",
    "findings",
    "ipdv",
    "lateness",
    "one_way",
    "pdv",
    "shares_over_time",
    "transits",
    "verdict",
];

/// What is left of a reading of a TCP socket.
const TCP_SAMPLE: &[&str] = &[
    "at_ns",
    "bytes_acked",
    "bytes_sent",
    "delivery_rate_app_limited",
    "notsent_bytes",
    "rcv_wnd_bytes",
    "retrans_segments",
    "smss_bytes",
    "snd_wnd_bytes",
    "unread_bytes",
];

/// The run of `record` without what no verdict is drawn from; an error if its verdict or its probes are not the same.
fn reduced(record: &Record) -> Result<Value> {
    let mut run = serde_json::to_value(record.run())?;
    reduce(&mut run);
    let probes = run.get_mut("probes").and_then(Value::as_array_mut);
    for probe in probes.into_iter().flatten() {
        // Of probes only quantiles are read.
        if let Some(delay) = probe
            .pointer_mut("/trial/delay")
            .and_then(Value::as_object_mut)
        {
            delay.remove("histogram");
        }
    }
    let left: Run = serde_json::from_value(run.clone()).context("what is left is no run")?;
    let (before, after) = (record.replayed().0, crate::replay::replayed(&left).0);
    let is_same = before.limit == after.limit
        && before.side == after.side
        && before.confidence == after.confidence;
    ensure!(
        is_same,
        "{}: reduced, {before:?} becomes {after:?}",
        record.name()
    );
    Ok(run)
}

fn reduce(value: &mut Value) {
    match value {
        Value::Object(map) => reduce_object(map),
        Value::Array(values) => values.iter_mut().for_each(reduce),
        Value::Number(number) if number.is_f64() => {
            // More digits than a verdict is drawn from do not compress.
            let rounded = format!("{:.6e}", number.as_f64().unwrap_or_default());
            let rounded: Option<f64> = rounded.parse().ok();
            *value = rounded.map_or(Value::Null, Value::from);
        }
        _ => {}
    }
}

fn reduce_object(map: &mut Map<String, Value>) {
    map.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
    // Of those of its streams a trial's own are made.
    if map.contains_key("streams") && map.contains_key("side") {
        let streams = map.get_mut("streams").and_then(Value::as_array_mut);
        for stream in streams.into_iter().flatten() {
            stream["intervals"] = json!([]);
        }
    }
    if let Some(values) = map.get_mut("values").and_then(Value::as_object_mut) {
        values.retain(|signal, _| signal == LINK_SPEED_BPS);
        map.remove("missing");
    }
    for key in ["tcp", "samples"] {
        let samples = map.get_mut(key).and_then(Value::as_array_mut);
        for sample in samples
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            sample.retain(|key, _| TCP_SAMPLE.contains(&key.as_str()));
        }
    }
    map.values_mut().for_each(reduce);
}
