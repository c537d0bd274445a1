//! Stops a board, and removes what is left of one that has ended.

use crate::boards::Home;
use crate::tools::failed;
use crate::{BoardName, Boards};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::{ask_to_end, kill};
use linerate_sys::wake::wait;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::os::fd::AsFd as _;
use std::time::Duration;

/// What [`stop`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// A running board.
    Up,
    /// Files of a board that had ended.
    Remains,
    /// Nothing.
    Nothing,
}

/// Timeout for a supervisor to end QEMU and itself.
const GRACE: Duration = Duration::from_secs(10);

/// Stops the board if it is running, and removes its folder.
pub fn stop(boards: &Boards, name: &BoardName) -> Result<Stopped, Failure> {
    let home = boards.home(name);
    if !home.path.is_dir() {
        return Ok(Stopped::Nothing);
    }
    let (_lock, found) = match home.lock()? {
        Some(lock) => (lock, Stopped::Remains),
        None => (end(&home, name)?, Stopped::Up),
    };
    fs::remove_dir_all(&home.path).map_err(|error| failed("removing", &home.path, &error))?;
    Ok(found)
}

/// Ends the holder of the lock; returns the lock.
fn end(home: &Home, name: &BoardName) -> Result<fs::File, Failure> {
    let refuse = |why: &str| Failure::new(ExitCode::Other, format!("stopping board {name}: {why}"));
    for ending in [ask_to_end, kill] {
        let holder = home
            .holder()
            .ok_or_else(|| refuse("its lock names no process"))?;
        let pid = i32::try_from(holder).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| refuse("its lock names no process"))?;
        // It may end by itself at any moment.
        if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
            // If the lock is still held, the PID is that of its holder, and not reused.
            if home.lock()?.is_none() {
                ending(holder).map_err(|error| refuse(&error.to_string()))?;
                let _ = wait([process.as_fd()], Some(MonoClock.now().after(GRACE)));
            }
        }
        if let Some(lock) = home.lock()? {
            return Ok(lock);
        }
    }
    Err(refuse("its supervisor does not end"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::tests::record;

    #[test]
    fn what_is_gone_is_no_error_and_what_is_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let boards = Boards::in_folder(folder.path().to_owned());
        let name: BoardName = "a".parse().unwrap();
        assert_eq!(stop(&boards, &name).unwrap(), Stopped::Nothing);
        let home = boards.make_home(&name).unwrap();
        drop(home.hold(&name).unwrap());
        home.keep(&record("a")).unwrap();
        assert_eq!(stop(&boards, &name).unwrap(), Stopped::Remains);
        assert!(!home.path.exists());
        assert_eq!(stop(&boards, &name).unwrap(), Stopped::Nothing);
    }
}
