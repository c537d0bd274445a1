//! Addresses of single datagrams, as the kernel takes and gives them.

use std::mem::{offset_of, size_of};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Bytes of the longer kind of address.
const LEN: usize = size_of::<libc::sockaddr_in6>();

const _: () = assert!(size_of::<libc::sockaddr_in>() <= LEN && LEN == 28);
const _: () = assert!(
    offset_of!(libc::sockaddr_in, sin_port) == 2 && offset_of!(libc::sockaddr_in, sin_addr) == 4
);
const _: () = assert!(
    offset_of!(libc::sockaddr_in6, sin6_flowinfo) == 4
        && offset_of!(libc::sockaddr_in6, sin6_addr) == 8
        && offset_of!(libc::sockaddr_in6, sin6_scope_id) == 24
);

/// An IP address and port in the kernel's form (`struct sockaddr_in`, `struct sockaddr_in6`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Address {
    bytes: [u8; LEN],
}

impl Address {
    /// Room for an address.
    pub(super) const EMPTY: Self = Self { bytes: [0; LEN] };

    /// Bytes that the kernel takes or gives, of the address's family.
    pub(super) fn used(&self) -> usize {
        if self.family() == family(libc::AF_INET) {
            size_of::<libc::sockaddr_in>()
        } else {
            LEN
        }
    }

    /// Pointer for the kernel to read from.
    pub(super) const fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }

    /// Pointer for the kernel to write at most [`size`](Self::size) bytes to.
    pub(super) const fn as_mut_ptr(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    /// Bytes of the room.
    pub(super) const fn size() -> usize {
        LEN
    }

    fn family(&self) -> [u8; 2] {
        [self.bytes[0], self.bytes[1]]
    }

    /// The address; `None` if it is of another family.
    pub fn decoded(&self) -> Option<SocketAddr> {
        let bytes = &self.bytes;
        let port = u16::from_be_bytes([bytes[2], bytes[3]]);
        if self.family() == family(libc::AF_INET) {
            let ip: [u8; 4] = *bytes[4..].first_chunk()?;
            return Some(SocketAddrV4::new(Ipv4Addr::from(ip), port).into());
        }
        if self.family() != family(libc::AF_INET6) {
            return None;
        }
        let flow = u32::from_ne_bytes(*bytes[4..].first_chunk()?);
        let ip: [u8; 16] = *bytes[8..].first_chunk()?;
        let scope = u32::from_ne_bytes(*bytes[24..].first_chunk()?);
        Some(SocketAddrV6::new(Ipv6Addr::from(ip), port, flow, scope).into())
    }
}

/// A family as it stands in the first two bytes.
fn family(family: libc::c_int) -> [u8; 2] {
    let family: libc::sa_family_t = super::fit(family);
    family.to_ne_bytes()
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut bytes = [0; LEN];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        match address {
            SocketAddr::V4(v4) => {
                bytes[..2].copy_from_slice(&family(libc::AF_INET));
                bytes[4..8].copy_from_slice(&v4.ip().octets());
            }
            SocketAddr::V6(v6) => {
                bytes[..2].copy_from_slice(&family(libc::AF_INET6));
                bytes[4..8].copy_from_slice(&v6.flowinfo().to_ne_bytes());
                bytes[8..24].copy_from_slice(&v6.ip().octets());
                bytes[24..].copy_from_slice(&v6.scope_id().to_ne_bytes());
            }
        }
        Self { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_kernels_form() {
        for text in ["192.0.2.7:9", "[2001:db8::1]:65535", "[fe80::1%3]:1"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(Address::from(address).decoded(), Some(address));
        }
        assert_eq!(Address::EMPTY.decoded(), None);
    }
}
