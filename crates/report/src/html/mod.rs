//! The HTML report: one file, no request, readable without its script.

pub(crate) mod figure;
mod first;
mod hosts;
mod one_way;
mod overview;
mod profile;
mod results;
mod section;
mod several;
mod stack;
mod study;
mod tcp;
mod topics;
mod trials;
mod verdict;

use crate::chart::Chart;
use crate::figures::clean_char;
use crate::{Report, ReportError};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use linerate_model::run::Run;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use section::Standing;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;

const ECHARTS: &str = include_str!("../../vendor/echarts-6.1.0/echarts.common.min.js");
const SCRIPT: &str = concat!(
    include_str!("../../assets/report.js"),
    include_str!("../../assets/treemap.js"),
);
const STYLE: &str = concat!(
    include_str!("../../assets/report.css"),
    include_str!("../../assets/treemap.css"),
);

/// What the page may load and run: nothing but its own scripts and style, each by its hash (CSP Level 3 §2.3.1), so that
/// no text of a run can be one. `data:` and `blob:` are the pictures that the page makes for download.
fn policy() -> String {
    let PageParts {
        script_sources,
        style_source,
        ..
    } = page_parts();
    format!(
        "default-src 'none'; script-src {script_sources}; style-src {style_source}; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
}

/// What pages of this room are made with, for a page around one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageParts {
    /// Their style sheet.
    pub style: &'static str,
    /// Their scripts as sources of a policy (`script-src`): a page that shows a report restricts it too.
    pub script_sources: String,
    /// Likewise their style (`style-src`).
    pub style_source: String,
}

/// What the pages of this room are made with.
pub fn page_parts() -> PageParts {
    let [charts, script, style_source] = [ECHARTS, SCRIPT, STYLE].map(hash_source);
    PageParts {
        style: STYLE,
        script_sources: format!("{charts} {script}"),
        style_source,
    }
}

/// Names inline text in a policy.
fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// Charts of the page by the id of their figure.
pub(crate) type Drawings = BTreeMap<String, Chart>;

/// The whole page.
pub(crate) fn page(report: &Report<'_>) -> Result<String, ReportError> {
    let mut drawings = Drawings::new();
    let body = body(report, &mut drawings);
    sheet(&report.title, body, &drawings)
}

/// A page around `body`, with style, script and the data of its charts.
pub(crate) fn sheet(title: &str, body: Markup, drawings: &Drawings) -> Result<String, ReportError> {
    let body = plain(body);
    let data = script_json(drawings)?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content="linerate";
                link rel="icon" href="data:,";
                title { (crate::figures::clean(title)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                @if !drawings.is_empty() {
                    script type="application/json" id="chart-data" { (PreEscaped(data)) }
                    script { (PreEscaped(ECHARTS)) }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

fn body(report: &Report<'_>, drawings: &mut Drawings) -> Markup {
    html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { (report.title) }
            p.muted {
                @if let Some(hosts) = crate::story::hosts(&crate::story::leaves(report.runs)) { (hosts) " · " }
                "report made " time { (report.made) } " by linerate"
            }
        }
        main id="content" {
            @if !report.runs.is_empty() { (first::screen(report.runs, drawings)) }
            @match report.runs {
                [] => p { "There are no runs in this report." },
                [one] => (section::run(one, "run-1", Standing::Alone, drawings)),
                runs => (several::sections(runs, drawings)),
            }
        }
        footer.page {
            p.muted {
                "Rates are L4 payload unless a column says otherwise. A mean carries its 95 % confidence "
                "interval and the number of trials n; a value read from a rounded log carries the interval "
                "of its rounding. “Not recorded” means that the source does not tell: it is not zero. "
                "Charts are drawn by Apache ECharts 6.1.0 (Apache License 2.0), which is part of this file."
            }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    }
}

/// The sections of runs that stand on a page of another kind.
pub(crate) fn measured(runs: &[Run], drawings: &mut Drawings) -> Markup {
    let standing = match runs {
        [_] => Standing::Alone,
        _ => Standing::Among,
    };
    html! {
        @for (index, one) in runs.iter().enumerate() {
            (section::run(one, &format!("run-{}", index + 1), standing, drawings))
        }
    }
}

/// Markup without characters that reorder what stands around them, or that no page may hold.
fn plain(markup: Markup) -> Markup {
    let text = markup.into_string();
    PreEscaped(text.chars().map(clean_char).collect())
}

/// JSON that cannot end the script element it stands in, whatever strings it holds.
fn script_json(drawings: &Drawings) -> Result<String, ReportError> {
    let json = serde_json::to_string(drawings).map_err(|source| ReportError::Json {
        what: "the charts",
        source,
    })?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}

/// A heading of level 2 to 6.
fn heading(level: u8, id: Option<&str>, text: &str) -> Markup {
    html! {
        @match level {
            ..=2 => h2 id=[id] { (text) },
            3 => h3 id=[id] { (text) },
            4 => h4 id=[id] { (text) },
            5 => h5 id=[id] { (text) },
            _ => h6 id=[id] { (text) },
        }
    }
}
