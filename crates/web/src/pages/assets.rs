//! Style and scripts, which are part of the program.

use super::PageError;
use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use linerate_report::page_parts;

/// Styles of what only the site has; all else is the report's.
const STYLE: &str = include_str!("../../assets/site.css");
const SCRIPT: &str = include_str!("../../assets/site.js");

/// The page of a test, and the one event stream of all its windows.
const LIVE: &str = include_str!("../../assets/live.js");
const STREAM: &str = include_str!("../../assets/stream.js");

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// One of them by its name.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let (kind, text) = match name.as_str() {
        "site.css" => (CSS, format!("{}{STYLE}", page_parts().style)),
        "site.js" => (JAVASCRIPT, SCRIPT.to_owned()),
        "live.js" => (JAVASCRIPT, LIVE.to_owned()),
        "stream.js" => (JAVASCRIPT, STREAM.to_owned()),
        _ => return PageError::not_found("There is no such file.").into_response(),
    };
    // Another build has other ones at the same address.
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-cache")], text).into_response()
}
