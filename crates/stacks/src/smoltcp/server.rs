//! The server's loop: frames, sockets and the caller, on one thread.

use super::Sizes;
use super::VERSION;
use super::device::Tap;
use super::tcp::Streams;
use super::udp::Flows;
use crate::caller::Caller;
use crate::protocol;
use ::smoltcp::iface::{Config, Interface, SocketSet};
use ::smoltcp::time::Instant;
use ::smoltcp::wire::{EthernetAddress, HardwareAddress, IpCidr};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::stack::StackCounts;
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::wake::wait;
use rustix::stdio::stdin;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// The stack's MAC address.
const MAC: EthernetAddress = EthernetAddress([0x02, 0, 0, 0x4e, 0, 2]);

/// Maximum wait without an event.
const IDLE: Duration = Duration::from_secs(1);

/// Serves on the TAP device on standard input until the caller is gone; `words` come from
/// `StackKind::arguments`.
pub fn serve(words: &[String]) -> Result<()> {
    let Some((ipv4, ipv6, sizes)) = read(words) else {
        let message = "the server on smoltcp is started by stack://smoltcp only";
        return Err(Failure::new(ExitCode::Usage, message));
    };
    Server::new(ipv4, ipv6, sizes)?.run()
}

fn read(words: &[String]) -> Option<(Ipv4Addr, Ipv6Addr, Sizes)> {
    let [ipv4, ipv6, receive, send, datagrams] = words else {
        return None;
    };
    let sizes = Sizes {
        receive: receive.parse().ok()?,
        send: send.parse().ok()?,
        datagrams: datagrams.parse().ok()?,
    };
    Some((ipv4.parse().ok()?, ipv6.parse().ok()?, sizes))
}

struct Server {
    tap: Tap,
    interface: Interface,
    sockets: SocketSet<'static>,
    streams: Streams,
    flows: Flows,
    sizes: Sizes,
}

impl Server {
    fn new(ipv4: Ipv4Addr, ipv6: Ipv6Addr, sizes: Sizes) -> Result<Self> {
        let mut tap = Tap::new();
        let config = Config::new(HardwareAddress::Ethernet(MAC));
        let mut interface = Interface::new(config, &mut tap, at(MonoClock.now()));
        interface.update_ip_addrs(|all| {
            let own = [(IpAddr::V4(ipv4), 24), (IpAddr::V6(ipv6), 64)];
            all.extend(own.map(|(address, bits)| IpCidr::new(address.into(), bits)));
        });
        let mut sockets = SocketSet::new(Vec::new());
        let port = protocol().about().default_port;
        let streams = Streams::new(&mut sockets, port, sizes);
        let flows = Flows::new(&mut sockets, port, sizes).ok_or_else(|| {
            Failure::new(
                ExitCode::Other,
                format!("smoltcp does not bind port {port}"),
            )
        })?;
        Ok(Self {
            tap,
            interface,
            sockets,
            streams,
            flows,
            sizes,
        })
    }

    fn run(&mut self) -> Result<()> {
        let caller = Caller::default();
        self.turn();
        caller.ready()?;
        loop {
            let now = MonoClock.now();
            let next = self.turn().unwrap_or_else(|| now.after(IDLE));
            let waited = wait(
                [stdin(), caller.descriptor()],
                Some(next.min(now.after(IDLE))),
            );
            waited.map_err(|error| {
                Failure::new(ExitCode::Other, format!("waiting for frames: {error}"))
            })?;
            if caller.is_asking() {
                // Include in the counts what arrived before the request.
                self.turn();
                match caller.hear() {
                    Some(_) => caller.counts(&self.counts())?,
                    None => return Ok(()),
                }
            }
        }
    }

    /// Processes received frames, sessions and frames to send; returns when to run again without a frame.
    fn turn(&mut self) -> Option<MonoInstant> {
        let now = MonoClock.now();
        self.interface
            .poll(at(now), &mut self.tap, &mut self.sockets);
        let streams = self.streams.turn(&mut self.sockets, now);
        let flows = self.flows.turn(&mut self.sockets, now);
        self.interface
            .poll(at(now), &mut self.tap, &mut self.sockets);
        let delay = self.interface.poll_delay(at(now), &self.sockets);
        let stack = delay.map(|delay| now.after(Duration::from_micros(delay.total_micros())));
        [streams, flows, stack].into_iter().flatten().min()
    }

    fn counts(&self) -> StackCounts {
        let frames = &self.tap.counts;
        let link = [
            ("recv", frames.received.get()),
            ("xmit", frames.sent.get()),
            ("drop", frames.dropped.get()),
        ];
        let link: BTreeMap<_, _> = link.map(|(name, count)| (name.to_owned(), count)).into();
        let settings = [
            ("tcp_wnd", self.sizes.receive),
            ("tcp_snd_buf", self.sizes.send),
            ("udp_datagrams", self.sizes.datagrams),
        ];
        let settings = settings.map(|(name, value)| (name.to_owned(), value as u64));
        StackCounts {
            version: Some(VERSION.to_owned()),
            source: None,
            settings: settings.into(),
            tcp: Some(self.streams.traffic(&self.sockets)),
            udp: Some(self.flows.traffic()),
            counters: [("link".to_owned(), link)].into(),
            pools: self.streams.pools().into(),
        }
    }
}

/// Converts an instant for smoltcp.
fn at(now: MonoInstant) -> Instant {
    Instant::from_micros(i64::try_from(now.as_nanos() / 1000).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_read_as_it_is_written() {
        let words = ["10.79.1.2", "fd79:0:0:1::2", "5840", "2920", "16"].map(str::to_owned);
        let (ipv4, ipv6, sizes) = read(&words).unwrap();
        assert_eq!(
            (ipv4.to_string(), ipv6.to_string()),
            ("10.79.1.2".to_owned(), "fd79:0:0:1::2".to_owned())
        );
        assert_eq!(
            (sizes.receive, sizes.send, sizes.datagrams),
            (5840, 2920, 16)
        );
        assert_eq!(serve(&words[..4]).unwrap_err().code, ExitCode::Usage);
    }
}
