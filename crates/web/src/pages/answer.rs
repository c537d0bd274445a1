//! How a page becomes an answer, and what is answered where there is none.

use crate::layout;
use anyhow::Error;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use linerate_model::exit::Failure;
use linerate_report::page_parts;
use maud::{Markup, html};

/// What pages of the site may load and where they may send: this site alone, nothing that stands in a page.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; worker-src 'self'; \
    img-src data:; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What is answered, or why not.
pub(crate) type Answered = Result<Response, PageError>;

/// Why there is no page.
#[derive(Debug)]
pub(crate) struct PageError {
    status: StatusCode,
    title: &'static str,
    text: String,
}

impl PageError {
    pub(crate) fn new(status: StatusCode, title: &'static str, text: impl Into<String>) -> Self {
        Self {
            status,
            title,
            text: text.into(),
        }
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", text)
    }
}

/// What a command would refuse with an exit code of its own is not there for the site either; all else is its fault.
impl From<Error> for PageError {
    fn from(error: Error) -> Self {
        let text = format!("{error:#}");
        match Failure::of(error.as_ref()) {
            Some(_) => Self::not_found(text),
            None => Self::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "That cannot be shown",
                text,
            ),
        }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let text = html! { p { (linerate_report::figures::clean(&self.text)) } p { a href="/" { "All runs" } } };
        let mut response = shown(&layout::page(self.title, None, &text));
        *response.status_mut() = self.status;
        response
    }
}

/// A page of the site.
pub(crate) fn shown(page: &Markup) -> Response {
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, PAGE_POLICY),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, page.0.clone()).into_response()
}

/// A document that `report` made: a page of its own, whose scripts have no origin, wherever it is opened.
pub(crate) fn document(text: String) -> Response {
    let parts = page_parts();
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'self'; sandbox allow-scripts allow-downloads allow-popups",
        parts.script_sources, parts.style_source
    );
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, text).into_response()
}

/// Makes an answer on a thread that may wait for disks.
pub(crate) async fn in_thread(make: impl FnOnce() -> Answered + Send + 'static) -> Response {
    match tokio::task::spawn_blocking(make).await {
        Ok(answer) => answer.into_response(),
        // A run that no code of ours was made for must not take the site with it.
        Err(_) => PageError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "That cannot be shown",
            "This is a fault in linerate, please report it.",
        )
        .into_response(),
    }
}
