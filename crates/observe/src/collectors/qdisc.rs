//! Drops, backlog and throttling of the queueing discipline at the root of the test's interface.
//!
//! A classful or multi-queue root adds up what its children dropped. An interface without a
//! queueing discipline (`noqueue`) drops nothing there.

use super::{Collector, record};
use crate::error::ReadError;
use crate::history::Backwards;
use crate::host_view::HostView;
use linerate_model::signals::{QDISC_BACKLOG_BYTES, QDISC_DROPPED, QDISC_OVERLIMITS};
use linerate_sys::netlink::{Netlink, QdiscStats};

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[QDISC_DROPPED, QDISC_OVERLIMITS, QDISC_BACKLOG_BYTES],
    backwards: Backwards::Wrap32,
    read: |host, into| {
        let stats = stats(host);
        let mut put = |signal, field: fn(&QdiscStats) -> u32| {
            record(
                into,
                signal,
                stats
                    .as_ref()
                    .map(|stats| field(stats).into())
                    .map_err(Clone::clone),
            );
        };
        put(QDISC_DROPPED, |stats| stats.dropped);
        put(QDISC_OVERLIMITS, |stats| stats.overlimits);
        put(QDISC_BACKLOG_BYTES, |stats| stats.backlog_bytes);
    },
    ..Collector::new(
        "qdisc",
        "Packets dropped, bytes waiting and times held back in the queueing discipline of the \
         interface.",
    )
};

fn stats(host: &HostView<'_>) -> Result<QdiscStats, ReadError> {
    let link = host.link()?;
    if link.qdisc.as_deref() == Some("noqueue") {
        return Ok(QdiscStats::default());
    }
    Netlink::new()
        .and_then(|mut netlink| netlink.root_qdisc_stats(link.index))
        .map_err(ReadError::netlink("the queueing discipline"))?
        .ok_or_else(|| ReadError::Unfit {
            what: format!("{} has no queueing discipline at its root", link.name),
        })
}
