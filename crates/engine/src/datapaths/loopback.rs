//! A path through this process's memory: the engine without any network stack.
//!
//! Both ends must be in one process. They find each other by the addresses of the sockets that the handshake connected,
//! so opening, handshake and ending are those of every other datapath; only the data takes a shorter way. Calibration
//! uses it for the engine's own ceiling.

use super::{
    Arrivals, Availability, Buffers, CALL_LIMIT, DatagramPath, DatapathKind, ModeDef, ParamDef,
    PathSetup, Span, StreamPath, refuse_unknown,
};
use crate::error::{EngineError, Result};
use linerate_model::spec::{TestSpec, WaitMode};
use linerate_sys::failure::Failure;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A path through this process's memory.
pub(super) struct Loopback;

/// Buffer of one direction in bytes; about a large socket buffer.
const PIPE_BYTES: usize = 4 << 20;

impl DatapathKind for Loopback {
    fn id(&self) -> &'static str {
        "loopback"
    }

    fn summary(&self) -> &'static str {
        "Memory of this process, for both ends in one process: the engine without a network stack."
    }

    fn params(&self) -> &'static [ParamDef] {
        &[]
    }

    /// None: both ends are in one process, never on two hosts.
    fn modes(&self) -> Vec<ModeDef> {
        Vec::new()
    }

    fn availability(&self) -> Availability {
        Availability::Available
    }

    fn check(&self, spec: &TestSpec) -> Result<()> {
        refuse_unknown(self, spec)
    }

    fn datagrams(&self, socket: UdpSocket, setup: &PathSetup<'_>) -> Result<Box<dyn DatagramPath>> {
        let ends = Ends::from_local(socket.local_addr(), socket.peer_addr())?;
        Ok(Box::new(MemoryDatagrams {
            inbox: pipe(ends.incoming()),
            outbox: pipe(ends.outgoing()),
            _port: socket,
            outgoing: vec![0; setup.calls.most() * setup.payload],
            payload: setup.payload,
            batch: setup.calls.most(),
            incoming: Vec::with_capacity(setup.calls.most() * setup.payload),
            spans: Vec::with_capacity(setup.calls.most()),
            patience: patience(setup.wait),
        }))
    }

    fn stream(&self, socket: TcpStream, setup: &PathSetup<'_>) -> Result<Box<dyn StreamPath>> {
        let ends = Ends::from_local(socket.local_addr(), socket.peer_addr())?;
        let path = MemoryStream {
            inbox: pipe(ends.incoming()),
            outbox: pipe(ends.outgoing()),
            _port: socket,
            patience: patience(setup.wait),
        };
        Ok(Box::new(path))
    }
}

const fn patience(wait: WaitMode) -> Duration {
    match wait {
        WaitMode::Block | WaitMode::BusyPoll => CALL_LIMIT,
        WaitMode::Spin => Duration::ZERO,
    }
}

/// Addresses of both ends.
struct Ends {
    local: SocketAddr,
    peer: SocketAddr,
}

impl Ends {
    fn from_local(local: io::Result<SocketAddr>, peer: io::Result<SocketAddr>) -> Result<Self> {
        let named = local.and_then(|local| Ok(Self { local, peer: peer? }));
        named.map_err(|e| EngineError::io("name the ends of", &"a data socket", e))
    }

    const fn outgoing(&self) -> Direction {
        (self.local, self.peer)
    }

    const fn incoming(&self) -> Direction {
        (self.peer, self.local)
    }
}

/// Source and destination.
type Direction = (SocketAddr, SocketAddr);

/// Open directions of this process. An entry lives as long as one of its ends.
static PIPES: Mutex<BTreeMap<Direction, Weak<Pipe>>> = Mutex::new(BTreeMap::new());

/// Pipe of this direction, shared by both ends.
fn pipe(direction: Direction) -> Arc<Pipe> {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    pipes.retain(|_, pipe| pipe.strong_count() > 0);
    if let Some(open) = pipes.get(&direction).and_then(Weak::upgrade) {
        return open;
    }
    let fresh = Arc::new(Pipe::default());
    pipes.insert(direction, Arc::downgrade(&fresh));
    fresh
}

#[derive(Default)]
struct Pipe {
    state: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    bytes: VecDeque<u8>,
    lengths: VecDeque<usize>,
    closed: bool,
}

impl Pipe {
    /// Waits until `ready` holds for the queue; fails after `patience`.
    fn when(
        &self,
        operation: &'static str,
        patience: Duration,
        ready: impl Fn(&Queue) -> bool,
    ) -> Result<MutexGuard<'_, Queue>, Failure> {
        let queue = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if ready(&queue) {
            return Ok(queue);
        }
        let waited = self
            .changed
            .wait_timeout_while(queue, patience, |q| !ready(q));
        let (queue, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if ready(&queue) {
            Ok(queue)
        } else {
            Err(Failure::would_block(operation))
        }
    }

    fn close(&self) {
        let mut queue = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        queue.closed = true;
        drop(queue);
        self.changed.notify_all();
    }
}

struct MemoryDatagrams {
    inbox: Arc<Pipe>,
    outbox: Arc<Pipe>,
    /// Keeps the addresses in use.
    _port: UdpSocket,
    outgoing: Vec<u8>,
    payload: usize,
    batch: usize,
    incoming: Vec<u8>,
    spans: Vec<Span>,
    patience: Duration,
}

impl DatagramPath for MemoryDatagrams {
    fn batch(&self) -> usize {
        self.batch
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.outgoing
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        self.outgoing = vec![0; payload * self.batch];
        self.payload = payload;
        true
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        let room =
            |queue: &Queue| PIPE_BYTES.saturating_sub(queue.bytes.len() + queue.lengths.len());
        let need = self.payload + 1;
        let enough = |queue: &Queue| queue.closed || room(queue) >= need;
        let mut queue = self.outbox.when("send", self.patience, enough)?;
        if queue.closed {
            return Err(Failure::peer_gone("send"));
        }
        let taken = count.min(room(&queue) / need);
        queue.bytes.extend(&self.outgoing[..taken * self.payload]);
        queue
            .lengths
            .extend(std::iter::repeat_n(self.payload, taken));
        drop(queue);
        self.outbox.changed.notify_all();
        Ok(taken)
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        let mut queue = self.outbox.when("send", self.patience, |_| true)?;
        queue.lengths.push_back(0);
        drop(queue);
        self.outbox.changed.notify_all();
        Ok(())
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let mut queue = self
            .inbox
            .when("receive", self.patience, |queue| !queue.lengths.is_empty())?;
        self.incoming.clear();
        self.spans.clear();
        while self.spans.len() < self.batch
            && let Some(length) = queue.lengths.pop_front()
        {
            self.spans.push(Span {
                offset: u32::try_from(self.incoming.len()).expect("invariant: batches are small"),
                length: u32::try_from(length).expect("invariant: datagrams are small"),
            });
            self.incoming.extend(queue.bytes.drain(..length));
        }
        drop(queue);
        self.inbox.changed.notify_all();
        Ok(Arrivals {
            bytes: &self.incoming,
            spans: &self.spans,
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn await_arrival(&mut self, limit: Duration) {
        let ready = |queue: &Queue| !queue.lengths.is_empty();
        drop(self.inbox.when("receive", limit, ready));
    }

    fn overflows(&mut self) -> Option<u64> {
        Some(0)
    }

    fn buffers(&self) -> Buffers {
        memory_buffers()
    }
}

impl Drop for MemoryDatagrams {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

struct MemoryStream {
    inbox: Arc<Pipe>,
    outbox: Arc<Pipe>,
    /// Keeps the addresses in use.
    _port: TcpStream,
    patience: Duration,
}

impl StreamPath for MemoryStream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let enough = |queue: &Queue| queue.closed || queue.bytes.len() < PIPE_BYTES;
        let mut queue = self.outbox.when("send", self.patience, enough)?;
        if queue.closed {
            return Err(Failure::peer_gone("send"));
        }
        let taken = bytes.len().min(PIPE_BYTES - queue.bytes.len());
        queue.bytes.extend(&bytes[..taken]);
        drop(queue);
        self.outbox.changed.notify_all();
        Ok(taken)
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        let ready = |queue: &Queue| queue.closed || !queue.bytes.is_empty();
        let mut queue = self.inbox.when("recv", self.patience, ready)?;
        let taken = room.len().min(queue.bytes.len());
        for (place, byte) in room.iter_mut().zip(queue.bytes.drain(..taken)) {
            *place = byte;
        }
        drop(queue);
        self.inbox.changed.notify_all();
        Ok(taken)
    }

    fn await_arrival(&mut self, limit: Duration) {
        let ready = |queue: &Queue| queue.closed || !queue.bytes.is_empty();
        drop(self.inbox.when("recv", limit, ready));
    }

    fn limit_write(&mut self, limit: Duration) {
        self.patience = self.patience.min(limit);
    }

    fn shutdown(&mut self) -> Result<(), Failure> {
        self.outbox.close();
        Ok(())
    }

    fn connection(&self) -> Option<&TcpStream> {
        None
    }

    fn buffers(&self) -> Buffers {
        memory_buffers()
    }
}

impl Drop for MemoryStream {
    fn drop(&mut self) {
        self.inbox.close();
        self.outbox.close();
    }
}

fn memory_buffers() -> Buffers {
    let room = u64::try_from(PIPE_BYTES).ok();
    Buffers {
        path_mtu: None,
        send: room,
        receive: room,
    }
}
