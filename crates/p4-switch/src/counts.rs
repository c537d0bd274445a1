//! What a station has counted.

use serde::Serialize;

/// A port's frames since the station began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PortCounts {
    /// Its number in the program.
    pub number: u32,
    /// Its interface.
    pub name: String,
    /// How its frames pass: the id of its [`PortKind`](crate::PortKind), with what it chose.
    pub datapath: String,
    /// Frames received.
    pub received: u64,
    /// Frames that arrived and were dropped by the kernel, for lack of space in the port's receive ring.
    pub receive_dropped: u64,
    /// Frames received whose sender had left the checksum to a device.
    pub received_without_checksum: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames that the program sent and the interface had no room for.
    pub send_dropped: u64,
    /// Frames that the program sent and that are longer than the interface takes.
    pub too_long: u64,
}

/// Packets dropped at a place in the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DropCount {
    /// The place, in words.
    pub place: &'static str,
    /// Packets.
    pub packets: u64,
}

/// What a station has counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Ports in order of their numbers.
    pub ports: Vec<PortCounts>,
    /// Frames that arrived while no program was set.
    pub without_program: u64,
    /// Packets for the control plane that it did not take in time.
    pub to_control_dropped: u64,
    /// Places that dropped packets.
    pub drops: Vec<DropCount>,
}
