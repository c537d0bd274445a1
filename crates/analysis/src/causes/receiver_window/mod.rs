//! The receiver's window: the sender had data and room in its congestion window, but the receiver let no more come.

use super::evidence::{
    Delays, Evidence, Need, Regime, StreamReader, receiver_window_share, time_told,
};
use super::{Case, Cause, RuleOutcome, clear, not_recorded, proof, words};
use crate::readings::{WindowRate, receive_window};
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::run::{Change, Confidence, Experiment, Prediction, Quantity};
use linerate_model::spec::Side;

/// TCP waited for the window that the receiver advertises.
pub(crate) static CAUSE: Cause = Cause {
    id: "receiver-window",
    name: "the receiver's window",
    side: Some(Side::Receiver),
    subject: "the receiver's window",
    summary: "TCP spent its time waiting for the window that the receiver advertises.",
    needs: &[Need::Chronographs, Need::Delay],
    examine: Some(examine),
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if !evidence.is_tcp() {
        return clear("UDP has no window");
    }
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let Some(share) = receiver_window_share(evidence) else {
        return not_recorded(&[Need::Chronographs]);
    };
    if share < LEAST_SHARE {
        return clear(format!(
            "the receiver's window limited {} of the time",
            words::percent(share)
        ));
    }
    if let Some(because) = queue(evidence) {
        return clear(because);
    }
    if let Some(reader) = StreamReader::from_evidence(evidence).filter(|reader| reader.is_behind())
    {
        return clear(format!(
            "the window was closed over data that had not been read, rather than small: {}",
            reader.figures().join(" ")
        ));
    }
    let rate = evidence.mean_rate(|trial| trial.received_rate);
    if let Some((bytes, allowed)) = allowed(evidence).filter(|known| known.1.is_exceeded_by(rate)) {
        return clear(format!(
            "{} was received, more than a window of {bytes:.0} B allows ({})",
            words::rate(rate),
            allowed.describe()
        ));
    }
    CAUSE.found(Case {
            share: Some(share),
            confidence: Confidence::Supported,
            claim: format!(
                "The receiver's window limits: {} of the time the sender waited for it, at {} of L4 payload.",
                words::percent(share),
                words::rate(rate)
            ),
            evidence: window_figures(evidence, share, rate),
            experiment: larger_window(),
        })
}

/// Twice the window carries more only if the window is the limit: behind a link, a reader or a busy
/// CPU the rate stays. Short of double, since a faster flow meets the next limit or a longer RTT.
fn larger_window() -> Experiment {
    proof(
        Change::ReceiveBuffer { factor: 2.0 },
        [Prediction::at_least(Quantity::ReceivedRate, 1.3)],
    )
}

/// The window of the trial that it is known of, and the rate that it allows.
fn allowed(evidence: &Evidence<'_>) -> Option<(f64, WindowRate)> {
    evidence.subject().into_iter().find_map(|trial| {
        let bytes = receive_window(trial)?;
        Some((bytes, WindowRate::by(bytes, trial)?))
    })
}

/// Why a larger window would not help: a queue already stands in the path.
pub(super) fn queue(evidence: &Evidence<'_>) -> Option<String> {
    let delays = Delays::from_evidence(evidence).filter(|delays| delays.queue_stands())?;
    Some(format!(
        "a queue stands in the path (RTT {} against {} at best), so more in flight would only lengthen it",
        words::time(delays.loaded),
        words::time(delays.base)
    ))
}

fn window_figures(evidence: &Evidence<'_>, share: f64, rate: f64) -> Vec<String> {
    let mut figures = vec![format!(
        "Receiver-window limited {} of the trial (TCP chronograph of the sending side).",
        words::percent(share)
    )];
    let window = evidence.mean(receive_window);
    if let Some((bytes, allowed)) = allowed(evidence) {
        figures.push(format!(
            "Window / RTT: {bytes:.0} B allow {}; {} was received.",
            allowed.describe(),
            words::rate(rate)
        ));
    }
    let bdp = evidence.tcp(|tcp| Some(tcp.rfc6349?.bdp_bytes?.as_f64()));
    if let (Some(bdp), Some(window)) = (bdp, window) {
        figures.push(format!(
            "The path's bandwidth-delay product is at least {bdp:.0} B, the window {window:.0} B (RFC 6349)."
        ));
    }
    let reader = StreamReader::from_evidence(evidence);
    figures.extend(reader.iter().flat_map(|reader| reader.figures()));
    figures.extend(time_told(evidence));
    figures
}
