//! What a store has, one line for each run.

use crate::run::{RunKind, RunStatus, Tool};
use crate::time::WallTime;
use crate::units::{BitRate, ByteCount, PacketRate};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A stored run with what the user keeps beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The run.
    pub listed: StoreEntry,
    /// What it is called.
    pub tags: Vec<String>,
    /// The note on it.
    pub note: Option<String>,
}

/// One entry of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreEntry {
    /// Name of the entry's directory, which is the run's id.
    pub id: String,
    /// The entry's directory.
    pub path: PathBuf,
    /// What it holds.
    pub entry: Entry,
}

/// What an entry of a store holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    /// Cannot be read, and why.
    Broken {
        /// What was found, and what to do.
        reason: String,
    },
    /// A run.
    Run(Summary),
}

/// A run in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Which command, or what kind of log, it came from.
    pub kind: RunKind,
    /// What it is about.
    pub title: Option<String>,
    /// When it started, as far as its source says.
    pub started: Option<WallTime>,
    /// Whether it came to its end.
    pub status: RunStatus,
    /// What measured.
    pub tool: Tool,
    /// Trials of its own; those of its parts are not counted.
    pub trials: usize,
    /// Runs that it is made of.
    pub parts: usize,
    /// The figure that people ask for first.
    pub result: Option<Figure>,
    /// What limits it, as its verdict says: id and name.
    pub limit: Option<(String, String)>,
}

/// The figure that people ask for first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Lower bound of a search's first goal: intended load, L4 payload.
    LowerBound(BitRate),
    /// What a device forwards of the first frame size: lower bound of its first goal, intended load.
    FrameLowerBound {
        /// Length of a frame from destination address to FCS.
        frame: ByteCount,
        /// Frames per second.
        rate: PacketRate,
    },
    /// Smallest median of a latency run's trials, nanoseconds of what they timed.
    MedianNs(u64),
    /// Smallest mean of a latency run's trials where none has a median, nanoseconds of what they timed.
    MeanNs(f64),
    /// Median over the tests that a study or mesh is made of, of the received rate of each, L4 payload.
    MedianReceived(BitRate),
    /// Highest received rate of the valid trials, L4 payload.
    Received(BitRate),
}
