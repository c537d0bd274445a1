//! CPU time, and what kept a thread from it.

use super::*;

#[test]
fn a_sender_that_sleeps_in_its_calls_was_blocked() {
    let blocked = |sending: Option<u64>, waited: Option<u64>| {
        let mut sender = report(Side::Sender, 1000, 1448);
        let stream = &mut sender.streams[0];
        stream.thread_cpu = Duration::from_millis(100);
        stream.run_delay = waited.map(Duration::from_millis);
        let work = DatagramSender {
            sending: sending.map(Duration::from_millis),
            ..DatagramSender::default()
        };
        stream.work = work.into();
        udp(Some(sender), None).send_blocked_ratio()
    };
    assert_eq!(blocked(Some(800), Some(50)), Some(Ratio::clamped(0.65)));
    assert_eq!(blocked(Some(120), Some(50)), Some(Ratio::clamped(0.0)));
    // Without the thread's waits, it may as well have waited for a core.
    assert_eq!(blocked(Some(800), None), None);
    assert_eq!(blocked(None, Some(50)), None);
}

#[test]
fn of_an_end_that_tells_nothing_nothing_is_known() {
    let receiver = || {
        let mut receiver = report(Side::Receiver, 1000, 1448);
        receiver.streams[0].thread_cpu = Duration::from_millis(100);
        receiver
    };
    let cpu = |sender| udp(Some(sender), Some(receiver())).cpu.unwrap();
    let mut sender = report(Side::Sender, 1000, 1448);
    // A peer that counts, and does not look at its host.
    sender.after = Snapshot::default();
    let summary = cpu(sender.clone());
    assert!(summary.sender.is_none(), "{summary:?}");
    assert!(summary.receiver.is_some());
    sender.streams[0].thread_cpu = Duration::from_millis(1);
    assert!(cpu(sender).sender.is_some());
}

#[test]
fn a_thread_runs_waits_for_a_core_pauses_or_sleeps_in_its_calls() {
    let spent = |paused: Option<u64>| {
        let mut receiver = report(Side::Receiver, 1000, 1448);
        let stream = &mut receiver.streams[0];
        stream.thread_cpu = Duration::from_millis(100);
        stream.run_delay = Some(Duration::from_millis(50));
        stream.paused = paused.map(Duration::from_millis);
        let cpu = udp(None, Some(receiver)).cpu.unwrap().receiver.unwrap();
        (cpu.paused_ratio, cpu.blocked_ratio)
    };
    let shares = |paused, blocked| (Some(Ratio::clamped(paused)), Some(blocked));
    let (paused, blocked) = spent(Some(600));
    assert_eq!(paused, Some(Ratio::clamped(0.6)));
    assert!((blocked.unwrap().get() - 0.25).abs() < 1e-9, "{blocked:?}");
    // More than the trial's time: it went on after the last counted byte.
    assert_eq!(spent(Some(2000)), shares(1.0, Ratio::ZERO));
    assert_eq!(spent(None), (None, None));
}

#[test]
fn rates_of_interrupts_come_from_the_time_between_the_snapshots() {
    let mut sender = report(Side::Sender, 1000, 1000);
    sender.before.at_ns = 100_000_000;
    sender.after.at_ns = 600_000_000;
    for (signal, gained) in [
        ("cpu.interrupts", 500),
        ("cpu.context_switches", 50),
        ("nic.interrupts", 200),
        ("nic.rx_packets", 100),
        ("nic.tx_packets", 900),
    ] {
        set(&mut sender, signal, gained);
    }
    let mut receiver = report(Side::Receiver, 1000, 1000);
    set(&mut receiver, "softirq.net_rx", 40);
    set(&mut receiver, "nic.rx_packets", 1000);
    let cpu = udp(Some(sender), Some(receiver)).cpu.unwrap();
    let (sender, receiver) = (cpu.sender.unwrap(), cpu.receiver.unwrap());
    assert_eq!(sender.interrupts_per_s, Some(1000.0));
    assert_eq!(sender.context_switches_per_s, Some(100.0));
    let per_interrupt = |packets, of| Some(PacketsPerInterrupt { packets, of });
    assert_eq!(
        sender.packets_per_interrupt,
        per_interrupt(5.0, InterruptKind::Interface)
    );
    assert_eq!(
        receiver.packets_per_interrupt,
        per_interrupt(25.0, InterruptKind::NetRxSoftirq)
    );
    assert_eq!(receiver.interrupts_per_s, None);
}

#[test]
fn a_warm_up_is_part_of_the_cost_of_no_counted_packet() {
    let mut sender = report(Side::Sender, 1000, 1000);
    set(&mut sender, "cpu.system_ns", 3000);
    set(&mut sender, "cpu.idle_ns", 3000);
    let mut spec = TestSpec::udp_datagrams(Pace::Unpaced);
    spec.warm_up = Duration::from_secs(2);
    let trial = trial(0, &spec, Direction::Forward, Some(sender), None);
    let cost = trial.cpu.unwrap().sender.unwrap().per_packet.unwrap();
    assert!((cost.total_ns - 1.0).abs() < 1e-9, "{}", cost.total_ns);
}

#[test]
fn cpu_comes_from_the_difference_of_the_snapshots() {
    let mut sender = report(Side::Sender, 1000, 1000);
    for (signal, gained) in [
        ("cpu.user_ns", 100),
        ("cpu.system_ns", 200),
        ("cpu.softirq_ns", 100),
        ("cpu.idle_ns", 600),
        ("cpu.nice_ns", 500),
        ("cpu.0.idle_ns", 100),
        ("cpu.0.user_ns", 300),
        ("cpu.1.idle_ns", 500),
        ("cpu.1.user_ns", 100),
    ] {
        set(&mut sender, signal, gained);
    }
    sender.streams[0].thread_cpu = Duration::from_millis(400);
    sender.streams[0].run_delay = Some(Duration::from_millis(50));
    let trial = udp(Some(sender), Some(report(Side::Receiver, 1000, 1000)));
    let cpu = trial.cpu.clone().unwrap().sender.unwrap();
    assert_eq!(cpu.host_ratio, Some(Ratio::clamped(0.4)));
    assert_eq!(cpu.softirq_ratio, Some(Ratio::clamped(0.1)));
    // Part of the idle time.
    assert_eq!(cpu.niced_ratio, Some(Ratio::clamped(0.5)));
    assert_eq!(cpu.busiest_core_ratio, Some(Ratio::clamped(0.75)));
    assert_eq!(cpu.cores.len(), 2);
    assert_eq!(cpu.thread_ratio, Some(Ratio::clamped(0.4)));
    assert_eq!(cpu.run_delay_ratio, Some(Ratio::clamped(0.05)));
    assert_eq!(cpu.host_ns_per_byte, Some(0.0004));
    let cost = cpu.per_packet.unwrap();
    assert_eq!(cost.of, Some(PacketKind::Datagrams));
    assert_eq!((cost.total_ns, cost.user_ns), (0.4, Some(0.1)));
    assert_eq!((cost.system_ns, cost.softirq_ns), (Some(0.2), Some(0.1)));
    assert_eq!(cpu.per_byte.unwrap().system_ns, Some(0.0002));
    assert_eq!(cpu.core_shares[0].user_ratio, Some(Ratio::clamped(0.75)));
    assert_eq!(cpu.core_shares[0].softirq_ratio, None);
    assert_eq!(cpu.packets_per_interrupt, None);
    assert_eq!(trial.counters(Side::Sender).unwrap()["cpu.user_ns"], 100);
    assert!(
        !trial
            .counters(Side::Sender)
            .unwrap()
            .contains_key("cpu.0.user_ns")
    );
}
