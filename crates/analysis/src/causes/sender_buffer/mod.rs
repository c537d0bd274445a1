//! The sender's socket buffer: what was in flight filled it, so the application had to wait.

use super::evidence::{Evidence, Gap, Need, Regime, share_of, time_told};
use super::receiver_window::queue;
use super::{Case, Cause, RuleOutcome, clear, not_evaluated, not_recorded, proof, words};
use crate::readings::streams;
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::run::{Change, Confidence, Experiment, Prediction, Quantity};
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;

/// The send buffer held no more than what was in flight, or refused datagrams.
pub(crate) static CAUSE: Cause = Cause {
    id: "sender-buffer",
    name: "the sender's socket buffer",
    side: Some(Side::Sender),
    subject: "the sender's socket buffer",
    summary: "The sender's socket buffer was full: TCP had nothing unsent left in it, or datagrams were refused.",
    needs: &[Need::Chronographs, Need::Delay],
    explains_shortage: true,
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    if evidence.is_tcp() {
        tcp(evidence)
    } else {
        datagrams(evidence)
    }
}

fn tcp(evidence: &Evidence<'_>) -> RuleOutcome {
    let chronograph = || evidence.tcp(|tcp| Some(tcp.sndbuf_limited_ratio?.get()));
    let Some(share) = share_of(evidence, TcpWait::SendBuffer).or_else(chronograph) else {
        return not_recorded(&[Need::Chronographs]);
    };
    if share < LEAST_SHARE {
        return clear(format!(
            "the send buffer limited {} of the time",
            words::percent(share)
        ));
    }
    if let Some(because) = queue(evidence) {
        return clear(because);
    }
    let rate = evidence.mean_rate(|trial| trial.received_rate);
    found(
        share,
        format!(
            "The sender's socket buffer limits: {} of the time it was full of data in flight, at {} of L4 payload.",
            words::percent(share),
            words::rate(rate)
        ),
        tcp_figures(evidence, share),
    )
}

fn tcp_figures(evidence: &Evidence<'_>, share: f64) -> Vec<String> {
    let mut figures = vec![format!(
        "Send-buffer limited {} of the trial (TCP chronograph of the sending side).",
        words::percent(share)
    )];
    let allowed = evidence.tcp(|tcp| Some(tcp.windows?.send_buffer_rate?.as_f64()));
    figures.extend(allowed.map(|rate| {
        format!(
            "Send buffer / RTT = {}, an upper bound, since part of the buffer is the kernel's own.",
            words::rate(rate)
        )
    }));
    figures.extend(time_told(evidence));
    figures
}

/// Datagrams that the system refused because the buffer was full, against those intended.
fn datagrams(evidence: &Evidence<'_>) -> RuleOutcome {
    let (mut refused, mut sent) = (None, 0_u64);
    let subject = evidence.subject();
    for trial in &subject {
        for stream in streams(trial, Side::Sender) {
            if let Some(count) = stream.work.refused() {
                refused = Some(refused.unwrap_or(0_u64).saturating_add(count.get()));
            }
            sent = sent.saturating_add(stream.packets.get());
        }
    }
    let Some(refused) = refused else {
        return not_evaluated(
            "Not recorded: datagrams that the sender's system refused (trials.raw.streams.refused)",
        );
    };
    let share = linerate_model::Ratio::from_parts(refused, refused.saturating_add(sent)).get();
    if share < 0.01 {
        return clear(format!(
            "the system refused {} of {} datagrams",
            words::count(refused),
            words::count(refused.saturating_add(sent))
        ));
    }
    let short = Gap::from_trials(&subject).short_share();
    found(
        short,
        format!(
            "The sender's socket buffer limits: the system refused {} datagrams ({}) because it was full.",
            words::count(refused),
            words::percent(share)
        ),
        vec![format!(
            "{} datagrams were refused and {} sent.",
            words::count(refused),
            words::count(sent)
        )],
    )
}

/// Twice the buffer lets twice as much be in flight, and the rate follows. Behind a window, a link or
/// a busy CPU the buffer only stays full.
fn larger_buffer() -> Experiment {
    proof(
        Change::SendBuffer { factor: 2.0 },
        [Prediction::at_least(Quantity::ReceivedRate, 1.3)],
    )
}

fn found(share: f64, claim: String, evidence: Vec<String>) -> RuleOutcome {
    CAUSE.found(Case {
        share: Some(share),
        confidence: Confidence::Supported,
        claim,
        evidence,
        experiment: larger_buffer(),
    })
}
