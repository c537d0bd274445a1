//! The server on the stack `kernel`: what `stack://kernel` starts in a network namespace of its own.

use anyhow::Result;
use linerate_agent::AgentPlan;
use linerate_model::exit::{ExitCode, Failure};
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
    let (lines, stop) = (ServerLines::default(), AtomicBool::new(false));
    let plan = AgentPlan {
        listen: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0),
        speak: vec![protocol().id().parse()?],
        ..AgentPlan::private()
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let served = linerate_agent::serve(&plan, &stop, &mut |line| lines.hear(line));
            lines.change(|seen| seen.is_over = true);
            served
        });
        let answered = answer(&lines);
        stop.store(true, Ordering::Relaxed);
        let outcome = server
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome.and_then(|()| answered.map_err(Into::into))
    })?;
    Ok(ExitCode::Done)
}

/// Says that the server is ready, and what it has counted whenever that is asked.
fn answer(lines: &ServerLines) -> Result<(), Failure> {
    let caller = Caller::default();
    if lines.wait(|seen| seen.is_serving).is_over {
        return Ok(());
    }
    caller.ready()?;
    while let Some(streams) = caller.hear() {
        let seen = lines.wait(|seen| seen.ended >= streams);
        let (tcp, udp) = (seen.tcp, seen.udp);
        drop(seen);
        caller.counts(&kernel_counts(tcp, udp))?;
    }
    Ok(())
}

/// What the server has said so far.
#[derive(Debug, Default)]
struct ServerLines {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    is_serving: bool,
    is_over: bool,
    /// Streams that came to their end, each way.
    ended: u64,
    tcp: StackTraffic,
    udp: StackTraffic,
}

impl ServerLines {
    fn hear(&self, line: &str) {
        self.change(|seen| {
            seen.is_serving = true;
            seen.take(line);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits until it holds, the server has ended, or time is up.
    fn wait(&self, holds: impl Fn(&Seen) -> bool) -> MutexGuard<'_, Seen> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |seen: &mut Seen| !(holds(seen) || seen.is_over);
        let waited = self.changed.wait_timeout_while(seen, ENDING, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl Seen {
    /// Reads the line by which the server says how a stream ended:
    /// `10.0.0.1:5 iperf2: received 9 bytes in 1.000 s, 4 bit/s, 1 datagrams, …`.
    fn take(&mut self, line: &str) {
        let number_before = |unit: &str| -> Option<u64> {
            let (before, _) = line.split_once(unit)?;
            before.rsplit(' ').next()?.parse().ok()
        };
        let Some(bytes) = number_before(" bytes in ") else {
            return;
        };
        let is_sent = line.contains(": sent ");
        match number_before(" datagrams") {
            None => self.tcp.add(is_sent, bytes),
            Some(datagrams) if is_sent => self.udp.add_datagrams(is_sent, bytes, datagrams),
            // The one that opened the stream is counted there, as long as the others.
            Some(datagrams) => {
                let opening = bytes / datagrams.max(1);
                self.udp
                    .add_datagrams(is_sent, bytes - opening, datagrams.saturating_sub(1));
            }
        }
        self.ended += 1;
    }
}

/// Adds up streams.
trait Add {
    fn add(&mut self, is_sent: bool, bytes: u64);
    fn add_datagrams(&mut self, is_sent: bool, bytes: u64, datagrams: u64);
}

impl Add for StackTraffic {
    fn add(&mut self, is_sent: bool, bytes: u64) {
        let sum = if is_sent {
            &mut self.sent_bytes
        } else {
            &mut self.received_bytes
        };
        *sum = ByteCount::new(sum.get() + bytes);
    }

    fn add_datagrams(&mut self, is_sent: bool, bytes: u64, datagrams: u64) {
        self.add(is_sent, bytes);
        let sum = if is_sent {
            &mut self.sent_packets
        } else {
            &mut self.received_packets
        };
        let before = sum.map_or(0, PacketCount::get);
        *sum = Some(PacketCount::new(before + datagrams));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_add_up_by_transport_and_way() {
        let mut seen = Seen::default();
        for line in [
            "serving iperf2 on [::]:5001",
            "10.79.1.1:40000 iperf2: received 1000 bytes in 1.000 s, 8 kbit/s",
            "10.79.1.1:40001 iperf2: received 500 bytes in 1.000 s, 4 kbit/s",
            "10.79.1.1:40001 iperf2: sent 70 bytes in 1.000 s, 560 bit/s",
            "10.79.1.1:40002 iperf2: received 1100 bytes in 1.000 s, 8 kbit/s, 11 datagrams, 0 of 11 lost, 0 reordered, 0 twice",
            "10.79.1.1:40003 iperf2: sent 400 bytes in 1.000 s, 3 kbit/s, 4 datagrams",
        ] {
            seen.take(line);
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
        let lines = ServerLines::default();
        lines.change(|seen| seen.is_over = true);
        assert!(lines.wait(|seen| seen.is_serving).is_over);
        assert!(!lines.wait(|_| true).is_serving);
    }
}
