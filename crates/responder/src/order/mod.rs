//! A requested test, as far as this device supports it.

use crate::json::Json;
use crate::refusal::Refusal;
use crate::tally::MAX_INTERVALS;
use core::time::Duration;
use linerate_wire::header::HEADER_LEN;

/// Maximum test duration: in an hour, 32 bits count the datagrams of any link that such devices have.
pub(crate) const MAX_DURATION: Duration = Duration::from_hours(1);

/// Maximum TCP write or message of the protocol.
const MAX_TCP_PAYLOAD: u64 = 1024 * 1024;

/// One test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) work: Work,
    pub(crate) direction: Direction,
    pub(crate) stop: Stop,
    pub(crate) warm_up: Duration,
    pub(crate) interval: Duration,
    /// Whether the device is to busy-wait.
    pub(crate) spins: bool,
}

/// Kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// Numbered datagrams, one way.
    Datagrams { payload: u16, pace: Pace },
    /// Datagrams that are answered, after `warm_up` uncounted ones.
    DatagramAnswers { size: u16, warm_up: u64 },
    /// A TCP stream, one way.
    Bytes { pace: Pace },
    /// Messages of this size over TCP that are answered, after `warm_up` uncounted ones.
    ByteAnswers { size: u32, warm_up: u64 },
}

impl Work {
    /// Whether it uses TCP.
    pub(crate) const fn is_stream(self) -> bool {
        matches!(self, Self::Bytes { .. } | Self::ByteAnswers { .. })
    }
}

/// Intended load of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Unpaced,
    /// Payload bits per second.
    At(u64),
}

/// Direction of traffic, from the client's view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Reverse,
    Duplex,
}

/// Stop condition of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    After(Duration),
    Bytes(u64),
    Transactions(u64),
}

impl Order {
    /// Parses a specification; no datagram may be longer than `max_datagram`.
    pub(crate) fn read(spec: Json<'_>, max_datagram: u16) -> Result<Self, Refusal> {
        check(spec)?;
        let order = Self {
            work: work(spec, max_datagram)?,
            direction: match needed(spec.get("direction"))?.text() {
                Some("forward") => Direction::Forward,
                Some("reverse") => Direction::Reverse,
                Some("duplex") => Direction::Duplex,
                _ => return Err(Refusal::Specification),
            },
            stop: stop(needed(spec.get("stop"))?)?,
            warm_up: spec
                .get("warm_up_s")
                .and_then(Json::seconds)
                .unwrap_or_default(),
            interval: needed(spec.get("interval_s").and_then(Json::seconds))?,
            spins: spec.get("wait").and_then(Json::text) == Some("spin"),
        };
        order.check_times()?;
        match (order.work, order.stop) {
            (work, _) if work.is_stream() && order.direction == Direction::Duplex => {
                Err(Refusal::Duplex)
            }
            // A byte stream has no packets to count.
            (Work::Bytes { .. }, Stop::Transactions(_)) => Err(Refusal::Specification),
            // The client is always the requester.
            (Work::DatagramAnswers { .. } | Work::ByteAnswers { .. }, _) if order.sends() => {
                Err(Refusal::Asking)
            }
            _ => Ok(order),
        }
    }

    /// Whether the client sends (for answers: requests).
    pub(crate) fn receives(&self) -> bool {
        self.direction != Direction::Reverse
    }

    /// Whether this device sends.
    pub(crate) fn sends(&self) -> bool {
        self.direction != Direction::Forward
    }

    /// Maximum duration of traffic by the test's own settings.
    pub(crate) fn longest(&self) -> Duration {
        match self.stop {
            Stop::After(time) => time.saturating_add(self.warm_up),
            Stop::Bytes(_) | Stop::Transactions(_) => MAX_DURATION,
        }
    }

    fn check_times(&self) -> Result<(), Refusal> {
        if self.longest() > MAX_DURATION {
            return Err(Refusal::Duration { most: MAX_DURATION });
        }
        let Stop::After(time) = self.stop else {
            return Ok(());
        };
        if time > self.interval.saturating_mul(u32::from(MAX_INTERVALS)) {
            return Err(Refusal::Intervals);
        }
        Ok(())
    }
}

/// Checks that the specification asks for nothing unsupported.
fn check(spec: Json<'_>) -> Result<(), Refusal> {
    if spec.get("streams").and_then(Json::whole) != Some(1) {
        return Err(Refusal::Streams);
    }
    if spec.get("imitation").is_some() {
        return Err(Refusal::Imitation);
    }
    let has = |part: &str, key: &str| spec.get(part).is_some_and(|part| part.get(key).is_some());
    if has("pinning", "remote") {
        return Err(Refusal::Pinning);
    }
    let datapath = spec.get("datapath");
    let id = datapath.and_then(|path| path.get("id")?.text());
    let is_plain = datapath
        .and_then(|path| path.get("params"))
        .is_none_or(Json::is_empty_object);
    if id.is_some_and(|id| id != "sockets") || !is_plain {
        return Err(Refusal::Datapath);
    }
    let options = [
        "send_buffer_bytes",
        "receive_buffer_bytes",
        "congestion_control",
        "traffic_class",
    ];
    if options.into_iter().any(|option| has("socket", option)) {
        return Err(Refusal::Congestion);
    }
    match spec.get("wait").and_then(Json::text) {
        Some("block" | "spin") => Ok(()),
        _ => Err(Refusal::Wait),
    }
}

fn needed<T>(value: Option<T>) -> Result<T, Refusal> {
    value.ok_or(Refusal::Specification)
}

fn work(spec: Json<'_>, max_datagram: u16) -> Result<Work, Refusal> {
    let work = needed(spec.get("work"))?;
    let whole = |key: &str| needed(work.get(key).and_then(Json::whole));
    let least = HEADER_LEN as u64;
    let datagram = |size: u64, least: u64| {
        let fits = |size: &u16| *size <= max_datagram && u64::from(*size) >= least;
        let most = max_datagram.into();
        let size = u16::try_from(size).ok().filter(fits);
        size.ok_or(Refusal::Payload { least, most })
    };
    match spec.get("workload").and_then(Json::text) {
        Some("datagrams") => Ok(Work::Datagrams {
            payload: datagram(whole("payload_bytes")?, least)?,
            pace: pace(needed(work.get("pace"))?)?,
        }),
        Some("bulk") => Ok(Work::Bytes {
            pace: pace(needed(work.get("pace"))?)?,
        }),
        Some(name @ ("ping-pong" | "request-response")) => {
            if work.get("decompose").is_some_and(Json::is_true) {
                return Err(Refusal::Decompose);
            }
            let size = whole("message_bytes")?;
            let bounds = work.get("transactions");
            let warm_up = bounds
                .and_then(|bounds| bounds.get("warm_up")?.whole())
                .unwrap_or(0);
            let least = if name == "ping-pong" { 0 } else { least };
            match work.get("transport").and_then(Json::text) {
                Some("udp") => Ok(Work::DatagramAnswers {
                    size: datagram(size, least)?,
                    warm_up,
                }),
                Some("tcp") if (least.max(1)..=MAX_TCP_PAYLOAD).contains(&size) => {
                    Ok(Work::ByteAnswers {
                        size: needed(u32::try_from(size).ok())?,
                        warm_up,
                    })
                }
                _ => Err(Refusal::Specification),
            }
        }
        _ => Err(Refusal::Workload),
    }
}

fn pace(pace: Json<'_>) -> Result<Pace, Refusal> {
    if pace.text() == Some("unpaced") {
        return Ok(Pace::Unpaced);
    }
    let rate = pace.get("at").and_then(Json::whole);
    needed(rate.filter(|rate| *rate > 0)).map(Pace::At)
}

fn stop(stop: Json<'_>) -> Result<Stop, Refusal> {
    let whole = |key: &str| stop.get(key).and_then(Json::whole);
    let after = stop.get("after").and_then(Json::seconds).map(Stop::After);
    let bytes = whole("bytes").map(Stop::Bytes);
    let transactions = whole("transactions").map(Stop::Transactions);
    needed(after.or(bytes).or(transactions))
}

#[cfg(test)]
mod tests;
