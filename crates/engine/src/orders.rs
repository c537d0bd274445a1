//! What the owner of running streams tells their threads, and what these tell back.

use linerate_model::{MonoInstant, PacketCount};
use linerate_peers::Grant;
use linerate_sys::wake::Waker;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Orders to all threads of one endpoint; cheap to look at in every turn.
#[derive(Debug, Default)]
pub struct Orders {
    stop: AtomicBool,
    ending: OnceLock<Ending>,
    start: Mutex<Option<MonoInstant>>,
    started: Condvar,
    grants: Mutex<VecDeque<Grant>>,
    granted: Condvar,
    spent: AtomicU64,
    /// Rung when the owner should look; none where nobody waits.
    wakeup_fd: Option<Waker>,
}

/// Most grants that wait to be used: both ends of a session announce one or two ahead.
const MOST_GRANTS: usize = 1024;

/// What the sender says it sent, and how long silence means that no more comes.
#[derive(Debug, Clone)]
pub(crate) struct Ending {
    /// Counted datagrams or transactions of each stream.
    pub(crate) sent: Vec<PacketCount>,
    /// Silence after which the rest is lost.
    pub(crate) quiet: Duration,
    /// When this was said, on this host's clock.
    pub(crate) said: MonoInstant,
}

impl Orders {
    /// Orders of an owner who waits to hear of the threads.
    pub(crate) fn with_bell() -> io::Result<Self> {
        Ok(Self {
            wakeup_fd: Some(Waker::new()?),
            ..Self::default()
        })
    }

    /// What [`ring`](Self::ring) makes readable.
    pub(crate) const fn wakeup_fd(&self) -> Option<&Waker> {
        self.wakeup_fd.as_ref()
    }

    /// Tells the owner that there is something to see.
    pub(crate) fn ring(&self) {
        // No failure exists for a descriptor of our own.
        let _ = self.wakeup_fd.as_ref().map(Waker::wake);
    }

    /// Whether all should end now.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Says what was sent. Only the first word counts.
    pub(crate) fn end(&self, ending: Ending) {
        drop(self.ending.set(ending));
    }

    /// Whether a receiver is done that has `received` of stream `index` (`None`: it cannot tell
    /// when it has all), the last thing at `last`.
    pub(crate) fn is_over(
        &self,
        index: usize,
        received: Option<u64>,
        last: MonoInstant,
        now: MonoInstant,
    ) -> bool {
        let Some(ending) = self.ending.get() else {
            return false;
        };
        let sent = ending.sent.get(index);
        let all = received
            .zip(sent)
            .is_some_and(|(got, sent)| got >= sent.get());
        all || now.saturating_since(last.max(ending.said)) >= ending.quiet
    }

    /// Whether the peer has said that it is done.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get().is_some()
    }

    fn grants(&self) -> MutexGuard<'_, VecDeque<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets messages be exchanged after those granted before; `false` if more wait than any peer needs.
    pub(crate) fn grant(&self, grant: Grant) -> bool {
        let mut grants = self.grants();
        if grants.len() >= MOST_GRANTS {
            return false;
        }
        grants.push_back(grant);
        self.granted.notify_all();
        true
    }

    /// The next grant, if one comes within `patience`.
    pub(crate) fn take_grant(&self, patience: Duration) -> Option<Grant> {
        let mut grants = self.grants();
        if grants.is_empty() && !patience.is_zero() {
            let waited = self.granted.wait_timeout(grants, patience);
            (grants, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
        grants.pop_front()
    }

    /// A grant is used up.
    pub(crate) fn spend(&self) {
        self.spent.fetch_add(1, Ordering::Release);
        self.ring();
    }

    /// Grants used up so far.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.load(Ordering::Acquire)
    }

    /// Lets the threads go at `instant`.
    pub(crate) fn go(&self, instant: MonoInstant) {
        *self.start.lock().unwrap_or_else(PoisonError::into_inner) = Some(instant);
        self.started.notify_all();
    }

    /// Waits for [`go`](Self::go) and returns its instant, or `None` if stopped before.
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

    #[test]
    fn a_receiver_is_over_when_all_came_or_silence_lasted() {
        let at = |millis: u64| MonoInstant::from_nanos(millis * 1_000_000);
        let orders = Orders::default();
        assert!(!orders.is_over(0, Some(10), at(0), at(99_999)));
        orders.end(Ending {
            sent: vec![PacketCount::new(10)],
            quiet: Duration::from_millis(100),
            said: at(1000),
        });
        assert!(orders.is_over(0, Some(10), at(990), at(1000)));
        assert!(!orders.is_over(0, Some(9), at(990), at(1099)));
        assert!(orders.is_over(0, Some(9), at(990), at(1100)));
        assert!(!orders.is_over(0, Some(9), at(1050), at(1149)));
        assert!(!orders.is_over(0, None, at(1050), at(1060)));
    }

    #[test]
    fn grants_are_taken_in_order_and_bounded() {
        let orders = Orders::default();
        let grant = |messages| Grant {
            messages,
            size: linerate_model::ByteCount::new(1),
        };
        assert_eq!(orders.take_grant(Duration::ZERO), None);
        assert!((0..1024).all(|messages| orders.grant(grant(messages))));
        assert!(!orders.grant(grant(1024)));
        assert_eq!(orders.take_grant(Duration::ZERO), Some(grant(0)));
        assert!(orders.grant(grant(1024)));
    }

    #[test]
    fn a_stop_before_the_start_ends_the_waiting() {
        let orders = Orders::default();
        orders.stop();
        assert_eq!(orders.wait_for_go(), None);
    }
}
