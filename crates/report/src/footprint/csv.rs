//! A row for each smallest part, each part that changed, or each build.

use super::largest::{self, Leaf};
use crate::csv::{kebab, table};
use crate::figures::clean;
use linerate_model::ByteCount;
use linerate_model::footprint::{
    ChangeKind, Footprint, FootprintBuilds, FootprintChange, FootprintContent, FootprintDifference,
    FootprintTotals, NodeKind,
};

/// The footprint for spreadsheets and scripts; empty where a value is not known.
pub(super) fn rows(content: &FootprintContent) -> String {
    match content {
        FootprintContent::Builds(builds) => of_builds(builds),
        FootprintContent::Difference(difference) => of_difference(difference),
        FootprintContent::Footprint(footprint) => of_footprint(footprint),
    }
}

fn of_footprint(footprint: &Footprint) -> String {
    const COLUMNS: &[&str] = &[
        "region",
        "section",
        "class",
        "place",
        "archive",
        "unit",
        "unit_kind",
        "part",
        "kind",
        "size_bytes",
        "source",
    ];
    let mut rows = Vec::new();
    largest::each(footprint, &mut |leaf| rows.push(leaf_row(&leaf)));
    write(COLUMNS, rows)
}

fn leaf_row(leaf: &Leaf<'_>) -> Vec<Option<String>> {
    let is_archive = |kind: NodeKind| kind == NodeKind::Archive;
    let archive = leaf.owners.iter().find(|owner| is_archive(owner.kind));
    let unit = leaf.owners.iter().find(|owner| !is_archive(owner.kind));
    vec![
        Some(clean(&leaf.region.name)),
        Some(clean(&leaf.section.name)),
        kebab(&leaf.section.class),
        kebab(&leaf.section.place),
        archive.map(|owner| clean(&owner.name)),
        unit.map(|owner| clean(&owner.name)),
        unit.and_then(|owner| kebab(&owner.kind)),
        Some(clean(leaf.name)),
        kebab(&leaf.kind),
        Some(number(leaf.size)),
        kebab(&leaf.source),
    ]
}

fn of_difference(difference: &FootprintDifference) -> String {
    let mut rows = Vec::new();
    for region in &difference.regions {
        change_rows(region, &mut Vec::new(), &mut rows);
    }
    write(
        &[
            "region",
            "section",
            "path",
            "kind",
            "a_bytes",
            "b_bytes",
            "change_bytes",
        ],
        rows,
    )
}

/// A row for what has changed and has no part that has.
fn change_rows(
    change: &FootprintChange,
    above: &mut Vec<String>,
    rows: &mut Vec<Vec<Option<String>>>,
) {
    above.push(clean(&change.name));
    if change.parts.is_empty() && change.change.get() != 0 {
        let kind = match change.kind {
            ChangeKind::Part(kind) => kebab(&kind),
            ChangeKind::Region => Some("region".to_owned()),
            ChangeKind::Section(_) => Some("section".to_owned()),
        };
        rows.push(vec![
            above.first().cloned(),
            above.get(1).cloned(),
            Some(above.get(2..).unwrap_or_default().join("/")),
            kind,
            Some(number(change.a)),
            Some(number(change.b)),
            Some(change.change.get().to_string()),
        ]);
    }
    for part in &change.parts {
        change_rows(part, above, rows);
    }
    above.pop();
}

fn of_builds(builds: &FootprintBuilds) -> String {
    let four = |sums: &FootprintTotals| {
        [sums.text, sums.data, sums.bss, sums.dec()].map(|size| Some(number(size)))
    };
    let row = |stack: &str, what: &str, configuration: String, figures: [Option<String>; 4]| {
        let head =
            [stack.to_owned(), what.to_owned(), configuration].map(|text| Some(clean(&text)));
        head.into_iter().chain(figures).collect::<Vec<_>>()
    };
    let mut rows = Vec::new();
    for build in &builds.builds {
        let configuration = || build.configuration.join(" ");
        rows.push(row(
            &builds.stack,
            "archive",
            configuration(),
            four(&build.archive),
        ));
        rows.push(row(
            &builds.stack,
            "image",
            configuration(),
            four(&build.image),
        ));
    }
    for published in &builds.published {
        let figures = [
            published.text,
            published.data,
            published.bss,
            published.total,
        ]
        .map(|size| Some(number(size)));
        rows.push(row(
            &published.stack,
            "published",
            published.scenario.to_string(),
            figures,
        ));
    }
    write(
        &[
            "stack",
            "of",
            "configuration",
            "text_bytes",
            "data_bytes",
            "bss_bytes",
            "total_bytes",
        ],
        rows,
    )
}

fn write(columns: &[&'static str], rows: Vec<Vec<Option<String>>>) -> String {
    table(
        columns.iter().copied(),
        rows.into_iter().map(Vec::into_iter),
    )
}

fn number(size: ByteCount) -> String {
    size.get().to_string()
}
