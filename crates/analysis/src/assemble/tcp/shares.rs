//! Where a TCP sender's time went: the chronographs, and the cause of what they leave to the congestion window.
//!
//! Each pair of neighbouring readings is one slice of one stream. The chronographs split it into
//! idle, receiver-window, send-buffer and other busy time; the other busy time gets one cause from
//! what the slice's readings say. Slices weigh as long as they are, so streams are not averaged.

use linerate_model::Ratio;
use linerate_model::sample::{CongestionState, TcpSample};
use linerate_model::tcp::{TcpShares, TcpStretch, TcpWait, models_the_path};
use std::collections::BTreeMap;
use std::time::Duration;

/// Most stretches of a trial: more cannot be seen in a chart.
const MAX_STRETCHES: u64 = 600;

/// A congestion window that is less than half in flight is not what limits: below that Linux
/// does not let it grow even in slow start (`tcp_is_cwnd_limited`).
const IN_FLIGHT: u64 = 2;

/// A rate this close to the pacing rate is made by it. Linux paces loss-based congestion control at
/// 1.2 × window / RTT, so that it cannot come this close.
const PACED: f64 = 0.9;

/// Time by what it was waited for, in nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
struct Times([u64; TcpWait::ALL.len()]);

impl Times {
    fn add(&mut self, wait: TcpWait, nanos: u64) {
        let place = TcpWait::ALL.iter().position(|known| *known == wait);
        if let Some(time) = place.and_then(|place| self.0.get_mut(place)) {
            *time = time.saturating_add(nanos);
        }
    }

    fn merge(&mut self, other: Self) {
        for (sum, part) in self.0.iter_mut().zip(other.0) {
            *sum = sum.saturating_add(part);
        }
    }

    /// `None` of no time at all.
    fn shares(self) -> Option<TcpShares> {
        let whole = self.0.iter().copied().fold(0, u64::saturating_add);
        if whole == 0 {
            return None;
        }
        let mut shares = TcpShares::default();
        for (wait, time) in TcpWait::ALL.into_iter().zip(self.0) {
            shares.set(wait, Ratio::from_parts(time, whole));
        }
        Some(shares)
    }
}

/// Two neighbouring readings of one stream, and what they say.
struct Slice<'a> {
    from: &'a TcpSample,
    to: &'a TcpSample,
    /// `SO_SNDBUF` of the stream.
    send_buffer: Option<u64>,
}

/// One stream: its readings, and its send buffer (`SO_SNDBUF`) in bytes.
pub(super) type Readings<'a> = (&'a [TcpSample], Option<u64>);

impl Slice<'_> {
    fn gained(&self, part: impl Fn(&TcpSample) -> Option<u64>) -> Option<u64> {
        part(self.to)?.checked_sub(part(self.from)?)
    }

    fn wall(&self) -> Option<u64> {
        self.gained(|s| Some(s.at_ns))
    }

    fn happened(&self, part: impl Fn(&TcpSample) -> Option<u64>) -> bool {
        self.gained(part).is_some_and(|n| n > 0)
    }

    /// The number of the stretch of `length` nanoseconds that it belongs to; a stub at the end, of
    /// the last reading, belongs to the one before it.
    fn place(&self, length: u64) -> u64 {
        let (from, to) = (self.from.at_ns, self.to.at_ns);
        let stub = to.saturating_sub(from) < length / 10;
        let at = if stub {
            from.saturating_sub(length / 2)
        } else {
            from / 2 + to / 2
        };
        at.checked_div(length).unwrap_or(0)
    }

    fn lost(&self) -> bool {
        let repairs = matches!(
            self.to.congestion_state,
            Some(CongestionState::Recovery | CongestionState::Loss)
        );
        repairs || self.happened(|s| s.retrans_segments)
    }

    /// Whether less than half of the congestion window is in flight; `None` if that is not known.
    fn has_room(&self) -> Option<bool> {
        let flight = self.to.unacked_segments?.checked_mul(self.to.smss_bytes?)?;
        Some(flight.saturating_mul(IN_FLIGHT) < self.to.cwnd_bytes?)
    }

    /// Whether the rate of the slice is the pacing rate, with room in the window.
    fn is_paced(&self) -> Option<bool> {
        let nanos = Duration::from_nanos(self.wall()?).as_secs_f64();
        let bytes = linerate_model::ByteCount::new(self.gained(|s| s.bytes_sent)?);
        let pace = linerate_model::BitRate::from_bps(self.to.pacing_rate_bps?).as_f64();
        let rate =
            linerate_model::BitRate::from_bytes(bytes, Duration::from_secs_f64(nanos))?.as_f64();
        let flight = self.to.unacked_segments?.checked_mul(self.to.smss_bytes?)?;
        let full = flight >= self.to.cwnd_bytes?.saturating_mul(9) / 10;
        Some(!full && pace > 0.0 && rate >= pace * PACED && rate <= pace / PACED)
    }

    /// Whether the receiver's window is the smaller one, and at least half of it is in flight. The
    /// chronograph does not run while TCP holds back a segment that a nearly closed window would cut.
    fn is_window_small(&self) -> Option<bool> {
        let flight = self.to.unacked_segments?.checked_mul(self.to.smss_bytes?)?;
        let window = self.to.snd_wnd_bytes?;
        Some(window < self.to.cwnd_bytes? && flight.saturating_mul(IN_FLIGHT) >= window)
    }

    /// Whether the send buffer is full of what is in flight: nothing is left unsent, the congestion
    /// window has room, and with its overhead of some 60 % per segment the flight fills most of
    /// `SO_SNDBUF`. The chronograph runs only while the application is blocked at that very moment.
    fn is_buffer_full(&self) -> Option<bool> {
        let flight = self.to.unacked_segments?.checked_mul(self.to.smss_bytes?)?;
        let unsent = self.to.notsent_bytes?;
        let has_room = flight < self.to.cwnd_bytes?.saturating_mul(9) / 10;
        let fills = flight.saturating_mul(3) >= self.send_buffer?;
        Some(has_room && fills && unsent <= flight / 4)
    }

    fn grows(&self) -> bool {
        self.to.cwnd_bytes > self.from.cwnd_bytes
            && self
                .to
                .ssthresh_bytes
                .is_none_or(|threshold| self.to.cwnd_bytes < Some(threshold))
    }
}

/// Whether a congestion control answers to loss and marks with its window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// It does, as RFC 5681 and RFC 9438 (CUBIC) say.
    LossBased,
    /// It paces by a model of the path (BBR), and a loss changes little.
    ModelBased,
}

impl Control {
    /// By its name in the kernel; what is not known to model the path answers to loss.
    pub(super) fn from_name(name: Option<&str>) -> Self {
        if models_the_path(name) {
            Self::ModelBased
        } else {
            Self::LossBased
        }
    }
}

/// Splits each stream's slices, and gathers them in stretches of the reporting interval; `None` if
/// no slice has all three chronographs.
pub(super) fn shares(
    streams: &[Readings<'_>],
    interval: Duration,
    control: Control,
) -> (Option<TcpShares>, Vec<TcpStretch>) {
    let mut whole = Times::default();
    let mut stretches: BTreeMap<u64, Stretch> = BTreeMap::new();
    let ends = streams.iter().filter_map(|(samples, _)| samples.last());
    let shortest = ends.map(|s| s.at_ns).max().unwrap_or(0) / MAX_STRETCHES;
    let asked = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
    let length = asked.max(shortest);
    for (samples, send_buffer) in streams {
        // What last lowered the window, in the warm-up too: it is what the window's size still comes from.
        let mut lowered = samples.first().and_then(lowered_by);
        for pair in samples.windows(2) {
            let slice = Slice {
                from: &pair[0],
                to: &pair[1],
                send_buffer: *send_buffer,
            };
            let cause = match control {
                Control::LossBased => cause(&slice, &mut lowered),
                Control::ModelBased => modelled(&slice),
            };
            if let Some(times) = split(&slice, cause) {
                whole.merge(times);
                let stretch = stretches.entry(slice.place(length)).or_default();
                stretch.add(&slice, times);
            }
        }
    }
    let over_time = stretches.values().filter_map(Stretch::finished).collect();
    (whole.shares(), over_time)
}

/// What had lowered the window by the time of the first reading.
fn lowered_by(first: &TcpSample) -> Option<TcpWait> {
    let has = |part: Option<u64>| part.is_some_and(|count| count > 0);
    if has(first.retrans_segments) {
        return Some(TcpWait::Loss);
    }
    has(first.delivered_ce).then_some(TcpWait::Ecn)
}

/// A part of the trial and what all streams did in it.
#[derive(Default)]
struct Stretch {
    bounds: Option<(u64, u64)>,
    times: Times,
}

impl Stretch {
    fn add(&mut self, slice: &Slice<'_>, times: Times) {
        let (from, to) = self.bounds.unwrap_or((u64::MAX, 0));
        self.bounds = Some((from.min(slice.from.at_ns), to.max(slice.to.at_ns)));
        self.times.merge(times);
    }

    fn finished(&self) -> Option<TcpStretch> {
        let (from, to) = self.bounds?;
        Some(TcpStretch {
            start: Duration::from_nanos(from),
            end: Duration::from_nanos(to),
            shares: self.times.shares()?,
        })
    }
}

/// The slice's time by the chronographs, what is left of its busy time under `cause`.
fn split(slice: &Slice<'_>, cause: TcpWait) -> Option<Times> {
    let wall = slice.wall()?;
    // Chronographs tick with the kernel's clock of 1 to 10 ms, so a slice may hold a little more than it lasts.
    let busy = slice.gained(|s| s.busy_ns)?.min(wall);
    let window = slice.gained(|s| s.rwnd_limited_ns)?.min(busy);
    let buffer = slice.gained(|s| s.sndbuf_limited_ns)?.min(busy - window);
    let mut times = Times::default();
    times.add(TcpWait::Application, wall - busy);
    times.add(TcpWait::ReceiverWindow, window);
    times.add(TcpWait::SendBuffer, buffer);
    times.add(cause, busy - window - buffer);
    Some(times)
}

/// Why the congestion window, or what lies below it, let no more out.
fn cause(slice: &Slice<'_>, lowered: &mut Option<TcpWait>) -> TcpWait {
    if slice.is_window_small() == Some(true) {
        return TcpWait::ReceiverWindow;
    }
    if slice.is_buffer_full() == Some(true) {
        return TcpWait::SendBuffer;
    }
    if slice.lost() {
        *lowered = Some(TcpWait::Loss);
        return TcpWait::Loss;
    }
    if slice.happened(|s| s.delivered_ce) {
        *lowered = Some(TcpWait::Ecn);
        return TcpWait::Ecn;
    }
    if slice.is_paced() == Some(true) {
        return TcpWait::Pacing;
    }
    if lowered.is_none() && slice.grows() {
        return TcpWait::SlowStart;
    }
    if slice.has_room() == Some(true) {
        return TcpWait::System;
    }
    lowered.unwrap_or(TcpWait::CongestionControl)
}

/// A congestion control that models the path paces, unless the window it sets as a cap is full.
fn modelled(slice: &Slice<'_>) -> TcpWait {
    if slice.is_window_small() == Some(true) {
        TcpWait::ReceiverWindow
    } else if slice.is_buffer_full() == Some(true) {
        TcpWait::SendBuffer
    } else if slice.has_room() == Some(false) && slice.is_paced() != Some(true) {
        TcpWait::CongestionControl
    } else {
        TcpWait::Pacing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const SECOND: Duration = Duration::from_secs(1);
    const LOSS: Control = Control::LossBased;

    /// A reading at `at` ms of a sender that was busy all the time.
    fn busy(at: u64) -> TcpSample {
        TcpSample {
            at_ns: at * MS,
            busy_ns: Some(at * MS),
            rwnd_limited_ns: Some(0),
            sndbuf_limited_ns: Some(0),
            smss_bytes: Some(1000),
            cwnd_bytes: Some(100_000),
            ssthresh_bytes: Some(50_000),
            unacked_segments: Some(100),
            retrans_segments: Some(0),
            delivered_ce: Some(0),
            ..TcpSample::default()
        }
    }

    fn shares_of(samples: &[TcpSample]) -> TcpShares {
        shares(&[(samples, None)], SECOND, LOSS).0.unwrap()
    }

    #[test]
    fn what_is_not_busy_is_the_applications() {
        let late = TcpSample {
            busy_ns: Some(25 * MS),
            rwnd_limited_ns: Some(10 * MS),
            sndbuf_limited_ns: Some(5 * MS),
            ..busy(100)
        };
        let shares = shares_of(&[busy(0), late]);
        let share = |wait| shares.of(wait);
        assert_eq!(share(TcpWait::Application), Ratio::clamped(0.75));
        assert_eq!(share(TcpWait::ReceiverWindow), Ratio::clamped(0.1));
        assert_eq!(share(TcpWait::SendBuffer), Ratio::clamped(0.05));
        assert_eq!(share(TcpWait::CongestionControl), Ratio::clamped(0.1));
    }

    #[test]
    fn a_loss_is_the_cause_until_something_else_lowers_the_window() {
        let lost = |at, segments, marks| TcpSample {
            retrans_segments: Some(segments),
            delivered_ce: Some(marks),
            ..busy(at)
        };
        let shares = shares_of(&[
            lost(0, 0, 0),
            lost(10, 0, 0),
            lost(20, 3, 0),
            lost(60, 3, 0),
            lost(70, 3, 1),
            lost(100, 3, 1),
        ]);
        assert_eq!(shares.congestion_control_ratio, Ratio::clamped(0.1));
        assert_eq!(shares.loss_ratio, Ratio::clamped(0.5));
        assert_eq!(shares.ecn_ratio, Ratio::clamped(0.4));
        assert!((shares.congestion_window() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_window_that_opens_is_slow_start_and_one_with_room_is_not_the_limit() {
        let opening = |at: u64| TcpSample {
            cwnd_bytes: Some(10_000 + at * 1000),
            ssthresh_bytes: None,
            unacked_segments: Some(40),
            ..busy(at)
        };
        assert_eq!(
            shares_of(&[opening(0), opening(50)]).slow_start_ratio,
            Ratio::clamped(1.0)
        );
        let still = |at| TcpSample {
            unacked_segments: Some(40),
            ..busy(at)
        };
        assert_eq!(
            shares_of(&[still(0), still(50)]).system_ratio,
            Ratio::clamped(1.0)
        );
    }

    #[test]
    fn a_receivers_window_that_is_smaller_and_in_flight_is_the_limit() {
        let nearly_shut = |at| TcpSample {
            snd_wnd_bytes: Some(19_000),
            unacked_segments: Some(10),
            ..busy(at)
        };
        let shares = shares_of(&[nearly_shut(0), nearly_shut(50)]);
        assert_eq!(shares.receiver_window_ratio, Ratio::clamped(1.0));
    }

    #[test]
    fn a_send_buffer_that_all_is_in_flight_of_is_the_limit() {
        let short = |at| TcpSample {
            unacked_segments: Some(48),
            notsent_bytes: Some(0),
            ..busy(at)
        };
        let samples = [short(0), short(50)];
        let of = |buffer| shares(&[(&samples, buffer)], SECOND, LOSS).0.unwrap();
        assert_eq!(of(Some(131_072)).send_buffer_ratio, Ratio::clamped(1.0));
        assert_eq!(of(Some(262_144)).send_buffer_ratio, Ratio::ZERO);
        assert_eq!(of(None).system_ratio, Ratio::clamped(1.0));
    }

    #[test]
    fn a_rate_at_the_pacing_rate_is_pacing() {
        let paced = |at: u64, flight| TcpSample {
            bytes_sent: Some(at * 1000),
            pacing_rate_bps: Some(8_100_000),
            unacked_segments: Some(flight),
            ssthresh_bytes: None,
            ..busy(at)
        };
        assert_eq!(
            shares_of(&[paced(0, 50), paced(50, 50)]).pacing_ratio,
            Ratio::clamped(1.0)
        );
        let full = shares_of(&[paced(0, 99), paced(50, 99)]);
        assert_eq!(full.pacing_ratio, Ratio::clamped(0.0));
    }

    #[test]
    fn a_model_of_the_path_takes_no_loss_for_its_limit() {
        let lossy = |at: u64, flight| TcpSample {
            retrans_segments: Some(at),
            unacked_segments: Some(flight),
            ..busy(at)
        };
        let of = |flight| {
            let samples = [lossy(0, flight), lossy(50, flight)];
            let control = Control::from_name(Some("bbr"));
            shares(&[(&samples, None)], SECOND, control).0.unwrap()
        };
        assert_eq!(of(40).pacing_ratio, Ratio::clamped(1.0));
        assert_eq!(of(99).congestion_control_ratio, Ratio::clamped(1.0));
        assert_eq!(Control::from_name(Some("cubic")), Control::LossBased);
    }

    #[test]
    fn streams_weigh_as_long_as_they_ran() {
        let idle = |at: u64| TcpSample {
            busy_ns: Some(0),
            ..busy(at)
        };
        let (one, other) = ([busy(0), busy(300)], [idle(1), idle(101)]);
        let (shares, over_time) = shares(&[(&one, None), (&other, None)], SECOND, LOSS);
        assert_eq!(shares.unwrap().application_ratio, Ratio::clamped(0.25));
        assert_eq!(over_time.len(), 1, "{over_time:?}");
        assert_eq!(over_time[0].end, Duration::from_millis(300));
    }

    #[test]
    fn a_day_of_readings_makes_few_stretches() {
        let samples: Vec<TcpSample> = (0..10_000).map(|n| busy(n * 7)).collect();
        let (_, over_time) = shares(&[(&samples, None)], Duration::from_millis(7), LOSS);
        assert!(over_time.len() <= 601, "{}", over_time.len());
        assert!(over_time.is_sorted_by_key(|stretch| stretch.start));
    }

    #[test]
    fn the_last_reading_makes_no_stretch_of_its_own() {
        let end = TcpSample {
            at_ns: 2000 * MS + 5,
            ..busy(2000)
        };
        let (_, over_time) = shares(
            &[(&[busy(0), busy(1000), busy(2000), end], None)],
            SECOND,
            LOSS,
        );
        assert_eq!(over_time.len(), 2, "{over_time:?}");
        assert_eq!(over_time[1].end, Duration::from_nanos(2000 * MS + 5));
    }

    #[test]
    fn without_chronographs_nothing_is_said() {
        let bare = |at| TcpSample {
            sndbuf_limited_ns: None,
            ..busy(at)
        };
        assert_eq!(
            shares(&[(&[bare(0), bare(10)], None)], SECOND, LOSS),
            (None, Vec::new())
        );
        assert_eq!(
            shares(&[(&[busy(0)], None)], SECOND, LOSS),
            (None, Vec::new())
        );
        assert_eq!(shares(&[], SECOND, LOSS), (None, Vec::new()));
    }
}
