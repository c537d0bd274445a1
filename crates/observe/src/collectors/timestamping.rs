//! Timestamping capabilities of the interface, and the clocks of timestamps: facts only.

use super::Collector;
use linerate_sys::ethtool::Ethtool;

pub(super) static COLLECTOR: Collector = Collector {
    facts: |host, into| {
        let space = host.link_target("proc/self/ns/time");
        into.time_namespace = space.map(|link| link.display().to_string());
        let Some(name) = host.interface_name().ok().filter(|_| host.is_live()) else {
            return;
        };
        let Ok(ability) = Ethtool::new().and_then(|ethtool| ethtool.timestamp_ability(&name))
        else {
            return;
        };
        let software = words(ability.software_transmit(), ability.software_receive());
        let hardware = words(ability.hardware_transmit(), ability.hardware_receive());
        let clock = ability.ptp_clock.map(|number| format!("/dev/ptp{number}"));
        into.timestamps_software = Some(software.to_owned());
        into.timestamps_hardware = Some(hardware.to_owned());
        into.timestamps_ptp_clock = Some(clock.unwrap_or_else(|| "none".to_owned()));
    },
    ..Collector::new(
        "timestamping",
        "Timestamps that the interface can take, and its own (PTP) clock.",
    )
};

const fn words(transmit: bool, receive: bool) -> &'static str {
    match (transmit, receive) {
        (true, true) => "transmit, receive",
        (true, false) => "transmit",
        (false, true) => "receive",
        (false, false) => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_view::HostView;
    use crate::host_view::Scope;
    use linerate_model::facts::Facts;

    #[test]
    fn the_loopback_says_that_it_has_no_clock_of_its_own() {
        let scope = Scope::live(Some("lo".to_owned()));
        let mut facts = Facts::default();
        (COLLECTOR.facts)(&HostView::new(&scope), &mut facts);
        let software = facts.timestamps_software.as_deref();
        assert_eq!(software, Some("transmit, receive"));
        assert_eq!(facts.timestamps_hardware.as_deref(), Some("none"));
        assert_eq!(facts.timestamps_ptp_clock.as_deref(), Some("none"));
    }
}
