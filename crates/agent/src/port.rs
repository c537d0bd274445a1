//! Ports on which an agent listens, one for each protocol.

use crate::owner::Sockets;
use crate::{AgentPlan, DataPorts};
use anyhow::Result;
use linerate_model::agent::AgentEvent;
use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::{Demux, PeerKind, Protocol};
use linerate_session::{Flows, StreamDemux};
use linerate_sys::sockopt::{set_max_segment, set_receive_buffer};
use linerate_sys::tcp::set_pending;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

/// A protocol to serve, with its port; `None`: the default one.
#[derive(Clone)]
pub struct Speaking {
    pub(crate) kind: &'static dyn PeerKind,
    pub(crate) port: Option<u16>,
}

impl Speaking {
    /// linerate's own protocol, on the port of the plan's address.
    pub fn own() -> Self {
        Self {
            kind: linerate_peers::own(),
            port: None,
        }
    }

    /// The listening address of this protocol under `plan`.
    pub(crate) fn address(&self, plan: &AgentPlan) -> SocketAddr {
        let usual = if self.is_own() {
            plan.listen.port()
        } else {
            self.kind.about().default_port
        };
        SocketAddr::new(plan.listen.ip(), self.port.unwrap_or(usual))
    }

    /// The id of the protocol.
    pub fn id(&self) -> &'static str {
        self.kind.id()
    }

    /// The ids of all protocols, for help and messages.
    pub fn known() -> String {
        let ids: Vec<_> = linerate_peers::served().map(PeerKind::id).collect();
        ids.join(", ")
    }

    /// Example of a protocol with another port, for help and messages.
    pub fn example() -> String {
        let foreign = linerate_peers::served().find(|kind| kind.about().is_foreign);
        let kind = foreign.unwrap_or_else(linerate_peers::own);
        format!("such as {}:{}", kind.id(), kind.about().default_port + 1)
    }

    fn is_own(&self) -> bool {
        !self.kind.about().is_foreign
    }
}

impl std::fmt::Debug for Speaking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{:?}", self.kind.id(), self.port)
    }
}

impl std::str::FromStr for Speaking {
    type Err = Failure;

    /// Parses a protocol id, with an optional port: `iperf3:5202`.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let (name, port) = match text.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        };
        let wrong = || {
            let message = format!(
                "--speak {text}: this version answers {}, each with a port if need be, {}",
                Self::known(),
                Self::example()
            );
            Failure::new(ExitCode::Usage, message)
        };
        let mut served = linerate_peers::served();
        let kind = served.find(|kind| kind.id() == name).ok_or_else(wrong)?;
        let port = port.map(str::parse).transpose().map_err(|_| wrong())?;
        Ok(Self { kind, port })
    }
}

/// An open listening port.
pub(crate) struct Port {
    pub(crate) kind: Protocol,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    /// Shared state where data streams arrive at the port of the control connection.
    pub(crate) shared: Option<Shared>,
}

/// State of a port that tests share.
pub(crate) struct Shared {
    pub(crate) udp: UdpSocket,
    pub(crate) by: By,
}

/// How a stream is assigned to a test.
pub(crate) enum By {
    /// Every stream is its own test.
    Itself {
        flows: Arc<Flows>,
        /// Bytes of a TCP stream that begins like this which are needed to identify it.
        opening_len: fn(&[u8]) -> usize,
    },
    /// By what it begins with.
    Opening(Arc<StreamDemux>),
}

impl Port {
    /// Opens the port of `speaking`.
    pub(crate) fn open(
        speaking: &Speaking,
        plan: &AgentPlan,
        sockets: &mut Sockets,
    ) -> Result<Self> {
        let kind = Protocol::with(speaking.kind, &plan.settings)
            .map_err(|why| Failure::new(ExitCode::Usage, why))?;
        let wanted = speaking.address(plan);
        let option = if speaking.is_own() {
            "--listen"
        } else {
            "--speak"
        };
        let refused = |error: std::io::Error| {
            let hint = match error.kind() {
                ErrorKind::AddrInUse => {
                    "another program listens there: stop it, or choose another port with"
                }
                ErrorKind::PermissionDenied => {
                    "ports below 1024 need privileges: choose a higher one with"
                }
                _ => "choose an address of this host with",
            };
            Failure::new(
                ExitCode::HostLacks,
                format!("cannot listen on {wanted}: {error}; {hint} {option}"),
            )
        };
        let about = speaking.kind.about();
        let by = match about.demux {
            Demux::OwnPorts => about
                .one_port
                .filter(|_| plan.data_ports == DataPorts::OfControl)
                .map(|length| By::Opening(Arc::new(StreamDemux::at_one_port(about.id, length)))),
            Demux::EachATest { opening_len } => Some(By::Itself {
                flows: Arc::default(),
                opening_len,
            }),
            Demux::Cookie { length, answer } => {
                let demux = StreamDemux::new(speaking.kind.id(), length, answer);
                Some(By::Opening(Arc::new(demux)))
            }
        };
        let (listener, shared) = match by {
            None => (sockets.listener(wanted).map_err(refused)?, None),
            Some(by) => {
                let (listener, udp) = sockets.both(wanted).map_err(refused)?;
                udp.set_nonblocking(true)?;
                set_receive_buffer(&udp, FIRST_DATAGRAMS_BYTES)?;
                (listener, Some(Shared { udp, by }))
            }
        };
        listener.set_nonblocking(true)?;
        set_pending(&listener, MAX_QUEUED)?;
        if speaking.is_own() && shared.is_none() {
            set_max_segment(&listener, SMALL_SEGMENT)?;
        }
        Ok(Self {
            kind,
            address: listener.local_addr()?,
            listener,
            shared,
        })
    }

    /// Descriptors to wait on.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let udp = self.shared.as_ref().map(|shared| shared.udp.as_fd());
        std::iter::once(self.listener.as_fd()).chain(udp)
    }

    /// Whether data streams of the client at `from` are awaited, which show their marks.
    pub(crate) fn awaits_streams_of(&self, from: IpAddr) -> bool {
        match &self.shared {
            Some(Shared {
                by: By::Opening(demux),
                ..
            }) => demux.awaits_streams_of(from),
            _ => false,
        }
    }

    /// Event that announces it.
    pub(crate) fn event(&self) -> AgentEvent {
        AgentEvent::Listening {
            protocol: self.kind.id().to_owned(),
            name: self.kind.name().to_owned(),
            address: self.address,
        }
    }
}

/// Receive buffer for datagrams of streams without a socket: the default of 208 KiB holds some 90 long ones, which a
/// flood sends in a moment. The system often grants less.
const FIRST_DATAGRAMS_BYTES: usize = 4 << 20;

/// Connections that wait at a port until they are accepted: with the 128 of the standard library, some hundred clients that
/// come again and again have others wait for a second or two.
const MAX_QUEUED: u16 = 4096;

/// Maximum segment of the control connection: fits into 576 bytes of IP, which every path carries (RFC 791, RFC 9293
/// §3.7.1). Where data shares the control connection's port this would slow the data.
const SMALL_SEGMENT: i32 = 536;
