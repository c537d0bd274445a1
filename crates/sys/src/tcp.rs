//! TCP sockets whose options are set before they connect or listen.

use crate::failure::{Failure, FailureClass};
use crate::sockopt;
use crate::udp::Blocking;
use linerate_model::spec::SocketChoice;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Connects to `to` with `choice` applied before the handshake: the window scale that TCP offers depends on the buffers
/// at that time.
pub fn connect(to: SocketAddr, choice: &SocketChoice, limit: Duration) -> io::Result<TcpStream> {
    let socket = open(to)?;
    apply(&socket, choice)?;
    match net::connect(&socket, &to) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => wait_connected(&socket, limit)?,
        Err(errno) => return Err(errno.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// Begins to connect to `to`, with `choice` applied. The socket does not block; it becomes writable once it is connected
/// or has failed, which [`TcpStream::take_error`] tells.
pub fn begin_connect(to: SocketAddr, choice: &SocketChoice) -> io::Result<TcpStream> {
    let socket = open(to)?;
    apply(&socket, choice)?;
    match net::connect(&socket, &to) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(errno) => Err(errno.into()),
    }
}

/// Listens on `local` with `choice` applied before the first handshake; accepted connections inherit it. Up to `pending`
/// of them wait to be accepted.
pub fn listen(local: SocketAddr, choice: &SocketChoice, pending: u16) -> io::Result<TcpListener> {
    let socket = open(local)?;
    apply(&socket, choice)?;
    net::bind(&socket, &local)?;
    net::listen(&socket, pending.into())?;
    Ok(TcpListener::from(socket))
}

/// Applies all of `choice` to a TCP socket. On an open connection the window scale is already negotiated.
pub fn apply<Fd: AsFd>(socket: Fd, choice: &SocketChoice) -> io::Result<()> {
    apply_buffers(&socket, choice)?;
    apply_class(&socket, choice)?;
    if choice.no_delay {
        sockopt::set_no_delay(&socket)?;
    }
    if let Some(name) = &choice.congestion_control {
        sockopt::set_congestion_control(&socket, name)
            .map_err(|error| refused_control(name, &error))?;
    }
    Ok(())
}

/// Error for a refused congestion control, with the available ones.
fn refused_control(name: &str, error: &io::Error) -> io::Error {
    let read = |file| std::fs::read_to_string(format!("/proc/sys/net/ipv4/{file}")).ok();
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(", ");
    let list = |file| read(file).map(words).filter(|names| !names.is_empty());
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => list("tcp_allowed_congestion_control")
            .map(|names| format!("without privileges this host allows {names}")),
        _ => list("tcp_available_congestion_control")
            .map(|names| format!("this host has {names}; as root, modprobe tcp_{name} may add it")),
    };
    let remedy = remedy.unwrap_or_else(|| "this host does not say which ones it has".to_owned());
    let text = format!("congestion control {name}: {error}; {remedy}");
    io::Error::new(error.kind(), text)
}

/// Applies the buffers of `choice` to any socket.
pub fn apply_buffers<Fd: AsFd>(socket: Fd, choice: &SocketChoice) -> io::Result<()> {
    if let Some(bytes) = choice.send_buffer_bytes {
        sockopt::set_send_buffer(&socket, bytes.as_usize())?;
    }
    if let Some(bytes) = choice.receive_buffer_bytes {
        sockopt::set_receive_buffer(&socket, bytes.as_usize())?;
    }
    Ok(())
}

/// Applies the traffic class of `choice` to any socket.
pub fn apply_class<Fd: AsFd>(socket: Fd, choice: &SocketChoice) -> io::Result<()> {
    choice
        .traffic_class
        .map_or(Ok(()), |class| sockopt::set_traffic_class(socket, class))
}

/// Closes `socket` by a reset (`SO_LINGER` of zero): neither end keeps the connection in TIME_WAIT.
pub fn reset(socket: TcpStream) -> io::Result<()> {
    net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
    drop(socket);
    Ok(())
}

/// Local ports that the system chooses from for each port of a peer (`net.ipv4.ip_local_port_range`, of both IP versions);
/// `None` where it does not tell.
pub fn local_ports() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    port_count(&text)
}

fn port_count(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (high + 1).checked_sub(low)
}

/// TCP sockets in TIME_WAIT in the network namespace of the calling thread; `None` where it does not tell.
pub fn time_wait_sockets() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/net/sockstat").ok()?;
    time_wait_of(&text)
}

fn time_wait_of(sockstat: &str) -> Option<u64> {
    let tcp = sockstat
        .lines()
        .find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = tcp.split_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// Sends bytes on a connected socket; returns how many it accepted: all of a datagram.
#[inline]
pub fn send<Fd: AsFd>(socket: Fd, bytes: &[u8], blocking: Blocking) -> Result<usize, Failure> {
    send_with(socket, bytes, blocking, SendFlags::NOSIGNAL)
}

/// [`send`] with `MSG_ZEROCOPY`: the system may read `bytes` until it says that it no longer does.
#[inline]
pub(crate) fn send_without_copy<Fd: AsFd>(
    socket: Fd,
    bytes: &[u8],
    blocking: Blocking,
) -> Result<usize, Failure> {
    let zero_copy = SendFlags::from_bits_retain(libc::MSG_ZEROCOPY.cast_unsigned());
    send_with(socket, bytes, blocking, SendFlags::NOSIGNAL | zero_copy)
}

#[inline]
fn send_with<Fd: AsFd>(
    socket: Fd,
    bytes: &[u8],
    blocking: Blocking,
    flags: SendFlags,
) -> Result<usize, Failure> {
    let flags = match blocking {
        Blocking::No => flags | SendFlags::DONTWAIT,
        Blocking::Yes => flags,
    };
    net::send(socket, bytes, flags).map_err(|errno| Failure::new("send", errno))
}

/// Receives bytes on a connected socket; zero at the end of a stream. A datagram that does not fit is truncated.
#[inline]
pub fn receive<Fd: AsFd>(
    socket: Fd,
    room: &mut [u8],
    blocking: Blocking,
) -> Result<usize, Failure> {
    let flags = match blocking {
        Blocking::No => RecvFlags::DONTWAIT,
        Blocking::Yes => RecvFlags::empty(),
    };
    receive_with(socket, room, flags)
}

/// Receives bytes on a connected socket without sleeping, polling up to `looks` times.
#[inline]
pub fn receive_spinning<Fd: AsFd>(
    socket: Fd,
    room: &mut [u8],
    looks: u32,
) -> Result<usize, Failure> {
    let socket = socket.as_fd();
    for _ in 1..looks {
        match receive_with(socket, room, RecvFlags::DONTWAIT) {
            Err(failure) if failure.class() == FailureClass::WouldBlock => {}
            seen => return seen,
        }
    }
    receive_with(socket, room, RecvFlags::DONTWAIT)
}

#[inline]
fn receive_with<Fd: AsFd>(socket: Fd, room: &mut [u8], flags: RecvFlags) -> Result<usize, Failure> {
    let received = net::recv(socket, room, flags);
    received.map_or_else(
        |errno| Err(Failure::new("recv", errno)),
        |(length, _)| Ok(length),
    )
}

/// Waits until one of `sockets` is readable or has a connection to accept, at most `limit`; returns which.
pub fn wait_readable(sockets: &[BorrowedFd<'_>], limit: Duration) -> io::Result<Vec<bool>> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut fds: Vec<_> = sockets
        .iter()
        .map(|socket| PollFd::new(socket, PollFlags::IN))
        .collect();
    match poll(&mut fds, Some(&limit)) {
        Ok(_) | Err(Errno::INTR) => Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect()),
        Err(errno) => Err(errno.into()),
    }
}

/// Lets so many connections of a socket that listens wait until they are accepted, if the system grants that
/// (`net.core.somaxconn`). What comes beyond is dropped, and comes again after a second.
pub fn set_pending(listener: &TcpListener, pending: u16) -> io::Result<()> {
    Ok(net::listen(listener, pending.into())?)
}

/// Whether the peer of `socket` has ended its direction, or this end has shut it down; received bytes may still be
/// read.
pub fn is_hung_up(socket: impl AsFd) -> io::Result<bool> {
    let mut fds = [PollFd::new(&socket, PollFlags::RDHUP)];
    match poll(&mut fds, Some(&Timespec::default())) {
        Ok(_) | Err(Errno::INTR) => Ok(!fds[0].revents().is_empty()),
        Err(errno) => Err(errno.into()),
    }
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn wait_connected(socket: &OwnedFd, limit: Duration) -> io::Result<()> {
    let limit = Timespec::try_from(limit).map_err(io::Error::other)?;
    let mut fds = [PollFd::new(socket, PollFlags::OUT)];
    if poll(&mut fds, Some(&limit))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    net::sockopt::socket_error(socket)??;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::ByteCount;

    #[test]
    fn more_connections_wait_than_the_standard_library_lets() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        set_pending(&listener, 1000).unwrap();
        let address = listener.local_addr().unwrap();
        let connect = |_| TcpStream::connect_timeout(&address, Duration::from_mins(1)).unwrap();
        // The handshake of one that finds no room would be repeated until the timeout.
        let waiting: Vec<_> = (0..300).map(connect).collect();
        assert_eq!(waiting.len(), 300);
    }

    #[test]
    fn options_hold_on_both_ends_of_a_connection() {
        let choice = SocketChoice {
            send_buffer_bytes: Some(ByteCount::new(65_536)),
            receive_buffer_bytes: Some(ByteCount::new(65_536)),
            congestion_control: Some("reno".to_owned()),
            traffic_class: Some(0x28),
            no_delay: true,
        };
        let listener = listen("127.0.0.1:0".parse().unwrap(), &choice, 16).unwrap();
        let limit = Duration::from_secs(5);
        let client = connect(listener.local_addr().unwrap(), &choice, limit).unwrap();
        let mut fds = [PollFd::new(&listener, PollFlags::IN)];
        poll(&mut fds, None).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(sockopt::receive_buffer(&client).unwrap(), 131_072);
        assert_eq!(sockopt::receive_buffer(&server).unwrap(), 131_072);
        assert!(client.nodelay().unwrap());
        assert_eq!(net::sockopt::ip_tos(&client).unwrap(), 0x28);
    }

    #[test]
    fn an_unknown_congestion_control_is_told_with_the_known_ones() {
        let choice = SocketChoice {
            congestion_control: Some("pigeon".to_owned()),
            ..SocketChoice::default()
        };
        let error = listen("127.0.0.1:0".parse().unwrap(), &choice, 16).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("pigeon") && text.contains("reno"), "{text}");
    }

    #[test]
    fn what_the_system_tells_of_ports_is_read() {
        assert_eq!(port_count("32768\t60999\n"), Some(28_232));
        assert_eq!(port_count("5 4"), Some(0));
        assert_eq!(port_count("60999"), None);
        let sockstat =
            "sockets: used 9\nTCP: inuse 5 orphan 0 tw 17 alloc 6 mem 1\nUDP: inuse 1 mem 2\n";
        assert_eq!(time_wait_of(sockstat), Some(17));
        assert_eq!(time_wait_of("TCP: inuse 5\n"), None);
        assert!(local_ports().is_some() && time_wait_sockets().is_some());
    }

    #[test]
    fn a_reset_reaches_the_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let client = connect(address, &SocketChoice::default(), Duration::from_secs(5)).unwrap();
        let (server, _) = listener.accept().unwrap();
        reset(client).unwrap();
        let failure = receive(&server, &mut [0], Blocking::Yes).unwrap_err();
        assert_eq!(failure.class(), FailureClass::PeerGone);
    }

    #[test]
    fn a_closed_port_is_refused() {
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let error = connect(port, &SocketChoice::default(), Duration::from_secs(5)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
