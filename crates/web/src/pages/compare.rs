//! Two runs, the second judged against the first.

use super::{Answered, PageError, document, in_thread, shown};
use crate::layout::{self, Part};
use crate::links::{self, encoded};
use crate::site::Site;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use linerate_analysis::compare::NamedRun;
use linerate_archive as archive;
use linerate_report::document::{DocumentFormat, render};
use linerate_studies::compare::{Comparison, Options, compare_runs};
use linerate_sys::clock::wall_now;
use maud::html;
use std::sync::Arc;

/// The fields of a form.
type Pairs = Vec<(String, String)>;

/// Which runs are compared: two boxes that were ticked in a list, or a base and what is judged against it.
fn chosen(given: Pairs) -> Result<[String; 2], PageError> {
    let ids = given
        .into_iter()
        .filter(|(name, _)| ["a", "b", "run"].contains(&name.as_str()));
    let mut ids: Vec<_> = ids.collect();
    // Those that were ticked come in the order of the list, the newest first.
    if ids.iter().all(|(name, _)| name == "run") {
        ids.reverse();
    }
    let ids: Vec<_> = ids.into_iter().map(|(_, id)| id).collect();
    ids.try_into().map_err(|ids: Vec<_>| {
        PageError::new(
            StatusCode::BAD_REQUEST,
            "Two runs are needed",
            format!(
                "{} chosen. Tick two runs in the list, then press “Compare”: the one that is older is the base.",
                ids.len()
            ),
        )
    })
}

/// The comparison, below what can be done with it.
pub(crate) async fn page(State(site): State<Arc<Site>>, Query(given): Query<Pairs>) -> Response {
    in_thread(move || framed(&site, given)).await
}

fn framed(site: &Site, given: Pairs) -> Answered {
    let ids = chosen(given)?;
    // What cannot be compared is said here, not in the frame.
    compared(site, &ids)?;
    let [a, b] = ids.each_ref().map(|id| encoded(id));
    let actions = html! {
        @for (name, id) in ["A", "B"].iter().zip(&ids) {
            a href=(links::run(id)) { (name) ": " (linerate_report::figures::clean(id)) }
        }
        a href=(format!("/compare?a={b}&b={a}")) { "Swap" }
    };
    let source = format!("/compare/document?a={a}&b={b}");
    Ok(shown(&layout::framed(
        "Comparison",
        Part::Runs,
        &actions,
        &source,
    )))
}

/// The comparison as a page of its own.
pub(crate) async fn comparison(
    State(site): State<Arc<Site>>,
    Query(given): Query<Pairs>,
) -> Response {
    in_thread(move || {
        let comparison = compared(&site, &chosen(given)?)?;
        let html = render(&comparison, DocumentFormat::Html, &wall_now());
        Ok(document(html.map_err(anyhow::Error::from)?))
    })
    .await
}

fn compared(site: &Site, [a, b]: &[String; 2]) -> Result<Comparison, PageError> {
    let [first, second] = [
        archive::load_kept(&site.store, a)?,
        archive::load_kept(&site.store, b)?,
    ];
    let [a, b] = [(a, &first), (b, &second)].map(|(name, run)| NamedRun { name, run });
    Ok(compare_runs(a, b, &Options::default())?)
}
