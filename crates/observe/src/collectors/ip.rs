//! IP's counters, IPv4 and IPv6 together, of the calling thread's network namespace.

use super::Collector;
use crate::history::Backwards;
use crate::snmp::{self, Columns};
use linerate_model::signals::{
    IP_FRAG_FAILS, IP_FRAGMENTS, IP_IN_DELIVERS, IP_IN_DISCARDS, IP_IN_RECEIVES, IP_OUT_DISCARDS,
    IP_OUT_NO_ROUTES, IP_REASM_FAILS,
};

const COLUMNS: &[Columns; 8] = &[
    Columns::both(IP_REASM_FAILS, &["ReasmFails"], "Ip6ReasmFails"),
    Columns::both(IP_OUT_NO_ROUTES, &["OutNoRoutes"], "Ip6OutNoRoutes"),
    Columns::both(IP_IN_DISCARDS, &["InDiscards"], "Ip6InDiscards"),
    Columns::both(IP_OUT_DISCARDS, &["OutDiscards"], "Ip6OutDiscards"),
    Columns::both(IP_FRAG_FAILS, &["FragFails"], "Ip6FragFails"),
    Columns::both(IP_FRAGMENTS, &["FragCreates"], "Ip6FragCreates"),
    Columns::both(IP_IN_RECEIVES, &["InReceives"], "Ip6InReceives"),
    Columns::both(IP_IN_DELIVERS, &["InDelivers"], "Ip6InDelivers"),
];

pub(super) static COLLECTOR: Collector = Collector {
    signals: const { &snmp::signals(COLUMNS) },
    // 32-bit counters on a 32-bit kernel.
    backwards: Backwards::Wrap32,
    read: |host, into| snmp::read(host, snmp::SNMP, "Ip", COLUMNS, into),
    ..Collector::new(
        "ip",
        "IP packets that came in, were delivered, discarded, cut into fragments, had no route or \
         could not be put together, IPv4 and IPv6.",
    )
};
