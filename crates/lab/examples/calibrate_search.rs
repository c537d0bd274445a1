//! Searches for the capacity of a link of known rate, with one seed after the other, and prints what
//! each found: `cargo run --release -p linerate-lab --example calibrate_search [SEARCHES [LINK_RATE]]`.
#![expect(clippy::print_stdout, reason = "a program")]

use anyhow::{Context as _, Result};
use linerate_agent::{Agent, AgentPlan};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::GoalResult;
use linerate_model::spec::{Pace, TestSpec};
use linerate_model::{BitRate, Clock as _, FrameOverhead, Layer};
use linerate_studies::context::unattended;
use linerate_studies::run::{SaturatePlan, saturate};
use linerate_sys::clock::MonoClock;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts, enter_user_namespace};

const PAYLOAD: u64 = 1448;

fn main() -> Result<()> {
    enter_user_namespace()?;
    let mut arguments = std::env::args().skip(1);
    let searches: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let link: BitRate = arguments
        .next()
        .map_or(Ok(BitRate::from_bps(100_000_000)), |text| text.parse())?;
    let capacity = FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, link, PAYLOAD);
    println!("link {link} at L1, capacity {capacity} of L4 payload in datagrams of {PAYLOAD} B\n");
    println!(
        "| seed | zero-loss bounds against the capacity | width | holds it | trials | trial time | whole time |"
    );
    println!("|---|---|---|---|---|---|---|");

    let config = LinkConfig {
        rate: Some(link),
        ..LinkConfig::default()
    };
    let hosts = TwoHosts::create(Link::symmetric(config), 1)?;
    let far = hosts.host(HostId::B);
    let agent = Agent::start_on(far, AgentPlan::private())?;
    let target = Target::new(PeerAddress::parse(&format!(
        "{}:{}",
        far.ipv4(),
        agent.port()
    ))?);
    hosts.host(HostId::A).enter()?;
    let middles = (1..=searches)
        .map(|seed| search(&target, seed, link, capacity))
        .collect::<Result<Vec<_>>>()?;
    let (low, high) = middles
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), middle| {
            (low.min(*middle), high.max(*middle))
        });
    println!(
        "\nmiddles of the bounds spread over {:.3} % (n = {searches})",
        (high - low) * 100.0
    );
    agent.stop()?;
    hosts
        .close()
        .map_err(|errors| anyhow::anyhow!("{errors:?}"))
}

/// One search; returns the middle of its zero-loss bounds as a share of the capacity.
fn search(target: &Target, seed: u64, link: BitRate, capacity: BitRate) -> Result<f64> {
    let spec = TestSpec {
        seed,
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let plan = SaturatePlan {
        max_load: BitRate::from_bps(link.bps().saturating_mul(10)),
        budget: std::time::Duration::from_secs(30),
        ..SaturatePlan::new(spec)
    };
    let start = MonoClock.now();
    let run = unattended(|context| saturate(context, target, &plan))?;
    let whole = MonoClock.now().saturating_since(start);
    let goal = run.goals().first().context("a search has goals")?;
    let (lower, upper) = bounds(goal)?;
    let holds = lower <= capacity && capacity <= upper;
    let against = |bound: BitRate| (bound.as_f64() / capacity.as_f64() - 1.0) * 100.0;
    println!(
        "| {seed} | {:+.2} % / {:+.2} % | {:.2} % | {} | {} | {:.1} s | {:.1} s |",
        against(lower),
        against(upper),
        goal.width.map_or(f64::NAN, |width| width.get() * 100.0),
        if holds { "yes" } else { "no" },
        goal.trials,
        goal.time.as_secs_f64(),
        whole.as_secs_f64(),
    );
    Ok(f64::midpoint(lower.as_f64(), upper.as_f64()) / capacity.as_f64())
}

fn bounds(goal: &GoalResult) -> Result<(BitRate, BitRate)> {
    let lower = goal.lower_bound.context("no lower bound")?;
    Ok((lower, goal.upper_bound.context("no upper bound")?))
}
