//! `linerate latency`: messages by size and wait mode, idle and under load, one at a time or at a rate.

mod bounds;
mod load;
mod loaded;
mod modes;
mod open;
mod order;
mod parts;
mod responsive;
mod turns;
mod wrap;

pub use bounds::{Iterations, parse_percentile};
pub use load::Load;
pub use modes::{Mode, NamedMode};
pub use open::{OpenLoop, RequestRate, USUAL_RISING, parse_rising, parse_stall};
pub use wrap::{CHILD, Wrap, serve_turns};

use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::Measurement;
use anyhow::Result;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{ExchangeConditions, Run, RunKind, RunRequest};
use linerate_model::spec::{
    ClosedLoop, Imitation, Observe, Pinning, Stall, Stop, TestSpec, TestWork, TransactionBounds,
    Transport,
};
use linerate_model::{ByteCount, Quantile, Ratio};
use linerate_peers::{PeerKind, Tests};
use std::fmt;
use std::path::Path;
use std::time::Duration;
use turns::Bench;
use wrap::Wrapped;

/// What to measure.
#[derive(Debug, Clone)]
pub struct LatencyPlan {
    /// Transport of the messages.
    pub transport: Transport,
    /// Message sizes.
    pub sizes: Vec<ByteCount>,
    /// Ways to wait of both ends, measured in turns.
    pub modes: Vec<Mode>,
    /// Cores of the traffic threads.
    pub pinning: Pinning,
    /// Time per size and mode.
    pub time: Duration,
    /// Time before that is counted.
    pub warm_up: Duration,
    /// Traffic under which everything is measured again.
    pub load: Option<Load>,
    /// How much both ends look at their hosts.
    pub observe: Observe,
    /// When messages are sent.
    pub sending: Sending,
    /// A peer that stands still at regular intervals.
    pub stall: Option<Stall>,
    /// Whether each point is measured once more with the kernel's stamps, which take its round trips apart.
    pub decompose: bool,
    /// Turns that each size and mode is measured in, which share its time; `None`: as many as make sense.
    pub rounds: Option<u32>,
    /// Seed of the order of the turns.
    pub seed: u64,
    /// A program under which every mode is measured again.
    pub wrap: Option<Wrap>,
    /// Quantiles of delay to list.
    pub percentiles: Vec<Quantile>,
    /// Bounds by number of messages, per size and mode.
    pub transactions: TransactionBounds,
}

/// When the messages of a latency measurement are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sending {
    /// One after the answer to the other.
    InTurn,
    /// Requests at a rate.
    AtRate(OpenLoop),
    /// One after the other while TCP streams fill the path: round trips per minute.
    Responsiveness,
}

/// One of the ways that each size is measured in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModeVariant {
    pub(crate) mode: Mode,
    /// Whether the asking end runs under the wrapper.
    pub(crate) is_wrapped: bool,
}

impl fmt::Display for ModeVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrapped = if self.is_wrapped { ", wrapped" } else { "" };
        write!(f, "{}{wrapped}", self.mode)
    }
}

impl ModeVariant {
    /// What a trial says of how it was measured.
    fn conditions(&self, load: Option<Load>) -> ExchangeConditions {
        ExchangeConditions {
            mode: self.mode.label().to_owned(),
            wait: self.mode.wait(),
            datapath: self.mode.datapath().id.clone(),
            wrapped: self.is_wrapped,
            load: load.map(|load| load.to_string()),
        }
    }
}

/// Most sizes of one list.
const MAX_SIZES: usize = 1000;

/// Message sizes: the id of a protocol whose own client measures a list of them, `64`, all from `1-8`, in steps `64-256+64`, or by a factor `1-1Kx2`.
pub fn sizes(texts: &[String], transport: Transport) -> Result<Vec<ByteCount>, Failure> {
    let mut all = Vec::new();
    for text in texts {
        if let Some(kind) = kinds_with_a_list().find(|kind| kind.id() == text) {
            all.extend(kind.usual_sizes(transport));
            continue;
        }
        let list = range(text).ok_or_else(|| {
            let message = format!(
                "give a size such as 64 or 1K, sizes such as 1-8, 64-256+64 or 1-1Kx2 (at most {MAX_SIZES}), or {}",
                kinds_with_a_list().map(PeerKind::id).collect::<Vec<_>>().join(" or ")
            );
            Failure::new(ExitCode::Usage, message)
        })?;
        all.extend(list.into_iter().map(ByteCount::new));
    }
    Ok(all)
}

/// The protocols whose own clients measure more than one size.
fn kinds_with_a_list() -> impl Iterator<Item = &'static dyn PeerKind> {
    let all = linerate_peers::ALL.iter().copied();
    all.filter(|kind| kind.usual_sizes(Transport::Tcp).len() > 1)
}

/// The sizes of one element; `None` if it is none, or they never end.
fn range(text: &str) -> Option<Vec<u64>> {
    let size = |text: &str| text.parse().ok().map(ByteCount::get);
    let Some((low, rest)) = text.split_once('-') else {
        return Some(vec![size(text)?]);
    };
    let (high, add, times) = match (rest.split_once('+'), rest.split_once('x')) {
        (Some((high, step)), None) => (high, step.parse().ok()?, 1),
        (None, Some((high, factor))) => (high, 0, factor.parse().ok()?),
        (None, None) => (rest, 1, 1),
        _ => return None,
    };
    let (low, high): (u64, u64) = (size(low)?, size(high)?);
    let next = |size: &u64| size.checked_mul(times)?.checked_add(add);
    let grows = next(&low).is_some_and(|next| next > low);
    let list: Vec<u64> = std::iter::successors(Some(low), next)
        .take_while(|size| *size <= high)
        .take(MAX_SIZES + 1)
        .collect();
    (grows && !list.is_empty() && list.len() <= MAX_SIZES).then_some(list)
}

impl LatencyPlan {
    /// The ping-pong of one test, idle.
    pub(crate) fn from_spec(spec: &TestSpec) -> Self {
        Self {
            transport: spec.transport(),
            sizes: vec![spec.payload()],
            modes: vec![Mode::from_spec(spec)],
            pinning: spec.pinning,
            time: match spec.stop {
                Stop::After(time) => time,
                Stop::Bytes(_) | Stop::Transactions(_) => Duration::from_secs(1),
            },
            warm_up: spec.warm_up,
            load: None,
            observe: spec.observe,
            sending: Sending::InTurn,
            stall: None,
            decompose: false,
            rounds: Some(1),
            seed: spec.seed,
            wrap: None,
            percentiles: [0.99, 0.999].map(|q| Quantile(Ratio::clamped(q))).to_vec(),
            transactions: spec.work.transactions(),
        }
    }

    /// Takes the sizes of the peer's own client where none is asked for.
    pub fn measure_at(&mut self, far: &PeerAddress) {
        if self.sizes.is_empty() {
            self.sizes = far.usual_sizes(self.transport);
        }
    }

    /// Names the program that a wrapper starts, and the file of the key that it shows the peer.
    pub fn wrap_program(&mut self, program: &Path, key_file: Option<&Path>) {
        if let Some(wrap) = &mut self.wrap {
            program.clone_into(&mut wrap.program);
            wrap.key_file = key_file.map(Path::to_owned);
        }
    }

    /// What a run says was asked for.
    pub(crate) fn asked(&self, tests: Tests) -> RunRequest {
        RunRequest::Latency {
            test: self.specs().into_iter().next(),
            modes: self
                .modes
                .iter()
                .map(|mode| mode.label().to_owned())
                .collect(),
            rounds: self.rounds_with(tests),
            percentiles: self.percentiles.clone(),
            wrap: self.wrap.as_ref().map(Wrap::text),
        }
    }

    /// Every way to measure a size.
    pub(crate) fn ways(&self) -> Vec<ModeVariant> {
        let wrapped = [false, true]
            .into_iter()
            .take(1 + usize::from(self.wrap.is_some()));
        let both = |mode: &Mode| {
            let way = |is_wrapped| ModeVariant {
                mode: mode.clone(),
                is_wrapped,
            };
            wrapped.clone().map(way).collect::<Vec<_>>()
        };
        self.modes.iter().flat_map(both).collect()
    }

    /// Turns of each size and mode with a peer of this kind.
    fn rounds_with(&self, tests: Tests) -> u32 {
        let cells = self.sizes.len() * self.ways().len();
        if self.sending != Sending::InTurn {
            return 1;
        }
        self.rounds
            .unwrap_or_else(|| order::usual_rounds(cells, self.time, tests))
    }

    /// Requests at a rate, if that is how they are sent.
    fn open(&self) -> Option<OpenLoop> {
        match self.sending {
            Sending::AtRate(open) => Some(open),
            Sending::InTurn | Sending::Responsiveness => None,
        }
    }

    /// The tests that it is made of, without the load.
    pub fn specs(&self) -> Vec<TestSpec> {
        let ways = self.ways();
        let each = |&size: &ByteCount| ways.iter().map(move |way| spec(self, size, way));
        self.sizes.iter().flat_map(each).collect()
    }
}

/// Measures latency against `target`.
pub fn latency(context: &mut Context<'_>, target: &Target, plan: &LatencyPlan) -> Result<Run> {
    check(target, plan)?;
    let mut client = Client::connect(target)?;
    parts::check(plan, &client)?;
    let mut bench = Bench {
        wrapped: plan.wrap.as_ref().map(Wrapped::start).transpose()?,
        target,
        client: &mut client,
        taken: 0,
    };
    let header = Header {
        kind: RunKind::Latency,
        title: format!("{} latency to {}", plan.transport, target.far),
        target: Some(target.config()),
        asked: plan.asked(bench.client.tests()),
        hosts: bench.hosts(),
    };
    let mut recorder = Recorder::begin(context, header)?;
    recorder.list_quantiles(&plan.percentiles);
    recorder.run_mut().instance = bench.client.instance();
    recorder.run_mut().notes.extend(bench.notes(plan));
    if plan.sending == Sending::Responsiveness {
        let mut run = Measurement {
            context,
            recorder: &mut recorder,
            client: bench.client,
        };
        responsive::responsiveness(&mut run, target, plan)?;
        return Ok(recorder.finish(context));
    }
    sweep(context, &mut recorder, &mut bench, plan, None)?;
    if let Some(load) = plan.load.filter(|_| !context.interrupted()) {
        loaded::under_load(context, &mut recorder, &mut bench, plan, load)?;
    }
    Ok(recorder.finish(context))
}

/// What cannot be, before anybody is asked.
fn check(target: &Target, plan: &LatencyPlan) -> Result<(), Failure> {
    let kind = target.far.kind();
    let alone = kind.about().tests == Tests::Alike;
    if plan.load.is_some() && alone {
        let message = format!(
            "{} carries no load beside its messages: leave --load out, or measure `linerate serve` there",
            kind.id()
        );
        return Err(Failure::new(ExitCode::Usage, message));
    }
    if plan.wrap.is_some() && alone {
        let message = format!(
            "{} serves one client and ends, so a wrapped and an unwrapped one cannot take turns: leave --wrap out, or measure `linerate serve` there",
            kind.id()
        );
        return Err(Failure::new(ExitCode::Usage, message));
    }
    for mode in &plan.modes {
        mode.check_host()?;
    }
    if plan.sending != Sending::InTurn {
        OpenLoop::check(target, plan)?;
    }
    Ok(())
}

/// Every size in every way: at loads that rise, or in turns.
fn sweep(
    context: &mut Context<'_>,
    recorder: &mut Recorder,
    bench: &mut Bench<'_>,
    plan: &LatencyPlan,
    load: Option<Load>,
) -> Result<()> {
    match plan.open().filter(OpenLoop::rises) {
        Some(open) => {
            let mut run = Measurement {
                context,
                recorder,
                client: bench.client,
            };
            open::curves(&mut run, plan, open, load)
        }
        None => turns::sweep(context, recorder, bench, plan, load),
    }
}

/// `32 B, spin, 1000/s, idle`.
fn label(spec: &TestSpec, way: &ModeVariant, load: Option<Load>) -> String {
    let condition = load.map_or_else(|| "idle".to_owned(), |load| format!("under {load}"));
    let size = spec.payload().get();
    match &spec.work {
        TestWork::OpenLoop(open) => {
            let rate = open::per_second(open.rate, open.arrival);
            format!("{size} B, {way}, {rate}, {condition}")
        }
        _ => format!("{size} B, {way}, {condition}"),
    }
}

fn spec(plan: &LatencyPlan, size: ByteCount, way: &ModeVariant) -> TestSpec {
    let spec = TestSpec {
        imitation: plan.stall.map(Imitation::StallingResponder),
        work: TestWork::ClosedLoop(ClosedLoop {
            message: size,
            transactions: plan.transactions,
            ..ClosedLoop::new(plan.transport)
        }),
        stop: Stop::After(plan.time),
        warm_up: plan.warm_up,
        wait: way.mode.wait(),
        datapath: way.mode.datapath().clone(),
        pinning: plan.pinning,
        observe: plan.observe,
        seed: plan.seed,
        ..TestSpec::ping_pong(plan.transport)
    };
    match plan.open() {
        None => spec,
        Some(open) => open.apply(spec),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_alone_in_steps_and_by_a_factor() {
        let of = |text: &str| -> Vec<u64> {
            let texts: Vec<String> = text.split(',').map(str::to_owned).collect();
            let all = sizes(&texts, Transport::Udp).unwrap();
            all.into_iter().map(ByteCount::get).collect()
        };
        assert_eq!(of("0,64"), [0, 64]);
        assert_eq!(of("1-4"), [1, 2, 3, 4]);
        assert_eq!(of("64-256+96"), [64, 160, 256]);
        assert_eq!(of("1-1Kx4"), [1, 4, 16, 64, 256, 1024]);
        assert_eq!(of("sfnt,7")[..3], [0, 1, 2]);
        assert_eq!(
            of("sfnt,7")[12..],
            [1472, 1473, 2048, 4096, 8192, 16384, 32768, 7]
        );
        for wrong in [
            "", "x", "4-1", "1-9+0", "1-9x1", "0-9x2", "1-1M", "1-2-3", "1-8+1x2",
        ] {
            let error = sizes(&[wrong.to_owned()], Transport::Udp).unwrap_err();
            assert!(error.message.contains("1-1Kx2"), "{wrong}: {error}");
        }
    }
}
