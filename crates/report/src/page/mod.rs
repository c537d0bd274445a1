//! A page: one file, no request, readable without its script. Skeleton, charts and tables of every document.

mod figure;

use crate::chart::Chart;
use crate::figures::clean_char;
use crate::report::ReportError;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
pub(crate) use figure::{drawn_charts, folded, scrolled, titled};
use linerate_model::WallTime;
use maud::{DOCTYPE, Markup, PreEscaped, html};
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
    /// Their style as sources of a policy (`style-src`).
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

/// What stands around the content of every page.
pub(crate) struct Frame<'a> {
    /// The heading, also of the window.
    pub(crate) heading: &'a str,
    /// What was made and of what: `Report`, `6 hosts · report`.
    pub(crate) made_what: String,
    /// When it was made, as a label.
    pub(crate) made: &'a WallTime,
    /// How its figures are to be read.
    pub(crate) reading: &'static str,
}

/// Who draws the charts, in the footer of a page with charts.
const DRAWN_BY: &str =
    "Charts are drawn by Apache ECharts 6.1.0 (Apache License 2.0), which is part of this file.";

/// A page around `content`, with style, script and the data of its charts.
pub(crate) fn page(
    frame: &Frame<'_>,
    content: &Markup,
    drawings: &Drawings,
) -> Result<String, ReportError> {
    let body = html! {
        a.skip href="#content" { "Skip to the results" }
        header.page {
            h1 { (frame.heading) }
            p.muted { (frame.made_what) " made " time { (frame.made) } " by linerate" }
        }
        main id="content" { (content) }
        footer.page {
            p.muted {
                (frame.reading)
                @if !drawings.is_empty() { " " (DRAWN_BY) }
            }
            p.sr-only id="status" role="status" aria-live="polite" {}
        }
    };
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
                title { (crate::figures::clean(frame.heading)) }
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
pub(crate) fn heading(level: u8, id: Option<&str>, text: &str) -> Markup {
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
