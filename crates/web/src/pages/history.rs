//! The tests that a study or mesh is made of, each followed over the runs with the same title.

use super::trends::{Course, FollowedValue, explained_series};
use super::{Answered, PageError, document, in_thread, shown};
use crate::layout::{self, Part};
use crate::links;
use crate::site::Site;
use axum::extract::{Path, State};
use axum::response::Response;
use linerate_analysis::changes::{ChangePoint, Rules};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, median};
use linerate_archive::{self as archive, Entry, Figure, Filter, StoredRun};
use linerate_model::run::{Run, RunKind};
use linerate_model::units::float;
use linerate_report::Trend;
use linerate_report::document::{DocumentFormat, render};
use linerate_report::figures::clean;
use linerate_sys::clock::wall_now;
use maud::html;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Newest runs that are read, each a whole document.
const MAX_RUNS: usize = 100;
/// Most tests that a page draws.
const MAX_TESTS: usize = 40;

/// The history below a link to its run.
pub(crate) async fn page(State(_): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    let path = links::run(&id);
    let actions = html! { a href=(path) { "The run " (clean(&id)) } };
    let source = format!("{path}/history/document");
    shown(&layout::framed("History", Part::Runs, &actions, &source))
}

/// The history as a page of its own.
pub(crate) async fn history(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    in_thread(move || followed(&site, &id)).await
}

fn followed(site: &Site, id: &str) -> Answered {
    let asked = archive::load_kept(&site.store, id)?;
    let Some(title) = asked.title.as_deref().filter(|_| !asked.parts().is_empty()) else {
        let why = "This run has no title, or is not made of tests: those of a study or mesh are followed over the runs with its title.";
        return Err(PageError::not_found(why));
    };
    let runs = runs_like(site, &asked, title)?;
    let mut notes = Vec::new();
    let earlier = runs.len().saturating_sub(MAX_RUNS);
    if earlier > 0 {
        notes.push(format!("Runs before these, left out: {earlier}."));
    }
    let courses = courses(site, &runs[earlier..], &mut notes);
    // All tests together raise no more false alarms than one alone.
    let rules = Rules {
        max_p: Rules::default().max_p / float(courses.len().max(1) as u64),
        ..Rules::default()
    };
    if courses.len() > 1 {
        notes.push(format!(
            "A change of one of these {} tests needs p ≤ {:.1e}: all of them together raise no more false alarms than one by itself.",
            courses.len(),
            rules.max_p
        ));
    }
    let mut tests: Vec<_> = courses
        .into_iter()
        .map(|(cell, course)| {
            let changes = course.changes(&rules);
            (cell, course, changes)
        })
        .collect();
    let followed = tests.len();
    let changed = tests.iter().filter(|(_, _, changes)| !changes.is_empty());
    let changed = changed.count();
    tests.sort_by(|(_, _, a), (_, _, b)| least_p(a).total_cmp(&least_p(b)));
    if tests.len() > MAX_TESTS {
        let others = tests.len() - MAX_TESTS;
        notes.push(format!(
            "Tests that are not drawn, with weaker signs of a change or none: {others}."
        ));
        tests.truncate(MAX_TESTS);
    }
    let series = tests
        .into_iter()
        .map(|(cell, course, changes)| explained_series(site, cell, course, changes));
    let trend = Trend {
        title: format!("Tests of {title}"),
        series: series.collect(),
        followed,
        changed,
        notes,
    };
    let html = render(&trend, DocumentFormat::Html, &wall_now());
    Ok(document(html.map_err(anyhow::Error::from)?))
}

/// Of the strongest change; infinite without one.
fn least_p(changes: &[ChangePoint]) -> f64 {
    let all = changes.iter().map(|change| change.p);
    all.fold(f64::INFINITY, f64::min)
}

/// The runs of this kind with this title, oldest first.
fn runs_like(site: &Site, asked: &Run, title: &str) -> anyhow::Result<Vec<StoredRun>> {
    let filter = Filter {
        kind: Some(asked.kind()),
        ..Filter::default()
    };
    let mut kept = archive::list(&site.store, &filter)?;
    kept.retain(
        |one| matches!(&one.listed.entry, Entry::Run(run) if run.title.as_deref() == Some(title)),
    );
    Ok(kept)
}

/// What each test gave in each run, by the test's name.
fn courses(site: &Site, runs: &[StoredRun], notes: &mut Vec<String>) -> BTreeMap<String, Course> {
    let mut courses: BTreeMap<String, Course> = BTreeMap::new();
    let mut unread = 0;
    for kept in runs {
        let Ok(run) = archive::load_kept(&site.store, &kept.listed.id) else {
            unread += 1;
            continue;
        };
        for (cell, value) in medians(&run) {
            courses
                .entry(cell.to_owned())
                .or_insert_with(|| Course::new(value.figure))
                .push(kept, value);
        }
    }
    if unread > 0 {
        notes.push(format!("Runs that cannot be read, left out: {unread}."));
    }
    let all = courses.len();
    courses.retain(|_, course| course.points.len() > 1);
    if courses.len() < all {
        let once = all - courses.len();
        notes.push(format!("Tests that only one run has, left out: {once}."));
    }
    courses
}

/// The median over the repetitions of each test of a run, by the test's name.
fn medians(run: &Run) -> BTreeMap<&str, FollowedValue> {
    let mut repetitions: BTreeMap<&str, Vec<FollowedValue>> = BTreeMap::new();
    for part in run.parts() {
        if let (Some(place), Some(figure)) = (&part.config.place, figure(part)) {
            let values = repetitions.entry(&place.cell).or_default();
            values.extend(FollowedValue::new(figure));
        }
    }
    let medians = repetitions.into_iter().filter_map(|(cell, all)| {
        let figure = all.first()?.figure;
        let values: Vec<f64> = all.iter().map(|one| one.value).collect();
        let value = median(&values, USUAL_CONFIDENCE).ok()?.point;
        Some((cell, FollowedValue { figure, value }))
    });
    medians.collect()
}

/// What a list shows of such a run.
fn figure(part: &Run) -> Option<Figure> {
    let valid = || part.trials.iter().filter(|trial| trial.valid);
    match part.kind() {
        RunKind::Latency => {
            let medians = valid().filter_map(|trial| trial.delay()?.quantile_ns(0.5));
            medians.min().map(Figure::MedianNs)
        }
        RunKind::Saturate => part.goals().first()?.lower_bound.map(Figure::LowerBound),
        RunKind::Tcp | RunKind::Udp => {
            let rates = valid().filter_map(|trial| trial.received_rate);
            rates.max().map(Figure::Received)
        }
        RunKind::Demo | RunKind::Study | RunKind::Switch => None,
    }
}
