//! TCP's counters, over IPv4 and IPv6, of the calling thread's network namespace.

use super::Collector;
use crate::history::Backwards;
use crate::host_view::HostView;
use crate::snmp::{self, Columns};
use linerate_model::sample::Snapshot;
use linerate_model::signals::{
    TCP_BACKLOG_DROPPED, TCP_DSACKS_RECEIVED, TCP_IN_ERRORS, TCP_IN_SEGMENTS, TCP_LOST_RETRANSMITS,
    TCP_OUT_SEGMENTS, TCP_RCVBUF_DROPPED, TCP_RETRANS_SEGMENTS, TCP_SPURIOUS_TIMEOUTS,
    TCP_TIMEOUTS, TCP_ZERO_WINDOWS,
};

/// Group `Tcp` of `snmp`.
const STANDARD: &[Columns] = &[
    columns(TCP_RETRANS_SEGMENTS, &["RetransSegs"]),
    columns(TCP_IN_SEGMENTS, &["InSegs"]),
    columns(TCP_OUT_SEGMENTS, &["OutSegs"]),
    columns(TCP_IN_ERRORS, &["InErrs"]),
];

/// Group `TcpExt` of `netstat`: Linux's own.
const EXTENDED: &[Columns] = &[
    columns(TCP_TIMEOUTS, &["TCPTimeouts"]),
    columns(TCP_LOST_RETRANSMITS, &["TCPLostRetransmit"]),
    columns(TCP_SPURIOUS_TIMEOUTS, &["TCPSpuriousRTOs"]),
    columns(TCP_DSACKS_RECEIVED, &["TCPDSACKRecv"]),
    columns(TCP_BACKLOG_DROPPED, &["TCPBacklogDrop"]),
    columns(TCP_RCVBUF_DROPPED, &["RcvPruned", "TCPRcvQDrop"]),
    columns(TCP_ZERO_WINDOWS, &["TCPToZeroWindowAdv"]),
];

const fn columns(signal: &'static str, v4: &'static [&'static str]) -> Columns {
    Columns {
        signal,
        v4,
        v6: None,
    }
}

pub(super) struct Tcp;

impl Collector for Tcp {
    fn id(&self) -> &'static str {
        "tcp"
    }

    fn summary(&self) -> &'static str {
        "TCP segments, retransmissions, timeouts and drops of the whole host."
    }

    fn signals(&self) -> &'static [&'static str] {
        &[
            TCP_RETRANS_SEGMENTS,
            TCP_IN_SEGMENTS,
            TCP_OUT_SEGMENTS,
            TCP_IN_ERRORS,
            TCP_TIMEOUTS,
            TCP_LOST_RETRANSMITS,
            TCP_SPURIOUS_TIMEOUTS,
            TCP_DSACKS_RECEIVED,
            TCP_BACKLOG_DROPPED,
            TCP_RCVBUF_DROPPED,
            TCP_ZERO_WINDOWS,
        ]
    }

    /// A 32-bit kernel counts in 32 bits.
    fn backwards(&self) -> Backwards {
        Backwards::Wrap32
    }

    fn read(&self, host: &HostView<'_>, into: &mut Snapshot) {
        snmp::read(host, (snmp::SNMP, "Tcp"), STANDARD, into);
        snmp::read(host, (snmp::NETSTAT, "TcpExt"), EXTENDED, into);
    }
}
