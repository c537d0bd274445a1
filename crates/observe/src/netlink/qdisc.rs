//! Statistics of the queueing discipline at an interface's root (`RTM_GETQDISC`).

use super::message::{attribute, u32_at};
use super::socket::Question;
use crate::error::ReadError;

const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
/// Bytes of `tcmsg`.
const HEADER: usize = 20;
/// `TC_H_ROOT`.
const ROOT: u32 = u32::MAX;

const TCA_STATS: u16 = 3;
const TCA_STATS2: u16 = 7;
const TCA_STATS_QUEUE: u16 = 3;

/// What a queueing discipline has dropped, held back and holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct QdiscStats {
    /// Packets dropped since it was set up; the kernel counts them in 32 bits.
    pub(crate) dropped: u64,
    /// Times a packet had to wait because the rate was used up, since it was set up; in 32 bits too.
    pub(crate) overlimits: u64,
    /// Bytes waiting in it now.
    pub(crate) backlog_bytes: u64,
}

/// The root of the interface with number `index`.
pub(crate) fn root_qdisc(index: i32) -> Result<QdiscStats, ReadError> {
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[12..16].copy_from_slice(&ROOT.to_ne_bytes());
    let question = Question {
        name: "netlink request for the queueing discipline",
        ask: GET_QDISC,
        expect: NEW_QDISC,
        header: &header,
        attributes: &[],
    };
    question.ask(parse)
}

/// `TCA_STATS2` since Linux 2.6.10, `TCA_STATS` before.
pub(super) fn parse(body: &[u8]) -> Option<QdiscStats> {
    let attributes = body.get(HEADER..)?;
    if let Some(queue) =
        attribute(attributes, TCA_STATS2).and_then(|stats| attribute(stats, TCA_STATS_QUEUE))
    {
        return stats(queue, 8, 4);
    }
    stats(attribute(attributes, TCA_STATS)?, 12, 32)
}

/// Reads drops and backlog, and overlimits at the one offset they have, in `gnet_stats_queue` or `tc_stats`.
fn stats(bytes: &[u8], dropped_at: usize, backlog_at: usize) -> Option<QdiscStats> {
    const OVERLIMITS_AT: usize = 16;
    Some(QdiscStats {
        dropped: u32_at(bytes, dropped_at)?.into(),
        overlimits: u32_at(bytes, OVERLIMITS_AT)?.into(),
        backlog_bytes: u32_at(bytes, backlog_at)?.into(),
    })
}
