use super::*;
use crate::order::Direction;

const TOKEN: u32 = 7;

fn at(micros: u64) -> MonoInstant {
    MonoInstant::from_nanos(micros * 1000)
}

fn order(work: Work, stop: Stop) -> Order {
    Order {
        work,
        direction: Direction::Duplex,
        stop,
        warm_up: Duration::ZERO,
        interval: Duration::from_secs(1),
        spins: false,
    }
}

fn datagram(kind: Kind, sequence: u64) -> [u8; 20] {
    let mut bytes = [0; 20];
    let header = Header {
        token: TOKEN,
        stream: 0,
        kind,
        sequence,
        sent: Stamp::from_bits(sequence),
    };
    header.write(&mut bytes);
    bytes
}

fn address() -> SocketAddr {
    SocketAddr::from(([10, 0, 0, 1], 4000))
}

#[test]
fn a_hello_with_the_token_is_answered_and_settles_by_its_confirmation_or_by_silence() {
    let hello = |kind| {
        let mut bytes = [0; HEADER_LEN];
        bytes.copy_from_slice(&datagram(kind, 0)[..HEADER_LEN]);
        bytes
    };
    let mut peer = Peer::Awaited;
    let mut bytes = hello(Kind::HelloDone);
    assert_eq!(
        peer.greet(at(0), address(), TOKEN, &mut bytes),
        Reply::Nothing
    );
    let mut bytes = hello(Kind::Hello);
    let wrong = peer.greet(at(0), address(), TOKEN + 1, &mut bytes);
    assert_eq!((wrong, peer), (Reply::Nothing, Peer::Awaited));
    // Longer than its answer would be: nobody's hello.
    let mut long = datagram(Kind::Hello, 0);
    assert_eq!(
        peer.greet(at(0), address(), TOKEN, &mut long),
        Reply::Nothing
    );
    assert_eq!(
        peer.greet(at(0), address(), TOKEN, &mut bytes),
        Reply::SendBack
    );
    assert_eq!(Header::read(&bytes).unwrap().kind, Kind::HelloAck);
    assert!(!peer.is_settled(at(249_999)) && peer.is_settled(at(250_000)));
    let mut done = hello(Kind::HelloDone);
    let other = SocketAddr::from(([10, 0, 0, 1], 4001));
    peer.greet(at(1), other, TOKEN, &mut done);
    assert!(!peer.is_settled(at(1)));
    peer.greet(at(1), address(), TOKEN, &mut done);
    assert!(peer.is_settled(at(1)) && peer.address() == Some(address()));
}

#[test]
fn datagrams_are_counted_once_and_warm_up_and_strangers_are_not() {
    let work = Work::Datagrams {
        payload: 20,
        pace: Pace::Unpaced,
    };
    let order = order(work, Stop::Transactions(5));
    let mut sink = Sink::new();
    sink.start(at(0), &order);
    sink.take(at(1), TOKEN, &datagram(Kind::WarmUp, 0));
    for (micros, sequence) in [(10, 0), (20, 1), (30, 3), (40, 2), (50, 3)] {
        sink.take(at(micros), TOKEN, &datagram(Kind::Counted, sequence));
    }
    sink.take(at(60), TOKEN + 1, &datagram(Kind::Counted, 4));
    sink.end_round();
    sink.end_round();
    let counts = sink.tracker.counts();
    assert_eq!((counts.received, counts.duplicated), (4, 1));
    assert_eq!((counts.reordered, counts.next_expected), (1, 4));
    assert_eq!((sink.tally.packets(), sink.tally.bytes()), (4, 80));
    assert_eq!(sink.tally.active(), Duration::from_micros(30));
    assert_eq!((sink.foreign, sink.rounds), (1, 1));
    // One is missing: only silence shows that it does not come.
    assert!(!sink.is_over(work, 5, at(0), at(150_059)));
    assert!(sink.is_over(work, 5, at(0), at(150_060)));
    assert!(sink.is_over(work, 4, at(0), at(61)));
}

#[test]
fn answers_carry_this_ends_time_and_count_after_the_warm_up() {
    let (size, warm_up) = (20, 1);
    let work = Work::DatagramAnswers { size, warm_up };
    let mut sink = Sink::new();
    sink.start(at(0), &order(work, Stop::Transactions(5)));
    for sequence in 0..3 {
        let mut message = datagram(Kind::Counted, sequence);
        let reply = sink.answer(at(5), TOKEN, size, &mut message);
        assert_eq!(reply, Reply::SendBack);
        let header = Header::read(&message).unwrap();
        assert_eq!((header.sequence, header.sent.bits()), (sequence, 5000));
    }
    let mut other = datagram(Kind::WarmUp, 9);
    assert_eq!(sink.answer(at(6), TOKEN, size, &mut other), Reply::Nothing);
    assert_eq!(
        sink.answer(at(6), TOKEN, size, &mut other[..19]),
        Reply::Nothing
    );
    assert_eq!(sink.tally.packets(), 2);
    let mut short = *b"abc";
    assert_eq!(sink.answer(at(7), TOKEN, 3, &mut short), Reply::SendBack);
    assert_eq!(&short, b"abc");
}

/// Sends whenever it may, one microsecond after the other; the datagrams by kind.
fn run(order: &Order, payload: u16, pace: Pace, micros: u64) -> (Source, Vec<Header>) {
    let mut source = Source::new();
    source.start(at(0), order, payload, pace);
    let mut sent = Vec::new();
    for now in (0..micros).map(at) {
        let mut room = [0; 1472];
        if let Some(length) = source.write(now, TOKEN, &mut room) {
            assert_eq!(length, usize::from(payload));
            sent.push(Header::read(&room).unwrap());
        }
    }
    (source, sent)
}

#[test]
fn a_paced_sender_sends_the_datagrams_of_its_time_after_those_of_the_warm_up() {
    // One per 100 µs.
    let pace = Pace::At(8_000_000);
    let work = Work::Datagrams { payload: 100, pace };
    let mut order = order(work, Stop::After(Duration::from_millis(5)));
    order.warm_up = Duration::from_millis(1);
    let (source, sent) = run(&order, 100, pace, 7000);
    let (warm, counted) = sent.split_at(10);
    assert!(warm.iter().all(|header| header.kind == Kind::WarmUp));
    assert!(counted.iter().all(|header| header.kind == Kind::Counted));
    assert!(counted.iter().map(|header| header.sequence).eq(0..50));
    assert!(source.is_done());
    assert_eq!((source.tally.packets(), source.unsent), (50, 0));
    assert_eq!(source.duration, Duration::from_millis(5));
}

#[test]
fn a_sender_stops_at_its_count_and_says_what_it_did_not_get_to() {
    let pace = Pace::Unpaced;
    let work = Work::Datagrams { payload: 20, pace };
    let (source, sent) = run(&order(work, Stop::Transactions(7)), 20, pace, 100);
    assert!(source.is_done() && sent.len() == 7);
    let (source, _) = run(&order(work, Stop::Bytes(90)), 20, pace, 100);
    assert_eq!(source.tally.packets(), 5);

    let pace = Pace::At(1_600_000);
    let timed = order(work, Stop::After(Duration::from_millis(100)));
    let mut source = Source::new();
    source.start(at(0), &timed, 20, pace);
    let mut room = [0; 20];
    assert!(source.write(at(0), TOKEN, &mut room).is_some());
    // Nothing takes it until the end: 999 slots pass.
    source.turn(at(100_000));
    assert!(source.is_done());
    assert_eq!((source.tally.packets(), source.unsent), (1, 999));
    assert_eq!(source.due(at(100_001)), None);
}
