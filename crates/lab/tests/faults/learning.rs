//! The table that verdicts are drawn from: how often each sign and answer was seen under each limit.
//!
//! What scenes showed is kept beside this file, a line each, so that scenes of several machines and days add up; the
//! table is made of all of them.

use crate::say;
use anyhow::{Context as _, Result};
use linerate_analysis::{Counts, Observation};
use linerate_model::spec::Transport;
use linerate_testkit::pages;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What one scene showed, and what was measured to limit it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Labelled {
    /// Its seed and number.
    pub(crate) scene: String,
    /// Its main limit, by its id in the table.
    pub(crate) limit: String,
    pub(crate) observation: Observation,
}

const KEPT: &str = "crates/lab/tests/faults/observations.jsonl";
const TABLE: &str = "crates/analysis/src/diagnosis/likelihoods.json";

/// Adds `new` to what is kept, makes the table of it, and says how well it does on scenes that are left out.
pub(crate) fn fit(new: &[Labelled]) -> Result<()> {
    let root = pages::root();
    let kept = root.join(KEPT);
    let mut all: BTreeMap<String, Labelled> = BTreeMap::new();
    for line in fs::read_to_string(&kept).unwrap_or_default().lines() {
        let labelled: Labelled = serde_json::from_str(line).context(KEPT)?;
        all.insert(labelled.scene.clone(), labelled);
    }
    all.extend(new.iter().map(|one| (one.scene.clone(), one.clone())));
    let mut text = String::new();
    let mut counts = Counts::default();
    for labelled in all.values() {
        text.push_str(&serde_json::to_string(labelled)?);
        text.push('\n');
        counts.add(&labelled.limit, &labelled.observation);
    }
    fs::write(kept, text)?;
    for transport in [Transport::Tcp, Transport::Udp] {
        let of_it = |labelled: &&Labelled| labelled.observation.transport == transport;
        let scenes: Vec<&Labelled> = all.values().filter(of_it).collect();
        leave_one_out(&scenes, &mut counts);
    }
    write_counts(&root.join(TABLE), &counts)
}

/// Puts what was counted beside what was judged.
fn write_counts(table: &Path, counts: &Counts) -> Result<()> {
    let mut fitted: Value = serde_json::from_str(&fs::read_to_string(table)?)?;
    let counts = serde_json::to_value(counts)?;
    let tables = fitted.get_mut("tables").and_then(Value::as_object_mut);
    for (key, table) in tables.into_iter().flatten() {
        table["counted"] = counts.get(key).cloned().unwrap_or_else(|| json!({}));
    }
    Ok(fs::write(
        table,
        serde_json::to_string_pretty(&fitted)? + "\n",
    )?)
}

/// A share of the weight from which on a verdict is supported.
const SUPPORTED: f64 = 0.9;

/// Weighs each scene by a table that does not know it.
fn leave_one_out(scenes: &[&Labelled], counts: &mut Counts) {
    let (mut right, mut sure, mut wrong, mut surprise) = (0_u32, 0_u32, 0_u32, 0.0);
    for Labelled {
        scene,
        limit,
        observation,
    } in scenes
    {
        counts.remove(limit, observation);
        let weights = observation.weigh(counts);
        counts.add(limit, observation);
        let (said, weight) = weights[0];
        let true_weight = weights
            .iter()
            .find(|(id, _)| id == limit)
            .map_or(0.0, |w| w.1);
        surprise -= true_weight.max(1e-6).ln();
        if said == limit {
            right += 1;
            sure += u32::from(weight >= SUPPORTED);
        } else {
            wrong += u32::from(weight >= SUPPORTED);
            say(&format!(
                "{scene}: {limit} ({true_weight:.3}), said {said} ({weight:.3})"
            ));
        }
    }
    let n = f64::from(u32::try_from(scenes.len()).unwrap_or(u32::MAX));
    say(&format!(
        "{} scenes, each weighed without itself: {right} right, {sure} of them at {SUPPORTED} or more; {wrong} wrong at that; mean surprise {:.3} nats",
        scenes.len(),
        surprise / n
    ));
}
