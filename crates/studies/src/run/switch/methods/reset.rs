//! Reset (RFC 6201): how long a device forwards nothing when it is reset, by the frames that are lost and by time stamps.

use super::bench::{Bench, Outcome};
use super::{Method, MethodSettings};
use anyhow::Result;
use linerate_model::dut::DutChoice;
use linerate_model::run::{MethodResult, Reset, ResetTime, Trial};
use linerate_model::sample::{DatagramReceiver, LongestGap};
use linerate_model::spec::{Pace, Side, Stop, TestSpec};
use linerate_model::{BitRate, Clock as _};
use linerate_sys::clock::MonoClock;
use linerate_sys::process::{die_with_parent, kill_group, wait_for_end};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[derive(Debug)]
pub(super) struct ResetTest;

/// Share of the throughput: what is lost is then lost by the reset.
const LOAD: f64 = 0.5;

/// How long the command may go on after the trial.
const PATIENCE: Duration = Duration::from_millis(500);

/// Traffic before a reset.
const BEFORE: Duration = Duration::from_millis(500);

impl Method for ResetTest {
    fn id(&self) -> &'static str {
        "reset"
    }

    fn summary(&self) -> &'static str {
        "Time without frames when the device is reset (RFC 6201)"
    }

    fn needs_throughput(&self) -> bool {
        true
    }

    fn check(&self, started: Option<&DutChoice>, settings: &MethodSettings) -> Result<(), String> {
        match (started, &settings.reset_command) {
            (None, None) => Err(
                "method reset needs a command that resets the device between two interfaces: give reset-command"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    fn time(&self, settings: &MethodSettings) -> Duration {
        settings.reset_time.saturating_mul(settings.resets)
    }

    fn measure(&self, bench: &mut Bench<'_, '_>) -> Result<Option<MethodResult>> {
        let strictest = bench.row.throughput();
        let Some(throughput) = strictest.or_else(|| bench.row.highest_throughput()) else {
            bench.note_no_throughput("reset");
            return Ok(None);
        };
        let load = bench.payload_rate(throughput).as_f64() * LOAD;
        let load = BitRate::from_f64(load).max(bench.loads.lowest);
        let spec = TestSpec {
            stop: Stop::After(bench.settings.reset_time),
            ..bench.spec.clone().with_pace(Pace::At(load))
        };
        let mut tests = Vec::new();
        for test in 1..=bench.settings.resets {
            if bench.is_over() {
                break;
            }
            match once(bench, &spec, test)? {
                Some(time) => tests.push(time),
                None => break,
            }
        }
        let load = bench.frames(load);
        Ok((!tests.is_empty()).then_some(MethodResult::Reset(Reset { load, tests })))
    }
}

/// How a reset of one test goes on.
enum Progress {
    Waiting,
    Begun(Option<Child>),
    Failed(String),
}

/// One reset; `None` if it failed, which the run's notes explain.
fn once(bench: &mut Bench<'_, '_>, spec: &TestSpec, test: u32) -> Result<Option<ResetTime>> {
    let mut progress = Progress::Waiting;
    let start = spec.warm_up + BEFORE;
    let command = bench.settings.reset_command.clone();
    let seen = bench.disturbed(spec, &format!("reset {test}"), &mut |elapsed, device| {
        if elapsed < start || !matches!(progress, Progress::Waiting) {
            return;
        }
        let begun = match (&command, device) {
            (Some(command), _) => started(command).map(Some),
            (None, Some(device)) => device
                .reset()
                .map(|()| None)
                .map_err(|error| error.to_string()),
            (None, None) => Err("there is no command that resets it".to_owned()),
        };
        progress = begun.map_or_else(Progress::Failed, Progress::Begun);
    })?;
    let failed = match progress {
        Progress::Begun(None) => None,
        Progress::Begun(Some(child)) => ended(child).err(),
        Progress::Failed(why) => Some(why),
        Progress::Waiting => {
            Some("the trial ended before the reset; give a longer reset-time".to_owned())
        }
    };
    if let Some(why) = failed {
        bench.note(format_args!("not reset: {why}"));
        return Ok(None);
    }
    let time = seen.as_ref().and_then(time);
    if time.is_none() {
        bench.note("nothing was counted of a reset");
    }
    Ok(time)
}

/// Starts the user's command, which has until the end of the trial.
fn started(command: &str) -> Result<Child, String> {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).stdin(Stdio::null());
    shell.stdout(Stdio::null()).stderr(Stdio::null());
    shell.process_group(0);
    die_with_parent(&mut shell);
    shell.spawn().map_err(|error| format!("{command}: {error}"))
}

/// How the command ended, which it must have by the end of the trial.
fn ended(mut child: Child) -> Result<(), String> {
    let deadline = MonoClock.now().after(PATIENCE);
    let has_ended = wait_for_end(&child, deadline).map_err(|error| error.to_string())?;
    if !has_ended {
        // Its own children too: a shell passes no signal on.
        let killed = kill_group(&child).and_then(|()| child.wait());
        killed.map_err(|error| format!("its command, which goes on, cannot be ended: {error}"))?;
        return Err("its command had not ended with the trial and was killed; give a longer reset-time, or a command that ends".to_owned());
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("its command ended with {status}")),
        Err(error) => Err(error.to_string()),
    }
}

/// What a test says of the reset: of both directions the longer time.
fn time(seen: &Outcome) -> Option<ResetTime> {
    let times = seen.trials.iter().filter_map(|trial| {
        let lost = trial.packets()?.lost?;
        let rate = trial.offered_packet_rate()?.pps();
        let gap = gap(trial);
        Some(ResetTime {
            lost,
            by_loss: Duration::try_from_secs_f64(lost.as_f64() / rate).ok()?,
            by_stamps: gap.map(|gap| gap.length),
            lost_in_gap: gap.map(|gap| gap.missing),
        })
    });
    times.max_by_key(|time| time.by_loss)
}

/// The longest time in which nothing arrived.
fn gap(trial: &Trial) -> Option<LongestGap> {
    let mut reports = trial.raw().iter();
    let report = reports.find(|report| report.side == Side::Receiver)?;
    let receivers = report
        .streams
        .iter()
        .filter_map(|stream| stream.work.get::<DatagramReceiver>());
    receivers
        .filter_map(|receiver| receiver.longest_gap)
        .max_by_key(|gap| gap.length)
}
