//! What a running kernel shows of the options that it was built with, whatever a list of them says: its modules, its
//! functions, and the files and tracers that it offers.

use super::board::Board;
use linerate_boards::{KernelOption, OptionState};
use std::collections::BTreeSet;

/// What is there when an option is built.
enum Sign {
    /// A module of this name, loadable or part of the kernel.
    Module(&'static str),
    /// A function or variable.
    Symbol(&'static str),
    /// A file or folder.
    Path(&'static str),
    /// A tracer.
    Tracer(&'static str),
}

use Sign::{Module, Path, Symbol, Tracer};

/// Signs by option. `DEBUG_KERNEL` and `FRAME_POINTER` show themselves by nothing.
const SIGNS: &[(&str, Sign)] = &[
    ("NET_SCHED", Symbol("register_qdisc")),
    ("NET_SCH_FQ", Module("sch_fq")),
    ("NET_SCH_FQ_CODEL", Module("sch_fq_codel")),
    ("NET_SCH_HTB", Module("sch_htb")),
    ("NET_SCH_INGRESS", Module("sch_ingress")),
    ("NET_SCH_NETEM", Module("sch_netem")),
    ("NET_SCH_TBF", Module("sch_tbf")),
    ("NET_ACT_MIRRED", Module("act_mirred")),
    ("NET_ACT_POLICE", Module("act_police")),
    ("NET_CLS_MATCHALL", Module("cls_matchall")),
    ("IFB", Module("ifb")),
    ("TCP_CONG_BBR", Module("tcp_bbr")),
    ("TCP_CONG_CUBIC", Module("tcp_cubic")),
    ("INET_DIAG", Module("inet_diag")),
    ("INET_TCP_DIAG", Module("tcp_diag")),
    ("INET_UDP_DIAG", Module("udp_diag")),
    ("PACKET", Module("af_packet")),
    ("PACKET_DIAG", Module("af_packet_diag")),
    ("XDP_SOCKETS", Symbol("xsk_generic_rcv")),
    ("IO_URING", Symbol("io_wq_create")),
    ("NET_NS", Path("/proc/self/ns/net")),
    ("USER_NS", Path("/proc/self/ns/user")),
    ("VETH", Module("veth")),
    ("TUN", Module("tun")),
    ("NETWORK_PHY_TIMESTAMPING", Symbol("skb_clone_tx_timestamp")),
    ("PTP_1588_CLOCK", Module("ptp")),
    ("CPU_FREQ", Symbol("cpufreq_register_driver")),
    ("CGROUPS", Path("/proc/cgroups")),
    ("CFS_BANDWIDTH", Symbol("sched_cfs_period_timer")),
    ("IKCONFIG", Module("configs")),
    ("IKCONFIG_PROC", Path("/proc/config.gz")),
    ("FTRACE", Path("/sys/kernel/tracing/trace")),
    ("FUNCTION_TRACER", Tracer("function")),
    ("FUNCTION_GRAPH_TRACER", Tracer("function_graph")),
    (
        "DYNAMIC_FTRACE",
        Path("/sys/kernel/tracing/available_filter_functions"),
    ),
    (
        "FUNCTION_PROFILER",
        Path("/sys/kernel/tracing/function_profile_enabled"),
    ),
    ("STACK_TRACER", Path("/sys/kernel/tracing/stack_trace")),
    (
        "FTRACE_SYSCALLS",
        Path("/sys/kernel/tracing/events/syscalls"),
    ),
    ("TRACER_SNAPSHOT", Path("/sys/kernel/tracing/snapshot")),
    (
        "HIST_TRIGGERS",
        Path("/sys/kernel/tracing/events/sched/sched_switch/hist"),
    ),
    ("BLK_DEV_IO_TRACE", Tracer("blk")),
    ("IRQSOFF_TRACER", Tracer("irqsoff")),
    ("PREEMPT_TRACER", Tracer("preemptoff")),
    ("SCHED_TRACER", Tracer("wakeup")),
    ("HWLAT_TRACER", Tracer("hwlat")),
    ("OSNOISE_TRACER", Tracer("osnoise")),
    ("TIMERLAT_TRACER", Tracer("timerlat")),
    ("KPROBES", Symbol("register_kprobe")),
    ("KPROBE_EVENTS", Path("/sys/kernel/tracing/kprobe_events")),
    ("UPROBES", Symbol("uprobe_register")),
    ("UPROBE_EVENTS", Path("/sys/kernel/tracing/uprobe_events")),
    ("BPF", Symbol("bpf_prog_alloc")),
    ("BPF_SYSCALL", Symbol("bpf_check")),
    ("BPF_JIT", Symbol("bpf_int_jit_compile")),
    ("BPF_EVENTS", Symbol("trace_call_bpf")),
    ("CGROUP_BPF", Symbol("__cgroup_bpf_run_filter_skb")),
    ("NET_CLS_BPF", Module("cls_bpf")),
    ("NET_ACT_BPF", Module("act_bpf")),
    ("DEBUG_INFO_BTF", Path("/sys/kernel/btf/vmlinux")),
    ("PERF_EVENTS", Path("/proc/sys/kernel/perf_event_paranoid")),
    ("KALLSYMS", Path("/proc/kallsyms")),
    ("KALLSYMS_ALL", Symbol("init_task")),
    ("STACKTRACE", Symbol("stack_trace_save")),
    ("DEBUG_FS", Symbol("debugfs_create_dir")),
];

/// What the kernel of a board shows of itself.
struct Shown {
    builtin: BTreeSet<String>,
    modules: BTreeSet<String>,
    symbols: BTreeSet<String>,
    tracers: BTreeSet<String>,
    paths: BTreeSet<String>,
}

/// Words of what a board prints.
fn words(board: &Board<'_>, line: &str) -> BTreeSet<String> {
    let said = board.shell(line);
    said.split_whitespace().map(str::to_owned).collect()
}

impl Shown {
    fn by(board: &Board<'_>) -> Self {
        // Module names have `-` in the names of their files.
        let names = |list: &str| format!("{list} | sed 's,.*/,,; s,[.]ko.*,,; y,-,_,'");
        let folder = "/usr/lib/modules/$(uname -r)";
        let paths = SIGNS.iter().filter_map(|(_, sign)| match sign {
            Path(path) => Some(*path),
            _ => None,
        });
        let paths: Vec<_> = paths.collect();
        Self {
            builtin: words(board, &names(&format!("cat {folder}/modules.builtin"))),
            modules: words(board, &names(&format!("find {folder} -name '*.ko*'"))),
            symbols: words(board, "cut -d ' ' -f 3 /proc/kallsyms"),
            tracers: words(board, "cat /sys/kernel/tracing/available_tracers"),
            paths: words(
                board,
                &format!("ls -d {} 2>/dev/null || true", paths.join(" ")),
            ),
        }
    }

    /// How the kernel has what this is a sign of.
    fn state(&self, sign: &Sign) -> OptionState {
        let is_there = match sign {
            Module(name) if self.builtin.contains(*name) => true,
            Module(name) if self.modules.contains(*name) => return OptionState::Module,
            Module(_) => false,
            Symbol(name) => self.symbols.contains(*name),
            Path(path) => self.paths.contains(*path),
            Tracer(name) => self.tracers.contains(*name),
        };
        if is_there {
            OptionState::Present
        } else {
            OptionState::Absent
        }
    }
}

/// Where the board's kernel shows an option otherwise than the list has it.
pub(crate) fn contradictions(board: &Board<'_>, options: &[KernelOption]) -> Vec<String> {
    let shown = Shown::by(board);
    let mut found = Vec::new();
    for (name, sign) in SIGNS {
        let listed = options.iter().find(|option| option.name == *name);
        let listed = listed.map(|option| option.state);
        let seen = shown.state(sign);
        if listed != Some(seen) {
            found.push(format!(
                "{name} is {listed:?} in the list, {seen} in the kernel"
            ));
        }
    }
    found
}
