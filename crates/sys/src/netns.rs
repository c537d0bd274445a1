//! User and network namespaces, held by file descriptors without a name.
//!
//! No policy: which namespaces a topology needs is decided in `testbed`.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
    unshare_unsafe,
};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// A network namespace, kept alive by this value or a thread inside it.
#[derive(Debug)]
pub struct NetNamespace(OwnedFd);

impl NetNamespace {
    /// The calling thread's network namespace.
    pub fn current() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(Self(open(
            "/proc/thread-self/ns/net",
            flags,
            Mode::empty(),
        )?))
    }

    /// Creates an empty network namespace and moves the calling thread into it.
    pub fn unshare() -> io::Result<Self> {
        unshare_threadwise(UnshareFlags::NEWNET)?;
        Self::current()
    }

    /// Moves the calling thread into this namespace; threads that it starts later inherit it.
    pub fn enter(&self) -> io::Result<()> {
        move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok(())
    }

    /// The descriptor, for netlink attributes that name a namespace.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }
}

/// Gives the calling thread, and programs that it starts, a `/run` of their own, which ends with the last of them, and a
/// `/sys` that shows the thread's network namespace. Other threads see nothing of it. Needs `CAP_SYS_ADMIN`.
pub fn unshare_run_and_sys() -> io::Result<()> {
    unshare_threadwise(UnshareFlags::NEWNS)?;
    let apart = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", apart)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let none: Option<&CStr> = None;
    mount("linerate", "/run", "tmpfs", flags, none)?;
    mount("linerate", "/sys", "sysfs", flags, none)?;
    // Where a kernel has it, programs pin what they load into it there: it shall not outlive them either.
    let _ = mount("linerate", "/sys/fs/bpf", "bpf", flags, none);
    Ok(())
}

/// Which step of entering a user namespace the kernel refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserNamespaceError {
    /// An identity map could not be written.
    #[error("writing {path}")]
    Map {
        /// The file in `/proc`.
        path: &'static str,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The process has more than one thread.
    #[error("a process with several threads cannot enter a user namespace")]
    Threads,
    /// The kernel refused to create the namespaces.
    #[error("unshare(CLONE_NEWUSER|CLONE_NEWNET)")]
    Unshare(#[source] io::Error),
}

/// Moves the process into a new user namespace, as user 0 and group 0 with all capabilities, and into a new network
/// namespace in it. Needs no privileges, but a process with one thread.
pub fn enter_user_and_net_namespace() -> Result<(), UserNamespaceError> {
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let _alone = crate::ending::pause();
    unshare_threadwise(UnshareFlags::NEWUSER | UnshareFlags::NEWNET).map_err(|errno| {
        if errno == Errno::INVAL {
            UserNamespaceError::Threads
        } else {
            UserNamespaceError::Unshare(errno.into())
        }
    })?;
    // user_namespaces(7): an unprivileged group map needs setgroups denied before it.
    write_map("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write_map("/proc/self/setgroups", "deny")?;
    write_map("/proc/self/gid_map", &format!("0 {group} 1"))
}

/// Whether the calling thread may create network namespaces.
pub fn has_admin_capability() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Whether the calling thread has `CAP_SYS_ADMIN` in the initial user namespace, so that it can see and set everything
/// on the host.
pub fn is_fully_privileged() -> bool {
    let map = fs::read_to_string("/proc/thread-self/uid_map").unwrap_or_default();
    // The initial namespace maps all ids to themselves.
    has_admin_capability() && map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// Sets the timer slack of the calling thread: how late its timers may fire so that the kernel can coalesce them.
pub fn set_timer_slack(slack: NonZeroU64) -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(Some(slack))?)
}

/// The value of a file below `/proc/sys`, without its newline; `None` if the kernel has no such file.
pub fn sysctl(name: &str) -> Option<String> {
    let path = Path::new("/proc/sys").join(name.replace('.', "/"));
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn unshare_threadwise(flags: UnshareFlags) -> Result<(), Errno> {
    assert!(
        !flags.intersects(UnshareFlags::FILES | UnshareFlags::FS),
        "invariant: the process keeps one table of descriptors and one working directory"
    );
    // SAFETY: as asserted, nothing changes that another part of the program relies on.
    unsafe { unshare_unsafe(flags) }
}

fn write_map(path: &'static str, map: &str) -> Result<(), UserNamespaceError> {
    fs::write(path, map).map_err(|source| UserNamespaceError::Map { path, source })
}
