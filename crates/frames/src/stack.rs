//! The headers that stand between Ethernet and the test's own packet, as text says them.

use crate::error::{HeaderError, Result};
use crate::headers::{self, Context, Header, HeaderText};
use crate::{Transport, Way};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Headers from the outermost inwards: `vlan=100,pcp=5,mpls=16/17`.
///
/// An item that is the name of a header begins one, with its value; every other one is an attribute of the header before it.
/// Case and blanks around items do not matter.
#[derive(Debug, Clone, Default)]
pub struct HeaderStack {
    text: String,
    layers: Vec<Arc<dyn Header>>,
}

/// Most headers, and most tunnels among them, each with packet headers of its own.
const MAX_LAYERS: usize = 8;
const MAX_TUNNELS: usize = 2;

impl HeaderStack {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    pub(crate) fn layers(&self) -> &[Arc<dyn Header>] {
        &self.layers
    }

    /// Each must be able to stand where it does.
    fn check_order(&self) -> Result<()> {
        let (mut context, mut before) = (Context::Link, "ethernet");
        for layer in &self.layers {
            if !layer.may_follow(context) {
                return Err(HeaderError(format!(
                    "{} cannot stand behind {before}: {}",
                    layer.name(),
                    layer.place()
                )));
            }
            (context, before) = (layer.context(), layer.name());
        }
        let is_tunnel = |layer: &&Arc<dyn Header>| layer.is_tunnel();
        if self.layers.len() > MAX_LAYERS
            || self.layers.iter().filter(is_tunnel).count() > MAX_TUNNELS
        {
            return Err(HeaderError(format!(
                "a frame has at most {MAX_LAYERS} headers, {MAX_TUNNELS} of them tunnels"
            )));
        }
        Ok(())
    }
}

impl FromStr for HeaderStack {
    type Err = HeaderError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim().to_ascii_lowercase();
        let mut given: Vec<HeaderText<'_>> = Vec::new();
        let items = text.split(',').map(str::trim);
        for item in items.filter(|item| !item.is_empty()) {
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (item, None),
            };
            match (headers::find(name), given.last_mut()) {
                (Some(kind), _) => given.push(HeaderText::new(kind, value)),
                (None, Some(header)) if header.kind().attributes().contains(&name) => {
                    header.attribute(name, value.unwrap_or("1"))?;
                }
                (None, header) => {
                    return Err(HeaderError(headers::unknown(name, header.as_deref())));
                }
            }
        }
        let mut layers = Vec::new();
        for header in &given {
            let made = header.kind().make(header);
            let named = |HeaderError(why)| HeaderError(format!("{}: {why}", header.kind().name()));
            layers.extend(made.map_err(named)?);
        }
        let stack = Self {
            text: given
                .iter()
                .map(HeaderText::to_string)
                .collect::<Vec<_>>()
                .join(","),
            layers,
        };
        stack.check_order()?;
        Ok(stack)
    }
}

impl fmt::Display for HeaderStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FrameHeaders {
    /// Bytes with which every frame of this way begins.
    pub(crate) fn template_of(&self, way: Way) -> Option<&[u8]> {
        let own = match way {
            Way::AToB => None,
            Way::BToA => self.b_template.as_deref(),
        };
        own.or(self.template.as_deref())
    }
}

/// What stands before the payload of a test's frames.
#[derive(Debug, Clone, Default)]
pub struct FrameHeaders {
    /// Between Ethernet and the test's own packet.
    pub stack: HeaderStack,
    /// Transport of the test's own packet.
    pub transport: Transport,
    /// Bytes with which every frame begins, in place of all that.
    pub template: Option<Arc<[u8]>>,
    /// As many of those from port B to port A, where they are others.
    pub b_template: Option<Arc<[u8]>>,
}
