//! The newest events, by number, for those that were away for a moment.
//!
//! Pure. Invariant: numbers are dense and rise by one, so that a reader knows whether it missed something.

use std::collections::VecDeque;
use std::sync::Arc;

/// An event as browsers get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its number.
    pub(crate) id: u64,
    /// What it is.
    pub(crate) name: &'static str,
    /// JSON on one line.
    pub(crate) data: Arc<str>,
}

/// The newest events.
#[derive(Debug)]
pub(crate) struct Ring {
    newest: u64,
    room: usize,
    events: VecDeque<Event>,
}

impl Ring {
    /// An empty ring for `room` events.
    pub(crate) const fn new(room: usize) -> Self {
        Self {
            newest: 0,
            room,
            events: VecDeque::new(),
        }
    }

    /// The number of the newest event, 0 before the first.
    pub(crate) const fn newest(&self) -> u64 {
        self.newest
    }

    /// Takes an event in, and lets the oldest go where there is no more room.
    pub(crate) fn push(&mut self, name: &'static str, data: &str) {
        self.newest += 1;
        self.events.push_back(Event {
            id: self.newest,
            name,
            data: data.into(),
        });
        while self.events.len() > self.room {
            self.events.pop_front();
        }
    }

    /// Every event after number `seen`; `None` where some of them are gone, or that number was never given.
    pub(crate) fn after(&self, seen: u64) -> Option<Vec<Event>> {
        let missing = self.newest.checked_sub(seen)?;
        let missing = usize::try_from(missing).ok()?;
        let first = self.events.len().checked_sub(missing)?;
        Some(self.events.iter().skip(first).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_away_gets_all_that_it_missed_or_learns_that_it_cannot() {
        let mut ring = Ring::new(3);
        assert_eq!(ring.after(0), Some(Vec::new()));
        for n in 1..=5 {
            ring.push("interval", &n.to_string());
        }
        let ids = |seen| {
            let events: Option<Vec<Event>> = ring.after(seen);
            events.map(|events| events.iter().map(|event| event.id).collect::<Vec<_>>())
        };
        assert_eq!(ids(5), Some(vec![]));
        assert_eq!(ids(3), Some(vec![4, 5]));
        assert_eq!(ids(2), Some(vec![3, 4, 5]));
        assert_eq!(ids(1), None);
        assert_eq!(ids(6), None);
    }
}
