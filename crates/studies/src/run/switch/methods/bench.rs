//! What a method measures with: the two ports, one kind of frame, and the record of the run.

use super::Method;
use crate::context::Context;
use crate::recorder::Recorder;
use crate::run::{Disturb, Measurement};
use anyhow::Result;
use linerate_client::Client;
use linerate_model::run::{Forwarding, FullLoad, LedgerEntry, MethodSettings, Trial, frame_rate};
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{BitRate, PacketCount, PacketRate, Ratio};
use std::time::Duration;

/// The ports, with frames of one size in one direction.
pub(crate) struct Bench<'a, 'c> {
    pub(in super::super) context: &'a mut Context<'c>,
    /// Of the whole run.
    pub(in super::super) recorder: &'a mut Recorder,
    pub(in super::super) client: Client,
    /// Frame size and direction in words.
    pub(in super::super) name: String,
    /// The test of such frames, without pace and end of its own.
    pub(in super::super) spec: TestSpec,
    pub(in super::super) loads: Loads,
    /// What is known so far.
    pub(in super::super) row: Forwarding,
    pub(in super::super) settings: MethodSettings,
}

/// Loads of such frames, as rates of payload.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Loads {
    /// The lowest to try.
    pub(in super::super) lowest: BitRate,
    /// The slower port's speed, or what was given for it.
    pub(in super::super) line: Option<BitRate>,
    /// What linerate itself receives at most over a wire.
    pub(in super::super) ceiling: Option<BitRate>,
}

/// What came of a test, of all its directions together; rates are of each direction.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) sent: PacketCount,
    pub(super) lost: PacketCount,
    pub(super) offered: Option<PacketRate>,
    pub(super) received: Option<PacketRate>,
    pub(super) ledger: Vec<LedgerEntry>,
    /// The test as it was made, a trial for each direction.
    pub(super) trials: Vec<Trial>,
}

impl Outcome {
    pub(super) fn loss_ratio(&self) -> Ratio {
        match self.sent.get() {
            0 => Ratio::ZERO,
            _ => Ratio::clamped(self.lost.as_f64() / self.sent.as_f64()),
        }
    }

    /// `None` if a direction counted nothing.
    fn from_trials(trials: Vec<Trial>) -> Option<Self> {
        let sum = |of: fn(&Trial) -> Option<PacketCount>| {
            let parts: Option<Vec<_>> = trials.iter().map(of).collect();
            Some(PacketCount::new(parts?.iter().map(|part| part.get()).sum()))
        };
        let slowest = |of: fn(&Trial) -> Option<PacketRate>| {
            let rates = trials.iter().filter_map(of);
            rates.min_by(|a, b| a.pps().total_cmp(&b.pps()))
        };
        Some(Self {
            sent: sum(|trial| trial.packets()?.sent).filter(|sent| sent.get() > 0)?,
            lost: sum(|trial| trial.packets()?.lost)?,
            offered: slowest(Trial::offered_packet_rate),
            received: slowest(Trial::received_packet_rate),
            ledger: trials.iter().flat_map(Trial::ledger).cloned().collect(),
            trials,
        })
    }
}

/// Shortest test that warms a device up and shows the sender's rate.
const LEAST_TRY: Duration = Duration::from_millis(50);

impl<'c> Bench<'_, 'c> {
    /// Measures by each of these methods in turn.
    pub(in super::super) fn all(mut self, methods: &[&dyn Method]) -> Result<()> {
        for method in methods {
            if self.is_over() {
                break;
            }
            let found = method.measure(&mut self)?;
            let row = self.recorder.forwarding().last_mut();
            if let (Some(found), Some(row)) = (found, row) {
                row.methods.push(found);
            }
        }
        Ok(())
    }

    /// Whether the user wants to stop.
    pub(super) fn is_over(&self) -> bool {
        self.context.interrupted()
    }

    /// Makes the device forget the addresses that it learned, where linerate can reset it; whether it did. A device that was
    /// reset can be read when it forwards again.
    pub(super) fn forget_addresses(&mut self) -> bool {
        let device = self.context.device.as_mut();
        device.is_some_and(|device| device.reset().and_then(|()| device.counters()).is_ok())
    }

    /// Adds to the run what its reader should know of a result.
    pub(super) fn note(&mut self, text: impl std::fmt::Display) {
        let note = format!("{}: {text}", self.name);
        self.recorder.run_mut().notes.push(note);
    }

    /// Notes that the method `what` was not measured, since the search found nothing below which it could be.
    pub(super) fn note_no_throughput(&mut self, what: &str) {
        self.note(format_args!(
            "no {what}: the search found no load that the device forwards; allow more with --budget, or more loss with --loss-goal"
        ));
    }

    /// Makes a test and keeps its trials; `None` if it counted nothing.
    pub(super) fn test(&mut self, spec: &TestSpec, what: &str) -> Result<Option<Outcome>> {
        self.disturbed(spec, what, &mut |_, _| {})
    }

    /// Makes a test during which `disturb` is called again and again; `None` if it counted nothing.
    pub(super) fn disturbed(
        &mut self,
        spec: &TestSpec,
        what: &str,
        disturb: Disturb<'_>,
    ) -> Result<Option<Outcome>> {
        let label = format!("{}, {what}", self.name);
        let mut measurement = self.measurement();
        let trials = measurement.measure_disturbed(spec, Some(&label), disturb)?;
        Ok(Outcome::from_trials(trials))
    }

    /// Makes a test that no result counts: it warms the device up, and shows what the sender offers at this pace.
    pub(super) fn warm_up(&mut self, pace: Pace) -> Result<Option<Outcome>> {
        let spec = TestSpec {
            stop: Stop::After(self.spec.warm_up.max(LEAST_TRY)),
            warm_up: Duration::ZERO,
            ..self.spec.clone().with_pace(pace)
        };
        let label = format!("{}, warm-up", self.name);
        let trials = self.measurement().unrecorded(&spec, Some(&label))?;
        Ok(Outcome::from_trials(trials))
    }

    fn measurement(&mut self) -> Measurement<'_, 'c> {
        Measurement {
            context: self.context,
            recorder: self.recorder,
            client: &mut self.client,
        }
    }

    /// The highest load to try, as a rate of payload, and what it is.
    pub(super) fn full_load(&mut self) -> Result<Option<(BitRate, FullLoad)>> {
        let known = self.loads.line.map(|line| (line, FullLoad::LineRate));
        let ceiling = self.loads.ceiling.map(|most| (most, FullLoad::Ceiling));
        if let Some(known) = known.or(ceiling) {
            return Ok(Some(known));
        }
        let tried = self.warm_up(Pace::Unpaced)?;
        let offered = tried.and_then(|tried| tried.trials[0].offered_load);
        Ok(offered.map(|offered| (offered, FullLoad::Offered)))
    }

    /// Rate of payload of so many frames per second.
    pub(super) fn payload_rate(&self, rate: PacketRate) -> BitRate {
        BitRate::from_f64(rate.pps() * self.spec.payload().as_f64() * 8.0)
    }

    /// Frames per second of this rate of payload.
    pub(super) fn frames(&self, rate: BitRate) -> PacketRate {
        frame_rate(rate, self.spec.payload()).unwrap_or_else(|| PacketRate::from_pps(0.0))
    }
}
