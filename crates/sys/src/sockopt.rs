//! Typed socket options of the traffic engine.
#![expect(
    unsafe_code,
    reason = "options that rustix does not cover go through libc"
)]

use rustix::net::sockopt as rx;
use std::io;
use std::mem::size_of;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Limits segments to `bytes` of payload and TCP options (`TCP_MAXSEG`), in both directions of connections made, or
/// accepted by this listener, from now on.
pub fn set_max_segment<Fd: AsFd>(socket: Fd, bytes: i32) -> io::Result<()> {
    set_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes)
}

/// Requests a send buffer of `bytes` (`SO_SNDBUF`); the system doubles it and caps it at `wmem_max`.
pub fn set_send_buffer<Fd: AsFd>(socket: Fd, bytes: usize) -> io::Result<()> {
    Ok(rx::set_socket_send_buffer_size(socket, bytes)?)
}

/// Requests a receive buffer of `bytes` (`SO_RCVBUF`); the system doubles it and caps it at `rmem_max`.
pub fn set_receive_buffer<Fd: AsFd>(socket: Fd, bytes: usize) -> io::Result<()> {
    Ok(rx::set_socket_recv_buffer_size(socket, bytes)?)
}

/// Granted send buffer in bytes, the kernel's overhead included.
pub fn send_buffer<Fd: AsFd>(socket: Fd) -> io::Result<usize> {
    Ok(rx::socket_send_buffer_size(socket)?)
}

/// Granted receive buffer in bytes, the kernel's overhead included.
pub fn receive_buffer<Fd: AsFd>(socket: Fd) -> io::Result<usize> {
    Ok(rx::socket_recv_buffer_size(socket)?)
}

/// Sets the timeout of blocking sends (`SO_SNDTIMEO`). At least one microsecond: zero would mean none.
pub fn set_send_timeout<Fd: AsFd>(socket: Fd, limit: Duration) -> io::Result<()> {
    let limit = limit.max(Duration::from_micros(1));
    Ok(rx::set_socket_timeout(
        socket,
        rx::Timeout::Send,
        Some(limit),
    )?)
}

/// Sets the timeout of blocking receives (`SO_RCVTIMEO`). At least one microsecond: zero would mean none.
pub fn set_receive_timeout<Fd: AsFd>(socket: Fd, limit: Duration) -> io::Result<()> {
    let limit = limit.max(Duration::from_micros(1));
    Ok(rx::set_socket_timeout(
        socket,
        rx::Timeout::Recv,
        Some(limit),
    )?)
}

/// Makes a blocking read wait for `bytes` (`SO_RCVLOWAT`) instead of one. A read whose timeout expires first returns
/// what there is, as does one at the end of the stream.
pub fn set_receive_low_water<Fd: AsFd>(socket: Fd, bytes: i32) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Allows sending without copying (`SO_ZEROCOPY`, Linux 4.14).
pub fn set_zero_copy<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1)
}

/// Marks packets as network control (DSCP CS6, RFC 4594 §3.1), so that a path with priorities forwards them ahead of a
/// saturated queue. Both families: an IPv6 socket may carry mapped IPv4.
pub fn set_network_control<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    const CS6: u8 = 0b110_000 << 2;
    set_traffic_class(socket, CS6)
}

/// Sets DSCP and ECN of packets (`IP_TOS`, `IPV6_TCLASS`).
pub fn set_traffic_class<Fd: AsFd>(socket: Fd, class: u8) -> io::Result<()> {
    let v4 = rx::set_ip_tos(socket.as_fd(), class);
    let v6 = rx::set_ipv6_tclass(socket.as_fd(), u32::from(class));
    // A socket of one family refuses the other's option; one of the two must succeed.
    Ok(v4.or(v6)?)
}

/// DSCP and ECN of packets, of an IPv4 or IPv6 socket.
pub fn traffic_class<Fd: AsFd>(socket: Fd, is_ipv4: bool) -> io::Result<u8> {
    if is_ipv4 {
        return Ok(rx::ip_tos(socket)?);
    }
    u8::try_from(rx::ipv6_tclass(socket)?).map_err(io::Error::other)
}

/// Sends small segments at once (`TCP_NODELAY`).
pub fn set_no_delay<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    Ok(rx::set_tcp_nodelay(socket, true)?)
}

/// Chooses the congestion control (`TCP_CONGESTION`).
pub fn set_congestion_control<Fd: AsFd>(socket: Fd, name: &str) -> io::Result<()> {
    set(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        name.as_bytes(),
    )
}

/// The congestion control in use (`TCP_CONGESTION`).
pub fn congestion_control<Fd: AsFd>(socket: Fd) -> io::Result<String> {
    Ok(rx::tcp_congestion(socket)?)
}

/// Segments sent messages into datagrams of `segment` payload bytes (`UDP_SEGMENT`, Linux 4.18).
pub fn set_udp_segment<Fd: AsFd>(socket: Fd, segment: u16) -> io::Result<()> {
    let value = libc::c_int::from(segment);
    set_int(socket, libc::SOL_UDP, libc::UDP_SEGMENT, value)
}

/// Gives each datagram to the system on its own again (`UDP_SEGMENT` of zero).
pub fn unset_udp_segment<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    set_udp_segment(socket, 0)
}

/// Largest IP packet in bytes that the path of a connected socket is known to carry (`IP_MTU`, `IPV6_MTU`): its
/// interface's, until a router's answer says less (RFC 1191, RFC 8201).
pub fn path_mtu<Fd: AsFd>(socket: Fd, is_ipv4: bool) -> io::Result<u32> {
    let (level, name) = if is_ipv4 {
        (libc::IPPROTO_IP, libc::IP_MTU)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    };
    let mut value = [0; 4];
    get(socket, level, name, &mut value)?;
    u32::try_from(i32::from_ne_bytes(value)).map_err(io::Error::other)
}

/// Allows the kernel to deliver runs of equal datagrams as one (`UDP_GRO`, Linux 5.0).
pub fn set_udp_gro<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    set_int(socket, libc::SOL_UDP, libc::UDP_GRO, 1)
}

/// Enables kernel timestamps (`SO_TIMESTAMPING`; `SOF_TIMESTAMPING_…` in `linux/net_tstamp.h`).
pub(crate) fn set_timestamping<Fd: AsFd>(socket: Fd, flags: u32) -> io::Result<()> {
    set(
        socket,
        libc::SOL_SOCKET,
        libc::SO_TIMESTAMPING,
        &flags.to_ne_bytes(),
    )
}

/// Bytes written to a TCP socket that its peer has not acknowledged (`SIOCOUTQ`).
pub fn unacknowledged(socket: &TcpStream) -> io::Result<u64> {
    // SAFETY: this opcode writes one int, as the type says.
    let call = unsafe { rustix::ioctl::Getter::<OUTQ, libc::c_int>::new() };
    // SAFETY: the call is the getter made just above, and `socket` is one of the sockets that know it.
    let bytes = unsafe { rustix::ioctl::ioctl(socket, call) }?;
    Ok(u64::try_from(bytes).unwrap_or(0))
}

/// `linux/sockios.h`: the same number as `TIOCOUTQ`.
const OUTQ: rustix::ioctl::Opcode = 0x5411;

/// Attaches the socket's drop count to each received datagram (`SO_RXQ_OVFL`).
pub fn set_overflow_count<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)
}

/// Makes blocking receives poll the device for `time` before they sleep (`SO_BUSY_POLL`).
pub fn set_busy_poll<Fd: AsFd>(socket: Fd, time: Duration) -> io::Result<()> {
    let micros = i32::try_from(time.as_micros()).unwrap_or(i32::MAX);
    set_int(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, micros)
}

/// Keeps the device's interrupts masked as long as it is polled often enough (`SO_PREFER_BUSY_POLL`, Linux 5.11; needs
/// `CAP_NET_ADMIN`).
pub fn prefer_busy_poll<Fd: AsFd>(socket: Fd) -> io::Result<()> {
    set_int(socket, libc::SOL_SOCKET, libc::SO_PREFER_BUSY_POLL, 1)
}

/// Sets the maximum packets per poll of the device (`SO_BUSY_POLL_BUDGET`, Linux 5.11; raising it needs
/// `CAP_NET_ADMIN`).
pub fn set_busy_poll_budget<Fd: AsFd>(socket: Fd, packets: u16) -> io::Result<()> {
    set_int(
        socket,
        libc::SOL_SOCKET,
        libc::SO_BUSY_POLL_BUDGET,
        i32::from(packets),
    )
}

/// NAPI id of the device queue of the last packet (`SO_INCOMING_NAPI_ID`, Linux 4.12), which busy polling polls. `None`
/// without one, as over loopback.
pub fn incoming_queue<Fd: AsFd>(socket: Fd) -> io::Result<Option<u32>> {
    let mut bytes = [0; 4];
    get(
        socket,
        libc::SOL_SOCKET,
        libc::SO_INCOMING_NAPI_ID,
        &mut bytes,
    )?;
    Ok(Some(u32::from_ne_bytes(bytes)).filter(|id| *id > 0))
}

/// Datagrams dropped at this socket since it was opened, for lack of buffer space or a wrong checksum (`SO_MEMINFO`,
/// Linux 4.12). The counter of `SO_RXQ_OVFL`, but readable when nothing arrives, so drops after the last delivered
/// datagram are seen.
pub fn socket_drops<Fd: AsFd>(socket: Fd) -> io::Result<u32> {
    let mut words = [0_u8; 4 * SK_MEMINFO_VARS];
    let length = get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut words)?;
    let at = 4 * SK_MEMINFO_DROPS;
    let word = words.get(at..at + 4).filter(|_| length >= at + 4);
    let word = word.and_then(|bytes| bytes.try_into().ok());
    word.map(u32::from_ne_bytes)
        .ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Linux `include/uapi/linux/sock_diag.h`: index of the drop counter and number of words.
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;

/// Reads raw `TCP_INFO` into `bytes`; returns how many bytes the kernel wrote.
pub(crate) fn tcp_info<Fd: AsFd>(socket: Fd, bytes: &mut [u8]) -> io::Result<usize> {
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, bytes)
}

/// Sets an option that is a whole number.
fn set_int<Fd: AsFd>(socket: Fd, level: i32, name: i32, value: i32) -> io::Result<()> {
    set(socket, level, name, &value.to_ne_bytes())
}

/// Sets an option whose value holds no address.
pub(crate) fn set<Fd: AsFd>(socket: Fd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: `value` is a live slice of `length` bytes (taken from it above) for the whole call,
    // and the kernel only reads it; `fd` is open because `socket` borrows it.
    let result = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads an option whose value holds no address; returns how many bytes the kernel wrote.
pub(crate) fn get<Fd: AsFd>(
    socket: Fd,
    level: i32,
    name: i32,
    value: &mut [u8],
) -> io::Result<usize> {
    const _: () = assert!(size_of::<libc::socklen_t>() == 4);
    let fd = socket.as_fd().as_raw_fd();
    let mut length = libc::socklen_t::try_from(value.len()).map_err(io::Error::other)?;
    // SAFETY: `value` is a live exclusive slice of `length` bytes (taken from it above), the most
    // the kernel writes; `length` is a live local; `fd` is open because `socket` borrows it.
    let result =
        unsafe { libc::getsockopt(fd, level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if result == 0 {
        usize::try_from(length).map_err(io::Error::other)
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn control_connections_of_both_families_can_be_marked() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let socket = UdpSocket::bind(address).unwrap();
            set_network_control(&socket).unwrap();
        }
    }

    #[test]
    fn a_listener_s_longest_segment_holds_for_both_ends() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        set_max_segment(&listener, 536).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        for end in [&client, &server] {
            let mut bytes = [0; 4];
            get(end, libc::IPPROTO_TCP, libc::TCP_MAXSEG, &mut bytes).unwrap();
            assert!(i32::from_ne_bytes(bytes) <= 536);
        }
    }

    #[test]
    fn buffers_are_at_least_what_was_asked() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_receive_buffer(&socket, 32_768).unwrap();
        set_send_buffer(&socket, 32_768).unwrap();
        assert!(receive_buffer(&socket).unwrap() >= 32_768);
        assert!(send_buffer(&socket).unwrap() >= 32_768);
    }

    #[test]
    fn drops_at_a_full_socket_are_counted_exactly() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        set_receive_buffer(&receiver, 4096).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        assert_eq!(socket_drops(&receiver).unwrap(), 0);
        for _ in 0..100 {
            sender.send(&[0; 1000]).unwrap();
        }
        receiver.set_nonblocking(true).unwrap();
        let mut arrived = 0;
        while receiver.recv(&mut [0; 1000]).is_ok() {
            arrived += 1;
        }
        assert!(arrived < 100);
        assert_eq!(socket_drops(&receiver).unwrap(), 100 - arrived);
    }

    #[test]
    fn loopback_has_no_queue_to_poll() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(incoming_queue(&socket).unwrap(), None);
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0; 1]).unwrap();
        assert_eq!(incoming_queue(&socket).unwrap(), None);
    }

    #[test]
    fn an_unknown_congestion_control_is_an_error() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(set_congestion_control(&listener, "no-such-control").is_err());
        set_congestion_control(&listener, "reno").unwrap();
        assert_eq!(congestion_control(&listener).unwrap(), "reno");
    }
}
