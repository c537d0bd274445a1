//! Data connections over TCP.

use super::Wait;
use crate::error::{EngineError, Result};
use crate::plan::EndpointPlan;
use linerate_model::{Clock, MonoInstant};
use linerate_peers::StreamFormat;
use linerate_sys::clock::MonoClock;
use linerate_sys::epoll::{Interest, Readiness};
use linerate_sys::{sockopt, tcp};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Timeout for the opening of an accepted connection: it is sent with the connection, so a longer one only lets an
/// unknown client delay the test.
const OPENING_LIMIT: Duration = Duration::from_secs(1);

/// Connections that wait to be accepted at one port, at most: the system's own limit (`somaxconn`).
const MAX_PENDING: u16 = 4096;

/// Connections that are being opened at once: enough that a long path costs few round trips, few enough that no queue
/// of pending connections overflows.
const CONNECTING_AT_ONCE: usize = 64;

pub(super) fn listen(plan: &EndpointPlan, local: SocketAddr) -> Result<Vec<TcpListener>> {
    let listener = |thread| {
        let pending = u16::try_from(plan.connections(thread)).unwrap_or(MAX_PENDING);
        let pending = pending.clamp(16, MAX_PENDING);
        tcp::listen(local, &plan.spec.socket, pending)
    };
    let all: Result<_, _> = (0..plan.spec.traffic_threads()).map(listener).collect();
    all.map_err(|error| EngineError::io("listen for data on", &local.ip(), error))
}

pub(super) fn connect(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    opening: &dyn Fn(u16) -> Vec<u8>,
    timeout: Duration,
) -> Result<Vec<TcpStream>> {
    let deadline = MonoClock.now().after(timeout);
    if plan.spec.threads.is_some() {
        return connect_many(plan, remotes, opening, deadline);
    }
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
            open.map_err(|source| not_connected(*remote, source))
        })
        .collect()
}

fn not_connected(remote: SocketAddr, source: io::Error) -> EngineError {
    match source.kind() {
        ErrorKind::TimedOut | ErrorKind::ConnectionRefused | ErrorKind::HostUnreachable => {
            EngineError::NoDataPort { remote, source }
        }
        _ => EngineError::io("connect data to", &remote, source),
    }
}

/// Connects many streams, several at a time.
fn connect_many(
    plan: &EndpointPlan,
    remotes: &[SocketAddr],
    opening: &dyn Fn(u16) -> Vec<u8>,
    deadline: MonoInstant,
) -> Result<Vec<TcpStream>> {
    let failed = |error| EngineError::io("wait for", &"data connections", error);
    let readiness = Readiness::new().map_err(failed)?;
    let mut all = Vec::with_capacity(remotes.len());
    let streams: Vec<_> = (0_u16..).zip(remotes).collect();
    for wave in streams.chunks(CONNECTING_AT_ONCE) {
        let from = all.len();
        for (_, remote) in wave {
            let socket = tcp::begin_connect(**remote, &plan.spec.socket)
                .map_err(|error| not_connected(**remote, error))?;
            readiness
                .add(&socket, all.len(), Interest::Write)
                .map_err(failed)?;
            all.push(socket);
        }
        let mut left = wave.len();
        let mut ready = Vec::new();
        while left > 0 {
            let now = MonoClock.now();
            if now >= deadline {
                return Err(not_connected(*wave[0].1, ErrorKind::TimedOut.into()));
            }
            ready.clear();
            let limit = deadline.saturating_since(now);
            readiness.wait(limit, &mut ready).map_err(failed)?;
            for index in &ready {
                let (stream, remote) = wave[index - from];
                let socket = &all[*index];
                readiness.remove(socket).map_err(failed)?;
                open_stream(socket, &opening(stream))
                    .map_err(|error| not_connected(*remote, error))?;
                left -= 1;
            }
        }
    }
    Ok(all)
}

/// Sends the opening on a connection that has just been made, if it has.
fn open_stream(mut socket: &TcpStream, opening: &[u8]) -> io::Result<()> {
    match socket.take_error()? {
        Some(error) => Err(error),
        None => socket.write_all(opening),
    }
}

pub(super) fn accept(
    plan: &EndpointPlan,
    listeners: &[TcpListener],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<Vec<TcpStream>> {
    if plan.spec.threads.is_some() {
        let accept = |(thread, listener)| accept_many(plan, thread, listener, from, wait);
        let threads: Result<Vec<_>, _> = (0..).zip(listeners).map(accept).collect();
        return Ok(threads?.into_iter().flatten().collect());
    }
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

/// Accepts the streams of one thread, in whatever order they come.
fn accept_many(
    plan: &EndpointPlan,
    thread: u16,
    listener: &TcpListener,
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<Vec<TcpStream>> {
    let streams = plan.spec.streams_of_thread(thread);
    let openings = streams
        .clone()
        .map(|stream| plan.format.tcp_opening(stream));
    let mut awaited: BTreeMap<Vec<u8>, u16> = openings.zip(streams.clone()).collect();
    let length = plan.format.tcp_opening(streams.start).len();
    let mut accepted: BTreeMap<u16, TcpStream> = BTreeMap::new();
    while let Some(stream) = awaited.values().next() {
        let next = accept_first(listener, from, length, wait, |bytes| {
            awaited.contains_key(bytes)
        })?;
        let Some((socket, opening)) = next else {
            return Err(EngineError::NoPeer {
                stream: usize::from(*stream),
                what: "data connection",
                from,
                waited: wait.timeout,
            });
        };
        if let Some(stream) = awaited.remove(&opening) {
            accepted.insert(stream, socket);
        }
    }
    Ok(accepted.into_values().collect())
}

/// Accepts the first connection from `from` that starts with `opening`; all others are closed.
fn accept_one(
    listener: &TcpListener,
    opening: &[u8],
    from: IpAddr,
    wait: &Wait<'_>,
) -> Result<Option<TcpStream>> {
    let accepted = accept_first(listener, from, opening.len(), wait, |bytes| {
        bytes == opening
    })?;
    Ok(accepted.map(|(socket, _)| socket))
}

/// Accepts the first connection from `from` whose opening, of `length` bytes, `is_awaited`; returns both. All others are
/// closed.
fn accept_first(
    listener: &TcpListener,
    from: IpAddr,
    length: usize,
    wait: &Wait<'_>,
    is_awaited: impl Fn(&[u8]) -> bool,
) -> Result<Option<(TcpStream, Vec<u8>)>> {
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
        if address.ip().to_canonical() != from {
            continue;
        }
        if let Some(opening) = opening_of(&socket, length, left).filter(|bytes| is_awaited(bytes)) {
            return Ok(Some((socket, opening)));
        }
    }
    Ok(None)
}

/// Reads the opening of an accepted stream, which is not data; it is known to have arrived.
pub(super) fn pass_over(mut socket: &TcpStream, format: &dyn StreamFormat) -> io::Result<()> {
    let mut bytes = vec![0; format.tcp_preamble_len()];
    if bytes.is_empty() {
        return Ok(());
    }
    sockopt::set_receive_timeout(socket, OPENING_LIMIT)?;
    socket.read_exact(&mut bytes)
}

/// The first `length` bytes of the connection; `None` if they do not come within `limit`.
fn opening_of(mut socket: &TcpStream, length: usize, limit: Duration) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let read = socket
        .set_nonblocking(false)
        .and_then(|()| sockopt::set_receive_timeout(socket, limit.min(OPENING_LIMIT)))
        .and_then(|()| socket.read_exact(&mut bytes));
    read.ok().map(|()| bytes)
}
