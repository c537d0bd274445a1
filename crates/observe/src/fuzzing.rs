//! The parsers of what the kernel says, for the fuzz targets: they run with privileges, and a module or a filter of
//! somebody else's may make the kernel say anything.

use crate::{drops, netlink};

/// Any bytes as the datagram of a netlink answer, and as the body of each message that is understood.
pub fn netlink(bytes: &[u8]) {
    netlink::read_all(bytes);
}

/// Any bytes as the kernel's description of its types.
pub fn btf(bytes: &[u8]) {
    drops::read_btf(bytes);
}
