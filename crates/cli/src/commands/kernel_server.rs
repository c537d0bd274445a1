//! The server on the stack `kernel`: what `stack://kernel` starts in a network namespace of its own.

use anyhow::Result;
use linerate_agent::AgentPlan;
use linerate_model::agent::AgentEvent;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::Side;
use linerate_model::stack::StackTraffic;
use linerate_model::{ByteCount, PacketCount};
use linerate_stacks::{Caller, kernel_counts, protocol};
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Longest wait for the server's part of the end of streams, which takes milliseconds on an idle host.
const ENDING: Duration = Duration::from_secs(10);

/// Serves until the caller is gone.
pub(crate) fn serve() -> Result<ExitCode> {
    let (events, stop) = (ServerEvents::default(), AtomicBool::new(false));
    let plan = AgentPlan {
        listen: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
        speak: vec![protocol().id().parse()?],
        ..AgentPlan::private()
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let served = linerate_agent::serve(&plan, &stop, &mut |event| events.hear(event));
            events.change(|seen| seen.is_over = true);
            served
        });
        let answered = answer(&events);
        stop.store(true, Ordering::Relaxed);
        let outcome = server
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.and_then(|()| answered.map_err(Into::into))
    })?;
    Ok(ExitCode::Done)
}

/// Says that the server is ready, and what it has counted whenever that is asked.
fn answer(events: &ServerEvents) -> Result<(), Failure> {
    let caller = Caller::default();
    if events.wait(|seen| seen.is_serving).is_over {
        return Ok(());
    }
    caller.ready()?;
    while let Some(streams) = caller.hear() {
        let seen = events.wait(|seen| seen.ended >= streams);
        let (tcp, udp) = (seen.tcp, seen.udp);
        drop(seen);
        caller.counts(&kernel_counts(tcp, udp))?;
    }
    Ok(())
}

/// What the server has said so far.
#[derive(Debug, Default)]
struct ServerEvents {
    seen: Mutex<ServerCounts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ServerCounts {
    is_serving: bool,
    is_over: bool,
    /// Streams that came to their end, each way.
    ended: u64,
    tcp: StackTraffic,
    udp: StackTraffic,
}

impl ServerEvents {
    fn hear(&self, event: &AgentEvent) {
        self.change(|seen| {
            seen.is_serving = true;
            seen.take(event);
        });
    }

    fn change(&self, change: impl FnOnce(&mut ServerCounts)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until it holds, the server has ended, or time is up.
    fn wait(&self, holds: impl Fn(&ServerCounts) -> bool) -> MutexGuard<'_, ServerCounts> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |seen: &mut ServerCounts| !(holds(seen) || seen.is_over);
        let waited = self.changed.wait_timeout_while(seen, ENDING, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl ServerCounts {
    fn take(&mut self, event: &AgentEvent) {
        let AgentEvent::Counted { traffic, .. } = event else {
            return;
        };
        self.ended += 1;
        let (mut bytes, mut packets) = (traffic.bytes, traffic.packets);
        // The datagram that opened a stream is counted by its receiver, as long as the others.
        if let (Side::Receiver, Some(datagrams)) = (traffic.side, traffic.packets) {
            let datagrams = datagrams.get();
            bytes = ByteCount::new(bytes.get() - bytes.get() / datagrams.max(1));
            packets = Some(PacketCount::new(datagrams.saturating_sub(1)));
        }
        let total = match packets {
            None => &mut self.tcp,
            Some(_) => &mut self.udp,
        };
        let (all_bytes, all_packets) = match traffic.side {
            Side::Sender => (&mut total.sent_bytes, &mut total.sent_packets),
            Side::Receiver => (&mut total.received_bytes, &mut total.received_packets),
        };
        *all_bytes = ByteCount::new(all_bytes.get() + bytes.get());
        if let Some(packets) = packets {
            let before = all_packets.map_or(0, PacketCount::get);
            *all_packets = Some(PacketCount::new(before + packets.get()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_model::agent::CountedTraffic;

    fn counted(side: Side, bytes: u64, packets: Option<u64>) -> AgentEvent {
        AgentEvent::Counted {
            client: "10.79.1.1:40000".parse().unwrap(),
            protocol: protocol().id().to_owned(),
            traffic: CountedTraffic {
                side,
                bytes: ByteCount::new(bytes),
                duration: Duration::from_secs(1),
                packets: packets.map(PacketCount::new),
                sequences: Vec::new(),
            },
        }
    }

    #[test]
    fn streams_add_up_by_transport_and_way() {
        let mut seen = ServerCounts::default();
        for event in [
            counted(Side::Receiver, 1000, None),
            counted(Side::Receiver, 500, None),
            counted(Side::Sender, 70, None),
            counted(Side::Receiver, 1100, Some(11)),
            counted(Side::Sender, 400, Some(4)),
        ] {
            seen.take(&event);
        }
        assert_eq!(seen.ended, 5);
        assert_eq!(
            (seen.tcp.received_bytes.get(), seen.tcp.sent_bytes.get()),
            (1500, 70)
        );
        assert_eq!(
            (seen.udp.received_bytes.get(), seen.udp.sent_bytes.get()),
            (1000, 400)
        );
        assert_eq!(seen.udp.received_packets, Some(PacketCount::new(10)));
        assert_eq!(seen.udp.sent_packets, Some(PacketCount::new(4)));
    }

    #[test]
    fn who_waits_hears_of_the_end() {
        let events = ServerEvents::default();
        events.change(|seen| seen.is_over = true);
        assert!(events.wait(|seen| seen.is_serving).is_over);
        assert!(!events.wait(|_| true).is_serving);
    }
}
