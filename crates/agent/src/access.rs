//! Which clients `serve` accepts: loopback, private and link-local addresses, what `--allow` adds, and any address with
//! the shared key; or those of `--only` and no others.

use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::UnprovedSending;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A network in CIDR notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether `address` is inside.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                let mask = u32::MAX
                    .checked_shl(32 - u32::from(self.prefix))
                    .unwrap_or(0);
                (u32::from(net) ^ u32::from(ip)) & mask == 0
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => {
                let mask = u128::MAX
                    .checked_shl(128 - u32::from(self.prefix))
                    .unwrap_or(0);
                (u128::from(net) ^ u128::from(ip)) & mask == 0
            }
            _ => false,
        }
    }
}

impl std::str::FromStr for Network {
    type Err = Failure;

    /// Parses `192.0.2.0/24`, `2001:db8::/32`, or a single address. IPv4-mapped IPv6 becomes IPv4, as for clients.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let message =
                format!("\"{text}\" is not a network such as 192.0.2.0/24 or 2001:db8::/32");
            Failure::new(ExitCode::Usage, message)
        };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix: u8 = match prefix {
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(wrong)?,
            None => most,
        };
        match (address, address.to_canonical()) {
            (IpAddr::V6(_), IpAddr::V4(mapped)) => {
                let prefix = prefix.checked_sub(MAPPED_PREFIX).ok_or_else(wrong)?;
                Ok(Self::new(mapped.into(), prefix))
            }
            _ => Ok(Self { address, prefix }),
        }
    }
}

/// Prefix length of `::ffff:0:0/96`, the IPv4-mapped addresses (RFC 4291 §2.5.5.2).
const MAPPED_PREFIX: u8 = 96;

/// Value of `--only`: `private`, or a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Loopback, private and link-local addresses.
    Private,
    /// This network.
    Network(Network),
}

impl Zone {
    fn contains(&self, address: IpAddr) -> bool {
        match self {
            Self::Private => is_near(address.to_canonical()),
            Self::Network(network) => network.contains(address),
        }
    }
}

impl std::str::FromStr for Zone {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        if text == "private" {
            return Ok(Self::Private);
        }
        let network = text.parse().map(Self::Network);
        network
            .map_err(|error: Failure| Failure::new(ExitCode::Usage, format!("{error}, or private")))
    }
}

/// The addresses that clients may come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// Loopback, private and link-local addresses and these networks; from other addresses with the server's key.
    NearAnd(Vec<Network>),
    /// Only these, with or without a key.
    Only(Vec<Zone>),
}

impl Access {
    /// Whether a client at `address` may run tests without a key.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        match self {
            Self::NearAnd(extra) => is_near(address.to_canonical()) || is_in(address, extra),
            Self::Only(zones) => zones.iter().any(|zone| zone.contains(address)),
        }
    }

    /// Whether a client at `address` may authenticate with the server's key.
    pub(crate) fn may_show_key(&self, address: IpAddr) -> bool {
        matches!(self, Self::NearAnd(_)) || self.admits(address)
    }

    /// Why a client at `address` is refused, and how to allow it.
    pub(crate) fn denial(&self, address: IpAddr) -> String {
        let from = address.to_canonical();
        match self {
            Self::NearAnd(_) => format!(
                "{from} is not a loopback, private or link-local address; start the server with --allow {from}, or with --key"
            ),
            Self::Only(_) => format!(
                "{from} is not in the networks that this server is for; start it with --only {from} as well"
            ),
        }
    }
}

impl Network {
    /// All addresses of IPv4 and of IPv6.
    pub const ALL: [Self; 2] = [
        Self::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        Self::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    ];

    /// This host's loopback networks, which no packet from outside can have as source.
    pub const LOOPBACK: [Self; 2] = [
        Self::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8),
        Self::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    ];

    const fn new(address: IpAddr, prefix: u8) -> Self {
        Self { address, prefix }
    }
}

/// Whether `address` is in one of `networks`.
pub(crate) fn is_in(address: IpAddr, networks: &[Network]) -> bool {
    networks.iter().any(|network| network.contains(address))
}

/// How much UDP is sent to a client at `address` that no connection has validated; unlimited in the `allowed` networks.
pub(crate) fn unproved_sending(address: IpAddr, allowed: &[Network]) -> UnprovedSending {
    if is_in(address, allowed) {
        UnprovedSending::AsAsked
    } else {
        UnprovedSending::AtMostReceived
    }
}

/// Loopback, private, unique-local and link-local addresses.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local() || is_unique_local(ip),
    }
}

/// `fc00::/7` (RFC 4193).
fn is_unique_local(ip: Ipv6Addr) -> bool {
    ip.segments()[0] & 0xfe00 == 0xfc00
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn near_and(networks: &[&str]) -> Access {
        let networks = networks.iter().map(|text| text.parse().unwrap());
        Access::NearAnd(networks.collect())
    }

    fn only(zones: &[&str]) -> Access {
        Access::Only(zones.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[test]
    fn near_addresses_are_allowed_and_far_ones_are_not() {
        for near in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.3",
            "169.254.1.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(near_and(&[]).admits(ip(near)), "{near}");
        }
        for far in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!near_and(&[]).admits(ip(far)), "{far}");
        }
    }

    #[test]
    fn allow_widens_by_network() {
        let access = near_and(&["192.0.2.0/24", "2001:db8::/32"]);
        assert!(access.admits(ip("192.0.2.77")));
        assert!(access.admits(ip("::ffff:192.0.2.77")));
        assert!(!access.admits(ip("192.0.3.1")));
        assert!(!access.admits(ip("2001:db9::1")));
        assert!(access.may_show_key(ip("192.0.3.1")));
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(ip("8.8.8.8")));
        assert!("192.0.2.0/33".parse::<Network>().is_err());
        assert!("x/8".parse::<Network>().is_err());
    }

    #[test]
    fn only_closes_to_all_others_even_with_a_key() {
        let access = only(&["private"]);
        assert!(access.admits(ip("10.1.2.3")) && access.admits(ip("::1")));
        assert!(!access.may_show_key(ip("8.8.8.8")));
        let access = only(&["10.0.0.0/8", "2001:db8::/32"]);
        assert!(access.admits(ip("2001:db8::7")));
        // Near, but not named.
        assert!(!access.may_show_key(ip("192.168.0.3")));
        let said = access.denial(ip("::ffff:192.168.0.3"));
        assert!(said.contains("--only 192.168.0.3"), "{said}");
        let error = "here".parse::<Zone>().unwrap_err().to_string();
        assert!(error.contains("or private"), "{error}");
    }

    #[test]
    fn ipv4_written_as_ipv6_is_the_ipv4_network() {
        for (text, inside, outside) in [
            ("::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2"),
            ("::ffff:192.0.2.0/120", "192.0.2.9", "192.0.3.9"),
        ] {
            let network: Network = text.parse().unwrap();
            assert!(network.contains(ip(inside)), "{text}");
            assert!(network.contains(ip(&format!("::ffff:{inside}"))), "{text}");
            assert!(!network.contains(ip(outside)), "{text}");
        }
        // Neither IPv4 nor a network of IPv6 clients.
        assert!("::ffff:10.0.0.0/8".parse::<Network>().is_err());
    }
}
