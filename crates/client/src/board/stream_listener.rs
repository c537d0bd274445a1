//! Where this host listens for what a board sends.

use anyhow::{Context as _, Result};
use linerate_model::spec::Transport;
use linerate_peers::iperf2::header::opening_len;
use linerate_peers::zperf::PORT;
use linerate_session::{DataStreams, Flows, Line, Place, peek};
use linerate_sys::shared::bind_shared;
use linerate_sys::tcp::wait_readable;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::time::Duration;

/// A port that waits for one stream.
pub(super) enum StreamListener {
    Tcp(TcpListener),
    Udp {
        socket: UdpSocket,
        flows: Arc<Flows>,
        /// Listens to nobody: keeps the port from other programs that would share it, and get some of the
        /// datagrams.
        _keeper: TcpListener,
    },
}

/// A stream that has come.
pub(super) struct Stream {
    pub(super) line: Line,
    pub(super) data_streams: DataStreams,
    /// What it begins with.
    pub(super) bytes: Vec<u8>,
    /// While its address is known, nothing that comes from there is a new stream.
    pub(super) place: Option<Place>,
}

impl StreamListener {
    /// Listens on the usual port, which firewalls know, or on another if that is taken.
    pub(super) fn open(transport: Transport, local: IpAddr) -> Result<Self> {
        let usual = Self::on(transport, SocketAddr::new(local, PORT));
        usual
            .or_else(|_| Self::on(transport, SocketAddr::new(local, 0)))
            .with_context(|| format!("listening on {local} for what the board sends"))
    }

    fn on(transport: Transport, address: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        if transport == Transport::Tcp {
            return Ok(Self::Tcp(listener));
        }
        let address = listener.local_addr()?;
        drop(UdpSocket::bind(address)?);
        let socket = bind_shared(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self::Udp {
            socket,
            flows: Arc::default(),
            _keeper: listener,
        })
    }

    /// The port.
    pub(super) fn port(&self) -> Result<u16> {
        Ok(match self {
            Self::Tcp(listener) => listener.local_addr()?.port(),
            Self::Udp { socket, .. } => socket.local_addr()?.port(),
        })
    }

    /// The stream from `from`, if it comes within `wait`.
    pub(super) fn stream(&self, from: IpAddr, wait: Duration) -> Result<Option<Stream>> {
        let fd = match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Udp { socket, .. } => socket.as_fd(),
        };
        if !wait_readable(&[fd], wait).context("waiting for what the board sends")?[0] {
            return Ok(None);
        }
        match self {
            Self::Tcp(listener) => accept(listener, from),
            Self::Udp { socket, flows, .. } => meet(socket, flows, from),
        }
    }
}

fn accept(listener: &TcpListener, from: IpAddr) -> Result<Option<Stream>> {
    let (stream, remote) = match listener.accept() {
        Ok(accepted) => accepted,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if remote.ip() != from {
        return Ok(None);
    }
    stream.set_nonblocking(false)?;
    let bytes = peek(&stream, opening_len)?;
    let local = stream.local_addr()?;
    let data_streams = DataStreams {
        tcp: vec![stream],
        udp: Vec::new(),
    };
    Ok(Some(Stream {
        line: Line::Absent { local, remote },
        data_streams,
        bytes,
        place: None,
    }))
}

fn meet(socket: &UdpSocket, flows: &Arc<Flows>, from: IpAddr) -> Result<Option<Stream>> {
    let Some(flow) = flows.meet(socket, |ip| ip == from).into_iter().next() else {
        return Ok(None);
    };
    let local = flow.socket.local_addr()?;
    let bytes = flow.early.first().cloned().unwrap_or_default();
    Ok(Some(Stream {
        line: Line::Absent {
            local,
            remote: flow.from,
        },
        data_streams: DataStreams {
            tcp: Vec::new(),
            udp: vec![(flow.socket, flow.early)],
        },
        bytes,
        place: Some(flow.place),
    }))
}
