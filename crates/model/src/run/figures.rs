//! The figures of a trial, whatever its work and wherever they come from.

use super::{
    ConnectionOutcomes, CpuSide, Delay, ExchangeConditions, FlowsResult, Imported, LedgerEntry,
    Measured, Packets, Requests, TcpSummary, Trial, TrialOrigin, TrialWork, Turns, UnitCounts,
};
use crate::cost::{ProfileCost, ProfileSide, ProfileSummary, StartedTime};
use crate::estimate::Interval;
use crate::one_way::{Decomposition, Ipdv, OneWay};
use crate::profile::Profile;
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

    /// Share of the time in which the sender had what it wanted of a core; 1 where the system does not tell.
    pub fn sender_running_ratio(&self) -> Ratio {
        let running = self.cpu_of(Side::Sender).and_then(CpuSide::running_ratio);
        running.unwrap_or(Ratio::clamped(1.0))
    }

    /// The raw reports of both ends.
    pub fn raw(&self) -> &[EndpointReport] {
        self.measured().map_or(&[], |measured| &measured.raw)
    }

    /// What each layer of both ends' systems cost.
    pub fn profile(&self) -> Option<&ProfileSummary> {
        self.measured()?.profile.as_ref()
    }

    /// What an end was sampled to cost, and its stacks where they were kept.
    pub fn sampled(&self, side: Side) -> (Option<&ProfileSide>, Option<&Profile>) {
        let of = self.profile().and_then(|profile| match side {
            Side::Sender => profile.sender.as_ref(),
            Side::Receiver => profile.receiver.as_ref(),
        });
        let raw = self.raw().iter().find(|report| report.side == side);
        (of, raw.and_then(|report| report.profile.as_ref()))
    }

    /// Where programs that the test started spent their time, and the sample that shows it: the first end's, since both see
    /// the same programs. `None` if there were none, or their stacks were not kept.
    pub fn started_times(&self) -> Option<(&ProfileCost, Vec<StartedTime<'_>>)> {
        [Side::Sender, Side::Receiver].into_iter().find_map(|side| {
            let (Some(ProfileSide::Sampled(cost)), Some(profile)) = self.sampled(side) else {
                return None;
            };
            let times = cost.started_times(profile);
            (!times.is_empty()).then_some((cost, times))
        })
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

    /// Interarrival jitter as RFC 3550 smooths it.
    pub fn rtp_jitter_ns(&self) -> Option<u64> {
        match &self.work {
            TrialWork::Datagrams(result) => result.rtp_jitter_ns,
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

    /// Says under what its messages were exchanged; nothing for work without messages.
    pub fn set_conditions(&mut self, conditions: ExchangeConditions) {
        match &mut self.work {
            TrialWork::ClosedLoop(result) => result.conditions = Some(conditions),
            TrialWork::OpenLoop(result) => result.conditions = Some(conditions),
            _ => {}
        }
    }
}

/// Figures that only some kinds of work have: a method for each, `None` of every other kind.
macro_rules! figures {
    ($($(#[$about:meta])* $name:ident -> $value:ty, $as_ref:ident of $($kind:ident)|+;)*) => {
        impl Trial {
            $($(#[$about])*
            pub fn $name(&self) -> Option<&$value> {
                match &self.work {
                    $(TrialWork::$kind(result) => result.$name.$as_ref(),)+
                    _ => None,
                }
            })*
        }
    };
}

figures! {
    /// Delay; what was timed is said in it.
    delay -> Delay, as_ref of ClosedLoop | Connections | Datagrams | OpenLoop;
    /// How late the sender was against its schedule.
    lateness -> Delay, as_ref of ByteStream | Datagrams | OpenLoop;
    /// TCP state of the sending side.
    tcp -> TcpSummary, as_ref of ByteStream | ClosedLoop | OpenLoop;
    /// What became of the requests of an open loop.
    requests -> Requests, as_ref of OpenLoop;
    /// Service time of an open loop.
    service -> Delay, as_deref of OpenLoop;
    /// Time to open each connection.
    handshake -> Delay, as_deref of Connections;
    /// From the first segment of each connection to the last byte of its answer.
    transaction -> Delay, as_deref of Connections;
    /// Completion times of flows of given sizes.
    flows -> FlowsResult, as_deref of Connections;
    /// What became of connections that were opened for a request each.
    connections -> ConnectionOutcomes, as_deref of Connections;
    /// Time of marks through a loaded TCP stream and back.
    in_band -> Delay, as_deref of ByteStream;
    /// One-way delays with the error that the clocks leave.
    one_way -> OneWay, as_deref of ClosedLoop | Datagrams | OpenLoop;
    /// Inter-packet delay variation.
    ipdv -> Ipdv, as_deref of Datagrams;
    /// Where the time of round trips went.
    decomposition -> Decomposition, as_deref of ClosedLoop | OpenLoop;
    /// Wait mode and load, where messages were exchanged.
    conditions -> ExchangeConditions, as_ref of ClosedLoop | OpenLoop;
    /// The turns that it was measured in.
    turns -> Turns, as_deref of ClosedLoop;
}
