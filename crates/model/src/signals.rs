//! Names of the counters and gauges that collectors write and rules read.
//!
//! Counters are cumulative and unsigned since boot (or since the socket was opened); all others
//! are gauges. Per-core signals are made by [`per_core`].

/// A signal's kind: how two readings of it are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// Never decreases; the difference of two readings is what happened between them.
    Counter,
    /// A state; only its readings have a meaning.
    Gauge,
}

/// A signal's name, kind and meaning.
#[derive(Debug, Clone, Copy)]
pub struct SignalDef {
    /// Dotted name with its unit as suffix where it has one.
    pub name: &'static str,
    /// Counter or gauge.
    pub kind: SignalKind,
    /// Meaning, side and source, one sentence.
    pub meaning: &'static str,
}

macro_rules! signals {
    ($($(#[doc = $doc:literal])+ $konst:ident = $name:literal, $kind:ident;)+) => {
        $($(#[doc = $doc])+ pub const $konst: &str = $name;)+
        /// Every signal that has one reading per host. Per-core signals come from [`per_core`].
        pub static ALL: &[SignalDef] = &[
            $(SignalDef { name: $name, kind: SignalKind::$kind, meaning: concat!($($doc),+) },)+
        ];
    };
}

signals! {
    /// Whole host, time in user mode at usual priority or above (`/proc/stat` user).
    CPU_USER_NS = "cpu.user_ns", Counter;
    /// Whole host, time in kernel mode outside interrupts (`/proc/stat` system).
    CPU_SYSTEM_NS = "cpu.system_ns", Counter;
    /// Whole host, time in soft interrupts (`/proc/stat` softirq).
    CPU_SOFTIRQ_NS = "cpu.softirq_ns", Counter;
    /// Whole host, time in hard interrupts (`/proc/stat` irq).
    CPU_IRQ_NS = "cpu.irq_ns", Counter;
    /// Whole host, time idle, waiting for I/O, or left to programs of low priority (`/proc/stat` idle + iowait + nice).
    CPU_IDLE_NS = "cpu.idle_ns", Counter;
    /// Whole host, the part of the idle time in which programs of low priority ran (`/proc/stat` nice).
    CPU_NICE_NS = "cpu.nice_ns", Counter;
    /// Whole host, time taken by the hypervisor (`/proc/stat` steal).
    CPU_STEAL_NS = "cpu.steal_ns", Counter;
    /// Hardware interrupts served, all cores (`/proc/stat` `intr`).
    CPU_INTERRUPTS = "cpu.interrupts", Counter;
    /// Context switches, all cores (`/proc/stat` `ctxt`).
    CPU_CONTEXT_SWITCHES = "cpu.context_switches", Counter;
    /// Interrupts of the test's own interface, all cores; absent where no line names it
    /// (`/proc/interrupts`).
    NIC_INTERRUPTS = "nic.interrupts", Counter;
    /// Runs of the receive soft interrupt, all cores and interfaces (`/proc/softirqs` `NET_RX`).
    SOFTIRQ_NET_RX = "softirq.net_rx", Counter;
    /// Runs of the transmit soft interrupt, all cores and interfaces (`/proc/softirqs` `NET_TX`).
    SOFTIRQ_NET_TX = "softirq.net_tx", Counter;
    /// Times this process's control group was stopped by its CPU quota (cgroup `cpu.stat` `nr_throttled`).
    CGROUP_THROTTLED = "cgroup.throttled", Counter;
    /// Time this process's control group was stopped by its CPU quota (cgroup `cpu.stat`).
    CGROUP_THROTTLED_NS = "cgroup.throttled_ns", Counter;
    /// UDP datagrams delivered to sockets (`/proc/net/snmp` Udp `InDatagrams`, and Udp6).
    UDP_IN_DATAGRAMS = "udp.in_datagrams", Counter;
    /// UDP datagrams sent (`/proc/net/snmp` Udp `OutDatagrams`, and Udp6).
    UDP_OUT_DATAGRAMS = "udp.out_datagrams", Counter;
    /// UDP datagrams dropped because a socket's receive buffer was full (Udp `RcvbufErrors`, and Udp6).
    UDP_RCVBUF_ERRORS = "udp.rcvbuf_errors", Counter;
    /// UDP datagrams not sent because a send buffer or queue was full (Udp `SndbufErrors`, and Udp6).
    UDP_SNDBUF_ERRORS = "udp.sndbuf_errors", Counter;
    /// UDP datagrams for a port that nobody has open (Udp `NoPorts`, and Udp6).
    UDP_NO_PORTS = "udp.no_ports", Counter;
    /// UDP datagrams dropped for a wrong checksum (Udp `InCsumErrors`, and Udp6).
    UDP_CSUM_ERRORS = "udp.csum_errors", Counter;
    /// UDP datagrams dropped because all sockets together held more than `udp_mem` allows (Udp `MemErrors`, and Udp6).
    UDP_MEM_ERRORS = "udp.mem_errors", Counter;
    /// TCP segments retransmitted (`/proc/net/snmp` Tcp `RetransSegs`).
    TCP_RETRANS_SEGMENTS = "tcp.retrans_segments", Counter;
    /// TCP segments received, those with errors included (Tcp `InSegs`).
    TCP_IN_SEGMENTS = "tcp.in_segments", Counter;
    /// TCP segments sent, retransmissions excluded (Tcp `OutSegs`).
    TCP_OUT_SEGMENTS = "tcp.out_segments", Counter;
    /// TCP segments received in error, such as a wrong checksum (Tcp `InErrs`).
    TCP_IN_ERRORS = "tcp.in_errors", Counter;
    /// TCP connections that programs of this host began to open (Tcp `ActiveOpens`).
    TCP_ACTIVE_OPENS = "tcp.active_opens", Counter;
    /// TCP connections that peers opened to this host (Tcp `PassiveOpens`).
    TCP_PASSIVE_OPENS = "tcp.passive_opens", Counter;
    /// TCP connections that failed before they were open, on either side (Tcp `AttemptFails`).
    TCP_ATTEMPT_FAILS = "tcp.attempt_fails", Counter;
    /// Connections not queued since as many as may be waited to be accepted (`TcpExt` `ListenOverflows`).
    TCP_LISTEN_OVERFLOWS = "tcp.listen_overflows", Counter;
    /// Segments of new connections dropped at a listening socket, for a full queue or another reason (`TcpExt` `ListenDrops`).
    TCP_LISTEN_DROPS = "tcp.listen_drops", Counter;
    /// Expired TCP retransmission timers (`TcpExt` `TCPTimeouts`).
    TCP_TIMEOUTS = "tcp.timeouts", Counter;
    /// TCP retransmissions that were lost again (`TcpExt` `TCPLostRetransmit`).
    TCP_LOST_RETRANSMITS = "tcp.lost_retransmits", Counter;
    /// TCP timeouts found to have been needless (`TcpExt` `TCPSpuriousRTOs`).
    TCP_SPURIOUS_TIMEOUTS = "tcp.spurious_timeouts", Counter;
    /// Duplicate SACKs received: the peer got a segment twice (`TcpExt` `TCPDSACKRecv`).
    TCP_DSACKS_RECEIVED = "tcp.dsacks_received", Counter;
    /// TCP segments dropped because the socket's backlog was full (`TcpExt` `TCPBacklogDrop`).
    TCP_BACKLOG_DROPPED = "tcp.backlog_dropped", Counter;
    /// TCP segments dropped because the receive buffer was full (`TcpExt` `RcvPruned` + `TCPRcvQDrop`).
    TCP_RCVBUF_DROPPED = "tcp.rcvbuf_dropped", Counter;
    /// Times this host's TCP closed its receive window to zero (`TcpExt` `TCPToZeroWindowAdv`).
    TCP_ZERO_WINDOWS = "tcp.zero_windows", Counter;
    /// IP packets whose fragments could not be put together (Ip `ReasmFails`, and Ip6).
    IP_REASM_FAILS = "ip.reasm_fails", Counter;
    /// IP packets not forwarded or sent for want of a route (Ip `OutNoRoutes`, and Ip6).
    IP_OUT_NO_ROUTES = "ip.out_no_routes", Counter;
    /// Good IP packets received but dropped by this host, such as for want of memory (Ip `InDiscards`, and Ip6).
    IP_IN_DISCARDS = "ip.in_discards", Counter;
    /// Good IP packets that this host did not send, such as for a full queue (Ip `OutDiscards`, and Ip6).
    IP_OUT_DISCARDS = "ip.out_discards", Counter;
    /// IP packets that came in, whatever became of them (Ip `InReceives`, and Ip6).
    IP_IN_RECEIVES = "ip.in_receives", Counter;
    /// IP packets given to UDP, TCP and the other protocols (Ip `InDelivers`, and Ip6).
    IP_IN_DELIVERS = "ip.in_delivers", Counter;
    /// IP packets too long for the path that could not be fragmented (Ip `FragFails`, and Ip6).
    IP_FRAG_FAILS = "ip.frag_fails", Counter;
    /// IP fragments that this host made of packets longer than the path takes (Ip `FragCreates`, and Ip6).
    IP_FRAGMENTS = "ip.fragments", Counter;
    /// Packets processed by the softnet backlog, all cores (`/proc/net/softnet_stat` column 1).
    SOFTNET_PROCESSED = "softnet.processed", Counter;
    /// Packets dropped because the softnet backlog was full, all cores (column 2).
    SOFTNET_DROPPED = "softnet.dropped", Counter;
    /// Times the softnet loop gave up with work left, all cores (column 3).
    SOFTNET_TIME_SQUEEZE = "softnet.time_squeeze", Counter;
    /// Packets received by the test's interface (sysfs or netlink statistics).
    NIC_RX_PACKETS = "nic.rx_packets", Counter;
    /// Packets sent by the test's interface.
    NIC_TX_PACKETS = "nic.tx_packets", Counter;
    /// Bytes received by the test's interface, MAC header included.
    NIC_RX_BYTES = "nic.rx_bytes", Counter;
    /// Bytes sent by the test's interface, MAC header included.
    NIC_TX_BYTES = "nic.tx_bytes", Counter;
    /// Packets that the test's interface received but dropped (`rx_dropped` + `rx_missed_errors` + `rx_fifo_errors`).
    NIC_RX_DROPPED = "nic.rx_dropped", Counter;
    /// Packets that the test's interface did not send (`tx_dropped` + `tx_fifo_errors`).
    NIC_TX_DROPPED = "nic.tx_dropped", Counter;
    /// Receive errors of the test's interface (`rx_errors`).
    NIC_RX_ERRORS = "nic.rx_errors", Counter;
    /// Frames that the test's interface received with a wrong frame check sequence (sysfs `rx_crc_errors`).
    NIC_RX_CRC_ERRORS = "nic.rx_crc_errors", Counter;
    /// Number of the test's interface in its network namespace.
    NIC_INDEX = "nic.index", Gauge;
    /// Number of the interface at the other end of the test's, in that one's network namespace; absent unless it is a veth.
    NIC_PEER_INDEX = "nic.peer_index", Gauge;
    /// Packets dropped by the queueing discipline of the test's interface.
    QDISC_DROPPED = "qdisc.dropped", Counter;
    /// Times the queueing discipline of the test's interface held packets back because its rate was used up (`overlimits`).
    QDISC_OVERLIMITS = "qdisc.overlimits", Counter;
    /// Bytes now waiting in the queueing discipline of the test's interface.
    QDISC_BACKLOG_BYTES = "qdisc.backlog_bytes", Gauge;
    /// Speed of the test's interface in bit/s; absent where the device has none (veth, loopback).
    LINK_SPEED_BPS = "link.speed_bps", Gauge;
    /// Times the link of the test's interface came or went (sysfs `carrier_changes`).
    LINK_CARRIER_CHANGES = "link.carrier_changes", Counter;
    /// Transfers between the test's interface and its PHY that failed (sysfs `mdio_bus` `errors_N`).
    PHY_MDIO_ERRORS = "phy.mdio_errors", Counter;
    /// Temperature of the hottest sensor, in thousandths of a degree Celsius (sysfs `thermal`, `hwmon`).
    THERMAL_HOTTEST_MILLICELSIUS = "thermal.hottest_millicelsius", Gauge;
    /// Thermal or frequency state: current frequency of the fastest core in Hz.
    CPU_FREQUENCY_HZ = "cpu.frequency_hz", Gauge;
}

/// Where a snapshot's `missing` says why a profile that was asked for could not be made.
pub const PROFILE: &str = "profile";

/// The name of a per-core CPU signal: `per_core(3, "softirq_ns")` is `cpu.3.softirq_ns`.
pub fn per_core(core: u32, part: &str) -> String {
    format!("cpu.{core}.{part}")
}

/// 1 where the kernel's drop reasons are counted during a test of numbered datagrams, see [`own_drops`]
/// and [`all_drops`]; else among the missing, with the reason.
pub const DROPS_WATCHED: &str = "drops.watched";

/// Counted datagrams of the test that the kernel dropped for `reason` (`QDISC_DROP`) in the network
/// namespace of this host, from the test's start on (tracepoint `skb:kfree_skb`); absent while zero.
pub fn own_drops(reason: &str) -> String {
    format!("drops.own.{reason}")
}

/// All packets that the kernel dropped for `reason` there, those of [`own_drops`] included.
pub fn all_drops(reason: &str) -> String {
    format!("drops.all.{reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = ALL.iter().map(|signal| signal.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
    }
}
