//! Rate-limits events about clients, so that a flood of clients does not flood the log.

use linerate_model::MonoInstant;
use linerate_model::agent::AgentEvent;
use std::time::Duration;

/// Maximum events per window.
const MAX_EVENTS: u32 = 50;

/// Length of a window.
const NOTICE_WINDOW: Duration = Duration::from_secs(1);

/// Events admitted and suppressed.
#[derive(Default)]
pub(crate) struct Notices {
    since: MonoInstant,
    printed: u32,
    left_out: u64,
}

impl Notices {
    /// Whether an event may be reported at `now`; if not, it is counted as suppressed.
    pub(crate) fn admit(&mut self, now: MonoInstant) -> bool {
        if now >= self.since.after(NOTICE_WINDOW) {
            self.since = now;
            self.printed = 0;
        }
        let is_printed = self.printed < MAX_EVENTS;
        if is_printed {
            self.printed += 1;
        } else {
            self.left_out += 1;
        }
        is_printed
    }

    /// Number of suppressed events, once their window is over.
    pub(crate) fn summary(&mut self, now: MonoInstant) -> Option<AgentEvent> {
        if self.left_out == 0 || now < self.since.after(NOTICE_WINDOW) {
            return None;
        }
        Some(AgentEvent::LeftOut {
            events: std::mem::take(&mut self.left_out),
            limit: MAX_EVENTS,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_by_its_size() {
        let start = MonoInstant::from_nanos(5_000_000_000);
        let mut notices = Notices::default();
        let printed = (0..1000).filter(|_| notices.admit(start)).count();
        assert_eq!(printed, 50);
        assert_eq!(notices.summary(start), None);
        let later = start.after(NOTICE_WINDOW);
        let left_out = AgentEvent::LeftOut {
            events: 950,
            limit: 50,
        };
        assert_eq!(notices.summary(later), Some(left_out));
        assert_eq!(notices.summary(later), None);
        assert!(notices.admit(later));
    }
}
