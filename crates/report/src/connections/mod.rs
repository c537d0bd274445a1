//! What became of connections that were opened for a request each, or held open.

mod flow_times;

use crate::document::{Block, Look, Sheet};
use crate::figures::{Headline, UNKNOWN, float, nanos, significant};
use crate::table::{Cell, column, words as text};
use linerate_model::run::{ConnectionOutcomes, Delay, Run, Trial};
use linerate_model::spec::{ConnectionClose, ShortConnections};
use linerate_model::{ByteCount, PacketCount, PacketRate};

/// A trial with what became of its connections.
type ConnectionTrial<'a> = (&'a Trial, &'a ConnectionOutcomes);

fn trials(run: &Run) -> Vec<ConnectionTrial<'_>> {
    let of = |trial| Some((trial, Trial::connections(trial)?));
    run.trials.iter().filter_map(of).collect()
}

/// Whether the run counts connections.
pub(crate) fn is_of(run: &Run) -> bool {
    run.trials.iter().any(|trial| trial.connections().is_some())
}

/// Connections per second of the first valid trial, or how many were open; nothing of other runs.
pub(crate) fn headline(run: &Run) -> Option<Headline> {
    let all = trials(run);
    let (trial, outcomes) = all.iter().find(|(trial, _)| trial.valid)?;
    let (asked, client) = (&outcomes.asked, &outcomes.client);
    if let Some(flows) = trial.flows() {
        return flow_times::headline(flows);
    }
    let failed = match client.failed_in_all().get() {
        0 => String::new(),
        some => format!(", {some} failed"),
    };
    if asked.close == ConnectionClose::Hold {
        return Some(Headline {
            figure: client.most_open.get().to_string(),
            what: "TCP connections open at once".to_owned(),
            rest: format!("of {} asked for{failed}", asked.concurrent),
        });
    }
    Some(Headline {
        figure: rate_words(trial),
        what: "TCP connections opened, answered and closed".to_owned(),
        rest: format!("{} at once{failed}, n = 1", asked.concurrent),
    })
}

/// `12 345/s`, as many digits as a rate has.
fn rate_words(trial: &Trial) -> String {
    let rate = trial.received_packet_rate().map_or(0.0, PacketRate::pps);
    format!("{}/s", significant(rate, 4))
}

/// Outcomes and delays in blocks; nothing of other runs.
pub(crate) fn blocks(run: &Run) -> Vec<Block<'_>> {
    let all = trials(run);
    let mut blocks = Vec::new();
    for (trial, outcomes) in &all {
        let name = crate::charts::which(run, trial, all.len());
        for (label, line) in lines(trial, outcomes) {
            blocks.push(Block::fact(label, format!("{name}{line}")));
        }
        blocks.extend(trial.flows().into_iter().flat_map(flow_times::blocks));
    }
    let delays: Vec<DelayRow<'_>> = all
        .iter()
        .flat_map(|(trial, _)| delays(run, trial, all.len()))
        .collect();
    if !delays.is_empty() {
        blocks.push(Block::Table(delay_sheet(&delays).look(Look::Beside)));
    }
    blocks
}

/// What became of the connections of a trial, by label.
fn lines(trial: &Trial, outcomes: &ConnectionOutcomes) -> Vec<(&'static str, String)> {
    let client = &outcomes.client;
    let failures = client.failures().into_iter();
    let failures = failures.filter(|(count, _)| count.get() > 0);
    let failures: Vec<String> = failures
        .map(|(count, what)| format!("{} {what}", count.get()))
        .collect();
    let failures = if failures.is_empty() {
        "none failed".to_owned()
    } else {
        format!("failed: {}", failures.join(", "))
    };
    let mut lines = vec![(
        "connections",
        format!(
            "{} attempted, {} answered ({}), {failures}; at most {} open at once",
            client.attempted.get(),
            client.answered.get(),
            rate_words(trial),
            client.most_open.get()
        ),
    )];
    lines.push(("each", each(&outcomes.asked)));
    if outcomes.asked.flows.is_some() {
        return lines;
    }
    if let Some(server) = &outcomes.server {
        lines.push((
            "at the server",
            format!(
                "{} accepted, {} answered, at most {} open at once",
                server.accepted.get(),
                server.answered.get(),
                server.most_open.get()
            ),
        ));
    }
    lines.push(("TIME_WAIT", waiting(outcomes)));
    lines
}

/// What was sent on each connection, and how it ended.
fn each(asked: &ShortConnections) -> String {
    let late = asked.timeout.as_secs_f64();
    if let Some(flows) = &asked.flows {
        return format!(
            "a size of {} (mean {}); load {}, path {}; failed after {late} s",
            flows.sizes.name,
            ByteCount::from_f64(flows.sizes.mean()),
            flows.load,
            flows.ideal
        );
    }
    let ended = match asked.close {
        ConnectionClose::Client => "the client closes first",
        ConnectionClose::Hold => "held open",
        ConnectionClose::Reset => "the client resets",
        ConnectionClose::Server => "the server closes first",
    };
    let (request, answer) = (asked.request, asked.response);
    format!("request {request}, answer {answer}, {ended}; failed after {late} s")
}

/// Ports and sockets that wait at both ends.
fn waiting(outcomes: &ConnectionOutcomes) -> String {
    let client = &outcomes.client;
    let known = |count: Option<PacketCount>| {
        count.map_or_else(|| UNKNOWN.to_owned(), |count| count.get().to_string())
    };
    let server = outcomes.server.as_ref().and_then(|server| server.time_wait);
    format!(
        "{} sockets at the client, {} at the server; {} local ports for each port of the server, {} attempts without one",
        known(client.time_wait),
        known(server),
        known(client.local_ports),
        client.without_port.get()
    )
}

/// A delay of a trial with its name.
type DelayRow<'a> = (String, &'a Delay);

fn delays<'a>(run: &Run, trial: &'a Trial, among: usize) -> Vec<DelayRow<'a>> {
    let name = crate::charts::which(run, trial, among);
    let parts = [
        ("handshake", trial.handshake()),
        ("request and answer", trial.delay()),
        ("whole transaction", trial.transaction()),
    ];
    let known = parts.into_iter();
    known
        .filter_map(|(what, delay)| Some((format!("{name}{what}"), delay?)))
        .collect()
}

fn delay_sheet(rows: &[DelayRow<'_>]) -> Sheet {
    let time = |head: &'static str, get: fn(&Delay) -> Option<u64>| {
        column(head, move |(_, delay): &DelayRow<'_>| match get(delay) {
            Some(ns) => Cell {
                text: nanos(float(ns)),
                value: Some(float(ns)),
            },
            None => Cell::unknown(),
        })
    };
    let columns = vec![
        text("client's clock", |(name, _): &DelayRow<'_>| name.clone()),
        time("p50", |delay| delay.p50_ns),
        time("p90", |delay| delay.p90_ns),
        time("p99", |delay| delay.p99_ns),
        time("p99.9", |delay| delay.p999_ns),
        time("max", |delay| delay.max_ns),
        column("n", |(_, delay): &DelayRow<'_>| Cell::count(delay.count)),
    ];
    Sheet::new("Delays of connections", rows, columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::Histogram;
    use linerate_model::run::{ConnectionsResult, RunKind, Tool};
    use linerate_model::sample::{AcceptedCounts, ConnectionCounts};
    use linerate_model::spec::{Direction, Transport};

    fn run(close: ConnectionClose) -> Run {
        let count = PacketCount::new;
        let mut handshake = Histogram::new();
        handshake.record(50_000);
        let handshake = Delay::from_histogram(linerate_model::run::DelayOf::RoundTrip, handshake);
        let result = ConnectionsResult {
            received_packet_rate: Some(PacketRate::from_pps(12_345.6)),
            handshake: handshake.map(Box::new),
            delay: None,
            transaction: None,
            flows: None,
            connections: Some(Box::new(ConnectionOutcomes {
                asked: ShortConnections {
                    request: ByteCount::new(1),
                    response: ByteCount::new(2048),
                    concurrent: 100,
                    close,
                    ..ShortConnections::default()
                },
                client: ConnectionCounts {
                    attempted: count(10),
                    answered: count(7),
                    timed_out: count(2),
                    refused: count(1),
                    most_open: count(99),
                    local_ports: Some(count(28_232)),
                    ..ConnectionCounts::default()
                },
                server: Some(AcceptedCounts {
                    accepted: count(7),
                    answered: count(7),
                    time_wait: Some(count(7)),
                    ..AcceptedCounts::default()
                }),
            })),
        };
        let trial = Trial::new(0, Transport::Tcp, Direction::Forward, result);
        let mut run = Run::new("r", RunKind::Tcp, Tool::unversioned("linerate"));
        run.trials = vec![trial];
        run
    }

    #[test]
    fn the_headline_is_connections_not_bits() {
        let headline = headline(&run(ConnectionClose::Server)).unwrap();
        assert_eq!(headline.figure, "12346/s");
        assert!(
            headline.about().contains("100 at once, 3 failed"),
            "{}",
            headline.about()
        );
        let headline = super::headline(&run(ConnectionClose::Hold)).unwrap();
        assert_eq!(headline.figure, "99");
    }

    #[test]
    fn every_outcome_is_said_and_what_is_not_known_is() {
        let run = run(ConnectionClose::Server);
        let mut paper = crate::paper::Paper::new(usize::MAX, crate::paper::Style::Plain);
        crate::document::write_text(&mut paper, &blocks(&run));
        let text = paper.finish();
        for part in [
            "10 attempted, 7 answered",
            "failed: 1 refused, 2 timed out in the handshake",
            "answer 2.00 KiB, the server closes first",
            "not recorded sockets at the client, 7 at the server; 28232 local ports",
            "handshake",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
