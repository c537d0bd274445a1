//! Quantities with their unit: rates, counts, ratios, layers, and how people write them.
//!
//! SI prefixes for bits and packets (`10M` = 10 000 000 bit/s), IEC for bytes (`64K` = 65 536 B).

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::time::Duration;

/// A number of anything, nanoseconds for one, for statistics and drawing.
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below 2^53: 104 days in nanoseconds"
)]
pub const fn float(count: u64) -> f64 {
    count as f64
}

/// Bits per second. Which layer's bits is said beside it by a [`Layer`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BitRate(u64);

impl BitRate {
    /// From bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Bits per second, for statistics and drawing.
    pub const fn as_f64(self) -> f64 {
        float(self.0)
    }

    /// From a statistic; negative and NaN become zero.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates"
    )]
    pub fn from_f64(bps: f64) -> Self {
        Self(bps.round() as u64)
    }

    /// The mean rate of `bytes` over `time`; `None` if no time passed.
    pub fn from_bytes(bytes: ByteCount, time: Duration) -> Option<Self> {
        let nanos = time.as_nanos();
        let bits = u128::from(bytes.0) * 8 * 1_000_000_000;
        (nanos > 0).then(|| Self(u64::try_from((bits + nanos / 2) / nanos).unwrap_or(u64::MAX)))
    }

    /// The time that `bytes` take at this rate; `None` at rate zero.
    pub fn time_for(self, bytes: ByteCount) -> Option<Duration> {
        let nanos = (u128::from(bytes.0) * 8 * 1_000_000_000).checked_div(u128::from(self.0))?;
        Some(Duration::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }

    /// Bytes that fit into `time` at this rate.
    pub fn bytes_in(self, time: Duration) -> ByteCount {
        let bytes = u128::from(self.0) * time.as_nanos() / 8 / 1_000_000_000;
        ByteCount(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        si(self.as_f64(), f)?;
        f.write_str("bit/s")
    }
}

impl std::str::FromStr for BitRate {
    type Err = UnitError;

    /// `10M`, `10m`, `2.5G`, `800k`, `1000000`, optionally followed by a unit of bits: `10 Mbit/s`, `10Mbit`,
    /// `10Mbps`, `10Mb/s`, `10 Mbits/sec`. No rate is in thousandths, so that a small `m` is mega too; a large `B`
    /// means bytes, which no rate counts in.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a rate in bit/s such as 800k, 10M or 2.5G (SI prefixes)";
        const BYTES: &str =
            "a rate in bit/s: B means bytes, so give eight times the number (10MB/s is 80M)";
        let digit = |c: char| c.is_ascii_digit() || c == '.';
        let number = text.trim_start_matches(digit);
        let unit = number
            .trim_start()
            .trim_start_matches(|c| "kKmMgGtT".contains(c));
        if unit.starts_with('B') && !unit.starts_with("Bit") || unit.starts_with("byte") {
            return Err(UnitError::new(text, BYTES));
        }
        let is_bits = matches!(unit, "" | "b" | "bps" | "b/s" | "b/sec")
            || ["bit", "bits", "bit/s", "bits/s", "bit/sec", "bits/sec"]
                .iter()
                .any(|bits| unit.eq_ignore_ascii_case(bits));
        let plain = text[..text.len() - unit.len()].trim_end();
        let bps = prefixed(plain, 1000.0).filter(|_| is_bits);
        bps.map(Self::from_f64)
            .ok_or_else(|| UnitError::new(text, WANT))
    }
}

/// Packets (datagrams, segments, transactions: the neighbour says which) per second.
#[derive(
    Debug, Clone, Copy, PartialEq, PartialOrd, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PacketRate(f64);

impl PacketRate {
    /// From packets per second.
    pub const fn from_pps(pps: f64) -> Self {
        Self(pps)
    }

    /// Packets per second.
    pub const fn pps(self) -> f64 {
        self.0
    }

    /// The mean rate of `packets` over `time`; `None` if no time passed.
    pub fn from_packets(packets: PacketCount, time: Duration) -> Option<Self> {
        let seconds = time.as_secs_f64();
        (seconds > 0.0).then(|| Self(packets.as_f64() / seconds))
    }

    /// Whole packets in this time.
    pub fn packets_in(self, time: Duration) -> PacketCount {
        let packets = (self.0 * time.as_secs_f64()).max(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of packets, not negative; saturates"
        )]
        let whole = packets as u64;
        PacketCount::new(whole)
    }
}

impl std::str::FromStr for PacketRate {
    type Err = UnitError;

    /// `1000`, `1k`, `2.5M`, optionally followed by `pps` or `/s`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a rate per second above zero such as 500, 1k or 20kpps (SI prefixes)";
        let plain = ["pps", "/s"].iter().find_map(|u| text.strip_suffix(u));
        prefixed(plain.unwrap_or(text).trim_end(), 1000.0)
            .filter(|rate| *rate > 0.0)
            .map(Self)
            .ok_or_else(|| UnitError::new(text, WANT))
    }
}

impl fmt::Display for PacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        si(self.0, f)?;
        f.write_str("pps")
    }
}

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ByteCount(u64);

impl ByteCount {
    /// From bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// From a calculation; rounds, and saturates at both ends.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates"
    )]
    pub fn from_f64(bytes: f64) -> Self {
        Self(bytes.round() as u64)
    }

    /// Bytes, for calculations.
    pub const fn as_f64(self) -> f64 {
        float(self.0)
    }

    /// Bytes as an index or length on this machine; saturates.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut value = self.as_f64();
        let mut step = 0;
        while value >= 1024.0 && step + 1 < STEPS.len() {
            value /= 1024.0;
            step += 1;
        }
        if step == 0 {
            write!(f, "{} B", self.0)
        } else {
            write!(
                f,
                "{value:.*} {}",
                usize::from(value < 100.0) * 2,
                STEPS[step]
            )
        }
    }
}

impl std::str::FromStr for ByteCount {
    type Err = UnitError;

    /// `1448`, `64K`, `2M` (IEC: K is 1024, and so is k), optionally with `iB` or `B`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a size in bytes such as 1448, 64K or 2M (K is 1024)";
        let plain = ["iB", "B"].iter().find_map(|unit| text.strip_suffix(unit));
        let bytes = prefixed(plain.unwrap_or(text).trim_end(), 1024.0)
            .ok_or_else(|| UnitError::new(text, WANT))?;
        Ok(Self(BitRate::from_f64(bytes).0))
    }
}

/// A number of packets: datagrams for UDP, segments for TCP, transactions for request/response.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct PacketCount(u64);

impl PacketCount {
    /// From a count.
    pub const fn new(packets: u64) -> Self {
        Self(packets)
    }

    /// The count.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// From a bound of a count; negative and NaN become zero.
    pub fn from_f64(packets: f64) -> Self {
        Self(BitRate::from_f64(packets).0)
    }

    /// Counts `packets` more; stays at the largest count there is.
    pub const fn grow(&mut self, packets: u64) {
        self.0 = self.0.saturating_add(packets);
    }

    /// The count, for statistics.
    pub const fn as_f64(self) -> f64 {
        float(self.0)
    }
}

impl fmt::Display for PacketCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A share in `0..=1`. Printed in percent, stored as a ratio.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Ratio(f64);

/// A ratio is a number, so that any two have an order.
impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Ratio {}

impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

/// Lost packets / sent packets (RFC 1242 §3.6).
pub type LossRatio = Ratio;

impl Ratio {
    /// Zero.
    pub const ZERO: Self = Self(0.0);

    /// `None` outside `0..=1`.
    pub fn new(value: f64) -> Option<Self> {
        let is_share = (0.0..=1.0).contains(&value);
        is_share.then_some(Self::clamped(value))
    }

    /// The nearest ratio; NaN becomes zero.
    pub const fn clamped(value: f64) -> Self {
        // What is not above zero: negative zero too.
        Self(if value > 0.0 { value.min(1.0) } else { 0.0 })
    }

    /// `part / whole`, clamped; zero when there is no whole.
    pub fn from_parts(part: u64, whole: u64) -> Self {
        if whole == 0 {
            return Self::ZERO;
        }
        Self::clamped(float(part) / float(whole))
    }

    /// The value in `0..=1`.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Ratio {
    type Error = UnitError;

    fn try_from(value: f64) -> Result<Self, UnitError> {
        Self::new(value).ok_or_else(|| UnitError::new(&value.to_string(), "a ratio from 0 to 1"))
    }
}

impl JsonSchema for Ratio {
    fn schema_name() -> Cow<'static, str> {
        "Ratio".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A share from 0 to 1.",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
        })
    }
}

impl From<Ratio> for f64 {
    fn from(ratio: Ratio) -> Self {
        ratio.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", significant(self.0 * 100.0, 3))
    }
}

impl std::str::FromStr for Ratio {
    type Err = UnitError;

    /// `0.1%` or `0.001`.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        const WANT: &str = "a share such as 0.1% or 0.001";
        let (number, scale) = match text.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (text, 1.0),
        };
        let value: f64 = number.parse().map_err(|_| UnitError::new(text, WANT))?;
        Self::new(value / scale).ok_or_else(|| UnitError::new(text, WANT))
    }
}

/// A quantile in `0..=1`; `0.99` prints as `p99`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Quantile(pub Ratio);

impl Quantile {
    /// The nearest quantile to `q`.
    pub const fn clamped(q: f64) -> Self {
        Self(Ratio::clamped(q))
    }
}

impl fmt::Display for Quantile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{:.4}", self.0.get() * 100.0);
        write!(
            f,
            "p{}",
            percent.trim_end_matches('0').trim_end_matches('.')
        )
    }
}

crate::named_enum! {
    /// Whose bits a rate counts.
    #[derive(
        Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Layer {
        /// Bits on the wire: preamble, frame with FCS, and inter-frame gap.
        L1 = "L1",
        /// Frame from destination address to FCS.
        L2 = "L2",
        /// IP packet.
        L3 = "L3",
        /// TCP or UDP payload: what the application sees.
        #[default]
        L4Payload = "L4 payload",
    }
}

/// Bytes that each packet of L4 payload costs at the layers below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameOverhead {
    /// Transport header (UDP 8; TCP 20 and options).
    pub l4_header_bytes: u32,
    /// IP header and options or extension headers (20 or 40 without).
    pub l3_header_bytes: u32,
    /// MAC header and FCS (18 without VLAN tag).
    pub l2_bytes: u32,
    /// Preamble, start delimiter and inter-frame gap (20 on Ethernet).
    pub l1_bytes: u32,
}

impl FrameOverhead {
    /// UDP in IPv4 on Ethernet: 8 + 20 + 18 + 20 bytes.
    pub const UDP_IPV4: Self = Self {
        l4_header_bytes: 8,
        l3_header_bytes: 20,
        l2_bytes: 18,
        l1_bytes: 20,
    };

    /// UDP in IPv6 on Ethernet: 8 + 40 + 18 + 20 bytes.
    pub const UDP_IPV6: Self = Self {
        l3_header_bytes: 40,
        ..Self::UDP_IPV4
    };

    /// TCP with timestamps in IPv4 on Ethernet, as Linux sends it: 32 + 20 + 18 + 20 bytes.
    pub const TCP_IPV4: Self = Self {
        l4_header_bytes: 32,
        ..Self::UDP_IPV4
    };

    /// Bytes that a packet of `payload` bytes takes at `layer` (no padding of short frames).
    pub const fn bytes_at(&self, layer: Layer, payload: u64) -> u64 {
        let l3 = payload + self.l4_header_bytes as u64 + self.l3_header_bytes as u64;
        match layer {
            Layer::L4Payload => payload,
            Layer::L3 => l3,
            Layer::L2 => l3 + self.l2_bytes as u64,
            Layer::L1 => l3 + self.l2_bytes as u64 + self.l1_bytes as u64,
        }
    }

    /// Converts a payload rate to `layer` for packets of `payload` bytes; `None` for empty payload.
    pub fn rate_at(&self, layer: Layer, rate: BitRate, payload: u64) -> Option<BitRate> {
        let scaled = u128::from(rate.0) * u128::from(self.bytes_at(layer, payload));
        let bps = scaled.checked_div(u128::from(payload))?;
        Some(BitRate(u64::try_from(bps).unwrap_or(u64::MAX)))
    }

    /// The payload rate that fits into `rate` at `layer` for packets of `payload` bytes.
    pub fn payload_rate(&self, layer: Layer, rate: BitRate, payload: u64) -> BitRate {
        let scaled = u128::from(rate.0) * u128::from(payload);
        let bps = scaled / u128::from(self.bytes_at(layer, payload).max(1));
        BitRate(u64::try_from(bps).unwrap_or(u64::MAX))
    }
}

/// Text that is not the quantity it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not {want}")]
pub struct UnitError {
    text: String,
    want: &'static str,
}

impl UnitError {
    pub(crate) fn new(text: &str, want: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            want,
        }
    }
}

/// A duration as people write it: `10s`, `500ms`, `20us`, `2m`, `1h`, `90d`, or plain seconds.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    const WANT: &str = "a duration such as 10s, 500ms, 20us, 2m, 1h or 90d";
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let scale = match &text[split..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "ns" => 1e-9,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err(UnitError::new(text, WANT)),
    };
    let number: f64 = text[..split]
        .trim()
        .parse()
        .map_err(|_| UnitError::new(text, WANT))?;
    Duration::try_from_secs_f64(number * scale).map_err(|_| UnitError::new(text, WANT))
}

/// A non-negative number with an optional prefix K, M, G or T of the given base, in either case.
fn prefixed(text: &str, base: f64) -> Option<f64> {
    let (number, power) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 1),
        'M' => (&text[..text.len() - 1], 2),
        'G' => (&text[..text.len() - 1], 3),
        'T' => (&text[..text.len() - 1], 4),
        _ => (text, 0),
    };
    let digits = number.trim_end();
    let plain = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value: f64 = digits.parse().ok().filter(|_| plain)?;
    Some(value * base.powi(power)).filter(|v| *v < 1e19)
}

/// As many significant digits as asked for and all digits before the point, without zeros at the end of a fraction.
pub fn significant(value: f64, digits: i32) -> String {
    let magnitude = value.abs().max(1e-9).log10().floor();
    let decimals = (0..=12_u8).find(|d| magnitude + f64::from(*d) >= f64::from(digits - 1));
    let text = format!("{value:.*}", usize::from(decimals.unwrap_or(12)));
    if !text.contains('.') {
        return text;
    }
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0" } else { short }.to_owned()
}

/// Writes four significant digits, which tell bounds 0.5 % apart from each other, and an SI prefix.
fn si(value: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DIGITS: i32 = 4;
    const STEPS: [(f64, &str); 5] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
    // What so many digits round up to a whole unit is one: 999.96 kbit/s would read 1000.
    let least = 1.0 - 0.5 * 10_f64.powi(-DIGITS);
    let fits = STEPS.into_iter().find(|step| value.abs() >= step.0 * least);
    let (unit, prefix) = fits.unwrap_or((1.0, ""));
    write!(f, "{} {prefix}", significant(value / unit, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_si_and_sizes_are_iec() {
        assert_eq!(
            "10M".parse::<BitRate>().unwrap(),
            BitRate::from_bps(10_000_000)
        );
        assert_eq!(
            "2.5Gbit/s".parse::<BitRate>().unwrap(),
            BitRate::from_bps(2_500_000_000)
        );
        assert_eq!("64K".parse::<ByteCount>().unwrap(), ByteCount::new(65_536));
        assert_eq!(
            "64KiB".parse::<ByteCount>().unwrap(),
            ByteCount::new(65_536)
        );
        assert_eq!("1448".parse::<ByteCount>().unwrap(), ByteCount::new(1448));
    }

    #[test]
    fn a_rate_is_read_as_people_write_it() {
        let ten = BitRate::from_bps(10_000_000);
        for text in [
            "10M",
            "10m",
            "10Mbit",
            "10mbit",
            "10MBit",
            "10Mbps",
            "10Mb",
            "10Mb/s",
            "10 Mbit/s",
            "10 Mbits/sec",
            "10 M",
            "10000k",
            "10000kbps",
            "0.01G",
            "10000000",
            "10000000 bit/s",
        ] {
            assert_eq!(text.parse(), Ok(ten), "{text}");
        }
        for text in [
            "10MB/s",
            "10MB",
            "10MBps",
            "10 MByte/s",
            "10MBytes/sec",
            "1B",
            "1byte",
        ] {
            let error = text.parse::<BitRate>().unwrap_err().to_string();
            assert!(error.contains("B means bytes"), "{text}: {error}");
        }
        assert_eq!("2m".parse::<ByteCount>(), Ok(ByteCount::new(2 << 20)));
    }

    #[test]
    fn nonsense_is_refused_with_what_was_wanted() {
        for text in [
            "10X",
            "",
            "M",
            "-1M",
            "1e3",
            "nan",
            "inf",
            "9999999999T",
            "10Mbit/h",
            "10MM",
            "1.2.3M",
            "M10",
        ] {
            let error = text.parse::<BitRate>().unwrap_err();
            assert!(
                error.to_string().contains("such as 800k"),
                "{text}: {error}"
            );
        }
        assert!("101%".parse::<Ratio>().is_err());
        assert!(parse_duration("10x").is_err());
        assert!(parse_duration("-1s").is_err());
    }

    #[test]
    fn shares_are_read_with_and_without_percent() {
        assert_eq!("0.5%".parse::<Ratio>().unwrap(), Ratio::clamped(0.005));
        assert_eq!("0.005".parse::<Ratio>().unwrap(), Ratio::clamped(0.005));
    }

    #[test]
    fn a_second_at_terabits_does_not_overflow() {
        let rate = BitRate::from_bytes(ByteCount::new(125_000_000_000), Duration::from_secs(1));
        assert_eq!(rate, Some(BitRate::from_bps(1_000_000_000_000)));
        assert_eq!(BitRate::from_bytes(ByteCount::new(1), Duration::ZERO), None);
    }

    #[test]
    fn payload_capacity_of_fast_ethernet() {
        let capacity =
            FrameOverhead::UDP_IPV4.payload_rate(Layer::L1, BitRate::from_bps(100_000_000), 1448);
        assert_eq!(capacity, BitRate::from_bps(95_640_686));
    }

    #[test]
    fn quantities_print_with_units() {
        assert_eq!(BitRate::from_bps(95_640_686).to_string(), "95.64 Mbit/s");
        assert_eq!(BitRate::from_bps(941_000_000).to_string(), "941 Mbit/s");
        assert_eq!(ByteCount::new(1536).to_string(), "1.50 KiB");
        assert_eq!(Ratio::clamped(0.001).to_string(), "0.1 %");
        assert_eq!(Quantile(Ratio::clamped(0.999)).to_string(), "p99.9");
    }
}
