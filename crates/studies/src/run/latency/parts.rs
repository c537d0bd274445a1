//! Round trips taken apart: each point is measured once more with the kernel's stamps, after it was measured
//! without, so that what the stamps cost is known.

use super::{LatencyPlan, Sending};
use crate::run::Measurement;
use anyhow::Result;
use linerate_client::Client;
use linerate_engine::datapaths::{self, DatapathKind};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Trial;
use linerate_model::spec::{TestSpec, TestWork};

/// Refuses what cannot be taken apart.
pub(super) fn check(plan: &LatencyPlan, client: &Client) -> Result<(), Failure> {
    if !plan.decompose {
        return Ok(());
    }
    let why =
        if plan.wrap.is_some() {
            "what runs under a wrapper may not pass the kernel; leave --wrap out"
        } else if plan.sending != Sending::InTurn {
            "it takes apart one message at a time; leave --rate and --rpm out"
        } else if !client.shows_clock() {
            "only `linerate serve` at the peer takes stamps of its own; leave --decompose out"
        } else if plan.modes.iter().any(|mode| {
            !datapaths::find(&mode.datapath().id).is_ok_and(DatapathKind::has_socket_calls)
        }) {
            "only the kernel's sockets have its stamps; choose block, spin or busy-poll with --wait"
        } else {
            return Ok(());
        };
    Err(Failure::new(ExitCode::Usage, format!("--decompose: {why}")))
}

/// Measures `spec` with stamps; `plain` is its trial without.
pub(super) fn take_apart(
    run: &mut Measurement<'_, '_>,
    spec: &TestSpec,
    plain: &Trial,
) -> Result<()> {
    let mut spec = spec.clone();
    if let TestWork::ClosedLoop(closed) = &mut spec.work {
        closed.decompose = true;
    }
    let label = plain.label.as_deref().unwrap_or_default();
    let label = format!("{label}, with stamps");
    for mut trial in run.unrecorded(&spec, Some(&label))? {
        if let Some(conditions) = plain.conditions() {
            trial.set_conditions(conditions.clone());
        }
        let without = median(plain);
        let with = median(&trial);
        if let Some(parts) = trial.decomposition_mut() {
            parts.cost_ns = with
                .zip(without)
                .and_then(|(with, without)| with.checked_sub(without));
        }
        run.record(trial);
    }
    Ok(())
}

fn median(trial: &Trial) -> Option<i64> {
    let median = trial.delay()?.p50_ns?;
    i64::try_from(median).ok()
}
