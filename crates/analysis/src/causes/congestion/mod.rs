//! The congestion window: TCP had data, but its congestion control let no more be in flight; because
//! others use the link, because the path reorders, or by its own choice.

use super::evidence::{
    Delays, Evidence, Need, Others, Regime, Stall, WindowEffect, is_misled, needless, range,
    share_of, time_told, window_share,
};
use super::{Case, Cause, RuleOutcome, clear, not_recorded, proof, supported_if, words};
use crate::thresholds::congestion::{AMONG_OTHERS, WITH_ROOM};
use crate::thresholds::signs::USED;
use crate::thresholds::tcp::LEAST_SHARE;
use linerate_model::ByteCount;
use linerate_model::run::{Change, Confidence, Experiment, Prediction, Quantity, Trial};
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;
use std::time::Duration;

/// Throughput follows congestion window / RTT, not the link.
pub(crate) static CAUSE: Cause = Cause {
    id: "congestion",
    name: "congestion",
    side: Some(Side::Sender),
    subject: "congestion control",
    summary: "TCP's congestion window limits: throughput follows window / RTT, and not the link.",
    needs: &[
        Need::CongestionWindow,
        Need::Chronographs,
        Need::Delay,
        Need::LinkSpeed,
    ],
    examine: Some(examine),
    because: |_| "more fits through the path than its window lets be in flight",
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if !evidence.is_tcp() {
        return clear("UDP has no congestion window");
    }
    if evidence.regime() == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let windows: Vec<Window> = evidence
        .subject()
        .iter()
        .filter_map(|t| Window::from_trial(t))
        .collect();
    let Some(first) = windows.first() else {
        return not_recorded(&[Need::CongestionWindow]);
    };
    if let Some(share) = window_share(evidence) {
        return by_chronograph(evidence, first, share);
    }
    by_window(evidence, first, &windows)
}

/// What one trial had in flight, and what it carried.
struct Window {
    low: f64,
    high: f64,
    mean: f64,
    rate: f64,
    /// Mean RTT under load, s, where it was recorded.
    rtt: Option<f64>,
}

impl Window {
    fn from_trial(trial: &Trial) -> Option<Self> {
        let over_time: Vec<f64> = trial
            .intervals
            .iter()
            .filter_map(|interval| interval.cwnd_bytes)
            .map(ByteCount::as_f64)
            .collect();
        let tcp = trial.tcp();
        let mean = tcp
            .and_then(|tcp| tcp.cwnd_mean_bytes)
            .map(ByteCount::as_f64)
            .or_else(|| crate::readings::mean(over_time.iter().copied()))?;
        let (low, high) = range(over_time.into_iter()).unwrap_or((mean, mean));
        Some(Self {
            low,
            high,
            mean,
            rate: trial.received_rate.or(trial.offered_load)?.as_f64(),
            rtt: tcp
                .and_then(|tcp| tcp.srtt_mean_ns)
                .map(|nanos| Duration::from_nanos(nanos).as_secs_f64()),
        })
    }

    /// Share of the window that was in flight: rate × recorded RTT / window.
    fn use_at_recorded_rtt(&self) -> Option<f64> {
        Some(self.rate * self.rtt? / (self.mean * 8.0))
    }

    fn describe(&self) -> String {
        let kib = |bytes: f64| bytes / 1024.0;
        let window = if self.high - self.low < 1024.0 {
            format!("{:.0}", kib(self.mean))
        } else {
            format!("{:.0} to {:.0}", kib(self.low), kib(self.high))
        };
        let rate = words::rate(self.rate);
        format!("{rate} with a congestion window of {window} KiB")
    }
}

fn by_chronograph(evidence: &Evidence<'_>, first: &Window, share: f64) -> RuleOutcome {
    if share < LEAST_SHARE {
        return clear(format!(
            "the congestion window limited only {} of the time",
            words::percent(share)
        ));
    }
    if let Some(stall) = Stall::from_evidence(evidence) {
        return clear(stall.elsewhere());
    }
    if let Some(others) = Others::from_evidence(evidence) {
        return shared(evidence, others, share);
    }
    let Some(delays) = Delays::from_evidence(evidence) else {
        return not_recorded(&[Need::Delay]);
    };
    if delays.queue_stands() && !is_misled(evidence) {
        return clear(format!(
            "the window was large enough to make a queue stand (RTT {}, {} at best)",
            words::time(delays.loaded),
            words::time(delays.base)
        ));
    }
    if let Some(needless) = needless(evidence) {
        return reordered(evidence, needless, share);
    }
    // What loss took is `path-loss`'s to explain.
    let lost = share_of(evidence, TcpWait::Loss).unwrap_or(0.0);
    let share = (share - lost).max(0.0);
    if share < LEAST_SHARE {
        return clear(format!(
            "apart from loss, congestion control limited {} of the time",
            words::percent(share)
        ));
    }
    let mut figures = vec![format!(
        "Neither the receiver's window nor the send buffer held TCP back for {} of the trial (TCP chronographs).",
        words::percent(share)
    )];
    figures.extend(time_told(evidence));
    case(
        Some(share),
        WITH_ROOM,
        Confidence::Supported,
        format!(
            "The congestion window limits: {}, {} of the time, without a standing queue.",
            first.describe(),
            words::percent(share)
        ),
        figures,
    )
}

/// Other traffic through the same interface takes its part of the link.
fn shared(evidence: &Evidence<'_>, others: Others, share: f64) -> RuleOutcome {
    let rate = evidence.mean_rate(|trial| trial.received_rate);
    let mut figures = vec![format!(
        "By the interface's own counters, {}, in the same direction.",
        others.describe()
    )];
    figures.extend(Delays::from_evidence(evidence).map(|delays| {
        format!(
            "RTT {} under load, {} at best.",
            words::time(delays.loaded),
            words::time(delays.base)
        )
    }));
    figures.extend(time_told(evidence));
    let claim = format!(
        "Other traffic limits: it competes for the link, {}, and left {} of L4 payload.",
        others.describe(),
        words::rate(rate)
    );
    case(
        Some(share),
        AMONG_OTHERS,
        Confidence::Supported,
        claim,
        figures,
    )
}

/// Segments that arrive out of order look lost to the sender.
fn reordered(evidence: &Evidence<'_>, needless: f64, share: f64) -> RuleOutcome {
    let sum = |part: fn(&linerate_model::tcp::TcpRetransmissions) -> Option<u64>| {
        let subject = evidence.subject();
        let known = subject
            .iter()
            .filter_map(|trial| part(trial.tcp()?.retransmissions.as_ref()?));
        known.fold(0, u64::saturating_add)
    };
    let again = words::count(sum(|counts| counts.segments));
    let mut figures = vec![format!(
        "Acknowledgements showed reordering {} times; the receiver got {} segments twice (DSACK).",
        words::count(sum(|counts| counts.reordering_seen)),
        words::count(sum(|counts| counts.needless))
    )];
    figures.extend(time_told(evidence));
    let claim = format!(
        "Congestion control limits, misled by reordering in the path: {} of {again} retransmissions were not needed.",
        words::percent(needless)
    );
    case(
        Some(share),
        WITH_ROOM,
        Confidence::Supported,
        claim,
        figures,
    )
}

/// What speaks against the window in a log that shows only it.
fn against_window(
    evidence: &Evidence<'_>,
    of_link: Option<f64>,
    effect: Option<WindowEffect>,
    windows: &[Window],
) -> Option<String> {
    if of_link.is_some_and(|share| share > 0.9) {
        return Some("the rate is the link's".to_owned());
    }
    // The window of a sender that fills a link rises and falls with the queue before it.
    if let Some(speed) = evidence.nominal_speed() {
        return Some(format!(
            "the rate is what a link of {} carries",
            words::rate(speed)
        ));
    }
    if let Some(effect) = effect.filter(|effect| effect.is_no_limit()) {
        return Some(format!(
            "the window is not what limits: {}",
            effect.describe()
        ));
    }
    if let Some(why) = never_emptied(evidence, windows) {
        return Some(why);
    }
    let fullest = windows.iter().filter_map(Window::use_at_recorded_rtt);
    let used = fullest
        .max_by(f64::total_cmp)
        .filter(|used| *used < USED[1])?;
    Some(format!(
        "{} of the congestion window were used, at the recorded RTT",
        words::percent(used)
    ))
}

/// Says so where a test was too short to have emptied its window twice: that it was full once tells nothing.
fn never_emptied(evidence: &Evidence<'_>, windows: &[Window]) -> Option<String> {
    let time = evidence.mean(|trial| Some(trial.duration?.as_secs_f64()))?;
    let carrying = windows.iter().filter(|window| window.rate > 0.0);
    let shortest = carrying
        .map(|window| window.low * 8.0 / window.rate)
        .min_by(f64::total_cmp)?;
    (shortest > time / 2.0).then(|| {
        format!(
            "the window holds what was carried in {}, and the test took {}: it was not what limits",
            words::time(shortest * 1e9),
            words::time(time * 1e9)
        )
    })
}

/// A log that shows only the window: window / RTT is what a window-limited sender carries.
fn by_window(evidence: &Evidence<'_>, first: &Window, windows: &[Window]) -> RuleOutcome {
    let fastest = windows.iter().map(|window| window.rate).fold(0.0, f64::max);
    let of_link = evidence.link_speed().map(|speed| fastest / speed);
    let effect = WindowEffect::from_evidence(evidence);
    if let Some(why) = against_window(evidence, of_link, effect, windows) {
        return clear(why);
    }
    let growing = keeps_growing(evidence);
    let rises = rises_with_window(windows);
    // Any window over any rate is some time: only a sign tells that it is what limits.
    let follows = effect.is_some_and(WindowEffect::is_limit);
    // Of losses alone a full link has as many: they tell where the window is known to be full.
    let is_full = windows.iter().any(|w| w.use_at_recorded_rtt().is_some());
    if !(growing || rises || follows || is_full && sent_again(evidence)) {
        return not_recorded(&[Need::Delay, Need::Chronographs]);
    }
    let mut claim = format!(
        "Throughput follows the congestion window / RTT: {}",
        first.describe()
    );
    if let (Some(share), Some(speed)) = (of_link, evidence.link_speed()) {
        let link = format!(
            ", not the link ({} of {})",
            words::percent(share),
            words::rate(speed)
        );
        claim.push_str(&link);
    }
    // The claim has the first.
    let others = windows.iter().skip(1);
    let mut figures: Vec<String> = others
        .map(|window| format!("{}.", window.describe()))
        .collect();
    figures.extend(round_trip(windows));
    let missing = [
        Need::Delay,
        Need::Chronographs,
        Need::SenderCpu,
        Need::ReceiverCpu,
        Need::LinkSpeed,
    ];
    figures.extend(Need::lacking(&missing, evidence));
    if growing {
        figures.push("The window kept growing whenever nothing was retransmitted, which Linux allows only while the window is full.".to_owned());
    }
    let far_below_link = of_link.is_some_and(|share| share < 0.5);
    let confidence = supported_if(far_below_link && (growing || rises));
    case(None, WITH_ROOM, confidence, format!("{claim}."), figures)
}

/// Whether anything was sent again, which is what lowers a window (RFC 5681).
fn sent_again(evidence: &Evidence<'_>) -> bool {
    let mut subject = evidence.subject().into_iter();
    let of_trial = |trial: &Trial| {
        let whole = trial.tcp().and_then(|tcp| tcp.retransmitted_segments);
        let each = trial.intervals.iter();
        let each = each.filter_map(|interval| interval.retransmitted_segments);
        whole.into_iter().chain(each).any(|again| again > 0)
    };
    subject.any(of_trial)
}

/// What the RTT was, or must have been if the window limits.
fn round_trip(windows: &[Window]) -> Option<String> {
    let recorded = windows
        .iter()
        .filter_map(|window| Some((window.rtt?, window.use_at_recorded_rtt()?)));
    if let Some((rtt, used)) = recorded.max_by(|a, b| a.1.total_cmp(&b.1)) {
        return Some(format!(
            "{} of the congestion window were used at the recorded RTT of {}.",
            words::percent(used),
            words::time(rtt * 1e9)
        ));
    }
    let carrying = || windows.iter().filter(|window| window.rate > 0.0);
    let rtt = |bytes: f64, window: &Window| bytes * 8e9 / window.rate;
    let low = carrying().map(|w| rtt(w.low, w)).min_by(f64::total_cmp)?;
    let high = carrying().map(|w| rtt(w.high, w)).max_by(f64::total_cmp)?;
    let (low, high) = (words::time(low), words::time(high));
    let rtt = if low == high {
        low
    } else {
        format!("{low} to {high}")
    };
    Some(format!(
        "Window / rate = {rtt}: the RTT that makes the window the limit; what makes it so long is not recorded."
    ))
}

/// Whether of any two trials the one with the larger window is the faster, and windows do differ.
fn rises_with_window(windows: &[Window]) -> bool {
    let mut sorted: Vec<&Window> = windows.iter().collect();
    sorted.sort_by(|a, b| a.mean.total_cmp(&b.mean));
    let rises = sorted
        .windows(2)
        .all(|pair| pair[0].rate <= pair[1].rate * 1.01);
    let differ = matches!(sorted.as_slice(), [least, .., most] if most.mean > least.mean * 1.2);
    rises && differ
}

/// Whether the window grew during most trials although nothing was lost: Linux lets it grow only
/// while it is what limits (`tcp_is_cwnd_limited`).
fn keeps_growing(evidence: &Evidence<'_>) -> bool {
    let grew = |trial: &&Trial| {
        let readings: Vec<_> = trial
            .intervals
            .iter()
            .filter_map(|interval| Some((interval.cwnd_bytes?, interval.retransmitted_segments)))
            .collect();
        let quiet = |pair: &&[(ByteCount, Option<u64>)]| pair[1].1 == Some(0);
        let pairs: Vec<_> = readings.windows(2).filter(quiet).collect();
        let up = pairs.iter().filter(|pair| pair[1].0 > pair[0].0).count();
        let down = pairs.iter().filter(|pair| pair[1].0 < pair[0].0).count();
        // A window that is not the limit stands still; three steps up are not a start only.
        up >= 3 && down == 0
    };
    let subject = evidence.subject();
    let known = subject.iter().filter(|trial| grew(trial)).count();
    known > 0 && known * 2 > subject.len()
}

/// Four congestion windows carry more than one, of a free link as of one that others share, and all are
/// full. Streams through a link that this transfer alone fills share what one had; where the receiver's
/// window, a buffer or a CPU holds each stream back, the congestion windows are not filled (Linux lets
/// them grow to twice what is in flight, no further).
fn more_windows(least: f64) -> Experiment {
    proof(
        Change::Streams { factor: 4 },
        [
            Prediction::at_least(Quantity::ReceivedRate, least),
            Prediction::at_least(Quantity::WindowUse, 0.7).absolute(),
        ],
    )
}

fn case(
    share: Option<f64>,
    least_gain: f64,
    confidence: Confidence,
    claim: String,
    evidence: Vec<String>,
) -> RuleOutcome {
    CAUSE.found(Case {
        share,
        confidence,
        claim,
        evidence,
        experiment: more_windows(least_gain),
    })
}
