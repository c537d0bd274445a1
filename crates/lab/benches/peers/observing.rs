//! What observing costs: many tests of a second over one connection, alike but for what is observed.
//!
//! A test of whole processes is unlike the next by far more than two per cent (which pages, which
//! wake-ups), so tests of one session are compared instead, in rounds of random order: what
//! drifts is slower than a round. They are as long as the shortest tests of users: what is
//! opened and read once a test weighs as it does for them. Bulk traffic has both its ends on one core: what
//! observing takes from either is then missing from the traffic, and pairs spread by a tenth
//! instead of a quarter. A ping-pong spins, so its ends have a core each.

use crate::activity::{Activity, Measure, PAYLOAD, PING_BYTES};
use crate::goals::{BLIND, OWN, PROFILING, observing};
use crate::lab::Lab;
use crate::options::Options;
use crate::table::{Line, Results};
use anyhow::{Context as _, Result};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target, TestOutcome};
use linerate_model::ByteCount;
use linerate_model::random::Random;
use linerate_model::sample::StreamReport;
use linerate_model::spec::{
    Observe, Pace, Pinning, SocketChoice, Stop, TestSpec, Transport, WaitMode,
};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

/// Of each test.
const LENGTH: Duration = Duration::from_secs(1);
/// Before it: the window opens, the caches fill.
const WARM_UP: Duration = Duration::from_millis(30);
/// Readings of `TCP_INFO` are taken so often, four times as often as in a test of a user.
const INTERVAL: Duration = Duration::from_millis(250);
/// Tests of each kind for each round that was asked for.
const PER_ROUND: u32 = 3;

/// What is compared, by its name in the table.
const KINDS: [(&str, Observe); 3] = [
    (BLIND, Observe::None),
    (OWN, Observe::Counters),
    (PROFILING, Observe::All),
];

/// The rows of the table.
pub(crate) fn lines(program: &Path, lab: &Lab, options: &Options) -> Result<Vec<Line>> {
    let (address, port) = (lab.b().ipv4(), lab.port());
    let listen = format!("{address}:{port}");
    let words = [
        "serve",
        "--listen",
        &listen,
        "--allow-intrusive",
        "0.0.0.0/0",
    ]
    .map(str::to_owned);
    let server = lab.serve(program, &words, ("tcp", port))?;
    let target = Target::new(PeerAddress::parse(&listen)?);
    let (cores, rounds, seed) = (lab.cores, options.rounds * PER_ROUND, options.seed);
    let client = lab.a().spawn("observed", move || {
        let mut client = Client::connect(&target)?;
        measure(&mut client, cores, rounds, &mut Random::new(seed))
    })?;
    let results = client
        .join()
        .map_err(|_| anyhow::anyhow!("the client of the tests panicked"))?;
    server.stop()?;
    let results = results?;
    Ok(observing().iter().map(|goal| results.line(goal)).collect())
}

fn measure(
    client: &mut Client,
    cores: [u32; 2],
    rounds: u32,
    order: &mut Random,
) -> Result<Results> {
    let mut results = Results::default();
    for activity in [Activity::Tcp, Activity::Udp, Activity::PingPong] {
        drop(writeln!(
            std::io::stderr(),
            "{rounds} rounds of tests of {LENGTH:?}: {activity:?}"
        ));
        let mut kinds = KINDS;
        for _ in 0..rounds {
            order.shuffle(&mut kinds);
            for (name, observe) in kinds {
                let spec = TestSpec {
                    observe,
                    ..short(activity, cores)
                };
                let outcome = client.run(&spec, &mut |_| true)?;
                let values =
                    values(activity, &outcome).context("a test of a second gave no figures")?;
                results.push(name, activity, Ok(values.into_iter().collect()));
            }
        }
    }
    Ok(results)
}

fn short(activity: Activity, [local, remote]: [u32; 2]) -> TestSpec {
    let one_core = Pinning {
        local: Some(remote),
        remote: Some(remote),
    };
    let base = match activity {
        Activity::PingPong => TestSpec {
            wait: WaitMode::Spin,
            pinning: Pinning {
                local: Some(local),
                remote: Some(remote),
            },
            ..TestSpec::ping_pong(Transport::Udp).with_payload(ByteCount::new(PING_BYTES.into()))
        },
        Activity::Udp => TestSpec {
            pinning: one_core,
            ..TestSpec::udp_datagrams(Pace::Unpaced).with_payload(ByteCount::new(PAYLOAD.into()))
        },
        _ => TestSpec {
            pinning: one_core,
            socket: SocketChoice {
                // Steadier than what a host may have as its default, such as BBR.
                congestion_control: Some("cubic".to_owned()),
                ..SocketChoice::default()
            },
            ..TestSpec::tcp_bulk()
        },
    };
    TestSpec {
        stop: Stop::After(LENGTH),
        warm_up: WARM_UP,
        interval: INTERVAL,
        ..base
    }
}

fn values(activity: Activity, outcome: &TestOutcome) -> Option<Vec<(Measure, f64)>> {
    let done = outcome.directions.first()?;
    let sent = done.sender.as_ref()?.streams.first()?;
    let received = || done.receiver.as_ref()?.streams.first();
    Some(match activity {
        Activity::PingPong => {
            let rtt = sent.work.rtt().filter(|rtt| !rtt.is_empty())?;
            #[expect(clippy::cast_precision_loss, reason = "nanoseconds below 2^53")]
            let median = rtt.quantile_nanos(0.5) as f64;
            vec![(Measure::RoundTrip, median / 1e3)]
        }
        Activity::Udp => {
            let rate = |stream: &StreamReport| {
                Some(stream.packets.as_f64() / seconds(stream.duration)? / 1e3)
            };
            vec![
                (Measure::UdpSent, rate(sent)?),
                (Measure::UdpReceived, rate(received()?)?),
            ]
        }
        _ => {
            let received = received()?;
            let bits = received.bytes.as_f64() * 8.0;
            vec![(Measure::TcpRate, bits / seconds(received.duration)? / 1e9)]
        }
    })
}

fn seconds(duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then_some(duration.as_secs_f64())
}
