//! A scene is what one cell builds, as a value: hosts, what joins them, what disturbs them, and the test.

use linerate_model::spec::{Direction, Pace, Pinning, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_studies::run::SaturatePlan;
use linerate_testbed::{HostId, Link, LinkConfig};
use std::time::Duration;

/// Two hosts, what joins and disturbs them, and what is run between them.
pub(crate) struct Scene {
    pub(crate) link: Link,
    /// In order, before the test.
    pub(crate) setup: Vec<Step>,
    /// Cores with a busy loop each; a core named twice has two.
    pub(crate) busy: Vec<u32>,
    /// TCP flows of others from host A to host B, from before the test until after it.
    pub(crate) rivals: u32,
    pub(crate) peer: PeerAddress,
    /// Whether the peer speaks iperf3's protocol instead of linerate's own.
    pub(crate) foreign: bool,
    pub(crate) test: Test,
}

/// What is run, as the command line would.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// `linerate saturate`.
    Search(Box<SaturatePlan>),
    /// `linerate tcp` or `linerate udp`.
    Single(Box<TestSpec>),
}

/// Where the peer runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PeerAddress {
    /// On a thread of this process.
    Thread,
    /// In a process of its own whose control group may use this share of one core.
    Quota(f64),
}

/// Something done before the test.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Another MTU for one host's interface.
    Mtu(HostId, u32),
    /// A program with its arguments.
    Program(Place, &'static str, Vec<String>),
    /// A sysctl of the whole machine; put back afterwards, whatever happens.
    MachineSysctl(&'static str, String),
}

/// A network namespace of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Host(HostId),
    Router,
}

impl Scene {
    pub(crate) fn over(link: Link, test: Test) -> Self {
        Self {
            link,
            setup: Vec::new(),
            busy: Vec::new(),
            rivals: 0,
            peer: PeerAddress::Thread,
            foreign: false,
            test,
        }
    }

    /// The link element, both directions alike.
    pub(crate) fn shaped(config: LinkConfig, test: Test) -> Self {
        Self::over(Link::symmetric(config), test)
    }

    /// A router between the hosts.
    pub(crate) fn routed(test: Test) -> Self {
        Self::over(Link::Routed { mtu: 1500 }, test)
    }

    /// A veth pair.
    pub(crate) fn direct(test: Test) -> Self {
        Self::over(Link::Direct { mtu: 1500 }, test)
    }

    /// Runs `tc` with these words.
    pub(crate) fn tc(self, place: Place, words: &str) -> Self {
        let words = words.split_whitespace().map(str::to_owned).collect();
        self.step(Step::Program(place, "tc", words))
    }

    /// Gives `nft` this rule for packets that the router forwards.
    pub(crate) fn nft_forward(self, rule: &str) -> Self {
        let script = format!(
            "add table inet lab; add chain inet lab way {{ type filter hook forward priority 0; }}; add rule inet lab way {rule}"
        );
        self.step(Step::Program(Place::Router, "nft", vec![script]))
    }

    pub(crate) fn step(mut self, step: Step) -> Self {
        self.setup.push(step);
        self
    }

    /// `loops` busy loops on `core`.
    pub(crate) fn busy(mut self, core: u32, loops: usize) -> Self {
        self.busy.extend(std::iter::repeat_n(core, loops));
        self
    }

    pub(crate) fn rivals(mut self, flows: u32) -> Self {
        self.rivals = flows;
        self
    }

    pub(crate) fn foreign(mut self) -> Self {
        self.foreign = true;
        self
    }

    pub(crate) fn quota(mut self, share: f64) -> Self {
        self.peer = PeerAddress::Quota(share);
        self
    }
}

impl Test {
    /// A search for zero loss up to `max`, coarse enough for a few seconds.
    pub(crate) fn search(max: BitRate) -> Self {
        Self::search_with(max, |_| {})
    }

    /// A search for zero loss up to `max` with something changed in its plan.
    pub(crate) fn search_with(max: BitRate, change: impl FnOnce(&mut SaturatePlan)) -> Self {
        let mut plan = SaturatePlan {
            loss_goals: vec![Ratio::ZERO],
            min_load: mbit(1),
            max_load: max,
            width: Ratio::clamped(0.05),
            budget: Duration::from_secs(4),
            ..SaturatePlan::new(TestSpec::udp_datagrams(Pace::Unpaced))
        };
        change(&mut plan);
        Self::Search(Box::new(plan))
    }

    /// One UDP stream at `load` for two seconds.
    pub(crate) fn udp(load: BitRate, change: impl FnOnce(&mut TestSpec)) -> Self {
        let mut spec = TestSpec {
            stop: Stop::After(Duration::from_secs(2)),
            interval: Duration::from_millis(500),
            ..TestSpec::udp_datagrams(Pace::At(load))
        };
        change(&mut spec);
        Self::Single(Box::new(spec))
    }

    /// One TCP stream for two and a half seconds, with CUBIC, whatever this machine's default: what
    /// loss and reordering do depends on it.
    pub(crate) fn tcp(change: impl FnOnce(&mut TestSpec)) -> Self {
        let mut spec = TestSpec {
            stop: Stop::After(Duration::from_millis(2500)),
            interval: Duration::from_millis(250),
            ..TestSpec::tcp_bulk()
        };
        spec.socket.congestion_control = Some("cubic".to_owned());
        change(&mut spec);
        Self::Single(Box::new(spec))
    }
}

pub(crate) const fn mbit(n: u64) -> BitRate {
    BitRate::from_bps(n * 1_000_000)
}

pub(crate) const fn kib(n: u64) -> ByteCount {
    ByteCount::new(n * 1024)
}

/// A line of `rate` with the default queue.
pub(crate) fn line(rate: BitRate) -> LinkConfig {
    LinkConfig {
        rate: Some(rate),
        ..LinkConfig::default()
    }
}

/// The sender's traffic thread on core 0, the receiver's on core 1 where there are two.
pub(crate) fn apart() -> Pinning {
    Pinning {
        local: Some(0),
        remote: Some(last_core()),
    }
}

/// The last core that this process may use.
pub(crate) fn last_core() -> u32 {
    let cores = linerate_sys::affinity::allowed_cores().unwrap();
    *cores.last().unwrap()
}

/// The peer sends.
pub(crate) fn reverse(spec: &mut TestSpec) {
    spec.direction = Direction::Reverse;
}
