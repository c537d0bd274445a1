//! What limits connections that are opened one after the other, or held open: ports, CPU, failures, or how many there are at
//! once.

use super::evidence::{Cpu, Evidence};
use super::{Cause, ephemeral_ports, receiver_cpu, sender_cpu, supported_if, undecided, words};
use crate::thresholds::outcome;
use linerate_model::run::{Confidence, ConnectionOutcomes, Experiment, Limit, Run, Trial, Verdict};
use linerate_model::run::{FlowClassResult, FlowsResult};
use linerate_model::signals;
use linerate_model::spec::{ConnectionClose, Direction, Side};
use linerate_model::{PacketCount, PacketRate, Ratio};

/// As many connections as there are at once end as often as their transactions take.
pub(crate) static CAUSE: Cause = Cause {
    id: "open-connections",
    name: "the number of connections at once",
    subject: "the number of connections at once",
    summary: "Each connection waits for its own handshake and answer, with CPU time to spare at both ends.",
    ..Cause::BASE
};

/// Share of the attempts from which on failures are what a run tells.
const MOST_FAILED: f64 = 0.01;

/// The verdict on connections of one direction; `None` for other traffic.
pub(crate) fn verdict(run: &Run, direction: Direction) -> Option<Verdict> {
    let evidence = Evidence::new(run, direction, &[]);
    let trial = evidence.trials().first()?;
    let outcomes = trial.connections()?;
    let mut verdict = judge(&evidence, trial, outcomes);
    verdict.evidence.extend(queue_figures(trial));
    Some(verdict)
}

fn judge(evidence: &Evidence<'_>, trial: &Trial, outcomes: &ConnectionOutcomes) -> Verdict {
    let time = trial.duration.unwrap_or_default();
    let share = ephemeral_ports::share(outcomes, time);
    if share >= ephemeral_ports::LEAST_SHARE {
        return without_ports(trial, outcomes, share);
    }
    let failed = outcomes.client.failed_in_all().as_f64();
    if failed > outcomes.client.attempted.as_f64() * MOST_FAILED {
        return failing(outcomes);
    }
    if outcomes.asked.close == ConnectionClose::Hold {
        return held(outcomes);
    }
    if let Some(flows) = trial.flows() {
        return finished(trial, flows);
    }
    let ends = Cpu::of_ends(evidence);
    let figures: Vec<String> = ends.iter().flat_map(Cpu::figures).collect();
    let hottest = ends.iter().find(|cpu| cpu.is_hot() || cpu.is_starved());
    let rate = rate_words(trial);
    match hottest {
        Some(cpu) => {
            let cause = if cpu.name() == Side::Sender.as_str() {
                &sender_cpu::CAUSE
            } else {
                &receiver_cpu::CAUSE
            };
            let reason = cpu.reason();
            Verdict {
                side: cause.side,
                confidence: Confidence::Supported,
                experiment: Some(Box::new(Experiment::in_words(
                    "open the connections in more threads on more cores (`--threads`), or from a faster host",
                    "more connections are opened per second",
                ))),
                ..named(
                    cause,
                    format!(
                        "{} limits connections at {rate}: {reason}.",
                        words::capital(cause.subject)
                    ),
                    figures,
                )
            }
        }
        None => at_once(trial, outcomes, figures, has_time(&ends)),
    }
}

fn named(cause: &Cause, claim: String, evidence: Vec<String>) -> Verdict {
    Verdict {
        limit: cause.limit(),
        ..undecided(claim, evidence)
    }
}

fn rate_words(trial: &Trial) -> String {
    let rate = trial.received_packet_rate().map_or(0.0, PacketRate::pps);
    format!("{rate:.0} per second")
}

fn without_ports(trial: &Trial, outcomes: &ConnectionOutcomes, share: f64) -> Verdict {
    let cause = &ephemeral_ports::CAUSE;
    let made = match outcomes.asked.close {
        ConnectionClose::Hold => format!(
            "{} connections were open at once",
            words::count(outcomes.client.most_open.get())
        ),
        _ => rate_words(trial),
    };
    let claim = format!(
        "The client's ephemeral ports limit, at {made}: {} of the time its connections found no free port.",
        words::percent(share)
    );
    Verdict {
        side: cause.side,
        share_ratio: Some(Ratio::clamped(share)),
        confidence: Confidence::Supported,
        experiment: Some(Box::new(ephemeral_ports::remedy(outcomes.asked.close))),
        ..named(cause, claim, ephemeral_ports::figures(outcomes))
    }
}

fn failing(outcomes: &ConnectionOutcomes) -> Verdict {
    let client = &outcomes.client;
    let kinds = client.failures().into_iter();
    let kinds = kinds.filter(|(count, _)| count.get() > 0);
    let kinds: Vec<String> = kinds
        .map(|(count, what)| format!("{} {what}", words::count(count.get())))
        .collect();
    let claim = format!(
        "Bottleneck not identified: {} of {} connections failed ({}).",
        words::count(client.failed_in_all().get()),
        words::count(client.attempted.get()),
        kinds.join(", ")
    );
    undecided(claim, Vec::new())
}

/// Nothing limits flows that begin at their times and all finish, about as fast as they come; how much slower they were is
/// the result.
fn finished(trial: &Trial, flows: &FlowsResult) -> Verdict {
    let sum = |part: fn(&FlowClassResult) -> PacketCount| {
        let parts = flows.classes.iter().map(|class| part(class).get());
        parts.fold(0, u64::saturating_add)
    };
    let (scheduled, finished) = (sum(|class| class.scheduled), sum(|class| class.finished));
    let (of, done) = (words::count(scheduled), words::count(finished));
    if finished < scheduled {
        let claim = format!("Bottleneck not identified: {done} of {of} flows finished in time.");
        return undecided(claim, Vec::new());
    }
    let rates = trial.offered_load.zip(trial.received_rate);
    let behind = rates.filter(|(offered, received)| {
        received.as_f64() < offered.as_f64() * (1.0 - outcome::MISSING)
    });
    if let Some((offered, received)) = behind {
        let claim = format!(
            "Bottleneck not identified: flows came at {offered} and finished at {received}: all {of} finished, but not in the time of the test."
        );
        return undecided(claim, Vec::new());
    }
    Verdict {
        limit: Limit::none(),
        confidence: Confidence::Supported,
        ..undecided(format!("All {of} flows finished."), Vec::new())
    }
}

fn held(outcomes: &ConnectionOutcomes) -> Verdict {
    let (asked, most) = (
        u64::from(outcomes.asked.concurrent),
        outcomes.client.most_open.get(),
    );
    let (asked_words, most_words) = (words::count(asked), words::count(most));
    if most < asked {
        let claim = format!(
            "Bottleneck not identified: {most_words} of {asked_words} connections were open at once when the time was over."
        );
        return undecided(claim, Vec::new());
    }
    Verdict {
        limit: Limit::none(),
        confidence: Confidence::Supported,
        ..undecided(
            format!("All {asked_words} connections were open at once."),
            Vec::new(),
        )
    }
}

/// Whether both ends are known to have had CPU time to spare.
fn has_time(ends: &[Cpu]) -> bool {
    ends.len() == 2
        && ends
            .iter()
            .all(|cpu| cpu.is_idle() && cpu.pressure() < SPARE)
}

/// Share of the time that a thread may run, or wait for a core, without being what its connections wait for.
const SPARE: f64 = 0.5;

/// A closed loop: what is open at once, over how long each takes, is the rate.
fn at_once(
    trial: &Trial,
    outcomes: &ConnectionOutcomes,
    mut figures: Vec<String>,
    is_idle: bool,
) -> Verdict {
    let mean = trial.transaction().and_then(|delay| delay.mean_ns);
    let each = mean.map_or_else(String::new, |mean| {
        format!(", each of which takes {} in the mean", words::time(mean))
    });
    let claim = format!(
        "The number of connections at once limits, at {}: {}{each}.",
        rate_words(trial),
        words::count(outcomes.asked.concurrent.into())
    );
    figures.insert(
        0,
        "Each connection begins when the one before it in its stream has ended.".to_owned(),
    );
    Verdict {
        confidence: supported_if(is_idle),
        experiment: Some(Box::new(Experiment::in_words(
            "double the streams",
            "nearly twice as many connections are opened per second",
        ))),
        ..named(&CAUSE, claim, figures)
    }
}

/// Handshakes that the server's system dropped.
fn queue_figures(trial: &Trial) -> Option<String> {
    let counters = &trial.measured()?.counters;
    let server = counters.get(&Side::Receiver)?;
    let overflows = *server.get(signals::TCP_LISTEN_OVERFLOWS)?;
    (overflows > 0).then(|| {
        format!(
            "{} handshakes met a full queue of connections to be accepted at the server (ListenOverflows): they were delayed by a retransmission.",
            words::count(overflows)
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::judge::diagnose;
    use linerate_model::run::{Run, Verdict};
    use serde_json::{Value, json};

    fn judged(asked: &Value, client: &Value, cpu: &Value) -> Verdict {
        let run: Run = serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {},
            "trials": [{
                "index": 0, "transport": "tcp", "direction": "forward", "valid": true,
                "work": "connections", "origin": "measured", "duration_s": 10.0, "received_pps": 2000.0,
                "connections": {"asked": asked, "client": client},
                "cpu": cpu
            }]
        }))
        .unwrap();
        diagnose(&run).0
    }

    fn idle() -> Value {
        let end = json!({"thread_ratio": 0.2, "host_ratio": 0.2, "busiest_core_ratio": 0.2});
        json!({"sender": end, "receiver": end})
    }

    #[test]
    fn all_that_were_to_be_held_open_are_no_limit() {
        let asked = json!({"concurrent": 500, "close": "hold"});
        let all = json!({"attempted": 500, "answered": 500, "most_open": 500});
        let verdict = judged(&asked, &all, &idle());
        assert!(verdict.limit.is_none(), "{verdict:?}");
        let fewer = json!({"attempted": 400, "answered": 400, "most_open": 400});
        let verdict = judged(&asked, &fewer, &idle());
        assert!(
            verdict.limit.is_unknown() && verdict.claim.contains("400 of 500"),
            "{verdict:?}"
        );
    }

    #[test]
    fn a_thread_that_others_kept_from_its_core_is_theirs() {
        let end = |ran: f64, waited: f64| {
            json!({
                "thread_ratio": ran, "run_delay_ratio": waited, "paused_ratio": 0.0, "host_ratio": 1.0,
                "softirq_ratio": 0.1, "busiest_core_ratio": 1.0, "thread_cores": ran, "cores": [1.0, 1.0]
            })
        };
        let limit = |ran, waited| {
            let cpu = json!({"sender": end(ran, waited), "receiver": end(0.1, 0.1)});
            let client = json!({"attempted": 20_000, "answered": 20_000});
            judged(&json!({"concurrent": 4}), &client, &cpu).limit
        };
        assert_eq!(limit(0.4, 0.55).id(), "other-programs");
        assert_eq!(limit(0.95, 0.02).id(), "sender-cpu");
    }

    #[test]
    fn failures_come_before_what_limits_the_rest() {
        let client = json!({"attempted": 100, "answered": 90, "timed_out": 7, "refused": 3});
        let verdict = judged(&json!({"concurrent": 5}), &client, &idle());
        assert!(verdict.limit.is_unknown(), "{verdict:?}");
        assert!(
            verdict
                .claim
                .contains("10 of 100 connections failed (3 refused, 7 timed out"),
            "{verdict:?}"
        );
    }

    #[test]
    fn flows_that_finish_late_were_not_carried_in_their_time() {
        let classes =
            json!([{"class": "small", "scheduled": 900, "finished": 900, "bytes": 90_000_000}]);
        let of = |received: u64| {
            let run: Run = serde_json::from_value(json!({
                "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
                "tool": {"name": "linerate"}, "config": {},
                "trials": [{
                    "index": 0, "transport": "tcp", "direction": "forward", "valid": true,
                    "work": "connections", "origin": "measured", "duration_s": 5.0,
                    "offered_bps": 144_000_000, "received_bps": received,
                    "connections": {"asked": {"concurrent": 1024}, "client": {"attempted": 900, "answered": 900}},
                    "flows": {"classes": classes, "miscounted": 0}
                }]
            }))
            .unwrap();
            diagnose(&run).0
        };
        assert!(of(143_000_000).limit.is_none());
        let behind = of(95_000_000);
        assert!(behind.limit.is_unknown(), "{behind:?}");
        assert!(behind.claim.contains("144 Mbit/s"), "{behind:?}");
    }

    #[test]
    fn a_stray_attempt_without_a_port_limits_nothing() {
        let client = json!({"attempted": 20_000, "answered": 20_000, "without_port": 3});
        let verdict = judged(&json!({"concurrent": 4}), &client, &idle());
        assert_eq!(verdict.limit.id(), "open-connections");
    }
}
