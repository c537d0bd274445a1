//! Scenes composed at random: several mechanisms at once, each with a strength of its own, and traffic of either kind.
//!
//! What limits such a scene is not declared but measured: each mechanism is taken away in turn, and what raises the
//! rate is a limit. A scene is its seed and its number; the same two give the same scene for ever.

mod draw;
mod situations;

use crate::scene::{PeerAddress, Place, Scene, Step, Test, apart, kib, last_core};
use linerate_model::run::Run;
use linerate_model::spec::{Direction, Imitation, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::SaturatePlan;
use linerate_testbed::link::Transport as Filtered;
use linerate_testbed::{HostId, Link, LinkConfig, Outage, PacketFilter, PacketList};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One thing that may hold traffic back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Mechanism {
    /// Busy loops on the core of one side's traffic thread.
    Busy { side: Side, loops: usize },
    /// Of every so many data packets the first few are lost.
    BurstLoss { lost: u64, period: u64 },
    /// A line with a queue before it.
    Link { rate: BitRate, queue: ByteCount },
    /// Packets lost by chance.
    Loss { share: f64 },
    /// A path that no packet longer than this gets through.
    MtuHole { bytes: u32 },
    /// A link that fails again and again.
    Outage { every: Duration, length: Duration },
    /// A shaper on the sender's own interface.
    OwnShaper { rate: BitRate, queue: ByteCount },
    /// A rate that is kept only after so much has passed at any, with a queue before it.
    Bucket { rate: BitRate, bytes: ByteCount },
    /// A smaller MTU behind the first hop, of which ICMP tells.
    SmallMtu { bytes: u32 },
    /// A line with a queue that holds a small part of what a round trip takes.
    ShortQueue { rate: BitRate, queue: ByteCount },
    /// A rate above which packets are dropped at once.
    Policer { rate: BitRate, bucket: ByteCount },
    /// A CPU quota of the process at the peer, which sends or receives.
    Quota { side: Side, share: f64 },
    /// A small receive buffer: TCP's window, or the room for datagrams.
    ReceiveBuffer { bytes: ByteCount },
    /// Packets moved back behind so many later ones.
    Reordering { share: f64, displacement: u32 },
    /// A line with a queue on the way back.
    ReturnLink { rate: BitRate, queue: ByteCount },
    /// Packets lost by chance on the way back.
    ReturnLoss { share: f64 },
    /// TCP flows of others through the same link.
    Rivals { flows: u32 },
    /// A small send buffer.
    SendBuffer { bytes: ByteCount },
    /// An application that rests after each read.
    SlowReader { pause: Duration },
    /// An application that rests after each write.
    SlowSender { pause: Duration },
}

/// What a verdict must say of a limit, by its id in the table of counts; several where each is right, joined by
/// [`OR`](crate::replay::OR).
pub(crate) type Expected = &'static str;

/// What limits where nothing between the hosts does.
pub(crate) const HOSTS: Expected =
    "intended-load or sender-cpu or receiver-cpu or receiver-socket or receiver-backlog or tool";

/// Shortest outage of datagrams and of a byte stream that is one by the verdict's own definition; shorter ones are loss.
const LEAST_OUTAGE: [Duration; 2] = [Duration::from_millis(300), Duration::from_secs(1)];

impl Mechanism {
    /// What limits where this does.
    fn expected(self, transport: Transport) -> Expected {
        let is_tcp = transport == Transport::Tcp;
        match self {
            Self::Busy { side, .. } | Self::Quota { side, .. } => match side {
                Side::Sender => "sender-cpu",
                Side::Receiver => "receiver-cpu",
            },
            // The rate is kept by a queue that is full from then on.
            Self::Bucket { .. } => "link or policer",
            Self::ShortQueue { .. } if is_tcp => "link or congestion",
            Self::Link { .. } | Self::ShortQueue { .. } => "link",
            Self::Outage { length, .. } if length >= LEAST_OUTAGE[usize::from(is_tcp)] => "outage",
            Self::Loss { .. } | Self::BurstLoss { .. } | Self::Outage { .. } => "path-loss",
            Self::MtuHole { .. } => "path-mtu",
            Self::ReturnLink { .. } | Self::ReturnLoss { .. } => "return-path",
            Self::OwnShaper { .. } => "own-shaper",
            Self::Policer { .. } => "policer",
            Self::ReceiveBuffer { .. } if is_tcp => "receiver-window",
            Self::ReceiveBuffer { .. } => "receiver-socket",
            Self::Reordering { .. } | Self::Rivals { .. } => "congestion",
            Self::SendBuffer { .. } => "sender-buffer",
            Self::SlowReader { .. } => "receiver-app",
            Self::SlowSender { .. } => "sender-app",
            Self::SmallMtu { .. } => HOSTS,
        }
    }
}

/// What makes the mechanisms of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PathKind {
    /// The link element, with a delay.
    Element,
    /// The kernel in a router between the hosts: queueing disciplines and packet filters, without a delay.
    Router,
    /// Nothing: one interface of each host, joined.
    Direct,
}

/// A scene as a value: what is drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Composed {
    pub(crate) transport: Transport,
    pub(crate) direction: Direction,
    /// Of TCP.
    pub(crate) congestion: String,
    pub(crate) path: PathKind,
    /// One way; the link element's.
    pub(crate) delay: Duration,
    /// Whether the peer speaks iperf3's protocol.
    pub(crate) foreign: bool,
    /// Of datagrams.
    pub(crate) load: BitRate,
    /// Datagrams are searched for their highest rate, not sent at one load.
    pub(crate) search: bool,
    pub(crate) mechanisms: Vec<Mechanism>,
}

/// Of the slow reader's reads, and of TCP's writes beside one.
const READ: ByteCount = ByteCount::new(16 * 1024);
/// Full packets of TCP and UDP are data.
const OF_ANY_TRANSPORT: PacketFilter = PacketFilter {
    transport: Filtered::Any,
    ..PacketFilter::UDP_DATA
};
/// More packets than a test sends.
const PACKETS: u64 = 400_000;
/// How long the kernel's own policer passes everything, at least.
const BUCKET: Duration = Duration::from_secs(2);
/// Of what shows in seconds only: two periods of an outage, and longer than any bucket lasts.
const LONG_TEST: Duration = Duration::from_secs(6);
/// Behind a bucket of tokens.
const BUCKET_QUEUE: ByteCount = kib(256);
/// Payload of a datagram.
const DATAGRAM: f64 = 1448.0;

impl Composed {
    /// Whether CPU time is part of it: it needs the machine for itself.
    pub(crate) fn is_of_cpu(&self) -> bool {
        let is_cpu = |mechanism: &Mechanism| {
            matches!(mechanism, Mechanism::Busy { .. } | Mechanism::Quota { .. })
        };
        self.mechanisms.iter().any(is_cpu)
    }

    /// Whether it has a mechanism that few scenes are limited by.
    pub(crate) fn is_rare(&self) -> bool {
        let is_rare = |mechanism: &Mechanism| {
            matches!(
                mechanism,
                Mechanism::ReceiveBuffer { .. }
                    | Mechanism::SendBuffer { .. }
                    | Mechanism::Rivals { .. }
            )
        };
        self.is_of_cpu() || self.mechanisms.iter().any(is_rare)
    }

    /// What limits where `mechanism` does, as far as linerate's own end can see it: a shaper in a host that tells nothing
    /// of itself is a part of the path.
    pub(crate) fn expected(&self, mechanism: Mechanism) -> Expected {
        let is_hidden = self.foreign && self.sender() == HostId::B;
        match mechanism {
            Mechanism::OwnShaper { .. } if is_hidden => "link",
            _ => mechanism.expected(self.transport),
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

    /// With a short test whose rate shows what taking a mechanism away does; a search is made again, since what keeps
    /// its goal from being met may be something else than what limits the rate.
    pub(crate) fn measured(&self) -> Scene {
        if self.search || self.takes_long() {
            return self.scene();
        }
        let mut spec = self.spec();
        spec.stop = Stop::After(Duration::from_millis(1500));
        if self.transport == Transport::Tcp {
            spec.warm_up += Duration::from_millis(500) + self.delay * 20;
        }
        if self.foreign {
            // iperf3 takes whole seconds.
            spec.warm_up = Duration::from_secs(spec.warm_up.as_secs() + 1);
        }
        self.around(Test::Single(Box::new(spec)))
    }

    /// Whether what it does shows in seconds only, and at the beginning of a test too.
    fn takes_long(&self) -> bool {
        let is_long = |mechanism: &Mechanism| match *mechanism {
            Mechanism::Bucket { .. } => true,
            Mechanism::Outage { every, .. } => every >= LONG_TEST / 2,
            _ => false,
        };
        self.mechanisms.iter().any(is_long)
    }

    /// Whether nothing that it has holds traffic back.
    pub(crate) fn is_free(&self) -> bool {
        let is_harmless = |mechanism: &Mechanism| matches!(mechanism, Mechanism::SmallMtu { .. });
        self.mechanisms.iter().all(is_harmless)
    }

    /// Whether the kernel's own policer is in the way, whose bucket holds a second of its rate.
    fn has_full_bucket(&self) -> bool {
        let is_policer = |mechanism: &Mechanism| matches!(mechanism, Mechanism::Policer { .. });
        self.path == PathKind::Router && self.mechanisms.iter().any(is_policer)
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
        if self.takes_long() {
            spec.stop = Stop::After(LONG_TEST);
        }
        if self.has_full_bucket() {
            spec.warm_up = BUCKET;
        }
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
                Mechanism::SlowSender { pause } => {
                    spec.imitation = Some(Imitation::SlowSender { pause });
                    spec.work.set_payload(READ);
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
        let mut scene = match self.path {
            PathKind::Element => Scene::over(self.element(), test),
            PathKind::Router => Scene::routed(test),
            PathKind::Direct => Scene::direct(test),
        };
        if self.foreign {
            scene = scene.foreign();
        }
        self.mechanisms.iter().fold(scene, |scene, mechanism| {
            let scene = self.disturbed(scene, *mechanism);
            match self.path {
                PathKind::Element | PathKind::Direct => scene,
                PathKind::Router => self.routed(scene, *mechanism),
            }
        })
    }

    /// The link element with every mechanism that it has.
    fn element(&self) -> Link {
        let mut way = LinkConfig {
            delay: self.delay,
            ..LinkConfig::default()
        };
        let mut back = way.clone();
        for mechanism in &self.mechanisms {
            match *mechanism {
                Mechanism::BurstLoss { lost, period } => {
                    let bursts = (1..PACKETS / period).map(|n| n * period + 1);
                    way.drop =
                        PacketList::from_numbers(bursts.flat_map(|first| first..first + lost));
                    way.filter = OF_ANY_TRANSPORT;
                }
                Mechanism::Link { rate, queue } | Mechanism::ShortQueue { rate, queue } => {
                    (way.rate, way.queue_bytes) = (Some(rate), queue);
                }
                Mechanism::Policer { rate, bucket } => {
                    (way.rate, way.queue_bytes, way.police) = (Some(rate), bucket, true);
                }
                Mechanism::Loss { share } => way.loss = Ratio::clamped(share),
                Mechanism::MtuHole { bytes } => way.mtu_cut_bytes = Some(bytes),
                Mechanism::Outage { every, length } => {
                    way.outage = Some(Outage { every, length });
                }
                Mechanism::Reordering {
                    share,
                    displacement,
                } => {
                    (way.reorder, way.displacement) = (Ratio::clamped(share), displacement);
                    way.filter = OF_ANY_TRANSPORT;
                }
                Mechanism::ReturnLink { rate, queue } => {
                    (back.rate, back.queue_bytes) = (Some(rate), queue);
                }
                Mechanism::ReturnLoss { share } => back.loss = Ratio::clamped(share),
                _ => {}
            }
        }
        let (a_to_b, b_to_a) = match self.sender() {
            HostId::A => (way, back),
            HostId::B => (back, way),
        };
        Link::Element {
            a_to_b: Box::new(a_to_b),
            b_to_a: Box::new(b_to_a),
            mtu: 1500,
        }
    }

    /// The router with one more mechanism of the path, on the way to the receiver.
    fn routed(&self, scene: Scene, mechanism: Mechanism) -> Scene {
        let interface = match self.sender() {
            HostId::A => "to-b",
            HostId::B => "to-a",
        };
        match mechanism {
            Mechanism::Link { rate, queue } => scene.tc(
                Place::Router,
                &format!("qdisc add dev {interface} {}", bucket_filter(rate, queue)),
            ),
            Mechanism::Bucket { rate, bytes } => scene.tc(
                Place::Router,
                &format!(
                    "qdisc add dev {interface} root tbf rate {}bit burst {} limit {}",
                    rate.bps(),
                    bytes.get(),
                    BUCKET_QUEUE.get()
                ),
            ),
            Mechanism::SmallMtu { bytes } => {
                let words = format!("link set dev {interface} mtu {bytes}");
                let words = words.split(' ').map(str::to_owned).collect();
                scene.step(Step::Program(Place::Router, "ip", words))
            }
            Mechanism::Policer { rate, bucket } => scene.nft_forward(&format!(
                "oifname {interface} limit rate over {} bytes/second burst {} bytes drop",
                rate.bps() / 8,
                bucket.get()
            )),
            Mechanism::Loss { share } => scene.nft_forward(&format!(
                "oifname {interface} numgen random mod 100000 < {:.0} drop",
                share * 1e5
            )),
            _ => scene,
        }
    }

    fn disturbed(&self, scene: Scene, mechanism: Mechanism) -> Scene {
        match mechanism {
            Mechanism::Busy { side, loops } => {
                let is_here = (side == Side::Sender) == (self.sender() == HostId::A);
                scene.busy(if is_here { 0 } else { last_core() }, loops)
            }
            Mechanism::OwnShaper { rate, queue } => {
                let words = format!("qdisc add dev eth0 {}", bucket_filter(rate, queue));
                scene.tc(Place::Host(self.sender()), &words)
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

/// The token bucket filter that keeps `rate`, as `tc` is told.
fn bucket_filter(rate: BitRate, queue: ByteCount) -> String {
    // A bucket that is filled at each of the kernel's ticks, of which there may be a hundred a second.
    let burst = (rate.bps() / 8 / 100).max(3100);
    let (rate, queue) = (rate.bps(), queue.get());
    format!("root tbf rate {rate}bit burst {burst} limit {queue}")
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
    /// By a search what it found, by any other test what arrived; `None` of a run without a trial.
    pub(crate) fn of(run: &Run) -> Option<Self> {
        let [goal] = run.goals() else {
            let trial = run.trials.first()?;
            return Some(Self {
                bps: trial.received_rate.map_or(0.0, BitRate::as_f64),
                loss: trial.loss_ratio().map_or(0.0, Ratio::get),
            });
        };
        // Where not even the least load met the goal, what is known is that less would.
        let below = || goal.upper_bound.map(|bound| bound.as_f64() / 2.0);
        let found = goal.lower_bound.map(BitRate::as_f64).or_else(below);
        Some(Self {
            bps: found.unwrap_or_default(),
            loss: 0.0,
        })
    }
}
