//! Pure: Ethernet frames with any headers before the payload: made, read and checked.
//!
//! ```text
//!   "vlan=100,mpls=16/17" ── HeaderStack ─┐
//!   addresses of both ends ── Flow ───────┴─► Layout ── payload length ──► Template ── payload ──► frame
//!                                                frame ── walk ──► headers, transport, whether all is whole
//! ```
//! A [`Layout`] knows which bytes of the headers depend on a frame's length, so that every datapath writes only those.
#![forbid(unsafe_code)]

mod build;
pub mod checksum;
mod error;
mod flow;
mod headers;
mod layout;
pub mod neighbour;
mod params;
pub mod pcap;
mod places;
mod stack;
mod transport;
mod walk;

pub use error::HeaderError;
pub use flow::{End, Flow, Way};
pub use headers::{HeaderHelp, help};
pub use layout::{Layout, Template};
pub use params::{ParamError, template_param};
pub use places::TransportAt;
pub use stack::{FrameHeaders, HeaderStack};
pub use transport::Transport;
pub use walk::{Part, Refusal, check, walk};

/// Bytes of an Ethernet header without tags.
pub const ETHERNET_HEADER: usize = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4_HEADER: usize = 20;
/// Bytes of an IPv6 header without extensions.
pub const IPV6_HEADER: usize = 40;
/// Bytes of a UDP header.
pub const UDP_HEADER: usize = 8;
/// Bytes of a TCP header without options.
pub const TCP_HEADER: usize = 20;

/// `EtherType` of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// `EtherType` of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86dd;

/// IP protocol of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// IP protocol of UDP.
pub const PROTOCOL_UDP: u8 = 17;

#[cfg(test)]
mod tests;
