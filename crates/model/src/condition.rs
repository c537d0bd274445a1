//! The state of a host as far as it decides what measurements on it mean: what `doctor` judges.
//!
//! Each part is known, or it is said why not.

use crate::units::{BitRate, Ratio};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A value, or why it could not be read.
pub type ReadResult<T> = Result<T, String>;

/// Most cores that a list may name: `CONFIG_NR_CPUS` of x86 is at most 8192.
const MAX_CORES: u32 = 8192;

/// A set of cores, written as the kernel writes it: `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct CoreSet(pub BTreeSet<u32>);

impl CoreSet {
    /// Reads `0-3,8`; an empty text is the empty set. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut cores = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last >= MAX_CORES {
                return None;
            }
            cores.extend(first..=last);
        }
        Some(Self(cores))
    }

    /// Whether `core` is in it.
    pub fn has(&self, core: u32) -> bool {
        self.0.contains(&core)
    }

    /// Whether it has no core.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<u32> for CoreSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cores: I) -> Self {
        Self(cores.into_iter().collect())
    }
}

impl fmt::Display for CoreSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = left.next() {
            let mut last = first;
            while left.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            comma = ",";
        }
        Ok(())
    }
}

/// A group of cores that share a clock, and what governs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockPolicy {
    /// Its number in `cpufreq`.
    pub number: u32,
    /// Governor in force.
    pub governor: String,
    /// Governors that the kernel offers here.
    pub offered: Vec<String>,
    /// Frequency now in Hz, as far as it is shown.
    pub now_hz: Option<u64>,
    /// Highest frequency in Hz, as far as it is shown.
    pub max_hz: Option<u64>,
}

/// An idle state of one core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleState {
    /// The core.
    pub core: u32,
    /// Number of the state on that core.
    pub state: u32,
    /// Its name, `C6`.
    pub name: String,
    /// Time to leave it in µs, as its driver states.
    pub exit_us: u64,
    /// Whether the kernel may use it.
    pub is_allowed: bool,
}

/// An interrupt of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number.
    pub number: u32,
    /// What it is for, as the driver names it.
    pub name: String,
    /// Cores that it may come to.
    pub allowed: CoreSet,
    /// Cores that it comes to; `None` if this kernel does not tell.
    pub effective: Option<CoreSet>,
}

/// How interrupts for received frames are held back; `None` for what the driver does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coalescing {
    /// Whether the driver chooses by itself.
    pub is_adaptive: bool,
    /// Microseconds from a frame to its interrupt.
    pub rx_usecs: u32,
    /// Frames before an interrupt.
    pub rx_frames: u32,
}

/// Descriptors of the interface's rings, and the most that its driver takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rings {
    /// For frames received, each queue.
    pub rx: u32,
    /// The most for those.
    pub rx_max: u32,
    /// For frames to send, each queue.
    pub tx: u32,
    /// The most for those.
    pub tx_max: u32,
}

/// Whether work is left to the device or joined above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub struct Offloads {
    /// Software receive aggregation (GRO).
    pub generic_receive: bool,
    /// Software segmentation below the stack (GSO).
    pub generic_segmentation: bool,
    /// Receive aggregation by the device (LRO).
    pub large_receive: bool,
    /// Checksums of received frames by the device.
    pub receive_checksum: bool,
    /// TCP segmentation by the device (TSO).
    pub tcp_segmentation: bool,
    /// Checksums of sent frames by the device.
    pub transmit_checksum: bool,
}

/// The queueing discipline at the root of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootQdisc {
    /// Its kind, `fq_codel`.
    pub kind: String,
    /// Whether the kernel put it there by itself.
    pub is_default: bool,
}

/// What looks at packets on their way through the stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Firewall {
    /// Chains of nftables at a hook: `ip filter INPUT`.
    pub chains: Vec<String>,
    /// Tables of the older iptables that are loaded.
    pub legacy_tables: Vec<String>,
    /// Connections that are tracked now; `None` if tracking is not loaded.
    pub tracked_connections: Option<u64>,
}

/// A memory node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub number: u32,
    /// Its cores.
    pub cores: CoreSet,
    /// Distances to all nodes in their order; 10 is local (ACPI SLIT).
    pub distances: Vec<u32>,
}

/// What the kernel's clock is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClockSource {
    /// The source in use.
    pub current: String,
    /// Those that could be.
    pub available: Vec<String>,
    /// Time that one reading of the monotonic clock takes here in ns, the median of many; `None` if not measured.
    pub reading_ns: Option<u64>,
}

/// What the kernel lets be seen of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tracing {
    /// Whether it describes its own types (BTF), which drop reasons need.
    pub has_types: bool,
    /// The tracer that is running, if the reader may see it and it is not `nop`.
    pub tracer: Option<String>,
    /// Whether this process may see it all whatever the settings.
    pub is_privileged: bool,
}

/// The state of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Core that measurements are to be pinned to, if the user named one.
    pub core: Option<u32>,
    /// Interface that is to carry the traffic.
    pub interface: ReadResult<String>,
    /// Cores online.
    pub cores: ReadResult<CoreSet>,
    /// Clocks of the cores.
    pub clocks: ReadResult<Vec<ClockPolicy>>,
    /// Whether cores may run above their nominal frequency.
    pub boost: ReadResult<bool>,
    /// Idle states of all cores.
    pub idle_states: ReadResult<Vec<IdleState>>,
    /// Longest wake-up that some process allows now, in µs (`/dev/cpu_dma_latency`).
    pub wake_limit_us: ReadResult<u32>,
    /// Cores that the scheduler leaves alone.
    pub isolated: ReadResult<CoreSet>,
    /// Cores without a timer tick while one thread runs.
    pub tickless: ReadResult<CoreSet>,
    /// Interrupts of the interface.
    pub interrupts: ReadResult<Vec<Interrupt>>,
    /// Whether irqbalance runs.
    pub irqbalance: ReadResult<bool>,
    /// Interrupt coalescing of the interface.
    pub coalescing: ReadResult<Coalescing>,
    /// Rings of the interface.
    pub rings: ReadResult<Rings>,
    /// Offloads of the interface.
    pub offloads: ReadResult<Offloads>,
    /// Queueing discipline of the interface.
    pub qdisc: ReadResult<RootQdisc>,
    /// Packet filters.
    pub firewall: ReadResult<Firewall>,
    /// Memory node of the interface; `None` where the device belongs to none.
    pub nic_node: ReadResult<Option<u32>>,
    /// Memory nodes.
    pub nodes: ReadResult<Vec<Node>>,
    /// Groups of logical cores that share one physical core, of two members or more.
    pub siblings: ReadResult<Vec<CoreSet>>,
    /// Share of all cores' time since boot that the hypervisor took.
    pub stolen: ReadResult<Ratio>,
    /// Share of all cores' time that is in use now.
    pub busy: ReadResult<Ratio>,
    /// The kernel's clock.
    pub clock: ReadResult<ClockSource>,
    /// Kernel settings by name.
    pub sysctl: BTreeMap<String, ReadResult<String>>,
    /// Longest IP packet of the interface in bytes.
    pub mtu_bytes: ReadResult<u32>,
    /// Speed of the interface at L1, one direction.
    pub link_speed: ReadResult<BitRate>,
    /// Active profile of tuned; `None` where tuned is not in use.
    pub tuned: ReadResult<Option<String>>,
    /// What the kernel lets be seen.
    pub tracing: ReadResult<Tracing>,
}

impl Condition {
    /// A host of which nothing is known, for one reason.
    pub fn unknown(why: &str) -> Self {
        fn no<T>(why: &str) -> ReadResult<T> {
            Err(why.to_owned())
        }
        Self {
            core: None,
            interface: no(why),
            cores: no(why),
            clocks: no(why),
            boost: no(why),
            idle_states: no(why),
            wake_limit_us: no(why),
            isolated: no(why),
            tickless: no(why),
            interrupts: no(why),
            irqbalance: no(why),
            coalescing: no(why),
            rings: no(why),
            offloads: no(why),
            qdisc: no(why),
            firewall: no(why),
            nic_node: no(why),
            nodes: no(why),
            siblings: no(why),
            stolen: no(why),
            busy: no(why),
            clock: no(why),
            sysctl: BTreeMap::new(),
            mtu_bytes: no(why),
            link_speed: no(why),
            tuned: no(why),
            tracing: no(why),
        }
    }

    /// A kernel setting.
    pub fn sysctl(&self, name: &str) -> ReadResult<&str> {
        match self.sysctl.get(name) {
            Some(Ok(value)) => Ok(value),
            Some(Err(why)) => Err(why.clone()),
            None => Err(format!("{name} was not read")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists_are_read_and_written_as_the_kernel_does() {
        for text in ["", "0", "0-3,8", "1,3,5-7"] {
            assert_eq!(CoreSet::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CoreSet::parse("0,1,2\n").unwrap().to_string(), "0-2");
        for bad in ["a", "3-1", "0-99999999", "1-", "-1"] {
            assert_eq!(CoreSet::parse(bad), None, "{bad}");
        }
    }
}
