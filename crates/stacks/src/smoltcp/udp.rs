//! UDP on smoltcp: one socket, one test per peer.

use super::Sizes;
use super::test::Test;
use ::smoltcp::iface::{SocketHandle, SocketSet};
use ::smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket, UdpMetadata};
use ::smoltcp::wire::IpEndpoint;
use linerate_model::spec::Transport;
use linerate_model::stack::StackTraffic;
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use std::collections::BTreeMap;

/// Maximum payload of a datagram in one frame, over IPv4.
const MAX_PAYLOAD: usize = 1472;

/// All tests, by peer.
#[derive(Debug)]
pub(super) struct Flows {
    handle: SocketHandle,
    all: BTreeMap<IpEndpoint, Test>,
    traffic: Counts,
}

#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    received_bytes: u64,
    received: u64,
    sent_bytes: u64,
    sent: u64,
}

impl Flows {
    pub(super) fn new(sockets: &mut SocketSet<'static>, port: u16, sizes: Sizes) -> Option<Self> {
        let buffer = || {
            let slots = vec![PacketMetadata::EMPTY; sizes.datagrams];
            PacketBuffer::new(slots, vec![0; sizes.datagrams * MAX_PAYLOAD])
        };
        let mut socket = Socket::new(buffer(), buffer());
        socket.bind(port).ok()?;
        Some(Self {
            handle: sockets.add(socket),
            all: BTreeMap::new(),
            traffic: Counts::default(),
        })
    }

    /// Processes received datagrams and sends those that are due; returns when more are due.
    pub(super) fn turn(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: MonoInstant,
    ) -> Option<MonoInstant> {
        let socket = sockets.get_mut::<Socket<'static>>(self.handle);
        while let Ok((datagram, from)) = socket.recv() {
            self.take(now, from.endpoint, datagram);
        }
        let mut next: Option<MonoInstant> = None;
        for (to, test) in &mut self.all {
            test.pass(now);
            let due = self.traffic.send(now, socket, *to, test);
            next = [next, due].into_iter().flatten().min();
        }
        self.all.retain(|_, test| !test.is_over());
        next
    }

    fn take(&mut self, now: MonoInstant, from: IpEndpoint, datagram: &[u8]) {
        // What a peer sends belongs to its test until that is closed: the report that answers this end's last datagrams
        // looks like an opening.
        if !self.all.contains_key(&from)
            && let Some(test) = Test::open(now, Transport::Udp, datagram, MAX_PAYLOAD)
        {
            self.all.insert(from, test);
        }
        let number = self
            .all
            .get_mut(&from)
            .and_then(|test| test.take(now, datagram));
        // Number 0 opens the stream.
        if number.is_some_and(|number| number > 0) {
            self.traffic.received += 1;
            self.traffic.received_bytes += datagram.len() as u64;
        }
    }

    /// Payload that crossed between stack and program.
    pub(super) const fn traffic(&self) -> StackTraffic {
        StackTraffic {
            received_bytes: ByteCount::new(self.traffic.received_bytes),
            sent_bytes: ByteCount::new(self.traffic.sent_bytes),
            received_packets: Some(PacketCount::new(self.traffic.received)),
            sent_packets: Some(PacketCount::new(self.traffic.sent)),
        }
    }
}

impl Counts {
    /// Queues the datagrams that are due; returns when more are.
    fn send(
        &mut self,
        now: MonoInstant,
        socket: &mut Socket<'static>,
        to: IpEndpoint,
        test: &mut Test,
    ) -> Option<MonoInstant> {
        while let Some(datagram) = test.unsaid(now) {
            if socket.send_slice(datagram, UdpMetadata::from(to)).is_err() {
                // There is room once the device has sent some.
                return Some(now);
            }
            test.said();
        }
        loop {
            let length = match test.due(now) {
                Ok(length) => length,
                Err(next) => return next.into_iter().chain(test.deadline()).min(),
            };
            let queued = socket.send_with(length, UdpMetadata::from(to), |slot| {
                test.write(now, slot);
                slot.len()
            });
            if queued.is_err() {
                return Some(now);
            }
            test.sent(now, length);
            self.sent += 1;
            self.sent_bytes += length as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::smoltcp::wire::IpAddress;

    /// A datagram of 128 bytes: number, time, upper half of the number, and these words.
    fn datagram(number: i64, words: &[u32]) -> Vec<u8> {
        let number = number.to_be_bytes();
        let mut bytes = [&number[4..], &[0, 0, 0, 9, 0, 0, 0, 9], &number[..4]].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes.resize(128, 0);
        bytes
    }

    #[test]
    fn a_report_of_the_peer_does_not_end_the_test_that_it_is_of() {
        let mut sockets = SocketSet::new(Vec::new());
        let sizes = Sizes {
            receive: 1,
            send: 1,
            datagrams: 4,
        };
        let mut flows = Flows::new(&mut sockets, 5001, sizes).unwrap();
        let peer = IpEndpoint::new(IpAddress::v4(10, 0, 0, 1), 40_000);
        let now = MonoInstant::from_nanos(1);
        let (opening, report) = ([0, 1, 5001, 128, 1_000_000], [0x8800_0000, 0, 384, 0, 9]);
        flows.take(now, peer, &datagram(1, &opening));
        for number in [2, 3, 4] {
            flows.take(now, peer, &datagram(number, &opening));
        }
        // The end of the stream, and at once what answers an end of this side's.
        flows.take(now, peer, &datagram(-5, &[]));
        flows.take(now, peer, &datagram(0, &report));
        let test = flows.all.get_mut(&peer).unwrap();
        assert_eq!(format!("{test:?}"), "Test(closing)");
        let answer = test.unsaid(now).expect("the end is answered");
        // The opening counts for iperf2.
        let received = u32::from_be_bytes(answer[24..28].try_into().unwrap());
        assert_eq!((received, flows.traffic.received), (512, 3), "{answer:?}");
    }
}
