//! How a scene is drawn from its seed and number.

use super::{Composed, DATAGRAM, Mechanism, PathKind, READ, situations};
use linerate_model::random::{Random, mix};
use linerate_model::spec::{Direction, Side, Transport};
use linerate_model::{BitRate, ByteCount, PacketCount};
use std::time::Duration;

pub(super) const CONGESTION: [&str; 3] = ["cubic", "bbr", "reno"];

/// A round trip shorter than this has windows of a packet or two.
const LONG: Duration = Duration::from_millis(2);

impl Composed {
    /// The scene with this number.
    pub(crate) fn draw(seed: u64, number: u64) -> Self {
        if seed >= situations::FIRST_SEED {
            return situations::draw(seed, number);
        }
        let mut draw = Draw::of(seed, number);
        let transport = if draw.chance(0.55) {
            Transport::Tcp
        } else {
            Transport::Udp
        };
        let direction = if draw.chance(0.6) {
            Direction::Forward
        } else {
            Direction::Reverse
        };
        let path = if draw.chance(0.3) {
            PathKind::Router
        } else {
            PathKind::Element
        };
        let delay = match path {
            PathKind::Element => Duration::from_secs_f64(draw.between(25e-6, 50e-3)),
            PathKind::Router | PathKind::Direct => Duration::ZERO,
        };
        let foreign = draw.chance(0.15);
        let rate = draw.between(5e6, 200e6);
        let mut ground = Ground {
            transport,
            direction,
            path,
            delay,
            foreign,
            rate,
        };
        let count = 1 + usize::from(draw.chance(0.45)) + usize::from(draw.chance(0.15));
        let mechanisms = draw.mechanisms(Kind::of(seed), &mut ground, count);
        let rate = ground.rate;
        Self {
            transport,
            direction,
            congestion: CONGESTION[draw.0.below(CONGESTION.len())].to_owned(),
            path,
            delay,
            foreign,
            load: BitRate::from_f64(rate * draw.between(1.2, 3.0)),
            search: draw.chance(0.3) && transport == Transport::Udp,
            mechanisms,
        }
    }
}

/// What a core carries at most, in bit/s of L4 payload, by the CPU time that the scenes of an earlier day took; it only
/// keeps the strengths of mechanisms near to each other.
pub(super) const fn per_core(transport: Transport, side: Side) -> f64 {
    match (transport, side) {
        (Transport::Tcp, _) => 4e9,
        (Transport::Udp, Side::Sender) => 0.45e9,
        (Transport::Udp, Side::Receiver) => 1.2e9,
    }
}

/// Most busy loops on a core; more are no more than a host has.
const MAX_LOOPS: usize = 24;

/// Which mechanism, before its strength is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Link,
    Policer,
    OwnShaper,
    Loss,
    BurstLoss,
    Quota,
    BusySender,
    BusyReceiver,
    ReceiveBuffer,
    SendBuffer,
    SlowReader,
    SlowSender,
    Rivals,
    ReturnLink,
    ReturnLoss,
    Reordering,
    Outage,
    MtuHole,
}

impl Kind {
    /// In the order in which they came to be: scenes of the first seeds stay what they were.
    const ALL: &[Self] = &[
        Self::Link,
        Self::Policer,
        Self::OwnShaper,
        Self::Loss,
        Self::BurstLoss,
        Self::Quota,
        Self::BusySender,
        Self::BusyReceiver,
        Self::ReceiveBuffer,
        Self::SendBuffer,
        Self::SlowReader,
        Self::SlowSender,
        Self::Rivals,
        Self::ReturnLink,
        Self::ReturnLoss,
        Self::Reordering,
        Self::Outage,
        Self::MtuHole,
    ];
    /// How many of them the first seeds draw from, and the first seed that draws from all.
    const FIRST: usize = 13;
    const SEED_OF_ALL: u64 = 10;

    /// Those that scenes of `seed` are drawn from.
    fn of(seed: u64) -> &'static [Self] {
        if seed < Self::SEED_OF_ALL {
            &Self::ALL[..Self::FIRST]
        } else {
            Self::ALL
        }
    }

    /// Whether it can hold back this traffic, and be made on this path.
    fn is_possible(self, ground: &Ground) -> bool {
        let Ground {
            transport,
            direction,
            path,
            delay,
            foreign,
            ..
        } = *ground;
        let is_tcp = transport == Transport::Tcp;
        match self {
            Self::ReceiveBuffer => !is_tcp || delay >= LONG,
            Self::SendBuffer => is_tcp && delay >= LONG,
            Self::Rivals => is_tcp && direction == Direction::Forward,
            Self::BurstLoss | Self::Outage | Self::MtuHole => path == PathKind::Element,
            // They change what comes back, and the order of what TCP sends.
            Self::ReturnLink | Self::ReturnLoss | Self::Reordering => {
                is_tcp && path == PathKind::Element
            }
            // Only linerate's own protocol can ask for them.
            Self::SlowSender => is_tcp && !foreign,
            Self::SlowReader => !foreign,
            _ => true,
        }
    }

    const fn is_of_cpu(self) -> bool {
        matches!(self, Self::Quota | Self::BusySender | Self::BusyReceiver)
    }

    /// Whether the two are made by the same part of the scene.
    fn excludes(self, other: Self) -> bool {
        let group = |kind: Self| match kind {
            Self::Link | Self::Policer => 0,
            Self::Quota | Self::BusySender | Self::BusyReceiver => 1,
            Self::SlowReader | Self::SlowSender => 2,
            Self::Loss | Self::BurstLoss | Self::Outage => 3,
            Self::ReturnLink | Self::ReturnLoss => 4,
            _ => 5,
        };
        group(self) == group(other) && group(self) < 5
    }

    fn draw(self, draw: &mut Draw, ground: &Ground) -> Mechanism {
        let Ground {
            transport,
            direction,
            ..
        } = *ground;
        match self {
            Self::Quota if direction == Direction::Reverse => ground.quota(draw, Side::Sender),
            Self::Quota => ground.quota(draw, Side::Receiver),
            Self::BusySender => ground.busy(draw, Side::Sender),
            Self::BusyReceiver => ground.busy(draw, Side::Receiver),
            Self::ReceiveBuffer => Mechanism::ReceiveBuffer {
                bytes: match transport {
                    Transport::Tcp => room(ground.product() * draw.between(0.4, 3.0)),
                    Transport::Udp => room(draw.between(7_570.0, 60_000.0)),
                },
            },
            Self::SendBuffer => Mechanism::SendBuffer {
                bytes: room(ground.product() * draw.between(0.4, 3.0)),
            },
            Self::SlowReader => Mechanism::SlowReader {
                pause: ground.pause(
                    draw,
                    match transport {
                        Transport::Tcp => READ.as_f64(),
                        Transport::Udp => DATAGRAM,
                    },
                ),
            },
            Self::SlowSender => Mechanism::SlowSender {
                pause: ground.pause(draw, READ.as_f64()),
            },
            _ => self.draw_of_path(draw, ground),
        }
    }

    fn draw_of_path(self, draw: &mut Draw, ground: &Ground) -> Mechanism {
        match self {
            Self::Policer => Mechanism::Policer {
                rate: BitRate::from_f64(ground.near(draw)),
                bucket: room(draw.between(10_000.0, 150_000.0)),
            },
            Self::OwnShaper => Mechanism::OwnShaper {
                rate: BitRate::from_f64(ground.near(draw)),
                queue: room(draw.between(15_000.0, 300_000.0)),
            },
            Self::Loss => Mechanism::Loss {
                share: draw.between(0.001, 0.05),
            },
            Self::BurstLoss => Mechanism::BurstLoss {
                lost: 2 + draw.index(18),
                period: 200 + draw.index(1800),
            },
            Self::Outage => {
                let every = Duration::from_secs_f64(draw.between(0.3, 1.5));
                Mechanism::Outage {
                    every,
                    length: every.mul_f64(draw.between(0.05, 0.5)),
                }
            }
            Self::MtuHole => Mechanism::MtuHole {
                bytes: 576 + u32::try_from(draw.0.below(900)).unwrap_or(0),
            },
            Self::Reordering => Mechanism::Reordering {
                share: draw.between(0.01, 0.2),
                displacement: 3 + u32::try_from(draw.0.below(200)).unwrap_or(0),
            },
            Self::ReturnLink => {
                let rate = ground.near(draw) * ACKNOWLEDGEMENTS;
                Mechanism::ReturnLink {
                    rate: BitRate::from_f64(rate.max(LEAST_RETURN)),
                    queue: room(rate / 8.0 * draw.between(0.02, 0.5)),
                }
            }
            Self::ReturnLoss => Mechanism::ReturnLoss {
                share: draw.between(0.02, 0.5),
            },
            Self::Rivals => Mechanism::Rivals {
                flows: 1 + u32::try_from(draw.0.below(6)).unwrap_or(0),
            },
            _ => Mechanism::Link {
                rate: BitRate::from_f64(ground.near(draw)),
                queue: room(ground.product().max(15_000.0) * draw.between(0.2, 8.0)),
            },
        }
    }
}

/// What acknowledgements take on the line (L1), as a share of the rate that they answer: 90 bytes for two full segments.
const ACKNOWLEDGEMENTS: f64 = 90.0 / (2.0 * DATAGRAM);
/// Enough for the control connection, in bit/s.
const LEAST_RETURN: f64 = 64e3;

/// Room for at least five packets.
pub(super) fn room(bytes: f64) -> ByteCount {
    ByteCount::from_f64(bytes.max(7_570.0))
}

/// What mechanisms are drawn for.
struct Ground {
    transport: Transport,
    direction: Direction,
    path: PathKind,
    delay: Duration,
    foreign: bool,
    /// About what the mechanisms let through, in bit/s.
    rate: f64,
}

impl Ground {
    /// A rate about that of the scene, in bit/s.
    fn near(&self, draw: &mut Draw) -> f64 {
        self.rate * draw.between(0.6, 1.6)
    }

    /// Rate × round-trip time, in bytes.
    fn product(&self) -> f64 {
        self.rate / 8.0 * self.delay.as_secs_f64() * 2.0
    }

    /// The rest after each piece of so many bytes.
    fn pause(&self, draw: &mut Draw, bytes: f64) -> Duration {
        Duration::from_secs_f64(bytes * 8.0 / self.near(draw))
    }

    fn quota(&self, draw: &mut Draw, side: Side) -> Mechanism {
        let share = self.near(draw) / per_core(self.transport, side);
        Mechanism::Quota {
            side,
            share: share.clamp(0.012, 0.8),
        }
    }

    fn busy(&self, draw: &mut Draw, side: Side) -> Mechanism {
        let others = per_core(self.transport, side) / self.near(draw) - 1.0;
        let enough = |loops: &usize| PacketCount::new(*loops as u64).as_f64() >= others;
        Mechanism::Busy {
            side,
            loops: (1..MAX_LOOPS).find(enough).unwrap_or(MAX_LOOPS),
        }
    }
}

pub(super) struct Draw(Random);

impl Draw {
    /// The draws of one scene.
    pub(super) fn of(seed: u64, number: u64) -> Self {
        Self(Random::new(mix(seed ^ mix(number))))
    }

    /// About so many mechanisms that can be made together.
    fn mechanisms(&mut self, kinds: &[Kind], ground: &mut Ground, count: usize) -> Vec<Mechanism> {
        let mut kinds = kinds.to_vec();
        kinds.retain(|kind| kind.is_possible(ground));
        self.0.shuffle(&mut kinds);
        let mut chosen: Vec<Kind> = Vec::new();
        for kind in kinds {
            // Others are felt where there is a link to share.
            let needed = match kind {
                Kind::Rivals if !chosen.contains(&Kind::Link) => vec![Kind::Link, kind],
                _ => vec![kind],
            };
            let is_excluded = |kind: &Kind| chosen.iter().any(|other| kind.excludes(*other));
            if chosen.len() < count && !needed.iter().any(is_excluded) {
                chosen.extend(needed);
            }
        }
        if chosen.iter().any(|kind| kind.is_of_cpu()) {
            // Below this the least that a control group or a busy core leaves is enough.
            ground.rate = self.between(60e6, 500e6);
        }
        let ground = &*ground;
        chosen
            .into_iter()
            .map(|kind| kind.draw(self, ground))
            .collect()
    }

    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }

    /// One of the first so many numbers.
    pub(super) fn index(&mut self, count: usize) -> u64 {
        self.0.below(count).try_into().unwrap_or(0)
    }

    /// Logarithmically uniform.
    pub(super) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.unit())
    }
}
