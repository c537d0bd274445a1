//! The figures of a trial, whatever its work and wherever they come from.

use super::{
    ConnectionOutcomes, CpuSide, Delay, ExchangeConditions, FlowsResult, Imported, LedgerEntry,
    Measured, Packets, Requests, TcpSummary, Trial, TrialOrigin, TrialWork, Turns, UnitCounts,
};
use crate::cost::ProfileSummary;
use crate::estimate::Interval;
use crate::one_way::{Decomposition, Ipdv, OneWay};
use crate::quantity::Quantity;
use crate::sample::EndpointReport;
use crate::spec::Side;
use crate::units::{LossRatio, PacketRate, Ratio};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Empty or `None` where the trial has another origin.
impl Trial {
    /// What only a measurement of our own leaves.
    pub fn measured(&self) -> Option<&Measured> {
        match &self.origin {
            TrialOrigin::Imported(_) => None,
            TrialOrigin::Measured(measured) => Some(measured),
        }
    }

    /// What linerate itself measured, to change it.
    pub fn measured_mut(&mut self) -> Option<&mut Measured> {
        match &mut self.origin {
            TrialOrigin::Imported(_) => None,
            TrialOrigin::Measured(measured) => Some(measured),
        }
    }

    /// What the host counters of `side` gained during the trial, by signal name.
    pub fn counters(&self, side: Side) -> Option<&BTreeMap<String, u64>> {
        self.measured()?.counters.get(&side)
    }

    /// The CPU use of `side`.
    pub fn cpu_of(&self, side: Side) -> Option<&CpuSide> {
        let cpu = self.cpu.as_ref()?;
        match side {
            Side::Sender => cpu.sender.as_ref(),
            Side::Receiver => cpu.receiver.as_ref(),
        }
    }

    /// The raw reports of both ends.
    pub fn raw(&self) -> &[EndpointReport] {
        self.measured().map_or(&[], |measured| &measured.raw)
    }

    /// What each layer of both ends' systems cost.
    pub fn profile(&self) -> Option<&ProfileSummary> {
        self.measured()?.profile.as_ref()
    }

    /// The interval in which the rounded value of `quantity` lies.
    pub fn rounding(&self, quantity: Quantity) -> Option<&Interval> {
        match &self.origin {
            TrialOrigin::Imported(imported) => imported.rounding.get(&*rounding_key(quantity)),
            TrialOrigin::Measured(_) => None,
        }
    }

    /// Notes in which interval the true value of what a log tells of `quantity` lies; `None` if the log's is exact.
    pub fn set_rounding(&mut self, quantity: Quantity, interval: Option<Interval>) {
        if let TrialOrigin::Imported(Imported { rounding }) = &mut self.origin {
            let key = rounding_key(quantity);
            match interval {
                Some(interval) => rounding.insert(key.into_owned(), interval),
                None => rounding.remove(&*key),
            };
        }
    }
}

/// Lost packets are called as in the trial's `packets`.
fn rounding_key(quantity: Quantity) -> Cow<'static, str> {
    match quantity {
        Quantity::LostPackets => "lost".into(),
        _ => quantity.key(),
    }
}

/// For readers that do not care which kind of work it was: `None` or empty where this kind has no such thing, and where
/// it is not known.
impl Trial {
    /// Share of the time in which the busiest sending thread slept in a sending call.
    pub fn send_blocked_ratio(&self) -> Option<Ratio> {
        match &self.work {
            TrialWork::Datagrams(result) => result.send_blocked_ratio,
            _ => None,
        }
    }

    /// Counts of datagrams or requests.
    pub fn counts(&self) -> Option<&UnitCounts> {
        match &self.work {
            TrialWork::ClosedLoop(result) => Some(&result.counts),
            TrialWork::Datagrams(result) => Some(&result.counts),
            TrialWork::OpenLoop(result) => Some(&result.counts),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// The counts of datagrams or transactions, to change them.
    pub fn counts_mut(&mut self) -> Option<&mut UnitCounts> {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => Some(&mut result.counts),
            TrialWork::Datagrams(result) => Some(&mut result.counts),
            TrialWork::OpenLoop(result) => Some(&mut result.counts),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// Packet accounting.
    pub fn packets(&self) -> Option<&Packets> {
        self.counts()?.packets.as_ref()
    }

    /// The loss ratio, if packets were counted.
    pub fn loss_ratio(&self) -> Option<LossRatio> {
        self.packets()?.loss_ratio
    }

    /// Datagrams or requests per second offered.
    pub fn offered_packet_rate(&self) -> Option<PacketRate> {
        self.counts()?.offered_packet_rate
    }

    /// Datagrams received or transactions completed per second.
    pub fn received_packet_rate(&self) -> Option<PacketRate> {
        match &self.work {
            TrialWork::Connections(result) => result.received_packet_rate,
            _ => self.counts()?.received_packet_rate,
        }
    }

    /// Where lost datagrams went.
    pub fn ledger(&self) -> &[LedgerEntry] {
        match &self.work {
            TrialWork::Datagrams(result) => &result.ledger,
            _ => &[],
        }
    }

    /// Delay; what was timed is said in it.
    pub fn delay(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(_) => None,
            TrialWork::ClosedLoop(result) => result.delay.as_ref(),
            TrialWork::Connections(result) => result.delay.as_ref(),
            TrialWork::Datagrams(result) => result.delay.as_ref(),
            TrialWork::OpenLoop(result) => result.delay.as_ref(),
        }
    }

    /// The delays, to change them.
    pub fn delay_mut(&mut self) -> Option<&mut Delay> {
        match &mut self.work {
            TrialWork::ByteStream(_) => None,
            TrialWork::ClosedLoop(result) => result.delay.as_mut(),
            TrialWork::Connections(result) => result.delay.as_mut(),
            TrialWork::Datagrams(result) => result.delay.as_mut(),
            TrialWork::OpenLoop(result) => result.delay.as_mut(),
        }
    }

    /// How late the sender was against its schedule.
    pub fn lateness(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(result) => result.lateness.as_ref(),
            TrialWork::Datagrams(result) => result.lateness.as_ref(),
            TrialWork::OpenLoop(result) => result.lateness.as_ref(),
            TrialWork::ClosedLoop(_) | TrialWork::Connections(_) => None,
        }
    }

    /// TCP state of the sending side.
    pub fn tcp(&self) -> Option<&TcpSummary> {
        match &self.work {
            TrialWork::ByteStream(result) => result.tcp.as_ref(),
            TrialWork::ClosedLoop(result) => result.tcp.as_ref(),
            TrialWork::OpenLoop(result) => result.tcp.as_ref(),
            TrialWork::Connections(_) | TrialWork::Datagrams(_) => None,
        }
    }

    /// What became of the requests of an open loop.
    pub fn requests(&self) -> Option<&Requests> {
        match &self.work {
            TrialWork::OpenLoop(result) => result.requests.as_ref(),
            _ => None,
        }
    }

    /// Service time of an open loop.
    pub fn service(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::OpenLoop(result) => result.service.as_deref(),
            _ => None,
        }
    }

    /// Time to open each connection.
    pub fn handshake(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::Connections(result) => result.handshake.as_deref(),
            _ => None,
        }
    }

    /// From the first segment of each connection to the last byte of its answer.
    pub fn transaction(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::Connections(result) => result.transaction.as_deref(),
            _ => None,
        }
    }

    /// Completion times of flows of given sizes.
    pub fn flows(&self) -> Option<&FlowsResult> {
        match &self.work {
            TrialWork::Connections(result) => result.flows.as_deref(),
            _ => None,
        }
    }

    /// What became of connections that were opened for a request each.
    pub fn connections(&self) -> Option<&ConnectionOutcomes> {
        match &self.work {
            TrialWork::Connections(result) => result.connections.as_deref(),
            _ => None,
        }
    }

    /// Time of marks through a loaded TCP stream and back.
    pub fn in_band(&self) -> Option<&Delay> {
        match &self.work {
            TrialWork::ByteStream(result) => result.in_band.as_deref(),
            _ => None,
        }
    }

    /// One-way delays with the error that the clocks leave.
    pub fn one_way(&self) -> Option<&OneWay> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.one_way.as_deref(),
            TrialWork::Datagrams(result) => result.one_way.as_deref(),
            TrialWork::OpenLoop(result) => result.one_way.as_deref(),
            TrialWork::ByteStream(_) | TrialWork::Connections(_) => None,
        }
    }

    /// Inter-packet delay variation.
    pub fn ipdv(&self) -> Option<&Ipdv> {
        match &self.work {
            TrialWork::Datagrams(result) => result.ipdv.as_deref(),
            _ => None,
        }
    }

    /// Interarrival jitter as RFC 3550 smooths it.
    pub fn rtp_jitter_ns(&self) -> Option<u64> {
        match &self.work {
            TrialWork::Datagrams(result) => result.rtp_jitter_ns,
            _ => None,
        }
    }

    /// Where the time of round trips went.
    pub fn decomposition(&self) -> Option<&Decomposition> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.decomposition.as_deref(),
            TrialWork::OpenLoop(result) => result.decomposition.as_deref(),
            _ => None,
        }
    }

    /// The decomposition of the delay, to change it.
    pub fn decomposition_mut(&mut self) -> Option<&mut Decomposition> {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => result.decomposition.as_deref_mut(),
            TrialWork::OpenLoop(result) => result.decomposition.as_deref_mut(),
            _ => None,
        }
    }

    /// Wait mode and load, where messages were exchanged.
    pub fn conditions(&self) -> Option<&ExchangeConditions> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.conditions.as_ref(),
            TrialWork::OpenLoop(result) => result.conditions.as_ref(),
            _ => None,
        }
    }

    /// Says under what its messages were exchanged; nothing for work without messages.
    pub fn set_conditions(&mut self, conditions: ExchangeConditions) {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => result.conditions = Some(conditions),
            TrialWork::OpenLoop(result) => result.conditions = Some(conditions),
            _ => {}
        }
    }

    /// The turns that it was measured in.
    pub fn turns(&self) -> Option<&Turns> {
        match &self.work {
            TrialWork::ClosedLoop(result) => result.turns.as_deref(),
            _ => None,
        }
    }
}
