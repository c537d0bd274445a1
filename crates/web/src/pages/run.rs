//! One run: its report, what it is called, its document.

use super::{Answered, document, in_thread, shown};
use crate::layout::{self, Part};
use crate::links::{self, encoded};
use crate::site::Site;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use linerate_archive as archive;
use linerate_report::Report;
use linerate_report::figures::clean;
use linerate_report::renderers::{self, Renderer};
use linerate_sys::clock::wall_now;
use maud::html;
use std::sync::Arc;

/// The run's report, below what can be done with it.
pub(crate) async fn page(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    in_thread(move || framed(&site, &id)).await
}

fn framed(site: &Site, id: &str) -> Answered {
    let run = archive::load_kept(&site.store, id)?;
    let tags = site.store.tags().map_err(anyhow::Error::from)?;
    let tags: Vec<_> = tags.into_iter().filter(|(_, of)| of == id).collect();
    let tags: Vec<_> = tags.into_iter().map(|(tag, _)| tag).collect();
    let note = site.store.note(id).ok().flatten();
    let path = links::run(id);
    let actions = html! {
        @if !tags.is_empty() { span { "Tags: " (clean(&tags.join(", "))) } }
        @if let Some(note) = note { span { "Note: " (clean(&note)) } }
        a href=(format!("/compare?a={}", encoded(id))) { "Compare" }
        @if run.title.is_some() && !run.parts().is_empty() {
            a href=(format!("{path}/history")) { "History of its tests" }
        }
        a href=(format!("{path}/run.json")) { "Run document" }
    };
    let title = linerate_report::title(std::slice::from_ref(&run));
    let source = format!("{path}/report");
    Ok(shown(&layout::framed(
        &title,
        Part::Runs,
        &actions,
        &source,
    )))
}

/// The report as a page of its own.
pub(crate) async fn report(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    in_thread(move || {
        let runs = [archive::load_kept(&site.store, &id)?];
        let report = Report {
            title: linerate_report::title(&runs),
            runs: &runs,
            made: wall_now(),
        };
        let html = html_renderer().render(&report);
        Ok(document(html.map_err(anyhow::Error::from)?))
    })
    .await
}

fn html_renderer() -> &'static Renderer {
    let mut all = renderers::ALL.iter().copied();
    all.find(|renderer| renderer.id == "html")
        .expect("invariant: HTML is a format of reports")
}

/// The run document, to be kept.
pub(crate) async fn as_json(State(site): State<Arc<Site>>, Path(id): Path<String>) -> Response {
    in_thread(move || {
        let run = archive::load_kept(&site.store, &id)?;
        let text = serde_json::to_string_pretty(&run).map_err(anyhow::Error::from)?;
        let headers = [
            (CONTENT_TYPE, "application/json"),
            (CONTENT_DISPOSITION, "attachment; filename=\"run.json\""),
            (CACHE_CONTROL, "no-store"),
        ];
        Ok((headers, text).into_response())
    })
    .await
}
