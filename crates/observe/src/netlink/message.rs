//! Netlink messages and attributes: building a request, taking an answer apart.
//!
//! ```text
//!  0        4      6      8      12     16
//!  +--------+------+------+------+------+----------------+-------------------+
//!  | length | type | flags| seq  | port | family header  | attributes …      |
//!  +--------+------+------+------+------+----------------+-------------------+
//!  attribute: | length u16 | type u16 | value, padded to 4 |
//! ```
//!
//! All in the byte order of the host. Pure; every length from outside is checked.

/// Bytes of `nlmsghdr`.
const HEADER: usize = 16;
/// `NLM_F_REQUEST` and `NLM_F_ECHO`: without the echo, the queueing discipline is told to those who
/// listen for changes and not to the one who asks.
const REQUEST: u16 = 0x9;
/// `NLM_F_DUMP`.
const DUMP: u16 = 0x300;
/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// The two highest bits of an attribute's type are flags.
const TYPE_MASK: u16 = 0x3fff;

/// Builds a request with one family header.
pub(super) struct Request(Vec<u8>);

impl Request {
    pub(super) fn new(kind: u16, sequence: u32, family_header: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&REQUEST.to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(family_header);
        Self(bytes)
    }

    /// Asks for every object instead of one.
    pub(super) fn of_all(mut self) -> Self {
        self.0[6..8].copy_from_slice(&(REQUEST | DUMP).to_ne_bytes());
        self
    }

    /// Adds an attribute; the caller's values are short.
    pub(super) fn with(mut self, kind: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len() + 4).expect("invariant: attributes are short");
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).expect("invariant: requests are short");
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer<'a> {
    /// The kernel's error number, positive; 0 is an acknowledgement.
    Error(i32),
    /// The family header and attributes of the message asked for.
    Message(&'a [u8]),
}

/// Finds the answer of type `kind` to request `sequence` in one datagram.
pub(super) fn answer(datagram: &[u8], kind: u16, sequence: u32) -> Option<Answer<'_>> {
    let mut rest = datagram;
    loop {
        let length = usize::try_from(u32_at(rest, 0)?).ok()?;
        let body = rest.get(HEADER..length)?;
        if u32_at(rest, 8)? == sequence {
            match u16_at(rest, 4)? {
                ERROR => return Some(Answer::Error(i32_at(body, 0)?.checked_neg()?)),
                found if found == kind => return Some(Answer::Message(body)),
                _ => {}
            }
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

/// Every message in one datagram: its type and what follows its header.
pub(super) fn messages(datagram: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(rest, 0)?).ok()?;
        let kind = u16_at(rest, 4)?;
        let body = rest.get(HEADER..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The attributes in `bytes`, as far as they are whole.
pub(super) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & TYPE_MASK;
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The first attribute of type `kind`.
pub(super) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|(found, _)| *found == kind)
        .map(|(_, value)| value)
}

/// Text that ends with a NUL.
pub(super) fn text(value: &[u8]) -> Option<String> {
    let end = value.iter().position(|byte| *byte == 0);
    let text = std::str::from_utf8(&value[..end.unwrap_or(value.len())]).ok()?;
    (!text.is_empty()).then(|| text.to_owned())
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(super) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}
