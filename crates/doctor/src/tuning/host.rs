//! The settings of this host: files of `/proc` and `/sys`, the ethtool ioctl, rtnetlink.

use super::Settings;
use linerate_model::knob::Knob;
use linerate_sys::ethtool::Ethtool;
use linerate_sys::host_files::{FileUse, HostFiles};
use linerate_sys::netlink::{InterfaceName, Netlink, Qdisc};
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// The sysctls that may be changed.
pub const SYSCTLS: &[&str] = &[
    "kernel.kptr_restrict",
    "kernel.numa_balancing",
    "kernel.perf_event_paranoid",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Maximum length of a setting's value.
const MAX_VALUE_BYTES: u64 = 4096;

/// Settings of a host in the files of its `/proc` and `/sys`. Drivers and queueing disciplines are available only where
/// these are no copy, in the network namespace of the calling thread.
#[derive(Debug)]
pub struct HostSettings {
    files: HostFiles,
}

impl HostSettings {
    /// Settings in `files`.
    pub fn new(files: &HostFiles) -> Self {
        Self {
            files: files.clone(),
        }
    }

    /// The file that holds a setting; `None` for those without one.
    fn file(knob: &Knob) -> Result<Option<String>, String> {
        const CPU: &str = "sys/devices/system/cpu";
        Ok(Some(match knob {
            Knob::Governor { policy } => {
                format!("{CPU}/cpufreq/policy{policy}/scaling_governor")
            }
            Knob::IdleState { core, state } => {
                format!("{CPU}/cpu{core}/cpuidle/state{state}/disable")
            }
            Knob::InterruptAffinity { interrupt } => {
                format!("proc/irq/{interrupt}/smp_affinity_list")
            }
            Knob::Sysctl { name } if SYSCTLS.contains(&name.as_str()) => {
                format!("proc/sys/{}", name.replace('.', "/"))
            }
            Knob::Sysctl { name } => {
                return Err(format!("{name:?} is not a sysctl that linerate changes"));
            }
            Knob::Coalescing { .. } | Knob::QueueingDiscipline { .. } | Knob::Ring { .. } => {
                return Ok(None);
            }
        }))
    }

    fn read_file(&self, path: &str) -> io::Result<String> {
        let text = self.files.read(path, MAX_VALUE_BYTES)?;
        let text = String::from_utf8(text).map_err(io::Error::other)?;
        Ok(text.trim().to_owned())
    }

    /// Writes `value` to an existing file in one call, as `echo value > path` does.
    fn write_file(&self, path: &str, value: &str) -> io::Result<()> {
        let mut file = self.files.open(path, FileUse::Replace)?;
        file.write_all(format!("{value}\n").as_bytes())
    }

    fn live(&self) -> Result<(), String> {
        if self.files.is_live() {
            return Ok(());
        }
        Err("only the running host has this setting, not a copy of its files".to_owned())
    }
}

impl Settings for HostSettings {
    fn read(&mut self, knob: &Knob) -> Result<String, String> {
        if let Some(path) = Self::file(knob)? {
            return self
                .read_file(&path)
                .map_err(|error| refusal("reading", &self.files.shown(&path), &error));
        }
        self.live()?;
        let read = match knob {
            Knob::Coalescing { interface, part } => Ethtool::new()
                .and_then(|ethtool| ethtool.coalescing(&name(interface)?, *part))
                .map(|value| value.to_string()),
            Knob::Ring { interface, part } => Ethtool::new()
                .and_then(|ethtool| ethtool.ring(&name(interface)?, *part))
                .map(|(value, _)| value.to_string()),
            Knob::QueueingDiscipline { interface } => read_qdisc(interface),
            _ => return Err(format!("bug in linerate: {knob} has no way to be read")),
        };
        read.map_err(|error| refusal("reading", knob, &error))
    }

    fn write(&mut self, knob: &Knob, value: &str) -> Result<(), String> {
        if value.len() as u64 > MAX_VALUE_BYTES
            || value.contains(char::is_control) && !value.contains('\t')
        {
            return Err(format!("the value for {knob} is not one line of text"));
        }
        if let Some(path) = Self::file(knob)? {
            return self
                .write_file(&path, value)
                .map_err(|error| refusal("writing", &self.files.shown(&path), &error));
        }
        self.live()?;
        let number = || {
            let parsed = value.trim().parse::<u32>();
            parsed.map_err(|_| io::Error::other(format!("{value:?} is not a number")))
        };
        let written = match knob {
            Knob::Coalescing { interface, part } => Ethtool::new()
                .and_then(|ethtool| ethtool.set_coalescing(&name(interface)?, *part, number()?)),
            Knob::Ring { interface, part } => Ethtool::new()
                .and_then(|ethtool| ethtool.set_ring(&name(interface)?, *part, number()?)),
            Knob::QueueingDiscipline { interface } => write_qdisc(interface, value),
            _ => return Err(format!("bug in linerate: {knob} has no way to be written")),
        };
        written.map_err(|error| refusal("setting", knob, &error))
    }
}

fn refusal(what: &str, on: &dyn std::fmt::Display, error: &io::Error) -> String {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => "; it takes root on the host itself, not in a container",
        _ => "",
    };
    format!("{what} {on}: {error}{remedy}")
}

fn name(interface: &str) -> io::Result<InterfaceName> {
    InterfaceName::new(interface)
        .ok_or_else(|| io::Error::other(format!("{interface:?} is not the name of an interface")))
}

/// `kind handle options`, the last two in hexadecimal: enough to restore it.
fn read_qdisc(interface: &str) -> io::Result<String> {
    let mut netlink = Netlink::new()?;
    let index = netlink.link_named(&name(interface)?)?.index;
    Ok(match netlink.root_qdisc(index)? {
        Some(root) => qdisc_text(&root),
        None => "noqueue 0 -".to_owned(),
    })
}

fn write_qdisc(interface: &str, value: &str) -> io::Result<()> {
    let wanted = parse_qdisc(value)
        .ok_or_else(|| io::Error::other(format!("{value:?} is not a queueing discipline")))?;
    let mut netlink = Netlink::new()?;
    let index = netlink.link_named(&name(interface)?)?.index;
    match wanted {
        RequestedQdisc::Default => netlink.delete_root_qdisc(index),
        RequestedQdisc::Exactly(qdisc) => netlink.replace_root_qdisc(index, &qdisc),
    }
}

fn qdisc_text(qdisc: &Qdisc) -> String {
    let mut text = format!("{} {:x} ", qdisc.kind, qdisc.handle);
    for byte in &qdisc.options {
        write!(text, "{byte:02x}").expect("invariant: a string takes any text");
    }
    if qdisc.options.is_empty() {
        text.push('-');
    }
    text
}

/// Requested queueing discipline.
#[derive(Debug, PartialEq)]
enum RequestedQdisc {
    /// The kernel's default.
    Default,
    /// This one.
    Exactly(Qdisc),
}

/// Kinds whose parameters survive reading and writing unchanged.
const EXACT: &[&str] = &["bfifo", "fq_codel", "pfifo", "pfifo_fast"];

fn parse_qdisc(text: &str) -> Option<RequestedQdisc> {
    let words: Vec<_> = text.split_whitespace().collect();
    let (kind, handle, options) = match words.as_slice() {
        [kind] => (*kind, 0, Vec::new()),
        [kind, handle, options] => {
            let handle = u32::from_str_radix(handle, 16).ok()?;
            if handle == 0 {
                return Some(RequestedQdisc::Default);
            }
            (*kind, handle, bytes(options)?)
        }
        _ => return None,
    };
    EXACT.contains(&kind).then(|| {
        let mut qdisc = Qdisc {
            kind: kind.to_owned(),
            handle,
            options,
        };
        if kind == "fq_codel" {
            round_up_times(&mut qdisc.options);
        }
        RequestedQdisc::Exactly(qdisc)
    })
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    if hex == "-" {
        return Some(Vec::new());
    }
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(pair).collect()
}

/// Adds 1 µs to the times: `CoDel` stores steps of 1024 ns and shows µs, both rounded down, so the shown time plus one
/// µs is the same step (`codel_time_to_us` in `net/codel.h`).
fn round_up_times(options: &mut [u8]) {
    /// `TCA_FQ_CODEL_TARGET`, `_INTERVAL`, `_CE_THRESHOLD` in `linux/pkt_sched.h`.
    const TIMES: [u16; 3] = [1, 3, 7];
    let mut at = 0;
    while let Some(&[length_low, length_high, kind_low, kind_high]) =
        options.get(at..).and_then(<[u8]>::first_chunk)
    {
        let length = usize::from(u16::from_ne_bytes([length_low, length_high])).max(4);
        let kind = u16::from_ne_bytes([kind_low, kind_high]);
        if TIMES.contains(&kind)
            && let Some(value) = options.get_mut(at + 4..).and_then(<[u8]>::first_chunk_mut)
        {
            *value = u32::from_ne_bytes(*value).saturating_add(1).to_ne_bytes();
        }
        at += length.next_multiple_of(4);
    }
}

/// Whether two texts describe the same discipline: a kind alone matches any of that kind; the kernel's default may get
/// any handle but an own one.
pub(super) fn same_qdisc(a: &str, b: &str) -> bool {
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let (a, b) = (words(a), words(b));
    if a.len() == 1 || b.len() == 1 {
        return a.first() == b.first();
    }
    a == b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codel_s_times_come_back_from_microseconds() {
        for steps in (0_u64..200_000).step_by(7) {
            let shown = steps * 1024 / 1000;
            assert_eq!((shown + 1) * 1000 / 1024, steps);
        }
        let mut options = [8, 0, 1, 0, 0x87, 0x13, 0, 0, 8, 0, 2, 0, 9, 0, 0, 0];
        round_up_times(&mut options);
        assert_eq!(
            options,
            [8, 0, 1, 0, 0x88, 0x13, 0, 0, 8, 0, 2, 0, 9, 0, 0, 0]
        );
    }

    #[test]
    fn a_queueing_discipline_is_read_back_from_its_text() {
        let qdisc = Qdisc {
            kind: "pfifo".to_owned(),
            handle: 0x8001_0000,
            options: vec![1, 2, 255],
        };
        let text = qdisc_text(&qdisc);
        assert_eq!(text, "pfifo 80010000 0102ff");
        assert_eq!(parse_qdisc(&text), Some(RequestedQdisc::Exactly(qdisc)));
        assert_eq!(
            parse_qdisc("fq_codel 0 0800"),
            Some(RequestedQdisc::Default)
        );
        for bad in [
            "htb 80010000 -",
            "pfifo 80010000",
            "pfifo x -",
            "pfifo 1 0",
            "pfifo 1 zz",
            "",
        ] {
            assert_eq!(parse_qdisc(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_listed_sysctls_can_be_changed_and_no_name_leads_elsewhere() {
        let mut settings = HostSettings::new(&HostFiles::live());
        for name in ["kernel.core_pattern", "net.core.rmem_max/../../../x", ""] {
            let knob = Knob::Sysctl {
                name: name.to_owned(),
            };
            assert!(
                settings
                    .write(&knob, "1")
                    .unwrap_err()
                    .contains("not a sysctl")
            );
        }
        let knob = Knob::QueueingDiscipline {
            interface: "../x".to_owned(),
        };
        assert!(settings.read(&knob).is_err());
    }
}
