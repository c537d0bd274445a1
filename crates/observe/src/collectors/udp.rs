//! UDP's counters, IPv4 and IPv6 together, of the calling thread's network namespace.

use super::Collector;
use crate::history::Backwards;
use crate::host_view::HostView;
use crate::snmp::{self, Columns};
use linerate_model::sample::Snapshot;
use linerate_model::signals::{
    UDP_CSUM_ERRORS, UDP_IN_DATAGRAMS, UDP_MEM_ERRORS, UDP_NO_PORTS, UDP_OUT_DATAGRAMS,
    UDP_RCVBUF_ERRORS, UDP_SNDBUF_ERRORS,
};

const COLUMNS: &[Columns] = &[
    columns(UDP_IN_DATAGRAMS, &["InDatagrams"], "Udp6InDatagrams"),
    columns(UDP_OUT_DATAGRAMS, &["OutDatagrams"], "Udp6OutDatagrams"),
    columns(UDP_RCVBUF_ERRORS, &["RcvbufErrors"], "Udp6RcvbufErrors"),
    columns(UDP_SNDBUF_ERRORS, &["SndbufErrors"], "Udp6SndbufErrors"),
    columns(UDP_NO_PORTS, &["NoPorts"], "Udp6NoPorts"),
    columns(UDP_CSUM_ERRORS, &["InCsumErrors"], "Udp6InCsumErrors"),
    columns(UDP_MEM_ERRORS, &["MemErrors"], "Udp6MemErrors"),
];

const fn columns(signal: &'static str, v4: &'static [&'static str], v6: &'static str) -> Columns {
    Columns {
        signal,
        v4,
        v6: Some(v6),
    }
}

pub(super) struct Udp;

impl Collector for Udp {
    fn id(&self) -> &'static str {
        "udp"
    }

    fn summary(&self) -> &'static str {
        "UDP datagrams sent, delivered and dropped at sockets, IPv4 and IPv6 together."
    }

    fn signals(&self) -> &'static [&'static str] {
        &[
            UDP_IN_DATAGRAMS,
            UDP_OUT_DATAGRAMS,
            UDP_RCVBUF_ERRORS,
            UDP_SNDBUF_ERRORS,
            UDP_NO_PORTS,
            UDP_CSUM_ERRORS,
            UDP_MEM_ERRORS,
        ]
    }

    /// A 32-bit kernel counts in 32 bits.
    fn backwards(&self) -> Backwards {
        Backwards::Wrap32
    }

    fn read(&self, host: &HostView<'_>, into: &mut Snapshot) {
        snmp::read(host, (snmp::SNMP, "Udp"), COLUMNS, into);
    }
}
