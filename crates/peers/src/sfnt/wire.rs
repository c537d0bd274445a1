//! The elements of sfnt-pingpong's control connection: integers, texts and addresses, little-endian.
//!
//! Nothing says how long a message is: where one ends is known only by reading it, so an incomplete one is
//! read again from its start when more has come. Every text is bounded, so that costs little.

use super::Release;
use crate::error::{Excerpt, ProtocolError, Result, clean};
use crate::inbox::Inbox;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Longest text with its zero: names of versions, files and interfaces.
const MAX_TEXT: usize = 1024;

/// Most bytes that are kept before they are understood: the longest message has nine texts.
const MAX_PENDING: usize = 16 * 1024;

/// `AF_INET` and `AF_INET6` of Linux.
const INET: i32 = 2;
const INET6: i32 = 10;

/// Layout of options and addresses by version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layout {
    V1_4,
    V1_5,
    V1_6,
}

impl Layout {
    /// Layout of a release; anything else was built from later sources.
    pub(super) fn from_release(release: &Release) -> Self {
        let version = release.number();
        let is = |number: &str| {
            version
                .strip_prefix(number)
                .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if is("1.4") {
            Self::V1_4
        } else if is("1.5") {
            Self::V1_5
        } else {
            Self::V1_6
        }
    }
}

/// Why an element cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// Incomplete.
    Short,
    /// Invalid.
    Wrong(String),
}

/// Parses elements one after the other.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Trouble> {
        let end = self.at.saturating_add(count);
        let part = self.bytes.get(self.at..end).ok_or(Trouble::Short)?;
        self.at = end;
        Ok(part)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Trouble> {
        let part = self.take(N)?;
        Ok(*part.first_chunk().expect("invariant: N bytes were taken"))
    }

    pub(super) fn int(&mut self) -> Result<i32, Trouble> {
        self.array().map(i32::from_le_bytes)
    }

    /// A text; `None` if it is absent.
    pub(super) fn text(&mut self) -> Result<Option<String>, Trouble> {
        let announced = self.int()?;
        let length = usize::try_from(announced)
            .ok()
            .filter(|length| *length <= MAX_TEXT)
            .ok_or_else(|| {
                let why = format!("a text of {announced} bytes; 0 to {MAX_TEXT} are valid");
                Trouble::Wrong(why)
            })?;
        if length == 0 {
            return Ok(None);
        }
        match self.take(length)?.split_last() {
            Some((0, text)) => Ok(Some(clean(&String::from_utf8_lossy(text), MAX_TEXT))),
            _ => Err(Trouble::Wrong("a text without its zero".to_owned())),
        }
    }

    pub(super) fn address(&mut self, layout: Layout) -> Result<SocketAddr, Trouble> {
        let strange = |family: i32| Trouble::Wrong(format!("an address of family {family}"));
        if layout < Layout::V1_6 {
            let [f0, f1, p0, p1, a, b, c, d, ..] = self.array::<16>()?;
            let family = i32::from(u16::from_le_bytes([f0, f1]));
            if family != INET {
                return Err(strange(family));
            }
            let port = u16::from_be_bytes([p0, p1]);
            return Ok(SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), port));
        }
        let family = self.int()?;
        if family != INET && family != INET6 {
            return Err(strange(family));
        }
        let port = u16::from_be_bytes(self.array()?);
        let ip: IpAddr = match family {
            INET => Ipv4Addr::from(self.array::<4>()?).into(),
            _ => Ipv6Addr::from(self.array::<16>()?).into(),
        };
        Ok(SocketAddr::new(ip, port))
    }
}

impl Inbox {
    /// Buffers received bytes; an error if more are pending than any message has.
    pub(super) fn feed_bounded(&mut self, bytes: &[u8], state: &'static str) -> Result<()> {
        // Complete messages are taken at once, so the next call keeps at most one.
        let kept = self.pending().len();
        self.feed(bytes);
        if kept <= MAX_PENDING {
            return Ok(());
        }
        Err(ProtocolError::Unexpected {
            state,
            message: "more than any message has",
            offset: self.offset(),
            cause: format!("{} bytes wait to be understood", self.pending().len()),
        })
    }

    /// One message, once all of it is there.
    pub(super) fn take_message<T>(
        &mut self,
        state: &'static str,
        message: &'static str,
        read: impl FnOnce(&mut Cursor<'_>) -> Result<T, Trouble>,
    ) -> Result<Option<T>> {
        let mut cursor = Cursor {
            bytes: self.pending(),
            at: 0,
        };
        match read(&mut cursor) {
            Ok(value) => {
                let end = cursor.at;
                self.consume(end);
                Ok(Some(value))
            }
            Err(Trouble::Short) => Ok(None),
            Err(Trouble::Wrong(cause)) => Err(ProtocolError::Body {
                state,
                message,
                offset: self.offset(),
                bytes: Excerpt::from_bytes(self.pending()),
                cause,
            }),
        }
    }
}

pub(super) fn put_int(into: &mut Vec<u8>, value: i32) {
    into.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn put_text(into: &mut Vec<u8>, text: Option<&str>) {
    let Some(text) = text else {
        return put_int(into, 0);
    };
    put_int(into, i32::try_from(text.len() + 1).unwrap_or(i32::MAX));
    into.extend_from_slice(text.as_bytes());
    into.push(0);
}

/// Encodes an address; up to 1.5 there is no form for IPv6, and nothing is written.
pub(super) fn put_address(into: &mut Vec<u8>, address: SocketAddr, layout: Layout) {
    let port = address.port().to_be_bytes();
    match (address.ip(), layout) {
        (IpAddr::V4(ip), Layout::V1_6) => {
            put_int(into, INET);
            into.extend_from_slice(&port);
            into.extend_from_slice(&ip.octets());
        }
        (IpAddr::V6(ip), Layout::V1_6) => {
            put_int(into, INET6);
            into.extend_from_slice(&port);
            into.extend_from_slice(&ip.octets());
        }
        (IpAddr::V4(ip), _) => {
            into.extend_from_slice(&[2, 0]);
            into.extend_from_slice(&port);
            into.extend_from_slice(&ip.octets());
            into.extend_from_slice(&[0; 8]);
        }
        (IpAddr::V6(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken<T>(
        bytes: &[u8],
        read: impl FnOnce(&mut Cursor<'_>) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        read(&mut Cursor { bytes, at: 0 })
    }

    #[test]
    fn a_version_says_what_it_writes() {
        for (version, checksum, layout) in [
            ("1.4.0", "", Layout::V1_4),
            ("1.5.0", "", Layout::V1_5),
            ("1.5", "", Layout::V1_5),
            ("1.6.0-rc1", "", Layout::V1_6),
            ("1.50", "", Layout::V1_6),
            ("bd7b04c-modified", "", Layout::V1_6),
            (
                "no-version",
                "3df8729945b6df198d3b59576641aeec",
                Layout::V1_4,
            ),
            (
                "no-version",
                "8dc3b027d85b28bedf9fd731362e4968",
                Layout::V1_5,
            ),
            (
                "no-version",
                "90b95efce4ec5ab3987cb432a34702e0",
                Layout::V1_6,
            ),
        ] {
            let release = Release {
                version: version.to_owned(),
                checksum: checksum.to_owned(),
            };
            assert_eq!(Layout::from_release(&release), layout, "{release:?}");
        }
    }

    #[test]
    fn elements_survive_the_wire_and_are_short_at_every_cut() {
        let mut bytes = Vec::new();
        put_int(&mut bytes, -2);
        put_text(&mut bytes, Some("any"));
        put_text(&mut bytes, None);
        put_text(&mut bytes, Some(""));
        let addresses = ["192.0.2.7:2048", "[2001:db8::7]:65535"].map(|a| a.parse().unwrap());
        for address in addresses {
            put_address(&mut bytes, address, Layout::V1_6);
        }
        put_address(&mut bytes, addresses[0], Layout::V1_5);
        let read = |cursor: &mut Cursor<'_>| {
            Ok((
                cursor.int()?,
                [cursor.text()?, cursor.text()?, cursor.text()?],
                [
                    cursor.address(Layout::V1_6)?,
                    cursor.address(Layout::V1_6)?,
                    cursor.address(Layout::V1_4)?,
                ],
            ))
        };
        let texts = [Some("any".to_owned()), None, Some(String::new())];
        let [v4, v6] = addresses;
        assert_eq!(taken(&bytes, read), Ok((-2, texts, [v4, v6, v4])));
        for cut in 0..bytes.len() {
            assert_eq!(taken(&bytes[..cut], read), Err(Trouble::Short), "{cut}");
        }
    }

    #[test]
    fn a_text_of_a_wrong_length_is_refused_before_it_has_come() {
        for length in [-1, i32::MIN, i32::MAX, 1025] {
            let bytes = i32::to_le_bytes(length);
            let outcome = taken(&bytes, |c| c.text().map(drop));
            assert!(matches!(outcome, Err(Trouble::Wrong(_))), "{length}");
        }
        let open = [2, 0, 0, 0, b'a', b'b'];
        assert!(matches!(
            taken(&open, |c| c.text().map(drop)),
            Err(Trouble::Wrong(_))
        ));
    }

    #[test]
    fn an_address_of_no_known_family_is_refused() {
        for layout in [Layout::V1_4, Layout::V1_6] {
            let outcome = taken(&[1; 40], |cursor| cursor.address(layout));
            assert!(matches!(outcome, Err(Trouble::Wrong(_))), "{layout:?}");
        }
    }
}
