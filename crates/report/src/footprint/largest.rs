//! The smallest parts of a footprint as a list: each once, with what it belongs to.

use linerate_model::ByteCount;
use linerate_model::footprint::{
    FigureSource, Footprint, FootprintNode, FootprintRegion, FootprintSection, NodeKind,
    SectionPlace,
};

/// A smallest part.
pub(super) struct Leaf<'a> {
    pub(super) region: &'a FootprintRegion,
    pub(super) section: &'a FootprintSection,
    /// Names from the section down to what holds the part.
    pub(super) owners: Vec<&'a FootprintNode>,
    pub(super) name: &'a str,
    pub(super) kind: NodeKind,
    pub(super) size: ByteCount,
    pub(super) source: FigureSource,
}

impl Leaf<'_> {
    /// The owners by name, with slashes between.
    pub(super) fn owner(&self) -> String {
        let names: Vec<_> = self
            .owners
            .iter()
            .map(|owner| owner.name.as_str())
            .collect();
        names.join("/")
    }
}

/// Every smallest part, in every memory that it is in.
pub(super) fn each<'a>(footprint: &'a Footprint, see: &mut dyn FnMut(Leaf<'a>)) {
    for region in &footprint.regions {
        for section in &region.sections {
            for part in &section.parts {
                walk(part, region, section, &mut Vec::new(), see);
            }
        }
    }
}

fn walk<'a>(
    part: &'a FootprintNode,
    region: &'a FootprintRegion,
    section: &'a FootprintSection,
    owners: &mut Vec<&'a FootprintNode>,
    see: &mut dyn FnMut(Leaf<'a>),
) {
    if part.parts.is_empty() {
        return see(Leaf {
            region,
            section,
            owners: owners.clone(),
            name: &part.name,
            kind: part.kind,
            size: part.size,
            source: part.source,
        });
    }
    owners.push(part);
    for inner in &part.parts {
        walk(inner, region, section, owners, see);
    }
    owners.pop();
}

/// The largest parts, each where it is used; at most `most`.
pub(super) fn largest(footprint: &Footprint, most: usize) -> Vec<Leaf<'_>> {
    let mut kept: Vec<Leaf<'_>> = Vec::new();
    let settle = |kept: &mut Vec<Leaf<'_>>| {
        kept.sort_by_key(|leaf| std::cmp::Reverse(leaf.size));
        kept.truncate(most);
    };
    each(footprint, &mut |leaf| {
        if leaf.section.place == SectionPlace::Run {
            kept.push(leaf);
        }
        // Now and then, so that few of many are kept in little memory and time.
        if kept.len() / 2 > most.max(1000) {
            settle(&mut kept);
        }
    });
    settle(&mut kept);
    kept
}
