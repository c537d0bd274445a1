//! Facts of a host: what does not change while it is measured.
//!
//! A fact that any code asks for is a field of [`Facts`], so that whoever writes it and whoever reads it mean the same.
//! Settings by the kernel's own names, and what logs of other tools say beside, stay an open remainder for people.

use crate::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// Makes [`Facts`] of one list, so that a field, its key in documents and how it is read cannot differ.
macro_rules! facts {
    ($($(#[doc = $doc:literal])+ $key:ident: $kind:ty,)+) => {
        /// Facts of one host. Each field's name is its key in documents; what is not known is absent.
        #[derive(Debug, Clone, PartialEq, Default, JsonSchema, Serialize)]
        pub struct Facts {
            $(
                $(#[doc = $doc])+
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$kind>,
            )+
            /// What no field is made for: settings by the kernel's names, and what logs of other tools tell.
            #[serde(flatten)]
            rest: BTreeMap<String, Value>,
        }

        impl Facts {
            /// Sets the fact of this key. A value that its field cannot hold, such as a log may have, is kept as it is.
            pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) {
                self.put(key.into(), value.into());
            }

            // Apart from what is generic, so that the program has it once.
            fn put(&mut self, key: String, value: Value) {
                let unread = match key.as_str() {
                    $(stringify!($key) => read(&mut self.$key, value),)+
                    _ => Some(value),
                };
                match unread {
                    Some(value) => drop(self.rest.insert(key, value)),
                    None => drop(self.rest.remove(&key)),
                }
            }
        }
    };
}

facts! {
    /// Network address, where a log tells only that.
    address: String,
    /// Of the machine, not of the program: `x86_64`, `riscv64`.
    architecture: String,
    /// Name of the board or product, from its device tree or firmware.
    board: String,
    /// Random id of this boot of the kernel.
    boot_id: String,
    /// The kernel's clock source.
    clock_source: String,
    /// Cores that the scheduler leaves alone, as a list such as `2-5,8`.
    cores_isolated: String,
    /// Cores without a periodic tick, as a list such as `2-5,8`.
    cores_nohz_full: String,
    /// Cores online.
    cores_online: u32,
    /// Processor, as a log names it.
    cpu: LogText,
    /// Driver of frequency scaling.
    cpu_frequency_driver: String,
    /// Frequency of the fastest core at the time, in Hz; nominal where the host does not see it.
    cpu_frequency_hz: u64,
    /// Highest frequency of the first core, in Hz.
    cpu_frequency_max_hz: u64,
    /// Frequencies that the first core can be set to, in Hz.
    cpu_frequency_steps_hz: Vec<u64>,
    /// Governor of frequency scaling.
    cpu_governor: String,
    /// Revision of the microcode.
    cpu_microcode: String,
    /// Processor.
    cpu_model: String,
    /// What the device tree says that the board is compatible with, the board itself first.
    device_tree: Vec<String>,
    /// Driver of the test's interface.
    driver: String,
    /// Its version.
    driver_version: String,
    /// Machine that an emulator pretends to be, and the emulator, as the kernel's command line says
    /// (`linerate.emulated=`): figures of this host are the emulator's.
    emulated: String,
    /// Version of the firmware of the test's interface.
    firmware_version: String,
    /// The name that the host calls itself.
    hostname: String,
    /// Name of the test's interface.
    interface: String,
    /// Kind of a virtual interface: `veth`, `bridge`.
    interface_kind: String,
    /// Instruction set of the first core, as the kernel names it: `rv64imafdc`.
    isa: String,
    /// Kernel, as a log names it.
    kernel: LogText,
    /// Number and time of the kernel's build.
    kernel_build: String,
    /// Release of the kernel: `6.12.9`.
    kernel_release: String,
    /// Tracers of the kernel that this process sees: `function_graph`, `osnoise`.
    kernel_tracers: Vec<String>,
    /// LEDs, what lights each, and whether it is lit.
    leds: Vec<String>,
    /// Whether both ends of the link choose its speed: `on`, `off`.
    link_autonegotiation: String,
    /// Duplex mode of the link.
    link_duplex: String,
    /// L1 rate of the test's interface in one direction, in bit/s; only of hardware.
    link_speed_bps: BitRate,
    /// Devices on the PCI bus, as a log names them.
    lspci: LogText,
    /// Memory of the host, in bytes.
    memory_bytes: ByteCount,
    /// Largest IP packet of the test's interface, in bytes.
    mtu_bytes: ByteCount,
    /// Network interface, as a log names it.
    nic: LogText,
    /// Place of the test's interface on its bus.
    nic_bus: String,
    /// NUMA node of the test's interface.
    nic_numa_node: u32,
    /// Operating system of a board that is no Linux: `Zephyr 3.3`.
    os: String,
    /// Name of the distribution.
    os_name: String,
    /// Network devices on the PCI bus: place, numbers of vendor and device, revision, driver, link.
    pci_network_devices: Vec<String>,
    /// Driver of the PHY of the test's interface.
    phy_driver: String,
    /// Its identifier, as the PHY tells it.
    phy_id: String,
    /// How it is joined to the interface: `gmii`, `rgmii-id`.
    phy_interface: String,
    /// What was preloaded into the process that measured.
    preloaded: Preloaded,
    /// Build of the program that measures: the note of its linker.
    program_build: String,
    /// The start of the process that measures: equal of two runs if one process measured both.
    program_start: String,
    /// Queueing discipline at the root of the test's interface.
    queueing_discipline: String,
    /// Rate of frames without FCS that it lets pass, in bit/s, if it is a shaper of one rate (`tbf`, `cake`, `htb`).
    queueing_discipline_rate_bps: BitRate,
    /// Memory, as a log names it.
    ram: LogText,
    /// Receive queues of the test's interface.
    rx_queues: u32,
    /// Simultaneous multithreading: `on`, `off`, `notsupported`.
    smt: String,
    /// Sensors of temperature.
    thermal_sensors: Vec<String>,
    /// The namespace that the monotonic clock is of, by its inode.
    time_namespace: String,
    /// Timestamps that the test's interface takes itself: `transmit, receive`.
    timestamps_hardware: String,
    /// The device of its clock, or `none`.
    timestamps_ptp_clock: String,
    /// Timestamps that its driver takes.
    timestamps_software: String,
    /// Rate of the time stamp counter, in Hz.
    tsc_hz: u64,
    /// What tells that rate.
    tsc_hz_source: String,
    /// Longest queue of the interface itself, in packets.
    tx_queue_length_packets: u32,
    /// Transmit queues of the test's interface.
    tx_queues: u32,
    /// `uname -a`, as a log gives it.
    uname: LogText,
    /// The hypervisor below, `hypervisor` if only that there is one is known, or `none seen`.
    virtualisation: String,
    /// The process that a wrapper measured in this host.
    wrapped_process: WrappedProcess,
    /// Version of zperf on a board, or how its shell shows which it is.
    zperf: String,
}

impl Facts {
    /// Every fact by its key, those of the fields among the rest.
    pub fn entries(&self) -> BTreeMap<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(entries)) => entries.into_iter().collect(),
            // Nothing in the fields can fail to be written, and a struct is an object.
            _ => BTreeMap::new(),
        }
    }

    /// What no field is made for.
    pub const fn rest(&self) -> &BTreeMap<String, Value> {
        &self.rest
    }
}

/// Gives `value` back if `field` cannot hold it; the field is then empty.
fn read<T: DeserializeOwned>(field: &mut Option<T>, value: Value) -> Option<Value> {
    *field = serde_json::from_value(value.clone()).ok();
    field.is_none().then_some(value)
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Facts {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut facts = Self::default();
        for (key, value) in entries {
            facts.insert(key, value);
        }
        facts
    }
}

impl<'de> Deserialize<'de> for Facts {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let entries = BTreeMap::<String, Value>::deserialize(d)?;
        Ok(entries.into_iter().collect())
    }
}

/// What a log says of something: in one line, or in several.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum LogText {
    /// One line.
    Line(String),
    /// Several, in their order.
    Lines(Vec<String>),
}

impl fmt::Display for LogText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => f.write_str(line),
            Self::Lines(lines) => f.write_str(&lines.join("; ")),
        }
    }
}

/// What was loaded into a process before it began, such as an accelerated stack. Empty: nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct Preloaded {
    /// `LD_PRELOAD` as the process found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ld_preload: Option<String>,
    /// Whether all of it is mapped into the process; absent where that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ld_preload_loaded: Option<bool>,
    /// Settings of the stack in the environment, by variable.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stack_settings: BTreeMap<String, String>,
}

impl fmt::Display for Preloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(libraries) = &self.ld_preload else {
            return f.write_str("nothing");
        };
        f.write_str(libraries)?;
        if self.ld_preload_loaded == Some(false) {
            f.write_str(" (not loaded)")?;
        }
        let mut settings = self.stack_settings.iter();
        settings.try_for_each(|(name, value)| write!(f, ", {name}={value}"))
    }
}

/// A process that a wrapper such as `onload` started.
#[derive(Debug, Clone, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
pub struct WrappedProcess {
    /// What the wrapper preloaded into it.
    #[serde(flatten)]
    pub preloaded: Preloaded,
    /// The stack's version; absent until the wrapper was asked.
    #[serde(flatten)]
    pub version: Option<StackVersion>,
    /// The wrapper, as on the command line.
    #[serde(default)]
    pub wrapper: String,
}

/// What a wrapper says of its version.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub enum StackVersion {
    /// The first line of it.
    #[serde(rename = "stack_version")]
    Known(String),
    /// Why it is not known.
    #[serde(rename = "stack_version_missing")]
    Missing(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn facts(document: &Value) -> Facts {
        serde_json::from_value(document.clone()).unwrap()
    }

    #[test]
    fn a_document_of_facts_is_written_as_it_was_read() {
        let document = json!({
            "boot_mitigations": "off",
            "cores_online": 4,
            "cpu": ["one", "another"],
            "hostname": "board",
            "link_speed_bps": 1_000_000_000,
            "net.core.rmem_max": 212_992,
            "uname": "Linux board 6.1.0",
            "wrapped_process": {
                "ld_preload": "libonload.so",
                "ld_preload_loaded": true,
                "stack_settings": {"EF_POLL_USEC": "100000"},
                "stack_version": "9.0",
                "wrapper": "onload",
            },
        });
        let facts = facts(&document);
        assert_eq!(facts.cores_online, Some(4));
        assert_eq!(facts.cpu.as_ref().unwrap().to_string(), "one; another");
        assert_eq!(facts.rest().len(), 2);
        let process = facts.wrapped_process.as_ref().unwrap();
        assert_eq!(process.version, Some(StackVersion::Known("9.0".into())));
        assert_eq!(serde_json::to_value(&facts).unwrap(), document);
        assert_eq!(json!(facts.entries()), document);
    }

    #[test]
    fn a_value_of_another_type_is_kept_and_not_believed() {
        let document = json!({"driver": ["a", "b"], "hostname": null, "mtu_bytes": -1});
        let mut facts = facts(&document);
        assert_eq!((&facts.driver, facts.mtu_bytes), (&None, None));
        assert_eq!(serde_json::to_value(&facts).unwrap(), document);
        facts.insert("driver", "virtio_net");
        facts.insert("mtu_bytes", "9000");
        assert_eq!(facts.driver.as_deref(), Some("virtio_net"));
        let document = json!({"driver": "virtio_net", "hostname": null, "mtu_bytes": "9000"});
        assert_eq!(serde_json::to_value(&facts).unwrap(), document);
    }

    #[test]
    fn a_process_of_which_nothing_is_known_is_written_without_its_version() {
        let process = WrappedProcess::default();
        let document = serde_json::to_value(&process).unwrap();
        assert_eq!(document, json!({"wrapper": ""}));
        let read: WrappedProcess = serde_json::from_value(document).unwrap();
        assert_eq!(read, process);
    }
}
