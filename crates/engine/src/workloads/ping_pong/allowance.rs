//! Messages that may be exchanged now, by advance agreement between the ends.
//!
//! A grant must be exchanged completely: the peer waits for exactly that many.

use crate::control::StreamControl;
use linerate_peers::Grant;
use std::time::Duration;

/// Maximum wait for the next grant in one turn: bounds the delay of a stop.
const MAX_GRANT_WAIT: Duration = Duration::from_millis(20);

/// The grant in use.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    left: u32,
    is_first: bool,
}

impl Allowance {
    /// Whether a message may be exchanged. Waits for a new grant and passes it to `renew`, which returns whether it can
    /// be used.
    pub(super) fn is_open(
        &mut self,
        control: &StreamControl,
        renew: impl FnOnce(Grant) -> bool,
    ) -> bool {
        if self.left > 0 {
            return true;
        }
        let Some(grant) = control.take_grant(MAX_GRANT_WAIT) else {
            return false;
        };
        self.left = if renew(grant) { grant.messages } else { 0 };
        self.is_first = true;
        if self.left == 0 {
            control.spend();
        }
        self.left > 0
    }

    /// Whether messages of the grant remain.
    pub(super) const fn is_used(&self) -> bool {
        self.left > 0
    }

    /// Whether the next message is timed: the first of a grant only wakes the peer.
    pub(super) const fn is_timed(&self) -> bool {
        !self.is_first
    }

    /// Records an exchanged message.
    pub(super) fn spend(&mut self, control: &StreamControl) {
        self.is_first = false;
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            control.spend();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::ByteCount;

    #[test]
    fn a_grant_is_used_up_before_the_next_and_its_first_message_is_not_timed() {
        let control = StreamControl::default();
        for messages in [2, 1] {
            let size = ByteCount::new(8);
            assert!(control.grant(Grant { messages, size }));
        }
        let mut allowance = Allowance::default();
        let mut timed = Vec::new();
        for _ in 0..3 {
            assert!(allowance.is_open(&control, |_| true));
            timed.push(allowance.is_timed());
            allowance.spend(&control);
        }
        assert_eq!(timed, [false, true, false]);
        assert_eq!(control.spent(), 2);
        assert!(!allowance.is_used());
        assert!(!allowance.is_open(&control, |_| true));
    }
}
