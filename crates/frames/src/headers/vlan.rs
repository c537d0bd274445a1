//! A VLAN tag (IEEE 802.1Q §9.6).

use super::{Context, Header, HeaderKind, HeaderText, Next, Read, number};
use crate::build::Build;
use crate::error::Result;
use std::sync::Arc;

pub(super) struct Vlan;

/// TPID of customer tags, and of service tags (802.1ad).
pub(super) const CUSTOMER: u16 = 0x8100;
pub(super) const SERVICE: u16 = 0x88a8;

/// Attributes of a tag's priority.
pub(super) const PCP: &str = "pcp";
pub(super) const DEI: &str = "dei";

/// Largest identifier; 4095 is reserved, and 0 is a tag of priority alone.
const MAX_ID: u32 = 4094;

impl HeaderKind for Vlan {
    fn name(&self) -> &'static str {
        "vlan"
    }

    fn value(&self) -> &'static str {
        "ID"
    }

    fn attributes(&self) -> &'static [&'static str] {
        &[PCP, DEI, "tpid"]
    }

    fn summary(&self) -> &'static str {
        "A tag of 802.1Q; pcp 0 to 7, dei 0 or 1, tpid 0x8100 or another type."
    }

    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>> {
        let tpid = given.number("tpid", 0x600..=0xffff, CUSTOMER.into())?;
        let tag = Tag::read(self.name(), given, given.value()?, narrow(tpid))?;
        Ok(vec![Arc::new(tag)])
    }

    fn read(&self, bytes: &[u8], next: Next) -> Option<Read> {
        let is_tag = matches!(next, Next::Type(CUSTOMER | SERVICE));
        let tag = bytes.first_chunk::<4>().filter(|_| is_tag)?;
        Some(Read {
            length: tag.len(),
            next: Next::Type(u16::from_be_bytes([tag[2], tag[3]])),
        })
    }
}

/// One tag.
#[derive(Debug)]
pub(super) struct Tag {
    kind: &'static str,
    tpid: u16,
    control: u16,
}

impl Tag {
    /// With the identifier in `id`, and priority of the attributes.
    pub(super) fn read(
        kind: &'static str,
        given: &HeaderText<'_>,
        id: &str,
        tpid: u16,
    ) -> Result<Self> {
        let id = number("ID", id, 0..=MAX_ID)?;
        let pcp = given.number(PCP, 0..=7, 0)?;
        let dei = given.number(DEI, 0..=1, 0)?;
        Ok(Self {
            kind,
            tpid,
            control: narrow(pcp << 13 | dei << 12 | id),
        })
    }
}

/// A number that was checked to have 16 bits.
pub(super) fn narrow(number: u32) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

impl Header for Tag {
    fn name(&self) -> &'static str {
        self.kind
    }

    fn may_follow(&self, context: Context) -> bool {
        context == Context::Link
    }

    fn place(&self) -> &'static str {
        "a tag stands behind Ethernet or another tag"
    }

    fn context(&self) -> Context {
        Context::Link
    }

    fn is_tag(&self) -> bool {
        true
    }

    fn ethertype(&self, _build: &Build<'_>) -> u16 {
        self.tpid
    }

    fn write(&self, build: &mut Build<'_>, next: u16) {
        build.bytes.extend(self.control.to_be_bytes());
        build.bytes.extend(next.to_be_bytes());
    }
}
