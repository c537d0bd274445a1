//! What a latency run may be read for: whether its messages waited for each other, where delay leaves its
//! level at low load, and what traffic beside them changed.

use crate::figures::{digits, float, nanos};
use linerate_model::PacketRate;
use linerate_model::run::{Knee, Run, RunKind, Trial};

/// Why the quantiles of this run do, or do not, say how many requests a stall would hurt; `None` for a run
/// that measured no round trips of its own.
pub(crate) fn loop_note(run: &Run) -> Option<String> {
    if run.kind != RunKind::Latency || run.tool.name != "linerate" {
        return None;
    }
    let timed = || run.trials.iter().filter(|trial| trial.delay.is_some());
    let open = timed().any(|trial| trial.requests.is_some());
    let closed = timed().any(|trial| trial.requests.is_none());
    match (closed, open) {
        (false, false) => None,
        (true, false) => Some(format!("{CLOSED} `--rate` shows that.")),
        (false, true) => Some(OPEN.to_owned()),
        (true, true) => Some(format!("{OPEN} {CLOSED}")),
    }
}

const CLOSED: &str = "Closed loop: one message is under way at a time, so a stall delays one message, however many requests would have come meanwhile; the quantiles say nothing of how many requests would have been hurt.";

const OPEN: &str = "Open loop: requests go at their rate whatever is still under way, and each is timed from when it was meant to be sent, so a stall shows at the share of requests that it hurt.";

/// `1200/s`.
pub(crate) fn per_second(rate: PacketRate) -> String {
    format!("{}/s", digits(rate.pps()))
}

/// Where delay leaves its level at low load, and what ended the curve.
pub(crate) fn knee_text(knee: &Knee) -> String {
    let idle = format!(
        "p99 {} (at most {}) at the lowest load",
        nanos(knee.idle_p99_ns),
        nanos(knee.idle_p99_high_ns)
    );
    let limit = nanos(knee.limit_p99_ns);
    let place = match (knee.below, knee.above) {
        (Some(below), Some(above)) => format!(
            "between {} and {}: from there on p99 stays above {limit}, twice its value when idle",
            per_second(below),
            per_second(above)
        ),
        _ => format!("not reached: p99 stays within {limit}"),
    };
    let end = match (knee.answered_in_full, knee.saturated) {
        (Some(full), Some(lost)) if knee.sender_limited => format!(
            "the sender offered {} in full and not {}",
            per_second(full),
            per_second(lost)
        ),
        (Some(full), Some(lost)) => format!(
            "answered in full up to {}, not at {}",
            per_second(full),
            per_second(lost)
        ),
        (Some(full), None) => format!(
            "answered in full up to {}, the highest load",
            per_second(full)
        ),
        (None, _) => "no load was answered in full".to_owned(),
    };
    format!("{place}; {idle}; {end}")
}

/// What the load changed, size by size: the idle trial and the one under load side by side.
pub(crate) fn side_by_side(run: &Run) -> Vec<String> {
    let valid = || run.trials.iter().filter(|trial| trial.valid);
    let pair = |loaded: &Trial| {
        let (name, condition) = loaded.label.as_deref()?.rsplit_once(", under ")?;
        let idle = valid().find(|trial| {
            let label = trial
                .label
                .as_deref()
                .and_then(|label| label.rsplit_once(", "));
            label == Some((name, "idle"))
        })?;
        let (before, after) = (idle.delay.as_ref()?, loaded.delay.as_ref()?);
        let change = |low: Option<u64>, high: Option<u64>| {
            let (Some(low), Some(high)) = (low, high) else {
                return "– (not given)".to_owned();
            };
            let times = float(high) / float(low.max(1));
            format!(
                "{} → {} (×{})",
                nanos(float(low)),
                nanos(float(high)),
                digits((times * 10.0).round() / 10.0)
            )
        };
        Some(format!(
            "{name}: idle → {condition}: p50 {}, p99 {}",
            change(before.p50_ns, after.p50_ns),
            change(before.p99_ns, after.p99_ns)
        ))
    };
    valid().filter_map(pair).collect()
}
