//! Who runs a server: hears of its events, gives it another configuration, and may have opened its sockets.

use crate::AgentPlan;
use linerate_model::agent::AgentEvent;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::shared::{bind_both, bind_shared, share};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

/// Who runs a server.
pub trait Owner {
    /// Something has happened.
    fn event(&mut self, event: &AgentEvent);

    /// Called once the ports are open, and at least each second from then on, also when the server is about to stop; the
    /// configuration for sessions that begin from here on, if there is another.
    fn turn(&mut self) -> Option<AgentPlan> {
        None
    }
}

/// An owner that only listens.
pub(crate) struct Listener<'a>(pub(crate) &'a mut dyn FnMut(&AgentEvent));

impl Owner for Listener<'_> {
    fn event(&mut self, event: &AgentEvent) {
        (self.0)(event);
    }
}

/// Sockets that were opened before the server started, such as those of systemd. Each is for the protocol of its port.
#[derive(Debug, Default)]
pub struct Sockets {
    /// They listen.
    pub tcp: Vec<TcpListener>,
    /// They are bound, and not connected.
    pub udp: Vec<UdpSocket>,
}

impl Sockets {
    /// The socket that listens at the port of `wanted`, or a new one.
    pub(crate) fn listener(&mut self, wanted: SocketAddr) -> io::Result<TcpListener> {
        match self.tcp_at(wanted.port()) {
            Some(listener) => Ok(listener),
            None => TcpListener::bind(wanted),
        }
    }

    /// A listener and a shared UDP socket at one port.
    pub(crate) fn both(&mut self, wanted: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
        let at = |socket: &UdpSocket| port_of(socket.local_addr()) == Some(wanted.port());
        let udp = self.udp.iter().position(at);
        let udp = udp.map(|at| self.udp.swap_remove(at));
        match (self.tcp_at(wanted.port()), udp) {
            (None, None) => bind_both(wanted),
            (tcp, Some(udp)) => {
                share(&udp)?;
                Ok((tcp.map_or_else(|| TcpListener::bind(wanted), Ok)?, udp))
            }
            (Some(tcp), None) => Ok((tcp, bind_shared(wanted)?)),
        }
    }

    fn tcp_at(&mut self, port: u16) -> Option<TcpListener> {
        let at = |socket: &TcpListener| port_of(socket.local_addr()) == Some(port);
        let at = self.tcp.iter().position(at)?;
        Some(self.tcp.swap_remove(at))
    }

    /// Refuses sockets that no protocol has taken: their clients would wait for ever.
    pub(crate) fn must_be_used(&self) -> Result<(), Failure> {
        let tcp = self.tcp.iter().map(|one| ("TCP", one.local_addr()));
        let udp = self.udp.iter().map(|one| ("UDP", one.local_addr()));
        let Some((transport, address)) = tcp.chain(udp).next() else {
            return Ok(());
        };
        let address = address.map_or_else(|error| error.to_string(), |at| at.to_string());
        let message = format!(
            "a socket for {transport} at {address} was handed over, but nothing is served there: give --listen or --speak its port, or take it out of the socket unit"
        );
        Err(Failure::new(ExitCode::Usage, message))
    }
}

fn port_of(address: io::Result<SocketAddr>) -> Option<u16> {
    address.ok().map(|address| address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: &str = "127.0.0.1:0";

    #[test]
    fn a_socket_goes_to_who_serves_its_port_and_one_that_is_left_is_named() {
        let (tcp, udp) = bind_both(ANY.parse().unwrap()).unwrap();
        let address = tcp.local_addr().unwrap();
        let mut sockets = Sockets {
            tcp: vec![TcpListener::bind(ANY).unwrap(), tcp],
            udp: vec![udp],
        };
        let (tcp, udp) = sockets.both(address).unwrap();
        assert_eq!(tcp.local_addr().unwrap(), address);
        assert_eq!(udp.local_addr().unwrap(), address);
        // Streams of a test are bound to the same port.
        bind_shared(address).unwrap();
        let left = sockets.tcp[0].local_addr().unwrap();
        let refused = sockets.must_be_used().unwrap_err();
        assert!(refused.message.contains(&left.to_string()), "{refused}");
        sockets.listener(left).unwrap();
        sockets.must_be_used().unwrap();
    }
}
