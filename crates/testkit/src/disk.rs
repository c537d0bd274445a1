//! File systems of a few kilobytes, which become full.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A small file system in a mount namespace of its own; it is gone when the value is dropped. Needs user and mount namespaces.
#[derive(Debug)]
pub struct TinyDisk {
    keeper: Child,
    dir: PathBuf,
}

impl TinyDisk {
    /// Mounts one of so many KiB.
    pub fn mount(kib: u32) -> Self {
        let script = format!("mount -t tmpfs -o size={kib}k none /mnt && echo ready && exec cat");
        let mut keeper = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare, of util-linux");
        let out = keeper.stdout.take().expect("invariant: it is a pipe");
        let mut line = String::new();
        let read = BufReader::new(out).read_line(&mut line);
        assert!(
            read.is_ok() && line == "ready\n",
            "no user namespace, or no tmpfs in it"
        );
        let dir = Path::new("/proc")
            .join(keeper.id().to_string())
            .join("root/mnt");
        Self { keeper, dir }
    }

    /// Where every process of this user finds it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // The end of its input ends the keeper, and with it the mount.
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}
