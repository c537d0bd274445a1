//! The interface by which the kernel would send to an address (`RTM_GETROUTE`).

use super::message::{attribute, i32_at};
use super::socket::Question;
use crate::error::ReadError;
use std::net::IpAddr;

const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;
/// Bytes of `rtmsg`.
const HEADER: usize = 12;

const RTA_DST: u16 = 1;
const RTA_SRC: u16 = 2;
const RTA_OIF: u16 = 4;

/// `AF_INET` and `AF_INET6`, the same on every Linux.
const INET: u8 = 2;
const INET6: u8 = 10;

/// The number of the interface by which packets from `local` to `remote` leave.
pub(crate) fn outgoing_interface(remote: IpAddr, local: IpAddr) -> Result<i32, ReadError> {
    let (family, remote) = octets(remote);
    let (_, local) = octets(local);
    let bits = |octets: &[u8]| u8::try_from(octets.len() * 8).expect("invariant: at most 128");
    let mut header = [0; HEADER];
    header[0] = family;
    header[1] = bits(&remote);
    header[2] = bits(&local);
    let question = Question {
        name: "netlink request for the route",
        ask: GET_ROUTE,
        expect: NEW_ROUTE,
        header: &header,
        attributes: &[(RTA_DST, &remote), (RTA_SRC, &local)],
    };
    question.ask(parse)
}

pub(super) fn parse(body: &[u8]) -> Option<i32> {
    i32_at(attribute(body.get(HEADER..)?, RTA_OIF)?, 0)
}

fn octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (INET, address.octets().to_vec()),
        IpAddr::V6(address) => (INET6, address.octets().to_vec()),
    }
}
