//! Measures a link element whose delay is known, one way, and tests what was measured against it:
//! `cargo run --release -p linerate-lab --example calibrate_delay [PROBES]`.
//!
//! Fails if the measured delays do not follow the element's: Kolmogorov–Smirnov, false alarms 0.001 for each of
//! the three tests.
#![expect(clippy::print_stdout, reason = "a program")]

use anyhow::{Context as _, Result, ensure};
use linerate_agent::{Agent, AgentPlan};
use linerate_analysis::statistics::kolmogorov::{self, Distance};
use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::one_way::ClockMethod;
use linerate_model::spec::{Pace, Stop, TestSpec};
use linerate_model::{BitRate, ByteCount};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::link::Shaper;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts, enter_user_namespace};
use std::time::Duration;

/// Payload of a probe, and how many per second: 2.5 ms apart, so that none can overtake another, which the
/// element would not let it.
const PAYLOAD: u64 = 100;
const PER_SECOND: u64 = 400;

const DELAY: Duration = Duration::from_millis(10);
const JITTER: Duration = Duration::from_millis(1);

const SEED: u64 = 1;
const FALSE_ALARMS: f64 = 0.001;

/// Parts of each measurement. Both elements are measured in turns, part by part, so that what the machine does
/// to the one it does to the other.
const PARTS: u64 = 20;

fn main() -> Result<()> {
    enter_user_namespace()?;
    let probes = std::env::args().nth(1);
    let probes: u64 = probes.map_or(Ok(6000), |text| text.parse())?;
    let steady = LinkConfig {
        delay: DELAY,
        ..LinkConfig::default()
    };
    let jittery = LinkConfig {
        jitter: JITTER,
        ..steady.clone()
    };
    let elements = [Element::new(steady)?, Element::new(jittery.clone())?];
    let (mut noise, mut found) = (Vec::new(), Vec::new());
    for _ in 0..PARTS {
        noise.extend(elements[0].measured(probes.div_ceil(PARTS))?);
        found.extend(elements[1].measured(probes.div_ceil(PARTS))?);
    }
    let drawn: Vec<f64> = Shaper::drawn_delays(jittery, SEED, true)
        .take(found.len())
        .map(micros)
        .collect();
    let held = judge(&noise, &found, &drawn);
    for element in elements {
        element.close()?;
    }
    ensure!(
        held,
        "the measured delays are not those of the link element"
    );
    Ok(())
}

/// Two hosts with a link element between them, and linerate's server on the far one.
struct Element {
    hosts: TwoHosts,
    agent: Agent,
    target: Target,
}

impl Element {
    fn new(config: LinkConfig) -> Result<Self> {
        let hosts = TwoHosts::create(Link::symmetric(config), SEED)?;
        let far = hosts.host(HostId::B);
        let agent = Agent::start_on(far, AgentPlan::private())?;
        let address = format!("{}:{}", far.ipv4(), agent.port());
        let target = Target::new(PeerAddress::parse(&address)?);
        Ok(Self {
            hosts,
            agent,
            target,
        })
    }

    /// One-way delays of so many probes from the near host, microseconds, in no order.
    fn measured(&self, probes: u64) -> Result<Vec<f64>> {
        self.hosts.host(HostId::A).enter()?;
        measured(&self.target, probes)
    }

    fn close(self) -> Result<()> {
        self.agent.stop()?;
        let closed = self.hosts.close();
        closed.map_err(|errors| anyhow::anyhow!("{errors:?}"))
    }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn measured(target: &Target, probes: u64) -> Result<Vec<f64>> {
    let rate = BitRate::from_bps(PAYLOAD * 8 * PER_SECOND);
    let spec = TestSpec {
        stop: Stop::Transactions(probes),
        ..TestSpec::udp_datagrams(Pace::At(rate)).with_payload(ByteCount::new(PAYLOAD))
    };
    let run = unattended(|context| single(context, target, &spec))?;
    let trial = run.trials.first().context("a test has a trial")?;
    let one_way = trial.one_way().context("one way was measured")?;
    let clock = one_way.clock.context("the clocks are known")?;
    ensure!(
        clock.method == ClockMethod::CommonClock,
        "two namespaces read one clock"
    );
    let least = one_way.forward.as_ref().and_then(|delay| delay.min_ns);
    let least = micros(Duration::from_nanos(least.context("a smallest delay")?));
    let mut streams = trial.raw().iter().flat_map(|report| &report.streams);
    let pdv = streams.find_map(|stream| stream.work.times()?.pdv.as_ref());
    let pdv = pdv.context("delay variation was measured")?;
    let each = pdv.buckets().flat_map(|(above, count)| {
        let delay = least + micros(Duration::from_nanos(above));
        (0..count).map(move |_| delay)
    });
    Ok(each.collect())
}

/// Three tests; whether all of them hold.
fn judge(noise: &[f64], found: &[f64], drawn: &[f64]) -> bool {
    let (low, width) = (micros(DELAY) - micros(JITTER), 2.0 * micros(JITTER));
    let uniform = move |delay: f64| ((delay - low) / width).clamp(0.0, 1.0);
    let own: Vec<f64> = noise.iter().map(|delay| delay - micros(DELAY)).collect();
    let usual = quantile(&own, 0.5);
    let deviation = own.iter().map(|noise| (noise - usual).abs()).sum::<f64>() / float(own.len());
    // A distribution of this density moves by no more when such noise is added.
    let allowance = deviation / width;
    let moved: Vec<f64> = found.iter().map(|delay| delay - usual).collect();
    // Every draw with some noise: 7919 is prime, so each noise comes once before any comes again.
    let with_noise = |(index, delay): (usize, &f64)| delay + own[index * 7919 % own.len()];
    let expected: Vec<f64> = drawn.iter().enumerate().map(with_noise).collect();

    println!(
        "link element 10 ms ± 1 ms, {} probes one way, both ends read one clock",
        found.len()
    );
    println!(
        "element and hosts add {usual:.1} µs (median; mean deviation {deviation:.1} µs), measured at ± 0\n"
    );
    println!("| quantile | measured (µs) | drawn and noise (µs) | uniform and median noise (µs) |");
    println!("|---|---|---|---|");
    for q in [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99] {
        println!(
            "| {q} | {:.1} | {:.1} | {:.1} |",
            quantile(found, q),
            quantile(&expected, q),
            low + q * width + usual
        );
    }
    println!("\n| Kolmogorov–Smirnov, false alarms {FALSE_ALARMS} | distance | at most | holds |");
    println!("|---|---|---|---|");
    [
        (
            "what the element drew is uniform",
            kolmogorov::from_distribution(drawn, uniform),
            0.0,
        ),
        (
            "measured is drawn and noise",
            kolmogorov::between(found, &expected),
            0.0,
        ),
        (
            "measured less median noise is uniform",
            kolmogorov::from_distribution(&moved, uniform),
            allowance,
        ),
    ]
    .map(|(what, distance, allowance)| row(what, distance, allowance))
    .into_iter()
    .all(|holds| holds)
}

fn row(what: &str, distance: Option<Distance>, allowance: f64) -> bool {
    let Some(distance) = distance else {
        println!("| {what} | nothing came | | no |");
        return false;
    };
    let most = distance.critical(FALSE_ALARMS) + allowance;
    let holds = distance.statistic <= most;
    println!(
        "| {what} | {:.4} | {most:.4} | {} |",
        distance.statistic,
        if holds { "yes" } else { "no" }
    );
    holds
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index"
    )]
    let index = (float(last) * q).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "a count of probes")]
const fn float(count: usize) -> f64 {
    count as f64
}
