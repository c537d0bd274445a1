//! Waiting for descriptors with nanosecond deadlines, and waking a waiting thread.

use crate::clock::MonoClock;
use linerate_model::{Clock, MonoInstant};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Wakes a thread that waits in [`wait`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// A waker in its initial state.
    pub fn new() -> io::Result<Self> {
        Ok(Self(eventfd(
            0,
            EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK,
        )?))
    }

    /// Makes the descriptor readable until [`Waker::clear`].
    pub fn wake(&self) -> io::Result<()> {
        match rustix::io::write(&self.0, &1_u64.to_ne_bytes()) {
            // EAGAIN: the counter is full, so the descriptor is readable already.
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Clears all wake-ups so far.
    pub fn clear(&self) {
        // EAGAIN: there was none; an owned eventfd has no other error.
        let _ = rustix::io::read(&self.0, &mut [0_u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Blocks until one of `descriptors` is readable or `deadline` is reached; `None` waits for ever. Returns slightly
/// before a distant deadline, so that a caller that waits again meets it: the kernel may delay a timer of this call by
/// a thousandth of its length. A signal ends the wait early; a socket's pending error fails it.
pub fn wait<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    deadline: Option<MonoInstant>,
) -> io::Result<()> {
    wait_for(&mut descriptors.map(for_reading), deadline)
}

/// Blocks like [`wait`], for a number of descriptors known only at run time.
pub fn wait_for_any<'a>(
    descriptors: impl IntoIterator<Item = BorrowedFd<'a>>,
    deadline: Option<MonoInstant>,
) -> io::Result<()> {
    let mut polled: Vec<_> = descriptors.into_iter().map(for_reading).collect();
    wait_for(&mut polled, deadline)
}

fn for_reading(descriptor: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(descriptor, PollFlags::IN)
}

fn wait_for(polled: &mut [PollFd<'_>], deadline: Option<MonoInstant>) -> io::Result<()> {
    let timeout = deadline.map(|at| timespec(at, MonoClock.now()));
    match poll(polled, timeout.as_ref()) {
        Ok(0) | Err(Errno::INTR) => Ok(()),
        Ok(_) => polled.iter().try_for_each(check),
        Err(errno) => Err(errno.into()),
    }
}

/// Reports a socket's pending error, which would end every later wait at once.
fn check(polled: &PollFd<'_>) -> io::Result<()> {
    if polled.revents().contains(PollFlags::ERR) {
        socket_error(polled.as_fd())??;
    }
    Ok(())
}

fn timespec(deadline: MonoInstant, now: MonoInstant) -> Timespec {
    let left = deadline.saturating_since(now);
    let left = left.saturating_sub(left / EARLY);
    Timespec {
        tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(left.subsec_nanos()),
    }
}

/// Twice the thousandth that `select_estimate_accuracy` in `fs/select.c` allows itself.
const EARLY: u32 = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_before_the_wait_is_not_lost() {
        let waker = Waker::new().unwrap();
        waker.wake().unwrap();
        wait([waker.as_fd()], None).unwrap();
        waker.clear();
    }

    #[test]
    fn far_deadlines_are_approached_and_near_ones_met() {
        let length = |nanos| timespec(MonoInstant::from_nanos(nanos), MonoInstant::from_nanos(0));
        assert_eq!(length(1_000_000_000).tv_nsec, 998_000_000);
        assert_eq!(length(400).tv_nsec, 400);
    }

    #[test]
    fn a_deadline_in_the_past_does_not_block() {
        let waker = Waker::new().unwrap();
        wait([waker.as_fd()], Some(MonoInstant::from_nanos(0))).unwrap();
    }
}
