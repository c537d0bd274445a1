//! UDP's counters, IPv4 and IPv6 together, of the calling thread's network namespace.

use super::Collector;
use crate::history::Backwards;
use crate::snmp::{self, Columns};
use linerate_model::signals::{
    UDP_CSUM_ERRORS, UDP_IN_DATAGRAMS, UDP_MEM_ERRORS, UDP_NO_PORTS, UDP_OUT_DATAGRAMS,
    UDP_RCVBUF_ERRORS, UDP_SNDBUF_ERRORS,
};

const COLUMNS: &[Columns; 7] = &[
    Columns::both(UDP_IN_DATAGRAMS, &["InDatagrams"], "Udp6InDatagrams"),
    Columns::both(UDP_OUT_DATAGRAMS, &["OutDatagrams"], "Udp6OutDatagrams"),
    Columns::both(UDP_RCVBUF_ERRORS, &["RcvbufErrors"], "Udp6RcvbufErrors"),
    Columns::both(UDP_SNDBUF_ERRORS, &["SndbufErrors"], "Udp6SndbufErrors"),
    Columns::both(UDP_NO_PORTS, &["NoPorts"], "Udp6NoPorts"),
    Columns::both(UDP_CSUM_ERRORS, &["InCsumErrors"], "Udp6InCsumErrors"),
    Columns::both(UDP_MEM_ERRORS, &["MemErrors"], "Udp6MemErrors"),
];

pub(super) static COLLECTOR: Collector = Collector {
    signals: const { &snmp::signals(COLUMNS) },
    // 32-bit counters on a 32-bit kernel.
    backwards: Backwards::Wrap32,
    read: |host, into| snmp::read(host, snmp::SNMP, "Udp", COLUMNS, into),
    ..Collector::new(
        "udp",
        "UDP datagrams sent, delivered and dropped at sockets, IPv4 and IPv6 together.",
    )
};
