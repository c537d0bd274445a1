//! linerate and a board with Zephyr's zperf, over a serial line and over telnet: what one end counted is
//! what the other says.
//!
//! The board is [`board`]: a shell on a pseudo-terminal or behind a telnet server, whose zperf moves real
//! traffic over loopback. Rates are low, so that no buffer is ever full.
#![expect(clippy::unwrap_used, reason = "a test")]

mod board;

use board::{A, B, Board, Era};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, DirectionOutcome, Target, TestOutcome};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::sample::EndpointReport;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use std::io::Write as _;
use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// From the datagram that opens a session to its traffic; zperf's time of the session begins with it.
const OPENING: Duration = Duration::from_millis(10);

/// Bytes of the settings that an iperf2 client's TCP stream begins with; zperf counts them as data.
const SETTINGS: u64 = 24;

fn target(url: &str) -> Target {
    Target::new(PeerAddress::parse(url).unwrap())
}

fn spec(transport: Transport, direction: Direction) -> TestSpec {
    let pace = Pace::At(BitRate::from_bps(4_000_000));
    let base = match transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec::udp_datagrams(pace),
    };
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..base.with_payload(ByteCount::new(1000))
    }
}

fn bytes(report: &EndpointReport) -> u64 {
    report.streams.iter().map(|s| s.bytes.get()).sum()
}

fn packets(report: &EndpointReport) -> u64 {
    report.streams.iter().map(|s| s.packets.get()).sum()
}

/// Runs one test against the board.
fn measure(board: &Board, spec: &TestSpec) -> DirectionOutcome {
    whole(board, spec).directions.remove(0)
}

fn whole(board: &Board, spec: &TestSpec) -> TestOutcome {
    let mut client = Client::connect(&target(&board.url)).unwrap();
    let outcome = client.run(spec, &mut |_| true).unwrap();
    assert!(!outcome.stopped);
    outcome
}

#[track_caller]
fn udp_agrees(board: &Board, direction: Direction) {
    let done = measure(board, &spec(Transport::Udp, direction));
    let (sender, receiver) = (done.sender.unwrap(), done.receiver.unwrap());
    // An iperf2 client sends its first datagram twice, to open the stream.
    let again = u64::from(direction == Direction::Forward);
    let came = board.truth.packets.load(Ordering::Relaxed) - again;
    assert!(came > 100, "{came}");
    assert_eq!((packets(&sender), packets(&receiver)), (came, came));
    let came = board.truth.bytes.load(Ordering::Relaxed) - again * 1000;
    assert_eq!((bytes(&sender), bytes(&receiver)), (came, came));
    if direction == Direction::Forward {
        let session = Duration::from_micros(board.truth.micros.load(Ordering::Relaxed));
        let received_over = receiver.streams[0].duration;
        assert!(!received_over.is_zero());
        assert!(
            received_over + OPENING <= session,
            "{received_over:?} of a session of {session:?}"
        );
    }
}

/// The board says no bytes of a TCP stream that it received.
fn tcp_to(board: &Board) {
    let spec =
        spec(Transport::Tcp, Direction::Forward).with_pace(Pace::At(BitRate::from_bps(4_000_000)));
    let mut outcome = whole(board, &spec);
    assert!(
        outcome.notes[0].starts_with("the board says that it received"),
        "{:?}",
        outcome.notes
    );
    let done = outcome.directions.remove(0);
    let sent = bytes(&done.sender.unwrap());
    assert!(sent > 0);
    assert_eq!(board.truth.bytes.load(Ordering::Relaxed), sent + SETTINGS);
    assert!(done.receiver.unwrap().streams.is_empty());
}

fn tcp_from(board: &Board) {
    let done = measure(board, &spec(Transport::Tcp, Direction::Reverse));
    let came = board.truth.bytes.load(Ordering::Relaxed);
    assert!(came > 0);
    assert_eq!(bytes(&done.sender.unwrap()), came);
    assert_eq!(bytes(&done.receiver.unwrap()), came);
}

fn each_era(make: fn(Era) -> Board, test: fn(&Board)) {
    for era in [A, B] {
        test(&make(era));
    }
}

#[test]
fn datagrams_to_a_board_on_a_serial_line() {
    each_era(Board::on_serial, |board| {
        udp_agrees(board, Direction::Forward);
    });
}

#[test]
fn datagrams_from_a_board_on_a_serial_line() {
    each_era(Board::on_serial, |board| {
        udp_agrees(board, Direction::Reverse);
    });
}

#[test]
fn datagrams_to_a_board_behind_telnet() {
    each_era(Board::on_telnet, |board| {
        udp_agrees(board, Direction::Forward);
    });
}

#[test]
fn datagrams_from_a_board_behind_telnet() {
    each_era(Board::on_telnet, |board| {
        udp_agrees(board, Direction::Reverse);
    });
}

#[test]
fn tcp_to_a_board() {
    each_era(Board::on_serial, tcp_to);
    each_era(Board::on_telnet, tcp_to);
}

#[test]
fn tcp_from_a_board() {
    each_era(Board::on_serial, tcp_from);
    each_era(Board::on_telnet, tcp_from);
}

#[test]
fn one_conversation_carries_test_after_test() {
    let board = Board::on_serial(A);
    let mut client = Client::connect(&target(&board.url)).unwrap();
    for (transport, direction) in [
        (Transport::Udp, Direction::Forward),
        (Transport::Tcp, Direction::Reverse),
        (Transport::Udp, Direction::Reverse),
        (Transport::Udp, Direction::Forward),
    ] {
        let outcome = client
            .run(&spec(transport, direction), &mut |_| true)
            .unwrap();
        let done = &outcome.directions[0];
        let (sender, receiver) = (
            done.sender.as_ref().unwrap(),
            done.receiver.as_ref().unwrap(),
        );
        assert!(bytes(sender) > 0);
        assert_eq!(bytes(sender), bytes(receiver), "{transport} {direction:?}");
    }
    assert_eq!(client.hosts()[1].facts.os.as_deref(), Some("Zephyr 3.3"));
}

#[track_caller]
fn fails(target: &Target, code: ExitCode, part: &str) {
    let error = Client::connect(target).err().expect("there is no board");
    let failure = error.downcast::<Failure>().unwrap();
    assert_eq!(failure.code, code, "{failure}");
    assert!(failure.message.contains(part), "{failure}");
}

#[test]
fn a_shell_that_says_nothing_is_given_up() {
    let (_mute, path) = linerate_sys::serial::pseudo_terminal().unwrap();
    let url = format!("zperf+serial://{}?host=127.0.0.2", path.display());
    let target = Target {
        timeout: Duration::from_millis(300),
        ..target(&url)
    };
    fails(&target, ExitCode::Peer, "it said nothing");
}

/// What becomes of a telnet connection whose peer says the same without an end, and reads nothing.
#[track_caller]
fn flooded(said: &'static [u8], part: &str) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let flood = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        // It ends when the other end has had enough.
        while stream.write_all(&said.repeat(100)).is_ok() {}
    });
    let url = format!("zperf+telnet://{address}?host=127.0.0.2");
    let target = Target {
        timeout: Duration::from_secs(1),
        ..target(&url)
    };
    fails(&target, ExitCode::Peer, part);
    flood.join().unwrap();
}

#[test]
fn a_shell_that_never_stops_talking_is_given_up() {
    flooded(b"\x1b[31m$ no end ", "no shell prompt came");
}

#[test]
fn a_peer_that_never_stops_negotiating_is_given_up() {
    flooded(b"\xff\xfd\x01$ ", "telnet options without an end");
}

#[test]
fn a_test_that_zperf_cannot_make_is_refused_before_anything_is_typed() {
    let board = Board::on_telnet(B);
    let mut client = Client::connect(&target(&board.url)).unwrap();
    let duplex = spec(Transport::Udp, Direction::Duplex);
    let error = client.run(&duplex, &mut |_| true).err().unwrap();
    let failure = error.downcast::<Failure>().unwrap();
    assert_eq!(failure.code, ExitCode::HostLacks, "{failure}");
    assert!(
        failure.message.contains("one direction after the other"),
        "{failure}"
    );
}

#[test]
fn a_user_who_stops_keeps_what_linerate_sent_and_ends_what_the_board_sends() {
    for (direction, kept) in [(Direction::Forward, 1), (Direction::Reverse, 0)] {
        let board = Board::on_serial(A);
        let mut client = Client::connect(&target(&board.url)).unwrap();
        let long = TestSpec {
            stop: Stop::After(Duration::from_secs(3)),
            ..spec(Transport::Udp, direction)
        };
        let outcome = client
            .run(&long, &mut |pulse| pulse.bytes < 20_000)
            .unwrap();
        assert!(outcome.stopped);
        assert_eq!(outcome.directions.len(), kept, "{direction:?}");
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let url = "zperf+serial:///dev/no-such-line?host=127.0.0.2";
    fails(
        &target(url),
        ExitCode::HostLacks,
        "see that the board is plugged in",
    );
}
