//! Shared state by which the owner of running streams and their threads signal each other.

use linerate_model::{ByteCount, MonoInstant, PacketCount};
use linerate_peers::{Grant, Sent};
use linerate_sys::wake::Waker;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Signals from the owner of an endpoint to all its threads (stop, grants), cheap to poll in every turn.
#[derive(Debug, Default)]
pub struct StreamControl {
    stop: AtomicBool,
    ending: OnceLock<Ending>,
    start: Mutex<Option<MonoInstant>>,
    started: Condvar,
    grants: Mutex<VecDeque<Grant>>,
    granted: Condvar,
    spent: AtomicU64,
    /// Signalled when the owner should look; `None` where nobody waits.
    wakeup_fd: Option<Waker>,
}

/// Maximum unused grants: both ends of a session announce one or two ahead.
const MAX_GRANTS: usize = 1024;

/// What the sender reports as sent, and how long silence means that no more arrives.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    /// Packets or bytes sent on each stream.
    pub(crate) sent: Sent,
    /// Silence after which the rest is lost.
    pub(crate) quiet: Duration,
    /// When the sender's report arrived, on this host's clock.
    pub(crate) said: MonoInstant,
}

/// Amount that a receiver has of its stream, warm-up included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// The receiver cannot know when its stream is complete.
    Unknown,
    Packets(PacketCount),
    Bytes(ByteCount),
}

impl Ending {
    /// Whether `received` is all that was sent on stream `index`.
    fn is_all(&self, index: usize, received: Received) -> bool {
        match (&self.sent, received) {
            (Sent::Packets(sent), Received::Packets(got)) => {
                sent.get(index).is_some_and(|s| got >= *s)
            }
            (Sent::Bytes(sent), Received::Bytes(got)) => sent.get(index).is_some_and(|s| got >= *s),
            _ => false,
        }
    }
}

impl StreamControl {
    /// Control for an owner that waits for its threads.
    pub(crate) fn with_bell() -> io::Result<Self> {
        Ok(Self {
            wakeup_fd: Some(Waker::new()?),
            ..Self::default()
        })
    }

    /// Descriptor that [`ring`](Self::ring) makes readable.
    pub(crate) const fn wakeup_fd(&self) -> Option<&Waker> {
        self.wakeup_fd.as_ref()
    }

    /// Wakes the owner.
    pub(crate) fn ring(&self) {
        // A write to our own eventfd cannot fail.
        let _ = self.wakeup_fd.as_ref().map(Waker::wake);
    }

    /// Whether all streams should stop now.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Records what was sent. Only the first call counts.
    pub(crate) fn end(&self, ending: Ending) {
        drop(self.ending.set(ending));
    }

    /// Whether a receiver of stream `index` is done that has `received`, the last of it at `last`.
    pub(crate) fn is_over(
        &self,
        index: usize,
        received: Received,
        last: MonoInstant,
        now: MonoInstant,
    ) -> bool {
        let Some(ending) = self.ending.get() else {
            return false;
        };
        ending.is_all(index, received)
            || now.saturating_since(last.max(ending.said)) >= ending.quiet
    }

    /// Whether the peer's sender has finished.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get().is_some()
    }

    fn grants(&self) -> MutexGuard<'_, VecDeque<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a grant of messages; `false` if more are queued than any peer needs.
    pub(crate) fn grant(&self, grant: Grant) -> bool {
        let mut grants = self.grants();
        if grants.len() >= MAX_GRANTS {
            return false;
        }
        grants.push_back(grant);
        self.granted.notify_all();
        true
    }

    /// Takes the next grant, waiting up to `patience`.
    pub(crate) fn take_grant(&self, patience: Duration) -> Option<Grant> {
        let mut grants = self.grants();
        if grants.is_empty() && !patience.is_zero() {
            let waited = self.granted.wait_timeout(grants, patience);
            (grants, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        grants.pop_front()
    }

    /// Marks a grant as used up.
    pub(crate) fn spend(&self) {
        self.spent.fetch_add(1, Ordering::Release);
        self.ring();
    }

    /// Grants used up so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Acquire)
    }

    /// Releases the waiting threads, with start time `instant`.
    pub(crate) fn go(&self, instant: MonoInstant) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(instant);
        self.started.notify_all();
    }

    /// Waits for [`go`](Self::go) and returns the start time; `None` if stopped before.
    pub(crate) fn wait_for_go(&self) -> Option<MonoInstant> {
        let mut start = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        while start.is_none() && !self.is_stopped() {
            let waited = self.started.wait_timeout(start, Duration::from_millis(20));
            (start, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        *start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoInstant {
        MonoInstant::from_nanos(millis * 1_000_000)
    }

    fn ended(sent: Sent) -> StreamControl {
        let control = StreamControl::default();
        assert!(!control.is_over(0, packets(10), at(0), at(99_999)));
        control.end(Ending {
            sent,
            quiet: Duration::from_millis(100),
            said: at(1000),
        });
        control
    }

    const fn packets(count: u64) -> Received {
        Received::Packets(PacketCount::new(count))
    }

    #[test]
    fn a_receiver_is_over_when_all_came_or_silence_lasted() {
        let control = ended(Sent::Packets(vec![PacketCount::new(10)]));
        assert!(control.is_over(0, packets(10), at(990), at(1000)));
        assert!(!control.is_over(0, packets(9), at(990), at(1099)));
        assert!(control.is_over(0, packets(9), at(990), at(1100)));
        assert!(!control.is_over(0, packets(9), at(1050), at(1149)));
        assert!(!control.is_over(0, Received::Unknown, at(1050), at(1060)));
        assert!(!control.is_over(1, packets(99), at(1050), at(1060)));
    }

    #[test]
    fn bytes_are_compared_with_bytes_only() {
        let bytes = |count| Received::Bytes(ByteCount::new(count));
        let control = ended(Sent::Bytes(vec![ByteCount::new(10)]));
        assert!(control.is_over(0, bytes(10), at(990), at(1000)));
        assert!(!control.is_over(0, bytes(9), at(990), at(1000)));
        assert!(!control.is_over(0, packets(10), at(990), at(1000)));
        assert!(!ended(Sent::Untold).is_over(0, bytes(10), at(990), at(1000)));
    }

    #[test]
    fn grants_are_taken_in_order_and_bounded() {
        let control = StreamControl::default();
        let grant = |messages| Grant {
            messages,
            size: ByteCount::new(1),
        };
        assert_eq!(control.take_grant(Duration::ZERO), None);
        assert!((0..1024).all(|messages| control.grant(grant(messages))));
        assert!(!control.grant(grant(1024)));
        assert_eq!(control.take_grant(Duration::ZERO), Some(grant(0)));
        assert!(control.grant(grant(1024)));
    }

    #[test]
    fn a_stop_before_the_start_ends_the_waiting() {
        let control = StreamControl::default();
        control.stop();
        assert_eq!(control.wait_for_go(), None);
    }
}
