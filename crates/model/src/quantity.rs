//! The quantities that trials, searches and curves tell: key, words, unit, layer, bounds, and where a trial has each.
//!
//! A new one is a variant of [`Quantity`] and its entry in `ENTRIES`. Tables of trials, means and effects of studies,
//! comparisons, rounding intervals of logs and the words for all of them follow from that.
//!
//! # References
//! - Intended and offered load: RFC 2285 § 3.5; loss ratio: RFC 1242 § 3.6
//! - Delay variation above the smallest delay: RFC 5481 § 1.1

use crate::delay::{Delay, DelayOf, Statistic};
use crate::run::{CpuSide, Packets, TcpSummary, Trial};
use crate::spec::Side;
use crate::units::{BitRate, ByteCount, Layer, LossRatio, PacketCount, PacketRate, Ratio, float};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// What a figure is about. Serialised as its [`key`](Self::key).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Parallel streams.
    Streams,
    /// Datagram payload, write size or message size.
    Payload,
    /// Intended load, L4 payload.
    IntendedLoad,
    /// What the sender's application gave to its system, L4 payload, sender's clock.
    OfferedRate,
    /// What the receiver's application got, L4 payload.
    ReceivedRate,
    /// Datagrams or requests per second that the sender offered.
    OfferedPacketRate,
    /// Datagrams per second that the receiver got, or transactions per second.
    ReceivedPacketRate,
    /// Counted time of a trial, sender's clock.
    Duration,
    /// L4 payload that the sender gave to its system.
    SentBytes,
    /// L4 payload that the receiver took, without duplicates.
    ReceivedBytes,
    /// Packets given to the system by the sender's application.
    SentPackets,
    /// Distinct packets that the receiver's application got.
    ReceivedPackets,
    /// Sent and not received.
    LostPackets,
    /// Received again.
    DuplicatedPackets,
    /// Received below the next expected sequence number.
    ReorderedPackets,
    /// Share of the packets that was lost.
    LossRatio,
    /// Highest load of a search whose loss is within its goal, L4 payload.
    ConditionalThroughput,
    /// Conditional throughput of a search over a device between two ports, in frames.
    FrameThroughput,
    /// A statistic of what the delay of a trial timed, or of a part of that.
    Delay(DelayPart, Statistic),
    /// Delays that were timed.
    DelayCount,
    /// Lowest rate of requests at which their delay rises.
    RisingDelayLoad,
    /// Round trips per minute under load.
    Responsiveness,
    /// Connections per second that were opened, answered and closed, client's clock.
    ConnectionRate,
    /// Connections that were attempted and not answered in time.
    FailedConnections,
    /// Most connections that the client had open at once.
    OpenConnections,
    /// Median time from a connection's first segment to its opening, client's clock.
    HandshakeMedian,
    /// 99 % quantile of the time from a connection's first segment to its opening, client's clock.
    HandshakeP99,
    /// Median time from a connection's first segment to the last byte of its answer, client's clock.
    TransactionMedian,
    /// 99 % quantile of the time from a connection's first segment to the last byte of its answer, client's clock.
    TransactionP99,
    /// What the receiver's TCP acknowledged, L4 payload, sender's clock.
    AcknowledgedRate,
    /// TCP segments sent again.
    RetransmittedSegments,
    /// Mean congestion window (TCP), sender.
    CwndMean,
    /// Largest congestion window (TCP), sender.
    CwndMax,
    /// Mean smoothed RTT (TCP), sender.
    SrttMean,
    /// CPU use of one end.
    Cpu(Side, CpuFigure),
    /// What the receiver got as it filled the wire: with headers, preamble and gap (L1).
    WireRate,
    /// The median delay variation (UDP, receiver) or the mean smoothed RTT (TCP, sender) while the load is on.
    DelayUnderLoad,
    /// Received rate of a stream × RTT ÷ congestion window (TCP): about 1 while the congestion window
    /// is what limits, less while something else keeps it from being filled.
    WindowUse,
    /// A quantity that this build does not know, of a document of another.
    Unknown(UnknownKey),
}

/// Which part of what a delay distribution timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DelayPart {
    /// All of it, whatever it is.
    Whole,
    /// One-way delay above the smallest of the trial.
    AboveSmallest,
    /// Half of a round trip.
    HalfRoundTrip,
    /// A round trip.
    RoundTrip,
}

crate::named_enum! {
    /// A figure of the CPU use of one end.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum CpuFigure {
        /// Share of all cores that was not idle.
        Host = "host_ratio",
        /// The busiest core's share that was not idle.
        BusiestCore = "busiest_core_ratio",
        /// CPU time of the busiest traffic thread over the trial's time.
        Thread = "thread_ratio",
        /// CPU time of the whole host per L4 payload byte.
        PerByte = "cpu_ns_per_byte",
        /// CPU time of the whole host per packet: in a test of latency, per transaction.
        PerTransaction = "cpu_ns_per_transaction",
    }
}

/// The unit of a quantity's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantityUnit {
    /// bit/s.
    BitRate,
    /// Bytes.
    Bytes,
    /// A number of something.
    Count,
    /// Nanoseconds.
    Nanoseconds,
    /// Packets per second.
    PacketRate,
    /// A figure that is the larger the better, without a unit to show.
    Plain,
    /// A share, from 0 to 1.
    Ratio,
    /// Seconds.
    Seconds,
}

crate::named_enum! {
    /// Which direction of a quantity is good.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum BetterWhen {
        /// Rates.
        Higher = "higher",
        /// Delays, losses, CPU time.
        Lower = "lower",
    }
}

/// Reads a quantity from a trial; `None` where the trial does not tell.
type OfTrial = fn(&Trial) -> Option<f64>;

/// All that is known of a quantity.
struct Entry {
    quantity: Quantity,
    /// In the document of a trial, goal or curve.
    key: &'static str,
    unit: QuantityUnit,
    /// `received` as the head of a column, `received rate` in a sentence; without the layer.
    words: [&'static str; 2],
    layer: Option<Layer>,
    /// `None` for what no single trial tells.
    of: Option<OfTrial>,
}

impl Entry {
    const fn new(
        quantity: Quantity,
        key: &'static str,
        unit: QuantityUnit,
        word: &'static str,
    ) -> Self {
        Self {
            quantity,
            key,
            unit,
            words: [word; 2],
            layer: None,
            of: None,
        }
    }

    /// Of L4 payload.
    const fn payload(self, head: &'static str) -> Self {
        Self {
            words: [head, self.words[1]],
            layer: Some(Layer::L4Payload),
            ..self
        }
    }

    const fn of(self, of: OfTrial) -> Self {
        Self {
            of: Some(of),
            ..self
        }
    }
}

/// Every quantity without parameters, in the order of the columns of a table of trials.
#[rustfmt::skip] // A line for what each is, a line for where a trial has it.
static ENTRIES: &[Entry] = &[
    Entry::new(Quantity::Streams, "streams", QuantityUnit::Count, "streams")
        .of(|trial| trial.streams.map(f64::from)),
    Entry::new(Quantity::Payload, "payload_bytes", QuantityUnit::Bytes, "payload")
        .of(|trial| bytes(trial.payload_bytes)),
    Entry::new(Quantity::IntendedLoad, "intended_bps", QuantityUnit::BitRate, "intended load").payload("intended")
        .of(|trial| bits(trial.intended_load)),
    Entry::new(Quantity::OfferedRate, "offered_bps", QuantityUnit::BitRate, "offered rate").payload("offered")
        .of(|trial| bits(trial.offered_load)),
    Entry::new(Quantity::ReceivedRate, "received_bps", QuantityUnit::BitRate, "received rate").payload("received")
        .of(|trial| bits(trial.received_rate)),
    Entry::new(Quantity::OfferedPacketRate, "offered_pps", QuantityUnit::PacketRate, "offered packet rate")
        .of(|trial| trial.offered_packet_rate().map(PacketRate::pps)),
    Entry::new(Quantity::ReceivedPacketRate, "received_pps", QuantityUnit::PacketRate, "received packet rate")
        .of(|trial| trial.received_packet_rate().map(PacketRate::pps)),
    Entry::new(Quantity::Duration, "duration_s", QuantityUnit::Seconds, "duration")
        .of(|trial| trial.duration.map(|time| time.as_secs_f64())),
    Entry::new(Quantity::SentBytes, "sent_bytes", QuantityUnit::Bytes, "sent")
        .of(|trial| bytes(trial.sent_bytes)),
    Entry::new(Quantity::ReceivedBytes, "received_bytes", QuantityUnit::Bytes, "received")
        .of(|trial| bytes(trial.received_bytes)),
    Entry::new(Quantity::SentPackets, "sent_packets", QuantityUnit::Count, "sent packets")
        .of(|trial| packets(trial, |of| of.sent)),
    Entry::new(Quantity::ReceivedPackets, "received_packets", QuantityUnit::Count, "received packets")
        .of(|trial| packets(trial, |of| of.received)),
    Entry::new(Quantity::LostPackets, "lost_packets", QuantityUnit::Count, "lost packets")
        .of(|trial| packets(trial, |of| of.lost)),
    Entry::new(Quantity::DuplicatedPackets, "duplicated_packets", QuantityUnit::Count, "duplicated packets")
        .of(|trial| packets(trial, |of| of.duplicated)),
    Entry::new(Quantity::ReorderedPackets, "reordered_packets", QuantityUnit::Count, "reordered packets")
        .of(|trial| packets(trial, |of| of.reordered)),
    Entry::new(Quantity::LossRatio, "loss_ratio", QuantityUnit::Ratio, "loss ratio")
        .of(|trial| trial.loss_ratio().map(Ratio::get)),
    Entry::new(Quantity::ConditionalThroughput, "conditional_throughput_bps", QuantityUnit::BitRate, "conditional throughput")
        .payload("conditional throughput"),
    Entry::new(Quantity::FrameThroughput, "throughput_pps", QuantityUnit::PacketRate, "throughput"),
    Entry::new(Quantity::DelayCount, "delay_count", QuantityUnit::Count, "delays timed")
        .of(|trial| trial.delay()?.count.map(float)),
    Entry::new(Quantity::RisingDelayLoad, "above_pps", QuantityUnit::Plain, "requests per second from which delay rises"),
    Entry::new(Quantity::Responsiveness, "responsiveness_rpm", QuantityUnit::Plain, "round trips per minute under load"),
    Entry::new(Quantity::ConnectionRate, "connections_per_s", QuantityUnit::Plain, "connections per second")
        .of(|trial| Some(trial.connections().and_then(|_| trial.received_packet_rate())?.pps())),
    Entry::new(Quantity::FailedConnections, "failed_connections", QuantityUnit::Count, "failed connections")
        .of(|trial| Some(trial.connections()?.client.failed_in_all().as_f64())),
    Entry::new(Quantity::OpenConnections, "open_connections", QuantityUnit::Plain, "connections open at once, most")
        .of(|trial| Some(trial.connections()?.client.most_open.as_f64())),
    Entry::new(Quantity::HandshakeMedian, "handshake_p50_ns", QuantityUnit::Nanoseconds, "handshake, p50")
        .of(|trial| trial.handshake()?.p50_ns.map(float)),
    Entry::new(Quantity::HandshakeP99, "handshake_p99_ns", QuantityUnit::Nanoseconds, "handshake, p99")
        .of(|trial| trial.handshake()?.p99_ns.map(float)),
    Entry::new(Quantity::TransactionMedian, "transaction_p50_ns", QuantityUnit::Nanoseconds, "transaction, p50")
        .of(|trial| trial.transaction()?.p50_ns.map(float)),
    Entry::new(Quantity::TransactionP99, "transaction_p99_ns", QuantityUnit::Nanoseconds, "transaction, p99")
        .of(|trial| trial.transaction()?.p99_ns.map(float)),
    Entry::new(Quantity::AcknowledgedRate, "acknowledged_bps", QuantityUnit::BitRate, "acknowledged rate").payload("acknowledged")
        .of(|trial| bits(trial.tcp()?.acknowledged_rate)),
    Entry::new(Quantity::RetransmittedSegments, "retransmitted_segments", QuantityUnit::Count, "retransmitted segments")
        .of(|trial| tcp(trial, |of| of.retransmitted_segments)),
    Entry::new(Quantity::CwndMean, "cwnd_mean_bytes", QuantityUnit::Bytes, "congestion window, mean")
        .of(|trial| bytes(trial.tcp()?.cwnd_mean_bytes)),
    Entry::new(Quantity::CwndMax, "cwnd_max_bytes", QuantityUnit::Bytes, "congestion window, largest")
        .of(|trial| bytes(trial.tcp()?.cwnd_max_bytes)),
    Entry::new(Quantity::SrttMean, "srtt_mean_ns", QuantityUnit::Nanoseconds, "smoothed RTT, mean")
        .of(|trial| tcp(trial, |of| of.srtt_mean_ns)),
    Entry::new(Quantity::WireRate, "wire_bps", QuantityUnit::BitRate, "rate on the wire (L1)"),
    Entry::new(Quantity::DelayUnderLoad, "delay_under_load_ns", QuantityUnit::Nanoseconds, "delay under load"),
    Entry::new(Quantity::WindowUse, "window_use", QuantityUnit::Plain, "filled share of the congestion window"),
];

fn bits(rate: Option<BitRate>) -> Option<f64> {
    rate.map(BitRate::as_f64)
}

fn bytes(size: Option<ByteCount>) -> Option<f64> {
    size.map(ByteCount::as_f64)
}

fn packets(trial: &Trial, get: fn(&Packets) -> Option<PacketCount>) -> Option<f64> {
    get(trial.packets()?).map(PacketCount::as_f64)
}

fn tcp(trial: &Trial, get: fn(&TcpSummary) -> Option<u64>) -> Option<f64> {
    get(trial.tcp()?).map(float)
}

impl DelayPart {
    /// Those that need a name in the key; what is left is the whole.
    const NAMED: [Self; 3] = [Self::AboveSmallest, Self::HalfRoundTrip, Self::RoundTrip];

    /// What a key begins with.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::AboveSmallest => "delay_above_smallest_",
            Self::HalfRoundTrip => "half_round_trip_",
            Self::RoundTrip => "round_trip_",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Whole => "delay",
            Self::AboveSmallest => "one-way delay above the smallest",
            Self::HalfRoundTrip => "half round trip",
            Self::RoundTrip => "round trip",
        }
    }

    /// How much of what was timed it is; `None` if something else was timed.
    pub const fn share_of(self, timed: DelayOf) -> Option<f64> {
        match (self, timed) {
            (Self::Whole, _)
            | (Self::AboveSmallest, DelayOf::Pdv)
            | (Self::HalfRoundTrip, DelayOf::HalfRoundTrip)
            | (Self::RoundTrip, DelayOf::RoundTrip) => Some(1.0),
            (Self::HalfRoundTrip, DelayOf::RoundTrip) => Some(0.5),
            (Self::RoundTrip, DelayOf::HalfRoundTrip) => Some(2.0),
            _ => None,
        }
    }

    fn of(self, delay: &Delay, statistic: Statistic) -> Option<f64> {
        Some(delay.statistic(statistic)? * self.share_of(delay.of)?)
    }
}

impl CpuFigure {
    fn words(self, side: Side) -> String {
        let side = side.as_str();
        match self {
            Self::Host => format!("CPU of the {side}'s host"),
            Self::BusiestCore => format!("busiest core of the {side}"),
            Self::Thread => format!("traffic thread of the {side}"),
            Self::PerByte => format!("CPU time of the {side}'s host per byte"),
            Self::PerTransaction => format!("CPU time of the {side}'s host per transaction"),
        }
    }

    fn of(self, cpu: &CpuSide) -> Option<f64> {
        match self {
            Self::Host => cpu.host_ratio.map(Ratio::get),
            Self::BusiestCore => cpu.busiest_core_ratio.map(Ratio::get),
            Self::Thread => cpu.thread_ratio.map(Ratio::get),
            Self::PerByte => cpu.host_ns_per_byte,
            Self::PerTransaction => Some(cpu.per_packet?.total_ns),
        }
    }
}

impl Quantity {
    /// Median of what the delay of a trial timed.
    pub const MEDIAN_DELAY: Self = Self::Delay(DelayPart::Whole, Statistic::MEDIAN);
    /// 99 % quantile of what the delay of a trial timed.
    pub const P99_DELAY: Self = Self::Delay(DelayPart::Whole, Statistic::P99);

    /// What single trials tell, in the order of the columns of a table of them.
    pub fn of_trials() -> impl Iterator<Item = Self> {
        let entries = ENTRIES.iter().filter(|entry| entry.of.is_some());
        let delays = Statistic::USUAL.map(|of| Self::Delay(DelayPart::Whole, of));
        let half = Self::Delay(DelayPart::HalfRoundTrip, Statistic::MEDIAN);
        let sides = [Side::Sender, Side::Receiver];
        let cpu = sides.map(|side| CpuFigure::ALL.map(|figure| Self::Cpu(side, figure)));
        entries
            .map(|entry| entry.quantity)
            .chain(delays)
            .chain([half])
            .chain(cpu.into_iter().flatten())
    }

    fn entry(self) -> Option<&'static Entry> {
        ENTRIES.iter().find(|entry| entry.quantity == self)
    }

    /// Its name in the document of a trial, goal or curve, with the unit.
    pub fn key(self) -> Cow<'static, str> {
        match self {
            Self::Delay(part, statistic) => {
                format!("{}{}_ns", part.prefix(), statistic.key()).into()
            }
            Self::Cpu(side, figure) => format!("{side}_{figure}").into(),
            Self::Unknown(key) => key.as_str().to_owned().into(),
            _ => self.entry().map_or("", |entry| entry.key).into(),
        }
    }

    /// The quantity with this key; `None` if this build has no such.
    pub fn from_key(key: &str) -> Option<Self> {
        let entry = ENTRIES.iter().find(|entry| entry.key == key);
        entry
            .map(|entry| entry.quantity)
            .or_else(|| Self::delay_from_key(key))
            .or_else(|| Self::of_trials().find(|one| one.key() == key))
    }

    fn delay_from_key(key: &str) -> Option<Self> {
        let rest = key.strip_suffix("_ns")?;
        let mut named = DelayPart::NAMED.into_iter();
        let named = named.find_map(|part| Some((part, rest.strip_prefix(part.prefix())?)));
        let (part, statistic) = named.unwrap_or((DelayPart::Whole, rest));
        let quantity = Self::Delay(part, Statistic::from_key(statistic)?);
        // A quantile of which the key tells too little keeps its key.
        (quantity.key() == key).then_some(quantity)
    }

    /// Its heading in a table of trials.
    pub fn column(self) -> Cow<'static, str> {
        match self {
            Self::Delay(DelayPart::Whole, _) => format!("delay_{}", self.key()).into(),
            _ => self.key(),
        }
    }

    /// What `trial` tells, in the quantity's unit; `None` where it does not.
    pub fn of(self, trial: &Trial) -> Option<f64> {
        match self {
            Self::Delay(part, statistic) => part.of(trial.delay()?, statistic),
            Self::Cpu(side, figure) => figure.of(trial.cpu_of(side)?),
            _ => self.entry()?.of?(trial),
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> QuantityUnit {
        match self {
            Self::Delay(..) | Self::Cpu(_, CpuFigure::PerByte | CpuFigure::PerTransaction) => {
                QuantityUnit::Nanoseconds
            }
            Self::Cpu(..) => QuantityUnit::Ratio,
            _ => self.entry().map_or(QuantityUnit::Plain, |entry| entry.unit),
        }
    }

    /// Whether its values are whole numbers, all of them.
    pub fn is_whole(self) -> bool {
        let unit = self.unit();
        matches!(
            unit,
            QuantityUnit::BitRate | QuantityUnit::Bytes | QuantityUnit::Count
        )
    }

    /// The layer that it counts, where that must be said.
    pub fn layer(self) -> Option<Layer> {
        self.entry()?.layer
    }

    /// Which direction is good.
    pub fn better(self) -> BetterWhen {
        match self.unit() {
            QuantityUnit::BitRate | QuantityUnit::PacketRate | QuantityUnit::Plain => {
                BetterWhen::Higher
            }
            _ => BetterWhen::Lower,
        }
    }

    /// Whether two values are compared by their difference: shares, which often are zero. All others are by their ratio.
    pub fn is_share(self) -> bool {
        self.unit() == QuantityUnit::Ratio
    }

    /// Its largest possible value; the smallest of every quantity is zero.
    pub fn most(self) -> f64 {
        if self.is_share() { 1.0 } else { f64::INFINITY }
    }

    /// Whether it is of rare events, so that it scatters however well it is measured: losses and tails of delay.
    pub const fn is_of_rare_events(self) -> bool {
        match self {
            Self::LossRatio => true,
            Self::Delay(_, statistic) => statistic.is_tail(),
            _ => false,
        }
    }

    /// As the head of a column: `received, L4 payload`.
    pub fn name(self) -> String {
        match self {
            Self::Delay(DelayPart::Whole, statistic) => format!("{} delay", statistic.word()),
            Self::Delay(part, statistic) => format!("{}, {statistic}", part.words()),
            Self::Cpu(side, figure) => figure.words(side),
            Self::LossRatio => "loss".to_owned(),
            _ => self.entry().map_or_else(
                || self.key().into_owned(),
                |entry| match entry.layer {
                    Some(layer) => format!("{}, {layer}", entry.words[0]),
                    None => entry.words[0].to_owned(),
                },
            ),
        }
    }

    /// In a sentence, with the layer: `received rate (L4 payload)`.
    pub fn noun(self) -> String {
        match self.layer() {
            Some(layer) => format!("{self} ({layer})"),
            None => self.to_string(),
        }
    }

    /// `value` with its unit: `95.6 Mbit/s`, `1.2 %`, `3.4 ms`.
    pub fn shown(self, value: f64) -> String {
        match self.unit() {
            QuantityUnit::BitRate => BitRate::from_f64(value).to_string(),
            QuantityUnit::PacketRate => PacketRate::from_pps(value).to_string(),
            QuantityUnit::Ratio => LossRatio::clamped(value).to_string(),
            QuantityUnit::Nanoseconds => nanoseconds(value),
            QuantityUnit::Seconds => nanoseconds(value * 1e9),
            QuantityUnit::Bytes | QuantityUnit::Count => format!("{value:.0}"),
            QuantityUnit::Plain => format!("{value:.2}"),
        }
    }
}

/// In a sentence, without the layer: `received rate`.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry() {
            Some(entry) => f.write_str(entry.words[1]),
            None => f.write_str(&self.name()),
        }
    }
}

/// Nanoseconds with a fitting unit, without zeros at their end.
pub fn nanoseconds(nanos: f64) -> String {
    let (factor, decimals, unit) = match nanos.abs() {
        n if n >= 1e9 => (1e9, 2, "s"),
        n if n >= 1e6 => (1e6, 2, "ms"),
        n if n >= 1e3 => (1e3, 1, "µs"),
        _ => return format!("{nanos:.0} ns"),
    };
    let number = format!("{:.decimals$}", nanos / factor);
    format!(
        "{} {unit}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.key())
    }
}

/// A key that this build does not know is kept as it is.
impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let key = Cow::<'de, str>::deserialize(from)?;
        let unknown = || UnknownKey::new(&key).map(Self::Unknown);
        Self::from_key(&key)
            .or_else(unknown)
            .ok_or_else(|| serde::de::Error::custom(TOO_LONG))
    }
}

impl JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// The key of a quantity of another build.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnknownKey {
    bytes: [u8; Self::MAX_LENGTH],
    length: usize,
}

const TOO_LONG: &str = "the key of a quantity has at most 64 bytes";

impl UnknownKey {
    /// Twice the longest key that any build had.
    const MAX_LENGTH: usize = 64;

    fn new(key: &str) -> Option<Self> {
        let mut bytes = [0; Self::MAX_LENGTH];
        bytes.get_mut(..key.len())?.copy_from_slice(key.as_bytes());
        Some(Self {
            bytes,
            length: key.len(),
        })
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length])
            .expect("invariant: the bytes are those of a text")
    }
}

impl fmt::Debug for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_quantity_has_one_entry_and_a_key_of_its_own_that_names_it() {
        let scalars = ENTRIES.iter().map(|entry| entry.quantity);
        let all: Vec<Quantity> = scalars.chain(Quantity::of_trials()).collect();
        let keys: BTreeSet<_> = all.iter().map(|one| one.key()).collect();
        let quantities: BTreeSet<_> = all.iter().collect();
        assert_eq!(keys.len(), quantities.len());
        for one in all {
            assert_eq!(Quantity::from_key(&one.key()), Some(one));
        }
    }

    #[test]
    fn quantiles_are_read_from_their_keys() {
        for (key, name) in [
            ("p50_ns", "median delay"),
            ("p99_ns", "p99 delay"),
            ("half_round_trip_p999_ns", "half round trip, p99.9"),
            ("half_round_trip_mean_ns", "half round trip, mean"),
            (
                "delay_above_smallest_p5_ns",
                "one-way delay above the smallest, p5",
            ),
            (
                "sender_cpu_ns_per_byte",
                "CPU time of the sender's host per byte",
            ),
        ] {
            let quantity = Quantity::from_key(key).unwrap();
            assert_eq!((&*quantity.key(), &*quantity.name()), (key, name));
        }
        for key in ["p05_ns", "px_ns", "p_ns", "p12345678_ns", "received"] {
            assert_eq!(Quantity::from_key(key), None, "{key}");
        }
    }

    #[test]
    fn a_key_of_another_build_comes_back_as_it_is() {
        let read = |key: &str| serde_json::from_value::<Quantity>(key.into());
        let quantity = read("wakeups_per_s").unwrap();
        assert_eq!(quantity.name(), "wakeups_per_s");
        assert_eq!(
            serde_json::to_string(&quantity).unwrap(),
            "\"wakeups_per_s\""
        );
        assert!(read(&"x".repeat(65)).is_err());
    }

    #[test]
    fn figures_carry_their_units() {
        assert_eq!(Quantity::LossRatio.shown(0.125), "12.5 %");
        assert_eq!(Quantity::DelayUnderLoad.shown(1.5e6), "1.5 ms");
    }
}
