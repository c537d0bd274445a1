//! Rule sets of a router: they are there, and packets meet the rule that they should.

use crate::conformance::{assert_forwards, grown, need, started};
use crate::frames::{Family, Way, send_through, source_through};
use linerate_model::PacketCount;
use linerate_model::dut::DutPlace;
use std::net::Ipv4Addr;

pub(crate) fn each_rule_set_is_passed_to_its_last_rule() {
    for firewall in ["nft", "iptables-nft"] {
        for rules in [1, 100, 10_000] {
            let text = format!("router,firewall={firewall},rules={rules}");
            need(&text);
            let mut dut = started(&text);
            let before = dut.counters().unwrap();
            for (family, matched) in [(Family::V4, "ip matched"), (Family::V6, "ip6 matched")] {
                for way in Way::BOTH {
                    assert_forwards(&mut *dut, way, family, 500);
                }
                let counted = grown(&mut *dut, &before);
                assert_eq!(counted.counters[matched], 1_000, "{text}: {counted:?}");
            }
            dut.close().unwrap();
        }
    }
}

pub(crate) fn what_a_rule_blocks_is_counted_at_the_filter() {
    for firewall in ["nft", "iptables-nft"] {
        let text = format!("router,rules=10,firewall={firewall}");
        need(&text);
        let mut dut = started(&text);
        let before = dut.counters().unwrap();
        // Of an address that the third rule blocks.
        let arrived = send_through(&*dut, Way::AToB, Family::Blocked, 300);
        let counted = grown(&mut *dut, &before);
        assert_eq!(arrived, [0_u32; 0]);
        let at_filter = counted.dropped_at(DutPlace::FilterRule);
        assert_eq!(at_filter, PacketCount::new(300), "{counted:?}");
        assert_eq!(counted.dropped(), at_filter, "{counted:?}");
        dut.close().unwrap();
    }
}

pub(crate) fn connections_are_tracked_and_addresses_rewritten() {
    for firewall in ["nft", "iptables-nft"] {
        for options in [
            "conntrack=true",
            "nat=true",
            "conntrack=true,nat=true,rules=10",
        ] {
            let text = format!("router,firewall={firewall},{options}");
            need(&text);
            let mut dut = started(&text);
            for way in Way::BOTH {
                for family in [Family::V4, Family::V6] {
                    assert_forwards(&mut *dut, way, family, 500);
                }
            }
            assert!(dut.facts().description.contains("conntrack on"));
            let ports = dut.tester().ports().clone();
            let router = Ipv4Addr::new(198, 19, 0, 1);
            let is_rewritten = options.contains("nat");
            let outside = if is_rewritten { router } else { ports[0].ipv4 };
            assert_eq!(source_through(&*dut, Way::AToB), outside, "{text}");
            assert_eq!(source_through(&*dut, Way::BToA), ports[1].ipv4, "{text}");
            dut.close().unwrap();
        }
    }
}

/// Nobody but the daemon gives the router its routes, and the kernel keeps them while the daemon is restarted.
pub(crate) fn a_routing_daemon_gives_the_routes_and_may_restart() {
    let text = "router,control=bird,routes=2000";
    need(text);
    let mut dut = started(text);
    for round in ["first", "restarted"] {
        let before = dut.counters().unwrap();
        for family in [Family::V4, Family::V6] {
            for way in Way::BOTH {
                assert_forwards(&mut *dut, way, family, 500);
            }
        }
        let counted = grown(&mut *dut, &before);
        assert_eq!(
            counted.dropped(),
            PacketCount::new(0),
            "{round}: {counted:?}"
        );
        dut.reset().unwrap();
    }
    dut.close().unwrap();
}

pub(crate) fn a_container_has_the_address_of_its_host_outside() {
    for (text, outside) in [
        ("container,masquerade=true", Ipv4Addr::new(198, 19, 0, 1)),
        ("container", Ipv4Addr::new(198, 18, 0, 2)),
    ] {
        need(text);
        let mut dut = started(text);
        let before = dut.counters().unwrap();
        assert_eq!(source_through(&*dut, Way::AToB), outside, "{text}");
        assert_forwards(&mut *dut, Way::AToB, Family::V4, 500);
        assert_forwards(&mut *dut, Way::BToA, Family::V4, 500);
        let counted = grown(&mut *dut, &before);
        assert_eq!(counted.counters["ip matched"], 1_001, "{counted:?}");
        dut.close().unwrap();
    }
}
