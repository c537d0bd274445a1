//! The test as the client's parameters say it.
//!
//! Servers up to 3.17 take a flag that is there for a flag that is set, later ones look at its type: so
//! a flag is written as `true` or left out, and read as set unless it is false, zero or null.

use super::streams::Counters;
use super::{MAX_STREAMS, code};
use linerate_model::spec::{Direction, MAX_BUFFER, Pace, SocketChoice, Stop, TestSpec, Transport};
use linerate_model::{BitRate, ByteCount};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Version announced: the newest whose wire behaviour this end has. Newer servers check types and ranges only.
const VERSION: &str = "3.17";

/// Default block sizes of a server: 128 KiB for TCP, and what an Ethernet frame carries for UDP.
const TCP_BLOCK: u64 = 128 * 1024;
const UDP_BLOCK: u64 = 1460;

/// Limits of iperf3 itself.
const MAX_TIME: u64 = 86_400;
const MAX_OMIT: u64 = 600;
const MAX_TCP_BLOCK: u64 = 1 << 20;
const MAX_UDP_BLOCK: u64 = 65_507;
const MIN_UDP_BLOCK: u64 = 16;

/// How long a server goes on sending after the client should have ended the test: iperf3's own guard.
pub(super) const GUARD: Duration = Duration::from_secs(40);

/// What a client asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Params {
    /// The test; its stop is the client's.
    pub(super) spec: TestSpec,
    pub(super) counters: Counters,
    /// Whether the server's own output is to stand in its results.
    pub(super) wants_output: bool,
    /// iperf3 version of the client.
    pub(super) version: String,
}

/// Invalid parameters, with iperf3's code for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) code: i32,
    pub(super) cause: String,
}

fn wrong(code: i32, cause: impl Into<String>) -> Wrong {
    Wrong {
        code,
        cause: cause.into(),
    }
}

/// What this test needs and iperf3 does not support; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec) -> Option<&'static str> {
    let is_short = spec.transport() == Transport::Udp && spec.payload().get() < MIN_UDP_BLOCK;
    if spec.work.has_round_trips() {
        Some(
            "iperf3 has no request and response, so no latency test: start `linerate serve` there, or measure tcp or udp",
        )
    } else if spec.direction != Direction::Forward && !matches!(spec.stop, Stop::After(_)) {
        Some(
            "with iperf3 only a test that the client alone sends can end by bytes or packets: give a time with -t",
        )
    } else if spec.warm_up.subsec_nanos() != 0 {
        Some("iperf3 takes a warm-up in whole seconds")
    } else if is_short {
        Some("iperf3 takes datagrams of at least 16 bytes: give a larger --payload")
    } else if spec.is_server_slow() {
        Some("iperf3 cannot imitate a slow application")
    } else {
        None
    }
}

/// Parameters of a test without an [`obstacle`].
pub(super) fn to_json(spec: &TestSpec) -> Value {
    let mut map = Map::new();
    let mut set = |key: &str, value: Value| map.insert(key.to_owned(), value);
    let transport = match spec.transport() {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    };
    let (time, num, blocks) = match spec.stop {
        Stop::After(time) => (time.as_nanos().div_ceil(1_000_000_000), 0, 0),
        Stop::Bytes(bytes) => (0, bytes.get(), 0),
        Stop::Transactions(count) => (0, 0, count),
    };
    set(transport, json!(true));
    set("omit", json!(spec.warm_up.as_secs()));
    set(
        "time",
        json!(u64::try_from(time).unwrap_or(MAX_TIME).min(MAX_TIME)),
    );
    set("num", json!(num));
    set("blockcount", json!(blocks));
    set("parallel", json!(spec.streams));
    match spec.direction {
        Direction::Forward => None,
        Direction::Reverse => set("reverse", json!(true)),
        Direction::Duplex => set("bidirectional", json!(true)),
    };
    if let Some(bytes) = window(spec) {
        set("window", json!(bytes.get()));
    }
    set("len", json!(spec.payload().get()));
    if let Pace::At(rate) = spec.pace() {
        set(
            "bandwidth",
            json!(rate.bps() / u64::from(spec.streams.max(1))),
        );
    }
    set("pacing_timer", json!(1000));
    if let Some(name) = &spec.socket.congestion_control {
        set("congestion", json!(name));
    }
    if let Some(class) = spec.socket.traffic_class {
        set("TOS", json!(class));
    }
    if spec.socket.no_delay {
        set("nodelay", json!(true));
    }
    if spec.transport() == Transport::Udp {
        set("udp_counters_64bit", json!(1));
    }
    set("client_version", json!(VERSION));
    Value::Object(map)
}

/// Socket buffer size: iperf3 has one for both, so the one that its side of the traffic needs.
const fn window(spec: &TestSpec) -> Option<ByteCount> {
    let (send, receive) = (
        spec.socket.send_buffer_bytes,
        spec.socket.receive_buffer_bytes,
    );
    match (spec.direction, send, receive) {
        (Direction::Reverse, Some(send), _) | (_, Some(send), None) => Some(send),
        (_, _, receive) => receive,
    }
}

/// Parses the parameters of a client.
pub(super) fn read(value: &Value) -> Result<Params, Wrong> {
    let transport = transport(value)?;
    let streams = count(value, "parallel")?.unwrap_or(1);
    let streams = u16::try_from(streams)
        .ok()
        .filter(|streams| (1..=MAX_STREAMS).contains(streams))
        .ok_or_else(|| {
            wrong(
                code::STREAMS,
                format!("{streams} streams; 1 to {MAX_STREAMS} are valid"),
            )
        })?;
    let payload = payload(value, transport)?;
    let direction = match (flag(value, "reverse"), flag(value, "bidirectional")) {
        (false, false) => Direction::Forward,
        (true, false) => Direction::Reverse,
        (false, true) => Direction::Duplex,
        (true, true) => return Err(wrong(code::BOTH_WAYS, "reverse and bidirectional at once")),
    };
    let base = match transport {
        Transport::Tcp => TestSpec::tcp_bulk(),
        Transport::Udp => TestSpec::udp_datagrams(Pace::Unpaced),
    };
    let spec = TestSpec {
        direction,
        streams,
        stop: stop(value, transport, payload)?,
        warm_up: omit(value)?,
        socket: socket(value)?,
        ..base.with_payload(payload).with_pace(pace(value, streams)?)
    };
    Ok(Params {
        spec,
        counters: if flag(value, "udp_counters_64bit") {
            Counters::Bits64
        } else {
            Counters::Bits32
        },
        wants_output: flag(value, "get_server_output"),
        version: text(value, "client_version").unwrap_or_default().to_owned(),
    })
}

fn transport(value: &Value) -> Result<Transport, Wrong> {
    match (flag(value, "tcp"), flag(value, "udp"), flag(value, "sctp")) {
        (_, true, false) => Ok(Transport::Udp),
        (true, false, false) => Ok(Transport::Tcp),
        (_, _, true) => Err(wrong(code::PARAMS, "SCTP is not spoken here")),
        _ => Err(wrong(code::PARAMS, "neither tcp nor udp is asked for")),
    }
}

fn payload(value: &Value, transport: Transport) -> Result<ByteCount, Wrong> {
    let (usual, least, most, code) = match transport {
        Transport::Tcp => (TCP_BLOCK, 1, MAX_TCP_BLOCK, code::BLOCK),
        Transport::Udp => (UDP_BLOCK, MIN_UDP_BLOCK, MAX_UDP_BLOCK, code::UDP_BLOCK),
    };
    let bytes = count(value, "len")?.filter(|len| *len > 0).unwrap_or(usual);
    if (least..=most).contains(&bytes) {
        return Ok(ByteCount::new(bytes));
    }
    let cause = format!("blocks of {bytes} bytes; {least} to {most} are valid");
    Err(wrong(code, cause))
}

fn pace(value: &Value, streams: u16) -> Result<Pace, Wrong> {
    let each = count(value, "bandwidth")?.filter(|bps| *bps > 0);
    Ok(each.map_or(Pace::Unpaced, |bps| {
        Pace::At(BitRate::from_bps(bps.saturating_mul(u64::from(streams))))
    }))
}

fn stop(value: &Value, transport: Transport, payload: ByteCount) -> Result<Stop, Wrong> {
    let bytes = count(value, "num")?.unwrap_or(0);
    let blocks = count(value, "blockcount")?.unwrap_or(0);
    if bytes > 0 {
        return Ok(Stop::Bytes(ByteCount::new(bytes)));
    }
    if blocks > 0 {
        return Ok(match transport {
            Transport::Tcp => Stop::Bytes(ByteCount::new(blocks.saturating_mul(payload.get()))),
            Transport::Udp => Stop::Transactions(blocks),
        });
    }
    let time = count(value, "time")?.unwrap_or(10);
    if time > MAX_TIME {
        return Err(wrong(
            code::DURATION,
            format!("{time} s; at most {MAX_TIME} are valid"),
        ));
    }
    // The client ends a test without a time.
    let time = if time == 0 { MAX_TIME } else { time };
    Ok(Stop::After(Duration::from_secs(time)))
}

fn omit(value: &Value) -> Result<Duration, Wrong> {
    let omit = count(value, "omit")?.unwrap_or(0);
    if omit > MAX_OMIT {
        return Err(wrong(
            code::OMIT,
            format!("omit {omit} s; at most {MAX_OMIT} are valid"),
        ));
    }
    Ok(Duration::from_secs(omit))
}

fn socket(value: &Value) -> Result<SocketChoice, Wrong> {
    let window = count(value, "window")?
        .filter(|bytes| *bytes > 0)
        .map(ByteCount::new);
    if let Some(bytes) = window.filter(|bytes| bytes.get() > MAX_BUFFER.get()) {
        let cause = format!("a window of {bytes}; at most {MAX_BUFFER} are valid");
        return Err(wrong(code::BUFFER, cause));
    }
    let congestion = text(value, "congestion");
    let is_name = |name: &&str| {
        name.len() < 16
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    if congestion.is_some_and(|name| !is_name(&name)) {
        return Err(wrong(
            code::CONGESTION,
            "this is not the name of a congestion control",
        ));
    }
    Ok(SocketChoice {
        send_buffer_bytes: window,
        receive_buffer_bytes: window,
        congestion_control: congestion.map(str::to_owned),
        traffic_class: traffic_class(value)?,
        no_delay: flag(value, "nodelay"),
    })
}

fn traffic_class(value: &Value) -> Result<Option<u8>, Wrong> {
    let Some(class) = count(value, "TOS")?.filter(|class| *class > 0) else {
        return Ok(None);
    };
    let fits = u8::try_from(class).map(Some);
    fits.map_err(|_| wrong(code::TOS, format!("TOS {class}; 0 to 255 are valid")))
}

fn flag(value: &Value, key: &str) -> bool {
    match value.get(key) {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => true,
    }
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

/// A count such as `10` or `1.0e1`. Absent is `None`; negative or enormous is an error.
fn count(value: &Value, key: &str) -> Result<Option<u64>, Wrong> {
    let Some(number) = value.get(key).filter(|number| !number.is_null()) else {
        return Ok(None);
    };
    let bad = || {
        wrong(
            code::PARAMS,
            format!("{key} is not a number from 0 to 2^53"),
        )
    };
    as_count(number).map(Some).ok_or_else(bad)
}

/// A whole number from 0 to 2^53 in any JSON form; a fraction is dropped.
pub(super) fn as_count(number: &Value) -> Option<u64> {
    const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_992.0;
    // 3.12 writes -1 as 2^64 - 1.
    let float = number
        .as_f64()
        .filter(|float| (0.0..=MAX_SAFE_INTEGER).contains(float))?;
    if let Some(whole) = number.as_u64() {
        return Some(whole);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be from 0 to 2^53; the fraction is dropped on purpose"
    )]
    let whole = float as u64;
    Some(whole)
}
