//! A line of figures over an interval.

use super::Rounded;

/// What one side counted over one interval, all streams together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// Line in the log, from 1.
    pub line: usize,
    /// Start in seconds.
    pub start: Rounded,
    /// End in seconds.
    pub end: Rounded,
    /// L4 payload bytes.
    pub bytes: Rounded,
    /// L4 payload bit/s.
    pub bps: Rounded,
    /// Datagrams: sent (sender), or expected (receiver).
    pub datagrams: Option<u64>,
    /// Datagrams missing (receiver).
    pub lost: Option<u64>,
    /// RFC 3550 jitter in seconds (receiver).
    pub jitter: Option<Rounded>,
    /// A counter of datagrams is negative: it went beyond its bits.
    pub is_wrapped: bool,
    /// The share of losses that is printed beside the counts is not theirs.
    pub is_misprinted: bool,
    /// Segments retransmitted (TCP sender).
    pub retransmitted: Option<u64>,
    /// Congestion window in bytes at the end (TCP sender, one stream).
    pub cwnd: Option<Rounded>,
    /// Smoothed round-trip time in seconds at the end (TCP sender, one stream).
    pub srtt: Option<Rounded>,
}

impl Row {
    /// An interval of which only what was carried is known.
    pub(super) const fn of_rate(
        line: usize,
        start: Rounded,
        end: Rounded,
        bytes: Rounded,
        bps: Rounded,
    ) -> Self {
        Self {
            line,
            start,
            end,
            bytes,
            bps,
            datagrams: None,
            lost: None,
            jitter: None,
            is_wrapped: false,
            is_misprinted: false,
            retransmitted: None,
            cwnd: None,
            srtt: None,
        }
    }

    /// Whether this is the line `other` once more.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let line = self.line;
        *self == Self { line, ..*other }
    }

    /// Which figures it has beside those that every line has.
    pub(super) const fn columns(&self) -> [bool; 4] {
        let has_counters = self.datagrams.is_some() || self.is_wrapped;
        let (has_retransmitted, has_cwnd) = (self.retransmitted.is_some(), self.cwnd.is_some());
        [
            has_counters,
            has_retransmitted,
            has_cwnd,
            self.srtt.is_some(),
        ]
    }

    /// Adds another stream's figures over the whole test, which may have lasted longer or shorter.
    pub(super) fn add_beside(&mut self, other: &Self) {
        let is_same_time = self.end.agrees(other.end);
        self.add(other);
        if other.end.value > self.end.value {
            self.end = other.end;
        }
        if !is_same_time && let Some(bps) = self.bytes.per(self.end.minus(self.start)) {
            self.bps = bps;
        }
    }

    /// Adds another stream's figures. Jitter and windows of several streams have no sum.
    pub(super) fn add(&mut self, other: &Self) {
        let both = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        self.bytes = self.bytes.plus(other.bytes);
        self.bps = self.bps.plus(other.bps);
        self.datagrams = both(self.datagrams, other.datagrams);
        self.lost = both(self.lost, other.lost);
        self.is_wrapped |= other.is_wrapped;
        self.is_misprinted |= other.is_misprinted;
        self.retransmitted = both(self.retransmitted, other.retransmitted);
        self.jitter = None;
        self.cwnd = None;
        self.srtt = None;
    }
}
