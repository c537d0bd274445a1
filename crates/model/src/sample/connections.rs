//! What became of connections that were opened for a request and its answer.

use crate::units::PacketCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of the connections that a client opened. Each that was attempted has one outcome:
/// `attempted = answered + refused + timed_out + reset + unanswered + failed + unfinished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionCounts {
    /// Connections whose first segment was given to the system.
    pub attempted: PacketCount,
    /// Those whose handshake ended, whatever came of them then.
    pub opened: PacketCount,
    /// Those that had the whole answer in time.
    pub answered: PacketCount,
    /// Those that the peer refused: nobody listened (`ECONNREFUSED`).
    pub refused: PacketCount,
    /// Those whose handshake had not ended in time.
    pub timed_out: PacketCount,
    /// Those that were reset or closed before the whole answer had come.
    pub reset: PacketCount,
    /// Those that were open and had not got the whole answer in time.
    pub unanswered: PacketCount,
    /// Those that ended by another error, which the errors of the stream name.
    pub failed: PacketCount,
    /// Those that were under way when the test was broken off.
    pub unfinished: PacketCount,
    /// Attempts that found no free local port (`EADDRNOTAVAIL`): no segment was sent. They are not in `attempted`.
    pub without_port: PacketCount,
    /// Answered connections that the peer did not close in time, where it is to close first.
    pub not_closed: PacketCount,
    /// Answered connections that were to be held open and ended before the test did.
    pub lost_open: PacketCount,
    /// Connections attempted in the warm-up, which count nowhere else.
    pub warm_up: PacketCount,
    /// Most connections open at once, those of the warm-up included.
    pub most_open: PacketCount,
    /// Local ports that the system chooses from (`net.ipv4.ip_local_port_range`), for each port of the peer; absent
    /// where it does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local_ports: Option<PacketCount>,
    /// Sockets of the client's network namespace in TIME_WAIT at the end (`/proc/net/sockstat`); absent where it does
    /// not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<PacketCount>,
}

/// What became of the connections that a server accepted, those of the warm-up included:
/// `accepted = answered + foreign + unrequested + reset + unfinished`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize, Deserialize)]
#[serde(default)]
pub struct AcceptedCounts {
    /// Connections accepted.
    pub accepted: PacketCount,
    /// Those whose whole answer was given to the system.
    pub answered: PacketCount,
    /// Those of another address, or that did not begin as this test's; closed at once.
    pub foreign: PacketCount,
    /// Those whose request did not come in time; closed.
    pub unrequested: PacketCount,
    /// Those that ended before the whole answer was given to the system.
    pub reset: PacketCount,
    /// Those that were under way when the test ended.
    pub unfinished: PacketCount,
    /// Most connections open at once.
    pub most_open: PacketCount,
    /// Sockets of the server's network namespace in TIME_WAIT at the end (`/proc/net/sockstat`); absent where it does
    /// not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_wait: Option<PacketCount>,
}

impl ConnectionCounts {
    /// Counts of both together: what one stream has to itself adds up, and what the host tells is the larger one.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        for (sum, one) in [
            (&mut self.attempted, other.attempted),
            (&mut self.opened, other.opened),
            (&mut self.answered, other.answered),
            (&mut self.refused, other.refused),
            (&mut self.timed_out, other.timed_out),
            (&mut self.reset, other.reset),
            (&mut self.unanswered, other.unanswered),
            (&mut self.failed, other.failed),
            (&mut self.unfinished, other.unfinished),
            (&mut self.without_port, other.without_port),
            (&mut self.not_closed, other.not_closed),
            (&mut self.lost_open, other.lost_open),
            (&mut self.warm_up, other.warm_up),
            (&mut self.most_open, other.most_open),
        ] {
            sum.grow(one.get());
        }
        self.local_ports = self.local_ports.max(other.local_ports);
        self.time_wait = self.time_wait.max(other.time_wait);
        self
    }

    /// Connections that were attempted and not answered in time, by what became of them, with words for it.
    pub const fn failures(&self) -> [(PacketCount, &'static str); 6] {
        [
            (self.refused, "refused"),
            (self.timed_out, "timed out in the handshake"),
            (self.reset, "reset"),
            (self.unanswered, "without an answer in time"),
            (self.failed, "ended by other errors"),
            (self.unfinished, "broken off"),
        ]
    }

    /// All of [`failures`](Self::failures) together.
    pub fn failed_in_all(&self) -> PacketCount {
        let all = self.failures().into_iter();
        PacketCount::new(
            all.map(|(count, _)| count.get())
                .fold(0, u64::saturating_add),
        )
    }
}

impl AcceptedCounts {
    /// Counts of both together: what one stream has to itself adds up, and what the host tells is the larger one.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        for (sum, one) in [
            (&mut self.accepted, other.accepted),
            (&mut self.answered, other.answered),
            (&mut self.foreign, other.foreign),
            (&mut self.unrequested, other.unrequested),
            (&mut self.reset, other.reset),
            (&mut self.unfinished, other.unfinished),
            (&mut self.most_open, other.most_open),
        ] {
            sum.grow(one.get());
        }
        self.time_wait = self.time_wait.max(other.time_wait);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_attempt_has_one_outcome_however_many_streams_are_summed() {
        let count = PacketCount::new;
        let one = ConnectionCounts {
            attempted: count(21),
            answered: count(6),
            refused: count(1),
            timed_out: count(2),
            reset: count(3),
            unanswered: count(4),
            failed: count(5),
            local_ports: Some(count(28_232)),
            ..ConnectionCounts::default()
        };
        let both = one.merged(one);
        assert_eq!(
            both.attempted.get(),
            both.answered.get() + both.failed_in_all().get()
        );
        assert_eq!(both.local_ports, Some(count(28_232)));
        let most = ConnectionCounts {
            attempted: count(u64::MAX),
            ..one
        };
        assert_eq!(most.merged(one).attempted.get(), u64::MAX);
    }
}
