//! The pages, by their addresses, and the rules that hold for every request.

mod answer;
mod assets;
mod compare;
mod history;
mod run;
mod runs;
mod trends;

pub(crate) use answer::{Answered, PageError, document, in_thread, shown};

use crate::access::{is_own_name, is_same_site};
use crate::live;
use crate::site::Site;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    COOKIE, HOST, HeaderName, ORIGIN, REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use std::sync::Arc;

/// Where the printed link leads.
const ENTRANCE: &str = "/enter";

/// Every page of the site.
pub(crate) fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(runs::page))
        .route("/runs/{id}", get(run::page))
        .route("/runs/{id}/report", get(run::report))
        .route("/runs/{id}/run.json", get(run::as_json))
        .route("/runs/{id}/history", get(history::page))
        .route("/runs/{id}/history/document", get(history::history))
        .route("/compare", get(compare::page))
        .route("/compare/document", get(compare::comparison))
        .route("/trends", get(trends::page))
        .route("/trends/document", get(trends::trend))
        .route("/tests", get(live::choose))
        .route("/tests/{kind}", get(live::test).post(live::start))
        .route("/live", get(live::live))
        .route("/stop", post(live::stop))
        .route("/events", get(live::events))
        .route("/assets/{name}", get(assets::asset))
        .route(ENTRANCE, get(enter))
        .fallback(nothing_here)
        .layer(from_fn_with_state(Arc::clone(&site), guard))
        .with_state(site)
}

async fn nothing_here() -> Response {
    PageError::not_found("There is no such page.").into_response()
}

/// A header of a request as text.
pub(crate) fn header(headers: &HeaderMap, name: impl Into<HeaderName>) -> Option<&str> {
    headers.get(name.into())?.to_str().ok()
}

/// Lets through what may be asked, and says with each answer what browsers may do with it.
async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&site, &request) {
        Some(error) => error.into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Without it browsers would say of forms that they come from nowhere.
        (REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(site: &Site, request: &Request) -> Option<PageError> {
    let headers = request.headers();
    let host = header(headers, HOST).unwrap_or_default();
    if site.is_for_this_machine() && !is_own_name(host, site.at) {
        return Some(PageError::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This site is not that host",
            format!("Open it by its address, http://{}/.", site.at),
        ));
    }
    let is_entering = request.uri().path() == ENTRANCE;
    if !is_entering && !site.may_read(header(headers, COOKIE)) {
        return Some(PageError::new(
            StatusCode::FORBIDDEN,
            "The link is needed",
            "Open the link that `linerate web` printed when it started.",
        ));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let fetch_site = header(headers, HeaderName::from_static("sec-fetch-site"));
    if changes && !is_same_site(fetch_site, header(headers, ORIGIN), host) {
        return Some(PageError::new(
            StatusCode::FORBIDDEN,
            "That came from another site",
            "Only pages of this site may change something here.",
        ));
    }
    None
}

#[derive(Deserialize)]
struct Entering {
    #[serde(default)]
    token: String,
}

/// Gives who brings the printed link the cookie, once.
async fn enter(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Query(given): Query<Entering>,
) -> Response {
    if site.has_entered(header(&headers, COOKIE)) {
        return Redirect::to("/").into_response();
    }
    match site.enter(&given.token) {
        Some(cookie) => ([(SET_COOKIE, cookie)], Redirect::to("/")).into_response(),
        None => PageError::new(
            StatusCode::FORBIDDEN,
            "That link is not valid",
            "A link holds for one browser, once. Start `linerate web` again for another.",
        )
        .into_response(),
    }
}
