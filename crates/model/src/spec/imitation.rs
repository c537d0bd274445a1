//! Slow applications that a test can imitate at one end, so that what linerate says of them can be tested.

use super::{Direction, Side};
use crate::time::as_seconds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A slow application at one end of a test.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Imitation {
    /// A receiver that rests after each read; one that answers messages rests before each answer.
    SlowReceiver {
        /// How long it rests.
        #[serde(rename = "pause_s", with = "as_seconds")]
        #[schemars(with = "f64")]
        pause: Duration,
        /// Datagrams that it takes per read: one that comes back rarely takes much.
        datagrams_per_read: u16,
    },
    /// A sender of an unpaced byte stream that rests after each write: traffic comes in bursts.
    SlowSender {
        /// How long it rests.
        #[serde(rename = "pause_s", with = "as_seconds")]
        #[schemars(with = "f64")]
        pause: Duration,
    },
    /// A responder that stands still at regular intervals.
    StallingResponder(Stall),
}

impl Imitation {
    /// A receiver that takes one datagram per read and then rests for `pause`.
    pub const fn slow_receiver(pause: Duration) -> Self {
        Self::SlowReceiver {
            pause,
            datagrams_per_read: 1,
        }
    }

    /// The side of the traffic that is slow.
    pub const fn side(&self) -> Side {
        match self {
            Self::SlowSender { .. } => Side::Sender,
            Self::SlowReceiver { .. } | Self::StallingResponder(_) => Side::Receiver,
        }
    }

    /// Whether the server is slow in a test of this direction.
    pub const fn is_at_server(&self, direction: Direction) -> bool {
        matches!(
            (self.side(), direction),
            (_, Direction::Duplex)
                | (Side::Receiver, Direction::Forward)
                | (Side::Sender, Direction::Reverse)
        )
    }

    /// How long a receiver rests after each read.
    pub const fn receiver_pause(&self) -> Option<Duration> {
        match self {
            Self::SlowReceiver { pause, .. } => Some(*pause),
            Self::SlowSender { .. } | Self::StallingResponder(_) => None,
        }
    }

    /// How long a sender rests after each write.
    pub const fn sender_pause(&self) -> Option<Duration> {
        match self {
            Self::SlowSender { pause } => Some(*pause),
            Self::SlowReceiver { .. } | Self::StallingResponder(_) => None,
        }
    }

    /// When a responder stands still.
    pub const fn stall(&self) -> Option<Stall> {
        match self {
            Self::StallingResponder(stall) => Some(*stall),
            Self::SlowReceiver { .. } | Self::SlowSender { .. } => None,
        }
    }
}

/// When a responder answers nothing: the last part of every period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Stall {
    /// From the end of one stall to the end of the next.
    #[serde(rename = "every_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub every: Duration,
    /// How long each lasts.
    #[serde(rename = "for_s", with = "as_seconds")]
    #[schemars(with = "f64")]
    pub lasting: Duration,
}

impl Stall {
    /// When the stall ends that is under way `elapsed` after the start; `None` if there is none.
    pub fn end(&self, elapsed: Duration) -> Option<Duration> {
        let every = self.every.as_nanos();
        let phase = elapsed.as_nanos().checked_rem(every)?;
        let left = Duration::from_nanos(u64::try_from(every - phase).unwrap_or(u64::MAX));
        (left <= self.lasting).then(|| elapsed + left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_the_last_part_of_every_period() {
        let millis = Duration::from_millis;
        let stall = Stall {
            every: millis(1000),
            lasting: millis(50),
        };
        for free in [0, 949, 1000, 1949] {
            assert_eq!(stall.end(millis(free)), None, "{free}");
        }
        assert_eq!(stall.end(millis(950)), Some(millis(1000)));
        assert_eq!(stall.end(millis(2999)), Some(millis(3000)));
    }

    #[test]
    fn only_the_end_of_its_side_is_slow() {
        let receiver = Imitation::slow_receiver(Duration::from_millis(1));
        assert!(receiver.is_at_server(Direction::Forward));
        assert!(!receiver.is_at_server(Direction::Reverse));
        let pause = Duration::from_millis(1);
        let sender = Imitation::SlowSender { pause };
        assert!(!sender.is_at_server(Direction::Forward));
        assert!(sender.is_at_server(Direction::Duplex));
    }
}
