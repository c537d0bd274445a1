//! Devices whose drops are known: what is counted and what is lost are equal to the frame.

use crate::conformance::{assert_forwards, grown, need, started};
use crate::frames::{Family, Way, flood, missing, send_through};
use linerate_model::PacketCount;
use linerate_model::dut::{DutPlace, DutWork};
use linerate_testbed::duts::{DutSetup, start};

pub(crate) fn every_nth_frame_is_dropped_and_counted() {
    for (every, work, count) in [(7_u32, 0, 5_000_u32), (1_000, 20_000, 5_000), (1, 1, 50)] {
        let mut dut = started(&format!("xdp,drop=1/{every},work={work}"));
        for way in Way::BOTH {
            let before = dut.counters().unwrap();
            let arrived = send_through(&*dut, way, Family::V4, count);
            let counted = grown(&mut *dut, &before);
            let expected: Vec<_> = (0..count).filter(|n| (n + 1) % every == 0).collect();
            assert_eq!(missing(&arrived, count), expected, "1/{every} {way:?}");
            let lost = PacketCount::new((count / every).into());
            let intended = counted.dropped_at(DutPlace::Intended);
            assert_eq!((intended, counted.dropped()), (lost, lost), "{counted:?}");
            let [from, to] = way.ports();
            let [all, sent] = [count, count - count / every].map(|n| PacketCount::new(n.into()));
            assert_eq!(counted.ports[from].received, all, "{counted:?}");
            assert_eq!(counted.ports[to].sent, sent, "{counted:?}");
        }
        dut.close().unwrap();
    }
}

pub(crate) fn a_generic_program_forwards_too() {
    let mut dut = started("xdp,mode=generic,work=100");
    for way in Way::BOTH {
        assert_forwards(&mut *dut, way, Family::V6, 2_000);
    }
    dut.close().unwrap();
}

pub(crate) fn a_list_of_the_link_is_dropped_to_the_frame() {
    let mut dut = started("link,drop=1+17+400-420");
    let listed: Vec<u32> = [0, 16].into_iter().chain(399..420).collect();
    for way in Way::BOTH {
        for family in [Family::V4, Family::V6] {
            let before = dut.counters().unwrap();
            let arrived = send_through(&*dut, way, family, 1_000);
            let counted = grown(&mut *dut, &before);
            // The list is of numbers since the start, so that only the first family's frames are dropped.
            let lost = if family == Family::V4 {
                &listed[..]
            } else {
                &[]
            };
            assert_eq!(missing(&arrived, 1_000), lost, "{way:?} {family:?}");
            let intended = PacketCount::new(lost.len() as u64);
            assert_eq!(counted.dropped_at(DutPlace::Intended), intended);
            assert_eq!(counted.dropped(), intended, "{counted:?}");
        }
    }
    let DutWork::Threads(threads) = dut.work() else {
        panic!("the element is a thread");
    };
    let comm = format!("/proc/self/task/{}/comm", threads[0].tid);
    assert_eq!(std::fs::read_to_string(comm).unwrap(), "link-element\n");
    dut.close().unwrap();
}

/// At 1 Mbit/s a frame takes most of a millisecond, and the queue has room for ten.
pub(crate) fn a_queue_that_is_full_is_the_place() {
    let mut dut = started("link,rate=1M,queue=1514");
    let before = dut.counters().unwrap();
    let count = 2_000;
    let arrived = send_through(&*dut, Way::AToB, Family::V4, count);
    let counted = grown(&mut *dut, &before);
    let lost = PacketCount::new(missing(&arrived, count).len() as u64);
    assert!(lost > PacketCount::new(0));
    assert_eq!(counted.dropped_at(DutPlace::Queue), lost, "{counted:?}");
    assert_eq!(counted.dropped(), lost, "{counted:?}");
    dut.close().unwrap();
}

pub(crate) fn a_parameter_that_is_wrong_is_named() {
    for (text, wanted) in [
        ("xdp,drop=1/0", "1/N"),
        ("xdp,drop=0.1", "1/N"),
        ("xdp,work=-1", "from 0 to 500000"),
        ("xdp,mode=fast", "native or generic"),
        ("link,rate=fast", "rate=fast"),
        ("link,drop=0-3", "drop=0-3"),
        ("router,rules=1e9", "from 0 to 100000"),
        ("router,firewall=pf", "nft or iptables-nft"),
        ("bridge,stp=true", "learning"),
        ("wire,a=b", "no parameters"),
        ("swich", "wire, bridge, router"),
    ] {
        let error = start(&DutSetup::new(text.parse().unwrap())).err();
        let error = error.unwrap().to_string();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

pub(crate) fn a_poll_mode_driver_over_af_xdp_forwards_too() {
    for text in [
        "ovs,driver=af_xdp,action=ports",
        "ovs,action=ports",
        "testpmd,driver=af_xdp",
    ] {
        need(text);
        let mut dut = started(text);
        for way in Way::BOTH {
            assert_forwards(&mut *dut, way, Family::V4, 2_000);
        }
        let DutWork::Threads(threads) = dut.work() else {
            panic!("{text} is a program");
        };
        assert!(threads.len() > 1, "{text}: {threads:?}");
        dut.close().unwrap();
    }
}

/// More than a device forwards: each frame that is missed was counted at a place, once.
pub(crate) fn every_loss_at_overload_has_a_place() {
    for text in [
        "bridge",
        "router,rules=1000",
        "container",
        "xdp,work=2000",
        "link,rate=10M",
        "ovs",
        "testpmd",
    ] {
        need(text);
        let mut dut = started(text);
        let before = dut.counters().unwrap();
        let count = 60_000;
        let arrived = flood(&*dut, Way::AToB, count);
        let counted = grown(&mut *dut, &before);
        let lost = u64::from(count) - arrived;
        assert_eq!(counted.dropped().get(), lost, "{text}: {counted:?}");
        // A line of 10 Mbit/s has a queue of a quarter of a megabyte; the others may keep up.
        assert!(lost > 0 || !text.starts_with("link"), "{text}");
        dut.close().unwrap();
    }
}
