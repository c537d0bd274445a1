//! The tree under construction: memory region, section, owner, smallest part.

use linerate_model::ByteCount;
use linerate_model::footprint::{
    FigureSource, FootprintNode, FootprintRegion, FootprintSection, NodeKind, SectionClass,
    SectionPlace,
};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Owner of a part, as far as known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    /// The archive, or one of several programs.
    pub(crate) archive: Option<Rc<str>>,
    /// Object file, source path or crate.
    pub(crate) unit: Option<(NodeKind, Rc<str>)>,
}

/// A smallest part.
pub(crate) struct Leaf {
    pub(crate) kind: NodeKind,
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) source: FigureSource,
}

/// A section with its memories.
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) class: SectionClass,
    pub(crate) source: FigureSource,
    pub(crate) places: Vec<(usize, SectionPlace)>,
}

/// The tree under construction.
#[derive(Default)]
pub(crate) struct Tree {
    regions: Vec<Region>,
}

struct Region {
    name: String,
    capacity: Option<u64>,
    /// Index of the sections in `sections`.
    known: BTreeMap<Key, usize>,
    sections: Vec<(Key, Parts)>,
}

/// Name and class of a section, and whether this is the place of its initial values.
type Key = (String, SectionClass, bool);

/// A section to add parts to, in each of its memories.
pub(crate) struct Open(Vec<Place>);

/// Where a section is: index of the region, and of the section in it.
#[derive(Clone, Copy)]
struct Place {
    region: usize,
    section: usize,
}

struct Parts {
    source: FigureSource,
    owners: BTreeMap<Owner, Owned>,
}

struct Owned {
    source: FigureSource,
    leaves: BTreeMap<(NodeKind, String), (u64, FigureSource)>,
}

impl Tree {
    /// The region with that name, created if new.
    pub(crate) fn region(&mut self, name: &str, capacity: Option<u64>) -> usize {
        if let Some(known) = self.regions.iter().position(|region| region.name == name) {
            return known;
        }
        self.regions.push(Region {
            name: name.to_owned(),
            capacity,
            known: BTreeMap::new(),
            sections: Vec::new(),
        });
        self.regions.len() - 1
    }

    /// The first region with written data, if there is one.
    pub(crate) fn written_region(&self) -> Option<usize> {
        let is_written = |region: &Region| {
            region
                .known
                .keys()
                .any(|(_, class, load)| class.is_in_ram() && !load)
        };
        self.regions.iter().position(is_written)
    }

    /// The section, created if new.
    pub(crate) fn open(&mut self, slot: &Slot) -> Open {
        let open = |(region, place): &(usize, SectionPlace)| {
            let key = (slot.name.clone(), slot.class, *place == SectionPlace::Load);
            let within = self.regions.get_mut(*region)?;
            let next = within.sections.len();
            let section = *within.known.entry(key.clone()).or_insert(next);
            if section == next {
                let parts = Parts {
                    source: slot.source,
                    owners: BTreeMap::new(),
                };
                within.sections.push((key, parts));
            }
            Some(Place {
                region: *region,
                section,
            })
        };
        Open(slot.places.iter().filter_map(open).collect())
    }

    /// Adds a part to a section, in each of its memories; `from` is the source of the owner.
    pub(crate) fn add(&mut self, to: &Open, owner: &Owner, from: FigureSource, leaf: Leaf) {
        let Some((last, others)) = to.0.split_last() else {
            return;
        };
        for place in others {
            let name = leaf.name.clone();
            self.add_to(*place, owner, from, Leaf { name, ..leaf });
        }
        self.add_to(*last, owner, from, leaf);
    }

    fn add_to(
        &mut self,
        Place { region, section }: Place,
        owner: &Owner,
        from: FigureSource,
        leaf: Leaf,
    ) {
        let (_, parts) = &mut self.regions[region].sections[section];
        let whole = parts.owners.entry(owner.clone()).or_insert_with(|| Owned {
            source: from,
            leaves: BTreeMap::new(),
        });
        let leaves = whole.leaves.entry((leaf.kind, leaf.name));
        let (size, _) = leaves.or_insert((0, leaf.source));
        *size = size.saturating_add(leaf.size);
    }

    /// The finished tree, largest first.
    pub(crate) fn finish(mut self) -> Vec<FootprintRegion> {
        for region in &mut self.regions {
            region
                .sections
                .retain(|(_, parts)| !parts.owners.is_empty());
        }
        let used = |region: &Region| !region.sections.is_empty() || region.capacity.is_some();
        self.regions
            .into_iter()
            .filter(used)
            .map(Region::finish)
            .collect()
    }
}

impl Region {
    fn finish(mut self) -> FootprintRegion {
        self.sections.sort_by(|a, b| a.0.cmp(&b.0));
        let sections = self
            .sections
            .into_iter()
            .map(|((name, class, is_load), parts)| {
                let source = parts.source;
                let parts = parts.finish();
                FootprintSection {
                    name,
                    class,
                    place: if is_load {
                        SectionPlace::Load
                    } else {
                        SectionPlace::Run
                    },
                    size: sum(parts.iter().map(|part| part.size)),
                    source,
                    parts,
                }
            });
        let mut sections: Vec<_> = sections.collect();
        sections.sort_by_key(|section| std::cmp::Reverse(section.size));
        FootprintRegion {
            name: self.name,
            size: sum(sections.iter().map(|section| section.size)),
            capacity: self.capacity.map(ByteCount::new),
            sections,
        }
    }
}

impl Parts {
    /// Owners below their archives; parts without owner are beside them.
    fn finish(self) -> Vec<FootprintNode> {
        let mut top = Vec::new();
        let mut archives: BTreeMap<Rc<str>, Vec<FootprintNode>> = BTreeMap::new();
        for (owner, owned) in self.owners {
            let into = match owner.archive {
                Some(archive) => archives.entry(archive).or_default(),
                None => &mut top,
            };
            let source = owned.source;
            let leaves = owned.finish();
            match owner.unit {
                Some((kind, name)) => into.push(node(name.as_ref(), kind, source, leaves)),
                None => into.extend(leaves),
            }
        }
        let whole = archives.into_iter().map(|(name, mut parts)| {
            let source = parts
                .first()
                .map_or(FigureSource::Archive, |part| part.source);
            let source = if source == FigureSource::Map {
                source
            } else {
                FigureSource::Archive
            };
            order(&mut parts);
            node(name.as_ref(), NodeKind::Archive, source, parts)
        });
        top.extend(whole);
        order(&mut top);
        top
    }
}

impl Owned {
    fn finish(self) -> Vec<FootprintNode> {
        let leaves = self
            .leaves
            .into_iter()
            .map(|((kind, name), (size, source))| FootprintNode {
                name,
                kind,
                size: ByteCount::new(size),
                source,
                parts: Vec::new(),
            });
        let mut leaves: Vec<_> = leaves.collect();
        order(&mut leaves);
        leaves
    }
}

fn node(
    name: &str,
    kind: NodeKind,
    source: FigureSource,
    parts: Vec<FootprintNode>,
) -> FootprintNode {
    FootprintNode {
        name: name.to_owned(),
        kind,
        size: sum(parts.iter().map(|part| part.size)),
        source,
        parts,
    }
}

/// Largest first; equal sizes by name.
fn order(nodes: &mut [FootprintNode]) {
    nodes.sort_by_key(|node| std::cmp::Reverse(node.size));
}

fn sum(sizes: impl Iterator<Item = ByteCount>) -> ByteCount {
    ByteCount::new(sizes.map(ByteCount::get).fold(0, u64::saturating_add))
}
