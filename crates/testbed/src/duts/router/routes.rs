//! A router's routes, and who gives them to the kernel: linerate, or a routing daemon whose restart is its reset.
//!
//! # References
//! - BIRD 2 User's Guide: protocols `device`, `kernel` (option `persist`) and `static`

use super::super::cables::Side;
use super::super::forwarder::Counts;
use super::super::keeper::{FOLDER, Keeper, Restartable, Running};
use super::super::programs::Program;
use crate::interfaces::{index_of, netlink};
use crate::{Result, TestbedError};
use linerate_sys::netlink::InterfaceName;
use linerate_sys::netns::NetNamespace;
use std::fmt::{self, Write as _};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

linerate_model::named_enum! {
    /// Who gives a router its routes.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) enum Control {
        /// linerate, before the first frame.
        Static = "static",
        /// BIRD, from its protocol `static`.
        Bird = "bird",
    }
}

/// Routes of a router, beside those to what is joined to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Routes {
    pub(super) control: Control,
    /// Of each family, to networks of which no frame of the tester is.
    pub(super) more: u32,
}

impl Routes {
    /// Those to the tester's networks alone.
    pub(in super::super) const ALONE: Self = Self {
        control: Control::Static,
        more: 0,
    };
}

impl fmt::Display for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { control, more } = self;
        match control {
            Control::Static => write!(f, "{more} more routes"),
            Control::Bird => write!(f, "{more} more routes, all by BIRD"),
        }
    }
}

const BIRD: Program = Program::new("bird", "bird2");
/// What the daemon writes once it has read its configuration.
const STARTED: &str = "<INFO> Started";

/// A network, its prefix length, and the tester's port that it is behind.
type Route = (IpAddr, u8, Side);

impl Routes {
    pub(super) fn programs(self) -> &'static [Program] {
        match self.control {
            Control::Static => &[],
            Control::Bird => &[BIRD],
        }
    }

    /// Both families, the tester's networks first.
    fn all(self) -> impl Iterator<Item = Route> {
        let own = Side::BOTH.into_iter().flat_map(|side| {
            let (ipv4, ipv6) = side.network();
            [(ipv4.into(), 16, side), (ipv6.into(), 64, side)]
        });
        let more = (0..self.more).flat_map(|number| {
            let [_, high, middle, low] = number.to_be_bytes();
            let ipv4 = Ipv4Addr::new(60 + high, middle, low, 0);
            let group = |shift: u32| u16::try_from(number >> shift & 0xffff).unwrap_or(0);
            let ipv6 = Ipv6Addr::new(0xfd00, group(16), group(0), 0, 0, 0, 0, 0);
            [(ipv4.into(), 24, Side::B), (ipv6.into(), 48, Side::B)]
        });
        own.chain(more)
    }

    /// Gives them to the kernel of the calling thread's network, unless a daemon does.
    pub(super) fn add(self, legs: &[InterfaceName; 2]) -> Result<()> {
        if self.control != Control::Static {
            return Ok(());
        }
        let mut netlink = netlink()?;
        let indexes = [
            index_of(&mut netlink, &legs[0])?,
            index_of(&mut netlink, &legs[1])?,
        ];
        for (network, prefix, side) in self.all() {
            let index = match side {
                Side::A => indexes[0],
                Side::B => indexes[1],
            };
            netlink
                .add_route(network, prefix, next_hop(side, network), index)
                .map_err(TestbedError::step(format!(
                    "adding a route to {network}/{prefix}"
                )))?;
        }
        Ok(())
    }

    /// Starts the daemon that gives them, if any; on return the kernel has them.
    pub(super) fn daemon(self, device: &Arc<NetNamespace>) -> Result<Option<Daemon>> {
        match self.control {
            Control::Static => Ok(None),
            Control::Bird => {
                let keeper = Keeper::start(device)?;
                let program = Restartable::Running(keeper.run(move || self.start_bird())?);
                Ok(Some(Daemon {
                    program,
                    keeper,
                    routes: self,
                }))
            }
        }
    }

    /// On the calling thread, which is a keeper's.
    fn start_bird(self) -> Result<Running> {
        let [configuration, socket] =
            ["bird.conf", "bird.ctl"].map(|name| format!("{FOLDER}/{name}"));
        let step = "writing the configuration of bird";
        fs::write(&configuration, self.bird()).map_err(TestbedError::step(step))?;
        let mut command = BIRD.command();
        command.args(["-f", "-c", &configuration, "-s", &socket]);
        let mut program = Running::start("router", BIRD, &mut command)?;
        program.wait_until("to start", |program| program.written(0).contains(STARTED))?;
        let wanted = self.all().count() / 2;
        program.wait_until("to give the kernel its routes", |_| {
            let read = |file| fs::read_to_string(file).unwrap_or_default();
            by_next_hop(&read(IPV4)) >= wanted && entries(&read(IPV6)) >= wanted
        })?;
        Ok(program)
    }

    /// The daemon's configuration. The kernel keeps the routes of one that was killed.
    fn bird(self) -> String {
        let mut text = format!(
            "log stderr all;\nrouter id {};\nprotocol device {{ }}\n",
            Side::A.device_addresses().0
        );
        for (family, is_ipv6) in [("ipv4", false), ("ipv6", true)] {
            let _ = write!(
                text,
                "protocol kernel {{ persist; {family} {{ import none; export all; }}; }}\n\
                 protocol static {{\n{family};\n"
            );
            for (network, prefix, side) in self.all().filter(|route| route.0.is_ipv6() == is_ipv6) {
                let _ = writeln!(
                    text,
                    "route {network}/{prefix} via {};",
                    next_hop(side, network)
                );
            }
            text.push_str("}\n");
        }
        text
    }
}

/// Routes of IPv4, in the calling thread's network.
const IPV4: &str = "/proc/thread-self/net/route";
/// How many there are of IPv6: to read them all would hold up who makes them.
const IPV6: &str = "/proc/thread-self/net/rt6_stats";

/// How many routes of IPv4 have a next hop; those to what is joined have only zeros there.
fn by_next_hop(table: &str) -> usize {
    let has_one = |line: &&str| {
        let hop = line.split_whitespace().nth(2).unwrap_or_default();
        let is_number = hop.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_number && hop.bytes().any(|digit| digit != b'0')
    };
    table.lines().filter(has_one).count()
}

/// Entries of the tables of IPv6, of which a few are the kernel's own.
fn entries(stats: &str) -> usize {
    let entries = stats.split_whitespace().nth(3);
    let entries = entries.and_then(|number| usize::from_str_radix(number, 16).ok());
    entries.unwrap_or(0)
}

/// The tester's address at its port, in the family of `network`.
fn next_hop(side: Side, network: IpAddr) -> IpAddr {
    let (ipv4, ipv6) = side.tester_addresses();
    if network.is_ipv4() {
        ipv4.into()
    } else {
        ipv6.into()
    }
}

/// A routing daemon that runs.
///
/// Field order is teardown order.
pub(super) struct Daemon {
    program: Restartable,
    keeper: Keeper,
    routes: Routes,
}

impl Daemon {
    /// An error if it has ended.
    pub(super) fn check(&mut self) -> Result<()> {
        self.program.get()?.check()
    }

    /// Kills it and starts it again.
    pub(super) fn restart(&mut self) -> Result<Counts> {
        let routes = self.routes;
        self.program
            .restart(&self.keeper, move || routes.start_bird())?;
        Ok(Counts::Kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_told_every_route_of_its_family_once() {
        let routes = Routes {
            control: Control::Bird,
            more: 300,
        };
        let text = routes.bird();
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with("route "))
            .collect();
        let distinct: std::collections::BTreeSet<_> = lines.iter().collect();
        assert_eq!((lines.len(), distinct.len()), (604, 604));
        for line in [
            "route 198.19.0.0/16 via 198.19.0.2;",
            "route 60.1.43.0/24 via 198.19.0.2;",
            "route fd00:0:12b::/48 via 2001:2:0:2::2;",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
    }

    #[test]
    fn routes_are_counted_as_the_kernel_tells_them() {
        let ipv4 = "Iface\tDestination\tGateway \tFlags\n\
                    dut-b\t000013C6\t020013C6\t0003\n\
                    dut-b\t020013C6\t00000000\t0005\n";
        assert_eq!(by_next_hop(ipv4), 1);
        assert_eq!(entries("0008 0005 001a 000c 0000 0007 0000\n"), 12);
    }
}
