//! The session of a board that is told what to do: its shell's words are those of the recorded conversations.

use super::Zperf;
use crate::ProtocolError;
use crate::session::{
    Action, ClientConfig, Ending, Input, PeerEvent, PeerKind as _, RANDOM_BYTES, Refusal,
    RefusalCode, Sent, Session, StreamEvent, StreamOrder, StreamTarget, TestEnd, Wire,
};
use linerate_model::sample::{DatagramReceiver, DatagramSender, EndpointReport, StreamReport};
use linerate_model::spec::{Direction, Pace, Side, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount, MonoInstant, PacketCount};
use std::net::Ipv4Addr;
use std::time::Duration;

const SERVES: &str = "zperf udp download 5001\r\nUDP server started on port 5001\r\nuart:~$ ";
const SERVED: &str = "New session started.\r\nEnd of session!\r\n duration:\t\t3.00 s\r\n received packets:\t2666\r\n nb packets lost:\t11\r\n nb packets outorder:\t0\r\n jitter:\t\t\t1.92 ms\r\n rate:\t\t\t9.96 Mbps\r\nuart:~$ ";
const STOPPED: &str = "zperf udp download stop\r\nUDP server stopped\r\nuart:~$ ";
const UPLOADS: &str = "zperf udp upload 192.0.2.2 40000 1 1000 4000000\r\nRemote port is 40000\r\nConnecting to 192.0.2.2\r\nStarting...\r\n";
const UPLOADED: &str = "-\r\nUpload completed!\r\nStatistics:\t\tserver\t(client)\r\nDuration:\t\t1.00 s\t(1.00 s)\r\nNum packets:\t\t500\t(500)\r\nNum packets out order:\t0\r\nNum packets lost:\t0\r\nJitter:\t\t\t98 us\r\nRate:\t\t\t4.00 Mbps\t(4.00 Mbps)\r\nuart:~$ ";

/// A session and its time.
struct Board {
    session: Box<dyn Session>,
    now: MonoInstant,
}

impl Board {
    /// A session whose shell has received no command yet.
    fn silent() -> Self {
        let now = MonoInstant::from_nanos(1);
        let config = ClientConfig {
            remote_port: 5001,
            wire: Some(Wire::Serial),
            ..ClientConfig::new(Ipv4Addr::new(192, 0, 2, 2).into(), [7; RANDOM_BYTES])
        };
        Self {
            session: Zperf::DEFAULT.client(config, now),
            now,
        }
    }

    /// A session that is ready for tests.
    fn ready() -> Self {
        let mut board = Self::silent();
        board.shell("\r\nuart:~$ ");
        board.shell("kernel version\r\nZephyr version 3.3.0\r\nuart:~$ ");
        let done = board.shell("zperf version\r\nVersion: 1.1\r\nuart:~$ ");
        let Some(Action::Peer(PeerEvent::Hello(hello))) = done.last() else {
            panic!("{done:?}");
        };
        assert_eq!(hello.facts.os.as_deref(), Some("Zephyr 3.3"));
        assert_eq!(hello.facts.zperf.as_deref(), Some("1.1"));
        board
    }

    fn give(&mut self, input: Input<'_>) -> Vec<Action> {
        self.session.handle(self.now, input).unwrap();
        std::iter::from_fn(|| self.session.poll_action()).collect()
    }

    /// The shell says this, and nothing more until that is told.
    fn shell(&mut self, said: &str) -> Vec<Action> {
        let mut done = self.give(Input::Bytes(said.as_bytes()));
        self.now = self.now.after(Duration::from_millis(300));
        done.extend(self.give(Input::Timeout));
        done
    }

    /// Begins a test in which the board receives; it does.
    fn sending() -> Self {
        let mut board = Self::ready();
        let done = board.give(Input::Begin(Box::new(spec(Direction::Forward))));
        assert_eq!(typed(&done), "zperf udp download 5001\r");
        let done = board.shell(SERVES);
        assert!(
            matches!(
                &done[..],
                [Action::OpenStreams {
                    target: StreamTarget::Ports(_),
                    ..
                }]
            ),
            "{done:?}"
        );
        board
    }

    /// Begins a test in which the board sends; this command asks it to, and it answers so.
    fn receiving(spec: TestSpec, command: &str, answer: &str) -> Self {
        let mut board = Self::ready();
        let (transport, port) = (spec.transport(), 5001);
        let done = board.give(Input::Begin(Box::new(spec)));
        assert_eq!(done, [Action::Listen { transport, port }]);
        let ports = vec![(Side::Receiver, vec![40_000])];
        let done = board.give(Input::Prepared(Ok(ports)));
        assert_eq!(typed(&done), command);
        board.shell(answer);
        board
    }

    /// A client during a UDP test in which the board sends datagrams of default length.
    fn receiving_datagrams() -> Self {
        let command = "zperf udp upload 192.0.2.2 40000 1 1000 4000000\r";
        Self::receiving(spec(Direction::Reverse), command, UPLOADS)
    }
}

fn spec(direction: Direction) -> TestSpec {
    TestSpec {
        direction,
        stop: Stop::After(Duration::from_secs(1)),
        ..TestSpec::udp_datagrams(Pace::At(BitRate::from_bps(4_000_000)))
            .with_payload(ByteCount::new(1000))
    }
}

/// The board's report at the end of a complete test.
#[track_caller]
fn complete(done: &[Action]) -> &[EndpointReport] {
    let [
        Action::Peer(PeerEvent::Report(reports)),
        Action::TestOver(TestEnd::Complete),
    ] = done
    else {
        panic!("{done:?}");
    };
    reports
}

/// What is typed into the shell.
fn typed(actions: &[Action]) -> String {
    let bytes = actions.iter().filter_map(|action| match action {
        Action::Send(bytes) => Some(bytes.as_slice()),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Vec<_>>().concat()).unwrap()
}

/// The datagram that a board's stream begins with.
fn opening() -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 1];
    bytes.resize(1000, 0);
    bytes
}

fn received(packets: u64) -> Vec<EndpointReport> {
    let stream = StreamReport::new(0, DatagramReceiver::default());
    let counts = (ByteCount::new(packets * 1000), PacketCount::new(packets));
    let stream = stream.with_counts(counts.0, counts.1);
    vec![EndpointReport::of_streams(Side::Receiver, vec![stream])]
}

/// Lets time pass from deadline to deadline until the session does something else than to say datagrams.
fn wait(board: &mut Board) -> Vec<Action> {
    for _ in 0..100 {
        let due = board.session.deadline().expect("something is due");
        board.now = board.now.max(due);
        let done = board.give(Input::Timeout);
        let is_said =
            |action: &Action| matches!(action, Action::Stream(StreamOrder::Datagram { .. }));
        if !done.iter().all(is_said) {
            return done;
        }
    }
    panic!("nothing came of it in state {}", board.session.state());
}

#[test]
fn a_board_that_receives_is_reported_by_what_its_shell_prints() {
    let mut board = Board::sending();
    board.give(Input::Connected);
    assert_eq!(wait(&mut board), [Action::Start(Side::Sender)]);
    board.shell(SERVED);
    let sent = vec![PacketCount::new(2677)];
    board.give(Input::Finished { sent });
    let stream = StreamReport::new(0, DatagramSender::default());
    let own = vec![EndpointReport::of_streams(Side::Sender, vec![stream])];
    board.give(Input::Reports(own));
    // Its answer over the network: the number of an end, and a report of the wide header.
    let mut answer = [0; 128];
    answer[..4].copy_from_slice(&[0xff, 0xff, 0xf5, 0x8a]);
    answer[16] = 0x80;
    let done = board.give(Input::Stream(StreamEvent::Datagram {
        stream: 0,
        bytes: &answer,
    }));
    let done = if done.is_empty() {
        wait(&mut board)
    } else {
        done
    };
    assert!(typed(&done).contains("zperf udp download stop"), "{done:?}");
    let done = board.shell(STOPPED);
    let reports = complete(&done);
    assert_eq!(reports[0].streams[0].packets.get(), 2666);
}

#[test]
fn a_board_that_sends_is_reported_by_what_its_shell_prints() {
    let mut board = Board::receiving_datagrams();
    let (transport, bytes) = (Transport::Udp, opening());
    let bytes = bytes.as_slice();
    let opened = Input::Stream(StreamEvent::Opened { transport, bytes });
    let done = board.give(opened);
    let [Action::Prepare { spec, .. }] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(spec.direction, Direction::Reverse);
    board.give(Input::Prepared(Ok(Vec::new())));
    let done = board.give(Input::Connected);
    assert_eq!(done, [Action::Start(Side::Receiver)]);
    board.give(Input::Reports(received(490)));
    let done = board.shell(UPLOADED);
    let reports = complete(&done);
    assert_eq!(reports[0].side, Side::Sender);
    assert_eq!(reports[0].streams[0].packets.get(), 500);
    // And the next one.
    let done = board.give(Input::Begin(Box::new(self::spec(Direction::Forward))));
    assert_eq!(typed(&done), "zperf udp download 5001\r");
}

#[test]
fn a_board_that_has_sent_to_nobody_here_is_told_so() {
    let mut board = Board::receiving_datagrams();
    let done = board.shell(UPLOADED);
    let [Action::Stop { code, reason, .. }] = &done[..] else {
        panic!("{done:?}");
    };
    assert_eq!(*code, RefusalCode::Timeout);
    assert!(reason.contains("see that its host= is"), "{reason}");
    let done = board.give(Input::Stopped);
    assert_eq!(done, [Action::TestOver(TestEnd::Aborted), Action::Closed]);
    assert_eq!(board.session.deadline(), None);
}

/// Zephyr 2.5 stops at the first write that would wait, says so, and forgets the connection.
#[test]
fn what_came_of_a_stream_that_the_board_never_closes_is_all_of_it() {
    let spec = TestSpec {
        direction: Direction::Reverse,
        stop: Stop::After(Duration::from_secs(1)),
        ..TestSpec::tcp_bulk().with_payload(ByteCount::new(1000))
    };
    let command = "zperf tcp upload 192.0.2.2 40000 1 1000\r";
    let mut board = Board::receiving(spec, command, &format!("{command}\nStarting...\r\n"));
    let opening = [[0; 4], [b'z'; 4]].concat();
    let (transport, bytes) = (Transport::Tcp, opening.as_slice());
    board.give(Input::Stream(StreamEvent::Opened { transport, bytes }));
    board.give(Input::Prepared(Ok(Vec::new())));
    board.give(Input::Connected);
    let said = "Failed to send the packet (-11)\r\n-\r\nUpload completed!\r\nDuration:\t10.00 ms\r\nNum packets:\t39\r\nNum errors:\t1 (retry or fail)\r\nRate:\t\t29.75 Mbps\r\nuart:~$ ";
    assert_eq!(board.shell(said), []);
    let due = board.session.deadline().unwrap();
    assert!(due <= board.now.after(Duration::from_secs(5)));
    board.now = due;
    let done = board.give(Input::Timeout);
    let [
        Action::Peer(PeerEvent::Note(note)),
        Action::PeerFinished { sent: Sent::Untold },
    ] = &done[..]
    else {
        panic!("{done:?}");
    };
    assert!(note.contains("(failed writes: 1)"), "{note}");
    let done = board.give(Input::Reports(received(38)));
    let reports = complete(&done);
    assert_eq!(reports[0].streams[0].bytes.get(), 39_000);
}

#[test]
fn a_test_that_is_ended_ends_the_boards_server_before_the_next() {
    let mut board = Board::sending();
    let done = board.give(Input::End(Ending::Traffic));
    assert!(matches!(&done[..], [Action::Stop { .. }]), "{done:?}");
    board.give(Input::Stopped);
    assert!(
        board
            .give(Input::Begin(Box::new(spec(Direction::Forward))))
            .is_empty()
    );
    let done = wait(&mut board);
    assert_eq!(typed(&done), "zperf udp download stop\r");
    let done = board.shell(STOPPED);
    assert_eq!(done[0], Action::TestOver(TestEnd::Aborted));
    assert_eq!(typed(&done), "zperf udp download 5001\r");
}

#[test]
fn the_end_of_the_session_ends_the_boards_server() {
    let mut board = Board::sending();
    let done = board.give(Input::End(Ending::Session));
    assert_eq!(typed(&done), "zperf udp download stop\r");
    assert_eq!(done.last(), Some(&Action::Closed));
    assert!(board.give(Input::Bytes(b"uart:~$ ")).is_empty());
}

#[test]
fn what_the_board_cannot_do_is_refused_and_nothing_is_typed() {
    let mut board = Board::ready();
    let done = board.give(Input::Begin(Box::new(spec(Direction::Duplex))));
    assert!(
        matches!(
            &done[..],
            [Action::TestOver(TestEnd::Impossible(Refusal {
                code: RefusalCode::Unsupported,
                ..
            }))]
        ),
        "{done:?}"
    );
}

#[track_caller]
fn fails(board: &mut Board, said: &str, expected: RefusalCode) {
    let at = board.now;
    let bytes = Input::Bytes(said.as_bytes());
    let mut outcome = board.session.handle(at, bytes);
    if outcome.is_ok() {
        board.now = board.session.deadline().expect("something is due");
        outcome = board.session.handle(board.now, Input::Timeout);
    }
    let Err(ProtocolError::Shell { code, message }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(code, expected, "{message}");
    assert_eq!(board.session.deadline(), None);
}

#[test]
fn a_shell_without_zperf_or_release_says_who_is_to_do_what() {
    let mut board = Board::silent();
    board.shell("\r\nuart:~$ ");
    board.shell("kernel version\r\nZephyr version 3.3.0\r\nuart:~$ ");
    let none = "zperf version\r\nzperf: command not found\r\nuart:~$ ";
    fails(&mut board, none, RefusalCode::Unsupported);
    let mut board = Board::silent();
    board.shell("\r\nuart:~$ ");
    board.shell("kernel version\r\nuart:~$ ");
    let version = "zperf version\r\nVersion: 1.1\r\nuart:~$ ";
    fails(&mut board, version, RefusalCode::Invalid);
}

#[test]
fn a_shell_that_never_stops_talking_is_given_up() {
    let mut board = Board::silent();
    let outcome = (0..100).try_for_each(|_| {
        board.now = board.now.after(Duration::from_millis(200));
        board.session.handle(board.now, Input::Bytes(b"$ no end "))
    });
    assert!(
        matches!(outcome, Err(ProtocolError::Shell { .. })),
        "{outcome:?}"
    );
}
