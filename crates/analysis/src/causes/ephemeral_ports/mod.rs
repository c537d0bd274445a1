//! The client's ephemeral ports: each connection needs one that is not in use, and TIME_WAIT uses it for a minute.

use super::{Cause, words};
use linerate_model::run::{ConnectionOutcomes, Experiment};
use linerate_model::spec::{ConnectionClose, Side};
use std::time::Duration;

/// The client had no local port left for a further connection.
pub(crate) static CAUSE: Cause = Cause {
    id: "ephemeral-ports",
    name: "the client's ephemeral ports",
    side: Some(Side::Sender),
    subject: "the client's port range",
    summary: "Connections could not be opened since every local port was in use or in TIME_WAIT.",
    ..Cause::BASE
};

/// Pause after an attempt without a port: as long, at least, one of the connections waited.
const PAUSE: Duration = Duration::from_millis(1);

/// Share of the connections' time without a port from which on the ports limit.
pub(super) const LEAST_SHARE: f64 = 0.05;

/// Share of the time of the connections in which they waited for a port.
pub(super) fn share(outcomes: &ConnectionOutcomes, time: Duration) -> f64 {
    let waited = outcomes.client.without_port.as_f64() * PAUSE.as_secs_f64();
    let all = f64::from(outcomes.asked.concurrent.max(1)) * time.as_secs_f64();
    if all > 0.0 {
        (waited / all).min(1.0)
    } else {
        0.0
    }
}

/// What is said of it, and the figures.
pub(super) fn figures(outcomes: &ConnectionOutcomes) -> Vec<String> {
    let client = &outcomes.client;
    let mut figures = vec![format!(
        "{} attempts found no free local port (EADDRNOTAVAIL).",
        words::count(client.without_port.get())
    )];
    figures.extend(client.local_ports.map(|ports| {
        format!(
            "The client chooses from {} local ports for each port of the server (net.ipv4.ip_local_port_range).",
            words::count(ports.get())
        )
    }));
    figures.extend(client.time_wait.map(|sockets| {
        format!(
            "At the end {} sockets of the client were in TIME_WAIT.",
            words::count(sockets.get())
        )
    }));
    figures
}

/// What would relieve it.
pub(super) fn remedy(close: ConnectionClose) -> Experiment {
    let change = match close {
        ConnectionClose::Client => {
            "let the server close first (`--close server`), or spread over more ports of the server (`--threads`)"
        }
        _ => {
            "widen net.ipv4.ip_local_port_range, or spread over more ports of the server (`--threads`)"
        }
    };
    Experiment::in_words(
        change,
        "no attempt lacks a port, and more connections are opened",
    )
}
