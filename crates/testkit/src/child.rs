//! Programs that run no longer than the test that started them.

use std::ops::{Deref, DerefMut};
use std::process::Child;

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
