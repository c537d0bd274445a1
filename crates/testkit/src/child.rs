//! Programs that run no longer than the test that started them.

use std::ops::{Deref, DerefMut};
use std::process::Child;

/// Whether a process has a handler of the signal of this number: one that has just begun is ended by it without.
pub fn handles(pid: u32, signal: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status
        .lines()
        .find_map(|line| line.strip_prefix("SigCgt:\t"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask, 16).ok());
    caught.is_some_and(|mask| mask & 1 << (signal - 1) != 0)
}

/// A program that is killed when the value is dropped, also by a test that fails.
#[derive(Debug)]
pub struct KilledChild(Child);

impl From<Child> for KilledChild {
    fn from(child: Child) -> Self {
        Self(child)
    }
}

impl Deref for KilledChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
