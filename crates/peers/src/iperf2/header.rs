//! The header that a client's streams begin with.
//!
//! ```text
//!  TCP at 0, UDP after number and time (12 or 16)
//!  0       4         8      12              16               20
//!  | flags | streams | port | buffer length | window or rate | amount |          every generation: 24 bytes
//!  24     28       32      34      36          40          44         46   48         52          56     60
//!  | type | length | upper | lower | version u | version l | reserved | TOS | rate low | rate high | … |  from 2.0.10 on: 40 more
//! ```
//! Big-endian. Amount: bytes, or a negative number of 10 ms. Rate: per stream, bit/s; its upper half is shifted
//! left by 8 bits. Flags of 0 say "a plain test", which every generation understands.
//!
//! A datagram does not say whether its number takes 12 or 16 bytes. The header shows it: the words that would be
//! streams and port must be plausible.

use super::streams::{Counters, Width};
use super::word;
use linerate_model::BitRate;
use linerate_model::spec::Transport;
use std::time::Duration;

/// Header bytes that every version sends.
const BASE: usize = 24;
/// Header bytes with later extensions.
const EXTENDED: usize = 64;

mod flag {
    pub(super) const CONNECT_BACK: u32 = 0x8000_0000;
    pub(super) const EXTEND: u32 = 0x4000_0000;
    pub(super) const UDP_TESTS: u32 = 0x2000_0000;
    pub(super) const KEY: u32 = 0x1000_0000;
    pub(super) const NUMBERS_64: u32 = 0x0800_0000;
    pub(super) const VERSION_2: u32 = 0x0400_0000;
    pub(super) const BOUNCE_BACK: u32 = 0x0080_0000;
    pub(super) const HAS_LENGTH: u32 = 0x0001_0000;
    pub(super) const LENGTH: u32 = 0x1fe;
    pub(super) const RUN_NOW: u32 = 1;

    pub(super) const UPPER_REVERSE: u16 = 0x0400;
    pub(super) const UPPER_FULL_DUPLEX: u16 = 0x0800;
}

/// Direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataDirection {
    /// Client to server (`-d` and `-r` of every generation: and back over a connection of its own).
    Forward {
        /// Port to which the server connects back, and when.
        back: Option<(u16, Back)>,
    },
    /// Both ways over one stream (`--full-duplex`).
    FullDuplex,
    /// Server to client (`--reverse`).
    Reverse,
}

/// When the server connects back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Back {
    /// At once (`-d`).
    AtOnce,
    /// When the client has sent everything (`-r`).
    Later,
}

/// How much is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Bytes.
    Bytes(u32),
    /// Time.
    Time(Duration),
    /// Not stated.
    Untold,
}

/// What a stream says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Direction of the data.
    pub way: DataDirection,
    /// Width of sequence number and time in its datagrams.
    pub width: Width,
    /// Bits of the sequence numbers of its datagrams.
    pub counters: Counters,
    /// Whether the client knows reports of 128 bytes.
    pub is_extended: bool,
    /// Number of its first datagram.
    pub first: u8,
    /// Header bytes of a TCP stream before its data.
    pub skip: usize,
    /// Size of writes or datagrams.
    pub buffer: Option<u32>,
    /// Rate of one stream, L4 payload.
    pub rate: Option<BitRate>,
    /// How much is to be sent.
    pub amount: Amount,
}

impl Header {
    const PLAIN: Self = Self {
        way: DataDirection::Forward { back: None },
        width: Width::Narrow,
        counters: Counters::Bits32,
        is_extended: false,
        first: 0,
        skip: 0,
        buffer: None,
        rate: None,
        amount: Amount::Untold,
    };

    /// Parses the beginning of a TCP stream. The error names what the client asks for that is not supported.
    pub fn of_tcp(bytes: &[u8]) -> Result<Self, &'static str> {
        let Some(flags) = word(bytes, 0) else {
            return Ok(Self::PLAIN);
        };
        let skip = header_len(flags);
        if skip == 0 && flags & flag::BOUNCE_BACK != 0 && flags & !0x00ff_ffff == 0 {
            return Err("--bounceback is a test of latency, which this server does not answer");
        }
        if flags & flag::KEY != 0 && skip > 0 {
            return Err("it shows a --permit-key, and this server has none");
        }
        if skip == 0 {
            let is_plain = flags == 0 && is_base(bytes, 0);
            let skip = if is_plain { BASE } else { 0 };
            return Ok(Self {
                skip,
                ..Self::PLAIN
            });
        }
        let header = bytes.get(..skip).ok_or("its header is cut off")?;
        Ok(Self {
            skip,
            ..Self::read(header, flags, Transport::Tcp)
        })
    }

    /// Parses the first datagram of a stream; `None` if it is the end of an earlier one.
    pub fn of_udp(bytes: &[u8]) -> Option<Self> {
        let number = word(bytes, 0)?.cast_signed();
        if number < 0 {
            return None;
        }
        let width = width(bytes);
        let header = bytes.get(width.bytes()..).unwrap_or_default();
        let flags = word(header, 0).unwrap_or(0);
        let read = Self::read(header, flags, Transport::Udp);
        let is_wide = width == Width::Wide;
        let counters = if flags & flag::NUMBERS_64 != 0 && is_wide {
            Counters::Bits64
        } else {
            Counters::Bits32
        };
        Some(Self {
            width,
            counters,
            is_extended: is_wide && flags & flag::EXTEND != 0,
            // The first one may be lost: all versions that number from 1 use the wide form.
            first: u8::from(number > 0 && is_wide),
            ..read
        })
    }

    /// Parses a header with these flags; fields beyond its end are absent.
    fn read(header: &[u8], flags: u32, transport: Transport) -> Self {
        let long = flags & (flag::EXTEND | flag::VERSION_2) != 0;
        let field = |at| word(header, at).filter(|value| *value > 0);
        let half = |at| word(header, at).map_or(0, |word| (word >> 16) as u16);
        let upper = if long { half(32) } else { 0 };
        let port = field(8).and_then(|port| u16::try_from(port).ok());
        let connects_back = flags & (flag::CONNECT_BACK | flag::VERSION_2) == flag::CONNECT_BACK;
        let back = match flags & flag::RUN_NOW {
            0 => Back::Later,
            _ => Back::AtOnce,
        };
        let short_rate = field(16).filter(|_| transport == Transport::Udp && !long);
        let high = u64::from(word(header, 52).unwrap_or(0) >> 8);
        let long_rate = word(header, 48).map(|low| high << 32 | u64::from(low));
        let rate = if long {
            long_rate
        } else {
            short_rate.map(u64::from)
        };
        Self {
            way: if upper & flag::UPPER_FULL_DUPLEX != 0 {
                DataDirection::FullDuplex
            } else if upper & flag::UPPER_REVERSE != 0 {
                DataDirection::Reverse
            } else {
                let back = port.filter(|_| connects_back).map(|port| (port, back));
                DataDirection::Forward { back }
            },
            buffer: field(12),
            rate: rate.filter(|rate| *rate > 0).map(BitRate::from_bps),
            amount: match word(header, 20).map(u32::cast_signed) {
                None | Some(0) => Amount::Untold,
                Some(bytes) if bytes > 0 => Amount::Bytes(bytes.unsigned_abs()),
                Some(time) => {
                    Amount::Time(Duration::from_millis(u64::from(time.unsigned_abs()) * 10))
                }
            },
            ..Self::PLAIN
        }
    }
}

/// Bytes of a TCP stream needed to interpret a beginning like this.
pub fn opening_len(begins: &[u8]) -> usize {
    match word(begins, 0) {
        None => 4,
        Some(0) => BASE,
        Some(flags) => header_len(flags).max(4),
    }
}

/// Length of the header that these flags announce; zero if the bytes are data.
fn header_len(flags: u32) -> usize {
    if flags & (flag::CONNECT_BACK | flag::VERSION_2 | flag::EXTEND) == 0 {
        0
    } else if flags & flag::HAS_LENGTH != 0 {
        ((flags & flag::LENGTH) >> 1) as usize
    } else if flags & (flag::VERSION_2 | flag::EXTEND) != 0 {
        EXTENDED
    } else {
        BASE
    }
}

/// Maximum plausible number of streams.
const MAX_PLAUSIBLE_STREAMS: u32 = 1024;

/// Whether a header begins at `at`: at least one stream, and a port.
fn is_base(bytes: &[u8], at: usize) -> bool {
    // From 2.1 on the upper bits of the number of streams are used otherwise.
    let streams = word(bytes, at + 4).map(|streams| streams & 0x000f_ffff);
    let port = word(bytes, at + 8);
    streams.is_some_and(|n| (1..=MAX_PLAUSIBLE_STREAMS).contains(&n))
        && port.is_some_and(|p| p <= 0xffff)
}

/// Width of sequence number and time in datagrams that begin like this.
fn width(bytes: &[u8]) -> Width {
    /// Only later generations set these.
    const LATER: u32 =
        flag::EXTEND | flag::UDP_TESTS | flag::KEY | flag::NUMBERS_64 | flag::VERSION_2;
    let (Some(narrow), Some(wide)) = (word(bytes, 12), word(bytes, 16)) else {
        return Width::Narrow;
    };
    let is_first = |flags: u32| flags & !(flag::CONNECT_BACK | flag::RUN_NOW) == 0;
    let is_narrow = is_first(narrow) && is_base(bytes, 12);
    let is_wide = is_first(wide) && is_base(bytes, 16);
    match (is_narrow, is_wide) {
        (_, _) if wide & LATER != 0 => Width::Wide,
        (false, true) => Width::Wide,
        _ => Width::Narrow,
    }
}

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Request {
    pub(super) transport: Transport,
    pub(super) way: DataDirection,
    pub(super) streams: u16,
    pub(super) buffer: u32,
    pub(super) rate: Option<BitRate>,
    pub(super) amount: Amount,
}

/// Its length as a header says it: for datagrams with number and time.
const EXTENDED_TCP: u32 = 64;
const EXTENDED_UDP: u32 = 80;

/// The version that a header says wrote it: 2.1, the first that knows all of it.
const VERSION: u32 = 0x0002_0001;

/// What an unpaced UDP sender is asked for: more than any link carries.
const UNPACED: u64 = 100_000_000_000;

/// Encodes the header of a request: 24 bytes for a plain test, else 64.
pub(super) fn write(request: &Request) -> Vec<u8> {
    let (is_udp, upper) = (
        request.transport == Transport::Udp,
        match request.way {
            DataDirection::Forward { .. } => 0,
            DataDirection::FullDuplex => flag::UPPER_FULL_DUPLEX,
            DataDirection::Reverse => flag::UPPER_REVERSE,
        },
    );
    let mut flags = 0;
    if upper != 0 {
        let length = if is_udp { EXTENDED_UDP } else { EXTENDED_TCP };
        flags = flag::EXTEND | flag::VERSION_2 | flag::HAS_LENGTH;
        flags |= (length << 1) & flag::LENGTH;
        flags |= if is_udp {
            flag::UDP_TESTS | flag::NUMBERS_64
        } else {
            0
        };
    }
    let rate = request.rate.map_or(0, BitRate::bps);
    let amount = match request.amount {
        Amount::Bytes(bytes) => bytes & 0x7fff_ffff,
        Amount::Time(time) => {
            let tens = u32::try_from(time.as_millis().div_ceil(10)).unwrap_or(u32::MAX);
            tens.min(0x7fff_ffff).wrapping_neg()
        }
        Amount::Untold => 0,
    };
    let short_rate = if is_udp {
        u32::try_from(rate).unwrap_or(u32::MAX)
    } else {
        0
    };
    let mut bytes = Vec::with_capacity(EXTENDED);
    let mut put = |word: u32| bytes.extend(word.to_be_bytes());
    let port = u32::from(super::PORT);
    [
        flags,
        request.streams.into(),
        port,
        request.buffer,
        short_rate,
        amount,
    ]
    .into_iter()
    .for_each(&mut put);
    if upper == 0 {
        return bytes;
    }
    let rate = if is_udp && rate == 0 { UNPACED } else { rate };
    let low = (rate & 0xffff_ffff) as u32;
    let high = ((rate >> 32) as u32) << 8;
    [0, 0, u32::from(upper) << 16, VERSION, 0, 0, low, high, 0, 0]
        .into_iter()
        .for_each(&mut put);
    bytes
}
