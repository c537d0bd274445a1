//! The datapaths this build knows, in the order help and reports list them.

mod af_xdp;
mod io_uring;
mod loopback;
mod sockets;

use crate::error::EngineError;
use linerate_model::sample::{PathReport, TcpSample, XdpReport};
use linerate_model::spec::{TestSpec, WaitMode};
use linerate_model::{ByteCount, MonoInstant};
use linerate_peers::Datagrams;
pub use linerate_peers::Span;
use linerate_sys::failure::Failure;
use linerate_sys::timestamps::Wall;
use linerate_sys::{sockopt, tcp_info};
use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Every datapath. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn DatapathKind] = &[
    &sockets::Sockets,
    &io_uring::IoUring,
    &af_xdp::AfXdp,
    &loopback::Loopback,
];

/// The datapath with this id.
pub fn find(id: &str) -> Result<&'static dyn DatapathKind, EngineError> {
    let known = ALL.iter().copied().find(|kind| kind.id() == id);
    known.ok_or_else(|| {
        let ids: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
        EngineError::plan("datapath", &id, format!("known are {}", ids.join(", ")))
    })
}

/// Whether this host can run a datapath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It cannot.
    Missing {
        /// Why not.
        why: String,
        /// What would change that.
        remedy: String,
    },
}

/// A parameter that a datapath understands, for help and the reference table.
#[derive(Debug, Clone, Copy)]
pub struct ParamDef {
    /// Its key.
    pub name: &'static str,
    /// What it takes: `true|false`.
    pub values: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// A way to wait on a datapath that latency is measured with, by the name that `--wait` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeDef {
    /// Its name, unique over all datapaths: `spin`.
    pub name: &'static str,
    /// How traffic threads wait.
    pub wait: WaitMode,
    /// The datapath's parameters that are not its defaults.
    pub params: &'static [(&'static str, &'static str)],
    /// One sentence for help.
    pub summary: &'static str,
}

/// One way to move bytes between this process and the network.
pub trait DatapathKind: Sync {
    /// The name in plans, on the command line, in the store and in reports.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// The parameters it understands.
    fn params(&self) -> &'static [ParamDef];
    /// The ways to wait on it: spinning, unless it knows others.
    fn modes(&self) -> Vec<ModeDef> {
        vec![ModeDef {
            name: self.id(),
            wait: WaitMode::Spin,
            params: &[],
            summary: self.summary(),
        }]
    }
    /// Whether this host can run it; if not, why, and what would change that.
    fn availability(&self) -> Availability;
    /// Whether it carries traffic between two addresses of one host. Conformance tests of one that does not need two
    /// hosts, and privileges.
    fn runs_on_loopback(&self) -> bool {
        true
    }
    /// Whether its messages pass the kernel's stack; if not, its counters of sockets tell nothing of them.
    fn passes_kernel_stack(&self) -> bool {
        true
    }
    /// Whether each message passes one call of a socket, where the kernel stamps it.
    fn has_socket_calls(&self) -> bool {
        false
    }
    /// Refuses parameters or a test that it cannot carry, before anything is opened.
    fn check(&self, spec: &TestSpec) -> Result<(), EngineError>;
    /// Takes over a connected UDP socket.
    fn datagrams(
        &self,
        socket: UdpSocket,
        setup: &PathSetup<'_>,
    ) -> Result<Box<dyn DatagramPath>, EngineError>;
    /// Takes over a connected TCP socket.
    fn stream(
        &self,
        socket: TcpStream,
        setup: &PathSetup<'_>,
    ) -> Result<Box<dyn StreamPath>, EngineError>;
}

/// How many datagrams one call should move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Up to this many.
    Batch(usize),
    /// One, as fast as can be; the path need not say what was dropped before each.
    Single,
}

impl Calls {
    /// Most datagrams of one call.
    pub const fn most(self) -> usize {
        match self {
            Self::Batch(most) => most,
            Self::Single => 1,
        }
    }
}

/// Whether TCP holds a small write back while an earlier one is unacknowledged (RFC 896).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nagle {
    /// Every write goes at once (`TCP_NODELAY`).
    Off,
    /// As the system does unless asked otherwise.
    #[default]
    On,
}

/// What a datapath needs to know to open one end of one stream.
#[derive(Debug, Clone, Copy)]
pub struct PathSetup<'a> {
    /// Payload bytes of each datagram.
    pub payload: usize,
    /// How many datagrams one call should move.
    pub calls: Calls,
    /// How calls wait.
    pub wait: WaitMode,
    /// Whether a stream holds small writes back.
    pub nagle: Nagle,
    /// Whether a receive buffer was asked for: then its window is what is measured, and no reader
    /// may wait for it to fill.
    pub own_receive_buffer: bool,
    /// Whether the kernel is to say when each message passed; only of single calls of `sockets`.
    pub stamps: bool,
    /// The datapath's own parameters.
    pub params: &'a BTreeMap<String, String>,
}

/// Sizes that the system really gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffers {
    /// Send buffer.
    pub send: Option<u64>,
    /// Receive buffer.
    pub receive: Option<u64>,
}

impl Buffers {
    /// Those of a socket.
    pub(crate) fn of<S: AsFd>(socket: S) -> Self {
        let size = |bytes: io::Result<usize>| bytes.ok().and_then(|n| u64::try_from(n).ok());
        Self {
            send: size(sockopt::send_buffer(&socket)),
            receive: size(sockopt::receive_buffer(&socket)),
        }
    }
}

impl From<Buffers> for PathReport {
    fn from(buffers: Buffers) -> Self {
        Self {
            send_buffer_bytes: buffers.send.map(ByteCount::new),
            receive_buffer_bytes: buffers.receive.map(ByteCount::new),
            ..Self::default()
        }
    }
}

/// What a path used and found out beside the traffic, for the report of its stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathDiagnostics {
    /// CPU time of kernel threads that worked for this path alone, since traffic began; `None` without
    /// such a thread, or where the kernel does not tell (then a note says so).
    pub helper_cpu: Option<Duration>,
    /// What was asked of the system and not given, and what that means.
    pub notes: Vec<String>,
}

/// A batch of received datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Arrivals<'a> {
    /// Memory that all of them lie in.
    pub bytes: &'a [u8],
    /// Where each lies, in order of arrival.
    pub spans: &'a [Span],
    /// Datagrams dropped at this end before the first of these was queued; `None` if the system
    /// does not say, or none was.
    pub overflows: Option<u32>,
    /// Where the system joins datagrams, in what runs they came; empty where each came by itself.
    pub runs: &'a [Run],
    /// When they came, where they were taken from the system before they were asked for here.
    pub came: Option<MonoInstant>,
}

/// Datagrams that the system handed over as one (`UDP_GRO`), and drops as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// How many they are.
    pub datagrams: usize,
    /// Runs dropped at this end before this one was queued, modulo 2^32.
    pub dropped_before: u32,
}

impl<'a> Arrivals<'a> {
    /// The same for who reads them.
    pub const fn datagrams(self) -> Datagrams<'a> {
        Datagrams {
            bytes: self.bytes,
            spans: self.spans,
        }
    }

    /// Each datagram's payload, in order of arrival.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.datagrams().iter()
    }
}

/// Datagrams to and from one peer. One virtual call moves a batch.
pub trait DatagramPath: Send {
    /// Most datagrams of one [`send`](Self::send).
    fn batch(&self) -> usize;
    /// The payloads to send, [`batch`](Self::batch) of them, back to back.
    fn slots(&mut self) -> &mut [u8];
    /// Makes the payloads to send so long from now on, and the room to receive at least as long. Returns
    /// whether it can: a path of single calls must be able to.
    fn set_payload(&mut self, _payload: usize) -> bool {
        false
    }
    /// Gives the first `count` slots to the system. Returns how many it accepted, at least one;
    /// the others were not sent. Waits at most some 20 ms.
    fn send(&mut self, count: usize) -> Result<usize, Failure>;
    /// Gives the system one datagram without payload, whatever lies in the slots.
    fn send_empty(&mut self) -> Result<(), Failure>;
    /// Takes what has arrived. Waits for the first datagram for at most some 20 ms.
    fn receive(&mut self) -> Result<Arrivals<'_>, Failure>;
    /// Looks up to `looks` times in one [`receive`](Self::receive) from now on, where nothing is waited for;
    /// false if the caller has to.
    fn spin(&mut self, _looks: u32) -> bool {
        false
    }
    /// Waits until something can be taken, at most `limit`; a path that cannot wait returns at once.
    fn await_arrival(&mut self, _limit: Duration) {}
    /// Datagrams dropped at this end because they were not taken in time, since it was opened;
    /// `None` if the system does not say, or counts runs.
    fn overflows(&mut self) -> Option<u64>;
    /// Runs of datagrams dropped so, modulo 2^32, where the system counts those; see [`Run`].
    fn dropped_runs(&mut self) -> Option<u32> {
        None
    }
    /// Sizes of the buffers.
    fn buffers(&self) -> Buffers;
    /// When the kernel saw messages pass, if that was asked for and can be told.
    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        None
    }
    /// What a path past the kernel's stack knows about itself; `None` for one through it.
    fn xdp(&mut self) -> Option<XdpReport> {
        None
    }
    /// What it used and found out beside the traffic. Asked once, at the end.
    fn diagnostics(&mut self) -> PathDiagnostics {
        PathDiagnostics::default()
    }
}

/// When the kernel saw messages pass, on this host's monotonic clock.
pub trait KernelStamps {
    /// When the last message that was received came from the driver to the stack.
    fn arrived(&self) -> Option<MonoInstant>;
    /// When the last message that was sent passed; what is not known yet may be known later.
    fn departed(&mut self) -> Departed;
    /// Whether the wall time that the kernel's stamps are in has been set since this was last asked.
    fn check(&mut self) -> Wall;
    /// How far any of these times may be off the monotonic clock.
    fn error(&self) -> Duration;
}

/// Times of a message on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departed {
    /// At the queueing discipline.
    pub scheduled: Option<MonoInstant>,
    /// At the driver, as it gave the message to the device.
    pub driver: Option<MonoInstant>,
}

/// How long one call may sleep: bounds how late a thread sees that it should stop. 50 wake-ups per
/// second of an idle receiver cost nothing that can be measured.
const CALL_LIMIT: Duration = Duration::from_millis(20);

/// A byte stream to and from one peer.
pub trait StreamPath: Send {
    /// Gives bytes to the system. Returns how many it accepted. Waits at most some 20 ms.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure>;
    /// Takes bytes from the system; zero at the end of the stream. Waits at most some 20 ms.
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure>;
    /// Looks up to `looks` times in one [`read`](Self::read) from now on, where nothing is waited for;
    /// false if the caller has to.
    fn spin(&mut self, _looks: u32) -> bool {
        false
    }
    /// Waits until something can be read, at most `limit`; a path that cannot wait returns at once.
    fn await_arrival(&mut self, _limit: Duration) {}
    /// The kernel's connection under it, if there is one: what follows is asked of it.
    fn connection(&self) -> Option<&TcpStream>;
    /// Waits no longer than `limit`, or than it would anyway, in one write from now on.
    fn limit_write(&mut self, limit: Duration) {
        if let Some(connection) = self.connection() {
            // A refusal leaves the longer limit in place, which is safe.
            drop(sockopt::set_send_timeout(connection, limit.min(CALL_LIMIT)));
        }
    }
    /// Says that no more will be written.
    fn shutdown(&mut self) -> Result<(), Failure> {
        let closed = self
            .connection()
            .map_or(Ok(()), |connection| connection.shutdown(Shutdown::Write));
        closed.map_err(|error| Failure::from_io("shutdown", &error))
    }
    /// Bytes that were written and not acknowledged; `None` if the transport does not say.
    fn unacknowledged(&self) -> Option<u64> {
        sockopt::unacknowledged(self.connection()?).ok()
    }
    /// What the transport knows about the connection; `None` if it knows nothing.
    fn info(&mut self, at_ns: u64) -> Option<TcpSample> {
        tcp_info::read(self.connection()?, at_ns).ok()
    }
    /// Sizes of the buffers.
    fn buffers(&self) -> Buffers {
        self.connection().map_or_else(Buffers::default, Buffers::of)
    }
    /// The congestion control in use; `None` if there is none.
    fn congestion_control(&self) -> Option<String> {
        sockopt::congestion_control(self.connection()?).ok()
    }
    /// When the kernel saw messages pass, if that was asked for and can be told.
    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        None
    }
    /// What it used and found out beside the traffic. Asked once, at the end.
    fn diagnostics(&mut self) -> PathDiagnostics {
        PathDiagnostics::default()
    }
}

/// Refuses parameters that are not in `kind`'s list.
fn refuse_unknown(kind: &dyn DatapathKind, spec: &TestSpec) -> Result<(), EngineError> {
    for key in spec.datapath.params.keys() {
        if !kind.params().iter().any(|param| param.name == key) {
            let known: Vec<_> = kind.params().iter().map(|param| param.name).collect();
            let why = format!("{} knows {}", kind.id(), known.join(", "));
            return Err(EngineError::plan("datapath parameter", &key, why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
