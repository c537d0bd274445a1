//! A figure over the runs of each test that a filter lets through, with the changes of its level.

use super::runs::Wanted;
use super::{Answered, document, in_thread, shown};
use crate::layout::{self, Part};
use crate::site::Site;
use axum::extract::{Query, State};
use axum::response::Response;
use linerate_analysis::changes::{ChangePoint, Rules, change_points};
use linerate_analysis::compare::{NamedRun, Options, compare};
use linerate_archive::{self as archive, Entry, Figure, StoredRun};
use linerate_model::comparison::Difference;
use linerate_model::units::float;
use linerate_report::document::{DocumentFormat, render};
use linerate_report::{Trend, TrendChange, TrendFigure, TrendPoint, TrendSeries, to_the_minute};
use linerate_sys::clock::wall_now;
use maud::html;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The trend of what the form asks for, below the form.
pub(crate) async fn page(State(_): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    in_thread(move || {
        let form = html! {
            details open[wanted.is_any()] {
                summary { "Which runs" }
                p { "A test made again and again: runs with the same title, or with tags that begin alike, such as nightly-1 and nightly-2." }
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
    let mut tests = by_test(&kept, wanted.tag.is_empty());
    let all = tests.len();
    tests.retain(|runs| runs.len() > 1);
    let mut notes = Vec::new();
    if tests.len() < all {
        let once = all - tests.len();
        notes.push(format!(
            "Tests of which there is one run, left out: {once}."
        ));
    }
    // Those of which most is known.
    tests.sort_by_key(|runs| Reverse(runs.len()));
    if tests.len() > MOST_TESTS {
        let others = tests.len() - MOST_TESTS;
        notes.push(format!(
            "Left out: {others} tests of which there are fewer runs."
        ));
        tests.truncate(MOST_TESTS);
    }
    let mut without = 0;
    let followed: Vec<_> = tests
        .iter()
        .map(|runs| {
            let one = one_test(site, runs);
            without += runs.len() - one.points.len();
            one
        })
        .collect();
    if without > 0 {
        notes.push(format!(
            "{without} runs were left out: they have no figure, or another one than most of their test."
        ));
    }
    let changed = followed.iter().filter(|test| !test.changes.is_empty());
    let trend = Trend {
        title: title(wanted),
        followed: followed.len(),
        changed: changed.count(),
        series: followed,
        notes,
    };
    let html = render(&trend, DocumentFormat::Html, &wall_now());
    Ok(document(html.map_err(anyhow::Error::from)?))
}

/// Most tests of which a page draws the course.
const MOST_TESTS: usize = 20;

/// The runs of each test, oldest first. A tag makes one test of all that have it; else those with the same title are.
fn by_test(kept: &[StoredRun], is_by_title: bool) -> Vec<Vec<&StoredRun>> {
    let mut tests: BTreeMap<Option<&str>, Vec<&StoredRun>> = BTreeMap::new();
    for one in kept {
        if let Entry::Run(run) = &one.listed.entry {
            let test = is_by_title.then_some(run.title.as_deref()).flatten();
            tests.entry(test).or_default().push(one);
        }
    }
    tests.into_values().collect()
}

fn one_test(site: &Site, runs: &[&StoredRun]) -> TrendSeries {
    let course = Course::of_most(runs);
    let changes = course.changes(&Rules::default());
    let newest = runs.last().map(|kept| &kept.listed.entry);
    let name = newest.and_then(|entry| match entry {
        Entry::Run(run) => run.title.clone(),
        Entry::Broken { .. } => None,
    });
    let name = name.unwrap_or_else(|| "Runs without a title".to_owned());
    explained_series(site, name, course, changes)
}

/// The course of the test `name`, with what else changed at its changes.
pub(super) fn explained_series(
    site: &Site,
    name: String,
    course: Course,
    changes: Vec<ChangePoint>,
) -> TrendSeries {
    let Course { figure, points } = course;
    let changes = changes.into_iter();
    let changes = changes.map(|change| explained(site, &points, change));
    TrendSeries {
        title: name,
        figure,
        changes: changes.collect(),
        points,
    }
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

/// A run's value of one figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FollowedValue {
    pub(super) figure: TrendFigure,
    /// In the figure's base unit; finite.
    pub(super) value: f64,
}

impl FollowedValue {
    pub(super) fn new(figure: Figure) -> Option<Self> {
        let (figure, value) = match figure {
            Figure::Received(rate) => (TrendFigure::Received, rate.as_f64()),
            Figure::MedianReceived(rate) => (TrendFigure::MedianReceived, rate.as_f64()),
            Figure::LowerBound(rate) => (TrendFigure::LowerBound, rate.as_f64()),
            Figure::FrameLowerBound { rate, .. } => (TrendFigure::Frames, rate.pps()),
            Figure::MedianNs(ns) => (TrendFigure::Median, float(ns)),
            // A mean is no point of a line of medians.
            Figure::MeanNs(_) => return None,
        };
        value.is_finite().then_some(Self { figure, value })
    }

    fn of_run(kept: &StoredRun) -> Option<Self> {
        match &kept.listed.entry {
            Entry::Run(run) => Self::new(run.result?),
            Entry::Broken { .. } => None,
        }
    }
}

/// One figure of one test, run by run, oldest first.
pub(super) struct Course {
    figure: TrendFigure,
    pub(super) points: Vec<TrendPoint>,
}

impl Course {
    pub(super) const fn new(figure: TrendFigure) -> Self {
        Self {
            figure,
            points: Vec::new(),
        }
    }

    /// The figure that most of these runs have.
    fn of_most(runs: &[&StoredRun]) -> Self {
        const FIGURES: [TrendFigure; 5] = [
            TrendFigure::Received,
            TrendFigure::LowerBound,
            TrendFigure::Median,
            TrendFigure::MedianReceived,
            TrendFigure::Frames,
        ];
        let values = || {
            let all = runs.iter();
            all.filter_map(|kept| Some((*kept, FollowedValue::of_run(kept)?)))
        };
        let count = |figure: &TrendFigure| values().filter(|(_, of)| of.figure == *figure).count();
        // The first of several that are equally many.
        let most = FIGURES.iter().rev().max_by_key(|figure| count(figure));
        let mut course = Self::new(most.copied().unwrap_or(TrendFigure::Received));
        for (kept, value) in values() {
            course.push(kept, value);
        }
        course
    }

    /// Adds the value of the next run, unless it is of another figure.
    pub(super) fn push(&mut self, kept: &StoredRun, value: FollowedValue) {
        let started = match &kept.listed.entry {
            Entry::Run(run) => run.started.as_ref(),
            Entry::Broken { .. } => None,
        };
        if value.figure == self.figure {
            self.points.push(TrendPoint {
                id: kept.listed.id.clone(),
                started: started.map(to_the_minute),
                value: value.value,
            });
        }
    }

    pub(super) fn changes(&self, rules: &Rules) -> Vec<ChangePoint> {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        change_points(&values, rules)
    }
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
