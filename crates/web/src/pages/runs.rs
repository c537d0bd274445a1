//! The list of the store's runs, with filters, search and the choice of two to compare.

use super::{Answered, in_thread, shown};
use crate::layout::{self, Part};
use crate::links::{self, encoded};
use crate::site::Site;
use axum::extract::{Query, State};
use axum::response::Response;
use linerate_archive::{self as archive, Entry, Filter, StoredRun};
use linerate_model::run::{RunKind, RunStatus};
use linerate_report::figures::clean;
use linerate_report::{listed_figure, to_the_minute};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Runs on one page.
const PER_PAGE: usize = 100;

/// What the form of the list asks for, as it was typed. An empty field asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Wanted {
    #[serde(rename = "match")]
    pub(crate) text: String,
    pub(crate) kind: String,
    pub(crate) status: String,
    pub(crate) limit: String,
    pub(crate) tag: String,
    pub(crate) since: String,
    page: usize,
}

impl Wanted {
    /// As `list` filters. A kind or an end that there is not is none that holds of a run.
    pub(crate) fn filter(&self) -> Filter {
        let given = |text: &str| (!text.trim().is_empty()).then(|| text.trim().to_owned());
        Filter {
            kind: RunKind::ALL
                .into_iter()
                .find(|kind| kind.as_str() == self.kind),
            status: RunStatus::ALL
                .into_iter()
                .find(|status| status.as_str() == self.status),
            limit: given(&self.limit),
            tag: given(&self.tag),
            text: given(&self.text),
            since: given(&self.since),
            most: None,
        }
    }

    /// The fields that are given, for an address.
    pub(crate) fn fields(&self) -> String {
        let fields = [
            ("match", &self.text),
            ("kind", &self.kind),
            ("status", &self.status),
            ("limit", &self.limit),
            ("tag", &self.tag),
            ("since", &self.since),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let given = given.map(|(name, value)| format!("{name}={}", encoded(value)));
        given.collect::<Vec<_>>().join("&")
    }

    pub(crate) fn is_any(&self) -> bool {
        self.fields().is_empty()
    }

    /// The form that asks for it again at `action`.
    pub(crate) fn form(&self, action: &str) -> Markup {
        let kinds = RunKind::ALL.map(RunKind::as_str);
        let ends = RunStatus::ALL.map(RunStatus::as_str);
        html! {
            form.filter method="get" action=(action) role="search" {
                (text_field("match", "Id, title or note", &self.text))
                (choice("kind", "Kind", &kinds, &self.kind))
                (choice("status", "Status", &ends, &self.status))
                (text_field("limit", "Limited by", &self.limit))
                (text_field("tag", "Tag, or the beginning of tags: nightly*", &self.tag))
                (text_field("since", "Since, such as 2026-11-24", &self.since))
                div.field { button type="submit" { "Show" } " " @if !self.is_any() { a href=(action) { "Clear" } } }
            }
        }
    }
}

fn text_field(name: &str, label: &str, value: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            input type="text" id=(name) name=(name) value=(value) autocomplete="off" spellcheck="false";
        }
    }
}

fn choice(name: &str, label: &str, all: &[&str], chosen: &str) -> Markup {
    html! {
        div.field {
            label for=(name) { (label) }
            select id=(name) name=(name) {
                option value="" { "any" }
                @for one in all { option value=(one) selected[*one == chosen] { (one) } }
            }
        }
    }
}

/// The newest runs that the form asks for.
pub(crate) async fn page(State(site): State<Arc<Site>>, Query(wanted): Query<Wanted>) -> Response {
    in_thread(move || listed(&site, &wanted)).await
}

fn listed(site: &Site, wanted: &Wanted) -> Answered {
    let mut kept = archive::list(&site.store, &wanted.filter())?;
    kept.reverse();
    let first = wanted.page.saturating_mul(PER_PAGE).min(kept.len());
    let here = &kept[first..kept.len().min(first + PER_PAGE)];
    let content = html! {
        (wanted.form("/"))
        p role="status" { (count(kept.len())) @if here.len() < kept.len() { ", of which " (first + 1) " to " (first + here.len()) " are shown" } "." }
        @if here.is_empty() {
            p { "A run is made by " code { "linerate demo" } " or " code { "linerate tcp HOST" } "." }
        } @else {
            form method="get" action="/compare" id="comparison" {
                (table(here))
                p.actions { button type="submit" { "Compare the two ticked" } span.muted { "The older one is the base." } }
            }
        }
        (pager(wanted, first, kept.len()))
    };
    Ok(shown(&layout::page("Runs", Some(Part::Runs), &content)))
}

fn count(runs: usize) -> String {
    match runs {
        0 => "No run".to_owned(),
        1 => "1 run".to_owned(),
        runs => format!("{runs} runs"),
    }
}

fn table(kept: &[StoredRun]) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Runs" {
            table.runs {
                caption.sr-only { "Runs, newest first" }
                thead {
                    tr {
                        th scope="col" { "Compare" }
                        th scope="col" { "Run" }
                        th scope="col" { "Kind" }
                        th scope="col" { "Started (UTC)" }
                        th.number scope="col" { "Result" }
                        th scope="col" { "Limited by" }
                        th scope="col" { "Tags and note" }
                    }
                }
                tbody { @for run in kept { (row(run)) } }
            }
        }
    }
}

fn row(kept: &StoredRun) -> Markup {
    let (id, tags) = (clean(&kept.listed.id), clean(&kept.tags.join(", ")));
    html! {
        @match &kept.listed.entry {
            Entry::Broken { reason } => {
                tr.invalid {
                    td {}
                    td { (id) }
                    td colspan="4" { "Broken: " (clean(reason)) }
                    td { (tags) }
                }
            }
            Entry::Run(run) => {
                tr {
                    td { input type="checkbox" name="run" value=(kept.listed.id) aria-label=(format!("Compare {id}")); }
                    th scope="row" {
                        a href=(links::run(&kept.listed.id)) { (run.title.as_deref().map_or_else(|| id.clone(), clean)) }
                        @if run.title.is_some() { div.muted { (id) } }
                    }
                    td {
                        (run.kind.as_str())
                        @if run.status != RunStatus::Complete { div.alarm-text { (run.status.as_str()) } }
                    }
                    td.short { (run.started.as_ref().map_or_else(String::new, to_the_minute)) }
                    td.number { (listed_figure(run)) }
                    td { (run.limit.as_ref().map_or_else(String::new, |(_, name)| clean(name))) }
                    td {
                        (tags)
                        @if let Some(note) = &kept.note { div.muted { (clean(note)) } }
                    }
                }
            }
        }
    }
}

fn pager(wanted: &Wanted, first: usize, all: usize) -> Markup {
    let page = first / PER_PAGE;
    let to = |page: usize| format!("/?{}&page={page}", wanted.fields());
    html! {
        @if all > PER_PAGE {
            nav.pager aria-label="Pages of the list" {
                @if page > 0 { a href=(to(page - 1)) rel="prev" { "Newer runs" } }
                span { "Page " (page + 1) " of " (all.div_ceil(PER_PAGE)) }
                @if first + PER_PAGE < all { a href=(to(page + 1)) rel="next" { "Older runs" } }
            }
        }
    }
}
