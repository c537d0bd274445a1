//! CPU use of a trial.

use crate::cost::{CoreShares, CpuCost, PacketsPerInterrupt};
use crate::units::Ratio;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// CPU use of both ends over a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuSummary {
    /// The host that sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<CpuSide>,
    /// The host that received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<CpuSide>,
}

/// CPU use of one end over a trial. Shares are of one core unless said otherwise.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuSide {
    /// Share of all cores that was not idle.
    #[serde(default)]
    pub host_ratio: Option<Ratio>,
    /// Share of all cores spent in soft interrupts.
    #[serde(default)]
    pub softirq_ratio: Option<Ratio>,
    /// Share of all cores that the hypervisor took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ratio: Option<Ratio>,
    /// Share of all cores that programs of low priority (nice) took; it counts as idle in the other shares of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub niced_ratio: Option<Ratio>,
    /// The busiest core's share that was not idle.
    #[serde(default)]
    pub busiest_core_ratio: Option<Ratio>,
    /// CPU time of the busiest traffic thread over the trial's duration.
    #[serde(default)]
    pub thread_ratio: Option<Ratio>,
    /// Share of the trial in which the busiest traffic thread was runnable but had no core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_delay_ratio: Option<Ratio>,
    /// Share of the trial in which the busiest traffic thread slept until times of its own: its schedule, or a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_ratio: Option<Ratio>,
    /// Share of the trial in which the busiest traffic thread slept in its calls: a sender for room in its socket, a
    /// receiver for something to read. What is left of the trial after the other three shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_ratio: Option<Ratio>,
    /// CPU time of the traffic threads, and of kernel threads that worked for them alone, per transaction
    /// (request/response only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_ns_per_transaction: Option<f64>,
    /// CPU time of the traffic threads per second in which they ran, the warm-up included: 1 is a whole core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_cores: Option<f64>,
    /// Busy share of each core, in core order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<Ratio>,
    /// What each core did, in core order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub core_shares: Vec<CoreShares>,
    /// CPU time of the whole host per byte that moved, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_ns_per_byte: Option<f64>,
    /// CPU time of the whole host per packet that moved, by kind of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_packet: Option<CpuCost>,
    /// CPU time of the whole host per L4 payload byte that moved, by kind of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<CpuCost>,
    /// Interrupts served by all cores, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts_per_s: Option<f64>,
    /// Context switches on all cores, per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_switches_per_s: Option<f64>,
    /// Packets of the test's interface per interrupt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets_per_interrupt: Option<PacketsPerInterrupt>,
}

impl CpuSide {
    /// Share of the time in which the traffic thread had what it wanted of a core: it neither waited for one nor was stopped
    /// by the hypervisor. `None` where the wait is not known.
    pub fn running_ratio(&self) -> Option<Ratio> {
        let waited = self.run_delay_ratio?.get();
        let stolen = self.steal_ratio.map_or(0.0, Ratio::get);
        Some(Ratio::clamped(1.0 - waited - stolen))
    }
}
