//! Whether a [`TestSpec`] makes sense: every bound in one place, for the command line, plans and peers.
//!
//! Does not know what an engine or a host can do: an unknown workload id passes here if it is a well-formed id.

use super::{
    ConnectionClose, FlowLoad, Imitation, Pace, Stop, TestSpec, TestWork, TransactionBounds,
    Transport,
};
use crate::units::{BitRate, ByteCount};
use std::fmt::Display;
use std::time::Duration;

/// Most parallel streams per direction: what a host has ports and descriptors for without being prepared for it.
pub const MAX_STREAMS: u16 = 10_000;
/// Most traffic threads per side, and so stream reports; iperf3's limit of streams, each of which is a thread there too.
pub const MAX_THREADS: u16 = 128;
/// Most connections that are open at once: some 300 MB of a kernel's memory at each end.
pub const MAX_CONNECTIONS: u32 = 100_000;
/// Most flows of given sizes of a test, in the mean: each is remembered until its end.
const MAX_FLOWS: u32 = 2_000_000;
/// Longest TCP write or message; iperf3's own limit, kept so that plans carry over.
pub const MAX_TCP_PAYLOAD: ByteCount = ByteCount::new(1024 * 1024);
/// Longest UDP payload: 65 535 − 20 (IPv4) − 8 (UDP).
pub const MAX_UDP_PAYLOAD: ByteCount = ByteCount::new(65_507);
/// Shortest payload that holds number and time of a datagram.
pub const MIN_NUMBERED_PAYLOAD: ByteCount =
    ByteCount::new(linerate_wire::header::HEADER_LEN as u64);
/// Longest test: a day, beyond which counters and reports outgrow what one test is for.
pub const MAX_DURATION: Duration = Duration::from_hours(24);
/// Longest time sent but not counted; iperf3's own limit for its `omit`.
pub const MAX_WARM_UP: Duration = Duration::from_mins(10);
/// Shortest reporting interval: below it, taking the sample disturbs what is sampled.
pub const MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Most intervals of a test, over all its streams and both directions: some 10 MB in a report, which is one control
/// message.
pub const MAX_INTERVALS: u32 = 100_000;
/// Highest intended load: above any link, low enough that no product of rate and time overflows.
pub const MAX_RATE: BitRate = BitRate::from_bps(100_000_000_000_000);
/// Largest socket buffer to ask for.
pub const MAX_BUFFER: ByteCount = ByteCount::new(1024 * 1024 * 1024);
/// Most datagrams per read of a receiver that pauses: as many as one that does not.
const MAX_READS: u16 = 64;
/// Longest pause of a receiver between reads, or of a sender between writes.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Longest wait for an answer: what is still under way is kept in memory so long.
const MAX_ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Highest core number that Linux can be built for (`NR_CPUS`).
const MAX_CORE: u32 = 8191;
/// Longest id of a workload or datapath, and longest key of a parameter.
const MAX_ID: usize = 64;
/// Longest value of a parameter.
const MAX_VALUE: usize = 256;
/// Most parameters of a datapath.
const MAX_PARAMS: usize = 32;
/// `TCP_CA_NAME_MAX` without its terminating zero.
const MAX_CONGESTION_CONTROL: usize = 15;

/// A key of a test specification whose value is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: must be {valid}")]
pub struct SpecError {
    /// The key as in the plan and on the wire: `payload_bytes`, `datapath.params`.
    pub key: &'static str,
    /// What was given, shortened for reading.
    pub value: String,
    /// What would be valid.
    pub valid: String,
}

impl SpecError {
    /// The key by the name that the command line and plans give it.
    pub fn setting(&self) -> &'static str {
        match self.key {
            "payload_bytes" => "payload",
            "stop" => "time",
            "pace" => "rate",
            "pinning" => "cpu",
            "warm_up" => "warm-up",
            "concurrent" => "streams",
            "request_bytes" => "request",
            "receiver_pause" => "receiver-pause",
            "response_bytes" => "response",
            "timeout_s" => "connect-timeout",
            "sizes" => "flow-sizes",
            "load_bps" => "load",
            "ideal_bps" => "link-rate",
            "answer_timeout_s" => "answer-timeout",
            "responder_stall" => "responder-stall",
            "transactions" => "iterations",
            "datapath.params" => "datapath",
            "socket.send_buffer_bytes" => "send-buffer",
            "socket.receive_buffer_bytes" => "receive-buffer",
            "socket.congestion_control" => "congestion",
            same => same,
        }
    }
}

/// Checks every bound of `spec`; the first key that is out of bounds is named.
pub fn validate(spec: &TestSpec) -> Result<(), SpecError> {
    streams(spec)?;
    threads(spec)?;
    id("workload", spec.workload.as_str())?;
    payload(spec)?;
    pace(spec)?;
    stop(spec.stop)?;
    transactions(spec.work.transactions())?;
    times(spec)?;
    connections(spec)?;
    imitation(spec)?;
    datapath(spec)?;
    socket(spec)?;
    for core in [spec.pinning.local, spec.pinning.remote]
        .into_iter()
        .flatten()
    {
        within("pinning", core, 0, MAX_CORE)?;
    }
    Ok(())
}

fn streams(spec: &TestSpec) -> Result<(), SpecError> {
    let Some(work) = spec.work.connections() else {
        return within("streams", spec.streams, 1, MAX_STREAMS);
    };
    let key = match work.close {
        ConnectionClose::Hold => "open",
        _ => "concurrent",
    };
    within(key, work.concurrent, 1, MAX_CONNECTIONS)?;
    // A stream of these is a thread.
    let most = u32::from(MAX_THREADS).min(work.concurrent);
    within("threads", spec.streams.into(), 1, most)
}

fn threads(spec: &TestSpec) -> Result<(), SpecError> {
    match spec.threads {
        Some(threads) => within("threads", threads, 1, MAX_THREADS.min(spec.streams)),
        None if spec.streams > MAX_THREADS => Err(SpecError {
            key: "streams",
            value: spec.streams.to_string(),
            valid: format!("at most {MAX_THREADS}, or shared by threads"),
        }),
        None => Ok(()),
    }
}

fn payload(spec: &TestSpec) -> Result<(), SpecError> {
    let most = match spec.transport() {
        Transport::Tcp => MAX_TCP_PAYLOAD,
        Transport::Udp => MAX_UDP_PAYLOAD,
    };
    // A datagram that asks for an answer may be empty: it is matched by order.
    let may_be_empty =
        spec.transport() == Transport::Udp && matches!(spec.work, TestWork::ClosedLoop(_));
    let least = u64::from(!may_be_empty);
    let key = match spec.work.connections() {
        Some(_) => "request_bytes",
        None => "payload_bytes",
    };
    within(key, spec.payload().get(), least, most.get())
}

fn pace(spec: &TestSpec) -> Result<(), SpecError> {
    match spec.pace() {
        Pace::Unpaced => Ok(()),
        Pace::At(rate) => {
            let key = match spec.work.connections() {
                Some(_) => "load_bps",
                None => "pace",
            };
            within(key, rate.bps(), 1, MAX_RATE.bps())
        }
    }
}

fn stop(stop: Stop) -> Result<(), SpecError> {
    match stop {
        Stop::After(time) => duration("stop", time, Duration::from_millis(1), MAX_DURATION),
        Stop::Bytes(bytes) => within("stop", bytes.get(), 1, u64::MAX),
        Stop::Transactions(count) => within("stop", count, 1, u64::MAX),
    }
}

fn transactions(bounds: TransactionBounds) -> Result<(), SpecError> {
    let most = bounds.at_most.unwrap_or(u64::MAX);
    let least = bounds.at_least.unwrap_or(1);
    within("transactions", most, 1, u64::MAX)?;
    within("transactions", least, 1, most)
}

fn times(spec: &TestSpec) -> Result<(), SpecError> {
    duration("warm_up", spec.warm_up, Duration::ZERO, MAX_WARM_UP)?;
    duration("interval", spec.interval, MIN_INTERVAL, MAX_DURATION)?;
    if let TestWork::OpenLoop(open) = &spec.work {
        let (timeout, least) = (open.answer_timeout, Duration::from_millis(1));
        duration("answer_timeout_s", timeout, least, MAX_ANSWER_TIMEOUT)?;
    }
    let Stop::After(time) = spec.stop else {
        return Ok(());
    };
    let least = spec.least_interval(time);
    check(
        spec.interval >= least,
        "interval",
        format_args!("{:?}", spec.interval),
        || {
            format!(
                "at least {least:?}: {} streams over {time:?} have at most {MAX_INTERVALS} intervals in all",
                spec.stream_reports()
            )
        },
    )
}

fn connections(spec: &TestSpec) -> Result<(), SpecError> {
    let Some(work) = spec.work.connections() else {
        return Ok(());
    };
    let most = MAX_TCP_PAYLOAD.get();
    within("response_bytes", work.response.get(), 1, most)?;
    let least = Duration::from_millis(1);
    duration("timeout_s", work.timeout, least, MAX_ANSWER_TIMEOUT)?;
    work.flows.as_ref().map_or(Ok(()), |load| flows(spec, load))
}

fn flows(spec: &TestSpec, load: &FlowLoad) -> Result<(), SpecError> {
    load.sizes.check().map_err(|why| SpecError {
        key: "sizes",
        value: short(&load.sizes.name),
        valid: format!("a distribution of sizes: {why}"),
    })?;
    within("load_bps", load.load.bps(), 1, MAX_RATE.bps())?;
    within("ideal_bps", load.ideal.bps(), 1, MAX_RATE.bps())?;
    let Stop::After(time) = spec.stop else {
        return check(false, "stop", "a count", || {
            "a time, where flows begin at a rate".to_owned()
        });
    };
    let flows = load.load.as_f64() / (load.sizes.mean() * 8.0) * time.as_secs_f64();
    check(flows <= f64::from(MAX_FLOWS), "load_bps", load.load, || {
        format!("at most {MAX_FLOWS} flows of a test: these are some {flows:.0}")
    })
}

fn imitation(spec: &TestSpec) -> Result<(), SpecError> {
    match spec.imitation {
        None => Ok(()),
        Some(Imitation::SlowReceiver {
            pause,
            datagrams_per_read,
        }) => {
            duration("receiver_pause", pause, Duration::ZERO, MAX_PAUSE)?;
            within("receiver_reads", datagrams_per_read, 1, MAX_READS)
        }
        Some(Imitation::SlowSender { pause }) => {
            duration("sender_pause", pause, Duration::ZERO, MAX_PAUSE)?;
            check(
                matches!(&spec.work, TestWork::ByteStream(stream) if stream.pace == Pace::Unpaced),
                "sender_pause",
                format_args!("{pause:?}"),
                || {
                    "left out, unless the test is a TCP transfer without an intended load"
                        .to_owned()
                },
            )
        }
        Some(Imitation::StallingResponder(stall)) => {
            let key = "responder_stall";
            duration(key, stall.every, Duration::from_millis(1), MAX_PAUSE)?;
            duration(key, stall.lasting, Duration::ZERO, stall.every / 2)
        }
    }
}

fn datapath(spec: &TestSpec) -> Result<(), SpecError> {
    let choice = &spec.datapath;
    id("datapath", &choice.id)?;
    check(
        choice.params.len() <= MAX_PARAMS,
        "datapath.params",
        format_args!("{} parameters", choice.params.len()),
        || format!("at most {MAX_PARAMS} parameters"),
    )?;
    for (key, value) in &choice.params {
        id("datapath.params", key)?;
        check(
            value.len() <= MAX_VALUE && !value.chars().any(char::is_control),
            "datapath.params",
            short(value),
            || format!("at most {MAX_VALUE} printable bytes"),
        )?;
    }
    Ok(())
}

fn socket(spec: &TestSpec) -> Result<(), SpecError> {
    let socket = &spec.socket;
    if let Some(bytes) = socket.send_buffer_bytes {
        within("socket.send_buffer_bytes", bytes.get(), 1, MAX_BUFFER.get())?;
    }
    if let Some(bytes) = socket.receive_buffer_bytes {
        let key = "socket.receive_buffer_bytes";
        within(key, bytes.get(), 1, MAX_BUFFER.get())?;
    }
    let Some(name) = &socket.congestion_control else {
        return Ok(());
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    check(
        (1..=MAX_CONGESTION_CONTROL).contains(&name.len()) && name.chars().all(plain),
        "socket.congestion_control",
        short(name),
        || format!("a name such as cubic or bbr of 1 to {MAX_CONGESTION_CONTROL} letters"),
    )
}

/// Lower-case letters, digits, `-` and `_`, beginning with a letter.
fn id(key: &'static str, value: &str) -> Result<(), SpecError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    check(
        value.len() <= MAX_ID
            && value.starts_with(|c: char| c.is_ascii_lowercase())
            && value.chars().all(plain),
        key,
        short(value),
        || format!("a lower-case name such as ping-pong of 1 to {MAX_ID} letters"),
    )
}

fn within<T: PartialOrd + Display + Copy>(
    key: &'static str,
    value: T,
    low: T,
    high: T,
) -> Result<(), SpecError> {
    check(value >= low && value <= high, key, value, || {
        format!("from {low} to {high}")
    })
}

fn duration(
    key: &'static str,
    value: Duration,
    low: Duration,
    high: Duration,
) -> Result<(), SpecError> {
    check(
        value >= low && value <= high,
        key,
        format_args!("{value:?}"),
        || format!("from {low:?} to {high:?}"),
    )
}

fn check(
    valid: bool,
    key: &'static str,
    value: impl Display,
    want: impl FnOnce() -> String,
) -> Result<(), SpecError> {
    if valid {
        return Ok(());
    }
    Err(SpecError {
        key,
        value: value.to_string(),
        valid: want(),
    })
}

/// The first characters of a hostile or long text, quoted and escaped.
fn short(text: &str) -> String {
    const SHOWN: usize = 32;
    let head: String = text.chars().take(SHOWN).collect();
    let more = if head.len() < text.len() { "…" } else { "" };
    format!("{head:?}{more}")
}

#[cfg(test)]
mod tests;
