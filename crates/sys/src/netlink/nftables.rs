//! Chains of nftables attached to a hook of the stack (`NFT_MSG_GETCHAIN`).

use super::answer::{acknowledged, attribute, messages, text};
use netlink_packet_core::{
    Emitable as _, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkHeader,
};
use rustix::net::netlink::NETFILTER;
use std::io;

/// `NFNL_SUBSYS_NFTABLES` in the upper byte of a message's type.
const NFTABLES: u16 = 10 << 8;
const NEW_CHAIN: u16 = NFTABLES | 3;
const GET_CHAIN: u16 = NFTABLES | 4;
/// Bytes of `nfgenmsg`.
const FIXED_PART: usize = 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
/// Maximum number of chains reported.
const MAX_CHAINS: usize = 32;

/// Family, table and name of each chain at a hook in the calling thread's network namespace, as `nft` writes them:
/// `inet filter input`. Needs `CAP_NET_ADMIN`.
pub fn base_chains() -> io::Result<Vec<String>> {
    let mut chains = Vec::new();
    super::dump(Some(NETFILTER), &question(), |datagram| {
        take(datagram, &mut chains)
    })?;
    Ok(chains)
}

/// Request for all chains. The library has no netfilter messages.
fn question() -> [u8; 20] {
    let mut bytes = [0; 20];
    let mut header = NetlinkHeader::default();
    header.length = 20;
    header.message_type = GET_CHAIN;
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    header.emit(&mut bytes);
    bytes
}

/// Adds the chains of one datagram; returns whether it was the last.
pub(super) fn take(datagram: &[u8], chains: &mut Vec<String>) -> io::Result<bool> {
    for message in messages(datagram) {
        match message.message_type() {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => acknowledged(message.payload())?,
            NEW_CHAIN if chains.len() < MAX_CHAINS => chains.extend(base_chain(message.payload())),
            _ => {}
        }
    }
    Ok(false)
}

/// Name of a chain at a hook; `None` for one that is only jumped to.
fn base_chain(body: &[u8]) -> Option<String> {
    let attributes = body.get(FIXED_PART..)?;
    attribute(attributes, NFTA_CHAIN_HOOK)?;
    let family = match body.first()? {
        1 => "inet",
        2 => "ip",
        3 => "arp",
        5 => "netdev",
        7 => "bridge",
        10 => "ip6",
        _ => "other",
    };
    let table = text(attributes, NFTA_CHAIN_TABLE)?;
    let name = text(attributes, NFTA_CHAIN_NAME)?;
    Some(format!("{family} {table} {name}"))
}
