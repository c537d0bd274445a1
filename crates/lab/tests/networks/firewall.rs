//! A firewall at the server that lets only the control connection's port pass.

use crate::bench::{Bench, lasting};
use linerate_agent::{AgentPlan, DataPorts};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{Direction, Pace, TestSpec, TestWork, Transport};
use linerate_model::{BitRate, Clock as _};
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::HostId;
use std::collections::VecDeque;
use std::io::Write as _;
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Host B drops what comes to any other port than this, and answers.
fn shut_all_but(bench: &Bench, port: u16) {
    let script = format!(
        "nft 'add table inet t; add chain inet t c {{ type filter hook input priority 0; policy drop; }};
         add rule inet t c iif lo accept;
         add rule inet t c meta l4proto ipv6-icmp accept;
         add rule inet t c ct state established accept;
         add rule inet t c meta l4proto {{ tcp, udp }} th dport {port} accept'"
    );
    bench.shell(HostId::B, &script);
}

fn datagrams() -> TestSpec {
    TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(5_000_000)))
}

pub(crate) fn one_port_carries_every_kind_of_test() {
    let plan = AgentPlan {
        data_ports: DataPorts::OfControl,
        ..AgentPlan::private()
    };
    // The agent of a private plan listens on IPv4 only.
    let plan = AgentPlan {
        listen: "[::]:0".parse().unwrap(),
        ..plan
    };
    let bench = Bench::with(plan);
    shut_all_but(&bench, bench.port());
    for is_v6 in [false, true] {
        for work in [
            datagrams(),
            TestSpec::tcp_bulk(),
            TestSpec::ping_pong(Transport::Udp),
            TestSpec::ping_pong(Transport::Tcp),
        ] {
            let ways: &[_] = if matches!(work.work, TestWork::ClosedLoop(_)) {
                &[Direction::Forward]
            } else {
                &[Direction::Forward, Direction::Reverse, Direction::Duplex]
            };
            for &direction in ways {
                for streams in [1, 4] {
                    let spec = TestSpec {
                        direction,
                        streams,
                        ..lasting(0.3, work.clone())
                    };
                    let run = bench.run(is_v6, &spec).unwrap();
                    let trial = &run.trials[0];
                    assert!(trial.measured().is_some(), "{spec:?}");
                    for report in trial.raw() {
                        assert_eq!(report.streams.len(), usize::from(streams), "{spec:?}");
                        let counts = report.streams.iter().map(|stream| stream.bytes.get());
                        assert!(counts.min() > Some(0), "{spec:?}");
                    }
                }
            }
        }
    }
    bench.close();
}

pub(crate) fn a_firewall_that_drops_data_ports_is_named() {
    let bench = Bench::with(AgentPlan::private());
    shut_all_but(&bench, bench.port());
    for spec in [datagrams(), TestSpec::tcp_bulk()] {
        let error = bench.run(false, &lasting(0.3, spec)).unwrap_err();
        let failure = error.downcast_ref::<Failure>().unwrap();
        assert_eq!(failure.code, ExitCode::Peer, "{error:#}");
        let words = failure.message.as_str();
        assert!(
            words.contains("firewall") && words.contains("`linerate ports`"),
            "{words}"
        );
        assert!(!words.contains("internal"), "{words}");
    }
    bench.close();
}

/// Of a network 16 connections may wait: each for 16 times as long.
const STRANGER_INTERVAL: Duration = Duration::from_millis(20);

/// Silent connections and wrong tokens from the client's own address, before and while its streams are awaited.
pub(crate) fn strangers_at_the_one_port_keep_nobody_out() {
    let bench = Bench::with(AgentPlan {
        data_ports: DataPorts::OfControl,
        ..AgentPlan::private()
    });
    let address = bench.address();
    let running = Arc::new(AtomicBool::new(true));
    let going = Arc::clone(&running);
    let strangers = bench.spawn(HostId::A, move || {
        let shared = UdpSocket::bind("0.0.0.0:0").unwrap();
        let mut kept = VecDeque::new();
        let mut count: u32 = 0;
        while going.load(Ordering::Relaxed) {
            let Ok(mut stream) = TcpStream::connect(address) else {
                continue;
            };
            count += 1;
            if count.is_multiple_of(2) {
                // The server may have closed it.
                drop(stream.write_all(&[0xa5, 0xa5, 0xa5, 0xa5, 0, 0]));
            }
            drop(shared.send_to(&[0xa5; 24], address));
            kept.push_back(stream);
            if kept.len() > 100 {
                kept.pop_front();
            }
            // Faster ones would take the places in which a client of their own network greets.
            sleep_until(MonoClock.now().after(STRANGER_INTERVAL));
        }
        count
    });
    for work in [datagrams(), TestSpec::tcp_bulk()] {
        let spec = TestSpec {
            direction: Direction::Duplex,
            streams: 4,
            ..lasting(0.5, work)
        };
        let run = bench.run(false, &spec).unwrap();
        assert!(run.trials[0].measured().is_some());
    }
    running.store(false, Ordering::Relaxed);
    assert!(strangers.join().unwrap() > 16);
    bench.close();
}
