//! End of a stream by empty datagrams (netperf).

use crate::datapaths::DatagramPath;
use crate::workloads::Step;
use linerate_model::MonoInstant;
use linerate_sys::failure::FailureClass;
use std::time::Duration;

/// Delay from the last datagram to the first empty one: no traffic may arrive after it, and a full queue has room
/// again.
const DELAY_BEFORE_FIRST: Duration = Duration::from_millis(10);

/// Maximum empty datagrams; each interval is twice the one before, so the last goes after 150 ms.
const MAX_EMPTY_DATAGRAMS: u32 = 4;

/// Empty datagrams still to send.
pub(super) struct EndDatagrams {
    next: MonoInstant,
    said: u32,
}

impl EndDatagrams {
    /// For a stream whose last datagram was sent at `ended`.
    pub(super) fn after(ended: MonoInstant) -> Self {
        Self {
            next: ended.after(DELAY_BEFORE_FIRST),
            said: 0,
        }
    }

    /// Sends what is due at `now`.
    pub(super) fn say(&mut self, now: MonoInstant, path: &mut dyn DatagramPath) -> Step {
        if now < self.next {
            return Step::Poll(self.next);
        }
        // Errors are ignored: the others make up for a lost one.
        let sent = path.send_empty();
        self.said += 1;
        let is_heard = sent.is_err_and(|failure| failure.class() == FailureClass::PeerGone);
        if is_heard || self.said == MAX_EMPTY_DATAGRAMS {
            return Step::Done;
        }
        self.next = now.after(DELAY_BEFORE_FIRST * 2_u32.pow(self.said));
        Step::Poll(self.next)
    }

    /// Sends all of them now: the stream was stopped.
    pub(super) fn at_once(path: &mut dyn DatagramPath) {
        for _ in 0..MAX_EMPTY_DATAGRAMS {
            let _ = path.send_empty();
        }
    }
}
