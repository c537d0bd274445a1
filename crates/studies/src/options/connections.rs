//! Options of connections that are opened for a request and its answer each.

use super::choice::closes;
use super::draft::{duration, named, read, set};
use super::{Group, HelpLevel, TCP, Usual, flag, option};

const IN_PLACE: &[&str] = &["connections", "open"];

/// What a transfer has and connections do not.
const OF_TRANSFERS: &[&str] = &[
    "pace",
    "bitrate",
    "payload",
    "workload",
    "reverse",
    "duplex",
    "both",
    "receiver-pause",
];

pub(super) static CONNECTIONS: Group = Group {
    heading: "Connections",
    options: &[
        flag("connections", TCP, "Open connections one after the other in each of the streams, with a request and its answer on each, in place of a transfer: connections per second (TCP_CRR)")
            .aliases(&["crr"])
            .shown(HelpLevel::Short)
            .excludes(OF_TRANSFERS)
            .page("connections.md")
            .sets(|d, _| set(&mut d.connects, Ok(true))),
        option("open", TCP, "CONNECTIONS", "Hold this many connections open at once, with a request and its answer on each, in place of a transfer: 1 to 100000")
            .excludes(&["connections", "streams", "close", "pace", "bitrate", "payload", "workload", "reverse", "duplex", "both", "receiver-pause"])
            .page("connections.md")
            .sets(|d, v| set(&mut d.held_open, read(v).map(Some))),
        option("request", TCP, "SIZE", "Request on each connection")
            .otherwise(Usual::Words("1 B"))
            .needs(IN_PLACE)
            .sets(|d, v| set(&mut d.exchange.request, read(v))),
        option("response", TCP, "SIZE", "Answer on each connection")
            .otherwise(Usual::Words("1 B"))
            .needs(IN_PLACE)
            .sets(|d, v| set(&mut d.exchange.response, read(v))),
        option("close", TCP, "WHO", "Who ends each connection")
            .choices(closes)
            .otherwise(Usual::Words("server"))
            .needs(&["connections"])
            .page("connections.md")
            .sets(|d, v| set(&mut d.exchange.close, named(v))),
        option("connect-timeout", TCP, "TIME", "Time for a connection from its first segment to the end of its answer: a slower one has failed")
            .otherwise(Usual::Words("2s"))
            .needs(IN_PLACE)
            .sets(|d, v| set(&mut d.exchange.timeout, duration(v))),
    ],
};
