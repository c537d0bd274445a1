//! The classic tests by name, and where each has what in its request.

use super::block::kind;
use linerate_model::spec::{Direction, Pace, Side, TestSpec, Transport};

linerate_model::named_enum! {
    /// One of the tests.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Test {
        TcpMaerts = "TCP_MAERTS",
        TcpRr = "TCP_RR",
        TcpStream = "TCP_STREAM",
        UdpRr = "UDP_RR",
        UdpStream = "UDP_STREAM",
    }
}

impl Test {
    /// The test that `spec` is.
    pub(super) fn from_spec(spec: &TestSpec) -> Self {
        match (spec.transport(), spec.direction) {
            (Transport::Tcp, _) if spec.work.has_round_trips() => Self::TcpRr,
            (Transport::Udp, _) if spec.work.has_round_trips() => Self::UdpRr,
            (Transport::Udp, _) => Self::UdpStream,
            (Transport::Tcp, Direction::Reverse) => Self::TcpMaerts,
            (Transport::Tcp, _) => Self::TcpStream,
        }
    }

    /// A test of this kind.
    pub(super) fn template(self) -> TestSpec {
        match self {
            Self::TcpMaerts | Self::TcpStream => TestSpec::tcp_bulk(),
            Self::TcpRr => TestSpec::ping_pong(Transport::Tcp),
            Self::UdpRr => TestSpec::ping_pong(Transport::Udp),
            Self::UdpStream => TestSpec::udp_datagrams(Pace::Unpaced),
        }
    }

    /// The type of its request.
    pub(super) const fn kind(self) -> u32 {
        match self {
            Self::TcpMaerts => kind::TCP_MAERTS,
            Self::TcpRr => kind::TCP_RR,
            Self::TcpStream => kind::TCP_STREAM,
            Self::UdpRr => kind::UDP_RR,
            Self::UdpStream => kind::UDP_STREAM,
        }
    }

    /// Whether a block of this type can be its results. netserver leaves the type of its response in most
    /// results, and has then put that into network order twice.
    pub(super) const fn is_results(self, kind: u32) -> bool {
        let (response, results) = (self.kind() + 1, self.kind() + 2);
        kind == results || kind == response || kind.swap_bytes() == response
    }

    /// The side that the server plays.
    pub(super) const fn server_side(self) -> Side {
        match self {
            Self::TcpMaerts => Side::Sender,
            _ => Side::Receiver,
        }
    }

    /// Where the response has its data port.
    pub(super) const fn port_at(self) -> usize {
        match self {
            Self::TcpMaerts | Self::TcpStream => 6,
            Self::TcpRr | Self::UdpRr => 5,
            Self::UdpStream => 4,
        }
    }

    /// Where its request has receive buffer, send buffer, size of messages or blocks (there and back), and time.
    pub(super) const fn places(self) -> Places {
        let (receive_buffer, send_buffer, sizes, time, port) = match self {
            Self::TcpMaerts | Self::TcpStream => (1, 0, [2, 2], 8, 13),
            Self::TcpRr | Self::UdpRr => (0, 1, [6, 7], 11, 14),
            // It sends nothing, so no send buffer is asked for: the place stays zero.
            Self::UdpStream => (0, 16, [1, 1], 8, 11),
        };
        Places {
            receive_buffer,
            send_buffer,
            sizes,
            time,
            port,
        }
    }
}

/// Words of a request that tell tests apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places {
    pub(super) receive_buffer: usize,
    pub(super) send_buffer: usize,
    /// Sizes of what goes to the server and of what comes back.
    pub(super) sizes: [usize; 2],
    pub(super) time: usize,
    /// The port the server is to use; the address family stands after it.
    pub(super) port: usize,
}
