//! The receiving application before its socket: whether it emptied it, and why not.

use super::{Cpu, Evidence, range};
use crate::causes::words;
use crate::readings::{late_delay_floors, mean};
use crate::thresholds::reader::{EMPTYING_SHARE, HELD_UP_SHARE, STANDING_SHARE};
use linerate_model::Ratio;
use linerate_model::run::{DelayOf, Place, Trial};
use linerate_model::spec::Side;

/// How the receiving application kept up with its socket in the stressed trials.
#[derive(Debug, Clone, Copy)]
pub(in crate::causes) struct Reader {
    /// Share of the datagrams at the socket that waited there for long, or found it full.
    unattended: Option<f64>,
    /// Share of the time that its thread ran, or waited for a core.
    pub(in crate::causes) runnable: Option<f64>,
    /// Smallest delay that any moment of the second half of a trial had, ns: what always stood
    /// before the reader; the smallest over the trials.
    pub(in crate::causes) always: Option<f64>,
    /// Whether that is a good part of the longest delay: the queue never ran empty.
    pub(in crate::causes) stands: Option<bool>,
}

/// A reader that sleeps until a packet comes takes it within this, however busy its host's
/// interrupts are; longer means that it was not there.
const LATE_NANOS: u64 = 1_000_000;

impl Reader {
    pub(in crate::causes) fn from_evidence(evidence: &Evidence<'_>) -> Self {
        let trials = evidence.subject();
        let stands: Vec<(f64, f64)> = trials.iter().filter_map(|trial| floor(trial)).collect();
        let always = stands.iter().map(|stand| stand.0).min_by(f64::total_cmp);
        Self {
            unattended: mean(trials.iter().filter_map(|trial| unattended(trial))),
            runnable: evidence.thread_load(Side::Receiver),
            always,
            stands: (!stands.is_empty()).then(|| {
                stands
                    .iter()
                    .all(|(low, high)| *low >= high * STANDING_SHARE && *low >= 1e6)
                    && trials.iter().all(|trial| !empties(trial))
            }),
        }
    }

    /// Whether the reader's CPU, not the application's own doing, kept it from its socket.
    pub(in crate::causes) fn is_held_up(&self, cpu: &Cpu) -> bool {
        cpu.is_hot()
            || cpu.is_starved()
                && self
                    .runnable
                    .zip(self.unattended)
                    .is_some_and(|(runnable, unattended)| runnable >= unattended * HELD_UP_SHARE)
    }

    /// One sentence per figure.
    pub(in crate::causes) fn figures(&self) -> Vec<String> {
        let mut figures = Vec::new();
        if let Some(runnable) = self.runnable {
            figures.push(format!(
                "The receiver's traffic thread ran, or waited for a core, {} of the time.",
                words::percent(runnable)
            ));
        }
        if let Some(unattended) = self.unattended {
            figures.push(format!(
                "{} of the datagrams at its socket waited over a millisecond or found it full.",
                words::percent(unattended)
            ));
        }
        if let Some(always) = self.always {
            figures.push(if always > 0.0 {
                format!(
                    "In the second half of the trial every datagram took at least {} longer than the fastest of all.",
                    words::time(always)
                )
            } else {
                "In the second half of the trial a datagram was as fast as the fastest of all.".to_owned()
            });
        }
        figures
    }
}

/// Whether the reader often left its socket empty, even if each datagram had waited by then.
fn empties(trial: &Trial) -> bool {
    let streams = trial.raw().iter().flat_map(|report| &report.streams);
    let (mut reads, mut emptying) = (0_u64, 0_u64);
    for socket in streams.filter_map(|stream| stream.work.receive_socket()) {
        reads = reads.saturating_add(socket.reads);
        emptying = emptying.saturating_add(socket.emptying_reads);
    }
    Ratio::from_parts(emptying, reads).get() >= EMPTYING_SHARE
}

/// Lowest and highest of the smallest delays in the second half of a trial, all streams; `None`
/// where fewer than two moments are known.
fn floor(trial: &Trial) -> Option<(f64, f64)> {
    let known: Vec<f64> = late_delay_floors(trial).map(words::nanos).collect();
    range(known.iter().copied()).filter(|_| known.len() >= 2)
}

fn unattended(trial: &Trial) -> Option<f64> {
    let delay = trial.delay().filter(|d| d.of == DelayOf::Pdv)?;
    let received = delay.histogram.as_ref()?;
    let late = received
        .buckets()
        .filter(|(nanos, _)| *nanos > LATE_NANOS)
        .fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
    let dropped = trial
        .ledger()
        .iter()
        .filter(|entry| entry.place == Place::ReceiverSocket)
        .fold(0, |sum: u64, entry| sum.saturating_add(entry.packets.get()));
    let all = received.len().saturating_add(dropped);
    (all > 0).then(|| Ratio::from_parts(late.saturating_add(dropped), all).get())
}
