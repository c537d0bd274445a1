//! How two hosts' clocks stand to each other, from messages that went both ways between them.
//!
//! Let θ(t) be the receiver's clock less the sender's, at time t of the sender's clock. A message that left at
//! T1 (sender) and came at T2 (receiver) took a time that cannot be negative, so θ(T1) ≤ T2 − T1. One that left
//! at T3 (receiver) and came back at T4 (sender) says θ(T4) ≥ T3 − T4. Both hold exactly, however fast the clocks
//! go. With θ(t) = offset + skew · t each message is a half-plane in (offset, skew); all of them together leave a
//! convex polygon, in which the truth lies. Nothing is assumed of the delays but that they are not negative:
//! queues, asymmetric paths and lost messages make the polygon wider, never wrong.
//!
//! The estimate is the middle of the highest strip that fits between both kinds of bounds: where the smallest
//! delays of both ways are equal it is the truth but for what queues hide. Its error at a time is the largest
//! distance to any of the polygon's lines there. Half of the smallest round trip of it remains however many messages there are, because nothing in the
//! messages tells how a round trip divides into its two ways.
//!
//! What can break it is a clock that is not straight over the time of the messages, as when it is slewed
//! meanwhile: then no line may be left, and nothing is estimated.
//!
//! # References
//! - Linear bounds on skew: Moon, Skelly, Towsley, "Estimation and removal of clock skew from network delay
//!   measurements", INFOCOM 1999
//! - Convex hulls of both directions: Zhang, Liu, Xia, "Clock synchronization algorithms for network
//!   measurements", INFOCOM 2002
//! - Four timestamps: RFC 5905 §8; what asymmetry does to them: RFC 7679 §3.7.1

mod polygon;
#[cfg(test)]
mod tests;

use linerate_model::one_way::Transits;
use polygon::Polygon;

/// Clocks differ in speed by less than this: the kernel slews each by at most 500 ppm, and crystals are within
/// 100 ppm.
const MAX_SKEW: f64 = 1.2e-3;

/// Stamps are whole nanoseconds, cut off at both ends.
const ROUNDING_NS: f64 = 1.0;

/// Times that bound θ, against a first one of each clock. All in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    base: Option<Base>,
    /// Sender's time, and what θ is at most then.
    upper: Vec<(f64, f64)>,
    /// Sender's time, and what θ is at least then.
    lower: Vec<(f64, f64)>,
}

/// What all times are against, modulo 2^48.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Base {
    /// Sender's clock.
    pub sent: u64,
    /// θ.
    pub offset: u64,
}

impl Bounds {
    /// Adds messages from the sender to the receiver, and others from the receiver to the sender.
    pub fn add(&mut self, forward: &Transits, backward: &Transits) {
        let base = *self.base.get_or_insert(Base {
            sent: forward.first_sent_ns,
            offset: forward.first_ns,
        });
        let sent = near(forward.first_sent_ns, base.sent);
        let above = near(forward.first_ns, base.offset);
        for passage in forward.floor.iter() {
            let at = float(sent.saturating_add(passage.key));
            self.upper
                .push((at, float(above.saturating_add(passage.took_ns))));
        }
        // T4 of the first message that came back, and T3 − T4 of it.
        let came = backward.first_sent_ns.wrapping_add(backward.first_ns);
        let came = near(came, base.sent);
        let below = near(backward.first_ns.wrapping_neg(), base.offset);
        for passage in backward.floor.iter() {
            let at = came
                .saturating_add(passage.key)
                .saturating_add(passage.took_ns);
            self.lower
                .push((float(at), float(below.saturating_sub(passage.took_ns))));
        }
    }

    /// What all times are against; `None` if nothing was added.
    pub const fn base(&self) -> Option<Base> {
        self.base
    }

    /// The line of θ over time that the messages leave.
    pub fn fit(&self) -> Result<Fit, NoFit> {
        if self.upper.is_empty() || self.lower.is_empty() {
            return Err(NoFit::OneWayOnly);
        }
        let times = || self.upper.iter().chain(&self.lower).map(|(at, _)| *at);
        let first = times().fold(f64::INFINITY, f64::min);
        let last = times().fold(f64::NEG_INFINITY, f64::max);
        let frame = Frame {
            middle: f64::midpoint(first, last),
            half: ((last - first) / 2.0).max(1.0),
        };
        let steepest = MAX_SKEW * frame.half;
        let highest = self.upper.iter().map(|(_, most)| *most);
        let lowest = self.lower.iter().map(|(_, least)| *least);
        let top = highest.fold(f64::NEG_INFINITY, f64::max) + steepest + ROUNDING_NS;
        let bottom = lowest.fold(f64::INFINITY, f64::min) - steepest - ROUNDING_NS;
        let mut polygon = Polygon::rectangle(bottom.min(top), top.max(bottom), steepest);
        for &(at, most) in &self.upper {
            polygon.keep(1.0, frame.place(at), most + ROUNDING_NS);
        }
        for &(at, least) in &self.lower {
            polygon.keep(-1.0, -frame.place(at), ROUNDING_NS - least);
        }
        let steepness = polygon.range().ok_or(NoFit::NotStraight)?;
        let rise = highest_of(steepness, |rise| self.strip(frame, rise).height());
        let strip = self.strip(frame, rise);
        Ok(Fit {
            frame,
            offset: f64::midpoint(strip.least, strip.most),
            rise,
            half_strip: (strip.height() / 2.0).max(0.0),
            polygon,
            messages: self.upper.len() + self.lower.len(),
        })
    }

    /// What the offset in the middle may be between for a line of this rise.
    fn strip(&self, frame: Frame, rise: f64) -> Strip {
        let level = |&(at, bound): &(f64, f64)| bound - rise * frame.place(at);
        Strip {
            most: self.upper.iter().map(level).fold(f64::INFINITY, f64::min),
            least: self
                .lower
                .iter()
                .map(level)
                .fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Where lines of one rise lie between the bounds.
#[derive(Debug, Clone, Copy)]
struct Strip {
    least: f64,
    most: f64,
}

impl Strip {
    fn height(self) -> f64 {
        self.most - self.least
    }
}

/// Where a concave function is highest, to a ten-thousand-millionth of the range.
fn highest_of((mut low, mut high): (f64, f64), of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..60 {
        let third = (high - low) / 3.0;
        let (left, right) = (low + third, high - third);
        if of(left) < of(right) {
            low = left;
        } else {
            high = right;
        }
    }
    f64::midpoint(low, high)
}

/// Why there is no line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// No straight line leaves every delay at zero or more.
    #[error(
        "no constant difference in speed explains the messages: a clock was slewed or set meanwhile"
    )]
    NotStraight,
    /// Messages of one direction only.
    #[error("messages of one direction say nothing of the clocks' offset")]
    OneWayOnly,
}

/// The times of the messages made −1 to 1, so that both unknowns are nanoseconds of like size.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Frame {
    middle: f64,
    half: f64,
}

impl Frame {
    fn place(self, at: f64) -> f64 {
        (at - self.middle) / self.half
    }
}

/// θ as a line over time, and how far it may be off.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    frame: Frame,
    offset: f64,
    rise: f64,
    half_strip: f64,
    polygon: Polygon,
    messages: usize,
}

impl Fit {
    /// θ at a time, both against the base.
    pub fn offset_at(&self, at: f64) -> f64 {
        self.offset + self.rise * self.frame.place(at)
    }

    /// The middle of the messages, against the base.
    pub const fn middle(&self) -> f64 {
        self.frame.middle
    }

    /// By how much faster the receiver's clock goes: a ratio.
    pub fn skew(&self) -> f64 {
        self.rise / self.frame.half
    }

    /// How far the skew may be off.
    pub fn skew_uncertainty(&self) -> f64 {
        self.polygon.reach(0.0, 1.0, self.rise) / self.frame.half
    }

    /// How far θ may be off at a time.
    pub fn uncertainty_at(&self, at: f64) -> f64 {
        self.polygon
            .reach(1.0, self.frame.place(at), self.offset_at(at))
    }

    /// How far θ may be off at any time between the first and the last message: the distance between two lines is
    /// largest at an end.
    pub fn uncertainty(&self) -> f64 {
        let ends = [-1.0, 1.0].map(|end| self.frame.middle + end * self.frame.half);
        ends.map(|at| self.uncertainty_at(at))
            .into_iter()
            .fold(0.0, f64::max)
    }

    /// Half of the smallest round trip, as the line has it: the part of the error that no number of messages
    /// removes.
    pub const fn asymmetry(&self) -> f64 {
        self.half_strip
    }

    /// Messages that bounded it.
    pub const fn messages(&self) -> usize {
        self.messages
    }
}

/// `value − base` of two numbers modulo 2^48, as the nearest signed distance.
pub(crate) const fn near(value: u64, base: u64) -> i64 {
    (value.wrapping_sub(base) << 16).cast_signed() >> 16
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nanoseconds of a day are far below 2^53"
)]
pub(crate) const fn float(nanos: i64) -> f64 {
    nanos as f64
}
