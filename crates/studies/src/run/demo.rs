//! `linerate demo`: the main job with nothing but this machine and no privileges.

use crate::context::Context;
use crate::recorder::{Header, Recorder};
use crate::run::{LatencyPlan, Load, SaturatePlan, diagnose, latency, saturate, single};
use crate::watch::ScaledWatcher;
use anyhow::{Context as _, Result};
use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::{DemoSettings, Run, RunKind, RunRequest};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, FrameOverhead, Layer};
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use std::time::Duration;

/// The two hosts' link.
#[derive(Debug, Clone, Copy)]
pub struct DemoPlan {
    /// Rate at L1, each direction.
    pub link_rate: BitRate,
    /// Delay, each direction.
    pub link_delay: Duration,
}

/// Time for probing what limits each TCP part.
const DIAGNOSIS_TIME: Duration = Duration::from_secs(4);

/// One part of the demo: its name and its share of the whole time.
struct Part {
    name: &'static str,
    seconds: f64,
    run: fn(&mut Context<'_>, &Target, &DemoPlan) -> Result<Run>,
}

/// The parts in order. The seconds are what each is planned to take; their sum stays under 90.
const PARTS: &[Part] = &[
    Part {
        name: "TCP to the peer",
        seconds: 10.0,
        run: |context, target, _| tcp(context, target, Direction::Forward),
    },
    Part {
        name: "TCP from the peer",
        seconds: 10.0,
        run: |context, target, _| tcp(context, target, Direction::Reverse),
    },
    Part {
        name: "UDP saturation to the peer",
        seconds: 24.0,
        run: |context, target, plan| search(context, target, plan, Direction::Forward),
    },
    Part {
        name: "UDP saturation from the peer",
        seconds: 24.0,
        run: |context, target, plan| search(context, target, plan, Direction::Reverse),
    },
    Part {
        name: "delay, idle and under TCP load",
        seconds: 10.0,
        run: |context, target, _| delay(context, target),
    },
];

/// Builds the two hosts, measures between them, takes them down.
///
/// The process must have entered its user namespace (`linerate_testbed::enter_user_namespace`).
pub fn demo(context: &mut Context<'_>, plan: &DemoPlan) -> Result<Run> {
    let shape = LinkConfig {
        rate: Some(plan.link_rate),
        delay: plan.link_delay,
        ..LinkConfig::default()
    };
    let hosts =
        TwoHosts::create(Link::symmetric(shape), 1).context("making two hosts of this machine")?;
    let agent = Agent::start_on(hosts.host(HostId::B), AgentPlan::private())?;
    hosts.host(HostId::A).enter()?;
    let target = Target::new(PeerAddress::parse(&format!(
        "{}:{}",
        hosts.host(HostId::B).ipv4(),
        agent.port()
    ))?);

    let result = measure_parts(context, &target, plan);
    agent.stop()?;
    hosts
        .close()
        .map_err(|errors| anyhow::anyhow!("taking the two hosts down: {errors:?}"))?;
    result
}

/// Runs every part; the calling thread is on host A.
fn measure_parts(context: &mut Context<'_>, target: &Target, plan: &DemoPlan) -> Result<Run> {
    let mut recorder = Recorder::begin(context, header(plan))?;
    let total: f64 = PARTS.iter().map(|part| part.seconds).sum();
    let mut before = 0.0;
    for part in PARTS {
        if context.interrupted() {
            break;
        }
        let mut watcher = ScaledWatcher {
            inner: &mut *context.watcher,
            name: part.name,
            offset: before / total,
            scale: part.seconds / total,
        };
        let mut inner = Context::of_part(&context.command, context.interrupt, &mut watcher);
        let mut run = (part.run)(&mut inner, target, plan)?;
        run.title = Some(part.name.to_owned());
        recorder.part(context, run);
        before += part.seconds;
    }
    let truth = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, plan.link_rate, 1448);
    recorder.run_mut().notes.push(format!(
        "both hosts are this machine and share its cores; the link between them carries {} at L1, which is {truth} of L4 payload in datagrams of 1448 bytes over IPv4",
        plan.link_rate
    ));
    Ok(recorder.finish(context))
}

fn header(plan: &DemoPlan) -> Header {
    Header {
        kind: RunKind::Demo,
        title: "two hosts on one machine".to_owned(),
        target: None,
        asked: RunRequest::Demo(DemoSettings {
            link_rate: plan.link_rate,
            link_layer: Layer::L1,
            link_delay: plan.link_delay,
        }),
        hosts: Vec::new(),
    }
}

fn tcp(context: &mut Context<'_>, target: &Target, direction: Direction) -> Result<Run> {
    let spec = TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(6)),
        interval: Duration::from_millis(500),
        ..TestSpec::tcp_bulk()
    };
    let run = single(context, target, &spec)?;
    Ok(diagnose(context, target, run, DIAGNOSIS_TIME))
}

fn search(
    context: &mut Context<'_>,
    target: &Target,
    plan: &DemoPlan,
    direction: Direction,
) -> Result<Run> {
    let spec = TestSpec {
        direction,
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let most = BitRate::from_bps(plan.link_rate.bps().saturating_mul(4));
    let search = SaturatePlan {
        max_load: most,
        budget: Duration::from_secs(24),
        ..SaturatePlan::new(spec)
    };
    let run = saturate(context, target, &search)?;
    Ok(diagnose(context, target, run, DIAGNOSIS_TIME))
}

fn delay(context: &mut Context<'_>, target: &Target) -> Result<Run> {
    let spec = TestSpec {
        stop: Stop::After(Duration::from_secs(2)),
        warm_up: Duration::from_millis(100),
        ..TestSpec::ping_pong(Transport::Udp)
    };
    let plan = LatencyPlan {
        sizes: vec![ByteCount::new(32), ByteCount::new(1448)],
        load: Some(Load {
            transport: Transport::Tcp,
            pace: Pace::Unpaced,
            direction: Direction::Forward,
        }),
        ..LatencyPlan::from_spec(&spec)
    };
    latency(context, target, &plan)
}
