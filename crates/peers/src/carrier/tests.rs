//! Both ends over a simulated line of 960 bytes per second each way, in virtual time.

use super::{Carried, Carrier, End};
use linerate_model::MonoInstant;
use linerate_model::random::Random;
use std::collections::VecDeque;
use std::time::Duration;

/// Of a line at 9600 baud.
const BYTE_TIME: Duration = Duration::from_nanos(1_000_000_000 / 960);

/// What a kernel prints in the middle of all else.
const KERNEL: &[u8] =
    b"[   12.345678] macb 10090000.ethernet eth0: Link is Up - 1Gbps/Full ~ flow control off\r\n";

/// What happens to bytes on the line.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    /// Of so many bytes one is changed, lost, or followed by another; 0 for none.
    noise: usize,
    /// Of so many bytes one is followed by a line of the kernel's, towards the client; 0 for none.
    kernel: usize,
    /// Whether what the client writes comes back to it.
    echo: bool,
}

/// One direction: bytes that were written, and when the next one arrives.
#[derive(Debug, Default)]
struct Wire {
    bytes: VecDeque<u8>,
    free: MonoInstant,
}

impl Wire {
    fn write(&mut self, now: MonoInstant, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.free = self.free.max(now);
        }
        self.bytes.extend(bytes);
    }

    fn next(&self) -> Option<MonoInstant> {
        (!self.bytes.is_empty()).then(|| self.free.after(BYTE_TIME))
    }

    /// The byte that has arrived by now.
    fn read(&mut self, now: MonoInstant) -> Option<u8> {
        let arrival = self.next().filter(|arrival| *arrival <= now)?;
        self.free = arrival;
        self.bytes.pop_front()
    }
}

struct Line {
    now: MonoInstant,
    random: Random,
    faults: Faults,
    ends: [Carrier; 2],
    /// Towards the server, and towards the client.
    wires: [Wire; 2],
    /// What came out at each end, and whether its stream ended, and the link.
    came: [Vec<u8>; 2],
    closed: [bool; 2],
    over: [bool; 2],
    /// What is still to be sent at each end.
    to_send: [VecDeque<u8>; 2],
}

impl Line {
    fn new(faults: Faults, seed: u64) -> Self {
        let now = MonoInstant::from_nanos(1);
        Self {
            now,
            random: Random::new(seed),
            faults,
            ends: [Carrier::client(7, 9600, now), Carrier::server(9600, now)],
            wires: Default::default(),
            came: Default::default(),
            closed: [false; 2],
            over: [false; 2],
            to_send: Default::default(),
        }
    }

    /// One in so many.
    fn happens(&mut self, in_so_many: usize) -> bool {
        in_so_many > 0 && self.random.below(in_so_many) == 0
    }

    /// Everything that happens at one moment; then time goes on to the next.
    fn step(&mut self) {
        for end in 0..2 {
            while self.ends[end].has_room() && !self.to_send[end].is_empty() {
                let length = self.to_send[end].len().min(300);
                let piece: Vec<_> = self.to_send[end].drain(..length).collect();
                self.ends[end].send(&piece);
            }
            while let Some(bytes) = self.ends[end].poll_line(self.now) {
                self.wires[end].write(self.now, &bytes);
            }
            while let Some(carried) = self.ends[end].poll_carried() {
                match carried {
                    Carried::Bytes(bytes) => self.came[end].extend(bytes),
                    Carried::Closed => self.closed[end] = true,
                    Carried::Over => self.over[end] = true,
                }
            }
        }
        let ends = (0..2).filter(|end| !self.over[*end]);
        let due = ends.map(|end| self.ends[end].deadline());
        let arrivals = self.wires.iter().filter_map(Wire::next);
        let next = due.chain(arrivals).min();
        self.now = next.unwrap_or(self.now).max(self.now);
        for end in 0..2 {
            while let Some(byte) = self.wires[end].read(self.now) {
                self.arrive(end, byte);
            }
        }
    }

    /// A byte that `from` wrote arrives at the other end, or what became of it.
    fn arrive(&mut self, from: usize, byte: u8) {
        let mut bytes = vec![byte];
        if self.happens(self.faults.noise) {
            let other = self.random.bits().to_le_bytes()[0];
            match self.random.below(3) {
                0 => bytes.clear(),
                1 => bytes.push(other),
                _ => bytes = vec![other],
            }
        }
        let is_to_client = from == 1;
        if is_to_client && self.happens(self.faults.kernel) {
            bytes.extend(KERNEL);
        }
        if !is_to_client && self.faults.echo {
            let now = self.now;
            self.wires[1].write(now, &bytes);
        }
        self.ends[1 - from].hear(self.now, &bytes);
    }

    /// Until both links are over; how long that took.
    fn run(&mut self) -> Duration {
        let began = self.now;
        let mut steps = 0;
        while self.over != [true; 2] {
            self.step();
            // A side that heard the other's end, and has said all, ends too.
            for end in 0..2 {
                if self.to_send[end].is_empty() && self.came[end].len() == SENT[1 - end] {
                    self.ends[end].close();
                }
            }
            steps += 1;
            assert!(steps < 2_000_000, "it does not end: {:?}", self.over);
        }
        self.now.saturating_since(began)
    }
}

/// Bytes that each end sends.
const SENT: [usize; 2] = [3_000, 12_000];

/// Text like a report: digits and the same keys again and again.
fn text(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut text = Vec::new();
    while text.len() < length {
        let record = format!(
            "{{\"start_s\":{:.3},\"received_bytes\":{}}},",
            random.unit(),
            random.below(1 << 30)
        );
        text.extend(record.bytes());
    }
    text.truncate(length);
    text
}

/// Both ends send all they have, and each hears what the other said.
fn carried(faults: Faults, seed: u64) -> Duration {
    let mut line = Line::new(faults, seed);
    let sent = [0, 1].map(|end| text(SENT[end], seed + end as u64));
    line.to_send = sent.clone().map(VecDeque::from);
    let took = line.run();
    let [to_server, to_client] = sent;
    assert!(
        line.came == [to_client, to_server],
        "{faults:?}, seed {seed}"
    );
    assert!(line.closed.contains(&true));
    took
}

#[test]
fn a_quiet_line_takes_little_more_than_its_rate_asks_for() {
    // 12 000 B as JSON are about 5 kB packed, 7.2 kB as text.
    let took = carried(Faults::default(), 1);
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[test]
fn what_comes_is_what_was_sent_whatever_the_line_does() {
    let noise = Faults {
        noise: 400,
        ..Faults::default()
    };
    let kernel = Faults {
        kernel: 600,
        ..Faults::default()
    };
    let echo = Faults {
        echo: true,
        ..Faults::default()
    };
    let all = Faults {
        noise: 800,
        kernel: 1500,
        echo: true,
    };
    for faults in [noise, kernel, echo, all] {
        for seed in 0..10 {
            carried(faults, seed);
        }
    }
}

#[test]
fn who_hears_nothing_ends() {
    let mut line = Line::new(Faults::default(), 1);
    line.wires = Default::default();
    // Nobody is at the other end.
    let mut alone = Carrier::client(1, 9600, line.now);
    let mut written = 0;
    while alone.poll_carried() != Some(Carried::Over) {
        while let Some(bytes) = alone.poll_line(line.now) {
            written += bytes.len();
        }
        line.now = alone.deadline().max(line.now);
    }
    assert!(line.now.saturating_since(MonoInstant::from_nanos(1)) <= Duration::from_secs(31));
    // It asked several times.
    assert!(written > 60, "{written}");
}

#[test]
fn what_is_no_frame_is_passed_over() {
    let now = MonoInstant::from_nanos(1);
    let mut server = Carrier::server(9600, now);
    server.hear(now, b"~~~login: ~AAAA~~AAAAAAAAAAAAAAAA~\xff\xfe~");
    server.hear(now, &[b'a'; 5000]);
    server.hear(now, b"~");
    assert_eq!(server.poll_line(now), None);
    assert_eq!(server.poll_carried(), None);
    let mut client = Carrier::client(3, 9600, now);
    server.hear(now, &client.poll_line(now).unwrap());
    assert!(server.poll_line(now).is_some());
    // What another stream left on the line is none of this one.
    let mut other = Carrier::client(4, 9600, now);
    other.send(b"not for this one");
    while let Some(bytes) = other.poll_line(now) {
        server.hear(now, &bytes);
    }
    assert_eq!(server.poll_carried(), None);
}

#[test]
fn an_end_that_packs_otherwise_ends_the_link() {
    use super::frame::{Frame, Kind};
    let now = MonoInstant::from_nanos(1);
    let mut server = Carrier::server(9600, now);
    let mut frame = Frame {
        from: End::Client,
        kind: Kind::Open,
        session: 1,
        number: 0,
        awaited: 0,
        payload: Vec::new(),
    };
    server.hear(now, &frame.encode());
    (frame.kind, frame.number, frame.payload) = (Kind::Data, 1, vec![0xff; 40]);
    server.hear(now, &frame.encode());
    assert_eq!(server.poll_carried(), Some(Carried::Over));
    assert_eq!(server.poll_line(now), None);
}
