//! A test in the making, which options change one by one.

use super::TestKind;
use crate::run::{
    After, DeviceDraft, LatencyPlan, OpenLoop, RequestRate, SaturatePlan, Sending, SwitchPlan, Test,
};
use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::BitRate;
use linerate_model::link::EmulatedLink;
use linerate_model::spec::{
    Arrival, CatchUp, ConnectionClose, Direction, FlowLoad, MAX_THREADS, Observe, Pace,
    ShortConnections, SizeDistribution, SocketChoice, Stop, TestSpec, TestWork, Transport,
};
use linerate_model::units::parse_duration;
use linerate_stacks::StackSpec;
use linerate_testbed::LinkConfig;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt::Display;
use std::num::NonZero;
use std::str::FromStr;
use std::time::Duration;

/// A test, and what is asked for beside it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The test.
    pub test: Test,
    /// What follows it.
    pub after: After,
    /// Whether it is made in one direction after the other.
    pub both: bool,
    /// Where a plan has it made.
    pub place: Place,
}

/// Where a test is made, as far as that is not the study's.
#[derive(Debug, Clone, Default)]
pub struct Place {
    /// IP versions to use.
    pub ip: IpChoice,
    /// The peer.
    pub host: Option<PeerAddress>,
    /// The link element before it while it is measured; `None` leaves its link as it is.
    pub link: Option<EmulatedLink>,
    /// What is started in place of a peer.
    pub stack: Option<StackSpec>,
}

/// Longest IP packet on the link of an emulated board.
const BOARD_MTU: u32 = 1500;

#[derive(Debug)]
pub(super) struct Draft {
    pub(super) spec: TestSpec,
    pub(super) time: Duration,
    pub(super) interval: Option<Duration>,
    /// The load of each stream, as iperf has it.
    pub(super) each: Option<BitRate>,
    /// Whether connections are opened in place of a transfer.
    pub(super) connects: bool,
    /// Connections that are held open in place of a transfer.
    pub(super) held_open: Option<u32>,
    /// What is exchanged on each of them.
    pub(super) exchange: ShortConnections,
    /// Sizes of flows in place of a transfer.
    pub(super) flow_sizes: Option<SizeDistribution>,
    /// Rate of the path of these flows.
    pub(super) link_rate: Option<BitRate>,
    /// Their load.
    pub(super) flow_load: LoadChoice,
    pub(super) search: SaturatePlan,
    pub(super) device: DeviceDraft,
    pub(super) messages: LatencyPlan,
    /// Requests at a rate; `None`: one message after the other.
    pub(super) rate: Option<RequestRate>,
    pub(super) arrival: Arrival,
    pub(super) answer_timeout: Duration,
    pub(super) after: After,
    pub(super) both: bool,
    pub(super) place: Place,
    /// Options of the stack that are settings of their own.
    pub(super) stack_options: Vec<(&'static str, String)>,
}

impl Draft {
    pub(super) fn new(kind: TestKind) -> Self {
        let spec = match kind {
            TestKind::Tcp => TestSpec::tcp_bulk(),
            // A search would take what is made up for as a rate that the sender can offer.
            TestKind::Saturate | TestKind::Switch => TestSpec::udp_datagrams(Pace::Unpaced),
            TestKind::Udp => TestSpec {
                catch_up: CatchUp::Stall,
                ..TestSpec::udp_datagrams(Pace::Unpaced)
            },
            TestKind::Latency => TestSpec::ping_pong(Transport::Udp),
        };
        let messages = LatencyPlan {
            sizes: Vec::new(),
            rounds: None,
            ..LatencyPlan::from_spec(&TestSpec::ping_pong(Transport::Udp))
        };
        Self {
            time: Duration::ZERO,
            interval: None,
            each: None,
            connects: false,
            held_open: None,
            exchange: TestSpec::tcp_crr()
                .work
                .connections()
                .cloned()
                .unwrap_or_default(),
            flow_sizes: None,
            link_rate: None,
            flow_load: LoadChoice::Share(0.5),
            search: SaturatePlan::new(spec.clone()),
            device: DeviceDraft::default(),
            messages,
            rate: None,
            arrival: Arrival::default(),
            answer_timeout: Duration::ZERO,
            after: After::default(),
            both: false,
            place: Place::default(),
            stack_options: Vec::new(),
            spec,
        }
    }

    /// Whether it is what one cell of a study measures.
    pub(super) fn check_cell(&self) -> Result<(), String> {
        let several = [
            self.messages.sizes.len(),
            self.messages.modes.len(),
            self.device.frame_sizes.len(),
            self.device.methods.len(),
        ];
        if several.into_iter().any(|values| values > 1) {
            return Err("a cell has one of them: make it a factor".to_owned());
        }
        Ok(())
    }

    pub(super) fn finish(mut self, kind: TestKind) -> Result<Request, String> {
        self.place.link = self.link()?;
        self.place.stack = self.stack()?;
        Ok(Request {
            after: self.after,
            both: self.both,
            place: self.place.clone(),
            test: match kind {
                TestKind::Tcp | TestKind::Udp => Test::Single(self.single()),
                TestKind::Saturate => Test::Saturate(self.search()?),
                TestKind::Latency => Test::Latency(self.latency()?),
                TestKind::Switch => Test::Switch(self.switch()?),
            },
        })
    }

    fn single(mut self) -> TestSpec {
        if let Some((sizes, ideal)) = self.flow_sizes.take().zip(self.link_rate) {
            let load = match self.flow_load {
                LoadChoice::Rate(rate) => rate,
                LoadChoice::Share(share) => BitRate::from_f64(ideal.as_f64() * share),
            };
            return self.flows(FlowLoad { sizes, load, ideal });
        }
        if self.connects || self.held_open.is_some() {
            return self.connections();
        }
        let mut spec = self.spec;
        if let Some(each) = self.each {
            let total = each.bps().saturating_mul(u64::from(spec.streams));
            spec.work.set_pace(match total {
                0 => Pace::Unpaced,
                total => Pace::At(BitRate::from_bps(total)),
            });
        }
        if spec.streams > MAX_THREADS {
            spec.threads.get_or_insert_with(usual_threads);
        }
        timed(spec, self.time, self.interval)
    }

    /// Flows of given sizes, on few threads: a stream is a thread.
    fn flows(self, flows: FlowLoad) -> TestSpec {
        let (spec, short) = (self.spec, TestSpec::short_flows(flows));
        let spec = TestSpec {
            workload: short.workload,
            work: short.work,
            streams: spec.threads.unwrap_or_else(usual_threads),
            threads: None,
            ..spec
        };
        timed(spec, self.time, self.interval)
    }

    /// Connections, many at once on few threads: a stream is a thread.
    fn connections(self) -> TestSpec {
        let (spec, mut work) = (self.spec, self.exchange);
        work.concurrent = self.held_open.unwrap_or_else(|| spec.streams.into());
        if self.held_open.is_some() {
            work.close = ConnectionClose::Hold;
        }
        let all = u16::try_from(work.concurrent).unwrap_or(u16::MAX);
        let crr = TestSpec::tcp_crr();
        let spec = TestSpec {
            workload: crr.workload,
            work: TestWork::Connections(work),
            streams: spec.threads.unwrap_or_else(|| usual_threads().min(all)),
            threads: None,
            socket: SocketChoice {
                no_delay: crr.socket.no_delay,
                ..spec.socket
            },
            ..spec
        };
        timed(spec, self.time, self.interval)
    }

    fn search(self) -> Result<SaturatePlan, String> {
        let mut spec = self.spec;
        if spec.direction == Direction::Duplex {
            let why = "a search goes one direction at a time: leave out --duplex, or search both with --both; in a plan make direction a factor";
            return Err(why.to_owned());
        }
        // The trials of the search are as light as any other: the sampling is a trial of its own.
        let profile = spec.observe == Observe::All;
        spec.observe = spec.observe.min(Observe::Counters);
        Ok(SaturatePlan {
            spec,
            profile,
            ..self.search
        })
    }

    fn switch(self) -> Result<SwitchPlan, String> {
        let (device, both) = (self.device.clone(), self.both);
        let direction = self.spec.direction;
        let mut one_way = self;
        one_way.spec.direction = Direction::Forward;
        device.plan(one_way.search()?, direction, both)
    }

    fn latency(self) -> Result<LatencyPlan, String> {
        let (spec, messages) = (self.spec, self.messages);
        let sending = self.rate.map_or(messages.sending, |rate| {
            Sending::AtRate(OpenLoop {
                rate,
                arrival: self.arrival,
                answer_timeout: self.answer_timeout,
            })
        });
        let is_in_turns =
            messages.wrap.is_some() || messages.rounds.is_some_and(|rounds| rounds > 1);
        if sending != Sending::InTurn && is_in_turns {
            let why = "requests at a rate are measured at once and as they are: leave out wrap and rounds, or rate, curve and rpm";
            return Err(why.to_owned());
        }
        Ok(LatencyPlan {
            pinning: spec.pinning,
            time: self.time,
            warm_up: spec.warm_up,
            observe: spec.observe,
            seed: spec.seed,
            sending,
            ..messages
        })
    }

    /// The link element, if it can be before a board.
    fn link(&self) -> Result<Option<EmulatedLink>, String> {
        let check = |link: EmulatedLink| LinkConfig::from(link).check(BOARD_MTU).map(|()| link);
        let checked = self.place.link.map(check).transpose();
        checked.map_err(|error| error.to_string())
    }

    /// The stack with the options that are settings of their own.
    fn stack(&self) -> Result<Option<StackSpec>, String> {
        let Some(stack) = self.place.stack.clone() else {
            return Ok(None);
        };
        let mut options = self.stack_options.iter();
        let whole = options.try_fold(stack, |stack, (name, value)| stack.with(name, value));
        whole.map(Some)
    }
}

/// Load of flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum LoadChoice {
    /// L4 payload.
    Rate(BitRate),
    /// A share of the path's rate: 0.5.
    Share(f64),
}

impl FromStr for LoadChoice {
    type Err = String;

    /// `50%` or `500M`.
    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.strip_suffix('%') else {
            return read(text).map(Self::Rate);
        };
        let percent: f64 = read(percent.trim_end())?;
        if percent > 0.0 && percent <= 1000.0 {
            Ok(Self::Share(percent / 100.0))
        } else {
            Err("a share is above 0 % and at most 1000 %".to_owned())
        }
    }
}

/// Threads that share streams unless a test says: one per core of this host.
fn usual_threads() -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    u16::try_from(cores).unwrap_or(MAX_THREADS).min(MAX_THREADS)
}

fn timed(mut spec: TestSpec, time: Duration, interval: Option<Duration>) -> TestSpec {
    spec.stop = Stop::After(time);
    match interval {
        Some(interval) => spec.interval = interval,
        None => spec.fit_interval(),
    }
    spec
}

pub(super) fn set<T>(place: &mut T, value: Result<T, String>) -> Result<(), String> {
    *place = value?;
    Ok(())
}

pub(super) fn read<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// A kebab-case name, as in the run document.
pub(super) fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(json!(text)).map_err(|error| error.to_string())
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

pub(super) fn pace(text: &str) -> Result<Pace, String> {
    match text {
        "max" => Ok(Pace::Unpaced),
        _ => match text.parse::<BitRate>() {
            Ok(rate) if rate.bps() > 0 => Ok(Pace::At(rate)),
            Ok(_) => Err("a rate of 0 sends nothing; say `max` for unpaced".to_owned()),
            Err(error) => Err(format!("{error}, and not `max`")),
        },
    }
}
