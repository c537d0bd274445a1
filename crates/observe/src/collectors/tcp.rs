//! TCP's counters, over IPv4 and IPv6, of the calling thread's network namespace.

use super::Collector;
use crate::history::Backwards;
use crate::snmp::{self, Columns};
use linerate_model::signals::{
    TCP_ACTIVE_OPENS, TCP_ATTEMPT_FAILS, TCP_BACKLOG_DROPPED, TCP_DSACKS_RECEIVED, TCP_IN_ERRORS,
    TCP_IN_SEGMENTS, TCP_LISTEN_DROPS, TCP_LISTEN_OVERFLOWS, TCP_LOST_RETRANSMITS,
    TCP_OUT_SEGMENTS, TCP_PASSIVE_OPENS, TCP_RCVBUF_DROPPED, TCP_RETRANS_SEGMENTS,
    TCP_SPURIOUS_TIMEOUTS, TCP_TIMEOUTS, TCP_ZERO_WINDOWS,
};

/// Group `Tcp` of `snmp`.
const STANDARD: &[Columns] = &[
    Columns::new(TCP_RETRANS_SEGMENTS, &["RetransSegs"]),
    Columns::new(TCP_IN_SEGMENTS, &["InSegs"]),
    Columns::new(TCP_OUT_SEGMENTS, &["OutSegs"]),
    Columns::new(TCP_IN_ERRORS, &["InErrs"]),
    Columns::new(TCP_ACTIVE_OPENS, &["ActiveOpens"]),
    Columns::new(TCP_PASSIVE_OPENS, &["PassiveOpens"]),
    Columns::new(TCP_ATTEMPT_FAILS, &["AttemptFails"]),
];

/// Group `TcpExt` of `netstat`: Linux's own.
const EXTENDED: &[Columns] = &[
    Columns::new(TCP_TIMEOUTS, &["TCPTimeouts"]),
    Columns::new(TCP_LOST_RETRANSMITS, &["TCPLostRetransmit"]),
    Columns::new(TCP_SPURIOUS_TIMEOUTS, &["TCPSpuriousRTOs"]),
    Columns::new(TCP_DSACKS_RECEIVED, &["TCPDSACKRecv"]),
    Columns::new(TCP_BACKLOG_DROPPED, &["TCPBacklogDrop"]),
    Columns::new(TCP_RCVBUF_DROPPED, &["RcvPruned", "TCPRcvQDrop"]),
    Columns::new(TCP_ZERO_WINDOWS, &["TCPToZeroWindowAdv"]),
    Columns::new(TCP_LISTEN_OVERFLOWS, &["ListenOverflows"]),
    Columns::new(TCP_LISTEN_DROPS, &["ListenDrops"]),
];

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[
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
        TCP_ACTIVE_OPENS,
        TCP_PASSIVE_OPENS,
        TCP_ATTEMPT_FAILS,
        TCP_LISTEN_OVERFLOWS,
        TCP_LISTEN_DROPS,
    ],
    // 32-bit counters on a 32-bit kernel.
    backwards: Backwards::Wrap32,
    read: |host, into| {
        snmp::read(host, snmp::SNMP, "Tcp", STANDARD, into);
        snmp::read(host, snmp::NETSTAT, "TcpExt", EXTENDED, into);
    },
    ..Collector::new(
        "tcp",
        "TCP segments, retransmissions, timeouts and drops of the whole host.",
    )
};
