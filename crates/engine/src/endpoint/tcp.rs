//! Data connections over TCP.

use super::Wait;
use crate::error::EngineError;
use crate::plan::EndpointPlan;
use linerate_model::Clock;
use linerate_peers::StreamFormat;
use linerate_sys::clock::MonoClock;
use linerate_sys::{sockopt, tcp};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Timeout for the opening of an accepted connection: it is sent with the connection, so a longer one only lets an
/// unknown client delay the test.
const OPENING_LIMIT: Duration = Duration::from_secs(1);

pub(super) fn listen(
    plan: &EndpointPlan,
    local: SocketAddr,
) -> Result<Vec<TcpListener>, EngineError> {
    let listener = |_| tcp::listen(local, &plan.spec.socket);
    let all: Result<_, _> = (0..plan.spec.streams).map(listener).collect();
    all.map_err(|error| EngineError::io("listen for data on", &local.ip(), error))
}

pub(super) fn connect(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    opening: &dyn Fn(u16) -> Vec<u8>,
    timeout: Duration,
) -> Result<Vec<TcpStream>, EngineError> {
    let deadline = MonoClock.now().after(timeout);
    (0..)
        .zip(remotes)
        .map(|(stream, remote)| {
            let left = deadline.saturating_since(MonoClock.now());
            let opening = opening(stream);
            let open = tcp::connect(*remote, &plan.spec.socket, left).and_then(|mut socket| {
                socket.set_write_timeout(Some(left.max(Duration::from_millis(1))))?;
                socket.write_all(&opening)?;
                Ok(socket)
            });
            open.map_err(|source| match source.kind() {
                ErrorKind::TimedOut | ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable => {
                    let remote = *remote;
                    EngineError::NoDataPort { remote, source }
                }
                _ => EngineError::io("connect data to", &remote, source),
            })
        })
        .collect()
}

pub(super) fn accept(
    plan: &EndpointPlan,
    listeners: &[TcpListener],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<Vec<TcpStream>, EngineError> {
    let accept = |(stream, listener)| {
        let opening = plan.format.tcp_opening(stream);
        accept_one(listener, &opening, from, wait)?.ok_or_else(|| EngineError::NoPeer {
            stream: usize::from(stream),
            what: "data connection",
            from,
            waited: wait.timeout,
        })
    };
    (0..).zip(listeners).map(accept).collect()
}

/// Accepts the first connection from `from` that starts with `opening`; all others are closed.
fn accept_one(
    listener: &TcpListener,
    opening: &[u8],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<Option<TcpStream>, EngineError> {
    let failed = |error| EngineError::io("accept a data connection on", &"a data port", error);
    while let Some(left) = wait.next() {
        let ready = tcp::wait_readable(&[listener.as_fd()], left).map_err(failed)?;
        if !ready[0] {
            continue;
        }
        let Ok((socket, address)) = listener.accept() else {
            // The connection was reset before it was accepted, or the file table is full; try the next.
            continue;
        };
        let left = wait.deadline.saturating_since(MonoClock.now());
        if address.ip().to_canonical() == from && shows(&socket, opening, left) {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// Reads the opening of an accepted stream, which is not data; it is known to have arrived.
pub(super) fn pass_over(mut socket: &TcpStream, format: &dyn StreamFormat) -> std::io::Result<()> {
    let mut bytes = vec![0; format.tcp_preamble_len()];
    if bytes.is_empty() {
        return Ok(());
    }
    sockopt::set_receive_timeout(socket, OPENING_LIMIT)?;
    socket.read_exact(&mut bytes)
}

/// Whether the connection starts with `opening`.
fn shows(mut socket: &TcpStream, opening: &[u8], limit: Duration) -> bool {
    let mut bytes = vec![0; opening.len()];
    let read = socket
        .set_nonblocking(false)
        .and_then(|()| sockopt::set_receive_timeout(socket, limit.min(OPENING_LIMIT)))
        .and_then(|()| socket.read_exact(&mut bytes));
    read.is_ok() && bytes == opening
}
