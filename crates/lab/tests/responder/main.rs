//! The microcontrollers' responder against linerate's own client, over this host's sockets: needs nothing.
//!
//! What a device's interface did to datagrams is known, so what linerate says of them is held against that.
#![expect(clippy::unwrap_used, reason = "a test")]

mod device;

use device::{Device, Disturbance};
use linerate_agent::{Agent, AgentPlan};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::run::{Place, Run};
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, PacketRate};
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

fn target(address: &impl ToString) -> Target {
    Target::new(PeerAddress::parse(&address.to_string()).unwrap())
}

fn measure(device: &Device, spec: &TestSpec) -> Run {
    let target = target(&device.address());
    let run = unattended(|context| single(context, &target, spec)).unwrap();
    let document = serde_json::to_value(&run).unwrap();
    assert_eq!(linerate_schema_check::validate(&document), Ok(()));
    assert!(run.trials[0].valid, "{:?}", run.trials[0].reasons);
    run
}

fn datagrams(count: u64) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(8_000_000));
    TestSpec {
        stop: Stop::Transactions(count),
        ..TestSpec::udp_datagrams(pace).with_payload(ByteCount::new(200))
    }
}

/// Sent, received, lost, duplicated and reordered of a run's trial.
fn counts(run: &Run) -> [u64; 5] {
    let packets = run.trials[0].packets().unwrap();
    let all = [
        packets.sent,
        packets.received,
        packets.lost,
        packets.duplicated,
        packets.reordered,
    ];
    all.map(|count| count.unwrap().get())
}

#[test]
fn what_the_interface_did_to_datagrams_is_found_to_the_packet() {
    // All of them fit into the device's socket (768 bytes of memory each, of 212 992): one more lost there, while its
    // thread does not run, would be nobody's that is known here.
    const SENT: u64 = 240;
    let mut dropped: Vec<u64> = (0..30).map(|k| 11 + k * 7).collect();
    // The end of the stream: nothing after it shows that they are missing.
    dropped.extend(SENT - 7..SENT);
    let device = Device::start(Disturbance {
        length: 200,
        dropped,
        doubled: vec![4, 5, 90],
        swapped: vec![20, 40, 62, 155],
    });
    let run = measure(&device, &datagrams(SENT));
    assert_eq!(counts(&run), [SENT, SENT - 37, 37, 3, 4]);
    let ledger = run.trials[0].ledger();
    assert_eq!(ledger.len(), 1, "{ledger:?}");
    assert_eq!(ledger[0].place, Place::ReceiverNic);
    assert_eq!(ledger[0].packets.get(), 37);
    let cpu = run.trials[0].cpu.as_ref().unwrap().receiver.as_ref();
    let busy = cpu.unwrap().host_ratio.unwrap().get();
    assert!((busy - 0.5).abs() < 0.01, "{busy}");
}

#[test]
fn datagrams_that_the_device_sends_all_arrive_and_are_counted_at_both_ends() {
    let device = Device::start(Disturbance::default());
    for (direction, trials) in [(Direction::Reverse, 1), (Direction::Duplex, 2)] {
        let spec = TestSpec {
            direction,
            warm_up: Duration::from_millis(50),
            ..datagrams(500)
        };
        let run = measure(&device, &spec);
        assert_eq!(run.trials.len(), trials);
        for trial in &run.trials {
            let packets = trial.packets().unwrap();
            assert_eq!(packets.sent.unwrap().get(), 500);
            assert_eq!(packets.received.unwrap().get(), 500);
        }
    }
}

#[test]
fn messages_come_back_over_both_transports_by_closed_and_open_loop() {
    let device = Device::start(Disturbance::default());
    for transport in [Transport::Udp, Transport::Tcp] {
        for size in [1, 17, 18, 1000] {
            let spec = TestSpec {
                stop: Stop::Transactions(200),
                ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(size))
            };
            let run = measure(&device, &spec);
            let delay = run.trials[0].delay().unwrap();
            assert!(delay.max_ns.unwrap() > 0, "{transport} {size}");
        }
        let rate = PacketRate::from_pps(1000.0);
        let spec = TestSpec {
            stop: Stop::Transactions(200),
            ..TestSpec::request_response(transport, rate)
        };
        measure(&device, &spec);
    }
}

#[test]
fn bytes_of_a_tcp_stream_are_the_same_at_both_ends() {
    let device = Device::start(Disturbance::default());
    for direction in [Direction::Forward, Direction::Reverse] {
        let spec = TestSpec {
            direction,
            stop: Stop::Bytes(ByteCount::new(3_000_000)),
            ..TestSpec::tcp_bulk().with_payload(ByteCount::new(1000))
        };
        let run = measure(&device, &spec);
        let trial = &run.trials[0];
        assert_eq!(trial.sent_bytes.unwrap().get(), 3_000_000, "{direction:?}");
        assert_eq!(
            trial.received_bytes.unwrap().get(),
            3_000_000,
            "{direction:?}"
        );
    }
}

#[test]
fn what_the_device_cannot_do_is_refused_with_the_reason_and_the_next_test_is_made() {
    let device = Device::start(Disturbance::default());
    let mut client = Client::connect(&target(&device.address())).unwrap();
    let server = &client.hosts()[1];
    let board = server.facts.board.as_deref();
    assert_eq!(board, Some("sockets of \"this\" host"));
    for count in [5, 50] {
        let streams = TestSpec {
            streams: 2,
            ..datagrams(10)
        };
        let refused = client.run(&streams, &mut |_| true).unwrap_err();
        let said = format!("{refused:#}");
        assert!(said.contains("-P 1"), "{said}");
        let outcome = client.run(&datagrams(count), &mut |_| true).unwrap();
        let receiver = outcome.directions[0].receiver.as_ref().unwrap();
        assert_eq!(receiver.streams[0].packets.get(), count);
    }
}

#[test]
fn a_test_that_its_user_ends_keeps_what_was_counted() {
    let device = Device::start(Disturbance::default());
    let mut client = Client::connect(&target(&device.address())).unwrap();
    for direction in [Direction::Forward, Direction::Reverse] {
        let spec = TestSpec {
            direction,
            stop: Stop::After(Duration::from_mins(1)),
            ..datagrams(1)
        };
        let outcome = client.run(&spec, &mut |pulse| pulse.bytes == 0).unwrap();
        let sent = outcome.directions[0].sender.as_ref().unwrap();
        let got = outcome.directions[0].receiver.as_ref().unwrap();
        assert_eq!(sent.streams[0].packets, got.streams[0].packets);
    }
}

#[test]
fn a_client_that_speaks_something_else_is_let_go_and_the_next_is_served() {
    let device = Device::start(Disturbance::default());
    let long = [b"linerate\0\x02".as_slice(), &[0xff; 10]].concat();
    for bytes in [
        b"GET / HTTP/1.0\r\n\r\n".as_slice(),
        b"linerate\0\x09",
        &long,
    ] {
        let mut stream = TcpStream::connect(device.address()).unwrap();
        stream.write_all(bytes).unwrap();
        // Until it is closed at the other end.
        drop(stream.read_to_end(&mut Vec::new()));
    }
    // So many that they do not all come in one read, even where the receiver stood still.
    assert_eq!(counts(&measure(&device, &datagrams(200)))[1], 200);
}

/// Names of everything in a document that is an object.
fn keys(value: &serde_json::Value) -> Vec<&str> {
    let object = value.as_object();
    object.map_or_else(Vec::new, |object| {
        object.keys().map(String::as_str).collect()
    })
}

#[test]
fn the_run_is_of_the_form_that_a_host_gets() {
    let device = Device::start(Disturbance::default());
    let agent = Agent::start(AgentPlan::private()).unwrap();
    let addresses = [
        device.address().to_string(),
        format!("127.0.0.1:{}", agent.port()),
    ];
    let runs = addresses.map(|address| {
        let run = unattended(|context| single(context, &target(&address), &datagrams(1000)));
        serde_json::to_value(run.unwrap()).unwrap()
    });
    agent.stop().unwrap();
    for run in &runs {
        assert_eq!(linerate_schema_check::validate(run), Ok(()));
    }
    let [ours, hosts] = runs
        .each_ref()
        .map(|run| keys(&run["trials"][0]["packets"]));
    assert_eq!(ours, hosts);
    // Whether this host's CPU keeps up beside other tests is not the device's doing, and each limit has more or less
    // to say: verdicts are of one form where they name one limit.
    let [ours, hosts] = runs.each_ref().map(|run| &run["verdict"]);
    if ours["limit"] == hosts["limit"] {
        assert_eq!(keys(ours), keys(hosts));
    }
}
