//! Simulated paths of known capacity: what the search is tested against, and compared with other
//! implementations on.
//!
//! A fluid model with whole packets: sender limit, then loss at every load, then a queue of so
//! many bytes in front of a server of so many bits per second, then a receiver that may stand still now and then.
//!
//! ```text
//!  load ──► sender (limit, fall) ──► random loss ──► queue ──► capacity (noise, fall) ──► receiver (stalls)
//! ```

use super::outcome::{DelayQuantiles, TrialOutcome};
use linerate_model::random::Random;
use linerate_model::{BitRate, ByteCount, PacketCount, Quantile, Ratio};
use std::time::Duration;

/// A path with a sender and a receiver. Rates are L4 payload.
#[derive(Debug, Clone)]
pub struct Device {
    /// Kebab-case name.
    pub id: &'static str,
    /// What is special about it.
    pub summary: &'static str,
    /// What it forwards at most.
    pub capacity: BitRate,
    /// Each trial's capacity differs from `capacity` by up to this share, uniformly.
    pub noise: Ratio,
    /// Bytes that wait before the server; what does not fit is lost.
    pub queue: ByteCount,
    /// Bytes of each trial that pass above the capacity without delay (a full token bucket).
    pub bucket: ByteCount,
    /// Chance of each packet to be lost at any load.
    pub loss: Ratio,
    /// How long the receiver stands still at a time.
    pub stall: Duration,
    /// From one such time to the next, on average.
    pub stall_every: Duration,
    /// Packets that a buffer holds meanwhile; the others of that time are lost.
    pub stall_buffer: PacketCount,
    /// Share of the overload by which capacity falls, down to half: 0 keeps it.
    pub overload_fall: f64,
    /// What the sender can offer at most, if that is limited.
    pub sender_limit: Option<BitRate>,
    /// Share of the excess intended load by which a limited sender falls further, down to 70 %.
    pub sender_fall: f64,
    /// Standard deviation of single packets' delay.
    pub jitter: Duration,
    /// Whether trials tell [`TrialOutcome::delay_growth`].
    pub tells_growth: bool,
    random: Random,
}

/// Payload of each datagram.
const PAYLOAD: ByteCount = ByteCount::new(1448);

fn bits(bytes: ByteCount) -> f64 {
    BitRate::from_bps(bytes.get() * 8).as_f64()
}

impl Device {
    /// A path that forwards `capacity` and loses the rest at once.
    pub fn hard(capacity: BitRate, seed: u64) -> Self {
        Self {
            id: "hard",
            summary: "hard capacity, no queue",
            capacity,
            noise: Ratio::ZERO,
            queue: ByteCount::new(0),
            bucket: ByteCount::new(0),
            loss: Ratio::ZERO,
            stall: Duration::ZERO,
            stall_every: Duration::from_secs(1),
            stall_buffer: PacketCount::new(0),
            overload_fall: 0.0,
            sender_limit: None,
            sender_fall: 0.0,
            jitter: Duration::from_micros(30),
            tells_growth: false,
            random: Random::new(seed),
        }
    }

    /// A receiver that stands still for a tenth of the time.
    pub fn stalling(capacity: BitRate, seed: u64) -> Self {
        Self {
            id: "stalling",
            summary: "hard capacity; the receiver stands still for 100 ms a second with room for 64 packets",
            stall: Duration::from_millis(100),
            stall_buffer: PacketCount::new(64),
            ..Self::hard(capacity, seed)
        }
    }

    /// The standard devices, each with capacity (or sender limit) `capacity`.
    pub fn all(capacity: BitRate, seed: u64) -> Vec<Self> {
        let hard = Self::hard(capacity, seed);
        vec![
            hard.clone(),
            Self {
                id: "lossy",
                summary: "hard capacity, 0.1 % loss at every load",
                loss: Ratio::clamped(0.001),
                ..hard.clone()
            },
            Self {
                id: "sender-limited",
                summary: "the sender offers no more, the path would carry ten times as much",
                capacity: BitRate::from_bps(capacity.bps() * 10),
                sender_limit: Some(capacity),
                ..hard.clone()
            },
            Self {
                id: "sender-falling",
                summary: "the sender offers less the more it is asked for beyond its limit",
                capacity: BitRate::from_bps(capacity.bps() * 10),
                sender_limit: Some(capacity),
                sender_fall: 0.05,
                ..hard.clone()
            },
            Self {
                id: "falling",
                summary: "forwards less the more it is overloaded, down to half",
                overload_fall: 0.3,
                ..hard.clone()
            },
            Self {
                id: "noisy",
                summary: "capacity differs by up to ±2 % from trial to trial",
                noise: Ratio::clamped(0.02),
                ..hard.clone()
            },
            Self {
                id: "queue",
                summary: "hard capacity behind a queue of 64 KiB",
                queue: ByteCount::new(64 * 1024),
                ..hard.clone()
            },
            Self {
                id: "deep-queue",
                summary: "hard capacity behind a queue of 1 MiB, delay growth reported by the engine",
                queue: ByteCount::new(1024 * 1024),
                jitter: Duration::from_millis(2),
                tells_growth: true,
                ..hard.clone()
            },
            Self {
                id: "token-bucket",
                summary: "policer: 64 KiB of each trial pass above the capacity, without delay",
                bucket: ByteCount::new(64 * 1024),
                ..hard
            },
            Self::stalling(capacity, seed),
        ]
    }

    /// Makes one trial.
    pub fn measure(&mut self, intended_load: BitRate, duration: Duration) -> TrialOutcome {
        let offered = self.offer(intended_load.as_f64());
        let seconds = duration.as_secs_f64();
        let packet_bits = bits(PAYLOAD);
        let sent = (offered * seconds / packet_bits).round().max(1.0);
        let lost_at_random = self.random_losses(sent) + self.stall_losses(offered, seconds);
        let arriving = offered * (1.0 - lost_at_random / sent);
        let server = self.server(arriving);
        let queue_bits = bits(self.queue);
        let excess = ((arriving - server) - bits(self.bucket) / seconds).max(0.0);
        let queued = (excess * seconds).min(queue_bits);
        let lost_in_queue = ((excess * seconds - queued) / packet_bits).floor();
        let lost = (lost_at_random + lost_in_queue).min(sent);
        let growth = queued / server;
        let middle = (excess * seconds / 2.0).min(queue_bits) / server;
        let jitter = self.jitter.as_secs_f64();
        let stray = jitter * self.random.normal();
        let span = (seconds + growth + stray).max(0.0);
        let received = offered * (1.0 - lost / sent) * seconds / span.max(1e-9);
        let quantile = |q: f64, base: f64, sigmas: f64| {
            let delay = Duration::from_secs_f64(base + jitter * sigmas);
            (Quantile(Ratio::clamped(q)), delay)
        };
        TrialOutcome {
            intended_load,
            offered_load: BitRate::from_f64(offered),
            received_rate: BitRate::from_f64(received),
            loss_ratio: Ratio::clamped(lost / sent),
            sent: PacketCount::new(BitRate::from_f64(sent).bps()),
            duration,
            receiver_duration: Some(Duration::from_secs_f64(span)),
            // The smallest of many normal delays is some three deviations below the median.
            delay: Some(DelayQuantiles::new(vec![
                quantile(0.5, middle, 3.0),
                quantile(0.99, growth, 5.3),
            ])),
            delay_growth: self
                .tells_growth
                .then(|| Duration::from_secs_f64(growth + jitter * 0.05 * self.random.unit())),
            valid: true,
        }
    }

    fn offer(&self, intended: f64) -> f64 {
        let Some(limit) = self.sender_limit.map(BitRate::as_f64) else {
            return intended;
        };
        let beyond = (intended - limit).max(0.0);
        intended
            .min(limit - beyond * self.sender_fall)
            .max(intended.min(limit * 0.7))
    }

    fn server(&mut self, arriving: f64) -> f64 {
        let noise = 1.0 + self.noise.get() * (2.0 * self.random.unit() - 1.0);
        let capacity = self.capacity.as_f64() * noise;
        let overload = (arriving - capacity).max(0.0);
        (capacity - overload * self.overload_fall).max(capacity / 2.0)
    }

    /// Losses while the receiver stands still in a trial of so many seconds.
    fn stall_losses(&mut self, offered: f64, seconds: f64) -> f64 {
        if self.stall.is_zero() {
            return 0.0;
        }
        let stalls = (seconds / self.stall_every.as_secs_f64() + self.random.unit()).floor();
        let come = offered / bits(PAYLOAD) * self.stall.as_secs_f64();
        let each = (come - self.stall_buffer.as_f64()).floor().max(0.0);
        (stalls * each).min(offered * seconds / bits(PAYLOAD))
    }

    /// Losses among `sent` packets, drawn as gaps between losses.
    fn random_losses(&mut self, sent: f64) -> f64 {
        let chance = self.loss.get();
        if chance <= 0.0 {
            return 0.0;
        }
        let (mut position, mut lost) = (0.0, 0.0);
        loop {
            let gap = (1.0 - self.random.unit()).ln() / (1.0 - chance).ln();
            position += gap.floor() + 1.0;
            if position > sent {
                return lost;
            }
            lost += 1.0;
        }
    }
}
