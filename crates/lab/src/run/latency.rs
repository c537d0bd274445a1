//! `linerate latency`: ping-pong by message size and wait mode, idle and under load.

use crate::client::{Client, Pulse, Target};
use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::measure;
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{Run, RunKind};
use linerate_model::spec::{
    Direction, Observe, Pace, Pinning, Stop, TestSpec, Transport, WaitMode,
};
use linerate_model::{BitRate, ByteCount};
use linerate_peers::Tests;
use linerate_sys::clock::{MonoClock, sleep_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to measure.
#[derive(Debug, Clone)]
pub struct LatencyPlan {
    /// Transport of the messages.
    pub transport: Transport,
    /// Message sizes.
    pub sizes: Vec<ByteCount>,
    /// Wait modes of both ends, measured one after the other.
    pub waits: Vec<WaitMode>,
    /// Cores of the traffic threads.
    pub pinning: Pinning,
    /// Time per size and wait mode.
    pub time: Duration,
    /// Time before that is counted.
    pub warm_up: Duration,
    /// Traffic under which everything is measured again.
    pub load: Option<Load>,
    /// How much both ends look at their hosts.
    pub observe: Observe,
}

/// Traffic that runs beside the ping-pong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Transport of the load.
    pub transport: Transport,
    /// Its intended load.
    pub pace: Pace,
    /// Its direction.
    pub direction: Direction,
}

impl std::str::FromStr for Load {
    type Err = Failure;

    /// `tcp`, `udp:100M`, `tcp:reverse`, `udp:100M:duplex`.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            let message = format!("\"{text}\" is not a load such as tcp, udp:100M or tcp:reverse");
            Failure::new(ExitCode::Usage, message)
        };
        let mut parts = text.split(':');
        let transport = match parts.next() {
            Some("tcp") => Transport::Tcp,
            Some("udp") => Transport::Udp,
            _ => return Err(wrong()),
        };
        let mut load = Self {
            transport,
            pace: Pace::Unpaced,
            direction: Direction::Forward,
        };
        for part in parts {
            match part {
                "forward" => load.direction = Direction::Forward,
                "reverse" => load.direction = Direction::Reverse,
                "duplex" => load.direction = Direction::Duplex,
                rate => load.pace = Pace::At(rate.parse().map_err(|_| wrong())?),
            }
        }
        Ok(load)
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} load", self.transport)?;
        if let Some(rate) = self.pace.intended_load() {
            write!(f, " {rate}")?;
        }
        f.write_str(match self.direction {
            Direction::Forward => "",
            Direction::Reverse => " reverse",
            Direction::Duplex => " duplex",
        })
    }
}

/// Most sizes of one list.
const MAX_SIZES: usize = 1000;

/// Message sizes: `64`, all from `1-8`, in steps `64-256+64`, or by a factor `1-1Kx2`.
pub fn sizes(texts: &[String]) -> Result<Vec<ByteCount>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        let list = range(text).ok_or_else(|| {
            let message = format!(
                "--sizes {text}: give a size such as 64 or 1K, or sizes such as 1-8, 64-256+64 or 1-1Kx2, at most {MAX_SIZES}"
            );
            Failure::new(ExitCode::Usage, message)
        })?;
        all.extend(list.into_iter().map(ByteCount::new));
    }
    Ok(all)
}

/// The sizes of one element; `None` if it is none, or they never end.
fn range(text: &str) -> Option<Vec<u64>> {
    let size = |text: &str| text.parse().ok().map(ByteCount::get);
    let Some((low, rest)) = text.split_once('-') else {
        return Some(vec![size(text)?]);
    };
    let (high, add, times) = match (rest.split_once('+'), rest.split_once('x')) {
        (Some((high, step)), None) => (high, step.parse().ok()?, 1),
        (None, Some((high, factor))) => (high, 0, factor.parse().ok()?),
        (None, None) => (rest, 1, 1),
        _ => return None,
    };
    let (low, high): (u64, u64) = (size(low)?, size(high)?);
    let next = |size: &u64| size.checked_mul(times)?.checked_add(add);
    let grows = next(&low).is_some_and(|next| next > low);
    let list: Vec<u64> = std::iter::successors(Some(low), next)
        .take_while(|size| *size <= high)
        .take(MAX_SIZES + 1)
        .collect();
    (grows && !list.is_empty() && list.len() <= MAX_SIZES).then_some(list)
}

impl LatencyPlan {
    /// The ping-pong of one test, idle.
    pub(crate) fn of(spec: &TestSpec) -> Self {
        Self {
            transport: spec.transport,
            sizes: vec![spec.payload_bytes],
            waits: vec![spec.wait],
            pinning: spec.pinning,
            time: match spec.stop {
                Stop::After(time) => time,
                Stop::Bytes(_) | Stop::Transactions(_) => Duration::from_secs(1),
            },
            warm_up: spec.warm_up,
            load: None,
            observe: Observe::default(),
        }
    }

    /// Every setting of its first test, by key.
    pub(crate) fn values(&self) -> BTreeMap<String, Value> {
        crate::describe::values(&spec(self, self.sizes[0], self.waits[0]))
    }

    /// The tests that it is made of, without the load.
    pub fn specs(&self) -> Vec<TestSpec> {
        let waits = |&size: &ByteCount| self.waits.iter().map(move |&wait| spec(self, size, wait));
        self.sizes.iter().flat_map(waits).collect()
    }
}

/// Measures latency against `target`.
pub fn latency(context: &mut Context<'_>, target: &Target, plan: &LatencyPlan) -> Result<Run> {
    let kind = target.far.kind();
    if plan.load.is_some() && kind.tests() == Tests::Alike {
        let message = format!(
            "{} carries no load beside its messages: leave --load out, or measure `linerate serve` there",
            kind.id()
        );
        return Err(Failure::new(ExitCode::Usage, message).into());
    }
    let mut client = Client::connect(target)?;
    let header = Header {
        kind: RunKind::Latency,
        title: format!("{} latency to {}", plan.transport, target.far),
        values: plan.values(),
        hosts: client.hosts(),
    };
    let mut recorder = Recorder::begin(context, header)?;
    recorder.run_mut().notes.extend(client.blind_spots());
    sweep(context, &mut recorder, &mut client, plan, None)?;
    if let Some(load) = plan.load.filter(|_| !context.interrupted()) {
        under_load(context, &mut recorder, &mut client, (target, plan, load))?;
    }
    recorder.finish(context)
}

/// Every size in every wait mode, in the order of measuring. The wait modes of one size are neighbours in
/// time, unless the far end would have to be started again for each.
fn points(plan: &LatencyPlan, tests: Tests) -> Vec<(ByteCount, WaitMode)> {
    let sizes = || plan.sizes.iter().copied();
    let waits = || plan.waits.iter().copied();
    match tests {
        Tests::Alike => waits()
            .flat_map(|wait| sizes().map(move |size| (size, wait)))
            .collect(),
        Tests::Many | Tests::One => sizes()
            .flat_map(|size| waits().map(move |wait| (size, wait)))
            .collect(),
    }
}

fn sweep(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    client: &mut Client,
    plan: &LatencyPlan,
    load: Option<Load>,
) -> Result<()> {
    for (size, wait) in points(plan, client.tests()) {
        if context.interrupted() {
            return Ok(());
        }
        let condition = load.map_or_else(|| "idle".to_owned(), |load| format!("under {load}"));
        let label = format!("{} B, {}, {condition}", size.get(), wait_name(wait));
        let spec = spec(plan, size, wait);
        measure(context, recorder, client, &spec, Some(&label))?;
    }
    Ok(())
}

/// The same sweep while `load` runs on a connection of its own.
fn under_load(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    client: &mut Client,
    (target, plan, load): (&Target, &LatencyPlan, Load),
) -> Result<()> {
    let mut loader = Client::connect(target)?;
    let running = AtomicBool::new(true);
    let spec = load_spec(load);
    std::thread::scope(|scope| {
        let keep = &running;
        let traffic = scope.spawn(move || {
            let mut last = None;
            let ended = loader.run(&spec, &mut |pulse| {
                last = Some(*pulse);
                keep.load(Ordering::Relaxed)
            });
            ended.map(|_| last)
        });
        sleep_until(MonoClock.now().after(LOAD_LEAD));
        let measured = sweep(context, recorder, client, plan, Some(load));
        let ended_early = traffic.is_finished();
        running.store(false, Ordering::Relaxed);
        let joined = traffic
            .join()
            .expect("invariant: the load thread does not panic");
        let last = joined.context("the load beside the ping-pong failed")?;
        if ended_early {
            recorder
                .run_mut()
                .notes
                .push("the load ended before the last measurement".to_owned());
        }
        let notes = &mut recorder.run_mut().notes;
        notes.extend(last.as_ref().and_then(load_note));
        measured
    })
}

/// Head start of the load: slow start and a filled queue come before the first message.
const LOAD_LEAD: Duration = Duration::from_millis(500);

/// What the load carried: it is stopped rather than ended, so the last word of its progress counts.
fn load_note(last: &Pulse) -> Option<String> {
    let (bytes, time, side) = match last.received {
        Some(far) => (far.bytes, far.elapsed, "far"),
        None => (ByteCount::new(last.bytes), last.elapsed, "near"),
    };
    let rate = BitRate::of(bytes, time)?;
    Some(format!(
        "the load carried {rate} of L4 payload, counted at the {side} end"
    ))
}

/// The load runs until it is stopped; an hour bounds it if nobody does.
fn load_spec(load: Load) -> TestSpec {
    let base = match load.transport {
        Transport::Tcp => TestSpec {
            pace: load.pace,
            ..TestSpec::tcp_bulk()
        },
        Transport::Udp => TestSpec::udp_datagrams(load.pace),
    };
    TestSpec {
        direction: load.direction,
        stop: Stop::After(Duration::from_hours(1)),
        ..base
    }
}

fn spec(plan: &LatencyPlan, size: ByteCount, wait: WaitMode) -> TestSpec {
    TestSpec {
        payload_bytes: size,
        stop: Stop::After(plan.time),
        warm_up: plan.warm_up,
        wait,
        pinning: plan.pinning,
        observe: plan.observe,
        ..TestSpec::ping_pong(plan.transport)
    }
}

fn wait_name(wait: WaitMode) -> &'static str {
    match wait {
        WaitMode::Block => "block",
        WaitMode::Spin => "spin",
        WaitMode::BusyPoll => "busy-poll",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::BitRate;

    #[test]
    fn sizes_are_read_alone_in_steps_and_by_a_factor() {
        let of = |text: &str| -> Vec<u64> {
            let texts: Vec<String> = text.split(',').map(str::to_owned).collect();
            let all = sizes(&texts).unwrap();
            all.into_iter().map(ByteCount::get).collect()
        };
        assert_eq!(of("0,64"), [0, 64]);
        assert_eq!(of("1-4"), [1, 2, 3, 4]);
        assert_eq!(of("64-256+96"), [64, 160, 256]);
        assert_eq!(of("1-1Kx4"), [1, 4, 16, 64, 256, 1024]);
        for wrong in [
            "", "x", "4-1", "1-9+0", "1-9x1", "0-9x2", "1-1M", "1-2-3", "1-8+1x2",
        ] {
            let error = sizes(&[wrong.to_owned()]).unwrap_err();
            assert!(error.message.contains("1-1Kx2"), "{wrong}: {error}");
        }
    }

    #[test]
    fn loads_are_read_in_any_order() {
        let load: Load = "udp:reverse:100M".parse().unwrap();
        assert_eq!(load.pace, Pace::At(BitRate::from_bps(100_000_000)));
        assert_eq!(load.direction, Direction::Reverse);
        assert!("quic".parse::<Load>().is_err());
        assert!("udp:fast".parse::<Load>().is_err());
    }
}
