//! Listener of a client for the data stream that its peer opens.

use crate::endpoints::DataStreams;
use crate::flows::{Flows, Place};
use crate::opening::peek;
use anyhow::{Context as _, Result};
use linerate_model::spec::Transport;
use linerate_sys::shared::bind_both;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;

/// A port that waits for one stream.
pub(crate) enum StreamListener {
    Tcp(TcpListener),
    Udp {
        socket: UdpSocket,
        flows: Arc<Flows>,
        /// TCP listener that accepts nothing: keeps other programs from sharing the port and receiving some of the
        /// datagrams.
        _keeper: TcpListener,
    },
}

/// A stream that has arrived.
pub(crate) struct Stream {
    pub(crate) data_streams: DataStreams,
    /// Its first bytes.
    pub(crate) bytes: Vec<u8>,
    /// While its address is registered, nothing from there is a new stream.
    pub(crate) place: Option<Place>,
}

impl StreamListener {
    /// Listens on the default `port`, which firewalls may allow, or on another one if that is taken.
    pub(crate) fn open(transport: Transport, local: IpAddr, port: u16) -> Result<Self> {
        let usual = Self::on(transport, SocketAddr::new(local, port));
        usual
            .or_else(|_| Self::on(transport, SocketAddr::new(local, 0)))
            .with_context(|| format!("listening on {local} for what the peer sends"))
    }

    fn on(transport: Transport, address: SocketAddr) -> std::io::Result<Self> {
        if transport == Transport::Tcp {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            return Ok(Self::Tcp(listener));
        }
        let (listener, socket) = bind_both(address)?;
        socket.set_nonblocking(true)?;
        Ok(Self::Udp {
            socket,
            flows: Arc::default(),
            _keeper: listener,
        })
    }

    /// The port.
    pub(crate) fn port(&self) -> Result<u16> {
        Ok(match self {
            Self::Tcp(listener) => listener.local_addr()?.port(),
            Self::Udp { socket, .. } => socket.local_addr()?.port(),
        })
    }

    /// Descriptor that is readable when something arrives.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Udp { socket, .. } => socket.as_fd(),
        }
    }

    /// The stream from `from`, if it has arrived; `opening_len` gives how many of its first bytes identify it.
    pub(crate) fn stream(
        &self,
        from: IpAddr,
        opening_len: fn(&[u8]) -> usize,
    ) -> Result<Option<Stream>> {
        match self {
            Self::Tcp(listener) => accept(listener, from, opening_len),
            Self::Udp { socket, flows, .. } => Ok(meet(socket, flows, from)),
        }
    }
}

fn accept(
    listener: &TcpListener,
    from: IpAddr,
    opening_len: fn(&[u8]) -> usize,
) -> Result<Option<Stream>> {
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
    let data_streams = DataStreams {
        tcp: vec![stream],
        udp: Vec::new(),
    };
    Ok(Some(Stream {
        data_streams,
        bytes,
        place: None,
    }))
}

fn meet(socket: &UdpSocket, flows: &Arc<Flows>, from: IpAddr) -> Option<Stream> {
    let flow = flows
        .meet(socket, |ip| (ip == from).then_some(()))
        .into_iter()
        .next()?;
    let bytes = flow.early.datagrams.first().cloned().unwrap_or_default();
    Some(Stream {
        data_streams: DataStreams {
            tcp: Vec::new(),
            udp: vec![(flow.socket, flow.early)],
        },
        bytes,
        place: Some(flow.place),
    })
}
