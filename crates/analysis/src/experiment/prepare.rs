//! From the pilot's figures to the two tests that are compared, and whether the change took effect.

use super::design::{Design, NotRun, given_buffer};
use crate::readings::carried_rate;
use linerate_model::dut::{DutCores, DutRelief};
use linerate_model::run::{Change, Trial};
use linerate_model::spec::{
    DatapathChoice, Direction, MAX_BUFFER, Pace, Pinning, Side, Stop, TestSpec, Transport, validate,
};
use linerate_model::{BitRate, ByteCount, Ratio};
use std::time::Duration;

/// Longest UDP payload that fits an Ethernet frame: more would be cut into fragments, another test.
const UNFRAGMENTED: u64 = 1472;
/// A buffer that grew by less than this share of what was asked is the system's maximum.
const GROWN: f64 = 0.8;
/// A lower load is measured longer, so that as many packets tell; up to this.
const MAX_TIME: Duration = Duration::from_secs(4);
/// A larger buffer must be full before its loss says anything; longer than this is not waited.
const MAX_FILL: Duration = Duration::from_secs(4);

fn impossible(why: impl Into<String>) -> NotRun {
    NotRun::Impossible(why.into())
}

impl Design {
    /// The two tests to compare, from what the pilot showed: the baseline, and it with the change.
    pub fn prepare(&self, pilot: &Trial) -> Result<(TestSpec, TestSpec), NotRun> {
        changed_test(self.baseline.clone(), self.test.change, pilot)
    }

    /// Whether the change took effect in a trial of the changed test.
    pub fn took_effect(&self, pilot: &Trial, changed: &Trial) -> Result<(), NotRun> {
        took_effect(self.test.change, pilot, changed)?;
        match (self.test.change, self.side) {
            (Change::Aggregation { on: true }, Some(Side::Receiver)) => relieved(pilot, changed),
            _ => Ok(()),
        }
    }
}

/// `baseline` and it with one change, from what the pilot showed. Both get the warm-up that the change needs.
pub(crate) fn changed_test(
    mut baseline: TestSpec,
    change: Change,
    pilot: &Trial,
) -> Result<(TestSpec, TestSpec), NotRun> {
    let mut changed = baseline.clone();
    match change {
        Change::Load { factor } => load(&mut changed, pilot, factor)?,
        Change::Payload { factor } => payload(&mut changed, factor)?,
        Change::Streams { factor } => changed.streams = changed.streams.saturating_mul(factor),
        Change::SendBuffer { factor } => {
            changed.socket.send_buffer_bytes = Some(larger(
                pilot,
                Side::Sender,
                factor,
                changed.socket.send_buffer_bytes,
            )?);
        }
        Change::ReceiveBuffer { factor } => {
            changed.socket.receive_buffer_bytes = Some(larger(
                pilot,
                Side::Receiver,
                factor,
                changed.socket.receive_buffer_bytes,
            )?);
            let given = given_buffer(pilot, Side::Receiver).map_or(0.0, ByteCount::as_f64);
            baseline.warm_up = baseline.warm_up.max(fill_time(pilot, given * factor)?);
            changed.warm_up = baseline.warm_up;
        }
        Change::Datagrams { .. } | Change::ReturnDatagrams { .. } => {
            return Err(impossible("datagrams answer to no claim about TCP alone"));
        }
        Change::OtherCore { side } => other_core(&mut changed, pilot, side)?,
        Change::Aggregation { on } => aggregation(&mut changed, on)?,
        Change::Reverse => {
            changed.direction = match changed.direction {
                Direction::Forward => Direction::Reverse,
                Direction::Reverse => Direction::Forward,
                Direction::Duplex => return Err(impossible("traffic flows both ways already")),
            };
        }
        Change::Relief {
            relief: DutRelief::LongerQueue { bytes },
        } => {
            baseline.warm_up = baseline.warm_up.max(fill_time(pilot, bytes.as_f64())?);
            changed.warm_up = baseline.warm_up;
        }
        Change::Relief {
            relief: DutRelief::OtherCore(cores),
        } => {
            // A thread that moves to the device's core, or from it, would change more than that.
            baseline.pinning = pinned(cores, baseline.direction)?;
            changed.pinning = baseline.pinning;
        }
        // The same test: what it passes is another.
        Change::Wire
        | Change::Relief {
            relief: DutRelief::Without { .. },
        } => {}
    }
    validate(&changed)
        .map_err(|error| impossible(format!("the change is out of bounds: {error}")))?;
    Ok((baseline, changed))
}

/// Whether the system gave what `change` wants of it.
pub(crate) fn took_effect(change: Change, before: &Trial, changed: &Trial) -> Result<(), NotRun> {
    let (side, factor, setting) = match change {
        Change::SendBuffer { factor } => (Side::Sender, factor, "net.core.wmem_max"),
        Change::ReceiveBuffer { factor } => (Side::Receiver, factor, "net.core.rmem_max"),
        _ => return Ok(()),
    };
    let (Some(before), Some(after)) = (given_buffer(before, side), given_buffer(changed, side))
    else {
        return Err(impossible("the socket's buffer was not recorded"));
    };
    if after.as_f64() < before.as_f64() * factor * GROWN {
        return Err(impossible(format!(
            "the system gave a buffer of {after} where {factor} times {before} was wanted; raise {setting} there"
        )));
    }
    Ok(())
}

/// A receiver that is handed many datagrams as one spends clearly less CPU time on each: at most this share.
const RELIEVED: f64 = 0.8;

/// Whether aggregation relieved the receiver's thread; taken as so where its CPU time is not known.
fn relieved(before: &Trial, changed: &Trial) -> Result<(), NotRun> {
    let per_datagram = |trial: &Trial| {
        let ran = trial.cpu_of(Side::Receiver)?.thread_ratio?.get();
        let nanos = ran * 1e9 / trial.received_packet_rate()?.pps();
        (nanos.is_finite() && nanos > 0.0).then_some(nanos)
    };
    match (per_datagram(before), per_datagram(changed)) {
        (Some(before), Some(after)) if after > before * RELIEVED => Err(impossible(format!(
            "aggregation did not relieve the receiver, whose thread used {:.1} µs of CPU time for each datagram, before {:.1} µs",
            after / 1e3,
            before / 1e3
        ))),
        _ => Ok(()),
    }
}

fn load(spec: &mut TestSpec, pilot: &Trial, factor: f64) -> Result<(), NotRun> {
    // What a bucket of tokens or a queue held at its beginning does not come again.
    let received =
        carried_rate(pilot).ok_or_else(|| impossible("nothing was received in the pilot trial"))?;
    spec.work
        .set_pace(Pace::At(BitRate::from_f64(received.as_f64() * factor)));
    if let (Stop::After(time), true) = (spec.stop, factor > 0.0 && factor < 1.0) {
        let longer =
            Duration::from_secs_f64((time.as_secs_f64() / factor).min(MAX_TIME.as_secs_f64()));
        spec.stop = Stop::After(longer);
    }
    Ok(())
}

fn payload(spec: &mut TestSpec, factor: f64) -> Result<(), NotRun> {
    if spec.datapath.params.contains_key(DatapathChoice::GENOME) {
        return Err(impossible("frames have a mix of lengths"));
    }
    let before = spec.payload();
    let after = ByteCount::from_f64(before.as_f64() * factor);
    if spec.transport() == Transport::Udp && after > before && after.get() > UNFRAGMENTED {
        return Err(impossible(format!(
            "a payload of {after} would be cut into fragments"
        )));
    }
    if spec.transport() == Transport::Udp && after < SMALLEST {
        return Err(impossible(format!(
            "the payload of {before} is about the smallest already"
        )));
    }
    spec.work.set_payload(after);
    Ok(())
}

/// Below this a datagram is mostly headers, and its probe header takes most of what is left.
const SMALLEST: ByteCount = ByteCount::new(32);

/// What to ask for to be given `factor` times what the pilot was given.
fn larger(
    pilot: &Trial,
    side: Side,
    factor: f64,
    asked: Option<ByteCount>,
) -> Result<ByteCount, NotRun> {
    let given = given_buffer(pilot, side);
    let given = given.ok_or_else(|| impossible("the socket's buffer was not recorded"))?;
    // Linux gives twice what is asked for, to hold its own records too.
    let base = asked.map_or(given.as_f64() / 2.0, ByteCount::as_f64);
    let wanted = ByteCount::from_f64(base * factor);
    if wanted > MAX_BUFFER {
        return Err(impossible(format!(
            "a buffer of {wanted} is more than a test may ask for"
        )));
    }
    Ok(wanted)
}

/// How long datagrams must flow until a buffer or queue of `room` bytes is full, if what empties it is too slow for good:
/// until then more room would hide the loss whatever its cause.
fn fill_time(pilot: &Trial, room: f64) -> Result<Duration, NotRun> {
    if pilot.transport == Transport::Tcp {
        return Ok(Duration::ZERO);
    }
    let lost = pilot.loss_ratio().map_or(0.0, Ratio::get);
    let bytes_per_second = pilot.offered_load.map_or(0.0, BitRate::as_f64) * lost / 8.0;
    let seconds = room / bytes_per_second;
    if !seconds.is_finite() {
        return Err(impossible("the pilot trial lost no packet"));
    }
    if seconds > MAX_FILL.as_secs_f64() {
        return Err(impossible(format!(
            "so few packets are lost that {} would take {seconds:.0} s to fill, and would hide the loss until then",
            ByteCount::from_f64(room)
        )));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// On a core that is this busy a thread waits as it did before.
const FULL: f64 = 0.95;

/// Pins the thread of `side` to the core that was least busy in the pilot.
fn other_core(spec: &mut TestSpec, pilot: &Trial, side: Side) -> Result<(), NotRun> {
    let cpu = pilot.cpu.as_ref().and_then(|cpu| match side {
        Side::Sender => cpu.sender.as_ref(),
        Side::Receiver => cpu.receiver.as_ref(),
    });
    let cores = cpu.map_or(&[][..], |cpu| &cpu.cores);
    if cores.is_empty() {
        return Err(impossible("how busy each core is was not recorded"));
    }
    if cores.len() == 1 {
        return Err(impossible("that host has only one core"));
    }
    let local = (spec.direction == Direction::Forward) == (side == Side::Sender);
    let pinned = if local {
        &mut spec.pinning.local
    } else {
        &mut spec.pinning.remote
    };
    let free = (0_u32..)
        .zip(cores)
        .filter(|(core, _)| Some(*core) != *pinned)
        .min_by(|a, b| a.1.get().total_cmp(&b.1.get()));
    if free.is_none_or(|(_, busy)| busy.get() >= FULL) {
        return Err(impossible("no other core of that host is free"));
    }
    *pinned = free.map(|(core, _)| core);
    Ok(())
}

/// The pinning of a test that leaves a device its core.
fn pinned(cores: DutCores, direction: Direction) -> Result<Pinning, NotRun> {
    let [sender, receiver] = [Some(cores.sender), Some(cores.receiver)];
    let (local, remote) = match direction {
        Direction::Forward => (sender, receiver),
        Direction::Reverse => (receiver, sender),
        Direction::Duplex => return Err(impossible("both ends send, so neither core is free")),
    };
    Ok(Pinning { local, remote })
}

fn aggregation(spec: &mut TestSpec, on: bool) -> Result<(), NotRun> {
    if spec.transport() != Transport::Udp || !spec.datapath.can_aggregate() {
        return Err(impossible(
            "only datagrams through sockets can be aggregated on request",
        ));
    }
    if on && spec.datapath.aggregates_sent() && spec.datapath.aggregates_received() {
        return Err(impossible("the test aggregates already"));
    }
    spec.datapath.set_aggregation(on);
    Ok(())
}
