//! One figure over the runs that a filter lets through, with the changes of its level.

use super::runs::Wanted;
use super::{Answered, document, in_thread, shown};
use crate::layout::{self, Part};
use crate::site::Site;
use axum::extract::{Query, State};
use axum::response::Response;
use linerate_analysis::changes::{ChangePoint, Rules, change_points};
use linerate_analysis::compare::{NamedRun, Options, compare};
use linerate_archive::{self as archive, Entry, Figure, Kept};
use linerate_model::comparison::Difference;
use linerate_report::document::{DocumentFormat, render};
use linerate_report::{Trend, TrendChange, TrendFigure, TrendPoint, to_the_minute};
use linerate_sys::clock::wall_now;
use maud::html;
use std::sync::Arc;

/// The trend of what the form asks for, below the form.
pub(crate) async fn page(State(_): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    in_thread(move || {
        let form = html! {
            details open[wanted.is_any()] {
                summary { "Which runs" }
                p { "Runs of one test, made again and again: give them a tag that begins alike, such as nightly-1 and nightly-2." }
                (wanted.form("/trends"))
            }
        };
        let source = format!("/trends/document?{}", wanted.fields());
        Ok(shown(&layout::framed("Trends", Part::Trends, &form, &source)))
    })
    .await
}

/// The trend as a page of its own.
pub(crate) async fn trend(State(site): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    in_thread(move || followed(&site, &wanted)).await
}

fn followed(site: &Site, wanted: &Wanted) -> Answered {
    let kept = archive::list(&site.store, &wanted.filter())?;
    let (figure, points) = series(&kept);
    let left_out = kept.len() - points.len();
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let changes = change_points(&values, &Rules::default());
    let changes = changes
        .into_iter()
        .map(|change| explained(site, &points, change));
    let note = "were left out: they have no figure, or another one than most";
    let trend = Trend {
        title: title(wanted),
        figure,
        changes: changes.collect(),
        points,
        notes: (left_out > 0)
            .then(|| format!("{left_out} runs {note}."))
            .into_iter()
            .collect(),
    };
    let html = render(&trend, DocumentFormat::Html, &wall_now());
    Ok(document(html.map_err(anyhow::Error::from)?))
}

fn title(wanted: &Wanted) -> String {
    let named = [
        ("tagged", &wanted.tag),
        ("of kind", &wanted.kind),
        ("with", &wanted.text),
        ("limited by", &wanted.limit),
        ("that are", &wanted.status),
        ("since", &wanted.since),
    ];
    let named = named.into_iter().filter(|(_, value)| !value.is_empty());
    let named: Vec<_> = named
        .map(|(what, value)| format!("{what} {value}"))
        .collect();
    if named.is_empty() {
        "All runs".to_owned()
    } else {
        format!("Runs {}", named.join(", "))
    }
}

/// The figure that most runs have, and its value in each of them.
fn series(kept: &[Kept]) -> (TrendFigure, Vec<TrendPoint>) {
    const FIGURES: [TrendFigure; 4] = [
        TrendFigure::Received,
        TrendFigure::LowerBound,
        TrendFigure::Median,
        TrendFigure::Frames,
    ];
    let all: Vec<_> = kept.iter().filter_map(point).collect();
    let count = |figure: &TrendFigure| all.iter().filter(|(of, _)| of == figure).count();
    // The first of several that are equally many.
    let most = FIGURES.iter().rev().max_by_key(|figure| count(figure));
    let figure = most.copied().unwrap_or(TrendFigure::Received);
    let points = all.into_iter().filter(|(of, _)| *of == figure);
    (figure, points.map(|(_, point)| point).collect())
}

fn point(kept: &Kept) -> Option<(TrendFigure, TrendPoint)> {
    let Entry::Run(run) = &kept.listed.entry else {
        return None;
    };
    let (figure, value) = match run.result? {
        Figure::Received(rate) => (TrendFigure::Received, rate.as_f64()),
        Figure::LowerBound(rate) => (TrendFigure::LowerBound, rate.as_f64()),
        Figure::FrameLowerBound { rate, .. } => (TrendFigure::Frames, rate.pps()),
        #[expect(clippy::cast_precision_loss, reason = "far below 2⁵³ ns")]
        Figure::MedianNs(ns) => (TrendFigure::Median, ns as f64),
    };
    let point = TrendPoint {
        id: kept.listed.id.clone(),
        started: run.started.as_ref().map(to_the_minute),
        value,
    };
    value.is_finite().then_some((figure, point))
}

/// A change with what else changed between the last run before it and the first after it.
fn explained(site: &Site, points: &[TrendPoint], change: ChangePoint) -> TrendChange {
    let neighbours = change.at.checked_sub(1).and_then(|before| {
        let load = |at: usize| archive::load_kept(&site.store, &points.get(at)?.id).ok();
        load(before).zip(load(change.at))
    });
    let differences = neighbours.map_or_else(Vec::new, |(a, b)| {
        let named = |run| NamedRun { name: "", run };
        let comparison = compare(named(&a), named(&b), &Options::default());
        let version = Difference {
            role: None,
            what: "version of the tool".to_owned(),
            a: a.tool.version,
            b: b.tool.version,
        };
        let version = (version.a != version.b).then_some(version);
        let both = comparison
            .machines
            .differences
            .into_iter()
            .chain(comparison.settings);
        // Without what only one of them tells.
        let told = both.filter(|one| one.a.is_some() && one.b.is_some());
        told.chain(version).collect()
    });
    TrendChange {
        at: change.at,
        before: change.before,
        after: change.after,
        p: change.p,
        differences,
    }
}
