//! What a latency run may be read for: whether its messages waited for each other, where delay leaves its
//! level at low load, and what traffic beside them changed.

use crate::figures::{UNKNOWN, digits, float, nanos, per_second};
use crate::words;
use linerate_model::responsiveness::Responsiveness;
use linerate_model::run::{ExchangeConditions, Knee, Run, RunWork, Trial};

/// Why the quantiles of this run do, or do not, say how many requests a stall would hurt; `None` for a run
/// that measured no round trips of its own.
pub(crate) fn loop_note(run: &Run) -> Option<String> {
    let RunWork::Latency { responsiveness, .. } = &run.work else {
        return None;
    };
    if !run.tool.is_linerate() || !responsiveness.is_empty() {
        return None;
    }
    let timed = || run.trials.iter().filter(|trial| trial.delay().is_some());
    let open = timed().any(|trial| trial.requests().is_some());
    let closed = timed().any(|trial| trial.requests().is_none());
    match (closed, open) {
        (false, false) => None,
        (true, false) => Some(format!("{CLOSED} `--rate` shows that.")),
        (false, true) => Some(OPEN.to_owned()),
        (true, true) => Some(format!("{OPEN} {CLOSED}")),
    }
}

const CLOSED: &str = "Closed loop: one message is under way at a time, so a stall delays one message, however many requests would have come meanwhile; the quantiles say nothing of how many requests would have been hurt.";

const OPEN: &str = "Open loop: requests go at their rate whatever is still under way, and each is timed from when it was meant to be sent, so a stall shows at the share of requests that it hurt.";

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

/// What was measured of each direction of a load.
fn loaded_ways(run: &Run) -> &[Responsiveness] {
    match &run.work {
        RunWork::Latency { responsiveness, .. } => responsiveness,
        _ => &[],
    }
}

/// `840 round trips per minute under load client → server`.
fn rounds(found: &Responsiveness) -> String {
    let rpm = found
        .responsiveness_rpm
        .map_or_else(|| UNKNOWN.to_owned(), |rpm| digits(rpm.round()));
    let way = words::direction(found.direction);
    format!("{rpm} round trips per minute under load {way}")
}

/// Round trips per minute of each direction of the load; empty where none was asked for.
pub(crate) fn rounds_per_minute(run: &Run) -> String {
    let rounds: Vec<_> = loaded_ways(run).iter().map(rounds).collect();
    rounds.join(" and ")
}

/// Round trips per minute and what they are made of, one line for each direction of the load.
pub(crate) fn responsiveness(run: &Run) -> Vec<String> {
    let line = |found: &Responsiveness| {
        let time = |ns: Option<f64>| ns.map_or_else(|| UNKNOWN.to_owned(), nanos);
        let goodput = found
            .goodput
            .map_or_else(|| UNKNOWN.to_owned(), crate::figures::rate);
        let room = if found.saturated {
            ""
        } else {
            ", and more streams might have carried more"
        };
        let failed = match found.failed_connections {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        format!(
            "{}: {} TCP streams carried {goodput}{room}; handshake {}, request on a new connection {} (n = {}{failed}), through a loaded connection {} (n = {})",
            rounds(found),
            found.streams,
            time(found.handshake_ns),
            time(found.request_ns),
            found.connections,
            time(found.in_band_ns),
            found.marks
        )
    };
    loaded_ways(run).iter().map(line).collect()
}

/// What the load changed, size by size: the idle trial and the one under load side by side.
pub(crate) fn side_by_side(run: &Run) -> Vec<String> {
    let valid = || run.trials.iter().filter(|trial| trial.valid);
    let pair = |loaded: &Trial| {
        let conditions = loaded.conditions()?;
        let load = conditions.load.as_deref()?;
        let at_rest = ExchangeConditions {
            load: None,
            ..conditions.clone()
        };
        let what = |trial: &Trial| {
            let rate = trial.requests().map(|requests| requests.intended_rate);
            (trial.payload_bytes, rate, trial.decomposition().is_some())
        };
        let idle = valid()
            .find(|trial| trial.conditions() == Some(&at_rest) && what(trial) == what(loaded))?;
        let name = idle.label.as_deref()?.trim_end_matches(", idle");
        let (before, after) = (idle.delay()?, loaded.delay()?);
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
            "{name}: idle → under {load}: p50 {}, p99 {}",
            change(before.p50_ns, after.p50_ns),
            change(before.p99_ns, after.p99_ns)
        ))
    };
    valid().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts;
    use linerate_model::PacketRate;
    use linerate_model::run::{
        ClosedLoopResult, CurveFacts, Delay, DelayOf, OpenLoopResult, Requests,
    };
    use linerate_model::spec::{Arrival, Direction, Transport, WaitMode};
    use linerate_model::{Histogram, PacketCount};
    use std::time::Duration;

    fn run(trials: Vec<Trial>) -> Run {
        let mut run: Run = serde_json::from_value(serde_json::json!({
            "schema": "linerate/run/2", "id": "run", "kind": "latency", "status": "complete",
            "tool": {"name": "linerate"}, "config": {},
        }))
        .unwrap();
        run.trials = trials;
        run
    }

    fn histogram(nanos: u64) -> Histogram {
        let mut histogram = Histogram::new();
        histogram.record_n(nanos, 950);
        histogram
    }

    fn closed(label: &str, nanos: u64) -> Trial {
        let work = ClosedLoopResult {
            delay: Delay::from_histogram(DelayOf::RoundTrip, histogram(nanos)),
            ..ClosedLoopResult::default()
        };
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.label = Some(label.to_owned());
        trial
    }

    fn open(rate: f64, unanswered: u64) -> Trial {
        let n = PacketCount::new;
        let rate = PacketRate::from_pps(rate);
        let delay = Delay::with_unanswered(DelayOf::ResponseTime, histogram(50_000), unanswered);
        let requests = Some(Requests {
            arrival: Arrival::Constant,
            intended_rate: Some(rate),
            intended: n(950 + unanswered),
            unsent: n(0),
            sent: n(950 + unanswered),
            answered: n(950),
            unanswered: n(unanswered),
            late_answers: n(0),
            duplicated: n(0),
            reordered: n(0),
            answer_timeout: Duration::from_secs(1),
        });
        let work = OpenLoopResult {
            delay,
            requests,
            ..OpenLoopResult::default()
        };
        let mut trial = Trial::new(0, Transport::Udp, Direction::Forward, work);
        trial.label = Some(format!("32 B, spin, {}, idle", per_second(rate)));
        trial
    }

    #[test]
    fn a_report_says_why_a_closed_loop_hides_a_stall() {
        let alone = loop_note(&run(vec![closed("idle", 1000)])).unwrap();
        assert!(alone.contains("a stall delays one message"), "{alone}");
        assert!(alone.contains("`--rate`"), "{alone}");
        let at_rate = loop_note(&run(vec![open(100.0, 0)])).unwrap();
        assert!(at_rate.starts_with("Open loop"), "{at_rate}");
        let both = loop_note(&run(vec![open(100.0, 0), closed("idle", 1000)])).unwrap();
        assert!(
            both.contains("Open loop") && both.contains("Closed loop"),
            "{both}"
        );
        let mut imported = run(vec![closed("idle", 1000)]);
        imported.tool.name = "sockperf".to_owned();
        assert_eq!(loop_note(&imported), None);
    }

    #[test]
    fn idle_and_loaded_trials_stand_side_by_side() {
        let mut run = run(vec![
            closed("32 B, block, idle", 50_000),
            closed("32 B, block, under TCP load", 5_000_000),
        ]);
        for (trial, load) in run.trials.iter_mut().zip([None, Some("TCP load")]) {
            trial.set_conditions(ExchangeConditions {
                mode: "block".to_owned(),
                wait: WaitMode::Block,
                datapath: "sockets".to_owned(),
                wrapped: false,
                load: load.map(str::to_owned),
            });
        }
        let lines = side_by_side(&run);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].contains("50 µs → 5 ms (×100)"), "{lines:?}");
    }

    #[test]
    fn a_curve_is_drawn_with_its_knee_and_without_what_is_not_known() {
        let mut run = run(vec![open(100.0, 0), open(200.0, 0), open(400.0, 50)]);
        run.work = RunWork::Latency {
            curve: Some(CurveFacts {
                knee: Some(Knee {
                    below: Some(PacketRate::from_pps(200.0)),
                    above: Some(PacketRate::from_pps(400.0)),
                    idle_p99_ns: 50_000.0,
                    idle_p99_high_ns: 60_000.0,
                    limit_p99_ns: 120_000.0,
                    answered_in_full: Some(PacketRate::from_pps(200.0)),
                    saturated: Some(PacketRate::from_pps(400.0)),
                    sender_limited: false,
                }),
                ..CurveFacts::default()
            }),
            responsiveness: Vec::new(),
        };
        let kind = charts::ALL.iter().find(|kind| kind.id == "request-load");
        let charts::Drawn::Charts(drawn) = (kind.unwrap().draw)(&run) else {
            panic!("not drawn");
        };
        let chart = &drawn[0];
        assert!(
            chart.caption.contains("between 200/s and 400/s"),
            "{}",
            chart.caption
        );
        assert_eq!(chart.bands[0].from, Some(200.0));
        let points = |name: &str| {
            let series = chart.series.iter().find(|series| series.name == name);
            series.map_or(0, |series| series.points.len())
        };
        // p99 of the last load falls among its 50 unanswered of 1000.
        assert_eq!((points("p50"), points("p99")), (3, 2));
        assert_eq!(chart.table.rows.len(), 3);
    }
}
