//! The end of a stream that nothing but an empty datagram tells (netperf).

use crate::datapaths::DatagramPath;
use crate::workloads::Step;
use linerate_model::MonoInstant;
use linerate_sys::failure::FailureClass;
use std::time::Duration;

/// From the last datagram to the first empty one: none of the traffic may arrive after it, and a queue
/// that was full has room again.
const DELAY_BEFORE_FIRST: Duration = Duration::from_millis(10);

/// Empty datagrams at most; each wait is twice the one before, so the last goes after 150 ms.
const MAX_EMPTY_DATAGRAMS: u32 = 4;

/// What the sender still has to say.
pub(super) struct EndDatagrams {
    next: MonoInstant,
    said: u32,
}

impl EndDatagrams {
    /// Those of a stream whose last datagram was sent at `ended`.
    pub(super) fn after(ended: MonoInstant) -> Self {
        Self {
            next: ended.after(DELAY_BEFORE_FIRST),
            said: 0,
        }
    }

    /// Says what is due at `now`.
    pub(super) fn say(&mut self, now: MonoInstant, path: &mut dyn DatagramPath) -> Step {
        if now < self.next {
            return Step::Poll(self.next);
        }
        // One that is lost or refused is what the others are for.
        let sent = path.send_empty();
        self.said += 1;
        let is_heard = sent.is_err_and(|failure| failure.class() == FailureClass::PeerGone);
        if is_heard || self.said == MAX_EMPTY_DATAGRAMS {
            return Step::Done;
        }
        self.next = now.after(DELAY_BEFORE_FIRST * 2_u32.pow(self.said));
        Step::Poll(self.next)
    }

    /// Says all of it now: the stream was stopped.
    pub(super) fn at_once(path: &mut dyn DatagramPath) {
        for _ in 0..MAX_EMPTY_DATAGRAMS {
            let _ = path.send_empty();
        }
    }
}
