//! Why the kernel dropped a test's own datagrams: a counting program on `skb:kfree_skb`.
//!
//! The program sees each dropped packet of the machine and its reason. It counts those of the caller's network
//! namespace, and separately those with the test's mark at the start of their UDP payload, which distinguishes them
//! from other traffic packet by packet. It costs nothing while nothing is dropped, and the kernel removes it when this
//! process ends, for whatever reason.
//!
//! It needs `CAP_BPF` and `CAP_PERFMON` in the initial user namespace, and a kernel with drop reasons (5.17) and type
//! information (BTF). Not seen: drops after or before the datagram is a packet with an interface (at a full socket; in
//! a driver, before XDP).

mod btf;
mod program;

use btf::Btf;
use linerate_model::sample::Snapshot;
use linerate_model::signals::{self, DROPS_WATCHED};
use linerate_sys::bpf::{Attached, Counters};
use program::{Layout, REASONS};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::OnceLock;

/// Parses arbitrary bytes as BTF and queries it like the kernel's, for fuzzing.
#[cfg(feature = "_fuzzing")]
pub(crate) fn read_btf(bytes: &[u8]) {
    if let Some(btf) = Btf::parse(bytes) {
        let _ = Kernel::from(&btf);
    }
}

/// Bytes of the UDP payload that identify the test's own datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The first four bytes.
    pub word: [u8; 4],
    /// Offset of another byte, below 8.
    pub byte_at: u8,
    /// Value of that byte.
    pub byte: u8,
}

/// Counts drops from when it is opened until it is dropped.
#[derive(Debug)]
pub struct DropWatch {
    counters: Counters,
    _attached: Attached,
    names: &'static BTreeMap<u32, String>,
}

/// Offsets and names from the kernel's BTF, read once.
struct Kernel {
    layout: Layout,
    names: BTreeMap<u32, String>,
}

const TYPES: &str = "/sys/kernel/btf/vmlinux";
const NAMESPACE: &str = "/proc/thread-self/ns/net";
const REMEDY: &str =
    "run as root, or give CAP_BPF and CAP_PERFMON, to have the kernel's drop reasons";

impl DropWatch {
    /// Counts drops in the network namespace of the calling thread, those of datagrams with `mark` separately. The
    /// error says what failed and what to do.
    pub fn open(mark: Mark) -> Result<Self, String> {
        let failed =
            |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}; {REMEDY}");
        let counters = Counters::new(2 * REASONS).map_err(|e| failed("bpf map", &e))?;
        let kernel = kernel()?;
        let namespace = fs::metadata(NAMESPACE)
            .map_err(|e| failed(NAMESPACE, &e))?
            .ino();
        let program = program::write(&kernel.layout, mark, namespace, counters.descriptor());
        let attached = Attached::to_tracepoint("kfree_skb", &program)
            .map_err(|e| failed("program on skb:kfree_skb", &e))?;
        Ok(Self {
            counters,
            _attached: attached,
            names: &kernel.names,
        })
    }

    /// Adds the drops so far to `into`.
    pub fn read(&self, into: &mut Snapshot) {
        let counts = match self.counters.read() {
            Ok(counts) => counts,
            Err(error) => {
                let missing = format!("reading a bpf map: {error}");
                into.missing.insert(DROPS_WATCHED.to_owned(), missing);
                return;
            }
        };
        into.values.insert(DROPS_WATCHED.to_owned(), 1);
        let (own, all) = counts.split_at(counts.len().min(REASONS));
        self.note(own, signals::own_drops, into);
        self.note(all, signals::all_drops, into);
    }

    fn note(&self, counts: &[u64], signal: fn(&str) -> String, into: &mut Snapshot) {
        for (reason, count) in (0_u32..).zip(counts).filter(|(_, count)| **count > 0) {
            let known = self.names.get(&reason).map(String::as_str);
            let name = known.map_or_else(|| reason.to_string(), str::to_owned);
            into.values.insert(signal(&name), *count);
        }
    }
}

fn kernel() -> Result<&'static Kernel, String> {
    static KERNEL: OnceLock<Result<Kernel, String>> = OnceLock::new();
    let read = || {
        let bytes = fs::read(TYPES).map_err(|error| {
            format!("{TYPES}: {error}; this kernel does not describe its types (BTF)")
        })?;
        let kernel = Btf::parse(&bytes).and_then(|btf| Kernel::from(&btf));
        kernel.ok_or_else(|| format!("{TYPES}: lacks what drop reasons need (Linux 5.17)"))
    };
    KERNEL.get_or_init(read).as_ref().map_err(Clone::clone)
}

impl Kernel {
    fn from(btf: &Btf<'_>) -> Option<Self> {
        let short = |name: String| Some(name.strip_prefix("SKB_DROP_REASON_")?.to_owned());
        let names: BTreeMap<_, _> = btf
            .values("skb_drop_reason")
            .into_iter()
            .filter_map(|(value, name)| Some((value, short(name)?)))
            .collect();
        (!names.is_empty()).then_some(())?;
        let full_socket = names.iter().find(|(_, name)| *name == "SOCKET_RCVBUFF");
        Some(Self {
            layout: Layout {
                dev: btf.offset("sk_buff", "dev")?,
                sk: btf.offset("sk_buff", "sk")?,
                head: btf.offset("sk_buff", "head")?,
                data: btf.offset("sk_buff", "data")?,
                network_header: btf.offset("sk_buff", "network_header")?,
                net_of_device: btf.offset("net_device", "nd_net")?,
                net_of_socket: btf.offset("sock", "__sk_common")?
                    + btf.offset("sock_common", "skc_net")?,
                number: btf.offset("net", "ns")? + btf.offset("ns_common", "inum")?,
                full_socket: full_socket.and_then(|(number, _)| i32::try_from(*number).ok()),
            },
            names,
        })
    }
}
