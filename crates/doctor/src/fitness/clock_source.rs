//! Kernel clock source, and the cost of reading it.

use super::{FitnessCheck, fine, found, words};
use linerate_model::condition::ClockSource;
use linerate_model::doctor::{Finding, Severity};

/// Clock sources that are read without a system call.
const FAST: &[&str] = &[
    "arch_sys_counter",
    "hyperv_clocksource_tsc_page",
    "kvm-clock",
    "riscv_clocksource",
    "tsc",
];
/// Threshold, ns: a reading without a system call takes some tens of ns, one with it some hundreds.
const SLOW_NS: u64 = 200;

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "clock-source",
    summary: "The kernel's clock, and the time that one reading of it takes.",
    examine: |condition| {
        let clock = condition.clock.as_ref().map_err(Clone::clone)?;
        let is_fast = FAST.contains(&clock.current.as_str());
        let is_slow = clock.reading_ns.is_some_and(|ns| ns > SLOW_NS);
        if is_fast && !is_slow {
            return Ok(fine(in_words(clock)));
        }
        let better = clock
            .available
            .iter()
            .find(|name| FAST.contains(&name.as_str()) && **name != clock.current);
        Ok(found(Finding {
            severity: if is_fast { Severity::Medium } else { Severity::High },
            now: in_words(clock),
            cost: match clock.reading_ns {
                Some(ns) => format!(
                    "each timestamp takes {ns} ns: a round trip is stamped twice, and {} of it are the clock's",
                    words::time(words::float(ns) * 2e-9)
                ),
                None => "each timestamp is a system call or a slow device's register".to_owned(),
            },
            source: None,
            set: match better {
                Some(name) => format!(
                    "echo {name} > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the kernel has not rejected it (`dmesg | grep -i tsc`)"
                ),
                None => "look why the kernel rejected a faster one: dmesg | grep -i -e tsc -e clocksource".to_owned(),
            },
            settings: Vec::new(),
        }))
    },
};

fn in_words(clock: &ClockSource) -> String {
    match clock.reading_ns {
        Some(ns) => format!("{}, {ns} ns a reading (median of 1001)", clock.current),
        None => format!("{}; the time of a reading was not measured", clock.current),
    }
}
