//! The intervals of a test while it goes on, of what both ends tell meanwhile.
//!
//! They are for looking at: what a trial says of its intervals is made of both reports when it is over.

use linerate_client::Pulse;
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use linerate_peers::Progress;
use linerate_report::LiveInterval;
use std::time::Duration;

/// The intervals of a test under way.
pub(crate) struct Intervals {
    transport: Transport,
    length: Duration,
    ways: Vec<DirectionProgress>,
}

/// Traffic in one direction.
struct DirectionProgress {
    direction: Direction,
    is_duplex: bool,
    /// Intervals that are over.
    done: u32,
    counted: Progress,
    /// What the sender's TCP had sent again.
    retransmitted: u64,
}

impl Intervals {
    /// Of a test that has not begun; none if it does not move a stream.
    pub(crate) fn new(spec: &TestSpec) -> Self {
        let way = |direction| DirectionProgress {
            direction,
            is_duplex: spec.direction == Direction::Duplex,
            done: 0,
            counted: Progress::default(),
            retransmitted: 0,
        };
        let ways = match spec.direction {
            _ if spec.work.has_round_trips() => Vec::new(),
            Direction::Duplex => vec![way(Direction::Forward), way(Direction::Reverse)],
            one => vec![way(one)],
        };
        Self {
            transport: spec.transport(),
            length: spec.interval,
            ways,
        }
    }

    /// The intervals that have ended by now.
    pub(crate) fn ended(&mut self, pulse: &Pulse) -> Vec<LiveInterval> {
        let (transport, length) = (self.transport, self.length);
        let ways = self.ways.iter_mut();
        ways.filter_map(|way| way.ended(pulse, transport, length))
            .collect()
    }

    /// The intervals of `trial`, which is over, that neither end told in time.
    pub(crate) fn rest(&self, trial: &Trial) -> Vec<LiveInterval> {
        let Some(way) = self
            .ways
            .iter()
            .find(|way| way.direction == trial.direction)
        else {
            return Vec::new();
        };
        let missing = trial.intervals.iter().skip(way.done as usize);
        let rest = missing.filter_map(|interval| {
            let received = interval.received_rate;
            Some(LiveInterval {
                rate: received.or(interval.offered_load)?,
                is_sent: received.is_none(),
                lost: interval.lost_packets.map(|lost| {
                    let all = interval.total_packets.map_or(0, PacketCount::get);
                    (lost, Ratio::from_parts(lost.get(), all))
                }),
                retransmitted: interval.retransmitted_segments.map(PacketCount::new),
                srtt_ns: interval.srtt_ns,
                cwnd: interval.cwnd_bytes,
                ..way.blank(self.transport, interval.start, interval.end)
            })
        });
        rest.collect()
    }
}

impl DirectionProgress {
    fn ended(
        &mut self,
        pulse: &Pulse,
        transport: Transport,
        length: Duration,
    ) -> Option<LiveInterval> {
        let (own, peer) = (Some(&pulse.own), pulse.peer.as_ref());
        let (sender, receiver) = match self.direction {
            Direction::Reverse => (peer, own),
            Direction::Forward | Direction::Duplex => (own, peer),
        };
        let due = length * (self.done + 1);
        let seen = match (receiver, sender) {
            (Some(receiver), _) => receiver,
            // A receiver that tells does so within the first interval, or a little later on a busy host.
            (None, Some(sender)) if self.done == 0 && sender.elapsed < due + length / 2 => {
                return None;
            }
            (None, sender) => sender?,
        };
        // An end tells about once per interval, and may do so a little before its end.
        if seen.elapsed + length / 10 < due || seen.elapsed <= self.counted.elapsed {
            return None;
        }
        let before = std::mem::replace(&mut self.counted, seen.clone());
        self.done = intervals_in(seen.elapsed + length / 10, length).max(self.done + 1);
        let time = seen.elapsed.saturating_sub(before.elapsed);
        let bytes = seen.bytes.get().saturating_sub(before.bytes.get());
        let again = sender
            .and_then(|sender| sender.retransmitted)
            .map(PacketCount::get);
        let retransmitted = again.map(|all| {
            let before = std::mem::replace(&mut self.retransmitted, all);
            PacketCount::new(all.saturating_sub(before))
        });
        Some(LiveInterval {
            rate: BitRate::from_bytes(ByteCount::new(bytes), time).unwrap_or_default(),
            is_sent: receiver.is_none(),
            lost: receiver.and_then(|_| lost(&before, seen)),
            retransmitted,
            srtt_ns: sender.and_then(|sender| sender.srtt_ns),
            cwnd: sender.and_then(|sender| sender.cwnd),
            packets_sent: sender.and_then(|sender| packets(transport, sender)),
            packets_received: receiver.and_then(|receiver| packets(transport, receiver)),
            sender_cpu: sender.and_then(|sender| sender.busiest_core),
            receiver_cpu: receiver.and_then(|receiver| receiver.busiest_core),
            ..self.blank(transport, before.elapsed, seen.elapsed)
        })
    }

    /// An interval of which nothing is told.
    fn blank(&self, transport: Transport, start: Duration, end: Duration) -> LiveInterval {
        LiveInterval {
            transport,
            is_duplex: self.is_duplex,
            direction: self.direction,
            start,
            end,
            rate: BitRate::default(),
            is_sent: false,
            lost: None,
            retransmitted: None,
            srtt_ns: None,
            cwnd: None,
            packets_sent: None,
            packets_received: None,
            sender_cpu: None,
            receiver_cpu: None,
        }
    }
}

/// The datagrams that an end has counted; a byte stream has none.
fn packets(transport: Transport, progress: &Progress) -> Option<PacketCount> {
    (transport == Transport::Udp).then_some(progress.packets)
}

fn intervals_in(time: Duration, length: Duration) -> u32 {
    let whole = time.as_nanos().checked_div(length.as_nanos());
    u32::try_from(whole.unwrap_or(0)).unwrap_or(u32::MAX)
}

/// What was skipped in an interval, and its share of what was expected in it. What came late after all is no loss.
fn lost(before: &Progress, now: &Progress) -> Option<(PacketCount, Ratio)> {
    let missing = |progress: &Progress| progress.missing.map_or(0, PacketCount::get);
    let lost = missing(now).saturating_sub(missing(before));
    now.missing?;
    let came = now.packets.get().saturating_sub(before.packets.get());
    Some((PacketCount::new(lost), Ratio::from_parts(lost, lost + came)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::spec::Pace;

    fn progress(millis: u64, bytes: u64, packets: u64, missing: u64) -> Progress {
        Progress {
            elapsed: Duration::from_millis(millis),
            bytes: ByteCount::new(bytes),
            packets: PacketCount::new(packets),
            missing: Some(PacketCount::new(missing)),
            busiest_core: Ratio::new(0.5),
            ..Progress::default()
        }
    }

    fn pulse(own: Progress, peer: Option<Progress>) -> Pulse {
        Pulse {
            elapsed: own.elapsed,
            bytes: own.bytes.get(),
            own,
            peer,
            peer_receives: true,
        }
    }

    #[test]
    fn the_receiver_s_word_makes_an_interval_once() {
        let mut intervals = Intervals::new(&TestSpec::udp_datagrams(Pace::Unpaced));
        let own = progress(1020, 3_000_000, 3000, 0);
        assert_eq!(intervals.ended(&pulse(progress(500, 1, 1, 0), None)), []);
        let told = progress(998, 1_247_500, 900, 100);
        let [first] = intervals.ended(&pulse(own.clone(), Some(told.clone())))[..] else {
            panic!("not one interval");
        };
        assert_eq!(first.rate, BitRate::from_bps(10_000_000));
        assert_eq!(
            first.lost,
            Some((PacketCount::new(100), Ratio::clamped(0.1)))
        );
        let packets = [first.packets_sent, first.packets_received].map(Option::unwrap);
        assert_eq!(packets.map(PacketCount::get), [3000, 900]);
        assert_eq!(
            (first.sender_cpu, first.receiver_cpu),
            (Ratio::new(0.5), Ratio::new(0.5))
        );
        assert_eq!(intervals.ended(&pulse(own.clone(), Some(told.clone()))), []);
        // What was missing came after all.
        let later = progress(2003, 2_503_750, 2000, 90);
        let [second] = intervals.ended(&pulse(own, Some(later.clone())))[..] else {
            panic!("not one interval");
        };
        assert_eq!(second.lost, Some((PacketCount::new(0), Ratio::ZERO)));
        assert_eq!((second.start, second.end), (told.elapsed, later.elapsed));
    }

    #[test]
    fn a_receiver_that_tells_nothing_leaves_what_was_sent() {
        let mut intervals = Intervals::new(&TestSpec::tcp_bulk());
        let own = Progress {
            retransmitted: Some(PacketCount::new(7)),
            missing: None,
            ..progress(1600, 2_000_000, 0, 0)
        };
        // It may yet tell.
        let early = progress(1001, 1_251_250, 0, 0);
        assert_eq!(intervals.ended(&pulse(early, None)), []);
        let [first] = intervals.ended(&pulse(own, None))[..] else {
            panic!("not one interval");
        };
        assert!(first.is_sent && first.lost.is_none() && first.receiver_cpu.is_none());
        assert_eq!(first.rate, BitRate::from_bps(10_000_000));
        assert_eq!(first.retransmitted, Some(PacketCount::new(7)));
    }

    #[test]
    fn both_directions_have_their_own_intervals() {
        let mut spec = TestSpec::tcp_bulk();
        spec.direction = Direction::Duplex;
        let mut intervals = Intervals::new(&spec);
        let (own, peer) = (progress(1000, 10, 0, 0), progress(1000, 20, 0, 0));
        let ended = intervals.ended(&pulse(own, Some(peer)));
        let ways: Vec<_> = ended
            .iter()
            .map(|one| (one.direction, one.rate.bps()))
            .collect();
        assert_eq!(ways, [(Direction::Forward, 160), (Direction::Reverse, 80)]);
    }

    #[test]
    fn round_trips_have_no_intervals() {
        let mut intervals = Intervals::new(&TestSpec::ping_pong(Transport::Udp));
        assert_eq!(intervals.ended(&pulse(progress(5000, 10, 10, 0), None)), []);
    }
}
