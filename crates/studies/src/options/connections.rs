//! Options of connections that are opened for a request and its answer each.

use super::choice::closes;
use super::draft::{duration, named, read, set};
use super::{Group, MAX_FILE_BYTES, TCP, Usual, flag, option};
use linerate_model::spec::SizeDistribution;
use linerate_sys::bounded;
use std::path::Path;

const IN_PLACE: &[&str] = &["connections", "open"];

/// A distribution of flow sizes: a published one, one size, or a file's.
fn sizes(text: &str) -> Result<SizeDistribution, String> {
    if let Some(known) = SizeDistribution::named(text) {
        return Ok(known);
    }
    if let Some(size) = text.strip_prefix("fixed:") {
        let all = SizeDistribution::fixed(read(size)?);
        return all.check().map(|()| all);
    }
    let table = bounded::read_text_file(Path::new(text), MAX_FILE_BYTES).map_err(|error| {
        format!("neither web-search nor data-mining nor fixed:SIZE, and no file that can be read ({error})")
    })?;
    let name = Path::new(text).file_name().unwrap_or_default();
    SizeDistribution::parse(&name.to_string_lossy(), &table)
}

/// Whether sizes are those of a file.
fn is_file(sizes: &str) -> bool {
    SizeDistribution::named(sizes).is_none() && !sizes.starts_with("fixed:")
}

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
            .excludes(OF_TRANSFERS)
            .page("connections.md")
            .sets(|d, _| set(&mut d.connects, Ok(true))),
        option("open", TCP, "CONNECTIONS", "Hold this many connections open at once, with a request and its answer on each, in place of a transfer: 1 to 100000")
            .excludes(&["connections", "streams", "close", "pace", "bitrate", "payload", "workload", "reverse", "duplex", "both", "receiver-pause"])
            .page("connections.md")
            .sets(|d, v| set(&mut d.held_open, read(v).map(Some))),
        option("flow-sizes", TCP, "SIZES", "Send flows of these sizes, each on a connection of its own, in place of a transfer: `web-search`, `data-mining`, `fixed:100K`, or a file of sizes in bytes and cumulative shares")
            .excludes(&["connections", "open", "streams", "close", "pace", "bitrate", "payload", "workload", "reverse", "duplex", "both", "receiver-pause"])
            .needs(&["link-rate"])
            .page("flow-completion.md")
            .names_file(is_file)
            .sets(|d, v| set(&mut d.flow_sizes, sizes(v).map(Some))),
        option("link-rate", TCP, "RATE", "Rate of the path in bit/s of L4 payload: that of the ideal completion time of a flow")
            .needs(&["flow-sizes"])
            .page("flow-completion.md")
            .sets(|d, v| set(&mut d.link_rate, read(v).map(Some))),
        option("load", TCP, "LOAD", "Load of all flows: a share of the path's rate (`50%`), or a rate in bit/s of L4 payload")
            .otherwise(Usual::Words("50%"))
            .needs(&["flow-sizes"])
            .sets(|d, v| set(&mut d.flow_load, v.parse())),
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
