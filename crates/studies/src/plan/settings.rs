//! The settings that a plan knows; they are called as on the command line.

use crate::run::{
    LatencyPlan, Mode, OpenLoop, RequestRate, SaturatePlan, parse_delay_goal, parse_pinning,
};
use linerate_model::run::Asked;
use linerate_model::spec::{
    Arrival, DEFAULT_ANSWER_TIMEOUT, Direction, Imitation, Pace, Stop, TestSpec, Transport,
    WorkloadId, validate,
};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, PacketRate, Ratio};
use linerate_peers::Tests;
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
}

/// How messages are asked.
#[derive(Default)]
struct MessageDraft {
    transport: Option<Transport>,
    mode: Option<Mode>,
    /// One after the other if absent.
    rate: Option<PacketRate>,
    arrival: Option<Arrival>,
    answer_timeout: Option<Duration>,
}

pub(super) const KIND: &str = "kind";
const BULK: &[TestKind] = &[TestKind::Tcp, TestKind::Udp, TestKind::Saturate];
const SINGLE: &[TestKind] = &[TestKind::Tcp, TestKind::Udp];
const SEARCH: &[TestKind] = &[TestKind::Saturate];
const TIMED: &[TestKind] = &[TestKind::Tcp, TestKind::Udp, TestKind::Latency];
const ASKED: &[TestKind] = &[TestKind::Latency];

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

/// Every setting, in the order that errors list them.
pub(super) static ALL: &[Setting] = &[
    Setting {
        key: KIND,
        takes: "`tcp`, `udp`, `latency`, `saturate`",
        usual: "needed",
        kinds: &TestKind::ALL,
        apply: |_, _| Ok(()),
    },
    Setting {
        key: "time",
        takes: "`2s`, `500ms`",
        usual: "`10s`, latency `1s`",
        kinds: TIMED,
        apply: |d, v| set(&mut d.spec.stop, duration(v).map(Stop::After)),
    },
    Setting {
        key: "warm-up",
        takes: "time sent first without counting",
        usual: "`0s`",
        kinds: TIMED,
        apply: |d, v| set(&mut d.spec.warm_up, duration(v)),
    },
    Setting {
        key: "interval",
        takes: "reporting interval",
        usual: "`1s`",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.interval, duration(v)),
    },
    Setting {
        key: "rate",
        takes: "bit/s of L4 payload (`10M`) or `max`; latency: requests per second, an open loop",
        usual: "tcp `max`; udp needed; latency: one after the other",
        kinds: TIMED,
        apply: |d, v| match &mut d.asked {
            Some(asked) => set(&mut asked.rate, read(v).map(Some)),
            None => pace(v).map(|pace| d.spec.work.set_pace(pace)),
        },
    },
    Setting {
        key: "payload",
        takes: "bytes: datagram, write or message",
        usual: "1448, tcp `128K`, latency 32",
        kinds: &TestKind::ALL,
        apply: |d, v| read(v).map(|size| d.spec.work.set_payload(size)),
    },
    Setting {
        key: "direction",
        takes: "`forward`, `reverse`, `duplex` (not saturate)",
        usual: "`forward`",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.direction, named(v)),
    },
    Setting {
        key: "streams",
        takes: "1 to 128",
        usual: "1",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.streams, read(v)),
    },
    Setting {
        key: "workload",
        takes: "id of a [workload](workloads.md)",
        usual: "`bulk`, `datagrams`",
        kinds: SINGLE,
        apply: |d, v| set(&mut d.spec.workload, Ok(WorkloadId::new(v))),
    },
    Setting {
        key: "wait",
        takes: "`block`, `spin`, `busy-poll`; latency: any of [its modes](latency.md)",
        usual: "`block`",
        kinds: TIMED,
        apply: |d, v| match &mut d.asked {
            Some(asked) => set(&mut asked.mode, read(v).map(Some)),
            None => set(&mut d.spec.wait, named(v)),
        },
    },
    Setting {
        key: "transport",
        takes: "`udp`, `tcp`",
        usual: "`udp`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().transport, named(v).map(Some)),
    },
    Setting {
        key: "arrival",
        takes: "with `rate`: `constant`, `poisson`",
        usual: "`constant`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().arrival, named(v).map(Some)),
    },
    Setting {
        key: "answer-timeout",
        takes: "with `rate`: time",
        usual: "`1s`",
        kinds: ASKED,
        apply: |d, v| set(&mut d.asked().answer_timeout, duration(v).map(Some)),
    },
    Setting {
        key: "datapath",
        takes: "`sockets`, `sockets,gso=true,gro=true`, `io-uring`, `af-xdp`",
        usual: "`sockets`",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.datapath, read(v)),
    },
    Setting {
        key: "congestion",
        takes: "`cubic`, `reno`, `bbr`: what both hosts have",
        usual: "the system's",
        kinds: &[TestKind::Tcp],
        apply: |d, v| {
            set(
                &mut d.spec.socket.congestion_control,
                Ok(Some(v.to_owned())),
            )
        },
    },
    Setting {
        key: "send-buffer",
        takes: "bytes (`256K`)",
        usual: "the system's",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.socket.send_buffer_bytes, read(v).map(Some)),
    },
    Setting {
        key: "receive-buffer",
        takes: "bytes",
        usual: "the system's",
        kinds: BULK,
        apply: |d, v| set(&mut d.spec.socket.receive_buffer_bytes, read(v).map(Some)),
    },
    Setting {
        key: "min",
        takes: "lowest load to try",
        usual: "`1M`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.min_load, read(v)),
    },
    Setting {
        key: "max",
        takes: "highest load to try",
        usual: "`10G`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.max_load, read(v)),
    },
    Setting {
        key: "width",
        takes: "how close the bounds shall be",
        usual: "`0.5%`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.width, read::<Ratio>(v)),
    },
    Setting {
        key: "budget",
        takes: "most trial time",
        usual: "`60s`",
        kinds: SEARCH,
        apply: |d, v| set(&mut d.search.budget, duration(v)),
    },
    Setting {
        key: "pace",
        takes: "the same as `rate` of tcp",
        usual: "`max`",
        kinds: &[TestKind::Tcp],
        apply: |d, v| pace(v).map(|pace| d.spec.work.set_pace(pace)),
    },
    Setting {
        key: "reverse",
        takes: "`true`: the peer sends",
        usual: "`false`",
        kinds: BULK,
        apply: |d, v| d.turn(v, Direction::Reverse),
    },
    Setting {
        key: "duplex",
        takes: "`true`: both ends send at once",
        usual: "`false`",
        kinds: SINGLE,
        apply: |d, v| d.turn(v, Direction::Duplex),
    },
    Setting {
        key: "sizes",
        takes: "bytes of a message, one size per cell: make it a factor",
        usual: "32",
        kinds: ASKED,
        apply: |d, v| read(v).map(|size| d.spec.work.set_payload(size)),
    },
    Setting {
        key: "cpu",
        takes: "cores of the traffic threads: `LOCAL,REMOTE`, either may be empty",
        usual: "not pinned",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.spec.pinning, parse_pinning(v)),
    },
    Setting {
        key: "receiver-pause",
        takes: "time that the receiver pauses after each read; the server must allow it",
        usual: "none",
        kinds: BULK,
        apply: |d, v| {
            let slow = duration(v).map(|pause| Some(Imitation::slow_receiver(pause)));
            set(&mut d.spec.imitation, slow)
        },
    },
    Setting {
        key: "observe",
        takes: "`counters`, `none`; tcp, udp and latency also `all`, a sampled profile",
        usual: "`counters`",
        kinds: &TestKind::ALL,
        apply: |d, v| set(&mut d.spec.observe, named(v)),
    },
    Setting {
        key: "loss-goal",
        takes: "a loss ratio (`0.1%`), or several (`0,0.1%`); the study averages the first",
        usual: "`0,0.1%,0.5%`",
        kinds: SEARCH,
        apply: |d, v| {
            let goals = v.split(',').map(|goal| read(goal.trim()));
            set(&mut d.search.loss_goals, goals.collect())
        },
    },
    Setting {
        key: "delay-goal",
        takes: "delay that every goal must also meet: `p99<2ms`",
        usual: "none",
        kinds: SEARCH,
        apply: |d, v| {
            let goal = parse_delay_goal(v).map_err(|error| error.message);
            set(&mut d.search.delay_goal, goal.map(Some))
        },
    },
];

/// A setting, its value, and where the value stands.
type Given = (&'static Setting, String, usize);

impl Test {
    /// The test of these values, or what is wrong and, if one value is, where it stands.
    pub(super) fn from_values(values: &[Given]) -> Result<Self, (Option<usize>, String)> {
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
        let test = draft.finish(kind).map_err(|why| (None, why))?;
        test.check().map_err(|why| (None, why))?;
        Ok(test)
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

    /// How long it takes at most, without what is between two tests.
    pub(super) fn time(&self) -> Duration {
        let one = |spec: &TestSpec| match spec.stop {
            Stop::After(time) => time + spec.warm_up,
            Stop::Bytes(_) | Stop::Transactions(_) => spec.warm_up,
        };
        match self {
            Self::Single(spec) => one(spec),
            Self::Latency(plan) => plan.specs().iter().map(one).sum(),
            Self::Saturate(plan) => plan.budget,
        }
    }

    /// What a run says was asked for.
    pub(super) fn asked(&self) -> Asked {
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

    fn asked(&mut self) -> &mut MessageDraft {
        self.asked.get_or_insert_default()
    }

    fn finish(self, kind: TestKind) -> Result<Test, String> {
        let Self {
            spec,
            search,
            asked,
        } = self;
        if let Some(asked) = asked {
            return asked.of(&spec).map(Test::Latency);
        }
        Ok(match kind {
            TestKind::Saturate if spec.direction == Direction::Duplex => {
                return Err(
                    "a search goes one direction at a time: make direction a factor".to_owned(),
                );
            }
            TestKind::Saturate => Test::Saturate(SaturatePlan { spec, ..search }),
            TestKind::Latency | TestKind::Tcp | TestKind::Udp => Test::Single(spec),
        })
    }
}

impl MessageDraft {
    /// The ping-pong `spec`, asked so.
    fn of(self, spec: &TestSpec) -> Result<LatencyPlan, String> {
        if self.rate.is_none() && (self.arrival.is_some() || self.answer_timeout.is_some()) {
            return Err("arrival and answer-timeout require rate".to_owned());
        }
        let usual = LatencyPlan::from_spec(spec);
        Ok(LatencyPlan {
            transport: self.transport.unwrap_or(usual.transport),
            modes: self.mode.map_or(usual.modes, |mode| vec![mode]),
            open: self.rate.map(|rate| OpenLoop {
                rate: RequestRate::At(rate),
                arrival: self.arrival.unwrap_or_default(),
                answer_timeout: self.answer_timeout.unwrap_or(DEFAULT_ANSWER_TIMEOUT),
            }),
            ..usual
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
