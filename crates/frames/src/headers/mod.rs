//! Registry of the headers that can stand before the test's own packet, in the order in which help lists them.

mod gre;
mod mpls;
mod qinq;
mod vlan;
mod vxlan;

use crate::build::{Build, ethertype};
use crate::error::{HeaderError, Result};
use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Every header. A new one: its file, its `mod` line above, its entry here.
pub(crate) static ALL: &[&dyn HeaderKind] = &[
    &vlan::Vlan,
    &qinq::QinQ,
    &mpls::Mpls,
    &gre::Gre,
    &vxlan::Vxlan,
];

/// The header with this name.
pub(crate) fn find(name: &str) -> Option<&'static dyn HeaderKind> {
    ALL.iter().copied().find(|kind| kind.name() == name)
}

/// A header that text can name, for help and the reference table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderHelp {
    /// Its name.
    pub name: &'static str,
    /// What it takes: `ID`.
    pub value: &'static str,
    /// Names of its attributes.
    pub attributes: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
}

/// Every header that text can name.
pub fn help() -> impl Iterator<Item = HeaderHelp> {
    ALL.iter().map(|kind| HeaderHelp {
        name: kind.name(),
        value: kind.value(),
        attributes: kind.attributes(),
        summary: kind.summary(),
    })
}

/// A kind of header.
pub(crate) trait HeaderKind: Sync {
    /// Its name in a stack.
    fn name(&self) -> &'static str;
    /// What it takes: `ID`.
    fn value(&self) -> &'static str;
    /// Names of its attributes, which no other header's name is.
    fn attributes(&self) -> &'static [&'static str];
    /// One sentence.
    fn summary(&self) -> &'static str;
    /// The headers that text stands for.
    ///
    /// # Errors
    /// What is wrong with the text, and what it takes.
    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>>;
    /// Reads one from the start of `bytes`, which are `next`; `None` if that is another.
    fn read(&self, _bytes: &[u8], _next: Next) -> Option<Read> {
        None
    }
}

/// What the next bytes of a frame are, as the header before them says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// An Ethernet header.
    Ethernet,
    /// A packet of IP, of the version that it says itself.
    Packet,
    /// Payload of a UDP datagram to this port.
    Port(u16),
    /// What IP has under this number.
    Protocol(u8),
    /// What Ethernet has under this type.
    Type(u16),
}

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    /// Its length, bytes.
    pub(crate) length: usize,
    /// What is behind it.
    pub(crate) next: Next,
}

/// The header at the start of `bytes`.
pub(crate) fn read(bytes: &[u8], next: Next) -> Option<(&'static str, Read)> {
    ALL.iter()
        .find_map(|kind| Some((kind.name(), kind.read(bytes, next)?)))
}

pub(crate) fn is_known(bytes: &[u8], next: Next) -> bool {
    read(bytes, next).is_some()
}

/// What a header stands behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    /// MPLS labels, which say nothing of what is behind them.
    Label,
    /// An Ethernet header or a tag.
    Link,
    /// A tunnel that carries packets.
    Packet,
}

/// A header of a stack.
pub(crate) trait Header: fmt::Debug + Send + Sync {
    /// Name of its kind.
    fn name(&self) -> &'static str;
    /// Whether it may stand behind that.
    fn may_follow(&self, context: Context) -> bool;
    /// Where it may stand, in words.
    fn place(&self) -> &'static str;
    /// What the header behind it stands behind.
    fn context(&self) -> Context;
    /// Whether it belongs to the link, so that neighbours on it have it too.
    fn is_tag(&self) -> bool {
        false
    }
    /// Whether it has a packet header of its own.
    fn is_tunnel(&self) -> bool {
        false
    }
    /// The `EtherType` of what it begins with.
    fn ethertype(&self, build: &Build<'_>) -> u16;
    /// Writes it; what is behind it has the `EtherType` `next`.
    fn write(&self, build: &mut Build<'_>, next: u16);
}

/// What text says of a header.
pub(crate) struct HeaderText<'a> {
    kind: &'static dyn HeaderKind,
    value: Option<&'a str>,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> HeaderText<'a> {
    pub(crate) const fn new(kind: &'static dyn HeaderKind, value: Option<&'a str>) -> Self {
        Self {
            kind,
            value,
            attributes: Vec::new(),
        }
    }

    pub(crate) const fn kind(&self) -> &'static dyn HeaderKind {
        self.kind
    }

    pub(crate) fn attribute(&mut self, name: &'a str, text: &'a str) -> Result<()> {
        if self.text(name).is_some() {
            let of = self.kind.name();
            return Err(HeaderError(format!("{of}: {name} is given twice")));
        }
        self.attributes.push((name, text));
        Ok(())
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        let found = self.attributes.iter().find(|(other, _)| *other == name);
        found.map(|(_, text)| *text)
    }

    /// Its value.
    pub(crate) fn value(&self) -> Result<&'a str> {
        self.value.ok_or_else(|| {
            let (name, value) = (self.kind.name(), self.kind.value());
            HeaderError(format!("it needs a value: {name}={value}"))
        })
    }

    /// The number that an attribute has, or `usual`.
    pub(crate) fn number(
        &self,
        name: &'static str,
        range: RangeInclusive<u32>,
        usual: u32,
    ) -> Result<u32> {
        self.text(name)
            .map_or(Ok(usual), |text| number(name, text, range))
    }

    /// Addresses of a tunnel at the sides of ports A and B; `None`: those of the ports.
    pub(crate) fn ends(&self) -> Result<Option<[IpAddr; 2]>> {
        let address = |name: &'static str| {
            let read = |text: &str| {
                let wrong = || HeaderError(format!("{name}={text}: it takes an IP address"));
                text.parse::<IpAddr>().map_err(|_| wrong())
            };
            self.text(name).map(read).transpose()
        };
        match [address(ENDS[0])?, address(ENDS[1])?] {
            [None, None] => Ok(None),
            [Some(a), Some(b)] if a.is_ipv4() == b.is_ipv4() && a != b => Ok(Some([a, b])),
            _ => Err(HeaderError(
                "it takes both addresses, a and b, of one family, which differ".to_owned(),
            )),
        }
    }
}

impl fmt::Display for HeaderText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(value) = self.value {
            write!(f, "={value}")?;
        }
        let mut attributes = self.attributes.iter();
        attributes.try_for_each(|(name, text)| write!(f, ",{name}={text}"))
    }
}

/// Attributes of the addresses of a tunnel.
pub(crate) const ENDS: [&str; 2] = ["a", "b"];

/// Reads a number in this range, decimal or behind `0x`.
pub(crate) fn number(name: &str, text: &str, range: RangeInclusive<u32>) -> Result<u32> {
    let read = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let number = read.ok().filter(|number| range.contains(number));
    number.ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        HeaderError(format!("{name}={text}: it takes {least} to {most}"))
    })
}

/// What to say of a name that is no header, and no attribute of the one before it.
pub(crate) fn unknown(name: &str, before: Option<&HeaderText<'_>>) -> String {
    let names: Vec<_> = ALL.iter().map(|kind| kind.name()).collect();
    let names = names.join(", ");
    match before.map(HeaderText::kind) {
        Some(kind) => format!(
            "{name:?} is neither a header ({names}) nor an attribute of {} ({})",
            kind.name(),
            kind.attributes().join(", ")
        ),
        None => format!("{name:?} is not a header; there are {names}"),
    }
}

/// The `EtherType` of a tunnel's own packet header.
fn tunnel_type(build: &Build<'_>, ends: Option<[IpAddr; 2]>) -> u16 {
    ethertype(build.ends(ends)[0])
}
