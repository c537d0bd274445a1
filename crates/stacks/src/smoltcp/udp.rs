//! UDP flows of iperf2 on smoltcp: one socket, a flow for each peer.

use super::Sizes;
use ::smoltcp::iface::{SocketHandle, SocketSet};
use ::smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket, UdpMetadata};
use ::smoltcp::wire::IpEndpoint;
use linerate_model::stack::StackTraffic;
use linerate_model::{ByteCount, MonoInstant, PacketCount};
use linerate_peers::iperf2::header::{Amount, Header, Way};
use linerate_peers::iperf2::report::Report;
use linerate_peers::iperf2::{Counters, Width};
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest datagram that fits a frame, over IPv4.
const MAX_PAYLOAD: usize = 1472;

/// A test of which no length is told, as in iperf2.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// Ends of a flow that are said while nobody answers, and the gaps between them.
const ENDS: u32 = 10;
const MIN_GAP: Duration = Duration::from_millis(10);
const MAX_GAP: Duration = Duration::from_millis(250);

/// What this end sends on a flow.
#[derive(Debug, Clone, Copy)]
enum Sending {
    /// Traffic until then.
    Traffic { until: MonoInstant },
    /// Its end, which was said so often.
    End { said: u32, next: MonoInstant },
    /// Nothing any more, or nothing at all.
    Over,
}

/// The tests of one peer, one at a time.
#[derive(Debug)]
struct Flow {
    header: Header,
    payload: usize,
    opened: MonoInstant,
    /// Number that comes next, datagrams, late ones, bytes; the one that opens the flow is among them.
    next: u64,
    received: u64,
    late: u64,
    bytes: u64,
    has_ended: bool,
    sending: Sending,
    sent: u64,
}

/// Every flow.
#[derive(Debug)]
pub(super) struct Flows {
    handle: SocketHandle,
    all: BTreeMap<(::smoltcp::wire::IpAddress, u16), Flow>,
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

    /// Takes what came, and sends what is due; when more is.
    pub(super) fn turn(
        &mut self,
        sockets: &mut SocketSet<'static>,
        now: MonoInstant,
    ) -> Option<MonoInstant> {
        let socket = sockets.get_mut::<Socket<'static>>(self.handle);
        while let Ok((datagram, from)) = socket.recv() {
            let answer = take(
                &mut self.all,
                &mut self.traffic,
                datagram,
                from.endpoint,
                now,
            );
            if let Some(answer) = answer {
                // An answer that finds no room is asked for again.
                let _ = socket.send_slice(&answer, UdpMetadata::from(from.endpoint));
            }
        }
        let mut next: Option<MonoInstant> = None;
        for ((address, port), flow) in &mut self.all {
            let to = IpEndpoint::new(*address, *port);
            let due = flow.send(socket, to, &mut self.traffic, now);
            next = [next, due].into_iter().flatten().min();
        }
        next
    }

    /// What crossed the border of stack and program.
    pub(super) const fn traffic(&self) -> StackTraffic {
        StackTraffic {
            received_bytes: ByteCount::new(self.traffic.received_bytes),
            sent_bytes: ByteCount::new(self.traffic.sent_bytes),
            received_packets: Some(PacketCount::new(self.traffic.received)),
            sent_packets: Some(PacketCount::new(self.traffic.sent)),
        }
    }
}

/// Takes one datagram; what is answered to it.
fn take(
    all: &mut BTreeMap<(::smoltcp::wire::IpAddress, u16), Flow>,
    traffic: &mut Counts,
    datagram: &[u8],
    from: IpEndpoint,
    now: MonoInstant,
) -> Option<Vec<u8>> {
    let key = (from.addr, from.port);
    let number = number(datagram, Counters::Bits32)?;
    let opens = number == 1 && all.get(&key).is_none_or(Flow::is_over);
    if opens {
        let header = Header::of_udp(datagram)?;
        all.insert(key, Flow::new(header, datagram.len(), now));
    }
    let flow = all.get_mut(&key)?;
    flow.take(traffic, datagram, now)
}

/// The signed number of a datagram.
fn number(datagram: &[u8], counters: Counters) -> Option<i64> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(*datagram.get(at..)?.first_chunk()?))
    };
    let low = word(0)?;
    match counters {
        Counters::Bits32 => Some(low.cast_signed().into()),
        Counters::Bits64 => Some((u64::from(word(12)?) << 32 | u64::from(low)).cast_signed()),
    }
}

impl Flow {
    fn new(header: Header, length: usize, now: MonoInstant) -> Self {
        let sends = !matches!(header.way, Way::Forward { .. });
        let asked = header.buffer.filter(|_| header.way == Way::Reverse);
        let payload = asked.map_or(length, |bytes| bytes as usize);
        let time = match header.amount {
            Amount::Time(time) => time,
            Amount::Bytes(_) | Amount::Untold => DEFAULT_TIME,
        };
        Self {
            payload: payload.clamp(Width::Wide.bytes(), MAX_PAYLOAD),
            opened: now,
            next: 0,
            received: 0,
            late: 0,
            bytes: 0,
            has_ended: false,
            sending: if sends {
                Sending::Traffic {
                    until: now.after(time),
                }
            } else {
                Sending::Over
            },
            sent: 0,
            header,
        }
    }

    fn receives(&self) -> bool {
        self.header.way != Way::Reverse
    }

    fn is_over(&self) -> bool {
        matches!(self.sending, Sending::Over) && (self.has_ended || !self.receives())
    }

    fn take(&mut self, traffic: &mut Counts, datagram: &[u8], now: MonoInstant) -> Option<Vec<u8>> {
        let first = i64::from(self.header.first);
        let number = number(datagram, self.header.counters)?;
        if number < 0 {
            self.has_ended = true;
            let sent = number.unsigned_abs().saturating_sub(first.unsigned_abs());
            // The short form, which every client reads.
            return self
                .report(sent, now)
                .write(self.header.width, false, datagram.len());
        }
        if number < first {
            // The peer's answer to this end's last datagrams.
            if Report::read(datagram).is_some() {
                self.sending = Sending::Over;
            }
            return None;
        }
        if self.receives() {
            self.count(
                traffic,
                (number - first).unsigned_abs(),
                datagram.len() as u64,
            );
        }
        None
    }

    /// One datagram of traffic; number 0 opens the flow.
    fn count(&mut self, traffic: &mut Counts, number: u64, length: u64) {
        if number < self.next {
            self.late += 1;
        } else {
            self.next = number + 1;
        }
        self.received += 1;
        self.bytes += length;
        if number > 0 {
            traffic.received += 1;
            traffic.received_bytes += length;
        }
    }

    fn report(&self, sent: u64, now: MonoInstant) -> Report {
        Report {
            bytes: self.bytes,
            duration: now.saturating_since(self.opened),
            lost: sent.saturating_sub(self.received),
            out_of_order: self.late,
            datagrams: sent,
            jitter: Duration::ZERO,
            is_modern: false,
        }
    }

    /// Sends what is due; when more is.
    fn send(
        &mut self,
        socket: &mut Socket<'static>,
        to: IpEndpoint,
        traffic: &mut Counts,
        now: MonoInstant,
    ) -> Option<MonoInstant> {
        loop {
            match self.sending {
                Sending::Over => return None,
                Sending::Traffic { until } if now >= until => {
                    self.sending = Sending::End { said: 0, next: now };
                }
                Sending::Traffic { until } => {
                    let due = self.due();
                    if due > now {
                        return Some(due.min(until));
                    }
                    let next = i64::try_from(self.sent + 1).unwrap_or(i64::MAX);
                    if !self.datagram(socket, to, next, now) {
                        // There is room once the device has taken some.
                        return Some(now);
                    }
                    self.sent += 1;
                    traffic.sent += 1;
                    traffic.sent_bytes += self.payload as u64;
                }
                Sending::End { said, next } => {
                    if next > now {
                        return Some(next);
                    }
                    let number = i64::try_from(self.sent + 1).unwrap_or(i64::MAX);
                    self.datagram(socket, to, -number, now);
                    let gap = MIN_GAP.saturating_mul(1 << said.min(8)).min(MAX_GAP);
                    self.sending = if said + 1 == ENDS {
                        Sending::Over
                    } else {
                        Sending::End {
                            said: said + 1,
                            next: now.after(gap),
                        }
                    };
                }
            }
        }
    }

    /// When the next datagram of traffic is to go.
    fn due(&self) -> MonoInstant {
        let Some(rate) = self.header.rate else {
            return self.opened;
        };
        let bits = u128::from(self.sent) * self.payload as u128 * 8 * 1_000_000_000;
        let nanos = u64::try_from(bits / u128::from(rate.bps().max(1))).unwrap_or(u64::MAX);
        self.opened.after(Duration::from_nanos(nanos))
    }

    /// Queues a datagram with this number; whether there was room.
    fn datagram(
        &self,
        socket: &mut Socket<'static>,
        to: IpEndpoint,
        number: i64,
        now: MonoInstant,
    ) -> bool {
        // Peers look at differences of times only.
        let micros = now.as_nanos() / 1000;
        let written = socket.send_with(self.payload, UdpMetadata::from(to), |slot| {
            let number = number.to_be_bytes();
            let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
            slot[..4].copy_from_slice(&number[4..]);
            slot[4..8].copy_from_slice(&seconds.to_be_bytes()[4..]);
            slot[8..12].copy_from_slice(&micros.to_be_bytes()[4..]);
            slot[12..16].copy_from_slice(&number[..4]);
            slot.len()
        });
        written.is_ok()
    }
}
