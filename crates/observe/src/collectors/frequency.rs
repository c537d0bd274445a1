//! Clock frequency of the cores, and its governor.

use super::{Collector, record};
use crate::error::ReadError;
use crate::host_view::HostView;
use crate::text::{field, tidy};
use linerate_model::signals::CPU_FREQUENCY_HZ;

const POLICIES: &str = "sys/devices/system/cpu/cpufreq";

pub(super) static COLLECTOR: Collector = Collector {
    signals: &[CPU_FREQUENCY_HZ],
    read: |host, into| record(into, CPU_FREQUENCY_HZ, fastest(host)),
    facts: |host, into| {
        let of_first = |file: &str| {
            let policy = policies(host).into_iter().next()?;
            tidy(&host.read(&format!("{POLICIES}/{policy}/{file}")).ok()?)
        };
        let hertz = |file: &str| hertz_from_khz(&of_first(file)?);
        into.cpu_governor = of_first("scaling_governor");
        into.cpu_frequency_driver = of_first("scaling_driver");
        into.cpu_frequency_max_hz = hertz("cpuinfo_max_freq");
        let steps = of_first("scaling_available_frequencies").unwrap_or_default();
        let steps: Vec<_> = steps.split(' ').filter_map(hertz_from_khz).collect();
        into.cpu_frequency_steps_hz = (!steps.is_empty()).then_some(steps);
        into.cpu_frequency_hz = fastest(host).ok().or_else(|| nominal(host));
    },
    ..Collector::new(
        "frequency",
        "Clock frequency of the fastest core, and its governor.",
    )
};

/// One directory per group of cores with a common clock.
fn policies(host: &HostView<'_>) -> Vec<String> {
    let mut names = host.names(POLICIES);
    names.retain(|name| name.starts_with("policy"));
    names
}

fn fastest(host: &HostView<'_>) -> Result<u64, ReadError> {
    let readings = policies(host).into_iter().filter_map(|policy| {
        let path = format!("{POLICIES}/{policy}/scaling_cur_freq");
        hertz_from_khz(&host.read(&path).ok()?)
    });
    readings
        .max()
        .ok_or_else(|| ReadError::no_field(POLICIES, "policy with scaling_cur_freq"))
}

/// Frequency from `cpuinfo`, where cpufreq is not available, as in a virtual machine.
fn nominal(host: &HostView<'_>) -> Option<u64> {
    let info = host.text("proc/cpuinfo").ok()?;
    let (mhz, thousandths) = field(&info, "cpu MHz", ':')?.split_once('.')?;
    let khz = format!("{mhz}{thousandths:0<3.3}");
    hertz_from_khz(&khz)
}

fn hertz_from_khz(text: &str) -> Option<u64> {
    let khz: u64 = text.trim().parse().ok()?;
    khz.checked_mul(1000).filter(|hertz| *hertz > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::host_with;
    use linerate_model::facts::Facts;

    #[test]
    fn the_fastest_policy_counts() {
        let (_root, scope) = host_with(&[
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
                "1400000\n",
            ),
            (
                "sys/devices/system/cpu/cpufreq/policy4/scaling_cur_freq",
                "2200000\n",
            ),
            (
                "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
                "powersave\n",
            ),
            ("sys/devices/system/cpu/cpufreq/boost", "1\n"),
        ]);
        let host = HostView::new(&scope);
        assert_eq!(fastest(&host), Ok(2_200_000_000));
        let mut facts = Facts::default();
        (COLLECTOR.facts)(&host, &mut facts);
        assert_eq!(facts.cpu_governor.as_deref(), Some("powersave"));
    }

    #[test]
    fn a_virtual_machine_tells_only_a_nominal_frequency() {
        let (_root, scope) = host_with(&[("proc/cpuinfo", "cpu MHz\t\t: 2445.432\n")]);
        let host = HostView::new(&scope);
        assert!(fastest(&host).is_err());
        assert_eq!(nominal(&host), Some(2_445_432_000));
    }

    #[test]
    fn garbled_frequencies_are_not_numbers() {
        for text in [
            "",
            "x\n",
            "0\n",
            "-1\n",
            "99999999999999999999\n",
            "18446744073709551615\n",
        ] {
            assert_eq!(hertz_from_khz(text), None, "{text:?}");
        }
    }
}
