//! Real stacks, and the rules that place them.

use super::rules::{Place, RULES, place};
use super::*;
use linerate_model::profile::{ProfileEvent, ProfileScope};
use std::collections::BTreeSet;

/// Recorded by linerate on Linux 6.18 (x86-64), folded: frames from the outermost on, then samples.
/// A `!` before the thread's name marks user code.
const FIXTURES: &[(&str, &str)] = &[
    (
        "udp-loopback",
        include_str!("../../fixtures/udp-loopback.folded"),
    ),
    (
        "udp-veth-receiver",
        include_str!("../../fixtures/udp-veth-receiver.folded"),
    ),
    (
        "udp-veth-sender",
        include_str!("../../fixtures/udp-veth-sender.folded"),
    ),
    (
        "tcp-loopback",
        include_str!("../../fixtures/tcp-loopback.folded"),
    ),
    (
        "tcp-veth-receiver",
        include_str!("../../fixtures/tcp-veth-receiver.folded"),
    ),
    (
        "tcp-veth-sender",
        include_str!("../../fixtures/tcp-veth-sender.folded"),
    ),
];

fn parse(folded: &str) -> Profile {
    let mut profile = Profile {
        event: ProfileEvent::CpuClock,
        scope: ProfileScope::Host,
        kernel: true,
        rate_hz: 1000,
        duration_ns: 1_000_000_000,
        samples: 0,
        lost: 0,
        rest_samples: 0,
        names: Vec::new(),
        stacks: Vec::new(),
        remarks: Vec::new(),
    };
    for line in folded.lines() {
        let (stack, samples) = line.rsplit_once(' ').unwrap();
        let samples = samples.parse().unwrap();
        let plain = stack.strip_prefix('!');
        let frames = plain.unwrap_or(stack).split(';').map(|name| {
            let known = profile.names.iter().position(|known| known == name);
            let index = known.unwrap_or_else(|| {
                profile.names.push(name.to_owned());
                profile.names.len() - 1
            });
            u32::try_from(index).unwrap()
        });
        let frames = frames.collect();
        profile.samples += samples;
        profile.stacks.push(ProfileStack {
            frames,
            samples,
            user: plain.is_some(),
        });
    }
    assert_eq!(profile.check(), Ok(()));
    profile
}

fn placed(line: &str) -> Account {
    let profile = parse(&format!("{line} 1"));
    Map::from_profile(&profile).account(&profile.stacks[0])
}

#[test]
fn real_stacks_are_placed() {
    use CostLayer::{
        Application, Copy, Driver, Ip, Memory, Qdisc, Scheduling, Socket, Softirq, Syscall,
        Transport,
    };
    let send = "stream-0;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendmmsg;__sys_sendmmsg;___sys_sendmsg;____sys_sendmsg;udp_sendmsg";
    let xmit =
        format!("{send};udp_send_skb;ip_send_skb;ip_output;ip_finish_output2;__dev_queue_xmit");
    let up = format!(
        "{xmit};__local_bh_enable_ip;do_softirq.part.0;handle_softirqs;net_rx_action;__napi_poll;process_backlog"
    );
    let cases = [
        (
            "!stream-0;linerate_engine::workloads::datagrams::sender::step",
            Application,
        ),
        (
            "stream-0;entry_SYSCALL_64_after_hwframe;do_syscall_64",
            Syscall,
        ),
        (send, Transport),
        (&format!("{send};ip_make_skb;__ip_append_data"), Ip),
        (
            &format!("{send};ip_make_skb;__ip_append_data;ip_generic_getfrag;_copy_from_iter"),
            Copy,
        ),
        (
            &format!(
                "{send};ip_make_skb;__ip_append_data;sock_alloc_send_pskb;alloc_skb_with_frags;__alloc_skb;kmem_cache_alloc_node_noprof"
            ),
            Memory,
        ),
        (
            &format!("{send};ip_make_skb;__ip_append_data;sock_alloc_send_pskb;sock_wfree"),
            Socket,
        ),
        (&xmit, Qdisc),
        (&format!("{xmit};dev_hard_start_xmit;veth_xmit"), Driver),
        (&up, Softirq),
        (&format!("{up};__netif_receive_skb_one_core;ip_rcv"), Ip),
        (
            &format!(
                "{up};__netif_receive_skb_one_core;ip_local_deliver_finish;ip_protocol_deliver_rcu;udp_unicast_rcv_skb;udp_queue_rcv_one_skb;__udp_enqueue_schedule_skb;sock_def_readable;_raw_spin_unlock_irqrestore"
            ),
            Socket,
        ),
        (
            "stream-0;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_sendmmsg;__sys_sendmmsg;__cond_resched;__schedule;finish_task_switch.isra.0",
            Scheduling,
        ),
        (
            "[other programs];asm_exc_page_fault;handle_softirqs;net_rx_action;virtnet_poll",
            Driver,
        ),
    ];
    for (stack, layer) in cases {
        assert_eq!(placed(stack), Account::Layer(layer), "{stack}");
    }
}

#[test]
fn idle_cores_and_other_programs_are_no_cost() {
    let idle = "swapper;common_startup_64;start_secondary;cpu_startup_entry;do_idle;cpuidle_enter;default_idle;pv_native_safe_halt";
    assert_eq!(placed(idle), Account::Idle);
    assert_eq!(placed("![other programs];[user]"), Account::Other);
    let fault = "[other programs];asm_exc_page_fault;handle_mm_fault";
    assert_eq!(placed(fault), Account::Other);
    let started = "[started program] pmd-c01;do_syscall_64;udp_sendmsg";
    assert_eq!(placed(started), Account::Other);
    // A core that was idle until a packet came works.
    let woken = format!("{idle};asm_common_interrupt;common_interrupt;net_rx_action");
    assert_eq!(placed(&woken), Account::Layer(CostLayer::Softirq));
    assert_eq!(
        placed("kworker;ret_from_fork;some_function"),
        Account::Layer(CostLayer::Other)
    );
    // A thread may call itself what it likes.
    assert_eq!(
        placed("tcp_sendmsg;some_function"),
        Account::Layer(CostLayer::Other)
    );
}

#[test]
fn nearly_every_recorded_sample_has_a_layer() {
    for (name, folded) in FIXTURES {
        let cost = by_layer(&parse(folded), Work::default());
        assert!(
            cost.busy_samples > 500,
            "{name}: {} samples",
            cost.busy_samples
        );
        let share = |layer| {
            let found = cost.layers.iter().find(|cost| cost.layer == layer);
            found.map_or(0.0, |cost| cost.share_ratio.get())
        };
        assert!(share(CostLayer::Other) < 0.05, "{name}: {:?}", cost.layers);
        for layer in [
            CostLayer::Transport,
            CostLayer::Ip,
            CostLayer::Copy,
            CostLayer::Memory,
        ] {
            assert!(share(layer) > 0.0, "{name}: {layer:?}");
        }
        let sum: f64 = cost.layers.iter().map(|cost| cost.share_ratio.get()).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{name}: {sum}");
    }
}

#[test]
fn cost_per_packet_is_samples_over_rate_over_packets() {
    let mut profile = parse("stream-0;udp_sendmsg 60\nstream-0;ip_output 20\nswapper;do_idle 20");
    let work = Work {
        packets: Some(40_000.0),
        packet_kind: Some(PacketKind::Datagrams),
        bytes: Some(4e6),
    };
    let cost = by_layer(&profile, work);
    // 80 samples of 1 ms over 40 000 packets.
    assert_eq!(cost.ns_per_packet, Some(2000.0));
    assert_eq!(cost.ns_per_byte, Some(20.0));
    assert_eq!((cost.busy_samples, cost.idle_samples), (80, 20));
    assert_eq!(cost.layers[0].layer, CostLayer::Transport);
    assert_eq!(cost.layers[0].ns_per_packet, Some(1500.0));
    // Half of all samples were lost: the others stand for them.
    profile.lost = 100;
    assert_eq!(by_layer(&profile, work).ns_per_packet, Some(4000.0));
    let unknown = by_layer(&profile, Work::default());
    assert_eq!((unknown.ns_per_packet, unknown.packets), (None, None));
}

#[test]
fn each_pattern_stands_once() {
    let patterns: Vec<_> = RULES.iter().flat_map(|(_, patterns)| *patterns).collect();
    let unique: BTreeSet<_> = patterns.iter().collect();
    assert_eq!(unique.len(), patterns.len());
    for (_, patterns) in RULES {
        for pattern in *patterns {
            assert!(
                pattern.chars().filter(|c| *c == '*').count() <= 2,
                "{pattern}"
            );
        }
    }
}

#[test]
fn the_longest_pattern_decides_and_helpers_belong_to_their_caller() {
    let layer = |function| match place(function) {
        Some(Place::Layer(layer)) => Some(layer),
        _ => None,
    };
    assert_eq!(layer("ip_generic_getfrag"), Some(CostLayer::Copy));
    assert_eq!(layer("ip_output.constprop.0"), Some(CostLayer::Ip));
    assert_eq!(
        layer("__inet6_lookup_established"),
        Some(CostLayer::Transport)
    );
    assert_eq!(layer("napi_consume_skb"), Some(CostLayer::Memory));
    for helper in [
        "_raw_spin_unlock_irqrestore",
        "__rcu_read_lock",
        "rep_movs_alternative",
        "memset",
    ] {
        assert_eq!(layer(helper), None, "{helper}");
    }
}
