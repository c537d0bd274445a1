//! The path's MTU before a test, as the senders' systems learn it: a router that carries less answers a datagram of full
//! length (RFC 1191, RFC 8201).
//!
//! Does not find a path on which nobody answers.

use crate::client::Client;
use anyhow::Result;
use linerate_model::sample::PathMtu;
use linerate_model::spec::{Direction, Observe, Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, Clock as _};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::sockopt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::time::Duration;

/// Discards what it gets (RFC 863); where nobody listens, the host's system does.
const DISCARD_PORT: u16 = 9;
/// Sizes that are tried: each router that carries less than the one before answers once.
const MAX_ROUNDS: usize = 3;
/// How long a router's answer is waited for: longer than most paths' round trips.
const ANSWER_TIME: Duration = Duration::from_millis(300);
/// Times that a size is sent in this time, since datagrams are lost.
const COPIES: u32 = 3;
/// How long the other end sends to find its path, and its datagrams per second.
const TEST_TIME: Duration = Duration::from_millis(400);
const TEST_RATE: u64 = 50;

impl Client {
    /// The smallest MTU on the paths of the datagrams of `spec`, each as its sender's system knows it; `None` where no
    /// sender tells. Of a peer that is another tool, its path is taken as wide as the one to it.
    pub fn path_mtu(
        &mut self,
        spec: &TestSpec,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<PathMtu>> {
        let is_own = spec.direction != Direction::Reverse || self.is_foreign();
        let is_told = spec.direction != Direction::Forward && !self.is_foreign();
        let own = is_own.then(|| to_host(self.remote(), spec.payload()).ok());
        let told = if is_told {
            self.told_by_peer(spec, go_on)?
        } else {
            None
        };
        let both = own.flatten().into_iter().chain(told);
        Ok(both.min_by_key(|path| path.payload_bytes))
    }

    /// What the peer's system knows of the path to this host, once it has sent some datagrams of this length.
    fn told_by_peer(
        &mut self,
        spec: &TestSpec,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<PathMtu>> {
        let mut payload = spec.payload();
        let mut known = None;
        for _ in 0..MAX_ROUNDS {
            let bits = payload.get().saturating_mul(8 * TEST_RATE);
            let mut short = TestSpec {
                direction: Direction::Reverse,
                streams: 1,
                stop: Stop::After(TEST_TIME),
                warm_up: Duration::ZERO,
                observe: Observe::None,
                ..spec.clone().with_pace(Pace::At(BitRate::from_bps(bits)))
            };
            short.work.set_payload(payload);
            short.fit_interval();
            let outcome = self.run(&short, &mut |_| go_on())?;
            let senders = outcome
                .directions
                .iter()
                .filter_map(|way| way.sender.as_ref());
            let streams = senders.flat_map(|report| &report.streams);
            let told = streams.filter_map(|stream| stream.path.path_mtu);
            let now = told.min_by_key(|path| path.payload_bytes);
            let is_new = now.is_some_and(|path| path.payload_bytes < payload);
            known = now.or(known);
            match now {
                Some(path) if is_new => payload = path.payload_bytes,
                _ => break,
            }
        }
        Ok(known)
    }
}

/// What this host's system knows of the path to `host`, once datagrams of at most `payload` have gone to a port that
/// discards them.
fn to_host(host: IpAddr, payload: ByteCount) -> io::Result<PathMtu> {
    let host = host.to_canonical();
    let any = match host {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((host, DISCARD_PORT))?;
    let path = || -> io::Result<PathMtu> {
        let bytes = sockopt::path_mtu(&socket, host.is_ipv4())?;
        Ok(PathMtu::new(bytes.into(), host.is_ipv4()))
    };
    let mut known = path()?;
    for _ in 0..MAX_ROUNDS {
        let size = payload.min(known.payload_bytes).get();
        let datagram = vec![0; usize::try_from(size).map_err(io::Error::other)?];
        for _ in 0..COPIES {
            // It fails where the answer to the one before has come: the path's MTU tells more.
            drop(socket.send(&datagram));
            sleep_until(MonoClock.now().after(ANSWER_TIME / COPIES));
        }
        let now = path()?;
        if now == known {
            break;
        }
        known = now;
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_carries_any_usual_payload_in_one_packet() {
        for host in [
            IpAddr::from(Ipv4Addr::LOCALHOST),
            IpAddr::from(Ipv6Addr::LOCALHOST),
        ] {
            let payload = ByteCount::new(1448);
            // A host without IPv6 has no such path.
            let Ok(path) = to_host(host, payload) else {
                assert!(host.is_ipv6());
                continue;
            };
            assert_eq!(path.packets_of(payload), Some(1));
        }
    }
}
