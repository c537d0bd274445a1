//! The table that verdicts are drawn from: how often each sign and answer was seen under each limit.
//!
//! What scenes showed is kept beside this file, a line each, so that scenes of several machines and days add up; the
//! table is made of all of them.

use crate::say;
use anyhow::{Context as _, Result};
use linerate_analysis::{Counts, Observation, limits};
use linerate_model::spec::Transport;
use linerate_testkit::pages;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

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
const TABLE: &str = "crates/analysis/src/diagnosis/counts.json";

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
        Fitting::new(transport, &scenes, &mut counts).fit(&mut counts);
        leave_one_out(&scenes, &mut counts);
    }
    fs::write(
        root.join(TABLE),
        serde_json::to_string_pretty(&counts)? + "\n",
    )?;
    Ok(())
}

/// What is needed to choose the weights of signs and probes: every scene by a table that does not know it.
struct Fitting {
    transport: Transport,
    prior: Vec<f64>,
    scenes: Vec<Unseen>,
}

/// A scene that the table does not know.
struct Unseen {
    /// Position of its limit.
    limit: usize,
    /// By sign or probe: the logarithms of its likelihood under each limit.
    seen: Vec<(String, Vec<f64>)>,
}

/// Weights that are tried.
const GRID: [f64; 11] = [0.0, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.5];
/// Rounds over all weights; they change little in the last.
const ROUNDS: usize = 6;
/// What a weight's distance from its usual value costs, squared, in nats: so many scenes must speak for it.
const SHRINKAGE: f64 = 6.0;

impl Fitting {
    fn new(transport: Transport, scenes: &[&Labelled], counts: &mut Counts) -> Self {
        let limits = limits(transport);
        let mut unseen = Vec::new();
        for labelled in scenes {
            let (limit, observation) = (labelled.limit.as_str(), &labelled.observation);
            let Some(position) = limits.iter().position(|(id, _)| *id == limit) else {
                continue;
            };
            counts.remove(limit, observation);
            let logs = observation.log_likelihoods(counts);
            counts.add(limit, observation);
            let ids = observation.seen.iter().map(|seen| seen.id.clone());
            unseen.push(Unseen {
                limit: position,
                seen: ids.zip(logs).collect(),
            });
        }
        Self {
            transport,
            prior: limits.iter().map(|(_, share)| share.ln()).collect(),
            scenes: unseen,
        }
    }

    /// Puts those weights into `counts` with which the true limits get most of the weight.
    fn fit(&self, counts: &mut Counts) {
        let ids = self.scenes.iter().flat_map(|scene| &scene.seen);
        let ids: BTreeSet<String> = ids.map(|(id, _)| id.clone()).collect();
        let usual: BTreeMap<String, f64> = ids
            .into_iter()
            .map(|id| (id.clone(), counts.weight(self.transport, &id)))
            .collect();
        let mut weights = usual.clone();
        for _ in 0..ROUNDS {
            for (id, usual) in &usual {
                let cost = |weight: f64| {
                    let mut tried = weights.clone();
                    tried.insert(id.clone(), weight);
                    self.surprise(&tried) + SHRINKAGE * (weight - usual).powi(2)
                };
                let best = GRID
                    .into_iter()
                    .min_by(|a, b| cost(*a).total_cmp(&cost(*b)));
                weights.insert(id.clone(), best.unwrap_or(*usual));
            }
        }
        for (id, weight) in weights {
            counts.set_weight(self.transport, &id, weight);
        }
    }

    /// How surprising the true limits are, over all scenes, in nats.
    fn surprise(&self, weights: &BTreeMap<String, f64>) -> f64 {
        let of_scene = |scene: &Unseen| {
            let mut logs = self.prior.clone();
            for (id, likelihoods) in &scene.seen {
                let weight = weights.get(id).copied().unwrap_or_default();
                for (log, likelihood) in logs.iter_mut().zip(likelihoods) {
                    *log += weight * likelihood;
                }
            }
            let most = logs.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
            sum.ln() + most - logs[scene.limit]
        };
        self.scenes.iter().map(of_scene).sum()
    }
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
