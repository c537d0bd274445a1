//! Scenes composed at random: several mechanisms at once, each with a strength of its own, and traffic of either kind.
//!
//! What limits such a scene is not declared but measured: each mechanism is taken away in turn, and what raises the
//! rate is a limit. A scene is its seed and its number; the same two give the same scene for ever.

use crate::scene::{PeerAddress, Place, Scene, Step, Test, apart, last_core};
use linerate_model::random::{Random, mix};
use linerate_model::run::Trial;
use linerate_model::spec::{Direction, Imitation, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::SaturatePlan;
use linerate_testbed::{HostId, Link, LinkConfig};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One thing that may hold traffic back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Mechanism {
    /// Busy loops on the core of one side's traffic thread.
    Busy { side: Side, loops: usize },
    /// A line with a queue before it.
    Link { rate: BitRate, queue: ByteCount },
    /// Packets lost by chance.
    Loss { share: f64 },
    /// A shaper on the sender's own interface.
    OwnShaper { rate: BitRate, queue: ByteCount },
    /// A rate above which packets are dropped at once.
    Policer { rate: BitRate, bucket: ByteCount },
    /// A CPU quota of the process at the peer, which sends or receives.
    Quota { side: Side, share: f64 },
    /// A small receive buffer: TCP's window, or the room for datagrams.
    ReceiveBuffer { bytes: ByteCount },
    /// TCP flows of others through the same link.
    Rivals { flows: u32 },
    /// A small send buffer.
    SendBuffer { bytes: ByteCount },
    /// An application that rests after each read.
    SlowReader { pause: Duration },
}

/// What a verdict must say of a limit: the rule, and the side.
pub(crate) type Expected = (&'static str, Option<Side>);

impl Mechanism {
    /// What limits where this does.
    pub(crate) const fn expected(self, transport: Transport) -> Expected {
        match self {
            Self::Busy { side, .. } | Self::Quota { side, .. } => match side {
                Side::Sender => ("sender-cpu", Some(Side::Sender)),
                Side::Receiver => ("receiver-cpu", Some(Side::Receiver)),
            },
            Self::Link { .. } => ("link", None),
            Self::Loss { .. } => ("path-loss", None),
            Self::OwnShaper { .. } => ("link", Some(Side::Sender)),
            Self::Policer { .. } => ("policer", None),
            Self::ReceiveBuffer { .. } => match transport {
                Transport::Tcp => ("receiver-window", Some(Side::Receiver)),
                Transport::Udp => ("receiver-socket", Some(Side::Receiver)),
            },
            Self::Rivals { .. } => ("congestion", Some(Side::Sender)),
            Self::SendBuffer { .. } => ("sender-buffer", Some(Side::Sender)),
            Self::SlowReader { .. } => ("receiver-app", Some(Side::Receiver)),
        }
    }
}

/// A scene as a value: what is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Composed {
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    /// Of TCP.
    pub(crate) congestion: String,
    /// One way.
    pub(crate) delay: Duration,
    /// Of datagrams.
    pub(crate) load: BitRate,
    /// Datagrams are searched for their highest rate, not sent at one load.
    pub(crate) search: bool,
    pub(crate) mechanisms: Vec<Mechanism>,
}

const CONGESTION: [&str; 3] = ["cubic", "bbr", "reno"];

/// A round trip shorter than this has windows of a packet or two.
const LONG: Duration = Duration::from_millis(2);

/// Of the slow reader's reads, and of TCP's writes beside one.
const READ: ByteCount = ByteCount::new(16 * 1024);
/// Payload of a datagram.
const DATAGRAM: f64 = 1448.0;

impl Composed {
    /// The scene with this number.
    pub(crate) fn draw(seed: u64, number: u64) -> Self {
        let mut draw = Draw(Random::new(mix(seed ^ mix(number))));
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
        let delay = Duration::from_secs_f64(draw.between(25e-6, 25e-3));
        let rate = draw.between(5e6, 60e6);
        let mut kinds = Kind::of(transport, direction, delay);
        draw.0.shuffle(&mut kinds);
        let count = 1 + usize::from(draw.chance(0.45)) + usize::from(draw.chance(0.15));
        let mut mechanisms: Vec<(Kind, Mechanism)> = Vec::new();
        for kind in kinds {
            let excluded = mechanisms.iter().any(|(other, _)| kind.excludes(*other))
                || kind == Kind::Rivals
                    && !mechanisms.iter().any(|(other, _)| *other == Kind::Link);
            if mechanisms.len() < count && !excluded {
                mechanisms.push((
                    kind,
                    kind.draw(&mut draw, (transport, direction), (rate, delay)),
                ));
            }
        }
        let mechanisms: Vec<Mechanism> = mechanisms
            .into_iter()
            .map(|(_, mechanism)| mechanism)
            .collect();
        Self {
            transport,
            direction,
            congestion: CONGESTION[draw.0.below(CONGESTION.len())].to_owned(),
            delay,
            load: BitRate::from_f64(rate * draw.between(1.2, 3.0)),
            search: draw.chance(0.3) && transport == Transport::Udp,
            mechanisms,
        }
    }

    /// Without one of its mechanisms.
    pub(crate) fn without(&self, index: usize) -> Self {
        let mut relieved = self.clone();
        relieved.mechanisms.remove(index);
        relieved
    }

    /// With its own test.
    pub(crate) fn scene(&self) -> Scene {
        let spec = self.spec();
        let test = match (self.transport, self.search) {
            (Transport::Udp, true) => {
                let most = BitRate::from_bps(self.load.bps().saturating_mul(4));
                Test::search_with(most, |plan| {
                    *plan = SaturatePlan {
                        spec: TestSpec {
                            stop: plan.spec.stop,
                            ..spec
                        },
                        ..plan.clone()
                    };
                })
            }
            _ => Test::Single(Box::new(spec)),
        };
        self.around(test)
    }

    /// With a short test whose rate shows what taking a mechanism away does.
    pub(crate) fn measured(&self) -> Scene {
        let mut spec = self.spec();
        spec.stop = Stop::After(Duration::from_millis(1500));
        if self.transport == Transport::Tcp {
            spec.warm_up = Duration::from_millis(500) + self.delay * 20;
        }
        self.around(Test::Single(Box::new(spec)))
    }

    fn spec(&self) -> TestSpec {
        let mut spec = match self.transport {
            Transport::Tcp => TestSpec {
                stop: Stop::After(Duration::from_millis(2500)),
                interval: Duration::from_millis(250),
                ..TestSpec::tcp_bulk()
            },
            Transport::Udp => TestSpec {
                stop: Stop::After(Duration::from_secs(2)),
                interval: Duration::from_millis(250),
                ..TestSpec::udp_datagrams(Pace::At(self.load))
            },
        };
        spec.direction = self.direction;
        if self.transport == Transport::Tcp {
            spec.socket.congestion_control = Some(self.congestion.clone());
        }
        for mechanism in &self.mechanisms {
            match *mechanism {
                Mechanism::Busy { .. } => spec.pinning = apart(),
                Mechanism::ReceiveBuffer { bytes } => {
                    spec.socket.receive_buffer_bytes = Some(bytes);
                }
                Mechanism::SendBuffer { bytes } => spec.socket.send_buffer_bytes = Some(bytes),
                Mechanism::SlowReader { pause } => {
                    spec.imitation = Some(Imitation::slow_receiver(pause));
                    if self.transport == Transport::Tcp {
                        spec.work.set_payload(READ);
                    }
                }
                _ => {}
            }
        }
        spec
    }

    fn sender(&self) -> HostId {
        match self.direction {
            Direction::Reverse => HostId::B,
            _ => HostId::A,
        }
    }

    fn around(&self, test: Test) -> Scene {
        let mut way = LinkConfig {
            delay: self.delay,
            ..LinkConfig::default()
        };
        let back = way.clone();
        for mechanism in &self.mechanisms {
            match *mechanism {
                Mechanism::Link { rate, queue } => {
                    (way.rate, way.queue_bytes) = (Some(rate), queue);
                }
                Mechanism::Policer { rate, bucket } => {
                    (way.rate, way.queue_bytes, way.police) = (Some(rate), bucket, true);
                }
                Mechanism::Loss { share } => way.loss = Ratio::clamped(share),
                _ => {}
            }
        }
        let (a_to_b, b_to_a) = match self.sender() {
            HostId::A => (way, back),
            HostId::B => (back, way),
        };
        let link = Link::Element {
            a_to_b: Box::new(a_to_b),
            b_to_a: Box::new(b_to_a),
            mtu: 1500,
        };
        self.mechanisms
            .iter()
            .fold(Scene::over(link, test), |scene, mechanism| {
                self.disturbed(scene, *mechanism)
            })
    }

    fn disturbed(&self, scene: Scene, mechanism: Mechanism) -> Scene {
        match mechanism {
            Mechanism::Busy { side, loops } => {
                let is_here = (side == Side::Sender) == (self.sender() == HostId::A);
                scene.busy(if is_here { 0 } else { last_core() }, loops)
            }
            Mechanism::OwnShaper { rate, queue } => {
                // A bucket that is filled at each of the kernel's ticks, of which there may be a hundred a second.
                let burst = (rate.bps() / 8 / 100).max(3100);
                let words = format!(
                    "qdisc add dev eth0 root tbf rate {}bit burst {burst} limit {}",
                    rate.bps(),
                    queue.get()
                );
                let words = words.split_whitespace().map(str::to_owned).collect();
                scene.step(Step::Program(Place::Host(self.sender()), "tc", words))
            }
            Mechanism::Quota { share, .. } => Scene {
                peer: PeerAddress::Quota(share),
                ..scene
            },
            Mechanism::Rivals { flows } => scene.rivals(flows),
            _ => scene,
        }
    }
}

/// Which mechanism, before its strength is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Link,
    Policer,
    OwnShaper,
    Loss,
    Quota,
    BusySender,
    BusyReceiver,
    ReceiveBuffer,
    SendBuffer,
    SlowReader,
    Rivals,
}

impl Kind {
    /// Those that can hold back this traffic.
    fn of(transport: Transport, direction: Direction, delay: Duration) -> Vec<Self> {
        let mut kinds = vec![
            Self::Link,
            Self::Policer,
            Self::OwnShaper,
            Self::Loss,
            Self::Quota,
            Self::BusySender,
            Self::BusyReceiver,
            Self::SlowReader,
        ];
        match transport {
            Transport::Tcp if delay >= LONG => {
                kinds.extend([Self::ReceiveBuffer, Self::SendBuffer]);
            }
            Transport::Tcp => {}
            Transport::Udp => kinds.push(Self::ReceiveBuffer),
        }
        if transport == Transport::Tcp && direction == Direction::Forward {
            kinds.push(Self::Rivals);
        }
        kinds
    }

    /// Whether the two are made by the same part of the scene.
    fn excludes(self, other: Self) -> bool {
        let group = |kind: Self| match kind {
            Self::Link | Self::Policer => 0,
            Self::Quota | Self::BusySender | Self::BusyReceiver => 1,
            _ => 2,
        };
        group(self) == group(other) && group(self) < 2
    }

    fn draw(
        self,
        draw: &mut Draw,
        (transport, direction): (Transport, Direction),
        (rate, delay): (f64, Duration),
    ) -> Mechanism {
        let near = |draw: &mut Draw| rate * draw.between(0.6, 1.6);
        let bytes = |value: f64| ByteCount::from_f64(value.max(7_570.0));
        let product = rate / 8.0 * delay.as_secs_f64() * 2.0;
        match self {
            Self::Link => Mechanism::Link {
                rate: BitRate::from_f64(near(draw)),
                queue: bytes(product.max(15_000.0) * draw.between(0.2, 8.0)),
            },
            Self::Policer => Mechanism::Policer {
                rate: BitRate::from_f64(near(draw)),
                bucket: bytes(draw.between(10_000.0, 150_000.0)),
            },
            Self::OwnShaper => Mechanism::OwnShaper {
                rate: BitRate::from_f64(near(draw)),
                queue: bytes(draw.between(15_000.0, 300_000.0)),
            },
            Self::Loss => Mechanism::Loss {
                share: draw.between(0.001, 0.05),
            },
            Self::Quota => Mechanism::Quota {
                side: if direction == Direction::Reverse {
                    Side::Sender
                } else {
                    Side::Receiver
                },
                share: draw.between(0.02, 0.2),
            },
            Self::BusySender => Mechanism::Busy {
                side: Side::Sender,
                loops: 2 + draw.0.below(8),
            },
            Self::BusyReceiver => Mechanism::Busy {
                side: Side::Receiver,
                loops: 2 + draw.0.below(8),
            },
            Self::ReceiveBuffer => Mechanism::ReceiveBuffer {
                bytes: match transport {
                    Transport::Tcp => bytes(product * draw.between(0.4, 3.0)),
                    Transport::Udp => bytes(draw.between(7_570.0, 60_000.0)),
                },
            },
            Self::SendBuffer => Mechanism::SendBuffer {
                bytes: bytes(product * draw.between(0.4, 3.0)),
            },
            Self::SlowReader => {
                let read = match transport {
                    Transport::Tcp => READ.as_f64(),
                    Transport::Udp => DATAGRAM,
                };
                Mechanism::SlowReader {
                    pause: Duration::from_secs_f64(read * 8.0 / near(draw)),
                }
            }
            Self::Rivals => Mechanism::Rivals {
                flows: 1 + u32::try_from(draw.0.below(6)).unwrap_or(0),
            },
        }
    }
}

struct Draw(Random);

impl Draw {
    fn chance(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }

    /// Logarithmically uniform.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.0.unit())
    }
}

/// What a short test carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Carried {
    /// L4 payload.
    pub(crate) bps: f64,
    /// Of datagrams.
    pub(crate) loss: f64,
}

impl Carried {
    pub(crate) fn of(trial: &Trial) -> Self {
        Self {
            bps: trial.received_rate.map_or(0.0, BitRate::as_f64),
            loss: trial.loss_ratio().map_or(0.0, Ratio::get),
        }
    }
}
