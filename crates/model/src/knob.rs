//! Settings of a host that can be changed and taken back, named as values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One setting of a host. Its value is text, as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Knob {
    /// How the interface's interrupts are held back (`ethtool -C`).
    Coalescing {
        /// The interface.
        interface: String,
        /// Which of the settings.
        part: CoalescingPart,
    },
    /// Governor of a group of cores that share a clock.
    Governor {
        /// Number of the cpufreq policy.
        policy: u32,
    },
    /// Whether the kernel may use an idle state: `1` forbids it.
    IdleState {
        /// The core.
        core: u32,
        /// Number of the state.
        state: u32,
    },
    /// The cores that an interrupt may come to.
    InterruptAffinity {
        /// Number of the interrupt.
        interrupt: u32,
    },
    /// Queueing discipline at the root of an interface.
    QueueingDiscipline {
        /// The interface.
        interface: String,
    },
    /// Descriptors of a ring of the interface (`ethtool -G`).
    Ring {
        /// The interface.
        interface: String,
        /// Which ring.
        part: RingPart,
    },
    /// A kernel setting below `/proc/sys`.
    Sysctl {
        /// Its name, `net.core.rmem_max`.
        name: String,
    },
}

crate::named_enum! {
    /// A setting of interrupt coalescing.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum CoalescingPart {
        /// Whether the driver chooses the times itself: `0` or `1`.
        AdaptiveRx = "adaptive-rx",
        /// Frames received before an interrupt.
        RxFrames = "rx-frames",
        /// Microseconds from a received frame to its interrupt.
        RxUsecs = "rx-usecs",
    }
}

crate::named_enum! {
    /// A ring of an interface.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum RingPart {
        /// Of frames received.
        Rx = "rx",
        /// Of frames to send.
        Tx = "tx",
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coalescing { interface, part } => {
                write!(f, "coalescing {part} of {interface}")
            }
            Self::Governor { policy } => write!(f, "governor of cpufreq policy {policy}"),
            Self::IdleState { core, state } => {
                write!(f, "ban on idle state {state} of core {core}")
            }
            Self::InterruptAffinity { interrupt } => write!(f, "cores of interrupt {interrupt}"),
            Self::QueueingDiscipline { interface } => {
                write!(f, "queueing discipline of {interface}")
            }
            Self::Ring { interface, part } => write!(f, "ring {part} of {interface}"),
            Self::Sysctl { name } => write!(f, "sysctl {name}"),
        }
    }
}

/// A knob and the value to give it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Setting {
    /// What to change.
    pub knob: Knob,
    /// The value, as the kernel takes it.
    pub value: String,
    /// Whether `--apply` makes it by itself.
    pub consent: Consent,
}

/// Whether a change is made without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consent {
    /// Only if the user names its check: it resets the link, or weakens or costs something else.
    Named,
    /// Safe: takes effect at once, cuts no connection, can be taken back exactly.
    Safe,
}
