//! What a server says, in a line each.

use linerate_model::agent::{AdmissionLimit, AgentEvent, CountedTraffic, TestOutline, TestVolume};
use linerate_model::spec::{Direction, Side};
use linerate_model::{BitRate, RefusalCode};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};

/// An event at a server, for who runs it.
pub fn agent_event(event: &AgentEvent) -> String {
    match event {
        AgentEvent::Listening { name, address, .. } => format!("serving {name} on {address}"),
        AgentEvent::Refused {
            address,
            port,
            lacks,
        } => format!("{}: refused: {}", at(*address, *port), lack(lacks)),
        AgentEvent::Curtailed {
            client,
            protocol,
            what,
        } => format!("{client} {protocol}: {what}"),
        AgentEvent::Counted {
            client,
            protocol,
            traffic,
        } => format!("{client} {protocol}: {}", counted(traffic)),
        AgentEvent::TurnedAway {
            client,
            protocol,
            code,
            reason,
        } => format!("{client} {protocol}: refused: {code}: {reason}"),
        AgentEvent::TestOver {
            client,
            protocol,
            test,
            volume,
        } => format!("{client} {protocol}: {}: {}", outline(test), moved(volume)),
        AgentEvent::TestEnded {
            client,
            protocol,
            test,
            volume,
            by_client,
            code,
            reason,
        } => {
            let begun = begun(test.as_ref().zip(volume.as_ref()));
            let ended = ended(*by_client, *code);
            format!("{client} {protocol}: {begun}{ended}: {reason}")
        }
        AgentEvent::NotCalledBack { client, error } => {
            format!("{client}: not called back: {}", no_thread(error))
        }
        AgentEvent::Left { client } => format!("{client} left"),
        AgentEvent::Failed { client, error } => format!("{client}: {error}"),
        AgentEvent::Reloaded {
            changed,
            at_restart,
        } => reloaded(changed, at_restart),
        AgentEvent::NotReloaded { error } => {
            format!("configuration not reloaded, the old one goes on to hold: {error}")
        }
        AgentEvent::LeftOut { events, limit } => format!(
            "{events} more lines about clients were left out: more than {limit} in a second"
        ),
    }
}

/// An address, with its port where that is known.
fn at(address: IpAddr, port: Option<u16>) -> String {
    let with_port = port.map(|port| SocketAddr::new(address, port).to_string());
    with_port.unwrap_or_else(|| address.to_string())
}

/// What was measured of a test that ended early; empty if it had not begun.
fn begun(part: Option<(&TestOutline, &TestVolume)>) -> String {
    part.map_or_else(String::new, |(test, volume)| {
        format!("{}, ended early: {}: ", outline(test), moved(volume))
    })
}

/// By whom or what a test was ended.
fn ended(by_client: bool, code: RefusalCode) -> String {
    if by_client && code == RefusalCode::Unsupported {
        // What the client lacks is none of this server's.
        return "ended by the client".to_owned();
    }
    code.to_string()
}

fn reloaded(changed: &[String], at_restart: &[String]) -> String {
    let mut text = if changed.is_empty() {
        "configuration reloaded: keys and users are read anew, no option has changed".to_owned()
    } else {
        format!("configuration reloaded: changed {}", changed.join(", "))
    };
    if !at_restart.is_empty() {
        let _ = write!(text, "; only a restart changes {}", at_restart.join(", "));
    }
    text
}

fn outline(test: &TestOutline) -> String {
    let streams = if test.streams == 1 {
        "stream"
    } else {
        "streams"
    };
    let direction = match test.direction {
        Direction::Forward => "to here",
        Direction::Reverse => "from here",
        Direction::Duplex => "both ways",
    };
    format!(
        "{} {}, {} {streams} {direction}",
        test.transport, test.workload, test.streams
    )
}

fn moved(volume: &TestVolume) -> String {
    let mut text = format!("{:.3} s", volume.duration.as_secs_f64());
    for (done, bytes) in [("received", volume.received), ("sent", volume.sent)] {
        if bytes.get() > 0 {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {done} {} bytes", bytes.get());
        }
    }
    text
}

fn lack(limit: &AdmissionLimit) -> String {
    match limit {
        AdmissionLimit::Pending { limit } => {
            format!("{limit} connections wait to be admitted already")
        }
        AdmissionLimit::PendingOfAddress { limit } => {
            format!("{limit} connections of this address wait to be admitted already")
        }
        AdmissionLimit::OpenFile => "no more files may be open".to_owned(),
        AdmissionLimit::Thread { error } => no_thread(error),
    }
}

fn no_thread(error: &str) -> String {
    format!(
        "cannot start a thread for it: {error}; raise the limit of processes (ulimit -u, the container's pids limit) or of memory (ulimit -v)"
    )
}

fn counted(traffic: &CountedTraffic) -> String {
    let done = match traffic.side {
        Side::Sender => "sent",
        Side::Receiver => "received",
    };
    let mut text = format!(
        "{done} {} bytes in {:.3} s",
        traffic.bytes.get(),
        traffic.duration.as_secs_f64()
    );
    // Writing to a string cannot fail.
    if let Some(rate) = BitRate::from_bytes(traffic.bytes, traffic.duration) {
        let _ = write!(text, ", {rate}");
    }
    if let Some(packets) = traffic.packets {
        let _ = write!(text, ", {} datagrams", packets.get());
    }
    for sequence in &traffic.sequences {
        let _ = write!(
            text,
            ", {} of {} lost, {} reordered, {} twice",
            sequence.lost.get(),
            sequence.expected.get(),
            sequence.reordered.get(),
            sequence.duplicated.get()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::agent::SequenceTotals;
    use linerate_model::{ByteCount, PacketCount};
    use std::time::Duration;

    #[test]
    fn a_stream_of_datagrams_is_one_line() {
        let event = AgentEvent::Counted {
            client: "10.79.1.1:40002".parse().unwrap(),
            protocol: "iperf2".to_owned(),
            traffic: CountedTraffic {
                side: Side::Receiver,
                bytes: ByteCount::new(1100),
                duration: Duration::from_secs(1),
                packets: Some(PacketCount::new(11)),
                sequences: vec![SequenceTotals {
                    expected: PacketCount::new(12),
                    lost: PacketCount::new(1),
                    reordered: PacketCount::new(0),
                    duplicated: PacketCount::new(0),
                }],
            },
        };
        assert_eq!(
            agent_event(&event),
            "10.79.1.1:40002 iperf2: received 1100 bytes in 1.000 s, 8.8 kbit/s, 11 datagrams, 1 of 12 lost, 0 reordered, 0 twice"
        );
    }

    #[test]
    fn what_a_client_lacks_is_none_of_the_server_s() {
        let ended = |by_client| AgentEvent::TestEnded {
            client: "10.79.1.1:40002".parse().unwrap(),
            protocol: "native".to_owned(),
            test: None,
            volume: None,
            by_client,
            code: RefusalCode::Unsupported,
            reason: "opening 2000 streams: it takes 2064 descriptors".to_owned(),
        };
        let own = agent_event(&ended(false));
        assert!(own.contains("native: unsupported: opening"), "{own}");
        let client = agent_event(&ended(true));
        assert!(
            client.contains("native: ended by the client: opening"),
            "{client}"
        );
    }

    #[test]
    fn a_flood_is_told_by_its_size_and_an_address_by_itself() {
        let left_out = AgentEvent::LeftOut {
            events: 950,
            limit: 50,
        };
        assert!(agent_event(&left_out).starts_with("950 more lines about clients"));
        let refused = AgentEvent::Refused {
            address: "192.0.2.1".parse().unwrap(),
            port: None,
            lacks: AdmissionLimit::PendingOfAddress { limit: 160 },
        };
        let said =
            "192.0.2.1: refused: 160 connections of this address wait to be admitted already";
        assert_eq!(agent_event(&refused), said);
        let failed = AgentEvent::NotCalledBack {
            client: "192.0.2.1:9".parse().unwrap(),
            error: "Resource temporarily unavailable".to_owned(),
        };
        assert!(agent_event(&failed).contains("pids limit"));
    }
}
