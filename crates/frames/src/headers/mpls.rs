//! A stack of MPLS labels (RFC 3032 §2.1).

use super::{Context, Header, HeaderKind, HeaderText, Next, Read, number};
use crate::build::Build;
use crate::error::{HeaderError, Result};
use std::sync::Arc;

pub(super) struct Mpls;

/// `EtherType` of labelled packets to one receiver.
const ETHERTYPE: u16 = 0x8847;
/// Largest label.
const MAX_LABEL: u32 = (1 << 20) - 1;
/// Most labels.
const MAX_LABELS: usize = 8;
/// Bottom of the stack.
const BOTTOM: u32 = 1 << 8;

impl HeaderKind for Mpls {
    fn name(&self) -> &'static str {
        "mpls"
    }

    fn value(&self) -> &'static str {
        "LABEL[/LABEL…]"
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["tc", "ttl"]
    }

    fn summary(&self) -> &'static str {
        "Labels from the top of the stack on, the last with the S bit; tc 0 to 7, ttl 1 to 255 (64)."
    }

    fn make(&self, given: &HeaderText<'_>) -> Result<Vec<Arc<dyn Header>>> {
        let class = given.number("tc", 0..=7, 0)?;
        let ttl = given.number("ttl", 1..=255, 64)?;
        let entry = |label: &str| {
            let label = number("LABEL", label, 0..=MAX_LABEL)?;
            Ok(label << 12 | class << 9 | ttl)
        };
        let entries = given.value()?.split('/').map(entry);
        let mut entries = entries.collect::<Result<Vec<_>>>()?;
        if entries.len() > MAX_LABELS {
            return Err(HeaderError(format!("at most {MAX_LABELS} labels")));
        }
        if let Some(last) = entries.last_mut() {
            *last |= BOTTOM;
        }
        Ok(vec![Arc::new(Labels(entries))])
    }

    fn read(&self, bytes: &[u8], next: Next) -> Option<Read> {
        let entry = bytes
            .first_chunk()
            .filter(|_| next == Next::Type(ETHERTYPE))?;
        let is_bottom = u32::from_be_bytes(*entry) & BOTTOM != 0;
        Some(Read {
            length: entry.len(),
            next: if is_bottom { Next::Packet } else { next },
        })
    }
}

/// Entries of the stack, from its top on.
#[derive(Debug)]
struct Labels(Vec<u32>);

impl Header for Labels {
    fn name(&self) -> &'static str {
        "mpls"
    }

    fn may_follow(&self, context: Context) -> bool {
        matches!(context, Context::Link | Context::Packet)
    }

    fn place(&self) -> &'static str {
        "labels of one stack are one header, mpls=16/17"
    }

    fn context(&self) -> Context {
        Context::Label
    }

    fn ethertype(&self, _build: &Build<'_>) -> u16 {
        ETHERTYPE
    }

    fn write(&self, build: &mut Build<'_>, _next: u16) {
        build
            .bytes
            .extend(self.0.iter().flat_map(|entry| entry.to_be_bytes()));
    }
}
