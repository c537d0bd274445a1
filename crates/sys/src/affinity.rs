//! CPU affinity of threads.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io;

/// Pins the calling thread to one core.
pub fn pin_current_thread(core: u32) -> io::Result<()> {
    let index = usize::try_from(core).unwrap_or(usize::MAX);
    if index >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(index);
    Ok(sched_setaffinity(None, &set)?)
}

/// The cores the calling thread may run on, ascending.
pub fn allowed_cores() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    let cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
    Ok(cores.filter_map(|core| u32::try_from(core).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_that_core_only() {
        std::thread::spawn(|| {
            let last = *allowed_cores().unwrap().last().unwrap();
            pin_current_thread(last).unwrap();
            assert_eq!(allowed_cores().unwrap(), [last]);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_core_that_no_machine_has_is_refused() {
        assert!(pin_current_thread(u32::MAX).is_err());
        assert!(pin_current_thread(1023).is_err());
    }
}
