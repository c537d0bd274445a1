//! A VXLAN tunnel (RFC 7348 §5), with an Ethernet header of its own inside.

use super::{Context, ENDS, Header, HeaderKind, HeaderText, Next, Read, number, tunnel_type};
use crate::PROTOCOL_UDP;
use crate::build::Build;
use crate::error::HeaderError;
use std::net::IpAddr;
use std::sync::Arc;

pub(super) struct Vxlan;

/// UDP port of VXLAN.
const PORT: u16 = 4789;
/// Source port of frames of one flow: of the dynamic range, as RFC 7348 recommends.
const SOURCE: u16 = 49_153;
/// The flag of a valid network identifier.
const VALID: u8 = 0x08;
const LENGTH: usize = 8;
/// Largest network identifier.
const MAX_NETWORK: u32 = (1 << 24) - 1;

impl HeaderKind for Vxlan {
    fn name(&self) -> &'static str {
        "vxlan"
    }

    fn value(&self) -> &'static str {
        "VNI"
    }

    fn attributes(&self) -> &'static [&'static str] {
        &ENDS
    }

    fn summary(&self) -> &'static str {
        "IP, UDP to port 4789 without checksum, VXLAN, Ethernet; a and b: addresses of the tunnel (those of the ports)."
    }

    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>, HeaderError> {
        Ok(vec![Arc::new(Tunnel {
            network: number("VNI", given.value()?, 0..=MAX_NETWORK)?,
            ends: given.ends()?,
        })])
    }

    fn read(&self, bytes: &[u8], next: Next) -> Option<Read> {
        let header = bytes
            .first_chunk::<LENGTH>()
            .filter(|_| next == Next::Port(PORT))?;
        (header[0] == VALID).then_some(Read {
            length: LENGTH,
            next: Next::Ethernet,
        })
    }
}

#[derive(Debug)]
struct Tunnel {
    network: u32,
    ends: Option<[IpAddr; 2]>,
}

impl Header for Tunnel {
    fn name(&self) -> &'static str {
        "vxlan"
    }

    fn may_follow(&self, _context: Context) -> bool {
        true
    }

    fn place(&self) -> &'static str {
        "it begins with IP"
    }

    fn context(&self) -> Context {
        Context::Link
    }

    fn is_tunnel(&self) -> bool {
        true
    }

    fn ethertype(&self, build: &Build<'_>) -> u16 {
        tunnel_type(build, self.ends)
    }

    fn write(&self, build: &mut Build<'_>, next: u16) {
        build.ip(build.ends(self.ends), PROTOCOL_UDP);
        // Without checksum, which tunnels may leave out over IPv6 too (RFC 6935).
        build.tunnel_ports.push(build.bytes.len());
        build.udp([SOURCE, PORT]);
        build.bytes.extend([VALID, 0, 0, 0]);
        build.bytes.extend((self.network << 8).to_be_bytes());
        build.ethernet(next);
    }
}
