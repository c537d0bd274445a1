//! Translates a test into zperf commands.

use linerate_model::spec::{Direction, Pace, SocketChoice, Stop, TestSpec, Transport};
use std::net::IpAddr;
use std::time::Duration;

/// Task of the board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// Receives at its port.
    Serve {
        /// TCP or UDP.
        transport: Transport,
        /// The board's port.
        port: u16,
    },
    /// Sends.
    Upload {
        /// TCP or UDP.
        transport: Transport,
        /// Destination: this host.
        to: IpAddr,
        /// This host's port.
        port: u16,
        /// Duration, seconds.
        seconds: u32,
        /// Bytes of each datagram or write.
        size: u32,
        /// L4 payload rate, bit/s; `None` for TCP, which is not paced.
        bps: Option<u64>,
    },
}

/// Longest write that every build of zperf supports; larger ones it silently shortens.
const MAX_WRITE: u64 = 1024;

/// Longest datagram that an Ethernet frame carries over either IP version.
const MAX_DATAGRAM: u64 = 1452;

/// Shortest datagram that its header and the settings after it fit into.
const MIN_DATAGRAM: u64 = 40;

/// Highest rate that its 32-bit numbers hold, bit/s.
const MAX_RATE: u64 = 0x7fff_ffff;

impl Job {
    /// Command that starts the job. Numbers have no suffix: what `K` and `M` mean depends on the release.
    pub(super) fn command(&self) -> String {
        match self {
            Self::Serve { transport, port } => {
                format!("zperf {} download {port}", word(*transport))
            }
            Self::Upload {
                transport,
                to,
                port,
                seconds,
                size,
                bps,
            } => {
                let word = word(*transport);
                let rate = bps.map(|bps| format!(" {bps}")).unwrap_or_default();
                format!("zperf {word} upload {to} {port} {seconds} {size}{rate}")
            }
        }
    }

    /// Command that ends the job; `None`: an upload ends by itself.
    pub(super) fn stop_command(&self) -> Option<String> {
        match self {
            Self::Serve { transport, .. } => {
                Some(format!("zperf {} download stop", word(*transport)))
            }
            Self::Upload { .. } => None,
        }
    }

    /// Duration of the job by itself; a server waits for its client.
    pub(super) fn time(&self) -> Duration {
        match self {
            Self::Serve { .. } => Duration::ZERO,
            Self::Upload { seconds, .. } => Duration::from_secs((*seconds).into()),
        }
    }
}

const fn word(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    }
}

/// What this test needs and zperf does not support; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec) -> Option<&'static str> {
    let is_reverse = spec.direction == Direction::Reverse;
    let ends_in_seconds =
        matches!(spec.stop, Stop::After(time) if time.subsec_nanos() == 0 && !time.is_zero());
    if spec.work.has_round_trips() {
        Some("zperf only moves data one way: use tcp, udp or saturate")
    } else if spec.is_server_slow() {
        Some("zperf cannot imitate a slow application")
    } else if spec.streams != 1 {
        Some("zperf has one stream per test: leave out -P")
    } else if spec.direction == Direction::Duplex {
        Some("zperf sends or receives: measure one direction after the other")
    } else if !spec.warm_up.is_zero() {
        Some("zperf counts from the first packet: leave out the warm-up")
    } else if is_reverse && spec.socket != SocketChoice::default() {
        Some("socket options are linerate's to choose where it sends only: leave them out")
    } else if is_reverse && !ends_in_seconds {
        Some("zperf sends for whole seconds: use a time such as -t 10")
    } else {
        match (spec.transport(), spec.pace()) {
            _ if !is_reverse => None,
            (Transport::Tcp, Pace::At(_)) => {
                Some("zperf sends TCP as fast as it can: leave out the rate")
            }
            (Transport::Udp, Pace::Unpaced) => {
                Some("zperf sends datagrams at a rate: set one, such as -b 10M")
            }
            (Transport::Udp, Pace::At(rate)) if rate.bps() > MAX_RATE => {
                Some("zperf takes no rate over 2.14 Gbit/s: set a lower one")
            }
            (Transport::Udp, Pace::At(_))
                if !(MIN_DATAGRAM..=MAX_DATAGRAM).contains(&spec.payload().get()) =>
            {
                Some("a zperf datagram has 40 to 1452 bytes: set --payload so")
            }
            _ => None,
        }
    }
}

/// The board's job in this (checked) test; it reaches this host at `here`.
pub(super) fn job(spec: &TestSpec, here: IpAddr, port: u16) -> Job {
    let transport = spec.transport();
    if spec.direction != Direction::Reverse {
        return Job::Serve { transport, port };
    }
    let seconds = match spec.stop {
        Stop::After(time) => u32::try_from(time.as_secs()).unwrap_or(u32::MAX),
        Stop::Bytes(_) | Stop::Transactions(_) => 1,
    };
    let most = match transport {
        Transport::Tcp => MAX_WRITE,
        Transport::Udp => MAX_DATAGRAM,
    };
    let size = spec.payload().get().min(most);
    let load = spec.pace().intended_load();
    Job::Upload {
        transport,
        to: here,
        port,
        seconds,
        size: u32::try_from(size).unwrap_or(u32::MAX),
        bps: load
            .filter(|_| transport == Transport::Udp)
            .map(linerate_model::BitRate::bps),
    }
}

#[cfg(test)]
mod tests {
    use super::super::PORT;
    use super::*;
    use linerate_model::{BitRate, ByteCount};
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2));

    fn udp(direction: Direction) -> TestSpec {
        TestSpec {
            direction,
            ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(5_000_000)))
        }
    }

    #[test]
    fn forward_the_board_serves_and_reverse_it_uploads() {
        let serve = job(&udp(Direction::Forward), HERE, PORT);
        assert_eq!(serve.command(), "zperf udp download 5001");
        assert_eq!(
            serve.stop_command().as_deref(),
            Some("zperf udp download stop")
        );
        let upload = job(&udp(Direction::Reverse), HERE, 7);
        assert_eq!(
            upload.command(),
            "zperf udp upload 192.0.2.2 7 10 1448 5000000"
        );
        assert_eq!(upload.stop_command(), None);
        let tcp = TestSpec {
            direction: Direction::Reverse,
            ..TestSpec::tcp_bulk()
        };
        assert_eq!(
            job(&tcp, HERE, 7).command(),
            "zperf tcp upload 192.0.2.2 7 10 1024"
        );
    }

    #[test]
    fn what_zperf_cannot_do_is_refused_with_a_way_out() {
        let good = udp(Direction::Reverse);
        assert_eq!(obstacle(&good), None);
        let bad: [TestSpec; 7] = [
            TestSpec::ping_pong(Transport::Udp),
            TestSpec {
                streams: 2,
                ..good.clone()
            },
            udp(Direction::Duplex),
            TestSpec {
                warm_up: Duration::from_secs(1),
                ..good.clone()
            },
            TestSpec {
                stop: Stop::After(Duration::from_millis(1500)),
                ..good.clone()
            },
            good.clone().with_pace(Pace::Unpaced),
            good.with_payload(ByteCount::new(9000)),
        ];
        for spec in bad {
            let why = obstacle(&spec).unwrap();
            assert!(why.contains(": "), "{why}");
        }
    }
}
