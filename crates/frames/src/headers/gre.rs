//! A GRE tunnel (RFC 2784, key RFC 2890).

use super::{Context, ENDS, Header, HeaderKind, HeaderText, Next, Read, number, tunnel_type};
use crate::build::Build;
use crate::error::HeaderError;
use std::net::IpAddr;
use std::sync::Arc;

pub(super) struct Gre;

const PROTOCOL: u8 = 47;
/// Flags in the first 16 bits: a checksum, a key, a number follow.
const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const NUMBER: u16 = 0x1000;
/// Bits that must be zero: other flags, and the version.
const RESERVED: u16 = !(CHECKSUM | KEY | NUMBER);
/// Type of Ethernet frames in a tunnel.
const TRANSPARENT_ETHERNET: u16 = 0x6558;

impl HeaderKind for Gre {
    fn name(&self) -> &'static str {
        "gre"
    }

    fn value(&self) -> &'static str {
        "[KEY]"
    }

    fn attributes(&self) -> &'static [&'static str] {
        &ENDS
    }

    fn summary(&self) -> &'static str {
        "IP and GRE, with a key if there is a value; a and b: addresses of the tunnel (those of the ports)."
    }

    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>, HeaderError> {
        let key = given.value().ok();
        let key = key
            .map(|text| number("KEY", text, 0..=u32::MAX))
            .transpose()?;
        Ok(vec![Arc::new(Tunnel {
            key,
            ends: given.ends()?,
        })])
    }

    fn read(&self, bytes: &[u8], next: Next) -> Option<Read> {
        let header = bytes
            .first_chunk::<4>()
            .filter(|_| next == Next::Protocol(PROTOCOL))?;
        let flags = u16::from_be_bytes([header[0], header[1]]);
        let parts = [CHECKSUM, KEY, NUMBER].map(|flag| usize::from(flags & flag != 0));
        let length = header.len() + 4 * parts.iter().sum::<usize>();
        let is_known = flags & RESERVED == 0 && length <= bytes.len();
        is_known.then_some(Read {
            length,
            next: match u16::from_be_bytes([header[2], header[3]]) {
                TRANSPARENT_ETHERNET => Next::Ethernet,
                other => Next::Type(other),
            },
        })
    }
}

#[derive(Debug)]
struct Tunnel {
    key: Option<u32>,
    ends: Option<[IpAddr; 2]>,
}

impl Header for Tunnel {
    fn name(&self) -> &'static str {
        "gre"
    }

    fn may_follow(&self, _context: Context) -> bool {
        true
    }

    fn place(&self) -> &'static str {
        "it begins with IP"
    }

    fn context(&self) -> Context {
        Context::Packet
    }

    fn is_tunnel(&self) -> bool {
        true
    }

    fn ethertype(&self, build: &Build<'_>) -> u16 {
        tunnel_type(build, self.ends)
    }

    fn write(&self, build: &mut Build<'_>, next: u16) {
        build.ip(build.ends(self.ends), PROTOCOL);
        let flags = self.key.map_or(0, |_| KEY);
        build.bytes.extend(flags.to_be_bytes());
        build.bytes.extend(next.to_be_bytes());
        build
            .bytes
            .extend(self.key.iter().flat_map(|key| key.to_be_bytes()));
    }
}
