//! Raw reports of streams. Version 1 had one wide object, whose keys told by their presence what the stream had
//! been; today the key `kind` says it, and what a kind always has is there.

use linerate_model::spec::{Side, Transport};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Names the kind of every stream in the raw reports of `trial`.
pub(super) fn upgrade_raw(trial: &mut Object) {
    let transport = if trial.get("transport").is_some_and(|name| name == "tcp") {
        Transport::Tcp
    } else {
        Transport::Udp
    };
    let Some(reports) = trial.get_mut("raw").and_then(Value::as_array_mut) else {
        return;
    };
    let asks = |report: &Value| streams(report).any(|stream| stream.get("rtt").is_some());
    let is_asked = reports.iter().any(asks);
    for report in reports {
        let end = End {
            transport,
            is_asked,
            side: if report["side"] == "sender" {
                Side::Sender
            } else {
                Side::Receiver
            },
            // A peer that is not linerate told nothing of its host.
            is_foreign: [&report["before"], &report["after"]]
                .iter()
                .all(|snapshot| snapshot["at_ns"].as_u64().unwrap_or(0) == 0),
        };
        let streams = report.get_mut("streams").and_then(Value::as_array_mut);
        let streams = streams.into_iter().flatten();
        for stream in streams.filter_map(Value::as_object_mut) {
            end.upgrade(stream);
        }
    }
}

fn streams(report: &Value) -> impl Iterator<Item = &Value> {
    let streams = report.get("streams").and_then(Value::as_array);
    streams.into_iter().flatten()
}

/// What is known of a stream beside its own object.
#[derive(Clone, Copy)]
struct End {
    transport: Transport,
    side: Side,
    /// Somebody timed round trips in this trial.
    is_asked: bool,
    is_foreign: bool,
}

impl End {
    fn upgrade(self, stream: &mut Object) {
        let kind = self.kind(stream);
        stream.insert("kind".to_owned(), json!(kind));
        let zeros: &[&str] = match kind {
            "connection-opener" | "requester" => &["timeouts"],
            "datagram-receiver" | "unnumbered-datagram-receiver" => &["reads", "emptying_reads"],
            "datagram-sender" => &["refused", "unsent", "burst_max"],
            "open-loop-requester" => &["refused", "burst_max"],
            _ => &[],
        };
        // Builds before these were counted left them out.
        for key in zeros {
            stream.entry(*key).or_insert(json!(0));
        }
    }

    /// The first that a key or the trial gives away.
    fn kind(self, stream: &Object) -> &'static str {
        let has = |key: &str| stream.contains_key(key);
        if has("requests") {
            "open-loop-requester"
        } else if has("handshake") {
            "connection-opener"
        } else if has("rtt") {
            "requester"
        } else if has("in_band") {
            "marked-byte-stream-sender"
        } else if has("sequence") {
            "datagram-receiver"
        } else if has("told") || self.is_foreign && !has("refused") && !has("reads") {
            "peer"
        } else if self.is_asked {
            "responder"
        } else {
            match (self.transport, self.side) {
                (Transport::Tcp, Side::Sender) => "byte-stream-sender",
                (Transport::Tcp, Side::Receiver) => "byte-stream-receiver",
                (Transport::Udp, Side::Sender) => "datagram-sender",
                (Transport::Udp, Side::Receiver) => "unnumbered-datagram-receiver",
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::sample::{EndpointReport, StreamWork};

    /// Both ends of a trial of version 1 over this transport, each of one stream with these keys, read as today's.
    fn upgraded(transport: &str, sender: &Value, receiver: &Value) -> [StreamWork; 2] {
        let end = |side: &str, more: &Value| {
            let mut stream =
                json!({"index": 0, "bytes": 1, "packets": 1, "duration_s": 1.0, "intervals": []});
            let more = more.as_object().unwrap().clone();
            stream.as_object_mut().unwrap().extend(more);
            let snapshot = json!({"at_ns": 7, "values": {}});
            json!({"side": side, "streams": [stream], "before": snapshot, "after": snapshot})
        };
        let mut trial = json!({
            "transport": transport,
            "raw": [end("sender", sender), end("receiver", receiver)],
        });
        upgrade_raw(trial.as_object_mut().unwrap());
        let raw: Vec<EndpointReport> = serde_json::from_value(trial["raw"].take()).unwrap();
        let works = raw.into_iter().map(|mut end| end.streams.remove(0).work);
        works.collect::<Vec<_>>().try_into().unwrap()
    }

    fn histogram() -> Value {
        serde_json::to_value(linerate_model::Histogram::new()).unwrap()
    }

    #[test]
    fn datagrams_are_told_by_side_and_numbers() {
        let sequence = json!({"received": 9, "duplicated": 0, "reordered": 0, "reorder_extent_max": 0, "next_expected": 10});
        let [sender, receiver] = upgraded(
            "udp",
            &json!({"refused": 3, "lateness": histogram()}),
            &json!({"sequence": sequence, "socket_overflows": 4}),
        );
        let StreamWork::DatagramSender(sender) = sender else {
            panic!("{sender:?}")
        };
        assert_eq!(sender.refused.get(), 3);
        assert!(sender.pacing.lateness().is_some());
        assert_eq!(receiver.sequence().unwrap().next_expected, 10);
        assert_eq!(receiver.socket_overflows().unwrap().get(), 4);
        let [_, unnumbered] = upgraded("udp", &json!({}), &json!({"reads": 5}));
        assert_eq!(unnumbered.receive_socket().unwrap().reads, 5);
        assert_eq!(unnumbered.sequence(), None);
    }

    #[test]
    fn byte_streams_keep_what_the_kernel_said() {
        let tcp = json!({"tcp": [{"at_ns": 5, "cwnd_bytes": 14480}], "congestion_control": "bbr"});
        let [sender, receiver] = upgraded("tcp", &tcp, &json!({}));
        assert_eq!(sender.tcp_samples()[0].cwnd_bytes, Some(14_480));
        assert_eq!(sender.congestion_control(), Some("bbr"));
        assert!(matches!(sender, StreamWork::ByteStreamSender(_)));
        assert!(matches!(receiver, StreamWork::ByteStreamReceiver(_)));
        let marked = json!({"in_band": histogram()});
        let [marked, _] = upgraded("tcp", &marked, &json!({}));
        assert!(matches!(marked, StreamWork::MarkedByteStreamSender(_)));
    }

    #[test]
    fn who_is_asked_answers_over_either_transport() {
        for transport in ["tcp", "udp"] {
            let asked = json!({"rtt": histogram(), "timeouts": 2});
            let [asked, answered] = upgraded(transport, &asked, &json!({}));
            assert_eq!(asked.timeouts().unwrap().get(), 2);
            assert!(matches!(asked, StreamWork::Requester(_)));
            assert!(matches!(answered, StreamWork::Responder(_)));
        }
        let opened = json!({"rtt": histogram(), "handshake": histogram()});
        let [opened, _] = upgraded("tcp", &opened, &json!({}));
        assert!(matches!(opened, StreamWork::ConnectionOpener(_)));
    }

    #[test]
    fn what_another_tool_said_is_a_peers() {
        let peer = json!({"bytes": 9, "datagrams": 9, "lost": 0, "out_of_order": 0});
        let [_, peer] = upgraded(
            "udp",
            &json!({}),
            &json!({"told": peer, "rtp_jitter_ns": 7}),
        );
        assert_eq!(peer.rtp_jitter_ns(), Some(7));
        assert!(matches!(peer, StreamWork::Peer(_)));
    }
}
