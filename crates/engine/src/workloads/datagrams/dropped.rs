//! Datagrams dropped at a socket that counts runs of them.
//!
//! With `UDP_GRO` the kernel queues a run of datagrams as one message and counts it as one when it drops it. Each
//! message carries the number of messages dropped before it was queued (`SO_RXQ_OVFL`), and the sequence numbers of its
//! datagrams show how many are missing before them: those were in the dropped runs, as far as so many runs hold them.
//!
//! # References
//! - One count per message: Linux `__udp_enqueue_schedule_skb`

use crate::datapaths::Run;

/// Dropped runs of one socket, and the datagrams in them.
#[derive(Debug, Default)]
pub(super) struct Dropped {
    /// The socket's drop count at the last run whose sequence numbers were evaluated.
    seen: u32,
    /// Datagrams of the longest run received.
    longest: u64,
    runs: u64,
    datagrams: u64,
}

impl Dropped {
    /// Skips a run that does not count, with the drops before it.
    pub(super) fn skip(&mut self, run: Run) {
        self.seen = run.dropped_before;
        self.hold(run);
    }

    /// Records a run before which `missing` sequence numbers are missing; `None` if it did not advance the sequence:
    /// the drops before it then count before the next one.
    pub(super) fn came(&mut self, run: Run, missing: Option<u64>) {
        self.hold(run);
        if let Some(missing) = missing {
            self.add(run.dropped_before, missing);
        }
    }

    /// Total dropped runs and datagrams, with `last` as the socket's final count. After the last received run no
    /// sequence number shows how many are missing: as many as the runs can hold. `None` if the length of runs is
    /// unknown.
    pub(super) fn finish(&mut self, last: u32) -> Option<(u64, u64)> {
        if self.longest == 0 && last != self.seen {
            return None;
        }
        self.add(last, u64::MAX);
        Some((self.runs, self.datagrams))
    }

    fn hold(&mut self, run: Run) {
        self.longest = self.longest.max(run.datagrams as u64);
    }

    fn add(&mut self, dropped_before: u32, missing: u64) {
        let runs = u64::from(dropped_before.wrapping_sub(self.seen));
        self.seen = dropped_before;
        self.runs += runs;
        self.datagrams += missing.min(runs * self.longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn run(datagrams: usize, dropped_before: u32) -> Run {
        Run {
            datagrams,
            dropped_before,
        }
    }

    #[test]
    fn the_gaps_in_the_numbers_say_how_long_dropped_runs_were() {
        let mut dropped = Dropped::default();
        dropped.came(run(45, 0), Some(0));
        dropped.came(run(45, 2), Some(90));
        // One of them was a short one.
        dropped.came(run(45, 4), Some(50));
        assert_eq!(dropped.finish(4), Some((4, 140)));
    }

    #[test]
    fn what_is_missing_beyond_the_dropped_runs_was_lost_elsewhere() {
        let mut dropped = Dropped::default();
        dropped.came(run(45, 0), Some(7));
        dropped.came(run(45, 1), Some(60));
        assert_eq!(dropped.finish(1), Some((1, 45)));
    }

    #[test]
    fn drops_before_a_late_run_are_those_before_the_next() {
        let mut dropped = Dropped::default();
        dropped.came(run(45, 0), Some(0));
        dropped.came(run(45, 1), None);
        dropped.came(run(45, 1), Some(45));
        assert_eq!(dropped.finish(1), Some((1, 45)));
    }

    #[test]
    fn drops_of_the_warm_up_do_not_count_and_the_last_ones_count_whole() {
        let mut dropped = Dropped::default();
        dropped.skip(run(45, 9));
        dropped.came(run(10, 9), Some(0));
        assert_eq!(dropped.finish(11), Some((2, 90)));
    }

    #[test]
    fn the_socket_s_count_may_wrap() {
        let mut dropped = Dropped::default();
        dropped.skip(run(45, u32::MAX));
        dropped.came(run(45, 1), Some(90));
        assert_eq!(dropped.finish(1), Some((2, 90)));
    }

    #[test]
    fn where_nothing_came_nothing_says_how_long_runs_are() {
        assert_eq!(Dropped::default().finish(3), None);
        assert_eq!(Dropped::default().finish(0), Some((0, 0)));
    }
}
