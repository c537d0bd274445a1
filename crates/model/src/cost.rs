//! What moving packets cost the hosts: CPU time by core, by kind of time and by layer.

use crate::profile::{Profile, ProfileEvent, ProfileScope, STARTED_PROGRAM};
use crate::units::{PacketCount, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What one core did over a trial, as shares of its time. What the kernel does not tell is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CoreShares {
    /// The core's number.
    pub core: u32,
    /// User mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ratio: Option<Ratio>,
    /// Kernel mode outside interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ratio: Option<Ratio>,
    /// Soft interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirq_ratio: Option<Ratio>,
    /// Hard interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq_ratio: Option<Ratio>,
    /// Taken by the hypervisor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steal_ratio: Option<Ratio>,
}

/// CPU time per unit moved, nanoseconds; parts that the kernel does not tell are absent.
#[derive(Debug, Clone, Copy, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct CpuCost {
    /// What a unit is; absent for bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<PacketKind>,
    /// All that was not idle and not stolen.
    pub total_ns: f64,
    /// User mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_ns: Option<f64>,
    /// Kernel mode outside interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_ns: Option<f64>,
    /// Soft interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub softirq_ns: Option<f64>,
}

/// What a cost per packet counts as a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketKind {
    /// The test's datagrams, as this end's application counted them.
    Datagrams,
    /// TCP segments that the host sent and received, other traffic of the host included.
    Segments,
    /// Requests with their answers.
    Transactions,
}

/// Packets of an interface per interrupt, and which interrupts were counted.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PacketsPerInterrupt {
    /// Packets per interrupt.
    pub packets: f64,
    /// Which interrupts.
    pub of: InterruptKind,
}

/// Which interrupts were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptKind {
    /// Those of the test's own interface; packets both ways.
    Interface,
    /// Runs of the receive soft interrupt, other traffic of the host included; packets received.
    NetRxSoftirq,
}

/// Cost by layer of both ends over a trial.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize, Deserialize)]
pub struct ProfileSummary {
    /// The host that sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<ProfileSide>,
    /// The host that received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver: Option<ProfileSide>,
}

/// Cost by layer of one end over a trial. Stacks are in the trial's raw report.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ProfileSide {
    /// This end was sampled.
    Sampled(ProfileCost),
    /// This end could not be sampled.
    Missing {
        /// Why, and what would change that.
        missing: String,
    },
}

/// What each layer of one end cost.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProfileCost {
    /// What made the samples.
    pub event: ProfileEvent,
    /// What was sampled.
    pub scope: ProfileScope,
    /// Whether kernel functions were seen.
    pub kernel: bool,
    /// Samples of code at work: these were divided among the layers.
    pub busy_samples: u64,
    /// Samples of idle cores: no cost.
    pub idle_samples: u64,
    /// Samples of other programs on this host outside interrupts: not the test's cost. The peer
    /// is such a program where both ends are on one machine.
    pub other_samples: u64,
    /// Samples that were lost or whose stacks were too many to keep: in no layer.
    pub unplaced_samples: u64,
    /// Packets that the cost is divided by; absent when they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketCount>,
    /// What a packet is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_kind: Option<PacketKind>,
    /// CPU time per packet, all layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_packet: Option<f64>,
    /// CPU time per L4 payload byte, all layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_byte: Option<f64>,
    /// Layers with at least one sample, dearest first.
    pub layers: Vec<LayerCost>,
    /// The layer of each stack of the raw report's profile, in its order; null for what is no cost:
    /// idle cores and other programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_layers: Vec<Option<CostLayer>>,
    /// What is missing, and what would change that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A function's own time in a program that the test started. Names come from the profile, unchecked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartedTime<'a> {
    /// The function, or the file of one without a name.
    pub function: &'a str,
    /// The thread.
    pub thread: &'a str,
    /// Samples in which it was the innermost.
    pub samples: u64,
}

impl ProfileCost {
    /// The functions of programs that the test started, such as a device under test, by their own time, heaviest first. Soft
    /// interrupts that borrow the time of these programs are no time of theirs. `profile` is the one that this is the cost of.
    pub fn started_times<'a>(&self, profile: &'a Profile) -> Vec<StartedTime<'a>> {
        let mut sums: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for (stack, layer) in profile.stacks.iter().zip(&self.stack_layers) {
            let mut frames = profile.frames(stack);
            let thread = frames
                .next()
                .and_then(|name| name.strip_prefix(STARTED_PROGRAM));
            if let (None, Some(thread), Some(function)) = (layer, thread, frames.next_back()) {
                *sums.entry((function, thread)).or_default() += stack.samples;
            }
        }
        let times = sums.into_iter();
        let mut times: Vec<_> = times
            .map(|((function, thread), samples)| StartedTime {
                function,
                thread,
                samples,
            })
            .collect();
        times.sort_by_key(|time| std::cmp::Reverse(time.samples));
        times
    }
}

/// What one layer cost.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct LayerCost {
    /// The layer.
    pub layer: CostLayer,
    /// Its samples.
    pub samples: u64,
    /// Its share of the busy samples.
    pub share_ratio: Ratio,
    /// Its CPU time per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns_per_packet: Option<f64>,
    /// The functions seen that are of this layer, sorted; what they call and no layer claims is its too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<String>,
}

crate::named_enum! {
    /// A part of the system that packets cost time in, from the application to the wire.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum CostLayer {
        /// User code, of the tool and of everything else on the host.
        Application = "application",
        /// Entering and leaving the kernel.
        Syscall = "system call",
        /// Sockets, their queues and waiting on them.
        Socket = "socket",
        /// TCP and UDP.
        Transport = "TCP/UDP",
        /// IP, routes, neighbours.
        Ip = "IP",
        /// Filters: netfilter, BPF, traffic control's classifiers.
        Netfilter = "filters, BPF",
        /// Queueing disciplines and the transmit queue.
        Qdisc = "qdisc",
        /// The device's driver.
        Driver = "driver",
        /// Soft and hard interrupts: NAPI, backlog, GRO.
        Softirq = "softirq",
        /// Copying and checksumming data.
        Copy = "copy",
        /// Allocating and freeing memory.
        Memory = "memory",
        /// Scheduling, waking, timers.
        Scheduling = "scheduling",
        /// Waiting for locks.
        Locks = "locks",
        /// Anything else of the kernel.
        Other = "other kernel",
    }
}
