//! What is sent arrives, and what does not is counted in its place.

use crate::bench::{Bench, PAYLOAD, assert_balanced, datagrams, ledger_of};
use linerate_agent::AgentPlan;
use linerate_model::run::{Place, Trial};
use linerate_model::sample::{EndpointReport, XdpReport};
use linerate_model::spec::{
    DatapathChoice, Direction, Imitation, Side, Stop, TestSpec, Transport, WaitMode,
};
use linerate_model::{ByteCount, PacketCount};
use linerate_testbed::{HostId, Link, LinkConfig, PacketList};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// `spec` over AF_XDP, with parameters as on the command line.
pub(crate) fn past_the_stack(params: &str, spec: TestSpec) -> TestSpec {
    let datapath: DatapathChoice = format!("af-xdp{params}").parse().unwrap();
    TestSpec { datapath, ..spec }
}

/// Messages of `payload` bytes, `count` times there and back, spinning.
pub(crate) fn ping_pong(payload: u64, count: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(count),
        wait: WaitMode::Spin,
        ..TestSpec::ping_pong(Transport::Udp).with_payload(ByteCount::new(payload))
    }
}

/// An agent that is reached by IPv4 and IPv6.
pub(crate) fn of_both_families() -> AgentPlan {
    AgentPlan {
        listen: "[::]:0".parse().unwrap(),
        ..AgentPlan::private()
    }
}

/// What both ends said of their way past the stack.
fn ways(trial: &Trial) -> [&XdpReport; 2] {
    [reports(trial).0, reports(trial).1].map(|report| report.streams[0].path.xdp.as_ref().unwrap())
}

/// What the sender (requester) and the receiver (responder) reported.
fn reports(trial: &Trial) -> (&EndpointReport, &EndpointReport) {
    let of = |side| {
        trial
            .raw()
            .iter()
            .find(|report| report.side == side)
            .unwrap()
    };
    (of(Side::Sender), of(Side::Receiver))
}

/// Both families, the shortest and the longest of a frame, and one that carries no whole header.
pub(crate) fn both_ends_count_the_same_transactions() {
    let mut bench = Bench::with(Link::Direct { mtu: 1500 }, of_both_families());
    for (address, longest) in [("10.77.0.2", 1472), ("[fd77::2]", 1452)] {
        bench.aim_at(address);
        for payload in [0, 8, 32, longest] {
            let spec = past_the_stack("", ping_pong(payload, 300));
            let run = bench.run(&spec);
            let (asked, answered) = reports(&run.trials[0]);
            let count = |report: &EndpointReport| report.streams[0].packets.get();
            let (asked, answered) = (&asked.streams[0], count(answered));
            let timeouts = asked.work.timeouts().unwrap().get();
            let what = format!("{address} {payload}: {answered} {asked:?}");
            assert_eq!(asked.packets.get() + timeouts, 300, "{what}");
            assert_eq!(asked.work.rtt().unwrap().len(), asked.packets.get());
            // A timeout needs 100 ms without a core on a loaded machine; ten are a fault.
            assert!(timeouts < 10, "{what}");
            assert!((asked.packets.get()..=300).contains(&answered), "{what}");
            for way in ways(&run.trials[0]) {
                assert!(way.native, "a veth runs programs itself: {way:?}");
                assert_eq!((way.interface.as_str(), way.queues), ("eth0", 1));
                assert_eq!((way.malformed.get(), way.stray.get()), (0, 0), "{way:?}");
            }
        }
    }
    bench.close();
}

pub(crate) fn every_way_to_wait_and_every_mode_carries_both_workloads() {
    let bench = Bench::direct();
    for params in [
        ",mode=native",
        ",mode=generic",
        ",mode=generic,queue=0,frames=64",
    ] {
        for wait in [WaitMode::Block, WaitMode::BusyPoll, WaitMode::Spin] {
            let spec = TestSpec {
                wait,
                ..ping_pong(32, 50)
            };
            let run = bench.run(&past_the_stack(params, spec));
            let (asked, _) = reports(&run.trials[0]);
            let what = format!("{params} {wait:?}: {:?}", asked.streams[0].errors);
            assert_eq!(asked.streams[0].packets.get(), 50, "{what}");
            assert_eq!(
                ways(&run.trials[0]).map(|way| way.native),
                [!params.contains("generic"); 2],
                "{what}"
            );
            for direction in [Direction::Forward, Direction::Reverse] {
                let spec = TestSpec {
                    wait,
                    direction,
                    ..datagrams(50)
                };
                let run = bench.run(&past_the_stack(params, spec));
                let packets = run.trials[0].packets().unwrap();
                assert_eq!(packets.received, Some(PacketCount::new(50)), "{what}");
            }
        }
    }
    bench.close();
}

pub(crate) fn a_hundred_thousand_datagrams_all_arrive() {
    let bench = Bench::direct();
    let spec = past_the_stack("", datagrams(100_000));
    let trial = bench.check("af-xdp", &spec, &[]);
    let packets = trial.packets().unwrap();
    let all = Some(PacketCount::new(100_000));
    assert_eq!((packets.sent, packets.received), (all, all));
    assert_eq!(
        trial.received_bytes,
        Some(ByteCount::new(100_000 * PAYLOAD))
    );
    assert_eq!(
        bench.udp_counter(HostId::A, OUT_DATAGRAMS) / 1000,
        0,
        "UDP of the sending kernel has seen a handshake only"
    );
    bench.close();
}

/// Column of `OutDatagrams` in UDP's row, its name being column 0.
const OUT_DATAGRAMS: usize = 4;

pub(crate) fn a_drop_list_of_the_link_is_lost_in_the_network() {
    let spread = (0..40).map(|k| 17 + k * 97);
    let list = PacketList::from_numbers(spread.chain(4_000..4_030).chain([5_000]));
    let listed = list.count_within(5_000);
    let config = LinkConfig {
        drop: list,
        ..LinkConfig::default()
    };
    let bench = Bench::over(Link::symmetric(config));
    let by_list = |bench: &Bench| bench.link().a_to_b.data.dropped_by_list.get();
    let spec = past_the_stack("", datagrams(5_000));
    let trial = bench.check("drop list", &spec, &[(Place::Network, &by_list)]);
    assert_eq!((by_list(&bench), listed), (71, 71));
    assert_eq!(trial.packets().unwrap().lost, Some(PacketCount::new(71)));
    bench.close();
}

/// Few frames, and a reader that rests: the kernel counts each that found none, and nothing else may be blamed.
pub(crate) fn what_a_slow_receiver_has_no_frames_for_is_lost_at_its_socket() {
    for params in [",frames=64", ",frames=64,mode=generic"] {
        let bench = Bench::direct();
        let spec = TestSpec {
            imitation: Some(Imitation::SlowReceiver {
                pause: Duration::from_millis(10),
                datagrams_per_read: 16,
            }),
            ..datagrams(20_000)
        };
        let run = bench.run(&past_the_stack(params, spec));
        let trial = &run.trials[0];
        assert_balanced(trial);
        let lost = trial.packets().unwrap().lost.unwrap().get();
        let [_, way] = ways(trial);
        let counted = way.dropped.get() + way.ring_full.unwrap().get();
        println!("\n    {params}: lost {lost}, {way:?}, {:?}", trial.ledger());
        assert!(lost > 0 && counted == lost, "{lost} {way:?}");
        assert_eq!(ledger_of(trial)[&Place::ReceiverSocket], lost);
        bench.close();
    }
}

/// A connection like one of ssh beside the test, over the same interfaces: every byte comes back.
pub(crate) fn other_traffic_of_the_interface_goes_on() {
    const ROUNDS: usize = 2_000;
    let bench = Bench::direct();
    let listener = bench.on(HostId::B, || TcpListener::bind("10.77.0.2:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    let echo = bench.spawn(HostId::B, move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 64];
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            stream.write_all(&bytes[..length]).unwrap();
        }
    });
    let talk = bench.spawn(HostId::A, move || {
        let mut stream = TcpStream::connect(("10.77.0.2", port)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        stream.set_nodelay(true).unwrap();
        let mut back = [0; 48];
        for round in 0..ROUNDS {
            let sent = [u8::try_from(round % 256).unwrap(); 48];
            stream.write_all(&sent).unwrap();
            stream.read_exact(&mut back).unwrap();
            assert_eq!(back, sent);
        }
    });
    let run = bench.run(&past_the_stack("", datagrams(20_000)));
    talk.join().unwrap();
    echo.join().unwrap();
    let packets = run.trials[0].packets().unwrap();
    assert_eq!(packets.received, Some(PacketCount::new(20_000)));
    bench.close();
}
