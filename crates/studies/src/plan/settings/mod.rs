//! The settings that a plan knows; they are called as on the command line.

mod messages;
mod table;

pub(super) use table::ALL;

use crate::run::{LatencyPlan, SaturatePlan};
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::BitRate;
use linerate_model::link::EmulatedLink;
use linerate_model::run::Asked;
use linerate_model::spec::{Direction, Observe, Pace, Stop, TestSpec, Transport, validate};
use linerate_model::units::parse_duration;
use linerate_peers::Tests;
use linerate_stacks::StackSpec;
use linerate_testbed::LinkConfig;
use messages::MessageDraft;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// What a cell measures.
#[derive(Debug, Clone)]
pub enum Test {
    /// One test.
    Single(TestSpec),
    /// Ping-pong at one message size.
    Latency(LatencyPlan),
    /// A search.
    Saturate(SaturatePlan),
}

/// A key of a plan.
pub(super) struct Setting {
    pub(super) key: &'static str,
    /// What it takes, for the reference.
    pub(super) takes: &'static str,
    /// What it is without the key, for the reference.
    pub(super) usual: &'static str,
    /// The kinds of test that it applies to.
    pub(super) kinds: &'static [TestKind],
    apply: fn(&mut Draft, &str) -> Result<(), String>,
}

/// A test in the making.
struct Draft {
    spec: TestSpec,
    search: SaturatePlan,
    /// For kind latency: what its tests have beside.
    asked: Option<MessageDraft>,
    /// For the other kinds: how long to look for what limits.
    diagnose: Duration,
    ip: IpChoice,
    host: Option<PeerAddress>,
    link: Option<EmulatedLink>,
    stack: Option<StackSpec>,
    /// Options of the stack that are settings of their own.
    stack_options: Vec<(&'static str, String)>,
}

/// What a cell measures and where, and how long it then looks for what limits.
pub(super) struct Measured {
    pub(super) test: Test,
    pub(super) diagnose: Duration,
    pub(super) ip: IpChoice,
    /// Its own peer; `None`: the study's is measured.
    pub(super) host: Option<PeerAddress>,
    /// The link element before it while it is measured; `None` leaves its link as it is.
    pub(super) link: Option<EmulatedLink>,
    /// What is started for it in place of a peer.
    pub(super) stack: Option<StackSpec>,
}

pub(super) const KIND: &str = "kind";
pub(super) const HOST: &str = "host";
pub(super) const STACK: &str = "stack";
/// Settings that change what is measured and are in no test.
pub(super) const BESIDE: [&str; 15] = [
    "curve",
    "decompose",
    "diagnose",
    HOST,
    "ip",
    "link",
    "link-delay",
    "link-queue",
    "load",
    "responder-stall",
    "rpm",
    STACK,
    "stack-api",
    "stack-buffers",
    "stack-opt",
];

/// Longest IP packet on the link of an emulated board.
const BOARD_MTU: u32 = 1500;

/// What a cell measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TestKind {
    Tcp,
    Udp,
    Latency,
    Saturate,
}

impl TestKind {
    pub(super) const ALL: [Self; 4] = [Self::Tcp, Self::Udp, Self::Latency, Self::Saturate];

    /// Its name in plans.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Latency => "latency",
            Self::Saturate => "saturate",
        }
    }

    /// The test that its settings change.
    fn spec(self) -> TestSpec {
        match self {
            Self::Tcp => TestSpec::tcp_bulk(),
            Self::Udp | Self::Saturate => TestSpec::udp_datagrams(Pace::Unpaced),
            Self::Latency => TestSpec::ping_pong(Transport::Udp),
        }
    }
}

/// Names of kinds, as errors list them.
fn names(kinds: &[TestKind]) -> String {
    let names: Vec<_> = kinds.iter().map(|kind| kind.as_str()).collect();
    names.join(", ")
}

/// A setting, its value, and where the value stands.
pub(super) type Given = (&'static Setting, String, usize);

impl Test {
    /// The test of these values, or what is wrong and, if one value is, where it stands.
    pub(super) fn from_values(values: &[Given]) -> Result<Measured, (Option<usize>, String)> {
        let kind = values.iter().find(|(setting, ..)| setting.key == KIND);
        let Some((_, name, at)) = kind else {
            return Err((None, format!("give a kind: {}", names(&TestKind::ALL))));
        };
        let mut kinds = TestKind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.as_str() == name).ok_or_else(|| {
            let known = names(&TestKind::ALL);
            (Some(*at), format!("kind = {name}: must be one of {known}"))
        })?;
        let spec = kind.spec();
        let mut draft = Draft {
            search: SaturatePlan::new(spec.clone()),
            asked: (kind == TestKind::Latency).then(MessageDraft::default),
            diagnose: Duration::ZERO,
            ip: IpChoice::Any,
            host: None,
            link: None,
            stack: None,
            stack_options: Vec::new(),
            spec,
        };
        for (setting, value, at) in values {
            apply(&mut draft, kind, setting, value)
                .map_err(|why| (Some(*at), format!("{} = {value}: {why}", setting.key)))?;
        }
        if kind == TestKind::Udp && !values.iter().any(|(setting, ..)| setting.key == "rate") {
            let why = "kind udp needs a rate such as 10M, or max for unpaced";
            return Err((Some(*at), why.to_owned()));
        }
        if !values.iter().any(|(setting, ..)| setting.key == "interval") {
            draft.spec.fit_interval();
        }
        let (diagnose, ip, host) = (draft.diagnose, draft.ip, draft.host.clone());
        let link = draft.checked_link().map_err(|why| (None, why))?;
        let stack = draft.whole_stack().map_err(|why| (None, why))?;
        let test = draft.finish(kind, values).map_err(|why| (None, why))?;
        test.check().map_err(|why| (None, why))?;
        Ok(Measured {
            test,
            diagnose,
            ip,
            host,
            link,
            stack,
        })
    }

    /// Whether what it is made of can be.
    fn check(&self) -> Result<(), String> {
        let specs = match self {
            Self::Single(spec) | Self::Saturate(SaturatePlan { spec, .. }) => vec![spec.clone()],
            Self::Latency(plan) => plan.specs(),
        };
        specs.iter().try_for_each(|spec| {
            validate(spec).map_err(|error| {
                let (setting, value, valid) = (error.setting(), &error.value, &error.valid);
                format!("{setting} = {value}: must be {valid}")
            })
        })
    }

    /// Whether it has trials of this direction.
    pub(crate) fn has(&self, direction: Direction) -> bool {
        match self {
            Self::Single(spec) | Self::Saturate(SaturatePlan { spec, .. }) => {
                spec.direction == direction || spec.direction == Direction::Duplex
            }
            Self::Latency(_) => direction == Direction::Forward,
        }
    }

    /// How long it takes at most, without what is between two tests.
    pub(super) fn time(&self) -> Duration {
        let one = |spec: &TestSpec| match spec.stop {
            Stop::After(time) => time + spec.warm_up,
            Stop::Bytes(_) | Stop::Transactions(_) => spec.warm_up,
        };
        match self {
            Self::Single(spec) => one(spec),
            Self::Latency(plan) => {
                let again = u32::from(plan.load.is_some()) + u32::from(plan.decompose);
                plan.specs().iter().map(one).sum::<Duration>() * (1 + again)
            }
            Self::Saturate(plan) => plan.budget,
        }
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self) -> Asked {
        match self {
            Self::Single(spec) => Asked::Test { test: spec.clone() },
            Self::Latency(plan) => plan.asked(Tests::Many),
            Self::Saturate(plan) => plan.asked(),
        }
    }
}

impl Draft {
    /// `reverse = true`; two of them that say different things are refused.
    fn turn(&mut self, value: &str, to: Direction) -> Result<(), String> {
        match (value, self.spec.direction) {
            ("false", _) => Ok(()),
            ("true", Direction::Forward) => {
                self.spec.direction = to;
                Ok(())
            }
            ("true", already) if already == to => Ok(()),
            ("true", _) => Err("another key already says which way".to_owned()),
            _ => Err("must be true or false".to_owned()),
        }
    }

    /// The link element, which a setting of it makes.
    fn link(&mut self) -> &mut EmulatedLink {
        self.link.get_or_insert_default()
    }

    /// The same, if it can be before a board.
    fn checked_link(&self) -> Result<Option<EmulatedLink>, String> {
        let check = |link: EmulatedLink| LinkConfig::from(link).check(BOARD_MTU).map(|()| link);
        let checked = self.link.map(check).transpose();
        checked.map_err(|error| error.to_string())
    }

    /// The stack with the options that are settings of their own.
    fn whole_stack(&self) -> Result<Option<StackSpec>, String> {
        let mut options = self.stack_options.iter();
        let Some(stack) = &self.stack else {
            return match options.next() {
                Some((name, _)) => Err(format!("stack-{name} requires stack")),
                None => Ok(None),
            };
        };
        let whole = options.try_fold(stack.clone(), |stack, (name, value)| {
            stack.with(name, value)
        });
        whole.map(Some)
    }

    fn asked(&mut self) -> &mut MessageDraft {
        self.asked.get_or_insert_default()
    }

    fn finish(self, kind: TestKind, values: &[Given]) -> Result<Test, String> {
        let Self {
            spec,
            search,
            asked,
            ..
        } = self;
        if let Some(asked) = asked {
            let has = |key: &str| values.iter().any(|(setting, ..)| setting.key == key);
            return asked.of(&spec, &has).map(Test::Latency);
        }
        Ok(match kind {
            TestKind::Saturate if spec.direction == Direction::Duplex => {
                return Err(
                    "a search goes one direction at a time: make direction a factor".to_owned(),
                );
            }
            TestKind::Saturate => {
                // Of a search one trial of its own is sampled.
                let observe = match spec.observe {
                    Observe::All if search.profile => Observe::Counters,
                    other => other,
                };
                let spec = TestSpec { observe, ..spec };
                Test::Saturate(SaturatePlan { spec, ..search })
            }
            TestKind::Latency | TestKind::Tcp | TestKind::Udp => Test::Single(spec),
        })
    }
}

fn apply(draft: &mut Draft, kind: TestKind, setting: &Setting, value: &str) -> Result<(), String> {
    if !setting.kinds.contains(&kind) {
        return Err(format!(
            "does not apply to kind {}, only to {}",
            kind.as_str(),
            names(setting.kinds)
        ));
    }
    (setting.apply)(draft, value)
}

fn set<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A kebab-case name, as in the run document.
fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(json!(text)).map_err(|error| error.to_string())
}

/// `true` or `false`.
fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "must be true or false".to_owned())
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

fn pace(text: &str) -> Result<Pace, String> {
    match text {
        "max" => Ok(Pace::Unpaced),
        _ => read::<BitRate>(text)
            .map(Pace::At)
            .map_err(|error| format!("{error}, and not `max`")),
    }
}
