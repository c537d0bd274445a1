//! The commands that measure: each turns a plan into a stored run.

mod after;
mod bench;
mod calibrate;
mod demo;
mod diagnose;
mod exchange;
mod fit;
mod latency;
mod mesh;
mod prove;
mod saturate;
mod single;
mod stack;
mod study;
mod switch;
mod test;

pub use after::After;
pub use calibrate::{CalibratePlan, Calibrated, calibrate};
pub use demo::{DemoPlan, demo};
pub use diagnose::{diagnose, probe_all};
pub use fit::PayloadChoice;
pub use latency::{
    CHILD, Iterations, LatencyPlan, Load, Mode, NamedMode, OpenLoop, RequestRate, Sending,
    USUAL_RISING, Wrap, latency, parse_percentile, parse_rising, parse_stall, serve_turns, sizes,
};
pub use mesh::{Hosts, mesh};
pub use prove::{Proof, ProofConsent, prove, prove_stored, to_prove};
pub use saturate::{SaturatePlan, parse_delay_goal, saturate};
pub use single::single;
pub use study::study;
pub use switch::{DeviceChoice, DeviceDraft, SwitchPlan, switch};
pub(crate) use switch::{METHODS, Method};
pub use test::Test;

use crate::context::Context;
use crate::live::Intervals;
use crate::recorder::Recorder;
use crate::watch::Event;
use anyhow::Result;
use linerate_analysis::assemble;
use linerate_client::{Client, DirectionOutcome, Pulse, TestOutcome, planned_time};
use linerate_model::dut::{DutCounters, DutThread, DutWork};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{DeviceReport, Trial};
use linerate_model::spec::{Pinning, TestSpec};
use linerate_sys::thread::cpu_time;
use linerate_testbed::duts::Dut;
use std::collections::BTreeMap;
use std::time::Duration;

/// Reads the cores of the traffic threads: `LOCAL,REMOTE`, either may be empty.
pub fn parse_pinning(text: &str) -> Result<Pinning, String> {
    let (local, remote) = text
        .split_once(',')
        .ok_or_else(|| format!("\"{text}\" is not LOCAL,REMOTE such as 0,1 or 2, or ,3"))?;
    let core = |part: &str| match part.trim() {
        "" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| format!("\"{number}\" is not a core number")),
    };
    Ok(Pinning {
        local: core(local)?,
        remote: core(remote)?,
    })
}

/// The trials of one test, one per direction of traffic.
pub(crate) fn trials(first_index: u32, spec: &TestSpec, outcome: TestOutcome) -> Vec<Trial> {
    let mut far_output = outcome.far_output;
    let assembled = if outcome.stopped {
        assemble::stopped_trial
    } else {
        assemble::trial
    };
    let trial = |(done, index): (DirectionOutcome, u32)| {
        let mut trial = assembled(index, spec, done.direction, done.sender, done.receiver);
        if let Some(measured) = trial.measured_mut() {
            measured.peer_output = far_output.take();
        }
        trial
    };
    outcome
        .directions
        .into_iter()
        .zip(first_index..)
        .map(trial)
        .collect()
}

/// What happens to the device under test while traffic runs, by the time since it began.
type Disturb<'a> = &'a mut dyn FnMut(Duration, Option<&mut dyn Dut>);

/// A run that is being measured: its surroundings, its record, and the open connection to the peer.
pub(crate) struct Measurement<'a, 'c> {
    pub(crate) context: &'a mut Context<'c>,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) client: &'a mut Client,
}

impl Measurement<'_, '_> {
    /// Runs one test and records its trials; returns them.
    pub(crate) fn measure(&mut self, spec: &TestSpec, label: Option<&str>) -> Result<Vec<Trial>> {
        self.measure_disturbed(spec, label, &mut |_, _| {})
    }

    /// Runs one test during which `disturb` is called again and again, and records its trials; returns them.
    fn measure_disturbed(
        &mut self,
        spec: &TestSpec,
        label: Option<&str>,
        disturb: Disturb<'_>,
    ) -> Result<Vec<Trial>> {
        let made = self.disturbed(spec, label, disturb).inspect_err(|error| {
            self.keep_broken(spec, label, error);
            self.recorder.give_up(error);
        })?;
        for trial in &made {
            self.record(trial.clone());
        }
        Ok(made)
    }

    /// Records what was counted of a test that broke off.
    fn keep_broken(&mut self, spec: &TestSpec, label: Option<&str>, error: &anyhow::Error) {
        let Some(broken) = self.client.take_broken() else {
            return;
        };
        let made = assemble::broken_off(spec, broken.elapsed);
        for done in broken.directions {
            let index = self.recorder.next_index();
            let (sender, receiver) = (done.sender, done.receiver);
            let mut trial = assemble::trial(index, &made, done.direction, sender, receiver);
            trial.valid = false;
            trial.reasons.insert(0, format!("{error:#}"));
            trial.label = label.map(str::to_owned);
            self.record(trial);
        }
    }

    /// Runs one test: its trials, not recorded yet. If there are none, the run is over.
    fn unrecorded(&mut self, spec: &TestSpec, label: Option<&str>) -> Result<Vec<Trial>> {
        self.attempt(spec, label).inspect_err(|error| {
            self.keep_broken(spec, label, error);
            self.recorder.give_up(error);
        })
    }

    /// Runs one test: its trials, not recorded yet. A test that breaks off does not end the run.
    fn attempt(&mut self, spec: &TestSpec, label: Option<&str>) -> Result<Vec<Trial>> {
        self.disturbed(spec, label, &mut |_, _| {})
    }

    /// Runs one test during which `disturb` is called again and again; its trials, not recorded yet. A test that breaks off
    /// does not end the run.
    fn disturbed(
        &mut self,
        spec: &TestSpec,
        label: Option<&str>,
        disturb: Disturb<'_>,
    ) -> Result<Vec<Trial>> {
        let before = self.device_report()?;
        let planned = planned_time(spec);
        let interrupt = self.context.interrupt;
        let watcher = &mut *self.context.watcher;
        let device = &mut self.context.device;
        let mut intervals = Intervals::new(spec);
        let mut outcome = self.client.run(spec, &mut |pulse: &Pulse| {
            if !pulse.elapsed.is_zero() {
                disturb(pulse.elapsed, Context::lend(device));
                crate::progress::tell(watcher, pulse, planned, label);
                for interval in intervals.ended(pulse) {
                    watcher.event(Event::Interval(&interval));
                }
            }
            !interrupt.load(std::sync::atomic::Ordering::Relaxed)
        })?;
        let notes = &mut self.recorder.run_mut().notes;
        notes.append(&mut outcome.notes);
        let mut made = trials(self.recorder.next_index(), spec, outcome);
        for trial in &mut made {
            for interval in intervals.rest(trial) {
                watcher.event(Event::Interval(&interval));
            }
            trial.label = label.map(str::to_owned);
        }
        if let Some((before, after)) = before.zip(self.device_report()?) {
            let grown = after.since(&before)?;
            for trial in &mut made {
                assemble::with_device(trial, grown.clone());
            }
        }
        Ok(made)
    }

    /// What the device under test has done so far, where linerate started one.
    fn device_report(&mut self) -> Result<Option<DeviceReading>> {
        let device = self.context.device.as_mut();
        device
            .map(|device| DeviceReading::of(&mut **device))
            .transpose()
    }

    fn record(&mut self, trial: Trial) {
        self.recorder.trial(self.context, trial);
    }
}

/// What a device under test has done so far.
struct DeviceReading {
    counted: DutCounters,
    /// Of each of its processes, with the CPU time of its threads; `None` where they are not known.
    busy: Option<BTreeMap<u32, Duration>>,
}

impl DeviceReading {
    fn of(device: &mut dyn Dut) -> Result<Self> {
        // A device that was reset during the test has threads when its counters can be read.
        let counted = device.counters()?;
        let busy = match device.work() {
            DutWork::Elsewhere => None,
            DutWork::Softirq => Some(BTreeMap::new()),
            DutWork::Threads(threads) => Some(busy(&threads)),
        };
        Ok(Self { counted, busy })
    }

    /// What it did since `before`. The CPU time of a process that was started again meanwhile is unknown.
    fn since(self, before: &Self) -> Result<DeviceReport> {
        let both = self.busy.zip(before.busy.as_ref());
        let busy = both.filter(|(after, before)| after.keys().eq(before.keys()));
        let sum = |times: &BTreeMap<u32, Duration>| times.values().sum::<Duration>();
        Ok(DeviceReport {
            counted: self.counted.since(&before.counted)?,
            busy: busy.map(|(after, before)| sum(&after).saturating_sub(sum(before))),
        })
    }
}

/// CPU time of threads, by process.
fn busy(threads: &[DutThread]) -> BTreeMap<u32, Duration> {
    let mut busy: BTreeMap<u32, Duration> = BTreeMap::new();
    for thread in threads {
        if let Some(time) = cpu_time(thread.pid, thread.tid) {
            *busy.entry(thread.pid).or_default() += time;
        }
    }
    busy
}

/// Whether it is the peer that failed.
fn is_of_peer(error: &anyhow::Error) -> bool {
    Failure::of(error.as_ref()).is_some_and(|failure| failure.code == ExitCode::Peer)
}
