//! Whether a queue stood before the datagrams that arrived: by their delays, or by how they were spaced.

use crate::readings::late_delay_floors;
use crate::thresholds::queue::{ABOVE_HALF, LATE, NO_QUEUE, QUEUE, QUEUED_PACKETS, SEEN};
use linerate_model::BitRate;
use linerate_model::run::{DelayOf, Trial};
use linerate_model::spec::Side;
use std::time::Duration;

/// What stood before the datagrams that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Queue {
    Standing,
    None,
    /// Delay is not known, or between.
    Unclear,
}

/// Below this a host's own scheduling makes as much delay variation.
const SCHEDULING: Duration = Duration::from_micros(200);
/// Below this nothing waited.
const NO_WAIT: Duration = Duration::from_micros(100);
/// Fewer moments may all be of one time at which the host was late.
const FEW_MOMENTS: usize = 3;

/// Read from the least delay of each moment of the second half, which no late receiver lengthens; of a peer that knows no
/// delay from its jitter, if it is known what that is at `half` the rate.
pub(super) fn queue(trial: &Trial, half: Option<&Trial>) -> Queue {
    let waits = waits(trial).map(|waits| waits.queue());
    let spaced = || Some(Spacing::new(trial, half)?.queue());
    waits.or_else(spaced).unwrap_or(Queue::Unclear)
}

/// Delays above the trial's least, in seconds.
struct Waits {
    /// The least of each moment, in order; of a peer that tells no more the median.
    floors: Vec<f64>,
    /// The median of all datagrams.
    median: f64,
    /// How long a packet takes at the rate that arrived.
    packet: f64,
    is_receiver_late: bool,
}

fn waits(trial: &Trial) -> Option<Waits> {
    let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
    let delay = trial.delay().filter(|delay| delay.of == DelayOf::Pdv)?;
    let mut floors: Vec<f64> = late_delay_floors(trial).map(seconds).collect();
    floors.sort_unstable_by(f64::total_cmp);
    let median = seconds(delay.p50_ns?);
    if floors.is_empty() {
        floors.push(median);
    }
    let waited = trial
        .cpu_of(Side::Receiver)
        .and_then(|cpu| cpu.run_delay_ratio);
    Some(Waits {
        floors,
        median,
        packet: packet_time(trial)?,
        is_receiver_late: waited.is_some_and(|share| share.get() >= LATE),
    })
}

impl Waits {
    fn queue(&self) -> Queue {
        let (floors, packet) = (&self.floors, self.packet);
        let Some((median, high)) = floors
            .get(floors.len() / 2)
            .zip(floors.get(floors.len() * 3 / 4))
        else {
            return Queue::Unclear;
        };
        let mut long = SCHEDULING.as_secs_f64().max(QUEUED_PACKETS * packet);
        if floors.len() < FEW_MOMENTS {
            long *= 2.0;
        }
        let short = NO_WAIT.as_secs_f64();
        let is_median_short = self.median <= short.max(1.5 * packet);
        if *median >= long || !self.is_receiver_late && self.median >= long {
            Queue::Standing
        } else if *high <= short.max(packet) && is_median_short {
            Queue::None
        } else {
            Queue::Unclear
        }
    }
}

/// How the datagrams that got through an overload came, beside how a full queue lets them out.
///
/// Of a load f times what gets through, datagrams come to the queue a = 1/f apart (in packet times at the rate that gets
/// through) and leave it 1 apart. Each departure makes room for the next that comes, so the place of a survivor's arrival
/// between two departures moves on by d = 1 mod a each time: the delay of one differs from that of the next by d with
/// probability 1 - d/a, else by a - d; on average by 2·d·(1 - d/a). What is dropped without a queue leaves the delay of the
/// rest as it was.
struct Spacing {
    /// What RFC 3550 calls interarrival jitter, in packet times.
    jitter: f64,
    /// The jitter that a full queue would make, in packet times.
    expected: f64,
    /// The jitter as a multiple of that at half the load, where nothing waits.
    above_half: Option<f64>,
}

impl Spacing {
    /// `None` where jitter is not known, and of several streams, which share a queue's departures.
    fn new(trial: &Trial, half: Option<&Trial>) -> Option<Self> {
        let seconds =
            |trial: &Trial| Some(Duration::from_nanos(trial.rtp_jitter_ns()?).as_secs_f64());
        let jitter = seconds(trial).filter(|_| trial.streams == Some(1))?;
        let overload = trial.offered_load?.as_f64() / trial.received_rate?.as_f64();
        let apart = overload.max(1.0).recip();
        let moved = 1.0 % apart;
        Some(Self {
            jitter: jitter / packet_time(trial)?,
            expected: 2.0 * moved * (1.0 - moved / apart),
            above_half: half.and_then(seconds).map(|half| jitter / half.max(1e-9)),
        })
    }

    fn queue(&self) -> Queue {
        let share = self.jitter / self.expected;
        let is_above = self.above_half.is_some_and(|above| above >= ABOVE_HALF);
        let [least, most] = QUEUE;
        if self.expected < SEEN {
            Queue::Unclear
        } else if share <= NO_QUEUE {
            Queue::None
        } else if is_above && (least..=most).contains(&share) {
            Queue::Standing
        } else {
            Queue::Unclear
        }
    }
}

/// How long a packet takes at the rate that arrived, in seconds.
fn packet_time(trial: &Trial) -> Option<f64> {
    let rate = trial.received_rate.map(BitRate::as_f64)?;
    Some(trial.payload_bytes?.as_f64() * 8.0 / rate.max(1.0))
}
