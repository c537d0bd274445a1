//! Options from the client: how the peer takes part. No length, no version: both ends must know the layout.

use super::wire::{Cursor, Layout, Trouble, put_int, put_text};
use linerate_model::ByteCount;
use linerate_model::spec::{Direction, Pinning, Stop, TestSpec, TestWork, Transport, WaitMode};
use std::collections::BTreeMap;
use std::time::Duration;

/// Descriptor kinds on the wire.
const TCP: i32 = 0x500;
const UDP: i32 = 0x101;

/// Value type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Text,
}

/// An option: name, value type, and the first layout that has it.
type Field = (&'static str, Kind, Layout);

/// All options in wire order; they set the server's side.
const FIELDS: &[Field] = &[
    ("fd-type", Kind::Int, Layout::V1_4),
    ("connect", Kind::Int, Layout::V1_4),
    ("spin", Kind::Int, Layout::V1_4),
    ("muxer", Kind::Text, Layout::V1_4),
    ("mcast", Kind::Text, Layout::V1_4),
    ("mcastintf", Kind::Text, Layout::V1_4),
    ("mcastloop", Kind::Int, Layout::V1_4),
    ("ttl", Kind::Int, Layout::V1_5),
    ("bindtodev", Kind::Text, Layout::V1_4),
    ("bind", Kind::Text, Layout::V1_4),
    ("n-pipe", Kind::Int, Layout::V1_4),
    ("n-unixs", Kind::Int, Layout::V1_4),
    ("n-unixd", Kind::Int, Layout::V1_4),
    ("n-udp", Kind::Int, Layout::V1_4),
    ("n-tcpc", Kind::Int, Layout::V1_4),
    ("n-tcpl", Kind::Int, Layout::V1_4),
    ("timeout", Kind::Int, Layout::V1_6),
    ("affinity", Kind::Text, Layout::V1_4),
    ("n-pings", Kind::Int, Layout::V1_4),
    ("n-pings-client", Kind::Int, Layout::V1_6),
    ("n-pongs", Kind::Int, Layout::V1_4),
    ("nodelay", Kind::Int, Layout::V1_4),
    ("busy-poll", Kind::Int, Layout::V1_6),
    ("more", Kind::Int, Layout::V1_6),
    ("v6only", Kind::Int, Layout::V1_6),
];

/// Option values by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Options {
    ints: BTreeMap<&'static str, i32>,
    texts: BTreeMap<&'static str, String>,
}

/// Timeout of a 1.6 server for a message, seconds: longer than this end waits for an answer, so that a lost datagram
/// does not block a server for ever.
const SERVER_TIMEOUT: i32 = 30;

/// Busy-poll time per call, microseconds, as in linerate's own busy polling.
const BUSY_POLL: i32 = 50;

impl Options {
    /// Options of linerate's client for a test.
    pub(super) fn from_spec(spec: &TestSpec) -> Self {
        let ints = [
            (
                "fd-type",
                match spec.transport() {
                    Transport::Tcp => TCP,
                    Transport::Udp => UDP,
                },
            ),
            ("connect", 1),
            ("spin", i32::from(spec.wait == WaitMode::Spin)),
            ("timeout", SERVER_TIMEOUT),
            ("n-pings", 1),
            ("n-pings-client", 1),
            ("n-pongs", 1),
            ("nodelay", 1),
            (
                "busy-poll",
                match spec.wait {
                    WaitMode::BusyPoll => BUSY_POLL,
                    WaitMode::Block | WaitMode::Spin => 0,
                },
            ),
        ];
        let core = spec.pinning.remote;
        let core = core.map_or_else(|| "any".to_owned(), |core| core.to_string());
        let texts = [("affinity", core), ("muxer", String::new())];
        Self {
            ints: BTreeMap::from(ints),
            texts: BTreeMap::from(texts),
        }
    }

    pub(super) fn encode(&self, layout: Layout) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, kind, _) in fields(layout) {
            match kind {
                Kind::Int => put_int(&mut bytes, self.int(name).unwrap_or(0)),
                Kind::Text => put_text(&mut bytes, self.texts.get(name).map(String::as_str)),
            }
        }
        bytes
    }

    pub(super) fn decode(cursor: &mut Cursor<'_>, layout: Layout) -> Result<Self, Trouble> {
        let mut options = Self::default();
        for (name, kind, _) in fields(layout) {
            match kind {
                Kind::Int => {
                    options.ints.insert(name, cursor.int()?);
                }
                Kind::Text => {
                    let text = cursor.text()?.map(|text| (*name, text));
                    options.texts.extend(text);
                }
            }
        }
        Ok(options)
    }

    /// The number of an option; `None` if the layout does not have it.
    fn int(&self, name: &str) -> Option<i32> {
        self.ints.get(name).copied()
    }

    fn is_on(&self, name: &str) -> bool {
        self.int(name).is_some_and(|value| value != 0)
    }

    /// linerate's part in the test of a client with these options, for at most `time`; the error names what is not
    /// supported.
    pub(super) fn to_spec(&self, time: Duration) -> Result<TestSpec, String> {
        let transport = match self.int("fd-type") {
            Some(TCP) => Transport::Tcp,
            Some(UDP) => Transport::Udp,
            other => {
                let number = other.unwrap_or_default();
                return Err(format!(
                    "descriptors of kind {number:#x} are not TCP or UDP sockets: pipes and UNIX sockets stay on one host"
                ));
            }
        };
        for name in ["mcast", "bindtodev", "bind"] {
            if let Some(value) = self.texts.get(name).filter(|value| !value.is_empty()) {
                return Err(format!(
                    "--{name} {value} cannot be served by linerate: leave it out"
                ));
            }
        }
        for name in ["n-pings", "n-pings-client", "n-pongs"] {
            if let Some(value) = self.int(name).filter(|value| *value != 1) {
                let option = name.trim_end_matches("-client");
                return Err(format!(
                    "--{option} {value}: linerate answers each message with one; leave it out"
                ));
            }
        }
        Ok(TestSpec {
            stop: Stop::After(time),
            wait: if self.is_on("busy-poll") {
                WaitMode::BusyPoll
            } else if self.is_on("spin") {
                WaitMode::Spin
            } else {
                WaitMode::Block
            },
            pinning: Pinning {
                local: None,
                remote: self
                    .texts
                    .get("affinity")
                    .and_then(|core| core.parse().ok()),
            },
            ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(1))
        })
    }
}

fn fields(layout: Layout) -> impl Iterator<Item = &'static Field> {
    FIELDS.iter().filter(move |(.., since)| *since <= layout)
}

/// What of a client's `spec` the options cannot express; `None` if nothing.
pub(super) fn obstacle(spec: &TestSpec, layout: Layout) -> Option<&'static str> {
    let bounds = spec.work.transactions();
    let why = if !matches!(spec.work, TestWork::ClosedLoop(_)) {
        "sfnt-pingpong sends one message and waits for the answer, nothing else: use `linerate latency`"
    } else if spec.streams != 1 {
        "sfnt-pingpong has one stream: leave --streams out"
    } else if spec.wait == WaitMode::BusyPoll && layout < Layout::V1_6 {
        "sfnt-pingpong polls the device from 1.6 on only: use --wait spin or block"
    } else if matches!(spec.stop, Stop::Bytes(_)) {
        "sfnt-pingpong counts messages: give a time"
    } else if bounds.at_least.is_some() || bounds.warm_up.is_some() {
        "sfnt-pingpong is told of its messages in batches: leave out a least number of iterations and a warm-up by number"
    } else if spec.direction != Direction::Forward {
        "sfnt-pingpong's server only answers: leave out --reverse and --duplex"
    } else if spec.is_server_slow() {
        "sfnt-pingpong cannot imitate a slow application"
    } else {
        return None;
    };
    Some(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::Inbox;

    const TIME: Duration = Duration::from_mins(1);

    fn decoded(bytes: &[u8], layout: Layout) -> Option<Options> {
        let mut inbox = Inbox::default();
        inbox.feed_bounded(bytes, "test").unwrap();
        let read = |cursor: &mut Cursor<'_>| Options::decode(cursor, layout);
        let options = inbox.take_message("test", "options", read).unwrap();
        assert!(options.is_none() || inbox.pending().is_empty());
        options
    }

    #[test]
    fn each_layout_has_its_own_options_and_is_read_back() {
        let spec = TestSpec {
            wait: WaitMode::Spin,
            pinning: Pinning {
                local: Some(3),
                remote: Some(1),
            },
            ..TestSpec::ping_pong(Transport::Tcp)
        };
        let whole = Options::from_spec(&spec);
        for (layout, count) in [(Layout::V1_4, 19), (Layout::V1_5, 20), (Layout::V1_6, 25)] {
            assert_eq!(fields(layout).count(), count);
            let bytes = whole.encode(layout);
            let options = decoded(&bytes, layout).unwrap();
            let made = options.to_spec(TIME).unwrap();
            assert_eq!(made.transport(), Transport::Tcp);
            assert_eq!(made.wait, WaitMode::Spin);
            assert_eq!(made.pinning.remote, Some(1));
            for cut in 0..bytes.len() {
                assert_eq!(decoded(&bytes[..cut], layout), None, "cut at {cut}");
            }
        }
    }

    #[test]
    fn what_linerate_cannot_do_is_named() {
        let good = Options::from_spec(&TestSpec::ping_pong(Transport::Udp));
        good.to_spec(TIME).unwrap();
        let int = |name, value| {
            let mut options = good.clone();
            options.ints.insert(name, value);
            options.to_spec(TIME).unwrap_err()
        };
        assert!(int("fd-type", 0x703).contains("0x703"));
        assert!(int("n-pongs", 2).contains("--n-pongs 2"));
        assert!(int("n-pings-client", 3).contains("--n-pings 3"));
        let mut multicast = good;
        multicast.texts.insert("mcast", "224.1.2.48".to_owned());
        let error = multicast.to_spec(TIME).unwrap_err();
        assert!(error.contains("224.1.2.48"), "{error}");
    }
}
