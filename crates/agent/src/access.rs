//! Which clients `serve` accepts: loopback, private and link-local addresses, what `--allow` adds, and
//! from anywhere who holds its key.

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

    /// `192.0.2.0/24`, `2001:db8::/32`, or a single address.
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
        let prefix = match prefix {
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|bits| *bits <= most)
                .ok_or_else(wrong)?,
            None => most,
        };
        Ok(Self { address, prefix })
    }
}

impl Network {
    /// All addresses of IPv4 and of IPv6.
    pub const ALL: [Self; 2] = [
        Self::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        Self::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0),
    ];

    /// This host's own addresses, which no packet from outside can have.
    pub const LOOPBACK: [Self; 2] = [
        Self::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8),
        Self::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128),
    ];

    const fn new(address: IpAddr, prefix: u8) -> Self {
        Self { address, prefix }
    }
}

/// Whether a client at `address` may ask for tests.
pub fn is_allowed(address: IpAddr, extra: &[Network]) -> bool {
    is_near(address.to_canonical()) || extra.iter().any(|network| network.contains(address))
}

/// How much UDP goes to a client at `address` that no connection proves to be there, where so much as it asks for
/// goes to these networks.
pub(crate) fn unproved_sending(address: IpAddr, allowed: &[Network]) -> UnprovedSending {
    if allowed.iter().any(|network| network.contains(address)) {
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
            assert!(is_allowed(ip(near), &[]), "{near}");
        }
        for far in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_allowed(ip(far), &[]), "{far}");
        }
    }

    #[test]
    fn allow_widens_by_network() {
        let nets = [
            "192.0.2.0/24".parse().unwrap(),
            "2001:db8::/32".parse().unwrap(),
        ];
        assert!(is_allowed(ip("192.0.2.77"), &nets));
        assert!(is_allowed(ip("::ffff:192.0.2.77"), &nets));
        assert!(!is_allowed(ip("192.0.3.1"), &nets));
        assert!(is_allowed(ip("2001:db8:1::1"), &nets));
        let all: Network = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(ip("8.8.8.8")));
        assert!("192.0.2.0/33".parse::<Network>().is_err());
        assert!("x/8".parse::<Network>().is_err());
    }
}
