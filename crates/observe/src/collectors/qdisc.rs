//! Drops, backlog and throttling of the queueing discipline at the root of the test's interface.
//!
//! A classful or multi-queue root adds up what its children dropped. An interface without a
//! queueing discipline (`noqueue`) drops nothing there.

use super::{Collector, record};
use crate::error::ReadError;
use crate::history::Backwards;
use crate::host_view::HostView;
use crate::netlink::{self, QdiscStats};
use linerate_model::sample::Snapshot;
use linerate_model::signals::{QDISC_BACKLOG_BYTES, QDISC_DROPPED, QDISC_OVERLIMITS};

pub(super) struct Qdisc;

impl Collector for Qdisc {
    fn id(&self) -> &'static str {
        "qdisc"
    }

    fn summary(&self) -> &'static str {
        "Packets dropped, bytes waiting and times held back in the queueing discipline of the interface."
    }

    fn signals(&self) -> &'static [&'static str] {
        &[QDISC_DROPPED, QDISC_OVERLIMITS, QDISC_BACKLOG_BYTES]
    }

    fn backwards(&self) -> Backwards {
        Backwards::Wrap32
    }

    fn read(&self, host: &HostView<'_>, into: &mut Snapshot) {
        let stats = stats(host);
        let dropped = stats.as_ref().map(|stats| stats.dropped);
        let overlimits = stats.as_ref().map(|stats| stats.overlimits);
        let backlog = stats.as_ref().map(|stats| stats.backlog_bytes);
        record(into, QDISC_DROPPED, dropped.map_err(Clone::clone));
        record(into, QDISC_OVERLIMITS, overlimits.map_err(Clone::clone));
        record(into, QDISC_BACKLOG_BYTES, backlog.map_err(Clone::clone));
    }
}

fn stats(host: &HostView<'_>) -> Result<QdiscStats, ReadError> {
    let link = host.link()?;
    if link.qdisc.as_deref() == Some("noqueue") {
        return Ok(QdiscStats::default());
    }
    netlink::root_qdisc(link.index)
}
