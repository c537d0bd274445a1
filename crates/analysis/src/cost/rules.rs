//! Which kernel function belongs to which layer: the whole map in one table.
//!
//! A pattern is a function's name, where `*` stands for any letters. Of several that fit, the longest
//! decides, and an exact name before all others. Helpers that many layers call
//! (`_raw_spin_unlock`, `__rcu_read_lock`, `rep_movs_alternative`, `memset`) are in no row on
//! purpose: they count for whoever calls them.

use linerate_model::cost::CostLayer;

/// What a function stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A core with nothing to do: no cost.
    Idle,
    /// A layer that costs.
    Layer(CostLayer),
}

/// Every rule. Names are those of Linux 4.4 to 6.18 on x86-64, Arm and RISC-V.
#[rustfmt::skip]
pub(super) static RULES: &[(Place, &[&str])] = &[
    (Place::Idle, &[
        "acpi_idle_*", "acpi_processor_ffh_cstate_enter", "acpi_safe_halt", "arch_cpu_idle*", "cpu_do_idle",
        "cpu_idle_poll", "cpu_startup_entry", "cpuidle_*", "default_enter_idle", "default_idle*", "do_idle",
        "intel_idle*", "mwait_idle*", "native_safe_halt", "poll_idle", "psci_*", "pv_native_safe_halt",
        "sbi_cpuidle_*", "wait_for_interrupt",
    ]),
    (Place::Layer(CostLayer::Syscall), &[
        "__arm64_sys_*", "__do_sys_*", "__import_iovec", "__riscv_sys_*", "__se_sys_*", "__x64_sys_*",
        "copy_iovec_from_user", "copy_msghdr_from_user", "do_el0_svc", "do_syscall_*", "do_trap_ecall_u", "el0_svc*",
        "el0t_64_sync*", "entry_SYSCALL_64*", "entry_SYSRETQ*", "exit_to_user_mode*", "import_iovec", "import_ubuf",
        "invoke_syscall*", "irqentry_exit_to_user_mode", "move_addr_to_kernel*", "move_addr_to_user",
        "ret_fast_syscall", "switch_fpu_return", "syscall_*", "x64_sys_call",
    ]),
    (Place::Layer(CostLayer::Socket), &[
        "____sys_recvmsg", "____sys_sendmsg", "___sys_recvmsg", "___sys_sendmsg", "__fget*", "__lock_sock*",
        "__release_sock", "__sk_*", "__skb_recv_*", "__skb_try_recv_*", "__skb_wait_for_more_packets", "__sock_*",
        "__sys_recv*", "__sys_send*", "datagram_poll", "do_epoll_*", "do_poll*", "do_recvmmsg", "do_sys_poll", "ep_*",
        "fdget*", "fput*", "inet6_recvmsg", "inet6_sendmsg", "inet_recvmsg", "inet_send_prepare", "inet_sendmsg",
        "io_*", "lock_sock*", "packet_*", "poll_*", "put_cmsg", "release_sock", "sk_*", "skb_queue_*", "skb_recv_*",
        "skb_set_owner_w", "sock_*", "sockfd_*", "tpacket_*", "unix_*", "xsk_*",
    ]),
    (Place::Layer(CostLayer::Transport), &[
        "__inet*_lookup*", "__inet_lookup*", "__sk_mem_*", "__tcp_*", "__udp*", "bbr_*", "bictcp_*", "cubictcp_*",
        "dctcp_*", "inet6_csk_*", "inet_csk_*", "inet_ehashfn", "sk_stream_*", "tcp4_*", "tcp6_*", "tcp_*", "udp4_*",
        "udp6_*", "udp_*", "udpv6_*",
    ]),
    (Place::Layer(CostLayer::Ip), &[
        "__fib*", "__icmp*", "__ip6_*", "__ip_*", "__mkroute_output", "__neigh_*", "arp_*", "dst_*", "fib*_*", "fib_*",
        "icmp*", "ip6_*", "ip6t_*", "ip_*", "ipv4_*", "ipv6_*", "ndisc_*", "neigh_*", "raw_local_deliver", "rt6_*",
        "rt_*", "sk_dst_check", "xfrm_*",
    ]),
    (Place::Layer(CostLayer::Netfilter), &[
        "__cgroup_bpf_*", "___bpf_prog_run", "__nf_*", "apparmor_*", "bpf_*", "ebt_*", "ip6t_do_table",
        "ip_set_*", "ip_vs_*", "ipt_*", "ipv4_conntrack_*", "ipv6_conntrack_*", "nf_*", "nfqnl_*", "nft_*",
        "run_filter", "security_*", "selinux_*", "sk_filter*", "tcf_*", "xt_*",
    ]),
    (Place::Layer(CostLayer::Qdisc), &[
        "__dev_queue_xmit", "__netif_schedule", "__qdisc_*", "bfifo_*", "cake_*", "codel_*", "dev_queue_xmit",
        "dql_*", "fq_*", "htb_*", "mq_*", "net_tx_action", "netdev_core_pick_tx", "netdev_pick_tx", "netem_*",
        "noqueue_*", "pfifo_*", "qdisc_*", "sch_direct_xmit", "sfq_*", "tbf_*",
    ]),
    (Place::Layer(CostLayer::Driver), &[
        "__dev_direct_xmit", "__skb_gso_segment", "am65_cpsw_*", "atl1c_*", "axienet_*", "bcmgenet_*",
        "bnxt_*", "br_*", "cpsw_*", "dev_hard_start_xmit", "dev_queue_xmit_nit", "dma_map_*", "dma_unmap_*", "dpaa2_*",
        "dpaa_*", "e1000*", "ena_*", "enetc_*", "eth_header", "eth_type_trans", "fec_*", "free_old_xmit*", "genet_*",
        "gve_*", "hns3_*", "i40e_*", "iavf_*", "ice_*", "igb_*", "igc_*", "iommu_*", "ixgbe*", "lan78xx_*",
        "loopback_xmit", "macb_*", "macvlan_*", "mlx4_*", "mlx5*", "mvneta_*", "mvpp2_*", "netif_skb_features",
        "netvsc_*", "r8152_*", "rtl8169_*", "rtl_*", "skb_gso_*", "skb_mac_gso_segment", "skb_segment*", "smsc95xx_*",
        "start_xmit", "stmmac_*", "swiotlb_*", "tg3_*", "tun_*", "usbnet_*", "validate_xmit_*", "veth_*", "vhost_*",
        "virtnet_*", "virtqueue_*", "vmxnet3_*", "vring_*", "xennet_*", "xmit_one*",
    ]),
    (Place::Layer(CostLayer::Softirq), &[
        "__do_softirq", "__handle_irq_*", "__irq_exit_rcu", "__local_bh_enable_ip", "__napi_*", "__netif_receive_skb*",
        "__netif_rx", "__skb_flow_dissect", "__skb_get_hash*", "__common_interrupt", "asm_common_interrupt",
        "common_interrupt", "dev_gro_receive", "do_softirq*", "el0_irq", "el1_irq", "el1_interrupt",
        "enqueue_to_backlog", "generic_handle_*", "get_rps_cpu", "gic_handle_irq", "gro_*", "handle_*_irq",
        "handle_edge_irq", "handle_fasteoi_irq", "handle_irq*", "handle_riscv_irq", "handle_softirqs", "inet_gro_*",
        "irq_exit*", "napi_*", "net_rx_action", "netif_receive_*", "netif_rx*", "plic_handle_irq", "process_backlog",
        "run_ksoftirqd", "skb_gro_*", "tcp_gro_*", "udp_gro_*",
    ]),
    (Place::Layer(CostLayer::Copy), &[
        "__check_object_size*", "__copy_skb_header", "__csum_*", "__skb_datagram_iter", "_copy_from_iter*",
        "_copy_to_iter", "check_heap_object", "copyin", "copyout", "csum_*", "do_csum", "ip_generic_getfrag",
        "simple_copy_to_iter", "skb_checksum*", "skb_copy_*", "skb_do_copy_data_nocache", "skb_splice_*",
        "tcp_send_syn_data", "udp_skb_copy*", "zerocopy_*",
    ]),
    (Place::Layer(CostLayer::Memory), &[
        "___slab_alloc", "__alloc_*", "__build_skb*", "__folio_*", "__free_*", "__get_free_pages", "__kfree_skb*",
        "__kmalloc*", "__memcg_*", "__mmput", "__napi_alloc_*", "__napi_build_skb", "__napi_kfree_skb",
        "__netdev_alloc_*", "__page_frag_*", "__skb_clone", "__slab_*", "alloc_*", "asm_exc_page_fault", "build_skb*",
        "consume_skb", "dev_kfree_skb_*", "do_exit", "do_user_addr_fault", "exc_page_fault", "exit_mmap", "folio*",
        "free_*", "get_page_from_freelist", "handle_mm_fault", "kfree*", "kmalloc*", "kmem_cache_*", "memcg_*",
        "napi_consume_skb", "napi_pp_put_page", "napi_skb_cache_*", "obj_cgroup_*", "page_frag_*", "page_pool_*",
        "pskb_*", "put_page*", "rmqueue*", "sk_page_frag_refill", "sk_skb_reason_drop", "skb_attempt_defer_free",
        "skb_clone", "skb_defer_free_*", "skb_free_*", "skb_page_frag_refill", "skb_release_*", "try_charge*",
        "unmap_*",
    ]),
    (Place::Layer(CostLayer::Scheduling), &[
        "__cond_resched", "__hrtimer_*", "__napi_schedule", "__schedule", "__switch_to*", "__wake_up*",
        "asm_sysvec_apic_timer_interrupt", "asm_sysvec_reschedule_ipi", "autoremove_wake_function", "clockevents_*",
        "default_wake_function", "dequeue_task*", "do_futex", "enqueue_task*", "finish_task_switch*", "finish_wait",
        "flush_smp_call_function_queue", "futex_*", "hrtimer_*", "load_balance", "newidle_balance", "pick_next_*",
        "preempt_schedule*", "prepare_to_wait*", "psi_*", "put_prev_*", "rcu_core*", "receiver_wake_function",
        "resched_curr", "run_rebalance_domains", "run_timer_softirq", "sched_*", "schedule*", "scheduler_tick",
        "select_task_rq*", "set_next_*", "switch_mm*", "sysvec_apic_timer_interrupt", "sysvec_call_function*",
        "sysvec_reschedule_ipi", "tick_*", "try_to_wake_up", "ttwu_*", "update_curr*", "update_load_avg",
        "update_process_times", "wake_up_*", "woken_wake_function",
    ]),
    (Place::Layer(CostLayer::Locks), &[
        "__mutex_lock*", "__pv_queued_spin_lock_slowpath", "_raw_read_lock*", "_raw_spin_lock*", "_raw_write_lock*",
        "mutex_lock*", "mutex_spin_on_owner", "native_queued_spin_lock_slowpath", "osq_lock", "queued_*_lock_slowpath",
        "queued_spin_lock_slowpath", "rwsem_*",
    ]),
];

/// What a kernel function stands for; `None` if it counts for its caller.
pub(super) fn place(function: &str) -> Option<Place> {
    // What the compiler adds when it splits or clones a function: `.isra.0`, `.part.0`, `.cold`.
    let function = function.split('.').next().unwrap_or(function);
    let fits = RULES.iter().flat_map(|(place, patterns)| {
        let weights = patterns
            .iter()
            .filter_map(move |pattern| fit(pattern, function));
        weights.map(move |weight| (weight, *place))
    });
    fits.max_by_key(|(weight, _)| *weight)
        .map(|(_, place)| place)
}

/// How well a pattern fits: its length, and one more for an exact name.
fn fit(pattern: &str, function: &str) -> Option<usize> {
    match pattern.split_once('*') {
        None => (pattern == function).then_some(pattern.len() + 1),
        Some((start, end)) => {
            let rest = function.strip_prefix(start)?;
            // A second star, as in `fib*_*`, stands at the end.
            let fits = match end.strip_suffix('*') {
                Some(middle) => rest.contains(middle),
                None => rest.ends_with(end),
            };
            fits.then_some(start.len() + end.len())
        }
    }
}
