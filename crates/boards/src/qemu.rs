//! The command line of QEMU.

use crate::machine::Nic;
use crate::network::Subnet;
use crate::tools::run;
use crate::{Arch, BoardName, Machine, SerialNumber};
use linerate_model::ByteCount;
use linerate_model::exit::Failure;
use serde::{Deserialize, Serialize};
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::process::Command;

/// Files in the board's folder, the working directory of QEMU: a socket's path is limited to 107 bytes.
pub(crate) const CONSOLE_SOCKET: &str = "console.socket";
pub(crate) const CONSOLE_LOG: &str = "console.log";
pub(crate) const IMAGE: &str = "initramfs.cpio";

/// Parameters known before the supervisor creates the network.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Emulation {
    pub(crate) name: BoardName,
    pub(crate) machine: String,
    pub(crate) arch: Arch,
    pub(crate) cores: u8,
    pub(crate) memory: ByteCount,
    pub(crate) kernel: PathBuf,
    pub(crate) firmware: Option<PathBuf>,
    pub(crate) kernel_options: Vec<String>,
    /// Name and version: `QEMU 7.2.22`.
    pub(crate) emulator: String,
}

/// QEMU's name and version.
pub(crate) fn version(machine: &Machine) -> Result<String, Failure> {
    let printed = run(Command::new(machine.arch.qemu()).arg("--version"))?;
    let text = String::from_utf8_lossy(&printed.stdout);
    Ok(format!("QEMU {}", version_in(&text)))
}

/// The version in `QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)`.
fn version_in(text: &str) -> &str {
    let mut words = text
        .split_whitespace()
        .skip_while(|word| *word != "version");
    words.nth(1).unwrap_or("of unknown version")
}

impl Emulation {
    /// Arguments of QEMU.
    pub(crate) fn arguments(
        &self,
        machine: &Machine,
        serial: SerialNumber,
        subnet: Subnet,
        tap: RawFd,
    ) -> Vec<String> {
        let mac = serial.mac();
        let identity = if machine.has_serial {
            format!(",serial={serial}")
        } else {
            String::new()
        };
        let mut words = vec![
            format!("-name {}", self.name),
            "-nodefaults".to_owned(),
            "-no-reboot".to_owned(),
            "-display none".to_owned(),
            format!("-machine {}{}{identity}", machine.name, machine.options),
            format!("-smp {}", self.cores),
            format!("-m {}B", self.memory.get()),
            format!("-kernel {}", self.kernel.display()),
            format!("-initrd {IMAGE}"),
            format!(
                "-chardev socket,id=console,path={CONSOLE_SOCKET},server=on,wait=off,logfile={CONSOLE_LOG}"
            ),
            "-serial chardev:console".to_owned(),
        ];
        words.extend(machine.cpu.map(|cpu| format!("-cpu {cpu}")));
        let firmware = self.firmware.iter();
        words.extend(firmware.map(|path| format!("-bios {}", path.display())));
        match machine.nic {
            Nic::OnBoard => words.push(format!("-nic tap,fd={tap},mac={mac}")),
            Nic::Device(device) => {
                words.push(format!("-netdev tap,id=link,fd={tap}"));
                words.push(format!("-device {device},netdev=link,mac={mac}"));
            }
        }
        let options = words.iter().flat_map(|word| {
            let (option, value) = word.split_once(' ').unwrap_or((word, ""));
            [option, value].into_iter().filter(|part| !part.is_empty())
        });
        let mut words: Vec<_> = options.map(str::to_owned).collect();
        words.extend(["-append".to_owned(), self.command_line(machine, subnet)]);
        words
    }

    /// The kernel's command line. It names the emulated machine, where no program of the board can change it.
    fn command_line(&self, machine: &Machine, subnet: Subnet) -> String {
        let mut words = vec![
            format!("console={}", machine.console),
            // QEMU then exits, which the supervisor sees.
            "panic=-1".to_owned(),
            format!(
                "linerate.emulated={},{}",
                self.machine,
                self.emulator.replace(' ', "-")
            ),
            format!("linerate.address={}/24", subnet.board()),
            format!("linerate.address6={}/64", subnet.board6()),
            format!("linerate.gateway={}", subnet.host()),
        ];
        words.extend(self.kernel_options.iter().cloned());
        words.join(" ")
    }

    /// Emulated machine and emulator.
    pub(crate) fn description(&self) -> String {
        format!("{} on {}", self.machine, self.emulator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::subnet;

    fn arguments(name: &str, arch: Arch) -> String {
        let machine = Machine::find(Some(name), Some(arch)).unwrap();
        let emulation = Emulation {
            name: "unleashed".parse().unwrap(),
            machine: machine.name.to_owned(),
            arch,
            cores: machine.cores,
            memory: ByteCount::new(1 << 30),
            kernel: "/cache/kernel".into(),
            firmware: machine.firmware.map(|_| "/cache/firmware".into()),
            kernel_options: vec!["quiet".to_owned()],
            emulator: "QEMU 7.2.22".to_owned(),
        };
        let serial = SerialNumber::new(258).unwrap();
        emulation.arguments(machine, serial, subnet(3), 9).join(" ")
    }

    #[test]
    fn a_board_with_a_nic_of_its_own() {
        let words = arguments("sifive_u", Arch::Riscv64);
        for part in [
            "-name unleashed -nodefaults",
            "-machine sifive_u,serial=258 -smp 5 -m 1073741824B",
            "-bios /cache/firmware -nic tap,fd=9,mac=52:54:00:00:01:02",
            "-append console=ttySIF0 panic=-1 linerate.emulated=sifive_u,QEMU-7.2.22 linerate.address=10.78.3.2/24",
            "linerate.gateway=10.78.3.1 quiet",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
    }

    #[test]
    fn a_board_whose_nic_is_plugged_in() {
        let words = arguments("virt", Arch::Aarch64);
        for part in [
            "-machine virt,gic-version=3 ",
            "-cpu cortex-a57",
            "-netdev tap,id=link,fd=9 -device virtio-net-device,netdev=link,mac=52:54:00:00:01:02",
        ] {
            assert!(words.contains(part), "{part} is not in {words}");
        }
    }

    #[test]
    fn the_version_is_the_upstream_one() {
        let text = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright\n";
        assert_eq!(version_in(text), "7.2.22");
        assert_eq!(version_in(""), "of unknown version");
    }
}
