//! Chains of nftables that are attached to a hook of the stack (`NFT_MSG_GETCHAIN`).

use super::message::{Request, attribute, i32_at, messages, text};
use crate::error::ReadError;
use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// `NFNL_SUBSYS_NFTABLES` in the upper byte of a message's type.
const NFTABLES: u16 = 10 << 8;
const NEW_CHAIN: u16 = NFTABLES | 3;
const GET_CHAIN: u16 = NFTABLES | 4;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `NLMSG_DONE`.
const DONE: u16 = 3;
/// Bytes of `nfgenmsg`.
const HEADER: usize = 4;
const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
/// Most chains that are told.
const MAX_CHAINS: usize = 32;
/// Most datagrams that are read: each holds dozens of chains.
const MOST_DATAGRAMS: usize = 64;

/// Family, table and name of each chain at a hook, as `nft` writes them: `inet filter input`.
pub(crate) fn base_chains() -> Result<Vec<String>, ReadError> {
    ask().map_err(|errno| ReadError::Netlink {
        request: "netlink request for the chains of nftables",
        cause: match errno {
            Errno::PERM => "not permitted; it takes CAP_NET_ADMIN (root)".to_owned(),
            errno => errno.to_string(),
        },
    })
}

fn ask() -> Result<Vec<String>, Errno> {
    let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
    let socket = rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, Some(NETFILTER))?;
    let request = Request::new(GET_CHAIN, 1, &[0; HEADER]).of_all().finish();
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &request, SendFlags::empty(), &kernel)?;
    let mut chains = Vec::new();
    let mut buffer = vec![0; 32 * 1024];
    for _ in 0..MOST_DATAGRAMS {
        // The kernel makes each part of its answer when the one before is read: nothing is waited for.
        let (length, _) = rustix::net::recv(&socket, buffer.as_mut_slice(), RecvFlags::DONTWAIT)?;
        if take(&buffer[..length.min(buffer.len())], &mut chains)? {
            break;
        }
    }
    Ok(chains)
}

/// Adds the chains of one datagram; whether it was the last.
pub(super) fn take(datagram: &[u8], chains: &mut Vec<String>) -> Result<bool, Errno> {
    for (kind, body) in messages(datagram) {
        match kind {
            DONE => return Ok(true),
            ERROR => {
                let errno = i32_at(body, 0).and_then(i32::checked_neg).unwrap_or(0);
                return Err(Errno::from_raw_os_error(errno.max(1)));
            }
            NEW_CHAIN if chains.len() < MAX_CHAINS => chains.extend(base_chain(body)),
            _ => {}
        }
    }
    Ok(false)
}

/// `None` for a chain that is only jumped to.
fn base_chain(body: &[u8]) -> Option<String> {
    let attributes = body.get(HEADER..)?;
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
    let table = text(attribute(attributes, NFTA_CHAIN_TABLE)?)?;
    let name = text(attribute(attributes, NFTA_CHAIN_NAME)?)?;
    Some(format!("{family} {table} {name}"))
}
