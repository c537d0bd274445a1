//! Boards that can be emulated: architectures and machines.

use crate::disk::{Disk, SIFIVE_U, VIRT_RISCV64};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A processor architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arch {
    /// Arm, 64 bits.
    Aarch64,
    /// Arm, 32 bits, version 7 with hardware floating point.
    Armv7,
    /// RISC-V, 64 bits.
    Riscv64,
    /// x86, 64 bits.
    #[serde(rename = "x86-64")]
    X86_64,
}

impl Arch {
    /// Every architecture, in order of preference for machines with several.
    pub const ALL: [Self; 4] = [Self::Riscv64, Self::Aarch64, Self::Armv7, Self::X86_64];

    /// Architecture by `uname -m`.
    pub fn from_uname(machine: &str) -> Option<Self> {
        match machine {
            "aarch64" | "arm64" => Some(Self::Aarch64),
            // A 64-bit kernel reports `armv8l` to 32-bit programs.
            "armv7l" | "armv8l" => Some(Self::Armv7),
            "riscv64" => Some(Self::Riscv64),
            "amd64" | "x86_64" => Some(Self::X86_64),
            _ => None,
        }
    }

    /// Its name on the command line and in the names of agents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aarch64 => "aarch64",
            Self::Armv7 => "armv7",
            Self::Riscv64 => "riscv64",
            Self::X86_64 => "x86-64",
        }
    }

    /// Debian's architecture name.
    pub(crate) const fn debian(self) -> &'static str {
        match self {
            Self::Aarch64 => "arm64",
            Self::Armv7 => "armhf",
            Self::Riscv64 => "riscv64",
            Self::X86_64 => "amd64",
        }
    }

    /// Debian's kernel package.
    pub(crate) const fn kernel_package(self) -> &'static str {
        match self {
            Self::Aarch64 => "linux-image-arm64",
            Self::Armv7 => "linux-image-armmp",
            Self::Riscv64 => "linux-image-riscv64",
            Self::X86_64 => "linux-image-amd64",
        }
    }

    /// System emulator.
    pub(crate) const fn qemu(self) -> &'static str {
        match self {
            Self::Aarch64 => "qemu-system-aarch64",
            Self::Armv7 => "qemu-system-arm",
            Self::Riscv64 => "qemu-system-riscv64",
            Self::X86_64 => "qemu-system-x86_64",
        }
    }

    /// Architecture in ELF headers.
    pub(crate) const fn object(self) -> object::Architecture {
        match self {
            Self::Aarch64 => object::Architecture::Aarch64,
            Self::Armv7 => object::Architecture::Arm,
            Self::Riscv64 => object::Architecture::Riscv64,
            Self::X86_64 => object::Architecture::X86_64,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Network interface of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nic {
    /// Part of the machine.
    OnBoard,
    /// A device with this QEMU name.
    Device(&'static str),
}

/// Firmware below the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Firmware {
    /// Its Debian package.
    pub(crate) package: &'static str,
    /// Its file in the package.
    pub(crate) path: &'static str,
}

/// `OpenSBI`, newer than QEMU 7.2's (1.1), which leaves an interrupt pending at a hart that runs no kernel: that hart
/// spins, and occupies a core of the host.
static OPENSBI: Firmware = Firmware {
    package: "opensbi",
    path: "usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin",
};

/// An emulated machine of one architecture.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name: QEMU's.
    pub name: &'static str,
    /// The processor architecture.
    pub arch: Arch,
    /// Options of QEMU's `-machine` after the name.
    pub(crate) options: &'static str,
    /// QEMU's processor name, where not the machine's default.
    pub(crate) cpu: Option<&'static str>,
    /// Default number of cores.
    pub cores: u8,
    /// Whether `-machine` supports `serial=`, from which the real board's firmware derives its MAC address.
    pub(crate) has_serial: bool,
    /// The network interface.
    pub(crate) nic: Nic,
    /// Boot firmware, where QEMU's own has a defect.
    pub(crate) firmware: Option<&'static Firmware>,
    /// Kernel modules that it needs.
    pub(crate) modules: &'static [&'static str],
    /// Console device.
    pub(crate) console: &'static str,
    /// How it boots from a disk; `None`: no images for it.
    pub(crate) disk: Option<&'static Disk>,
}

/// QEMU's machine without a model in hardware, as on Arm.
const VIRT: Machine = Machine {
    name: "virt",
    arch: Arch::Aarch64,
    options: "",
    cpu: None,
    cores: 2,
    has_serial: false,
    nic: Nic::Device("virtio-net-device"),
    firmware: None,
    modules: &["virtio_mmio", "virtio_net"],
    console: "ttyAMA0",
    disk: None,
};

/// Every machine. A new one is an entry here.
pub(crate) static ALL: &[Machine] = &[
    Machine {
        name: "sifive_u",
        arch: Arch::Riscv64,
        options: "",
        cpu: None,
        // One monitor core and four that run Linux, as on the HiFive Unleashed.
        cores: 5,
        has_serial: true,
        nic: Nic::OnBoard,
        firmware: Some(&OPENSBI),
        modules: &["marvell", "macb"],
        console: "ttySIF0",
        disk: Some(&SIFIVE_U),
    },
    Machine {
        arch: Arch::Riscv64,
        firmware: Some(&OPENSBI),
        console: "ttyS0",
        disk: Some(&VIRT_RISCV64),
        ..VIRT
    },
    Machine {
        arch: Arch::Aarch64,
        options: ",gic-version=3",
        cpu: Some("cortex-a57"),
        ..VIRT
    },
    Machine {
        arch: Arch::Armv7,
        // Otherwise devices are above 4 GiB, out of reach of Debian's kernel without LPAE.
        options: ",highmem=off",
        cpu: Some("cortex-a15"),
        ..VIRT
    },
    Machine {
        name: "q35",
        arch: Arch::X86_64,
        nic: Nic::Device("virtio-net-pci"),
        modules: &["virtio_pci", "virtio_net"],
        console: "ttyS0",
        ..VIRT
    },
];

impl Machine {
    /// The first machine with this name, architecture or both.
    pub fn find(name: Option<&str>, arch: Option<Arch>) -> Result<&'static Self, String> {
        let fits = |machine: &&Self| {
            name.is_none_or(|name| name == machine.name)
                && arch.is_none_or(|arch| arch == machine.arch)
        };
        ALL.iter().find(fits).ok_or_else(|| {
            let all: Vec<_> = ALL.iter().map(ToString::to_string).collect();
            let asked = [name, arch.map(Arch::name)].into_iter().flatten();
            let asked: Vec<_> = asked.collect();
            format!(
                "linerate emulates no board {}; it emulates {}",
                asked.join(" of "),
                all.join(", ")
            )
        })
    }

    /// The names of all machines, each once.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<_> = ALL.iter().map(|machine| machine.name).collect();
        names.dedup();
        names
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.name, self.arch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_open_is_the_first_that_fits() {
        let found = |name, arch| Machine::find(name, arch).unwrap().to_string();
        assert_eq!(found(None, None), "sifive_u of riscv64");
        assert_eq!(found(Some("virt"), None), "virt of riscv64");
        assert_eq!(found(None, Some(Arch::Armv7)), "virt of armv7");
        assert_eq!(found(None, Some(Arch::X86_64)), "q35 of x86-64");
    }

    #[test]
    fn a_machine_that_no_architecture_has_is_refused_with_those_there_are() {
        let said = Machine::find(Some("sifive_u"), Some(Arch::Aarch64)).unwrap_err();
        assert!(said.contains("sifive_u of aarch64;"), "{said}");
        assert!(said.contains("virt of aarch64"), "{said}");
    }

    #[test]
    fn every_pair_is_listed_once_and_every_architecture_has_a_machine() {
        for (at, machine) in ALL.iter().enumerate() {
            let again = ALL[at + 1..].iter();
            assert!(
                again
                    .clone()
                    .all(|m| (m.name, m.arch) != (machine.name, machine.arch))
            );
        }
        for arch in Arch::ALL {
            assert!(Machine::find(None, Some(arch)).is_ok(), "{arch}");
        }
    }
}
