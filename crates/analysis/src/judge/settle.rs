//! What a run's experiments do to what the rules found.

use crate::causes::{other_programs, receiver_cpu, sender_cpu};
use crate::experiment::{describe, figures};
use linerate_model::dut::DutRelief;
use linerate_model::run::{
    Answer, Confidence, Experiment, ExperimentRecord, Finding, Limit, RuleOutcome, Verdict,
};

/// Puts the outcome of each experiment beside the finding that it was about.
pub(super) fn apply(records: &[ExperimentRecord], findings: &mut [Finding]) {
    for record in records {
        let about = findings
            .iter_mut()
            .filter_map(|finding| match &mut finding.outcome {
                RuleOutcome::Found { verdict } => Some(verdict),
                _ => None,
            })
            .find(|verdict| is_on(record, verdict));
        if let Some(verdict) = about {
            settle(verdict, &record.experiment);
        }
    }
}

/// Puts the outcome of each experiment on `verdict` beside it.
pub(super) fn apply_to(records: &[ExperimentRecord], verdict: &mut Verdict) {
    for record in records {
        if is_on(record, verdict) {
            settle(verdict, &record.experiment);
        }
    }
}

/// Whether `record` is an experiment on `verdict`: one that blames a CPU is tried as one on other programs, where they took
/// its time.
fn is_on(record: &ExperimentRecord, verdict: &Verdict) -> bool {
    let of_cpu = [sender_cpu::CAUSE.limit(), receiver_cpu::CAUSE.limit()];
    let is_same = verdict.limit == record.limit
        || record.limit == other_programs::CAUSE.limit() && of_cpu.contains(&verdict.limit);
    is_same && verdict.side == record.side
}

fn settle(verdict: &mut Verdict, experiment: &Experiment) {
    let test = experiment.test.as_ref();
    if let Some(relief) = test.and_then(|test| test.change.relief()) {
        // It asks what would help the device, not whether it is the device.
        if let Some(outcome) = &experiment.outcome {
            let relieved = match relief {
                DutRelief::LongerQueue { bytes } => format!("With a queue of {bytes}"),
                DutRelief::OtherCore(cores) => format!("Forwarding on {cores}"),
                DutRelief::Without { work } => format!("Without {work}"),
            };
            let shown = format!("{relieved}: {}.", figures(outcome));
            verdict.evidence.insert(0, shown);
        }
        return;
    }
    verdict.experiment = Some(Box::new(experiment.clone()));
    let Some(outcome) = &experiment.outcome else {
        return;
    };
    match outcome.answer {
        Answer::Agreed => verdict.confidence = Confidence::Confirmed,
        Answer::Undecided => {}
        Answer::Disagreed => {
            verdict.confidence = Confidence::Weak;
            verdict.evidence.push(format!(
                "An experiment refutes it ({}): {}.",
                experiment.change,
                describe(outcome)
            ));
        }
    }
}

/// Whether an experiment disagreed with it.
pub(super) fn is_refuted(verdict: &Verdict) -> bool {
    let outcome = verdict.experiment.as_ref().and_then(|e| e.outcome.as_ref());
    outcome.is_some_and(|outcome| outcome.answer == Answer::Disagreed)
}

/// The verdict when experiments refuted everything that was found.
pub(super) fn nothing_left(findings: &[Finding]) -> Option<Verdict> {
    let refuted: Vec<&Verdict> = findings
        .iter()
        .filter_map(Finding::found)
        .filter(|verdict| is_refuted(verdict))
        .collect();
    let first = refuted.first()?;
    let names: Vec<&str> = refuted.iter().map(|v| v.limit.id()).collect();
    let evidence = refuted.iter().filter_map(|v| v.evidence.last().cloned());
    Some(Verdict {
        limit: Limit::unknown(),
        side: None,
        share_ratio: None,
        confidence: Confidence::Weak,
        claim: format!(
            "Bottleneck not identified: the run looked like {}, but the experiment on it disagreed.",
            names.join(" or ")
        ),
        evidence: evidence.collect(),
        experiment: first.experiment.clone(),
        weighed: None,
        directions: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::dut::{DutCores, DutTask};
    use linerate_model::run::{
        Baseline, Change, ExperimentOutcome, ExperimentTest, Observed, Prediction, Quantity, Run,
    };
    use linerate_model::spec::{Side, TestSpec};
    use linerate_model::tcp::TcpShares;
    use linerate_model::{Estimate, Interval, Ratio};
    use serde_json::json;

    /// TCP that waited for the window and, less, for its send buffer.
    fn run() -> Run {
        let shares = TcpShares {
            receiver_window_ratio: Ratio::clamped(0.6),
            send_buffer_ratio: Ratio::clamped(0.3),
            ..TcpShares::default()
        };
        serde_json::from_value(json!({
            "schema": linerate_model::run::SCHEMA, "id": "run", "kind": "tcp", "status": "complete",
            "tool": {"name": "linerate"}, "config": {},
            "trials": [{
                "index": 0, "transport": "tcp", "direction": "forward", "valid": true,
                "work": "byte-stream", "origin": "measured",
                "offered_bps": 20_000_000, "received_bps": 20_000_000, "duration_s": 2.0,
                "tcp": {"busy_ratio": 1.0, "rwnd_limited_ratio": 0.6, "sndbuf_limited_ratio": 0.3,
                        "shares": shares}
            }]
        }))
        .unwrap()
    }

    fn record(limit: &'static str, side: Side, answer: Answer) -> ExperimentRecord {
        let prediction = Prediction::at_least(Quantity::ReceivedRate, 1.3);
        let mut experiment = Experiment::from(ExperimentTest {
            change: Change::ReceiveBuffer { factor: 2.0 },
            predictions: vec![prediction],
            baseline: Baseline::default(),
        });
        experiment.outcome = Some(ExperimentOutcome {
            answer,
            pairs: 5,
            observed: vec![Observed {
                prediction,
                estimate: Estimate {
                    point: 1.01,
                    interval: Some(Interval::new(0.99, 1.03)),
                    confidence_ratio: 0.95,
                    n: 5,
                },
                came_true: None,
            }],
            notes: Vec::new(),
        });
        ExperimentRecord {
            limit: Limit::new(limit, ""),
            side: Some(side),
            started: None,
            experiment,
            trials: Vec::new(),
        }
    }

    fn verdict(records: &[(&'static str, Side, Answer)]) -> Verdict {
        let mut run = run();
        let record = |&(limit, side, answer): &_| record(limit, side, answer);
        run.experiments = records.iter().map(record).collect();
        super::super::diagnose(&run).0
    }

    const WINDOW: (&str, Side) = ("receiver-window", Side::Receiver);
    const BUFFER: (&str, Side) = ("sender-buffer", Side::Sender);

    #[test]
    fn without_experiments_nothing_is_confirmed() {
        let verdict = verdict(&[]);
        assert_eq!(
            (verdict.limit.id(), verdict.confidence),
            ("receiver-window", Confidence::Supported)
        );
    }

    #[test]
    fn what_agreed_is_confirmed() {
        let verdict = verdict(&[(WINDOW.0, WINDOW.1, Answer::Agreed)]);
        assert_eq!(
            (verdict.limit.id(), verdict.confidence),
            ("receiver-window", Confidence::Confirmed)
        );
    }

    #[test]
    fn what_is_undecided_stays_supported() {
        let verdict = verdict(&[(WINDOW.0, WINDOW.1, Answer::Undecided)]);
        assert_eq!(
            (verdict.limit.id(), verdict.confidence),
            ("receiver-window", Confidence::Supported)
        );
        assert!(verdict.experiment.unwrap().outcome.is_some());
    }

    /// Where linerate knows the test, signs and probes are weighed; an experiment speaks before them.
    #[test]
    fn an_experiment_speaks_before_what_is_weighed() {
        let weighed = |answer| {
            let mut run = run();
            let asked = json!({"asked": {"kind": "test", "test": TestSpec::tcp_bulk()}});
            run.config = serde_json::from_value(asked).unwrap();
            run.experiments = vec![record(WINDOW.0, WINDOW.1, answer)];
            super::super::diagnose(&run).0
        };
        assert_eq!(weighed(Answer::Undecided).confidence, Confidence::Weak);
        let agreed = weighed(Answer::Agreed);
        assert_eq!(agreed.limit.id(), "receiver-window");
        assert_eq!(agreed.confidence, Confidence::Confirmed);
        assert_ne!(weighed(Answer::Disagreed).limit.id(), "receiver-window");
    }

    #[test]
    fn what_was_refuted_makes_room_for_the_next() {
        let refuted = (WINDOW.0, WINDOW.1, Answer::Disagreed);
        let next = verdict(&[refuted]);
        assert_eq!(
            (next.limit.id(), next.confidence),
            ("sender-buffer", Confidence::Supported)
        );
        let none = verdict(&[refuted, (BUFFER.0, BUFFER.1, Answer::Disagreed)]);
        assert_eq!(
            (none.limit.id(), none.confidence),
            ("unknown", Confidence::Weak)
        );
        assert!(
            none.claim.contains("receiver-window or sender-buffer"),
            "{none:?}"
        );
        assert!(none.evidence[0].contains("1.01 times"), "{none:?}");
    }

    /// What a wire in its place, or the lack of a part of its work, did to frames through a device.
    fn of_device(change: Change, answer: Answer) -> ExperimentRecord {
        let mut record = record("device", Side::Sender, answer);
        record.side = None;
        let test = record.experiment.test.as_mut().unwrap();
        test.change = change;
        record
    }

    #[test]
    fn what_would_help_a_device_is_evidence_and_settles_nothing() {
        let mut verdict = crate::causes::undecided(String::new(), vec!["earlier".to_owned()]);
        verdict.limit = Limit::new("device", "");
        verdict.confidence = Confidence::Supported;
        let relief = |relief| of_device(Change::Relief { relief }, Answer::Disagreed);
        let cores = DutCores::apart(&[0, 1], [None; 2]).unwrap();
        let work = DutTask::PacketFilter;
        let records = [
            of_device(Change::Wire, Answer::Agreed),
            relief(DutRelief::OtherCore(cores)),
            relief(DutRelief::Without { work }),
        ];
        apply_to(&records, &mut verdict);
        assert_eq!(verdict.confidence, Confidence::Confirmed);
        let wire = verdict
            .experiment
            .as_ref()
            .and_then(|tried| tried.test.clone());
        assert_eq!(wire.map(|test| test.change), Some(Change::Wire));
        assert_eq!(
            verdict.evidence,
            [
                "Without the packet filter: the received rate was 1.01 times the baseline's (95 % interval 0.99 to 1.03).",
                "Forwarding on core 1, which is also the receiver's (the sender on core 0): the received rate was 1.01 times the baseline's (95 % interval 0.99 to 1.03).",
                "earlier"
            ]
        );
    }
}
