//! Datagrams of many streams that one thread carries in turns.
//!
//! The client has a connected socket for each stream, so each has addresses and ports of its own, by which routers and
//! network cards spread streams. The server has one for all of them: a call takes or sends what there is of any. Which
//! stream a datagram is of, stands in it; its address must be that stream's.

use super::{SLOT_ALIGN, Waiting, room_for};
use crate::datapaths::{Arrivals, Buffers, CALL_LIMIT, DatagramPath, PathDiagnostics, Span};
use crate::error::{EngineError, Result};
use linerate_model::spec::{Side, WaitMode};
use linerate_peers::StreamFormat;
use linerate_sys::epoll::{Interest, Readiness};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::udp::{Address, Blocking, RecvBatch, SendBatch};
use linerate_sys::{sockopt, tcp};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

/// Datagrams of one receiving call at the socket of one stream: few come of each at a time.
const MOST_OF_ONE: usize = 16;

/// Datagrams that a sender discards in one call.
const DISCARDED_AT_ONCE: usize = 64;

/// Sockets of the streams of one thread.
pub(crate) enum TurnSockets {
    /// A connected one of each.
    Own(Vec<UdpSocket>),
    /// One of all, and where each stream's client is.
    Shared(UdpSocket, Vec<SocketAddr>),
}

/// How the sockets are used.
pub(crate) struct TurnsSetup {
    pub(crate) format: Arc<dyn StreamFormat>,
    /// The first of the streams.
    pub(crate) first: u16,
    pub(crate) side: Side,
    pub(crate) payload: usize,
    /// Maximum datagrams per sending call.
    pub(crate) batch: usize,
    pub(crate) wait: WaitMode,
}

/// The sockets, with what each kind needs to receive.
enum Ends {
    Own {
        sockets: Vec<UdpSocket>,
        /// Of a receiver.
        readiness: Option<Readiness>,
        /// Sockets that were ready and have not been read.
        ready: Vec<usize>,
    },
    Shared {
        socket: UdpSocket,
        clients: Vec<Address>,
        waiting: Waiting,
    },
}

/// The path of many streams.
pub(crate) struct TurnsPath {
    ends: Ends,
    setup: TurnsSetup,
    /// Allocated with the first datagram, since most go one way.
    outgoing: Option<SendBatch>,
    incoming: Option<RecvBatch>,
    /// Addresses of the datagrams of one sending call.
    to: Vec<Address>,
    spans: Vec<Span>,
}

impl TurnsPath {
    /// Takes over the sockets, which are those of the streams from `setup.first` on.
    pub(crate) fn new(sockets: TurnSockets, setup: TurnsSetup) -> Result<Self> {
        let ends = match sockets {
            TurnSockets::Own(sockets) => own(sockets, &setup)?,
            TurnSockets::Shared(socket, clients) => {
                // Drops are optional: a system without the counter refuses the option.
                drop(sockopt::set_overflow_count(&socket));
                Ends::Shared {
                    waiting: Waiting::of(&socket, setup.wait, false)?,
                    clients: clients.into_iter().map(Address::from).collect(),
                    socket,
                }
            }
        };
        Ok(Self {
            ends,
            outgoing: None,
            incoming: None,
            to: Vec::with_capacity(setup.batch),
            spans: Vec::with_capacity(setup.batch),
            setup,
        })
    }

    fn outgoing(&mut self) -> &mut SendBatch {
        let TurnsSetup { batch, payload, .. } = self.setup;
        self.outgoing
            .get_or_insert_with(|| SendBatch::new(batch, payload, 1))
    }
}

/// A socket of each stream: sending calls wait as long as any.
fn own(sockets: Vec<UdpSocket>, setup: &TurnsSetup) -> Result<Ends> {
    let failed = |error| EngineError::io("set up", &"data sockets", error);
    let readiness = match setup.side {
        Side::Receiver => Some(Readiness::new().map_err(failed)?),
        Side::Sender => None,
    };
    for (place, socket) in sockets.iter().enumerate() {
        sockopt::set_send_timeout(socket, CALL_LIMIT).map_err(failed)?;
        if let Some(readiness) = &readiness {
            let added = readiness.add(socket, place, Interest::Read);
            added.map_err(failed)?;
        }
    }
    Ok(Ends::Own {
        sockets,
        readiness,
        ready: Vec::new(),
    })
}

/// Place of a datagram's stream among those of the thread.
fn place(setup: &TurnsSetup, datagram: &[u8]) -> Option<usize> {
    let stream = setup.format.stream_of(datagram)?;
    stream.checked_sub(setup.first).map(usize::from)
}

/// Sends the first `count` slots, each on the socket of its stream; returns how many were accepted before the first that
/// was not.
fn send_each(
    sockets: &[UdpSocket],
    setup: &TurnsSetup,
    slots: &[u8],
    count: usize,
) -> Result<usize, Failure> {
    let blocking = match setup.wait {
        WaitMode::Spin => Blocking::No,
        WaitMode::Block | WaitMode::BusyPoll => Blocking::Yes,
    };
    let payload = setup.payload;
    for (sent, slot) in slots.chunks_exact(payload).take(count).enumerate() {
        let socket = place(setup, slot).and_then(|place| sockets.get(place));
        let socket = socket.expect("invariant: the sender fills in its own streams");
        match tcp::send(socket, slot, blocking) {
            Ok(_) => {}
            Err(failure) if sent == 0 => return Err(failure),
            // The same datagram is tried again, and a lasting error shows then.
            Err(_) => return Ok(sent),
        }
    }
    Ok(count)
}

/// Takes what clients send to keep their ways open: a queue of it that fills would count as drops of this host.
fn discard(socket: &UdpSocket, batch: &mut RecvBatch) {
    while batch.receive(socket, Blocking::No) == Ok(DISCARDED_AT_ONCE) {}
}

/// Receives from the next ready socket, waiting for one at most `limit`.
fn receive_any(
    sockets: &[UdpSocket],
    readiness: &Readiness,
    ready: &mut Vec<usize>,
    limit: Duration,
    batch: &mut RecvBatch,
) -> Result<usize, Failure> {
    if ready.is_empty() {
        let waited = readiness.wait(limit, ready);
        waited.map_err(|error| Failure::from_io("epoll_wait", &error))?;
    }
    while let Some(socket) = ready.pop().and_then(|place| sockets.get(place)) {
        match batch.receive(socket, Blocking::No) {
            Err(failure) if failure.class() == FailureClass::WouldBlock => {}
            result => return result,
        }
    }
    Err(Failure::would_block("recvmmsg"))
}

impl DatagramPath for TurnsPath {
    fn batch(&self) -> usize {
        self.setup.batch
    }

    fn slots(&mut self) -> &mut [u8] {
        self.outgoing().bytes_mut()
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.outgoing();
        let (Some(batch), setup) = (&mut self.outgoing, &self.setup) else {
            unreachable!("invariant: allocated in the line above")
        };
        match &self.ends {
            Ends::Own { sockets, .. } => send_each(sockets, setup, batch.bytes_mut(), count),
            Ends::Shared {
                socket,
                clients,
                waiting,
            } => {
                let slots = batch.bytes_mut().chunks_exact(setup.payload).take(count);
                self.to.clear();
                self.to.extend(slots.map(|slot| {
                    let client = place(setup, slot).and_then(|place| clients.get(place));
                    *client.expect("invariant: the sender fills in its own streams")
                }));
                let sent = batch.send_to(socket, &self.to, waiting.blocking());
                if setup.side == Side::Sender {
                    let fresh = || RecvBatch::new(DISCARDED_AT_ONCE, SLOT_ALIGN);
                    discard(socket, self.incoming.get_or_insert_with(fresh));
                }
                sent
            }
        }
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        let Ends::Own { sockets, .. } = &self.ends else {
            return Ok(());
        };
        let mut all = Ok(());
        for socket in sockets {
            let sent = tcp::send(socket, &[], Blocking::No).map(drop);
            // One that fails keeps no other's way from being kept open.
            if all.is_ok() {
                all = sent;
            }
        }
        all
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let slot = room_for(self.setup.payload);
        let most = self.setup.batch;
        let (batch, count) = match &mut self.ends {
            Ends::Own {
                sockets,
                readiness,
                ready,
            } => {
                let readiness = readiness.as_ref();
                let readiness = readiness.expect("invariant: a sender receives nothing");
                let limit = match self.setup.wait {
                    WaitMode::Spin => Duration::ZERO,
                    WaitMode::Block | WaitMode::BusyPoll => CALL_LIMIT,
                };
                let fresh = || RecvBatch::new(MOST_OF_ONE.min(most), slot);
                let batch = self.incoming.get_or_insert_with(fresh);
                let count = receive_any(sockets, readiness, ready, limit, batch)?;
                (batch, count)
            }
            Ends::Shared {
                socket, waiting, ..
            } => {
                let fresh = || RecvBatch::new(most, slot).with_sources();
                let batch = self.incoming.get_or_insert_with(fresh);
                let count = waiting.receive(|blocking| batch.receive(&*socket, blocking))?;
                (batch, count)
            }
        };
        self.spans.clear();
        let mut overflows = None;
        for index in 0..count {
            let message = batch.message(index);
            overflows = overflows.or(message.overflow);
            let is_own = match &self.ends {
                Ends::Own { .. } => true,
                Ends::Shared { clients, .. } => {
                    let bytes = &batch.bytes()[message.offset..][..message.length];
                    let client = place(&self.setup, bytes).and_then(|place| clients.get(place));
                    client.is_some() && client == batch.source(index)
                }
            };
            let number = |of: usize| u32::try_from(of).expect("invariant: a batch is below 4 GiB");
            self.spans.push(Span {
                offset: number(message.offset),
                // One of another sender is handed on without its bytes: it counts as foreign.
                length: if is_own { number(message.length) } else { 0 },
            });
        }
        Ok(Arrivals {
            bytes: batch.bytes(),
            spans: &self.spans,
            overflows,
            runs: &[],
            came: None,
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        let drops = |socket: &UdpSocket| sockopt::socket_drops(socket).ok().map(u64::from);
        match &self.ends {
            Ends::Own { sockets, .. } => sockets.iter().map(drops).sum(),
            Ends::Shared { socket, .. } => drops(socket),
        }
    }

    fn sockets(&self) -> usize {
        match &self.ends {
            Ends::Own { sockets, .. } => sockets.len(),
            Ends::Shared { .. } => 1,
        }
    }

    /// Of all sockets together.
    fn buffers(&self) -> Buffers {
        match &self.ends {
            Ends::Own { sockets, .. } => {
                let of_one = sockets.first().map(Buffers::of_datagrams);
                let of_one = of_one.unwrap_or_default();
                let of_all = |bytes: Option<u64>| Some(bytes?.saturating_mul(sockets.len() as u64));
                Buffers {
                    send: of_all(of_one.send),
                    receive: of_all(of_one.receive),
                    ..of_one
                }
            }
            Ends::Shared { socket, .. } => Buffers::of_datagrams(socket),
        }
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        match &mut self.ends {
            Ends::Own { .. } => PathDiagnostics::default(),
            Ends::Shared {
                socket, waiting, ..
            } => waiting.diagnostics(&*socket),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::MonoInstant;
    use linerate_peers::{Batch, Part, SendTime, native};

    #[test]
    fn a_socket_that_fails_keeps_no_other_from_being_kept_open() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let [alone, connected] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        connected.connect(server.local_addr().unwrap()).unwrap();
        let setup = TurnsSetup {
            format: Arc::new(native::Streams { token: 3 }),
            first: 0,
            side: Side::Receiver,
            payload: 64,
            batch: 1,
            wait: WaitMode::Block,
        };
        let mut path = TurnsPath::new(TurnSockets::Own(vec![alone, connected]), setup).unwrap();
        assert_eq!(path.send_empty().unwrap_err().name(), "EDESTADDRREQ");
        let patience = Some(Duration::from_secs(10));
        server.set_read_timeout(patience).unwrap();
        assert_eq!(server.recv(&mut [0; 9]).unwrap(), 0);
    }

    #[test]
    fn what_keeps_the_ways_of_clients_open_fills_no_queue_of_the_sender() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let format = native::Streams { token: 3 };
        let setup = TurnsSetup {
            format: Arc::new(format),
            first: 0,
            side: Side::Sender,
            payload: 64,
            batch: 1,
            wait: WaitMode::Block,
        };
        let shared = TurnSockets::Shared(
            server.try_clone().unwrap(),
            vec![client.local_addr().unwrap()],
        );
        let mut path = TurnsPath::new(shared, setup).unwrap();
        let header = format.datagrams_in_turns(0..1).unwrap();
        // Far more than the queue holds.
        for first in 0..20 {
            for _ in 0..100 {
                client.send(&[]).unwrap();
            }
            let sent = SendTime {
                monotonic: MonoInstant::default(),
                wall_ns: 0,
            };
            let part = Part::Counted;
            header.write(path.slots(), 64, Batch { part, first, sent });
            assert_eq!(path.send(1), Ok(1));
            assert_eq!(client.recv(&mut [0; 100]).unwrap(), 64);
        }
        assert_eq!(sockopt::socket_drops(&server).unwrap(), 0);
    }
}
