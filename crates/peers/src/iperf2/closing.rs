//! End of datagram streams: repeats this end's last datagrams until they are answered, and answers the peer's.

use super::report::Report;
use super::streams::{Counters, Streams, Width};
use super::word;
use crate::session::{Action, StreamOrder};
use linerate_model::sample::{DatagramReceiver, EndpointReport, StreamReport};
use linerate_model::spec::Side;
use linerate_model::{MonoInstant, PacketCount};
use std::collections::VecDeque;
use std::time::Duration;

/// Interval after the first end datagram of a stream: most are answered at once. Each interval is twice the one before.
const MIN_GAP: Duration = Duration::from_millis(10);
/// Maximum interval between end datagrams, iperf2's own. It answers ten and then warns that its answer was lost, so ten
/// in a row must not fit into the time for which a busy host does not run it.
const MAX_GAP: Duration = Duration::from_millis(250);
/// How long repeated end datagrams are answered again; iperf2 warns that its answer was lost if it meets a closed
/// socket. It answers at once when its host schedules it.
const LATER_ANSWERS: Duration = Duration::from_millis(250);
/// End datagrams sent where no answer is required: they take 1.3 s.
pub(super) const FIRST: u32 = 10;
/// Maximum end datagrams per stream; together 5 s, longer than any usable queue takes to drain.
pub(super) const MAX_CLOSING_DATAGRAMS: u32 = 24;

/// State of ending the datagram streams of one end.
#[derive(Debug)]
pub(super) struct Closing {
    format: Streams,
    payload: usize,
    /// Datagrams sent on each stream that this end sends.
    sent: Vec<PacketCount>,
    answers: Vec<Option<Report>>,
    tries: u32,
    next: Option<MonoInstant>,
    /// Reports sent in answer to the end of each stream that this end receives.
    reports: Vec<Option<Vec<u8>>>,
}

impl Closing {
    pub(super) const fn new(format: Streams, payload: usize) -> Self {
        Self {
            format,
            payload,
            sent: Vec::new(),
            answers: Vec::new(),
            tries: 0,
            next: None,
            reports: Vec::new(),
        }
    }

    /// This end's senders have stopped: sends end datagrams from now on.
    pub(super) fn finish(&mut self, now: MonoInstant, sent: Vec<PacketCount>) {
        self.answers = vec![None; sent.len()];
        self.sent = sent;
        self.next = Some(now);
    }

    /// This end's receivers have stopped: their counts answer the ends of their streams.
    pub(super) fn answer_with(&mut self, reports: &[EndpointReport], is_extended: bool) {
        let receiver = reports.iter().find(|report| report.side == Side::Receiver);
        let write = |stream: &StreamReport| {
            let receiver = stream.work.get::<DatagramReceiver>()?;
            receiver.sent_there?;
            let report = Report::from_receiver(stream, receiver);
            report.write(self.format.width, is_extended, self.payload)
        };
        self.reports = receiver.map_or_else(Vec::new, |report| {
            report.streams.iter().map(write).collect()
        });
    }

    /// Sends the first answers: the end datagrams that asked for them went to the receivers.
    pub(super) fn answer(&self, actions: &mut VecDeque<Action>) {
        for (stream, report) in (0..).zip(&self.reports) {
            if let Some(bytes) = report.clone() {
                actions.push_back(Action::Stream(StreamOrder::Datagram { stream, bytes }));
            }
        }
    }

    /// When the next end datagrams are due.
    pub(super) const fn deadline(&self) -> Option<MonoInstant> {
        self.next
    }

    /// Sends the first end datagrams at once, if they are not sent yet.
    pub(super) fn hasten(&mut self, now: MonoInstant) {
        if self.tries == 0 {
            self.next = self.next.map(|next| next.min(now));
        }
    }

    /// Sends the end datagrams that are due and not answered.
    pub(super) fn repeat(&mut self, now: MonoInstant, actions: &mut VecDeque<Action>) {
        if self.next.is_none_or(|next| now < next) {
            return;
        }
        if self.is_answered() {
            self.next = None;
            return;
        }
        for (stream, (sent, answer)) in (0..).zip(self.sent.iter().zip(&self.answers)) {
            if answer.is_none() {
                let bytes = self.end(*sent);
                actions.push_back(Action::Stream(StreamOrder::Datagram { stream, bytes }));
            }
        }
        let gap = MIN_GAP.saturating_mul(1 << self.tries.min(8)).min(MAX_GAP);
        self.tries += 1;
        self.next = (self.tries < MAX_CLOSING_DATAGRAMS).then(|| now.after(gap));
    }

    /// Takes a datagram of the peer: its report, or the end of its stream. Returns whether it was an end.
    pub(super) fn hear(
        &mut self,
        now: MonoInstant,
        stream: u16,
        bytes: &[u8],
        actions: &mut VecDeque<Action>,
    ) -> bool {
        let index = usize::from(stream);
        let is_negative = word(bytes, 0).is_some_and(|number| number.cast_signed() < 0);
        if is_negative && (self.sent.is_empty() || !is_report(bytes)) {
            let report = self.reports.get(index).and_then(Option::as_ref);
            // An answer longer than the request would allow amplification with a forged source address.
            if let Some(report) = report.filter(|report| report.len() <= bytes.len()) {
                let bytes = report.clone();
                actions.push_back(Action::Stream(StreamOrder::Datagram { stream, bytes }));
            }
            return true;
        }
        let is_echo = self.reports.iter().flatten().any(|own| own == bytes);
        if is_echo {
            return false;
        }
        let was_answered = self.is_answered();
        if let (Some(answer), Some(report)) = (self.answers.get_mut(index), Report::read(bytes)) {
            answer.get_or_insert(report);
            if self.is_answered() && !was_answered {
                self.next = (self.tries > 1).then(|| now.after(LATER_ANSWERS));
            }
        }
        false
    }

    /// Whether every stream's end was answered.
    pub(super) fn is_answered(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    /// Whether no more end datagrams will be sent, answered or not.
    pub(super) fn is_over(&self) -> bool {
        self.next.is_none()
    }

    /// Limits the end datagrams still to send: no answer is required.
    pub(super) fn hurry(&mut self) {
        if self.tries >= FIRST {
            self.next = None;
        }
    }

    /// Reports of the peer's receivers, for streams that were answered. iperf2 attributes the first datagrams of
    /// streams that begin together to the wrong stream; the surplus of one is given to those that lack it.
    pub(super) fn peer_streams(&self) -> Vec<StreamReport> {
        let payload = self.payload as u64;
        let each = self.sent.iter().zip(&self.answers);
        let mut counts: Vec<_> = each
            .map(|(sent, answer)| {
                let got = answer.map(|report| report.received(sent.get(), payload));
                (sent.get(), got)
            })
            .collect();
        settle(&mut counts);
        let all = (0..).zip(counts.iter().zip(&self.answers));
        all.filter_map(|(index, ((_, got), report))| {
            Some(report.as_ref()?.as_stream(index, (*got)?, payload))
        })
        .collect()
    }

    /// Last datagram of a stream: the next number, negated; as long as the others, as in all versions.
    fn end(&self, sent: PacketCount) -> Vec<u8> {
        let format = &self.format;
        let next = sent.get().saturating_add(format.sends_from.into());
        let most = match format.counters {
            Counters::Bits32 => 0x7fff_ffff,
            Counters::Bits64 => u64::MAX >> 1,
        };
        // An empty stream that counts from 0 has no negative number: use 1.
        let number = next.clamp(1, most).wrapping_neg().to_be_bytes();
        let mut bytes = number[4..].to_vec();
        bytes.extend([0; 8]);
        if format.width == Width::Wide {
            // A 32-bit reader ignores this; a 64-bit reader that was not told needs it.
            bytes.extend(&number[..4]);
        }
        bytes.extend(format.opening.as_bytes());
        bytes.resize(self.payload, 0);
        bytes
    }
}

/// Moves counts received beyond what was sent on a stream to streams that lack them.
fn settle(counts: &mut [(u64, Option<u64>)]) {
    let known = || |(sent, got): &(u64, Option<u64>)| Some((*sent, (*got)?));
    let mut surplus: u64 = counts
        .iter()
        .filter_map(known())
        .map(|(sent, got)| got.saturating_sub(sent))
        .sum();
    let lacking: u64 = counts
        .iter()
        .filter_map(known())
        .map(|(sent, got)| sent.saturating_sub(got))
        .sum();
    // A surplus above the total sent is not an exchange between streams.
    if surplus > lacking {
        return;
    }
    for (sent, got) in counts {
        let Some(got) = got else { continue };
        let given = surplus.min(sent.saturating_sub(*got));
        surplus -= given;
        *got = (*got + given).min(*sent);
    }
}

/// Whether a datagram is a report although it begins with a negative number: up to 2.0.9 and zperf copy the
/// beginning of what they answer.
fn is_report(bytes: &[u8]) -> bool {
    Report::read(bytes).is_some()
}
