//! Scenes of what people's networks do, each kind in every combination of transport, direction and peer's protocol.
//!
//! Kinds and combinations follow from the number of a scene, strengths are drawn: 56 numbers have each combination once.

use super::draw::{CONGESTION, Draw, per_core, room};
use super::{Composed, LONG_TEST, Mechanism, PathKind};
use linerate_model::BitRate;
use linerate_model::spec::{Direction, Side, Transport};
use std::time::Duration;

/// From this seed on scenes are drawn here.
pub(super) const FIRST_SEED: u64 = 20;

/// What is between the hosts, or in one of them.
#[derive(Debug, Clone, Copy)]
enum Situation {
    Bare,
    Bucket,
    Outage,
    OwnShaper,
    Quota,
    ShortQueue,
    SmallMtu,
}

impl Situation {
    const ALL: [Self; 7] = [
        Self::Bare,
        Self::Bucket,
        Self::Outage,
        Self::OwnShaper,
        Self::Quota,
        Self::ShortQueue,
        Self::SmallMtu,
    ];

    /// About what passes, in bit/s, least and most.
    const fn rates(self) -> (f64, f64) {
        match self {
            Self::Bare => (0.2e9, 3e9),
            Self::Bucket | Self::ShortQueue => (10e6, 150e6),
            Self::Outage | Self::SmallMtu => (5e6, 200e6),
            Self::OwnShaper => (20e6, 500e6),
            Self::Quota => (60e6, 500e6),
        }
    }

    const fn path(self) -> PathKind {
        match self {
            Self::Bare => PathKind::Direct,
            Self::Outage | Self::ShortQueue => PathKind::Element,
            _ => PathKind::Router,
        }
    }
}

/// The scene with this number.
pub(super) fn draw(seed: u64, number: u64) -> Composed {
    let mut draw = Draw::of(seed, number);
    let mut digits = number;
    let mut digit = |base: usize| {
        let base = base as u64;
        let digit = digits % base;
        digits /= base;
        usize::try_from(digit).unwrap_or(0)
    };
    let situation = Situation::ALL[digit(Situation::ALL.len())];
    let transport = [Transport::Tcp, Transport::Udp][digit(2)];
    let direction = [Direction::Forward, Direction::Reverse][digit(2)];
    let foreign = digit(2) == 1;
    let (least, most) = situation.rates();
    let rate = draw.between(least, most);
    let delay = match situation.path() {
        PathKind::Element => Duration::from_secs_f64(draw.between(2e-3, 40e-3)),
        _ => Duration::ZERO,
    };
    // Of those that fill queues, where the queue is what it is about.
    let controls = match situation {
        Situation::ShortQueue => &["cubic", "reno"],
        _ => &CONGESTION[..],
    };
    let control = usize::try_from(draw.index(controls.len())).unwrap_or(0);
    let load = rate * draw.between(1.2, 3.0);
    let scene = Composed {
        transport,
        direction,
        congestion: controls[control].to_owned(),
        path: situation.path(),
        delay,
        foreign,
        load: BitRate::from_f64(load),
        search: false,
        mechanisms: Vec::new(),
    };
    let mechanisms = situation.mechanism(&scene, rate, &mut draw);
    Composed {
        mechanisms: mechanisms.into_iter().collect(),
        ..scene
    }
}

impl Situation {
    /// What makes it, which lets about `rate` bit/s through.
    fn mechanism(self, scene: &Composed, rate: f64, draw: &mut Draw) -> Option<Mechanism> {
        let is_tcp = scene.transport == Transport::Tcp;
        let bits = BitRate::from_f64(rate);
        Some(match self {
            Self::Bare => return None,
            Self::Bucket => Mechanism::Bucket {
                rate: bits,
                bytes: room(rate / 8.0 * draw.between(0.3, 1.5)),
            },
            Self::Outage => {
                // As often in each test, whenever it begins.
                let every = LONG_TEST / 2;
                let least = if is_tcp { 0.45 } else { 0.25 };
                Mechanism::Outage {
                    every,
                    length: every.mul_f64(draw.between(least, 0.6)),
                }
            }
            Self::OwnShaper => Mechanism::OwnShaper {
                rate: bits,
                queue: room(draw.between(15_000.0, 300_000.0)),
            },
            Self::Quota => {
                let side = match scene.direction {
                    Direction::Reverse => Side::Sender,
                    _ => Side::Receiver,
                };
                let share = rate / per_core(scene.transport, side);
                Mechanism::Quota {
                    side,
                    share: share.clamp(0.012, 0.8),
                }
            }
            Self::ShortQueue => {
                let product = rate / 8.0 * scene.delay.as_secs_f64() * 2.0;
                Mechanism::ShortQueue {
                    rate: bits,
                    queue: room(product * draw.between(0.05, 0.2)),
                }
            }
            Self::SmallMtu => Mechanism::SmallMtu {
                bytes: 1280 + u32::try_from(draw.index(200)).unwrap_or(0),
            },
        })
    }
}
