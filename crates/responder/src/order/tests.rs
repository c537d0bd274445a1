use super::*;
use linerate_model::spec::{
    self, DatapathChoice, Imitation, Pace as HostPace, Stop as HostStop, TestSpec, Transport,
    WaitMode,
};
use linerate_model::{BitRate, ByteCount, PacketRate};
use std::time::Duration;

fn read(spec: &TestSpec) -> Result<Order, Refusal> {
    let text = serde_json::to_string(spec).unwrap();
    Order::read(Json::read(text.as_bytes()).unwrap(), 1472)
}

fn datagrams() -> TestSpec {
    TestSpec::udp_datagrams(HostPace::At(BitRate::from_bps(10_000_000)))
}

fn refused(change: impl FnOnce(&mut TestSpec)) -> Refusal {
    let mut spec = datagrams();
    change(&mut spec);
    read(&spec).unwrap_err()
}

#[test]
fn what_linerate_asks_for_unless_told_otherwise_is_made() {
    let order = read(&datagrams()).unwrap();
    let payload = 1448;
    let pace = Pace::At(10_000_000);
    assert_eq!(order.work, Work::Datagrams { payload, pace });
    assert_eq!(order.stop, Stop::After(Duration::from_secs(10)));
    assert_eq!(order.interval, Duration::from_secs(1));
    assert!(order.receives() && !order.sends() && !order.spins);

    let unpaced = read(&TestSpec::tcp_bulk()).unwrap();
    let pace = Pace::Unpaced;
    assert_eq!(unpaced.work, Work::Bytes { pace });

    let (size, warm_up) = (32, 0);
    let udp = read(&TestSpec::ping_pong(Transport::Udp)).unwrap();
    assert_eq!(udp.work, Work::DatagramAnswers { size, warm_up });
    let rate = PacketRate::from_pps(100.0);
    let open = read(&TestSpec::request_response(Transport::Tcp, rate)).unwrap();
    let size = 32;
    assert_eq!(open.work, Work::ByteAnswers { size, warm_up });
}

#[test]
fn times_counts_and_bounds_are_those_of_the_specification() {
    let mut spec = datagrams();
    spec.stop = HostStop::Transactions(20_000);
    spec.warm_up = Duration::from_millis(1500);
    spec.direction = spec::Direction::Duplex;
    spec.wait = WaitMode::Spin;
    let order = read(&spec).unwrap();
    assert_eq!(order.stop, Stop::Transactions(20_000));
    assert_eq!(order.warm_up, Duration::from_millis(1500));
    assert!(order.receives() && order.sends() && order.spins);
    spec.stop = HostStop::Bytes(ByteCount::new(u64::MAX));
    assert_eq!(read(&spec).unwrap().stop, Stop::Bytes(u64::MAX));

    let mut spec = TestSpec::ping_pong(Transport::Udp).with_payload(ByteCount::new(0));
    if let spec::TestWork::ClosedLoop(closed) = &mut spec.work {
        closed.transactions.warm_up = Some(7);
    }
    let (size, warm_up) = (0, 7);
    assert_eq!(
        read(&spec).unwrap().work,
        Work::DatagramAnswers { size, warm_up }
    );
}

#[test]
fn what_the_device_cannot_do_is_refused() {
    assert_eq!(refused(|s| s.streams = 2), Refusal::Streams);
    let payload = |size| move |s: &mut TestSpec| s.work.set_payload(ByteCount::new(size));
    let bounds = Refusal::Payload {
        least: 18,
        most: 1472,
    };
    assert_eq!(refused(payload(17)), bounds);
    assert_eq!(refused(payload(1473)), bounds);
    assert_eq!(refused(|s| s.pinning.remote = Some(0)), Refusal::Pinning);
    assert_eq!(refused(|s| s.wait = WaitMode::BusyPoll), Refusal::Wait);
    for path in ["af-xdp", "sockets,gro=true"] {
        let path: DatapathChoice = path.parse().unwrap();
        assert_eq!(refused(|s| s.datapath = path), Refusal::Datapath);
    }
    let buffer = Some(ByteCount::new(4096));
    assert_eq!(
        refused(|s| s.socket.receive_buffer_bytes = buffer),
        Refusal::Congestion
    );
    let slow = Imitation::slow_receiver(Duration::from_millis(1));
    assert_eq!(refused(|s| s.imitation = Some(slow)), Refusal::Imitation);
    let long = HostStop::After(Duration::from_secs(3601));
    assert_eq!(
        refused(|s| s.stop = long),
        Refusal::Duration { most: MAX_DURATION }
    );
    let many = HostStop::After(Duration::from_secs(65));
    assert_eq!(refused(|s| s.stop = many), Refusal::Intervals);
    assert_eq!(read(&TestSpec::connections()), Err(Refusal::Workload));
    assert_eq!(read(&TestSpec::marked_bulk()), Err(Refusal::Workload));
    let mut both = TestSpec::tcp_bulk();
    both.direction = spec::Direction::Duplex;
    assert_eq!(read(&both), Err(Refusal::Duplex));
    let mut asks = TestSpec::ping_pong(Transport::Udp);
    asks.direction = spec::Direction::Reverse;
    assert_eq!(read(&asks), Err(Refusal::Asking));
    let mut parts = TestSpec::ping_pong(Transport::Udp);
    if let spec::TestWork::ClosedLoop(closed) = &mut parts.work {
        closed.decompose = true;
    }
    assert_eq!(read(&parts), Err(Refusal::Decompose));
}

#[test]
fn every_refusal_has_a_code_of_the_protocol_and_says_what_to_do_or_what_is() {
    for refusal in [
        Refusal::Congestion,
        Refusal::Datapath,
        Refusal::Duration { most: MAX_DURATION },
        Refusal::Intervals,
        Refusal::Length {
            length: 9000,
            most: 2048,
        },
        Refusal::Streams,
        Refusal::Unexpected { kind: 9 },
        Refusal::DataMissing,
    ] {
        let code = format!("\"{}\"", refusal.code());
        serde_json::from_str::<linerate_peers::RefusalCode>(&code).unwrap();
        assert!(refusal.to_string().len() > 20, "{refusal}");
    }
}

#[test]
fn a_specification_without_a_value_is_refused_and_not_guessed() {
    let text = serde_json::to_string(&datagrams()).unwrap();
    for key in ["direction", "stop", "interval_s", "work"] {
        let lacking = text.replace(&format!("\"{key}\""), "\"other\"");
        let read = Order::read(Json::read(lacking.as_bytes()).unwrap(), 1472);
        assert_eq!(read, Err(Refusal::Specification), "{key}");
    }
}
