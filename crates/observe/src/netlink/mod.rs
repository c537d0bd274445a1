//! Questions to the kernel about interfaces, queueing disciplines and routes (rtnetlink).
//!
//! Each question opens its own socket in the calling thread, so the answer is about that thread's
//! network namespace, and sends one request that has exactly one answer; only nftables' chains are listed,
//! which takes `CAP_NET_ADMIN`. No changes, and else no privileges. Byte layouts are in [`message`].
//!
//! # References
//! - RFC 3549; `netlink(7)`, `rtnetlink(7)`; `linux/rtnetlink.h`, `linux/if_link.h`, `linux/gen_stats.h`

mod link;
mod message;
mod nftables;
mod qdisc;
mod route;
mod socket;

pub use link::Link;
pub(crate) use link::{link_by_index, link_by_name};
pub(crate) use nftables::base_chains;
pub(crate) use qdisc::{QdiscStats, root_qdisc};
pub(crate) use route::outgoing_interface;

/// Has every parser read `bytes`, whole and as each message's body.
#[cfg(fuzzing)]
pub(crate) fn read_all(bytes: &[u8]) {
    let read = |body: &[u8]| {
        let _ = (link::parse(body), qdisc::parse(body), route::parse(body));
    };
    read(bytes);
    message::messages(bytes).for_each(|(_, body)| read(body));
    for kind in [16, 24, 36] {
        let _ = message::answer(bytes, kind, 1);
    }
    let _ = nftables::take(bytes, &mut Vec::new());
}

#[cfg(test)]
mod tests;
