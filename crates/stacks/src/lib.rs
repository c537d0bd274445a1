//! Network stacks as peers: fetches, builds, starts, checks and stops them.
//!
//! ```text
//!   this process                               a child, which ends with it
//!   sockets ── kernel ── TAP device ═ frames ═ [ lwIP or smoltcp, and a server on it ]
//!   sockets ── kernel ──────── veth ══════════ [ the kernel of another namespace, and a server on it ]
//!      └──────── "counts" ── socket pair ──────────┘
//! ```
//!
//! Every server of ours speaks iperf2, so that stacks differ in nothing else. Any other program that is a stack has a
//! supervisor (`command`), which is such a child. Needs a network namespace in which this process may
//! make devices. Nothing is left behind: child, device and namespace end with this process, however it ends.
#![forbid(unsafe_code)]

mod all;
mod cache;
mod caller;
mod command;
pub mod debian;
mod kernel;
mod kind;
mod link;
mod lwip;
mod options;
mod running;
mod smoltcp;
mod spec;
mod stack;
pub mod tools;

pub use all::ALL;
pub use caller::Caller;
pub use command::serve as serve_command;
pub use kernel::kernel_counts;
pub use kind::{Patience, StackKind};
pub use link::{Attachment, StackAddresses};
pub use options::{Options, Places};
pub use running::RunningStack;
pub use smoltcp::serve as serve_smoltcp;
pub use spec::StackSpec;
pub use stack::Stack;

use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::PeerKind;

/// Hidden command that serves on the kernel of its network namespace.
pub const KERNEL_SERVER: &str = "stack-server-kernel";

/// Hidden command that supervises another program.
pub const COMMAND_SERVER: &str = "stack-server-command";

/// Hidden command that serves on smoltcp.
pub const SMOLTCP_SERVER: &str = "stack-server-smoltcp";

/// Moves the calling thread into a new network namespace, in which stacks are started. Call it before the process has
/// other threads; needs `CAP_SYS_ADMIN`, which the first process of a user namespace has.
pub fn enter_own_network() -> Result<(), Failure> {
    let made = linerate_sys::netns::NetNamespace::unshare().map(drop);
    made.map_err(|error| {
        let message = format!("making a network for stacks: {error}; run as root");
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// Protocol of our servers.
pub fn protocol() -> &'static dyn PeerKind {
    &linerate_peers::iperf2::Iperf2
}
