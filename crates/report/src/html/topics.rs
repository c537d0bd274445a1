//! The parts of a run's section below its verdict: the chart that answers, then each topic behind a click.

use super::figure::RunCharts;
use super::{hosts, one_way, profile, results, stack, tcp, trials};
use crate::charts::{Topic, without_chart};
use crate::page::{self, Drawings, heading};
use crate::{connections, document};
use linerate_model::run::Run;
use maud::{Markup, html};

/// What a section folds away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folded {
    Everything,
    /// The whole that it is a part of shows the hosts.
    WithoutHosts,
}

/// The answer, then every topic that has something to say, with links to them.
pub(super) fn all(
    run: &Run,
    anchor: &str,
    level: u8,
    folded: Folded,
    drawings: &mut Drawings,
) -> Markup {
    let mut charts = RunCharts::from_run(run);
    let answer = std::mem::take(&mut charts.answer);
    let mut parts: Vec<Part> = Topic::ALL
        .into_iter()
        .map(|topic| {
            let drawn = page::drawn_charts(charts.take(topic), anchor, level + 1, drawings);
            Part {
                id: topic.as_str(),
                name: topic.name(),
                inner: html! {
                    (drawn)
                    (tables(run, topic, anchor, level + 1))
                    @if let Some(missing) = charts.missing(topic) { p.muted { (missing) } }
                },
            }
        })
        .collect();
    parts.push(Part {
        id: "trials",
        name: "Trials",
        inner: trials::all(run, level + 1),
    });
    parts.push(Part {
        id: "stack",
        name: "Stack under test",
        inner: stack::all(run, level + 1),
    });
    if folded == Folded::Everything {
        parts.push(Part {
            id: "hosts",
            name: "Hosts",
            inner: hosts::facts(&run.hosts, level + 1),
        });
    }
    parts.push(Part {
        id: "raw",
        name: "Set-up, rules and what could not be read",
        inner: html! {
            (hosts::configuration(run, level + 1))
            (results::rules(&run.findings, level + 1))
            (results::unread(run, level + 1))
        },
    });
    parts.retain(|part| !part.inner.0.is_empty());
    html! {
        (results::invalid(run))
        (page::drawn_charts(answer, anchor, level, drawings))
        (document::write_html(&connections::blocks(run), drawings))
        div.topics role="group" aria-label="Topics" {
            ul { @for part in &parts { li { a href=(format!("#{anchor}-{}", part.id)) { (part.name) } } } }
        }
        @for part in parts {
            details.topic {
                summary { (heading(level, None, part.name)) }
                div id=(format!("{anchor}-{}", part.id)) { (part.inner) }
            }
        }
    }
}

struct Part {
    id: &'static str,
    name: &'static str,
    inner: Markup,
}

/// The tables that go with the charts of a topic.
fn tables(run: &Run, topic: Topic, anchor: &str, level: u8) -> Markup {
    match topic {
        Topic::Rate => html! { (results::goals(run, level)) (results::shares(run, level)) },
        Topic::Delay => html! {
            @if let Some(table) = without_chart(run) { (page::titled(&table, "Delay quantiles", level)) }
            (results::loops(run, level))
            (one_way::all(run, level))
        },
        Topic::Loss => results::ledger(run, level),
        Topic::Cpu => html! { (profile::all(run, anchor, level)) (trials::cost(run, level)) },
        Topic::Tcp => html! { (tcp::all(run, level)) (trials::tcp_state(run, level)) },
    }
}
