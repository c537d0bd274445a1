//! Counters of the device, with the names of linerate's snapshots.

use core::fmt;
use linerate_wire::MonoInstant;

/// A cumulative counter of the device's driver or stack since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Signal {
    /// Nanoseconds that the processor was idle.
    CpuIdle,
    /// Frames that the interface received.
    NicRxPackets,
    /// Bytes of received frames, MAC header included.
    NicRxBytes,
    /// Received frames dropped by the interface for lack of room.
    NicRxDropped,
    /// Frames received with errors.
    NicRxErrors,
    /// Frames sent by the interface.
    NicTxPackets,
    /// Bytes of sent frames, MAC header included.
    NicTxBytes,
    /// Frames dropped by the interface on transmit.
    NicTxDropped,
    /// Frames dropped between the interface and the stack; zero where nothing queues them there.
    SoftnetDropped,
    /// UDP datagrams dropped for lack of room in a socket.
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

/// Latest reading of every counter, with its time.
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

    /// Writes the counters; the device has one core, so its times are the core's too.
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

    /// Utilisation of the processor since `earlier`, in thousandths.
    pub(crate) fn busy_thousandths(&self, earlier: &Self) -> Option<u64> {
        let idle = |snapshot: &Self| snapshot.values[Signal::CpuIdle as usize];
        let slept = idle(self)?.checked_sub(idle(earlier)?)?;
        let whole = self.at.as_nanos().saturating_sub(earlier.at.as_nanos());
        let busy = whole.saturating_sub(slept);
        busy.saturating_mul(1000).checked_div(whole)
    }
}
