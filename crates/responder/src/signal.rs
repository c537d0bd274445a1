//! Counters of the device, by the names that linerate's snapshots have.

use core::fmt;
use linerate_wire::MonoInstant;

/// A counter that the device's driver or stack keeps: cumulative since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Signal {
    /// Nanoseconds that the processor slept because there was nothing to do.
    CpuIdle,
    /// Frames that the interface received.
    NicRxPackets,
    /// Bytes of them, MAC header included.
    NicRxBytes,
    /// Frames that the interface received and had no room for.
    NicRxDropped,
    /// Frames that it received in error.
    NicRxErrors,
    /// Frames that it sent.
    NicTxPackets,
    /// Bytes of them, MAC header included.
    NicTxBytes,
    /// Frames that it was given and did not send.
    NicTxDropped,
    /// Frames dropped between the interface and the stack; zero where nothing queues them there.
    SoftnetDropped,
    /// UDP datagrams dropped because a socket had no room.
    UdpRcvbufErrors,
    /// UDP datagrams dropped for a wrong checksum.
    UdpCsumErrors,
}

impl Signal {
    /// Every counter.
    pub const ALL: [Self; 11] = [
        Self::CpuIdle,
        Self::NicRxPackets,
        Self::NicRxBytes,
        Self::NicRxDropped,
        Self::NicRxErrors,
        Self::NicTxPackets,
        Self::NicTxBytes,
        Self::NicTxDropped,
        Self::SoftnetDropped,
        Self::UdpRcvbufErrors,
        Self::UdpCsumErrors,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::CpuIdle => "cpu.idle_ns",
            Self::NicRxPackets => "nic.rx_packets",
            Self::NicRxBytes => "nic.rx_bytes",
            Self::NicRxDropped => "nic.rx_dropped",
            Self::NicRxErrors => "nic.rx_errors",
            Self::NicTxPackets => "nic.tx_packets",
            Self::NicTxBytes => "nic.tx_bytes",
            Self::NicTxDropped => "nic.tx_dropped",
            Self::SoftnetDropped => "softnet.dropped",
            Self::UdpRcvbufErrors => "udp.rcvbuf_errors",
            Self::UdpCsumErrors => "udp.csum_errors",
        }
    }
}

/// The last reading of every counter, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    at: MonoInstant,
    values: [Option<u64>; Signal::ALL.len()],
}

impl Snapshot {
    pub(crate) const fn new() -> Self {
        Self {
            at: MonoInstant::from_nanos(0),
            values: [None; Signal::ALL.len()],
        }
    }

    pub(crate) const fn set(&mut self, signal: Signal, value: u64) {
        self.values[signal as usize] = Some(value);
    }

    pub(crate) const fn taken_at(&self, at: MonoInstant) -> Self {
        Self { at, ..*self }
    }

    /// Since the device has one core, its times are the core's too.
    pub(crate) fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        let at = self.at.as_nanos();
        write!(out, r#"{{"at_ns":{at},"values":{{"#)?;
        let mut comma = "";
        if let Some(idle) = self.values[Signal::CpuIdle as usize] {
            let busy = at.saturating_sub(idle);
            write!(
                out,
                r#""cpu.user_ns":{busy},"cpu.0.user_ns":{busy},"cpu.0.idle_ns":{idle}"#
            )?;
            comma = ",";
        }
        for (signal, value) in Signal::ALL.into_iter().zip(self.values) {
            if let Some(value) = value {
                write!(out, r#"{comma}"{}":{value}"#, signal.name())?;
                comma = ",";
            }
        }
        out.write_str("}}")
    }

    /// The share of the time since `earlier` that the processor was busy, in thousandths.
    pub(crate) fn busy_thousandths(&self, earlier: &Self) -> Option<u64> {
        let idle = |snapshot: &Self| snapshot.values[Signal::CpuIdle as usize];
        let slept = idle(self)?.checked_sub(idle(earlier)?)?;
        let whole = self.at.as_nanos().saturating_sub(earlier.at.as_nanos());
        let busy = whole.saturating_sub(slept);
        busy.saturating_mul(1000).checked_div(whole)
    }
}
