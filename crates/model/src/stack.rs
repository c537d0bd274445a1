//! What a network stack that linerate started for a test says of itself.

use crate::units::{ByteCount, PacketCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A stack under test and its own counters, from its start to the end of the run's tests.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StackReport {
    /// Its name: `lwip`.
    pub stack: String,
    /// What was asked of it, by the names that plans use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What its other options are that have a value also where none is given.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub usual: BTreeMap<String, String>,
    /// What it counted.
    #[serde(flatten)]
    pub counts: StackCounts,
}

/// What a stack counted, and the settings that it was built with.
#[derive(Debug, Clone, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StackCounts {
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it was built from or is: a source package or a program, with the start of its SHA-256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Settings as they were built in, by the stack's own names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, u64>,
    /// TCP payload between the stack and its program; absent of one that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<StackTraffic>,
    /// UDP payload between the stack and its program; absent of one that does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<StackTraffic>,
    /// The stack's counters by layer and name, both its own: `ip4`, `recv`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<String, BTreeMap<String, u64>>,
    /// Memory at run time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<StackPool>,
}

/// L4 payload that crossed the border of a stack and its program; what opens and ends tests is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StackTraffic {
    /// Given to the program.
    pub received_bytes: ByteCount,
    /// Taken from the program: of TCP what the peer has acknowledged, where the program hears of that.
    pub sent_bytes: ByteCount,
    /// Datagrams given to the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_packets: Option<PacketCount>,
    /// Datagrams taken from the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_packets: Option<PacketCount>,
}

impl StackReport {
    /// What it was, by what each part is called: version, source, and every option and setting.
    pub fn identity(&self) -> BTreeMap<String, String> {
        let told = [
            ("version", &self.counts.version),
            ("source", &self.counts.source),
        ];
        let told = told
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)));
        let settings = &self.counts.settings;
        let settings = settings
            .iter()
            .map(|(name, value)| (name.clone(), value.to_string()));
        let mut all: BTreeMap<_, _> = told.chain(settings).collect();
        all.extend(self.usual.clone());
        all.extend(self.options.clone());
        all
    }
}

/// A pool of memory of a stack.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct StackPool {
    /// The stack's own name for it.
    pub name: String,
    /// Most units that were in use at once.
    pub peak: u64,
    /// Units that there are.
    pub capacity: u64,
    /// Size of one unit.
    pub unit_bytes: ByteCount,
    /// Requests that found none free.
    pub failures: u64,
}

impl StackPool {
    /// Most memory that was in use at once.
    pub fn peak_bytes(&self) -> ByteCount {
        ByteCount::new(self.peak.saturating_mul(self.unit_bytes.get()))
    }

    /// All of its memory.
    pub fn capacity_bytes(&self) -> ByteCount {
        ByteCount::new(self.capacity.saturating_mul(self.unit_bytes.get()))
    }
}
