//! Digests on their way to the controller: lists of distinct ones, and what waits for its acknowledgement.
//! Pure: `now` is an argument, in nanoseconds.
//!
//! # References
//! - P4Runtime specification 1.5.0, section 9.9

use crate::proto::p4::v1::digest_entry::Config;
use crate::refusal::{Refusal, Result, not_found};
use linerate_p4::UpdateKind;
use std::collections::{BTreeMap, BTreeSet};
use tonic::Code;

/// The most digests in a list where the controller sets no limit.
const MAX_LIST: usize = 1024;
/// The most digests of one kind that wait for an acknowledgement; further ones are sent again.
const MAX_UNACKNOWLEDGED: usize = 1 << 16;

type Values = Vec<Vec<u8>>;

#[derive(Debug, Clone)]
struct Waiting {
    list: u64,
    sent: u64,
    values: Vec<Values>,
}

#[derive(Debug, Clone)]
struct Stream {
    config: Config,
    buffer: Vec<Values>,
    /// When the first of the buffer came.
    since: u64,
    unacknowledged: Vec<Waiting>,
    /// What is in the buffer or waits for an acknowledgement.
    known: BTreeSet<Values>,
}

/// These may be sent again.
fn forget(known: &mut BTreeSet<Values>, values: &[Values]) {
    for values in values {
        known.remove(values);
    }
}

/// A list of digests to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct List {
    pub(super) digest: u32,
    pub(super) number: u64,
    pub(super) values: Vec<Values>,
}

/// The digests that the controller wants.
#[derive(Debug, Clone, Default)]
pub(super) struct Digests {
    streams: BTreeMap<u32, Stream>,
    lists: u64,
}

impl Digests {
    /// Changes what the controller wants.
    pub(super) fn change(&mut self, kind: UpdateKind, id: u32, config: Config) -> Result<()> {
        match (kind, self.streams.get_mut(&id)) {
            (UpdateKind::Insert, Some(_)) => {
                let what = format!("digest {id:#x} is sent already; modify it");
                Err(Refusal::new(Code::AlreadyExists, what))
            }
            (UpdateKind::Modify | UpdateKind::Delete, None) => {
                not_found(format!("digest {id:#x} is not sent"))
            }
            (UpdateKind::Modify, Some(stream)) => {
                stream.config = config;
                Ok(())
            }
            (UpdateKind::Delete, Some(_)) => {
                self.streams.remove(&id);
                Ok(())
            }
            (UpdateKind::Insert, None) => {
                let stream = Stream {
                    config,
                    buffer: Vec::new(),
                    since: 0,
                    unacknowledged: Vec::new(),
                    known: BTreeSet::new(),
                };
                self.streams.insert(id, stream);
                Ok(())
            }
        }
    }

    /// Ends what a new pipeline does not have.
    pub(super) fn retain(&mut self, known: impl Fn(u32) -> bool) {
        self.streams.retain(|id, _| known(*id));
    }

    /// What the controller wants, for reading.
    pub(super) fn configs(&self) -> impl Iterator<Item = (u32, Config)> {
        self.streams.iter().map(|(id, stream)| (*id, stream.config))
    }

    /// Takes a digest of the switch; a list that is full is the answer.
    pub(super) fn add(&mut self, id: u32, values: Values, now: u64) -> Option<List> {
        let stream = self.streams.get_mut(&id)?;
        if !stream.known.insert(values.clone()) {
            return None;
        }
        if stream.buffer.is_empty() {
            stream.since = now;
        }
        stream.buffer.push(values);
        let limit = usize::try_from(stream.config.max_list_size).unwrap_or(0);
        let limit = if limit == 0 {
            MAX_LIST
        } else {
            limit.min(MAX_LIST)
        };
        let full = stream.buffer.len() >= limit || stream.config.max_timeout_ns == 0;
        full.then(|| self.flush(id, now)).flatten()
    }

    fn flush(&mut self, digest: u32, now: u64) -> Option<List> {
        let stream = self.streams.get_mut(&digest)?;
        let values = std::mem::take(&mut stream.buffer);
        self.lists += 1;
        let list = self.lists;
        if stream.config.ack_timeout_ns > 0 && stream.known.len() < MAX_UNACKNOWLEDGED {
            stream.unacknowledged.push(Waiting {
                list,
                sent: now,
                values: values.clone(),
            });
        } else {
            forget(&mut stream.known, &values);
        }
        Some(List {
            digest,
            number: list,
            values,
        })
    }

    /// Lists whose time has come; what was not acknowledged in time may be sent again.
    pub(super) fn due(&mut self, now: u64) -> Vec<List> {
        let mut due = Vec::new();
        for (id, stream) in &mut self.streams {
            let timeout = u64::try_from(stream.config.ack_timeout_ns).unwrap_or(0);
            let known = &mut stream.known;
            stream.unacknowledged.retain(|waiting| {
                let waits = now.saturating_sub(waiting.sent) < timeout;
                if !waits {
                    forget(known, &waiting.values);
                }
                waits
            });
            let patience = u64::try_from(stream.config.max_timeout_ns).unwrap_or(0);
            if !stream.buffer.is_empty() && now.saturating_sub(stream.since) >= patience {
                due.push(*id);
            }
        }
        due.into_iter()
            .filter_map(|id| self.flush(id, now))
            .collect()
    }

    /// The controller has a list.
    pub(super) fn acknowledge(&mut self, digest: u32, list: u64) {
        let Some(stream) = self.streams.get_mut(&digest) else {
            return;
        };
        let known = &mut stream.known;
        stream.unacknowledged.retain(|waiting| {
            if waiting.list == list {
                forget(known, &waiting.values);
            }
            waiting.list != list
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(value: u8) -> Values {
        vec![vec![value]]
    }

    fn digests(max_timeout_ns: i64, max_list_size: i32, ack_timeout_ns: i64) -> Digests {
        let config = Config {
            max_timeout_ns,
            max_list_size,
            ack_timeout_ns,
        };
        let mut digests = Digests::default();
        digests.change(UpdateKind::Insert, 7, config).unwrap();
        digests
    }

    #[test]
    fn lists_are_distinct_and_full_or_old() {
        let mut digests = digests(100, 2, 0);
        assert_eq!(digests.add(7, values(1), 5), None);
        assert_eq!(digests.add(7, values(1), 6), None, "the same again");
        let list = digests.add(7, values(2), 7).unwrap();
        assert_eq!((list.number, list.values.len()), (1, 2));
        assert_eq!(digests.add(7, values(1), 10), None);
        assert_eq!(digests.due(109), []);
        assert_eq!(digests.due(110)[0].values, [values(1)]);
        assert_eq!(digests.add(8, values(1), 0), None, "not wanted");
    }

    #[test]
    fn what_waits_for_its_acknowledgement_is_not_sent_again() {
        let mut digests = digests(0, 0, 50);
        let first = digests.add(7, values(1), 0).unwrap();
        assert_eq!(digests.add(7, values(1), 1), None);
        digests.acknowledge(7, first.number);
        let second = digests.add(7, values(1), 2).unwrap();
        digests.acknowledge(7, second.number + 5);
        assert_eq!(digests.add(7, values(1), 3), None);
        digests.due(52);
        assert!(digests.add(7, values(1), 53).is_some());
    }
}
