//! What TCP's own figures say: where its time went, who else used the link, whether the peer reads.

use super::Evidence;
use crate::causes::words;
use crate::readings::{cross_traffic, mean, stood_still, streams, unread_shares};
use crate::thresholds::load::HOUSEKEEPING;
use crate::thresholds::reader::UNREAD;
use crate::thresholds::retransmissions::{NEEDLESS, RETREATING};
use linerate_model::run::TcpSummary;
use linerate_model::signals;
use linerate_model::spec::Side;
use linerate_model::tcp::TcpWait;

/// Share of the time spent on `wait`, over the trials that the verdict is about.
pub(in crate::causes) fn share_of(evidence: &Evidence<'_>, wait: TcpWait) -> Option<f64> {
    evidence.tcp(|tcp| Some(tcp.shares?.of(wait).get()))
}

/// Share of the time that the receiver's window held TCP back; by the chronograph alone where the
/// readings do not say more.
pub(in crate::causes) fn receiver_window_share(evidence: &Evidence<'_>) -> Option<f64> {
    share_of(evidence, TcpWait::ReceiverWindow)
        .or_else(|| evidence.tcp(|tcp| Some(tcp.rwnd_limited_ratio?.get())))
}

/// Share of the time that congestion control held TCP back: its window, or its pacing.
pub(in crate::causes) fn window_share(evidence: &Evidence<'_>) -> Option<f64> {
    evidence.tcp(|tcp| {
        if let Some(shares) = &tcp.shares {
            return Some(shares.congestion_window() + shares.pacing_ratio.get());
        }
        let other = tcp.rwnd_limited_ratio?.get() + tcp.sndbuf_limited_ratio?.get();
        Some((tcp.busy_ratio?.get() - other).max(0.0))
    })
}

/// `TCP's time: receiver's window 61 %, application 30.2 %.`; the parts above one percent.
pub(in crate::causes) fn time_told(evidence: &Evidence<'_>) -> Option<String> {
    let mut parts: Vec<(f64, &str)> = TcpWait::ALL
        .into_iter()
        .filter_map(|wait| Some((share_of(evidence, wait)?, name(wait))))
        .filter(|(share, _)| *share >= 0.01)
        .collect();
    parts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let described: Vec<String> = parts
        .iter()
        .map(|(share, name)| format!("{name} {}", words::percent(*share)))
        .collect();
    (!described.is_empty()).then(|| format!("TCP's time went to: {}.", described.join(", ")))
}

const fn name(wait: TcpWait) -> &'static str {
    match wait {
        TcpWait::Application => "the application",
        TcpWait::ReceiverWindow => "the receiver's window",
        TcpWait::SendBuffer => "the send buffer",
        TcpWait::SlowStart => "slow start",
        TcpWait::Loss => "the congestion window after loss",
        TcpWait::Ecn => "the congestion window after ECN marks",
        TcpWait::Pacing => "pacing",
        TcpWait::CongestionControl => "the congestion window",
        TcpWait::System => "the sending system",
    }
}

/// Share of the retransmissions that the receiver already had (DSACK), if most were such.
pub(in crate::causes) fn needless(evidence: &Evidence<'_>) -> Option<f64> {
    let share = |tcp: &TcpSummary| Some(tcp.retransmissions?.needless_share()?.get());
    evidence.tcp(share).filter(|share| *share >= NEEDLESS)
}

/// Whether needless retransmissions are so many that congestion control keeps backing off for them.
pub(in crate::causes) fn is_misled(evidence: &Evidence<'_>) -> bool {
    let share = |tcp: &TcpSummary| Some(tcp.retransmissions?.needless_of_sent()?.get());
    needless(evidence).is_some() && evidence.tcp(share).is_some_and(|share| share >= RETREATING)
}

/// Traffic of others through an interface of the test, in the same direction.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Others {
    /// Their share of the interface's bytes.
    pub(in crate::causes) share: f64,
    side: Side,
}

impl Others {
    /// `None` unless counters of an interface show that they matter.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let at = |side: Side| {
            let share = mean(
                evidence
                    .subject()
                    .into_iter()
                    .filter_map(|trial| Some(cross_traffic(trial, side)?.share)),
            )?;
            Some(Self { share, side })
        };
        let ends = [Side::Sender, Side::Receiver].into_iter().filter_map(at);
        ends.max_by(|a, b| a.share.total_cmp(&b.share))
            .filter(|others| others.share >= HOUSEKEEPING)
    }

    /// `other traffic was 52 % of what the receiver's interface took`.
    pub(in crate::causes) fn describe(self) -> String {
        let did = match self.side {
            Side::Sender => "the sender's interface sent",
            Side::Receiver => "the receiver's interface took",
        };
        format!(
            "other traffic was {} of what {did}",
            words::percent(self.share)
        )
    }
}

/// What the receiving end's readings say of its application.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct StreamReader {
    /// Mean share of the receiver's space that held bytes which its application had not read.
    unread: Option<f64>,
    /// Times that the window closed to nothing, over all trials; of the receiver's whole host.
    zero_windows: Option<u64>,
}

impl StreamReader {
    /// `None` if nothing is known of it.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let subject = evidence.subject();
        let unread = mean(subject.iter().flat_map(|trial| unread_shares(trial)));
        let closed = subject.iter().filter_map(|trial| {
            let counters = trial.counters(Side::Receiver)?;
            counters.get(signals::TCP_ZERO_WINDOWS).copied()
        });
        let zero_windows = closed.reduce(u64::saturating_add);
        (unread.is_some() || zero_windows.is_some()).then_some(Self {
            unread,
            zero_windows,
        })
    }

    /// Whether the window is closed because the application does not read.
    pub(in crate::causes) fn is_behind(self) -> bool {
        match self.unread {
            Some(share) => share >= UNREAD,
            None => self.zero_windows.is_some_and(|n| n > 0),
        }
    }

    /// One sentence per figure.
    pub(in crate::causes) fn figures(self) -> Vec<String> {
        let unread = self.unread.map(|share| {
            format!(
                "Bytes that its application had not read took {} of the receiver's space.",
                words::percent(share)
            )
        });
        let closed = self.zero_windows.map(|n| {
            format!(
                "The receiver's host closed a window to zero {} times.",
                words::count(n)
            )
        });
        unread.into_iter().chain(closed).collect()
    }
}

/// Stalled streams: what their segments of full length came to.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Stall {
    /// Segment size.
    pub(in crate::causes) smss: u64,
    /// Times that a segment was sent again.
    pub(in crate::causes) again: u64,
    /// Bytes that the peer acknowledged.
    pub(in crate::causes) acked: u64,
    /// Whether no stream got a single full segment acknowledged.
    pub(in crate::causes) is_complete: bool,
}

impl Stall {
    /// Why no cause but the path's MTU explains it.
    pub(in crate::causes) fn elsewhere(self) -> String {
        let smss = self.smss;
        if self.is_complete {
            format!("no segment of {smss} B got through at all: see path-mtu")
        } else {
            format!("TCP stood still from its first windows of {smss} B segments on: see path-mtu")
        }
    }

    /// When every stream of every trial stood still from its first windows on, and sent some segment again and again.
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Option<Self> {
        let mut whole: Option<Self> = None;
        for trial in evidence.subject() {
            for stream in streams(trial, Side::Sender) {
                let still = stood_still(stream)?;
                let sum = whole.get_or_insert(Self {
                    smss: still.smss,
                    again: 0,
                    acked: 0,
                    is_complete: true,
                });
                sum.again = sum.again.saturating_add(still.again);
                sum.acked = sum.acked.saturating_add(still.acked);
                sum.is_complete &= still.acked < still.smss;
            }
        }
        whole
    }
}
