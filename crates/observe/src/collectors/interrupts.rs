//! Interrupts of the test's interface, and runs of the network's soft interrupts.
//!
//! `/proc/interrupts` is searched for the interface: by a number in the device's `msi_irqs`, or by
//! an action named after the interface or its device. Drivers that name theirs otherwise, and
//! interfaces without hardware, have none. `/proc/softirqs` belongs to the cores: its counts are
//! those of the whole host and of all interfaces.

use super::{Collector, record, record_missing};
use crate::error::ReadError;
use crate::history::Backwards;
use crate::host_view::HostView;
use crate::sysfs::interface_directory;
use crate::text::whole_lines;
use linerate_model::signals::{NIC_INTERRUPTS, SOFTIRQ_NET_RX, SOFTIRQ_NET_TX};
use std::collections::BTreeSet;

const HARD: &str = "proc/interrupts";
const SOFT: &str = "proc/softirqs";

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[NIC_INTERRUPTS, SOFTIRQ_NET_RX, SOFTIRQ_NET_TX],
    // 32-bit counters per core.
    backwards: Backwards::Wrap32,
    read: |host, into| {
        record(into, NIC_INTERRUPTS, of_interface(host));
        match host.text(SOFT) {
            Ok(text) => {
                for (signal, row) in [(SOFTIRQ_NET_RX, "NET_RX"), (SOFTIRQ_NET_TX, "NET_TX")] {
                    let sum = row_sum(&text, row);
                    record(
                        into,
                        signal,
                        sum.ok_or_else(|| ReadError::no_field(SOFT, row)),
                    );
                }
            }
            Err(error) => record_missing(into, &[SOFTIRQ_NET_RX, SOFTIRQ_NET_TX], &error),
        }
    },
    ..Collector::new(
        "interrupts",
        "Interrupts of the interface that carries the traffic, and runs of the network's soft \
         interrupts.",
    )
};

/// How an interface's interrupts are recognised.
#[derive(Debug, Default)]
struct Marks {
    numbers: BTreeSet<String>,
    names: Vec<String>,
}

impl Marks {
    fn read(host: &HostView<'_>) -> Result<Self, ReadError> {
        let directory = interface_directory(host)?;
        let mut names = vec![host.interface()?.to_owned()];
        // A virtio device has no interrupts of its own: they belong to its PCI function, with actions named after the
        // device, as for a platform device.
        names.extend(host.link_name(&format!("{directory}/device")));
        let numbers = host.names(&format!("{directory}/device/msi_irqs"));
        Ok(Self {
            numbers: numbers.into_iter().collect(),
            names,
        })
    }

    fn hold(&self, number: &str, actions: &str) -> bool {
        self.numbers.contains(number)
            || actions
                .split([' ', ','])
                .any(|action| self.names.iter().any(|name| is_of(action, name)))
    }
}

/// `eth0`, `eth0-TxRx-3`, `virtio3-input.0`, `30be0000.ethernet`; also `mlx5_comp2@eth0`. Not `eth01`.
fn is_of(action: &str, name: &str) -> bool {
    let rest = action
        .strip_prefix(name)
        .or_else(|| action.split_once('@')?.1.strip_prefix(name));
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
}

fn of_interface(host: &HostView<'_>) -> Result<u64, ReadError> {
    let marks = Marks::read(host)?;
    let text = host.text(HARD)?;
    sum_of(&text, &marks).ok_or_else(|| ReadError::Unfit {
        what: format!(
            "/{HARD}: no line names the interface {}, which may have no hardware",
            host.interface().unwrap_or("")
        ),
    })
}

/// Sum of all lines that match `marks`; `None` without any.
fn sum_of(text: &str, marks: &Marks) -> Option<u64> {
    let rows = rows_of(text, marks)?;
    let counts = rows.filter_map(|row| counts(row.columns, row.cores));
    counts.reduce(u64::saturating_add)
}

/// A line of `/proc/interrupts`.
struct Row<'a> {
    number: u32,
    columns: &'a str,
    cores: usize,
    actions: String,
}

/// Lines that match `marks`.
fn rows_of<'a>(text: &'a str, marks: &'a Marks) -> Option<impl Iterator<Item = Row<'a>>> {
    let mut lines = whole_lines(text);
    let cores = lines.next()?.split_ascii_whitespace().count();
    Some(lines.filter_map(move |line| {
        let (digits, columns) = line.split_once(':')?;
        let digits = digits.trim();
        // Rows with a name (`NMI`, `LOC`) belong to no device.
        let number = digits.parse().ok()?;
        let actions = columns.split_ascii_whitespace().skip(cores);
        let actions = actions.collect::<Vec<_>>().join(" ");
        marks.hold(digits, &actions).then_some(Row {
            number,
            columns,
            cores,
            actions,
        })
    }))
}

/// Number and last word of each interrupt of the interface.
pub(crate) fn interrupts_of_interface(
    host: &HostView<'_>,
) -> Result<Vec<(u32, String)>, ReadError> {
    let marks = Marks::read(host)?;
    let text = host.text(HARD)?;
    let name = |actions: &str| {
        let last = actions.rsplit(' ').next();
        last.and_then(crate::text::tidy).unwrap_or_default()
    };
    let rows = rows_of(&text, &marks).into_iter().flatten();
    Ok(rows.map(|row| (row.number, name(&row.actions))).collect())
}

fn row_sum(text: &str, row: &str) -> Option<u64> {
    let mut lines = whole_lines(text);
    let cores = lines.next()?.split_ascii_whitespace().count();
    let (_, rest) = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == row)?;
    counts(rest, cores)
}

/// Sum of one count per core; `None` if one is missing.
fn counts(rest: &str, cores: usize) -> Option<u64> {
    let mut words = rest.split_ascii_whitespace();
    (0..cores).try_fold(0_u64, |sum, _| {
        Some(sum.saturating_add(words.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTERRUPTS: &str = "\
           CPU0       CPU1       
 24:          1          0  IO-APIC   5-edge      ACPI:Ged
 38:          4      15731 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 39:       9995          0 PCI-MSIX-0000:00:03.0   2-edge      virtio2-output.0
 40:          7          0 PCI-MSIX-0000:00:04.0   0-edge      virtio21-config
 41:          5          6 PCI-MSIX-0000:00:05.0   1-edge      eth1-TxRx-0
 42:          3          0 PCI-MSIX-0000:00:06.0   1-edge      mlx5_comp2@eth1
 43:          2          2     GICv3  71 Level     30be0000.ethernet, other
NMI:          0          0   Non-maskable interrupts
";

    fn marks(numbers: &[&str], names: &[&str]) -> Marks {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Marks {
            numbers: numbers.iter().map(|word| (*word).to_owned()).collect(),
            names: owned(names),
        }
    }

    #[test]
    fn lines_are_found_by_device_by_interface_and_by_number() {
        let sum = |numbers, names| sum_of(INTERRUPTS, &marks(numbers, names));
        assert_eq!(sum(&[], &["eth0", "virtio2"]), Some(4 + 15731 + 9995));
        assert_eq!(sum(&[], &["eth1"]), Some(5 + 6 + 3));
        assert_eq!(sum(&[], &["30be0000.ethernet"]), Some(4));
        assert_eq!(sum(&["24", "40"], &["eth9"]), Some(8));
        assert_eq!(sum(&[], &["lo"]), None);
    }

    #[test]
    fn soft_interrupts_are_summed_over_cores() {
        let text = "                    CPU0       CPU1\n      NET_TX:       2866       2729\n      NET_RX:  132002661   55127493\n";
        assert_eq!(row_sum(text, "NET_RX"), Some(187_130_154));
        assert_eq!(row_sum(text, "RCU"), None);
        assert_eq!(row_sum("   CPU0 CPU1\n NET_RX: 1\n", "NET_RX"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "\\PC*", lines in "( CPU0){0,3}\n([0-9:a-z ]{0,30}\n){0,5}") {
            for text in [text, lines] {
                let _ = (row_sum(&text, "NET_RX"), sum_of(&text, &marks(&["1"], &["a"])));
            }
        }
    }
}
