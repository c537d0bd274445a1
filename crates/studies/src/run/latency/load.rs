//! Ping-pong while other traffic runs: what the load is, and running it beside the sweep.

use super::turns::Bench;
use super::{LatencyPlan, sweep};
use crate::context::Context;
use crate::recorder::Recorder;
use anyhow::{Context as _, Result};
use linerate_client::{Client, Pulse};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use linerate_sys::clock::{MonoClock, sleep_until};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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

/// The same sweep while `load` runs on a connection of its own.
pub(super) fn under_load(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    (plan, load): (&LatencyPlan, Load),
) -> Result<()> {
    let mut loader = Client::connect(bench.target)?;
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
        let measured = sweep(context, recorder, bench, plan, Some(load));
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
    let rate = BitRate::from_bytes(bytes, time)?;
    Some(format!(
        "the load carried {rate} of L4 payload, counted at the {side} end"
    ))
}

/// The load runs until it is stopped; an hour bounds it if nobody does.
fn load_spec(load: Load) -> TestSpec {
    let base = match load.transport {
        Transport::Tcp => TestSpec::tcp_bulk().with_pace(load.pace),
        Transport::Udp => TestSpec::udp_datagrams(load.pace),
    };
    TestSpec {
        direction: load.direction,
        stop: Stop::After(Duration::from_hours(1)),
        ..base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_in_any_order() {
        let load: Load = "udp:reverse:100M".parse().unwrap();
        assert_eq!(load.pace, Pace::At(BitRate::from_bps(100_000_000)));
        assert_eq!(load.direction, Direction::Reverse);
        assert!("quic".parse::<Load>().is_err());
        assert!("udp:fast".parse::<Load>().is_err());
    }
}
