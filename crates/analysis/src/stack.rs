//! Whether a stack under test counted what linerate counted at the other end of the same traffic.

use crate::assemble::TELLS_NOTHING;
use linerate_model::BitRate;
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, Transport};
use linerate_model::stack::{StackReport, StackTraffic};

/// Each quantity that both counted and that differs, as a sentence. The trials are all that the stack took part in, each
/// from its beginning to its end and without a warm-up; what one side does not know is not compared.
pub fn differences(report: &StackReport, trials: &[Trial]) -> Vec<String> {
    let traffic = |transport: Transport| match transport {
        Transport::Tcp => report.counts.tcp.as_ref(),
        Transport::Udp => report.counts.udp.as_ref(),
    };
    let cases = [Transport::Tcp, Transport::Udp]
        .into_iter()
        .flat_map(|transport| {
            [Direction::Forward, Direction::Reverse].map(|direction| (transport, direction))
        });
    let one = |(transport, direction): (Transport, Direction)| {
        let is_its = |trial: &&Trial| trial.transport == transport && trial.direction == direction;
        let mut its = trials.iter().filter(is_its).peekable();
        its.peek()?;
        let own: u64 = its.map(own).sum::<Option<u64>>()?;
        let theirs = theirs(traffic(transport)?, transport, direction)?;
        (own != theirs).then(|| {
            let unit = match transport {
                Transport::Tcp => "B of TCP payload",
                Transport::Udp => "datagrams",
            };
            let done = match direction {
                Direction::Forward => "received",
                Direction::Duplex | Direction::Reverse => "sent",
            };
            format!(
                "the stack {} counted {theirs} {unit} that it {done}, linerate {own}: they should be equal",
                report.stack
            )
        })
    };
    cases.filter_map(one).collect()
}

/// Fills in what a protocol does not tell of a TCP stream's far end, and the stack there does: the bytes that its program
/// took or gave. The trials are all that the stack took part in, as for [`differences`].
pub fn complete(report: &StackReport, trials: &mut [Trial]) {
    let Some(told) = &report.counts.tcp else {
        return;
    };
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut its = trials
            .iter_mut()
            .filter(|trial| trial.transport == Transport::Tcp && trial.direction == direction);
        // The stack has one sum.
        let (Some(trial), None) = (its.next(), its.next()) else {
            continue;
        };
        let count = match direction {
            Direction::Forward => (&mut trial.received_bytes, told.received_bytes),
            Direction::Duplex | Direction::Reverse => (&mut trial.sent_bytes, told.sent_bytes),
        };
        let (place, bytes) = count;
        if place.is_some() {
            continue;
        }
        *place = Some(bytes);
        if direction == Direction::Forward {
            let rate = trial.duration.map(|time| BitRate::from_bytes(bytes, time));
            trial.received_rate = rate.flatten();
        }
        trial
            .reasons
            .retain(|reason| !reason.contains(TELLS_NOTHING));
    }
}

/// What linerate knows of one direction: of TCP the bytes that crossed, of UDP what the stack received or sent.
fn own(trial: &Trial) -> Option<u64> {
    match (trial.transport, trial.direction) {
        // A peer of which only acknowledgements are known received what it acknowledged.
        (Transport::Tcp, Direction::Forward) => {
            trial.sent_bytes.map(linerate_model::ByteCount::get)
        }
        (Transport::Tcp, _) => trial.received_bytes.map(linerate_model::ByteCount::get),
        (Transport::Udp, Direction::Forward) => Some(trial.packets()?.received?.get()),
        (Transport::Udp, _) => Some(trial.packets()?.sent?.get()),
    }
}

/// The stack's count of the same.
fn theirs(traffic: &StackTraffic, transport: Transport, direction: Direction) -> Option<u64> {
    match (transport, direction) {
        (Transport::Tcp, Direction::Forward) => Some(traffic.received_bytes.get()),
        (Transport::Tcp, _) => Some(traffic.sent_bytes.get()),
        (Transport::Udp, Direction::Forward) => traffic
            .received_packets
            .map(linerate_model::PacketCount::get),
        (Transport::Udp, _) => traffic.sent_packets.map(linerate_model::PacketCount::get),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::run::{ByteStreamResult, DatagramsResult, Packets, UnitCounts};
    use linerate_model::stack::StackCounts;
    use linerate_model::{ByteCount, PacketCount};
    use std::collections::BTreeMap;
    use std::time::Duration;

    fn report(tcp: StackTraffic, udp: StackTraffic) -> StackReport {
        StackReport {
            stack: "lwip".to_owned(),
            options: BTreeMap::new(),
            usual: BTreeMap::new(),
            counts: StackCounts {
                tcp: Some(tcp),
                udp: Some(udp),
                ..StackCounts::default()
            },
        }
    }

    fn tcp(direction: Direction, bytes: u64) -> Trial {
        let bytes = Some(ByteCount::new(bytes));
        Trial {
            sent_bytes: bytes,
            received_bytes: bytes,
            ..Trial::new(0, Transport::Tcp, direction, ByteStreamResult::default())
        }
    }

    fn udp(direction: Direction, sent: u64, received: u64) -> Trial {
        let packets = Packets {
            sent: Some(PacketCount::new(sent)),
            received: Some(PacketCount::new(received)),
            ..Packets::default()
        };
        let work = DatagramsResult {
            counts: UnitCounts {
                packets: Some(packets),
                ..UnitCounts::default()
            },
            ..DatagramsResult::default()
        };
        Trial::new(0, Transport::Udp, direction, work)
    }

    #[test]
    fn equal_counts_of_both_directions_are_not_mentioned() {
        let traffic = StackTraffic {
            received_bytes: ByteCount::new(300),
            sent_bytes: ByteCount::new(70),
            received_packets: Some(PacketCount::new(3)),
            sent_packets: Some(PacketCount::new(9)),
        };
        let report = report(traffic, traffic);
        let trials = [
            tcp(Direction::Forward, 100),
            tcp(Direction::Forward, 200),
            tcp(Direction::Reverse, 70),
            udp(Direction::Forward, 5, 3),
            udp(Direction::Reverse, 9, 8),
        ];
        assert!(differences(&report, &trials).is_empty());
    }

    #[test]
    fn a_difference_is_told_with_both_counts() {
        let none = StackTraffic::default();
        let one = StackTraffic {
            received_bytes: ByteCount::new(99),
            ..none
        };
        let said = differences(&report(one, none), &[tcp(Direction::Forward, 100)]);
        assert_eq!(said.len(), 1);
        assert!(
            said[0].contains("99 B") && said[0].contains("100"),
            "{said:?}"
        );
    }

    #[test]
    fn the_stack_tells_what_iperf2_does_not() {
        let traffic = StackTraffic {
            received_bytes: ByteCount::new(1000),
            sent_bytes: ByteCount::new(70),
            ..StackTraffic::default()
        };
        let silent = |direction: Direction| {
            let mut trial = tcp(direction, 1000);
            trial.duration = Some(Duration::from_secs(1));
            trial.reasons = vec![
                format!("the far{TELLS_NOTHING}: its rate"),
                "other".to_owned(),
            ];
            trial
        };
        let mut trials = [silent(Direction::Forward), silent(Direction::Reverse)];
        trials[0].received_bytes = None;
        trials[1].sent_bytes = None;
        complete(&report(traffic, traffic), &mut trials);
        assert_eq!(trials[0].received_rate, Some(BitRate::from_bps(8000)));
        assert_eq!(trials[1].sent_bytes, Some(ByteCount::new(70)));
        assert_eq!(trials[0].reasons, ["other"]);
        // Of two trials the sum says nothing.
        let mut two = [silent(Direction::Forward), silent(Direction::Forward)];
        two[0].received_bytes = None;
        complete(&report(traffic, traffic), &mut two);
        assert_eq!(two[0].received_bytes, None);
    }

    #[test]
    fn a_stack_that_tells_nothing_of_its_traffic_is_not_compared() {
        let none = StackTraffic::default();
        let mut silent = report(none, none);
        (silent.counts.tcp, silent.counts.udp) = (None, None);
        let mut trials = [tcp(Direction::Forward, 5), udp(Direction::Forward, 5, 3)];
        trials[0].received_bytes = None;
        assert!(differences(&silent, &trials).is_empty());
        complete(&silent, &mut trials);
        assert_eq!(trials[0].received_bytes, None);
    }

    #[test]
    fn what_one_side_does_not_know_is_not_compared() {
        let none = StackTraffic::default();
        let mut unknown = tcp(Direction::Reverse, 5);
        unknown.received_bytes = None;
        let trials = [unknown, udp(Direction::Forward, 5, 3)];
        assert!(differences(&report(none, none), &trials).is_empty());
    }
}
