//! The ratios that DESIGN asks for, in the order of its table.

use crate::activity::{Activity, Measure, PACES, STREAMS};
use linerate_model::comparison::BetterWhen;

/// linerate's value over a peer's shall be on the good side of `ratio`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    pub(crate) measure: Measure,
    pub(crate) activity: Activity,
    /// The linerate that is compared: how it waits.
    pub(crate) own: &'static str,
    pub(crate) peer: &'static str,
    pub(crate) better: BetterWhen,
    /// `None`: shown beside, without a goal of its own.
    pub(crate) ratio: Option<f64>,
}

const fn goal(
    measure: Measure,
    activity: Activity,
    peer: &'static str,
    better: BetterWhen,
    ratio: f64,
) -> Goal {
    Goal {
        measure,
        activity,
        own: OWN,
        peer,
        better,
        ratio: Some(ratio),
    }
}

/// Every goal that is a ratio to a peer.
pub(crate) fn goals() -> Vec<Goal> {
    let mut goals = unpaced();
    goals.extend(many_streams());
    goals.extend(paced());
    goals
}

fn unpaced() -> Vec<Goal> {
    use Activity::{Aggregated, PingPong, Tcp, TcpPingPong, Udp};
    use BetterWhen::{Higher, Lower};
    let mut goals = vec![
        goal(Measure::TcpRate, Tcp, IPERF3, Higher, 1.0),
        goal(Measure::TcpCpu, Tcp, IPERF3, Lower, 1.0),
        goal(Measure::UdpReceived, Udp, IPERF3, Higher, 1.0),
        goal(Measure::UdpSent, Udp, IPERF3, Higher, 1.0),
        goal(Measure::AggregatedReceived, Aggregated, IPERF3, Higher, 1.0),
        goal(Measure::AggregatedSent, Aggregated, IPERF3, Higher, 1.0),
        goal(Measure::RoundTrip, PingPong, SFNT, Lower, 1.0),
        goal(Measure::TcpRoundTrip, TcpPingPong, SFNT, Lower, 1.0),
    ];
    for (measure, activity, peer, better, ratio) in [
        (Measure::UdpReceived, Udp, IPERF3, Higher, 2.5),
        (Measure::UdpSent, Udp, IPERF3, Higher, 2.5),
        (Measure::RoundTrip, PingPong, SFNT, Lower, 1.0),
        (Measure::RoundTrip, PingPong, FLOOR, Lower, 1.0),
    ] {
        goals.push(Goal {
            own: PAST_THE_STACK,
            ..goal(measure, activity, peer, better, ratio)
        });
    }
    for (measure, activity) in [
        (Measure::RoundTrip, PingPong),
        (Measure::RoundTripP99, PingPong),
        (Measure::TcpRoundTrip, TcpPingPong),
        (Measure::TcpRoundTripP99, TcpPingPong),
    ] {
        goals.push(goal(measure, activity, "sockperf", Lower, 0.95));
        goals.push(goal(measure, activity, FLOOR, Lower, 1.05));
    }
    for (measure, activity, better, ratio) in [
        (Measure::TcpRate, Tcp, Higher, None),
        (Measure::TcpCpu, Tcp, Lower, None),
        (Measure::UdpReceived, Udp, Higher, None),
        (Measure::UdpSent, Udp, Higher, None),
        (Measure::AggregatedReceived, Aggregated, Higher, Some(0.9)),
        (Measure::AggregatedSent, Aggregated, Higher, Some(0.9)),
    ] {
        goals.push(Goal {
            ratio,
            ..goal(measure, activity, FLOOR, better, 1.0)
        });
    }
    for (measure, better) in [(Measure::TcpRate, Higher), (Measure::TcpCpu, Lower)] {
        for (peer, ratio) in [
            (IPERF3_ZERO_COPY, Some(1.0)),
            (FLOOR_ZERO_COPY, None),
            (OWN, None),
        ] {
            goals.push(Goal {
                own: ZERO_COPY,
                ratio,
                ..goal(measure, Tcp, peer, better, 1.0)
            });
        }
    }
    goals
}

fn many_streams() -> Vec<Goal> {
    use BetterWhen::{Higher, Lower};
    let of = |streams| {
        let activity = Activity::Streams(streams);
        [
            (Measure::StreamsRate(streams), Higher, Some(1.0)),
            (Measure::StreamsCpu(streams), Lower, Some(1.0)),
            (Measure::StreamsMemory(streams), Lower, None),
        ]
        .map(|(measure, better, ratio)| {
            [IPERF3, NEPER].map(|peer| Goal {
                ratio,
                ..goal(measure, activity, peer, better, 1.0)
            })
        })
    };
    STREAMS.into_iter().flat_map(of).flatten().collect()
}

fn paced() -> Vec<Goal> {
    use Activity::Paced;
    use BetterWhen::{Higher, Lower};
    let mut goals = Vec::new();
    for pace in PACES {
        for (own, peer) in [
            (OWN, IPERF3),
            (OWN, "iperf2"),
            (SPINNING, IPERF3),
            (SPINNING, "iperf2"),
            (SPINNING, FLOOR),
        ] {
            let (error, rate) = (Measure::GapError(pace), Measure::PacedRate(pace));
            let error = goal(error, Paced(pace), peer, Lower, 0.1);
            // The floor says what the machine allows; no goal is set against it.
            let ratio = error.ratio.filter(|_| peer != FLOOR);
            goals.push(Goal {
                own,
                ratio,
                ..error
            });
            let rate = goal(rate, Paced(pace), peer, Higher, 1.0);
            goals.push(Goal {
                own,
                ratio: None,
                ..rate
            });
        }
    }
    goals
}

/// What observing costs: with the counters of every test, and with a profile, against nothing.
pub(crate) fn observing() -> Vec<Goal> {
    use Activity::{PingPong, Tcp, Udp};
    use BetterWhen::{Higher, Lower};
    let mut goals = Vec::new();
    for own in [OWN, PROFILING] {
        for goal in [
            goal(Measure::TcpRate, Tcp, BLIND, Higher, 0.98),
            goal(Measure::UdpSent, Udp, BLIND, Higher, 0.98),
            goal(Measure::UdpReceived, Udp, BLIND, Higher, 0.98),
            goal(Measure::RoundTrip, PingPong, BLIND, Lower, 1.02),
        ] {
            goals.push(Goal { own, ..goal });
        }
    }
    goals
}

/// The same measures against another build of linerate, without goals.
pub(crate) fn against_before() -> Vec<Goal> {
    let mut all = goals();
    all.sort_by_key(|goal| goal.measure);
    all.dedup_by_key(|goal| goal.measure);
    for goal in &mut all {
        goal.peer = BEFORE;
        goal.ratio = None;
    }
    all
}

/// linerate as it is unless asked otherwise.
pub(crate) const OWN: &str = "linerate";
/// linerate with `--wait spin`, which paces each packet by itself at the price of a core.
pub(crate) const SPINNING: &str = "linerate --wait spin";
/// linerate with `--datapath af-xdp` at both ends, spinning.
pub(crate) const PAST_THE_STACK: &str = "linerate af-xdp";
/// linerate with `--datapath sockets,zerocopy=true --no-delay`: what Nagle's algorithm holds back, the kernel cuts out of what
/// goes, which costs more than copying.
pub(crate) const ZERO_COPY: &str = "linerate zerocopy";
/// A short test that observes nothing (`--observe none`).
pub(crate) const BLIND: &str = "linerate --observe none";
/// A short test with counters and a profile.
pub(crate) const PROFILING: &str = "linerate --profile";
/// The least that the kernel and the machine allow.
pub(crate) const FLOOR: &str = "bare C loop";
/// The same, which writes without copying.
pub(crate) const FLOOR_ZERO_COPY: &str = "bare C loop, MSG_ZEROCOPY";
/// What most users compare with.
pub(crate) const IPERF3: &str = "iperf3";
/// The same with `--zerocopy --no-delay`: `sendfile`.
pub(crate) const IPERF3_ZERO_COPY: &str = "iperf3 --zerocopy";
/// Solarflare's, which no distribution has.
pub(crate) const SFNT: &str = "sfnt-pingpong";
/// Google's `tcp_stream`, which no distribution has.
pub(crate) const NEPER: &str = "neper";
/// Another build of linerate.
pub(crate) const BEFORE: &str = "before";
