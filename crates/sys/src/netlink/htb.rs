//! The rate of an `htb` discipline, which stands in its classes.

use super::answer::{acknowledged, attribute, messages, text};
use super::{InterfaceIndex, NETLINK_ROUTE};
use netlink_packet_core::{Emitable as _, NLM_F_DUMP, NLMSG_DONE, NLMSG_ERROR};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcHeader, TcMessage};
use std::io;

/// `linux/pkt_sched.h`: a class's `tc_htb_opt`, and its ceiling where 32 bits do not hold it.
const TCA_HTB_PARMS: u16 = 1;
const TCA_HTB_CEIL64: u16 = 7;
/// The ceiling's rate field in `tc_htb_opt`: that of the second `tc_ratespec`, in bytes per second.
const CEIL: std::ops::Range<usize> = 20..24;
/// `linux/pkt_sched.h`: the discipline's `tc_htb_glob`, whose third field is the class of packets that no filter takes.
const TCA_HTB_INIT: u16 = 2;
const DEFAULT: std::ops::Range<usize> = 8..12;
/// `linux/rtnetlink.h`.
const RTM_NEWTCLASS: u16 = 40;
/// Maximum number of classes read. A discipline with more has no single rate.
const MAX_CLASSES: usize = 256;

/// A class, by handles whose upper half is that of its discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class {
    handle: u32,
    /// The discipline's own handle for one at the top.
    parent: u32,
    /// What it may use, with what it borrows, in bytes per second.
    ceiling: u64,
}

/// What every packet of an interface may use at most whose root is an `htb` with this handle and these `TCA_OPTIONS`, in
/// bytes per second; `None` where that depends on the class of the packet.
pub(super) fn ceiling(
    index: InterfaceIndex,
    handle: u32,
    options: &[u8],
) -> io::Result<Option<u64>> {
    let question = Message::GetTrafficClass(TcMessage::with_index(index.0.cast_signed()));
    let question = super::serialized(&super::request(question, NLM_F_DUMP, 1));
    let mut classes = Vec::new();
    super::dump(NETLINK_ROUTE, &question, |datagram| {
        take(datagram, &mut classes)
    })?;
    Ok(common_ceiling(handle, options, &classes))
}

/// Adds the classes of one datagram; returns whether it was the last.
pub(super) fn take(datagram: &[u8], classes: &mut Vec<Class>) -> io::Result<bool> {
    for message in messages(datagram) {
        match message.message_type() {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => acknowledged(message.payload())?,
            RTM_NEWTCLASS if classes.len() <= MAX_CLASSES => {
                classes.extend(class(message.payload()));
            }
            _ => {}
        }
    }
    Ok(false)
}

fn class(body: &[u8]) -> Option<Class> {
    let header = TcHeader::parse(body).ok()?;
    let attributes = body.get(header.buffer_len()..)?;
    if text(attributes, libc::TCA_KIND)? != "htb" {
        return None;
    }
    let options = attribute(attributes, libc::TCA_OPTIONS)?;
    let long = attribute(options, TCA_HTB_CEIL64).and_then(|bytes| bytes.try_into().ok());
    let ceiling = if let Some(bytes) = long {
        u64::from_ne_bytes(bytes)
    } else {
        let bytes = attribute(options, TCA_HTB_PARMS)?.get(CEIL)?;
        u32::from_ne_bytes(bytes.try_into().ok()?).into()
    };
    Some(Class {
        handle: header.handle.into(),
        parent: header.parent.into(),
        ceiling,
    })
}

/// The ceiling of every class that holds packets, which is the lowest on the way to the top: `None` if they differ, or
/// if packets without a class pass by.
fn common_ceiling(handle: u32, options: &[u8], classes: &[Class]) -> Option<u64> {
    let default = attribute(options, TCA_HTB_INIT)?.get(DEFAULT)?;
    let default = handle | u32::from_ne_bytes(default.try_into().ok()?);
    let leaves = || {
        classes
            .iter()
            .filter(|class| classes.iter().all(|other| other.parent != class.handle))
    };
    if classes.len() > MAX_CLASSES || !leaves().any(|class| class.handle == default) {
        return None;
    }
    let lowest = |leaf: &Class| {
        let above = |class: &Class| {
            classes
                .iter()
                .find(|other| other.handle == class.parent)
                .copied()
        };
        // A tree is no deeper than it has classes; hostile answers may be no tree.
        let way = std::iter::successors(Some(*leaf), above).take(classes.len());
        way.map(|class| class.ceiling).min()
    };
    let mut ceilings = leaves().map(lowest);
    let first = ceilings.next()??;
    ceilings
        .all(|ceiling| ceiling == Some(first))
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::tests::attribute_bytes;
    use super::*;

    const ROOT: u32 = 0x1_0000;

    /// The common ceiling of a discipline with this default class.
    fn ceiling_of(default: u32, classes: &[Class]) -> Option<u64> {
        let words = [3, 10, default, 0, 0].map(u32::to_ne_bytes);
        let options = attribute_bytes(&[(TCA_HTB_INIT, words.as_flattened())]);
        common_ceiling(ROOT, &options, classes)
    }

    fn of(handle: u32, parent: u32, ceiling: u64) -> Class {
        Class {
            handle: ROOT | handle,
            parent: ROOT | parent,
            ceiling,
        }
    }

    #[test]
    fn one_class_gives_the_rate() {
        assert_eq!(ceiling_of(1, &[of(1, 0, 500)]), Some(500));
    }

    #[test]
    fn the_lowest_ceiling_on_the_way_to_the_top_counts() {
        let classes = [of(1, 0, 300), of(0x10, 1, 900), of(0x20, 1, 800)];
        assert_eq!(ceiling_of(0x10, &classes), Some(300));
    }

    #[test]
    fn classes_that_differ_or_a_way_past_them_give_none() {
        let differ = [of(1, 0, 900), of(0x10, 1, 300), of(0x20, 1, 400)];
        assert_eq!(ceiling_of(0x10, &differ), None);
        for default in [0, 7] {
            assert_eq!(ceiling_of(default, &[of(1, 0, 500)]), None);
        }
        assert_eq!(ceiling_of(1, &[]), None);
    }

    #[test]
    fn classes_that_are_no_tree_end() {
        let circle = [of(1, 2, 5), of(2, 1, 4), of(3, 1, 9)];
        assert_eq!(ceiling_of(3, &circle), Some(4));
    }

    #[test]
    fn a_class_is_read_from_its_parameters() {
        let body = |attributes: &[(u16, &[u8])]| {
            let words = [0, 3, ROOT | 1, ROOT, 0].map(u32::to_ne_bytes);
            let mut body = words.as_flattened().to_vec();
            body.extend(attribute_bytes(&[
                (libc::TCA_KIND, b"htb\0"),
                (libc::TCA_OPTIONS, &attribute_bytes(attributes)),
            ]));
            body
        };
        let mut parameters = [0; 44];
        parameters[CEIL].copy_from_slice(&37_500_000_u32.to_ne_bytes());
        let short = [(TCA_HTB_PARMS, &parameters[..])];
        assert_eq!(class(&body(&short)), Some(of(1, 0, 37_500_000)));
        let rate = 5_000_000_000_u64.to_ne_bytes();
        let long = [(TCA_HTB_PARMS, &parameters[..]), (TCA_HTB_CEIL64, &rate)];
        assert_eq!(class(&body(&long)), Some(of(1, 0, 5_000_000_000)));
        assert_eq!(class(&body(&[(TCA_HTB_PARMS, &[0; 9])])), None);
        assert_eq!(class(&body(&short)[..22]), None);
    }
}
