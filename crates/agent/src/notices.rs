//! Lines about clients for who runs the server: so many in a second, so that a flood of clients is none of lines.

use linerate_model::MonoInstant;
use std::time::Duration;

/// Most lines in one window.
const MAX_LINES: u32 = 50;

/// Length of a window.
const NOTICE_WINDOW: Duration = Duration::from_secs(1);

/// How many have been let through.
#[derive(Default)]
pub(crate) struct Notices {
    since: MonoInstant,
    printed: u32,
    left_out: u64,
}

impl Notices {
    /// Whether a line may be told at `now`; if not, it counts as left out.
    pub(crate) fn admit(&mut self, now: MonoInstant) -> bool {
        if now >= self.since.after(NOTICE_WINDOW) {
            self.since = now;
            self.printed = 0;
        }
        let is_printed = self.printed < MAX_LINES;
        if is_printed {
            self.printed += 1;
        } else {
            self.left_out += 1;
        }
        is_printed
    }

    /// A line about those left out, once the window in which they were is over.
    pub(crate) fn summary(&mut self, now: MonoInstant) -> Option<String> {
        if self.left_out == 0 || now < self.since.after(NOTICE_WINDOW) {
            return None;
        }
        let count = std::mem::take(&mut self.left_out);
        Some(format!(
            "{count} more lines about clients were left out: more than {MAX_LINES} in a second"
        ))
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
        let summary = notices.summary(later).unwrap();
        assert!(summary.starts_with("950 more"), "{summary}");
        assert_eq!(notices.summary(later), None);
        assert!(notices.admit(later));
    }
}
