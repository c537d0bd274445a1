//! The way of a packet through the pipeline, in words.

use crate::bits;
use crate::exec::{CopyKind, Event};
use crate::program::{KeyField, Source};
use linerate_model::hex;
use std::fmt::Write as _;

/// Collects what happens, a line a step. `|event| trace.add(&event)` is an observer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    lines: Vec<String>,
}

/// The most lines of one trace: a packet that goes round and round fills no memory.
const MAX_LINES: usize = 2000;

impl Trace {
    /// The lines, in the order of the steps.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Adds a step.
    pub fn add(&mut self, event: &Event<'_>) {
        if self.lines.len() < MAX_LINES {
            self.lines.extend(words(event));
        } else if self.lines.len() == MAX_LINES {
            self.lines.push(format!("cut here after {MAX_LINES} steps"));
        }
    }
}

pub(crate) fn words(event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Ingress { port } => format!("ingress from port {port}"),
        Event::Egress { port } => format!("egress to port {port}"),
        Event::State(name) => format!("  parser state {name}"),
        Event::Extracted { header, bytes } => format!("    extracts {header} ({bytes} B)"),
        Event::ParserError(name) => format!("    parser error {name}; parsing ends"),
        Event::ChecksumWrong(name) => format!("  checksum {name} is wrong"),
        Event::ChecksumSet { header, value } => format!("  checksum of {header} = {value:#x}"),
        Event::Table {
            table,
            key,
            entry,
            action,
        } => {
            let mut text = format!("  table {}", table.name);
            if !table.key.is_empty() {
                let fields = table
                    .key
                    .iter()
                    .map(|field| format!("{} = {}", field.name, value(field, key)));
                let _ = write!(text, " [{}]", fields.collect::<Vec<_>>().join(", "));
                text.push_str(if entry.is_some() { ": hit" } else { ": miss" });
            }
            match action {
                Some((action, data)) => {
                    let _ = write!(text, ", {}({})", action.name, arguments(action, data));
                }
                None => text.push_str(", no action"),
            }
            text
        }
        Event::Condition {
            name,
            source,
            value,
        } => {
            let asked = source.map_or_else(|| (*name).to_owned(), place);
            format!("  if {asked}: {value}")
        }
        Event::Primitive { source } => format!("    {}", place((*source)?)),
        Event::Log(text) => format!("    log: {text}"),
        Event::Copied(kind) => format!("  {}", copied(*kind)),
        Event::Queued { port, depth } => format!("  queued for port {port}, behind {depth}"),
        Event::Dropped(place) => format!("  dropped: {place}"),
        Event::Sent { port, bytes } => {
            format!("  sent to port {port}, {} B: {}", bytes.len(), hex(bytes))
        }
    })
}

fn copied(kind: CopyKind) -> &'static str {
    match kind {
        CopyKind::IngressClone => "cloned as it came in",
        CopyKind::EgressClone => "cloned as it leaves egress",
        CopyKind::Replica => "replicated",
        CopyKind::Resubmitted => "resubmitted to ingress",
        CopyKind::Recirculated => "recirculated to ingress",
    }
}

fn place(source: &Source) -> String {
    let file = source.file.rsplit('/').next().unwrap_or_default();
    format!("{} ({file}:{})", source.text, source.line)
}

fn value(field: &KeyField, key: &[u64]) -> String {
    format!("0x{}", hex(&bits::to_bytes(&key[field.at..], field.width)))
}

fn arguments(action: &crate::program::Action, data: &[u64]) -> String {
    let argument = |parameter: &crate::program::Parameter| {
        let words = data.get(parameter.at as usize..).unwrap_or_default();
        format!(
            "{} = 0x{}",
            parameter.name,
            hex(&bits::to_bytes(words, parameter.width))
        )
    };
    action
        .parameters
        .iter()
        .map(argument)
        .collect::<Vec<_>>()
        .join(", ")
}
