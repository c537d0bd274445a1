//! An interface as the kernel describes it (`RTM_GETLINK`).

use super::message::{attribute, i32_at, text, u16_at, u32_at};
use super::socket::Question;
use crate::error::ReadError;
use std::fmt::Write as _;

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
/// Bytes of `ifinfomsg`.
const HEADER: usize = 16;
/// `ARPHRD_LOOPBACK`.
const LOOPBACK: u16 = 772;

const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_QDISC: u16 = 6;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_INFO_KIND: u16 = 1;

/// An interface of the calling thread's network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number in this namespace.
    pub index: i32,
    /// Its name.
    pub name: String,
    /// Number of the interface that it lies upon or, of a veth, of its other end.
    pub lower_index: Option<u32>,
    /// Hardware address; empty where the device has none.
    pub address: Vec<u8>,
    /// Kind of a virtual device (`veth`, `bridge`, `tun`); `None` for hardware and loopback.
    pub kind: Option<String>,
    /// Whether it is a loopback device.
    pub is_loopback: bool,
    /// Largest L3 packet in bytes.
    pub mtu_bytes: Option<u32>,
    /// Queueing discipline at its root (`fq_codel`, `noqueue`).
    pub qdisc: Option<String>,
    /// Length of its transmit queue in packets.
    pub tx_queue_packets: Option<u32>,
    /// Receive queues of the device.
    pub rx_queues: Option<u32>,
    /// Transmit queues of the device.
    pub tx_queues: Option<u32>,
}

impl Link {
    /// What kind of virtual device this is; `None` if it may have hardware.
    pub fn virtual_kind(&self) -> Option<&str> {
        match &self.kind {
            Some(kind) => Some(kind),
            None => self.is_loopback.then_some("loopback"),
        }
    }

    /// The hardware address as sysfs prints it.
    pub(crate) fn address_text(&self) -> String {
        let mut text = String::new();
        for byte in &self.address {
            let colon = if text.is_empty() { "" } else { ":" };
            write!(text, "{colon}{byte:02x}").expect("invariant: a string takes any text");
        }
        text
    }
}

/// The interface called `name`.
pub(crate) fn link_by_name(name: &str) -> Result<Link, ReadError> {
    let mut with_nul = name.as_bytes().to_vec();
    with_nul.push(0);
    ask(&[0; HEADER], &[(IFLA_IFNAME, &with_nul)])
}

/// The interface with number `index`.
pub(crate) fn link_by_index(index: i32) -> Result<Link, ReadError> {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    ask(&header, &[])
}

fn ask(header: &[u8], attributes: &[(u16, &[u8])]) -> Result<Link, ReadError> {
    let question = Question {
        name: "netlink request for the interface",
        ask: GET_LINK,
        expect: NEW_LINK,
        header,
        attributes,
    };
    question.ask(parse)
}

pub(super) fn parse(body: &[u8]) -> Option<Link> {
    let attributes = body.get(HEADER..)?;
    let number = |kind| u32_at(attribute(attributes, kind)?, 0);
    let word = |kind| text(attribute(attributes, kind)?);
    let info = attribute(attributes, IFLA_LINKINFO).unwrap_or_default();
    Some(Link {
        index: i32_at(body, 4)?,
        name: word(IFLA_IFNAME)?,
        lower_index: number(IFLA_LINK),
        address: attribute(attributes, IFLA_ADDRESS)
            .unwrap_or_default()
            .to_vec(),
        kind: attribute(info, IFLA_INFO_KIND).and_then(text),
        is_loopback: u16_at(body, 2)? == LOOPBACK,
        mtu_bytes: number(IFLA_MTU),
        qdisc: word(IFLA_QDISC),
        tx_queue_packets: number(IFLA_TXQLEN),
        rx_queues: number(IFLA_NUM_RX_QUEUES),
        tx_queues: number(IFLA_NUM_TX_QUEUES),
    })
}
