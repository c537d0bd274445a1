//! Every field of a test at its extremes: what one round of the device's loop is given to do stays bounded, by count.

use super::super::*;
use super::{CLIENT, hello_of_client, message};
use crate::traffic::MAX_PER_ROUND;
use linerate_model::spec::{Direction, Pace, Stop, TestSpec};
use serde_json::{Value, json};

/// Most calls of an output until it has nothing, in one round.
const MAX_CALLS: usize = MAX_PER_ROUND as usize;

/// Beginning of a string that stands for a number which no float holds: it is written without its quotes.
const RAW: &str = "raw:";

/// A message with its raw numbers.
fn written(message: &Value) -> String {
    let text = message.to_string();
    let mark = format!("\"{RAW}");
    let mut parts = text.split(&mark);
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        written.push_str(&part.replacen('"', "", 1));
    }
    written
}

/// Values of fields that whoever asks may choose, as they stand in the message.
fn extremes() -> Vec<(&'static str, Vec<Value>)> {
    let wholes = || vec![json!(0), json!(1), json!(u64::MAX)];
    let seconds = [
        "0",
        "1e-9",
        "1",
        "3600",
        "1e18",
        "1e-2147483648",
        "1e2147483647",
        "0.00000000001e-2147483640",
    ];
    let seconds = || seconds.map(|text| json!(format!("{RAW}{text}"))).to_vec();
    let stops = |key: &'static str, values: Vec<Value>| {
        values.into_iter().map(move |value| json!({ key: value }))
    };
    let paces = wholes().into_iter().map(|rate| json!({ "at": rate }));
    vec![
        ("work/pace", paces.chain([json!("unpaced")]).collect()),
        (
            "work/payload_bytes",
            [18, 19, 1472, 65_535].map(|size| json!(size)).into(),
        ),
        (
            "stop",
            stops("after", seconds())
                .chain(stops("bytes", wholes()))
                .chain(stops("transactions", wholes()))
                .collect(),
        ),
        ("warm_up_s", seconds()),
        ("interval_s", seconds()),
        ("streams", wholes()),
    ]
}

/// A test that this device sends, at once and for an hour.
fn specs() -> [Value; 2] {
    let datagrams = TestSpec {
        direction: Direction::Reverse,
        stop: Stop::After(Duration::from_mins(1)),
        ..TestSpec::udp_datagrams(Pace::Unpaced)
    };
    let bytes = TestSpec {
        direction: Direction::Reverse,
        stop: Stop::After(Duration::from_mins(1)),
        ..TestSpec::tcp_bulk()
    };
    [datagrams, bytes].map(|spec| serde_json::to_value(spec).unwrap())
}

/// Runs a test of this specification; whether traffic was asked of the device at all.
fn run(spec: &Value) -> bool {
    let mut responder = Responder::new(Config::new("board", "stack", 7));
    let mut now = MonoInstant::default();
    responder.control_opened(now, CLIENT);
    responder.control_received(now, &hello_of_client());
    let prepare = written(&json!({"test": 1, "spec": spec}));
    responder.control_received(now, &message(16, &prepare));
    let token = responder.test.token.to_be_bytes();
    let [a, b, c, d] = token;
    responder.stream_opened(CLIENT);
    responder.stream_received(now, &mut [a, b, c, d, 0, 0]);
    for kind in [2, 4] {
        let mut hello = [a, b, c, d, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let from = SocketAddr::new(CLIENT, 4000);
        responder.datagram_received(now, Port::Send, from, &mut hello);
    }
    responder.poll(now);
    responder.control_received(now, &message(20, "{\"test\":1}"));
    let has_run = responder.state() == State::Running;
    for step in [0, 1, 1000, 200_000, 10_000_001, 1 << 30, 1 << 40, 1 << 62] {
        now = now.after(Duration::from_nanos(step));
        responder.poll(now);
        let mut calls = 0;
        while responder.datagram_output(now, &mut [0; 1472]).is_some() {
            calls += 1;
            assert!(calls <= MAX_CALLS, "datagrams of {spec}");
        }
        while responder.stream_output(now, 1 << 20) > 0 {
            calls += 1;
            assert!(calls <= MAX_CALLS, "pieces of {spec}");
        }
        while responder.control_output(&mut [0; 512]) > 0 {
            calls += 1;
            assert!(calls <= 2 * MAX_CALLS, "messages of {spec}");
        }
        assert!(responder.deadline(now) >= now);
    }
    responder.control_closed(now);
    has_run
}

#[test]
fn a_round_has_bounded_work_for_every_field_at_its_extremes() {
    let mut has_run = 0;
    let fields = extremes();
    for base in specs() {
        for (first, values) in &fields {
            for (second, others) in &fields {
                for value in values {
                    for other in others {
                        let mut spec = base.clone();
                        let mut set = |pointer: &str, value: &Value| {
                            let place = format!("/{pointer}");
                            let (parent, key) = place.rsplit_once('/').unwrap();
                            if let Some(Value::Object(fields)) = spec.pointer_mut(parent) {
                                fields.insert(key.to_owned(), value.clone());
                            }
                        };
                        set(first, value);
                        set(second, other);
                        has_run += usize::from(run(&spec));
                    }
                }
            }
        }
    }
    assert!(has_run > 100, "{has_run} tests ran");
}
