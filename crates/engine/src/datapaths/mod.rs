//! Registry of the datapaths, in the order in which help and reports list them.

mod af_xdp;
pub mod in_kernel;
mod io_uring;
mod loopback;
pub(crate) mod packet_path;
mod ports;
mod sockets;

use crate::error::{EngineError, Result};
use crate::plan::Role;
use linerate_model::sample::{PathMtu, PathReport, TcpSample, XdpReport};
use linerate_model::spec::{Side, TestSpec, WaitMode};
use linerate_model::{ByteCount, MonoInstant};
use linerate_peers::Datagrams;
pub use linerate_peers::Span;
use linerate_sys::failure::Failure;
use linerate_sys::timestamps::Wall;
use linerate_sys::{sockopt, tcp_info};
pub(crate) use ports::{PortEnd, port_end};
pub(crate) use sockets::{TurnSockets, TurnsPath, TurnsSetup};
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
    &ports::Ports,
    &loopback::Loopback,
];

/// The datapath with this id.
pub fn find(id: &str) -> Result<&'static dyn DatapathKind> {
    let known = ALL.iter().copied().find(|kind| kind.id() == id);
    known.ok_or_else(|| {
        let ids: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
        EngineError::plan("datapath", &id, format!("known are {}", ids.join(", ")))
    })
}

/// Whether this host can run a datapath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can run it.
    Available,
    /// It lacks something.
    Missing {
        /// Why not.
        why: String,
        /// What would make it available.
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

/// A table of parameters: key, what it takes, one sentence; behind them those that several datapaths have.
macro_rules! param_defs {
    ($($name:expr => $values:literal, $summary:literal;)* $(@ $($shared:expr),+)?) => {
        const {
            &[
                $($crate::datapaths::ParamDef { name: $name, values: $values, summary: $summary },)*
                $($($shared),*)?
            ]
        }
    };
}
use param_defs;

/// A wait mode for latency tests on a datapath, as named by `--wait`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeDef {
    /// Its name, unique over all datapaths: `spin`.
    pub name: &'static str,
    /// How traffic threads wait.
    pub wait: WaitMode,
    /// Non-default parameters of the datapath.
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
    /// Its wait modes: spinning by default.
    fn modes(&self) -> Vec<ModeDef> {
        vec![ModeDef {
            name: self.id(),
            wait: WaitMode::Spin,
            params: &[],
            summary: self.summary(),
        }]
    }
    /// Whether this host can run it; if not, why, and how to change that.
    fn availability(&self) -> Availability;
    /// Whether it carries traffic between two addresses of one host. Conformance tests run only on those that do.
    fn runs_on_loopback(&self) -> bool {
        true
    }
    /// Whether its messages pass the kernel's stack; if not, the kernel's socket counters do not see them.
    fn passes_kernel_stack(&self) -> bool {
        true
    }
    /// The interfaces of an end's data, where they are not that of the way to the peer's address; else empty.
    fn interfaces(&self, _params: &BTreeMap<String, String>, _role: Role) -> Vec<String> {
        Vec::new()
    }
    /// Whether each message takes one socket call, so that the kernel can timestamp it.
    fn has_socket_calls(&self) -> bool {
        false
    }
    /// Refuses parameters or a test that it does not support, before anything is opened.
    fn check(&self, spec: &TestSpec) -> Result<()>;
    /// Takes over a connected UDP socket.
    fn datagrams(&self, socket: UdpSocket, setup: &PathSetup<'_>) -> Result<Box<dyn DatagramPath>>;
    /// Takes over a connected TCP socket.
    fn stream(&self, socket: TcpStream, setup: &PathSetup<'_>) -> Result<Box<dyn StreamPath>>;
}

/// Datagrams per call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Calls {
    /// Up to this many.
    Batch(usize),
    /// One, with minimum latency; the path need not report drops per datagram.
    Single,
}

impl Calls {
    /// Maximum datagrams per call.
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
    /// The system's default.
    #[default]
    On,
}

/// Parameters for opening one end of one stream.
#[derive(Debug, Clone, Copy)]
pub struct PathSetup<'a> {
    /// Payload bytes of each datagram.
    pub payload: usize,
    /// Datagrams per call.
    pub calls: Calls,
    /// Wait mode of calls.
    pub wait: WaitMode,
    /// Which end of the control connection this is.
    pub role: Role,
    /// Whether a stream delays small writes.
    pub nagle: Nagle,
    /// Whether the user set the receive buffer: then its window is what is measured, and no reader may wait for it to
    /// fill.
    pub own_receive_buffer: bool,
    /// Whether the kernel is to timestamp each message; only with single calls of `sockets`.
    pub stamps: bool,
    /// The datapath's own parameters.
    pub params: &'a BTreeMap<String, String>,
    /// Whether the test has traffic both ways at once.
    pub both_ways: bool,
    /// What the stream's datagrams are known by; `None` where this process has to look at each.
    pub probe: Option<Probe>,
    /// Programs at interfaces where several streams of this end arrive.
    pub ports: &'a in_kernel::PortPrograms,
}

/// Datagrams that something else than this process may number, stamp and count: all of one length, with the header of
/// [`linerate_wire::header`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    /// Whether this end sends or receives.
    pub side: Side,
    /// Token of the test.
    pub token: u32,
    /// Index of the stream.
    pub stream: u8,
    /// Number of datagrams that are expected, roughly.
    pub expected: u64,
}

/// Buffer sizes granted by the system, and what it knows of the path of datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffers {
    /// Largest packet on the path of a datagram socket.
    pub path_mtu: Option<PathMtu>,
    /// Send buffer.
    pub send: Option<u64>,
    /// Receive buffer.
    pub receive: Option<u64>,
}

impl Buffers {
    /// Buffer sizes of a socket.
    pub(crate) fn of<S: AsFd>(socket: S) -> Self {
        let size = |bytes: io::Result<usize>| bytes.ok().and_then(|n| u64::try_from(n).ok());
        Self {
            path_mtu: None,
            send: size(sockopt::send_buffer(&socket)),
            receive: size(sockopt::receive_buffer(&socket)),
        }
    }

    /// Buffer sizes of a connected datagram socket, and its path's MTU.
    pub(crate) fn of_datagrams(socket: &UdpSocket) -> Self {
        Self {
            path_mtu: path_mtu(socket),
            ..Self::of(socket)
        }
    }
}

/// Largest packet on the path of a connected socket, as far as the system knows now.
fn path_mtu(socket: &UdpSocket) -> Option<PathMtu> {
    // A socket of IPv6 may carry IPv4.
    let is_ipv4 = socket.peer_addr().ok()?.ip().to_canonical().is_ipv4();
    let bytes = sockopt::path_mtu(socket, is_ipv4).ok()?;
    Some(PathMtu::new(bytes.into(), is_ipv4))
}

impl From<Buffers> for PathReport {
    fn from(buffers: Buffers) -> Self {
        Self {
            path_mtu: buffers.path_mtu,
            send_buffer_bytes: buffers.send.map(ByteCount::new),
            receive_buffer_bytes: buffers.receive.map(ByteCount::new),
            ..Self::default()
        }
    }
}

/// Resources used and findings of a path, for the report of its stream.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathDiagnostics {
    /// CPU time of kernel threads that worked for this path alone, since traffic began; `None` without such a thread,
    /// or where the kernel does not report it (a note then says so).
    pub helper_cpu: Option<Duration>,
    /// What the system refused, and the consequence.
    pub notes: Vec<String>,
}

/// A batch of received datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Arrivals<'a> {
    /// Memory that all of them lie in.
    pub bytes: &'a [u8],
    /// Where each lies, in order of arrival.
    pub spans: &'a [Span],
    /// Datagrams dropped at this end before the first of these was queued; `None` if none was, or the system does not
    /// report it.
    pub overflows: Option<u32>,
    /// Runs in which the datagrams arrived, where the system joins them; empty where each arrived alone.
    pub runs: &'a [Run],
    /// Arrival time, where the datagrams were read from the system earlier than from this path.
    pub came: Option<MonoInstant>,
}

/// Datagrams that the system delivered, or drops, as one (`UDP_GRO`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Number of datagrams.
    pub datagrams: usize,
    /// Runs dropped at this end before this one was queued, modulo 2^32.
    pub dropped_before: u32,
}

impl<'a> Arrivals<'a> {
    /// The batch as [`Datagrams`], for the parsers of headers.
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
    /// Maximum datagrams of one [`send`](Self::send).
    fn batch(&self) -> usize;
    /// Buffer of the payloads to send, [`batch`](Self::batch) of them, back to back.
    fn slots(&mut self) -> &mut [u8];
    /// Sets the length of sent payloads from now on, and the receive buffer to at least that. Returns whether it can: a
    /// path of single calls must be able to.
    fn set_payload(&mut self, _payload: usize) -> bool {
        false
    }
    /// Sends the first `count` slots. Returns how many the system accepted, at least one; the others were not sent.
    /// Waits at most some 20 ms.
    fn send(&mut self, count: usize) -> Result<usize, Failure>;
    /// Sends one datagram without payload; the slots are not used.
    fn send_empty(&mut self) -> Result<(), Failure>;
    /// Receives what has arrived. Waits for the first datagram for at most some 20 ms.
    fn receive(&mut self) -> Result<Arrivals<'_>, Failure>;
    /// Makes each non-blocking [`receive`](Self::receive) poll up to `looks` times; false if the caller has to poll.
    fn spin(&mut self, _looks: u32) -> bool {
        false
    }
    /// Waits until a datagram can be received, at most `limit`; a path that cannot wait returns at once.
    fn await_arrival(&mut self, _limit: Duration) {}
    /// Datagrams dropped at this end for lack of buffer space, since it was opened; `None` if the system does not
    /// report it, or counts runs.
    fn overflows(&mut self) -> Option<u64>;
    /// Dropped runs of datagrams, modulo 2^32, where the system counts those; see [`Run`].
    fn dropped_runs(&mut self) -> Option<u32> {
        None
    }
    /// Sockets that it receives from; [`Arrivals::overflows`] are those of one.
    fn sockets(&self) -> usize {
        1
    }
    /// Places of a mix of lengths that repeats, by which number a datagram has; zero where all have one length.
    fn places(&self) -> usize {
        0
    }
    /// Buffer sizes.
    fn buffers(&self) -> Buffers;
    /// Kernel timestamps of messages, if requested and available.
    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        None
    }
    /// The loop outside of this process that sends the datagrams; `None` if this process sends them.
    fn generator(&mut self) -> Option<&mut in_kernel::Generator> {
        None
    }
    /// The loop outside of this process that counts the datagrams; `None` if this process receives them.
    fn counter(&mut self) -> Option<&mut in_kernel::Counter> {
        None
    }
    /// Report of a path past the kernel's stack; `None` for one through it.
    fn xdp(&mut self) -> Option<XdpReport> {
        None
    }
    /// Resources used and findings. Called once, at the end.
    fn diagnostics(&mut self) -> PathDiagnostics {
        PathDiagnostics::default()
    }
}

/// Kernel timestamps of messages, on this host's monotonic clock.
pub trait KernelStamps {
    /// When the last received message was handed from the driver to the stack.
    fn arrived(&self) -> Option<MonoInstant>;
    /// When the last sent message passed; times still missing may arrive later.
    fn departed(&mut self) -> Departed;
    /// Whether wall time, on which the kernel stamps, has been set since the last call.
    fn check(&mut self) -> Wall;
    /// Uncertainty of these times against the monotonic clock.
    fn error(&self) -> Duration;
}

/// Timestamps of a message on its way out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Departed {
    /// At the queueing discipline.
    pub scheduled: Option<MonoInstant>,
    /// At the driver, as it gave the message to the device.
    pub driver: Option<MonoInstant>,
}

/// Maximum sleep of one call: bounds the delay of a stop. 50 wake-ups per second of an idle receiver cost nothing
/// measurable.
const CALL_LIMIT: Duration = Duration::from_millis(20);

/// A byte stream to and from one peer.
pub trait StreamPath: Send {
    /// Writes bytes. Returns how many the system accepted. Waits at most some 20 ms.
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure>;
    /// Reads bytes; zero at the end of the stream. Waits at most some 20 ms.
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure>;
    /// Makes each non-blocking [`read`](Self::read) poll up to `looks` times; false if the caller has to poll.
    fn spin(&mut self, _looks: u32) -> bool {
        false
    }
    /// Waits until something can be read, at most `limit`; a path that cannot wait returns at once.
    fn await_arrival(&mut self, _limit: Duration) {}
    /// The kernel's connection below it, if there is one: the following methods query it.
    fn connection(&self) -> Option<&TcpStream>;
    /// Limits the time that one write waits to `limit` from now on.
    fn limit_write(&mut self, limit: Duration) {
        if let Some(connection) = self.connection() {
            // If refused, the longer limit stays, which is safe.
            drop(sockopt::set_send_timeout(connection, limit.min(CALL_LIMIT)));
        }
    }
    /// Ends the outgoing direction of the stream.
    fn shutdown(&mut self) -> Result<(), Failure> {
        let closed = self
            .connection()
            .map_or(Ok(()), |connection| connection.shutdown(Shutdown::Write));
        closed.map_err(|error| Failure::from_io("shutdown", &error))
    }
    /// Bytes written and not acknowledged; `None` if the transport does not report it.
    fn unacknowledged(&self) -> Option<u64> {
        sockopt::unacknowledged(self.connection()?).ok()
    }
    /// State of the transport (`TCP_INFO`); `None` if there is none.
    fn info(&mut self, at_ns: u64) -> Option<TcpSample> {
        tcp_info::read(self.connection()?, at_ns).ok()
    }
    /// Buffer sizes.
    fn buffers(&self) -> Buffers {
        self.connection().map_or_else(Buffers::default, Buffers::of)
    }
    /// The congestion control in use; `None` if there is none.
    fn congestion_control(&self) -> Option<String> {
        sockopt::congestion_control(self.connection()?).ok()
    }
    /// Kernel timestamps of messages, if requested and available.
    fn stamps(&mut self) -> Option<&mut dyn KernelStamps> {
        None
    }
    /// Resources used and findings. Called once, at the end.
    fn diagnostics(&mut self) -> PathDiagnostics {
        PathDiagnostics::default()
    }
}

/// Refuses parameters that are not in `kind`'s list.
fn refuse_unknown(kind: &dyn DatapathKind, spec: &TestSpec) -> Result<()> {
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
