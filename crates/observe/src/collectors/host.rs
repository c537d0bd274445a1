//! Machine type, kernel and hypervisor: facts only, no signals.

use super::Collector;
use crate::blind::boot;
use crate::host_view::{HostView, Scope};
use crate::text::{field, tidy};
use linerate_model::ByteCount;
use linerate_sys::tsc;

/// Kernel command-line options that affect measurements.
const BOOT_OPTIONS: &[&str] = &[
    "idle",
    "intel_idle.max_cstate",
    "isolcpus",
    "mitigations",
    "nohz_full",
    "nosmt",
    "processor.max_cstate",
    "rcu_nocbs",
];

/// Hypervisor by a fragment of the vendor or product name.
const HYPERVISORS: &[(&str, &str)] = &[
    ("amazon ec2", "nitro"),
    ("google compute engine", "kvm"),
    ("kvm", "kvm"),
    ("qemu", "qemu"),
    ("virtualbox", "virtualbox"),
    ("vmware", "vmware"),
    ("microsoft corporation virtual machine", "hyper-v"),
    ("xen", "xen"),
];

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        let line = |path: &str| host.read(path).ok().and_then(|text| tidy(&text));
        into.hostname = line("proc/sys/kernel/hostname");
        into.kernel_release = line("proc/sys/kernel/osrelease");
        into.kernel_build = line("proc/sys/kernel/version");
        into.boot_id = boot(host);
        into.architecture = architecture(host);
        into.os_name = os_name(host);
        into.memory_bytes = memory(host);
        let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        into.clock_source = line(clock);
        into.cpu_microcode = cpuinfo(host, "microcode");
        into.tsc_hz = host.is_live().then(tsc::rate_hz).flatten();
        into.tsc_hz_source = into.tsc_hz.map(|_| tsc::SOURCE.to_owned());
        into.board = board(host);
        into.isa = cpuinfo(host, "isa");
        into.virtualisation = virtualisation(host);
        into.smt = line("sys/devices/system/cpu/smt/control");
        let command_line = host.read("proc/cmdline").unwrap_or_default();
        into.emulated = emulated(&command_line);
        for (key, value) in boot_options(&command_line) {
            into.insert(format!("boot_{key}"), value);
        }
    },
    ..Collector::new(
        "host",
        "Machine, kernel, memory, virtualisation and boot options.",
    )
};

/// Architecture of the machine, not of this program.
fn architecture(host: &HostView<'_>) -> Option<String> {
    let from_file = host.read("proc/sys/kernel/arch").ok();
    let text = from_file.or_else(|| {
        let uname = rustix::system::uname();
        host.is_live()
            .then(|| uname.machine().to_string_lossy().into_owned())
    });
    tidy(&text?)
}

fn os_name(host: &HostView<'_>) -> Option<String> {
    let text = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|path| host.read(path).ok())?;
    let name = field(&text, "PRETTY_NAME", '=').or_else(|| field(&text, "NAME", '='))?;
    tidy(name.trim_matches(['"', '\'']))
}

/// A field of the first processor in `cpuinfo`.
fn cpuinfo(host: &HostView<'_>, key: &str) -> Option<String> {
    tidy(field(&host.text("proc/cpuinfo").ok()?, key, ':')?)
}

/// `MemTotal`, which the kernel gives in KiB.
fn memory(host: &HostView<'_>) -> Option<ByteCount> {
    let text = host.read("proc/meminfo").ok()?;
    let kib = field(&text, "MemTotal", ':')?.strip_suffix(" kB")?;
    let bytes = kib.trim().parse::<u64>().ok()?.checked_mul(1024);
    bytes.map(ByteCount::new)
}

/// Board or product name, from the device tree or the firmware.
fn board(host: &HostView<'_>) -> Option<String> {
    let tree = host.read("sys/firmware/devicetree/base/model").ok();
    tree.and_then(|model| tidy(&model)).or_else(|| {
        let words: Vec<_> = ["sys_vendor", "product_name"]
            .iter()
            .filter_map(|file| tidy(&host.read(&format!("sys/class/dmi/id/{file}")).ok()?))
            .collect();
        tidy(&words.join(" "))
    })
}

/// Hypervisor name; `hypervisor` if only its presence is known, `none seen` if there is no sign of one.
fn virtualisation(host: &HostView<'_>) -> Option<String> {
    if let Some(kind) = host
        .read("sys/hypervisor/type")
        .ok()
        .and_then(|kind| tidy(&kind))
    {
        return Some(kind);
    }
    let product = board(host).unwrap_or_default().to_lowercase();
    let named = HYPERVISORS.iter().find(|(word, _)| product.contains(word));
    if let Some((_, name)) = named {
        return Some((*name).to_owned());
    }
    let info = host.text("proc/cpuinfo").ok()?;
    let flags = field(&info, "flags", ':').unwrap_or_default();
    let flagged = flags
        .split_ascii_whitespace()
        .any(|flag| flag == "hypervisor");
    Some(if flagged { "hypervisor" } else { "none seen" }.to_owned())
}

/// Whether this host is emulated, by its kernel's command line.
pub fn is_emulated() -> bool {
    let scope = Scope::live(None);
    let command_line = HostView::new(&scope).read("proc/cmdline");
    command_line.is_ok_and(|words| emulated(&words).is_some())
}

/// Emulated machine and emulator, such as `sifive_u,QEMU-7.2.22` on the kernel's command line, whose words have no
/// spaces.
fn emulated(command_line: &str) -> Option<String> {
    let words = command_line.split_ascii_whitespace();
    let mut emulated = words.filter_map(|word| word.strip_prefix("linerate.emulated="));
    let (machine, emulator) = emulated.next()?.split_once(',')?;
    tidy(&format!("{machine} on {}", emulator.replace('-', " ")))
}

/// The options of [`BOOT_OPTIONS`] on the command line; one without a value is `on`.
fn boot_options(command_line: &str) -> impl Iterator<Item = (&str, String)> {
    command_line.split_ascii_whitespace().filter_map(|word| {
        let (key, value) = word.split_once('=').unwrap_or((word, "on"));
        let known = BOOT_OPTIONS.contains(&key);
        known.then(|| Some((key, tidy(value)?)))?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host_with;
    use linerate_model::facts::Facts;

    fn facts_of(files: &[(&str, &str)]) -> Facts {
        let (_root, scope) = host_with(files);
        let mut facts = Facts::default();
        (COLLECTOR.facts)(&HostView::new(&scope), &mut facts);
        facts
    }

    #[test]
    fn a_board_tells_its_name_and_memory() {
        let facts = facts_of(&[
            (
                "sys/firmware/devicetree/base/model",
                "SiFive HiFive Unleashed A00\0",
            ),
            (
                "proc/meminfo",
                "MemTotal:        8144148 kB\nMemFree: 1 kB\n",
            ),
            ("proc/sys/kernel/osrelease", "5.3.7\n"),
            (
                "etc/os-release",
                "NAME=Fedora\nPRETTY_NAME=\"Fedora Linux 31\"\n",
            ),
            ("proc/cpuinfo", "hart : 1\n"),
        ]);
        assert_eq!(facts.board.as_deref(), Some("SiFive HiFive Unleashed A00"));
        let memory = ByteCount::new(8_144_148 * 1024);
        assert_eq!(facts.memory_bytes, Some(memory));
        assert_eq!(facts.kernel_release.as_deref(), Some("5.3.7"));
        assert_eq!(facts.os_name.as_deref(), Some("Fedora Linux 31"));
        assert_eq!(facts.virtualisation.as_deref(), Some("none seen"));
    }

    #[test]
    fn a_hypervisor_is_named_where_its_name_is_known() {
        let qemu = [
            ("sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("sys/class/dmi/id/product_name", "Standard PC (Q35)\n"),
        ];
        let flag = [("proc/cpuinfo", "flags\t: fpu hypervisor sse2\n")];
        let xen = [("sys/hypervisor/type", "xen\n")];
        let cases: [(&[_], _); 4] = [
            (&qemu, Some("qemu")),
            (&flag, Some("hypervisor")),
            (&xen, Some("xen")),
            (&[], None),
        ];
        for (files, name) in cases {
            assert_eq!(facts_of(files).virtualisation.as_deref(), name);
        }
    }

    #[test]
    fn an_emulated_board_says_so_and_names_its_instruction_set() {
        let command_line = "console=ttySIF0 linerate.emulated=sifive_u,QEMU-7.2.22";
        let facts = facts_of(&[
            ("proc/cmdline", command_line),
            ("proc/cpuinfo", "processor\t: 0\nisa\t\t: rv64imafdc\n"),
        ]);
        assert_eq!(facts.emulated.as_deref(), Some("sifive_u on QEMU 7.2.22"));
        assert_eq!(facts.isa.as_deref(), Some("rv64imafdc"));
        assert_eq!(facts_of(&[("proc/cmdline", "quiet")]).emulated, None);
    }

    #[test]
    fn only_boot_options_that_matter_are_told() {
        let facts = facts_of(&[(
            "proc/cmdline",
            "root=/dev/sda1 isolcpus=2-3 mitigations=off nosmt quiet\n",
        )]);
        assert_eq!(facts.rest()["boot_isolcpus"], "2-3");
        assert_eq!(facts.rest()["boot_mitigations"], "off");
        assert_eq!(facts.rest()["boot_nosmt"], "on");
        assert!(!facts.rest().contains_key("boot_root"));
    }

    #[test]
    fn garbled_files_give_no_facts_and_no_panic() {
        let facts = facts_of(&[
            ("proc/meminfo", "MemTotal: 99999999999999999999 kB\n"),
            ("etc/os-release", "PRETTY_NAME=\"\"\n"),
            ("proc/cmdline", "isolcpus= =\n"),
        ]);
        assert_eq!(facts, Facts::default());
    }
}
