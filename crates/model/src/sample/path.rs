//! What the way between a stream and the network said, whatever the stream did.

use crate::time::as_optional_seconds;
use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the datapath and the socket of one stream said. All of it is absent of a peer whose protocol tells nothing.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct PathReport {
    /// Size of the receive buffer that the system really gave, bytes; `None` without a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<ByteCount>,
    /// Size of the send buffer that the system really gave, bytes; `None` without a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<ByteCount>,
    /// CPU time of kernel threads that worked for this stream alone (`iou-sqp` of `io_uring`), during its
    /// traffic; `None` where there was none, or where the kernel does not tell (then `notes` say so).
    #[serde(
        rename = "helper_cpu_s",
        with = "as_optional_seconds",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<f64>")]
    pub helper_cpu: Option<Duration>,
    /// What the datapath asked of the system and did not get, and what it found out about its wait mode;
    /// at most [`MAX_PATH_NOTES`] are read.
    #[serde(
        rename = "path_notes",
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded_notes"
    )]
    pub notes: Vec<String>,
    /// How frames passed the kernel's stack by, and what was dropped there (datapath af-xdp only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xdp: Option<XdpReport>,
}

/// What one side of a stream over AF_XDP knows about its way past the kernel's stack. Counts are of this stream's
/// own sockets, since they were opened.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct XdpReport {
    /// The interface.
    pub interface: String,
    /// Whether the program ran in the driver; otherwise above it, after the kernel had made a packet of the frame.
    pub native: bool,
    /// Whether the driver used this process's memory itself; otherwise the kernel copied each frame, both ways.
    pub zero_copy: bool,
    /// Receive queues that frames were taken of.
    pub queues: u16,
    /// Frames dropped for want of a free one to receive into (`rx_dropped` of `XDP_STATISTICS`).
    pub dropped: PacketCount,
    /// Frames dropped because the receive ring was full (`rx_ring_full`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ring_full: Option<PacketCount>,
    /// Times that no free frame was there when one was wanted (`rx_fill_ring_empty_descs`); with copying each is in
    /// `dropped` too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_ring_empty: Option<u64>,
    /// Frames of this stream whose checksum or lengths were wrong.
    pub malformed: PacketCount,
    /// Datagrams of this stream that came as frames which the program does not choose, and so to the kernel's socket.
    pub stray: PacketCount,
}

/// Most notes of a datapath in one report.
pub const MAX_PATH_NOTES: usize = 16;

/// Longest note that is read, in bytes.
const MAX_NOTE: usize = 1024;

/// Reads a few short notes: they come from the peer.
fn bounded_notes<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let notes = Vec::<String>::deserialize(d)?;
    let fits = notes.len() <= MAX_PATH_NOTES && notes.iter().all(|note| note.len() <= MAX_NOTE);
    if !fits {
        let message = format!("more than {MAX_PATH_NOTES} notes, or one over {MAX_NOTE} bytes");
        return Err(D::Error::custom(message));
    }
    Ok(notes)
}
