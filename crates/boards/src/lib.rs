//! Emulated boards: makes, starts, finds and stops them.
//!
//! ```text
//!   linerate board up ── order ──► supervisor ── starts ──► QEMU  [ kernel, busybox, linerate serve ]
//!         │ ◄──────── ready ─────────  │ TAP 10.78.N.1 ═════════ NIC 10.78.N.2
//!         └─ keep ───────────────────► │
//! ```
//!
//! A board is a folder (its record, console and lock), a process that holds the lock, and the emulator below it.
//! The supervisor ends with its caller until the caller lets the board live on; QEMU ends with the supervisor; the TAP
//! device ends with QEMU, and a link element with the supervisor. So a lock that nobody holds is a board that is gone,
//! whatever its folder says.
#![forbid(unsafe_code)]

mod agent;
mod answer;
mod base;
mod boards;
mod console;
mod control;
mod disk;
mod image;
mod link;
mod machine;
mod name;
mod network;
mod order;
mod packages;
mod qemu;
mod serial;
mod shell;
mod start;
mod stop;
mod supervisor;
mod tools;

pub use agent::{Linking, agent_folders, find_agent};
pub use boards::{BoardState, Boards, FoundBoard, Record};
pub use console::attach;
pub use control::{HeldLink, hold_link, keep_link};
pub use disk::{
    Addressing, ImageOrder, KernelOption, MadeImage, OptionState, Profile, kernel_options,
    make_image,
};
pub use image::use_seed;
pub use machine::{Arch, Machine};
pub use name::BoardName;
pub use order::{Equipment, Order};
pub use serial::SerialNumber;
pub use shell::{SSH_OPTIONS, enter_shell};
pub use start::{Places, Started, fetch, start};
pub use stop::{Stopped, stop};
pub use supervisor::{Greet, Greeting, SUPERVISOR, supervise};

/// Hidden command with which a board's init script seeds the kernel.
pub const SEED: &str = "board-seed";
