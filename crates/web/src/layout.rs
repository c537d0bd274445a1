//! What stands around every page of the site, and how a document is shown within one.

use linerate_report::figures::clean;
use maud::{DOCTYPE, Markup, html};

linerate_model::named_enum! {
    /// The parts of the site, in the order of its navigation.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Part {
        Runs = "Runs",
        Trends = "Trends",
        Test = "Test",
    }
}

impl Part {
    const fn path(self) -> &'static str {
        match self {
            Self::Runs => "/",
            Self::Trends => "/trends",
            Self::Test => "/tests",
        }
    }
}

/// A page under `title`, in a part of the site.
pub(crate) fn page(title: &str, part: Option<Part>, content: &Markup) -> Markup {
    html! {
        (head(title, "text"))
        body {
            (bar(part))
            main id="content" {
                h1 { (clean(title)) }
                (content)
            }
        }
    }
}

/// A page that shows the document at `source`, below what can be done with it.
///
/// The document is a page of its own in a frame: its scripts have no origin, no cookies and no way to the site.
pub(crate) fn framed(title: &str, part: Part, actions: &Markup, source: &str) -> Markup {
    html! {
        (head(title, "framed"))
        body {
            (bar(Some(part)))
            main {
                div.actions {
                    h1 { (clean(title)) }
                    (actions)
                    a href=(source) { "The document alone" }
                }
                iframe id="content" title=(format!("Document: {}", clean(title))) src=(source)
                    sandbox="allow-scripts allow-downloads allow-popups" tabindex="0" {}
            }
        }
    }
}

fn head(title: &str, class: &str) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" class=(class);
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            link rel="icon" href="data:,";
            link rel="stylesheet" href="/assets/site.css";
            title { (clean(title)) " · linerate" }
            script src="/assets/site.js" defer {}
            @if title == "Test" { script src="/assets/live.js" defer {} }
        }
    }
}

fn bar(current: Option<Part>) -> Markup {
    html! {
        a.skip href="#content" { "Skip to the content" }
        header.site {
            strong { "linerate" }
            nav aria-label="Site" {
                ul {
                    @for part in Part::ALL {
                        li { a href=(part.path()) aria-current=[(current == Some(part)).then_some("page")] { (part.as_str()) } }
                    }
                }
            }
        }
    }
}
