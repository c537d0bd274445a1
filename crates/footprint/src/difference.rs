//! Comparison of two builds: growth, shrinkage, additions and removals.

use linerate_model::ByteCount;
use linerate_model::footprint::{
    ByteCountChange, ChangeKind, Footprint, FootprintChange, FootprintDifference, FootprintNode,
    FootprintRegion, FootprintSection, FootprintSide, FootprintTotals, GroupChange,
};
use std::collections::BTreeMap;

/// Compares B against A. Parts correspond if they have the same name at the same place of the tree.
pub fn difference(a: &Footprint, b: &Footprint) -> FootprintDifference {
    let side = |footprint: &Footprint| FootprintSide {
        files: footprint.files.clone(),
        totals: footprint.totals,
    };
    let mut notes = a.notes.clone();
    notes.extend(
        b.notes
            .iter()
            .filter(|note| !a.notes.contains(note))
            .cloned(),
    );
    FootprintDifference {
        a: side(a),
        b: side(b),
        regions: changes(&all(&a.regions), &all(&b.regions)),
        groups: groups(a, b),
        budgets: b.budgets.clone(),
        notes,
    }
}

fn groups(a: &Footprint, b: &Footprint) -> Vec<GroupChange> {
    let totals = |footprint: &Footprint, name: &str| {
        let group = footprint.groups.iter().find(|group| group.name == name);
        group.map_or_else(FootprintTotals::default, |group| group.totals)
    };
    let change = |name: &String| GroupChange {
        name: name.clone(),
        a: totals(a, name),
        b: totals(b, name),
    };
    b.groups.iter().map(|group| change(&group.name)).collect()
}

/// A part of the tree, on any level.
trait Branch {
    type Part: Branch;
    fn name(&self) -> &str;
    fn kind(&self) -> ChangeKind;
    fn size(&self) -> ByteCount;
    fn parts(&self) -> &[Self::Part];
}

impl Branch for FootprintRegion {
    type Part = FootprintSection;
    fn name(&self) -> &str {
        &self.name
    }
    fn kind(&self) -> ChangeKind {
        ChangeKind::Region
    }
    fn size(&self) -> ByteCount {
        self.size
    }
    fn parts(&self) -> &[FootprintSection] {
        &self.sections
    }
}

impl Branch for FootprintSection {
    type Part = FootprintNode;
    fn name(&self) -> &str {
        &self.name
    }
    fn kind(&self) -> ChangeKind {
        ChangeKind::Section(self.place)
    }
    fn size(&self) -> ByteCount {
        self.size
    }
    fn parts(&self) -> &[FootprintNode] {
        &self.parts
    }
}

impl Branch for FootprintNode {
    type Part = Self;
    fn name(&self) -> &str {
        &self.name
    }
    fn kind(&self) -> ChangeKind {
        ChangeKind::Part(self.kind)
    }
    fn size(&self) -> ByteCount {
        self.size
    }
    fn parts(&self) -> &[Self] {
        &self.parts
    }
}

/// Sections with the same name but different flags are merged, as a linker would.
type Both<'t, B> = (Vec<&'t B>, Vec<&'t B>);

fn all<B>(parts: &[B]) -> Vec<&B> {
    parts.iter().collect()
}

/// Changes between `a` and `b`, largest first; regions are always included.
fn changes<B: Branch>(a: &[&B], b: &[&B]) -> Vec<FootprintChange> {
    let mut pairs: BTreeMap<(ChangeKind, &str), Both<'_, B>> = BTreeMap::new();
    for part in a {
        pairs
            .entry((part.kind(), part.name()))
            .or_default()
            .0
            .push(part);
    }
    for part in b {
        pairs
            .entry((part.kind(), part.name()))
            .or_default()
            .1
            .push(part);
    }
    let pairs = pairs
        .into_iter()
        .map(|((kind, name), (a, b))| change(name, kind, &a, &b));
    let has_changed = |change: &FootprintChange| {
        change.kind == ChangeKind::Region || change.change.get() != 0 || !change.parts.is_empty()
    };
    let mut changed: Vec<_> = pairs.filter(has_changed).collect();
    changed.sort_by_key(|change| std::cmp::Reverse(change.change.magnitude()));
    changed
}

fn change<B: Branch>(name: &str, kind: ChangeKind, a: &[&B], b: &[&B]) -> FootprintChange {
    let size = |parts: &[&B]| {
        let sizes = parts.iter().map(|part| part.size().get());
        ByteCount::new(sizes.fold(0, u64::saturating_add))
    };
    FootprintChange {
        name: name.to_owned(),
        kind,
        a: size(a),
        b: size(b),
        change: ByteCountChange::between(size(a), size(b)),
        parts: changes(&inner(a), &inner(b)),
    }
}

fn inner<'t, B: Branch>(parts: &[&'t B]) -> Vec<&'t B::Part> {
    parts.iter().flat_map(|part| part.parts()).collect()
}
