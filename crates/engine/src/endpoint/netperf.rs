//! netperf's datagram streams: nobody says hello, so a stream begins with its first datagram.

use crate::error::EngineError;
use linerate_model::{Clock, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp::wait_readable;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

/// Waits on each socket for the first datagram from address `from` and connects to its sender. That datagram
/// stays: it is of the test. Those of others before it are passed over.
pub(super) fn welcome(
    sockets: &[UdpSocket],
    from: IpAddr,
    timeout: Duration,
) -> Result<(), EngineError> {
    let deadline = MonoClock.now().after(timeout);
    for (stream, socket) in sockets.iter().enumerate() {
        let met = meet(socket, from, deadline)
            .map_err(|error| EngineError::io("take datagrams on", &"a data port", error))?;
        if !met {
            return Err(EngineError::NoPeer {
                stream,
                what: "datagram",
                from,
                waited: timeout,
            });
        }
    }
    Ok(())
}

/// Connects to the sender of the first datagram that comes from `from`; whether it came before `deadline`.
fn meet(socket: &UdpSocket, from: IpAddr, deadline: MonoInstant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_since(MonoClock.now());
        if left.is_zero() {
            return Ok(false);
        }
        if !wait_readable(&[socket.as_fd()], left)?[0] {
            continue;
        }
        let (_, address) = socket.peek_from(&mut [0])?;
        if address.ip().to_canonical() == from {
            socket.connect(address)?;
            return Ok(true);
        }
        socket.recv_from(&mut [0])?;
    }
}
