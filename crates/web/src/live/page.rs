//! The pages of tests: which kind, its options, and the test while it goes on.

use super::request::{self, Fields, Refusal, TARGET, offered, value};
use super::state::TestState;
use crate::layout::{self, Part};
use crate::pages::{Answered, PageError, in_thread, shown};
use crate::site::Site;
use axum::extract::{Form, Path, State};
use axum::http::header::COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use linerate_model::spec::Transport;
use linerate_report::figures::rate;
use linerate_studies::options::{HelpLevel, Source, Takes, TestKind, TestOption, Usual};
use maud::{Markup, html};
use std::sync::Arc;

/// Whether who asks may start and stop tests.
fn may_test(site: &Site, headers: &HeaderMap) -> Result<(), PageError> {
    if site.live.is_none() {
        let text = "Start the site with `linerate web --allow-tests` to start tests from it.";
        return Err(PageError::new(
            StatusCode::FORBIDDEN,
            "This site starts no tests",
            text,
        ));
    }
    if !site.has_entered(crate::pages::header(headers, COOKIE)) {
        let text = "Open the link that `linerate web` printed when it started.";
        return Err(PageError::new(
            StatusCode::FORBIDDEN,
            "The link is needed",
            text,
        ));
    }
    Ok(())
}

fn known(kind: &str) -> Result<TestKind, PageError> {
    let all = TestKind::AT_PEERS.into_iter();
    let mut named = all.filter(|known| known.as_str() == kind);
    let unknown = || PageError::not_found("There is no such kind of test.");
    named.next().ok_or_else(unknown)
}

const fn about(kind: TestKind) -> &'static str {
    match kind {
        TestKind::Tcp => "One TCP transfer: rate, retransmissions, what limits it.",
        TestKind::Udp => "One datagram stream at an intended load: rate, loss by place.",
        TestKind::Latency => "Round trips: distribution of delay by message size.",
        TestKind::Saturate => "The load at which loss or delay begins, with bounds.",
        TestKind::Switch => "What a device between two ports forwards.",
    }
}

/// Which kind of test.
pub(crate) async fn choose(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    let chosen = || -> Answered {
        may_test(&site, &headers)?;
        let content = html! {
            ul.kinds {
                @for kind in TestKind::AT_PEERS {
                    li { a href=(format!("/tests/{}", kind.as_str())) { (kind.as_str()) } " – " (about(kind)) }
                }
            }
            p { a href="/live" { "The test under way" } }
        };
        Ok(shown(&layout::page(
            "Start a test",
            Some(Part::Test),
            &content,
        )))
    };
    chosen().into_response()
}

/// The form of a kind of test.
pub(crate) async fn test(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Path(kind): Path<String>,
) -> Response {
    let form = || -> Answered {
        may_test(&site, &headers)?;
        Ok(shown(&form(known(&kind)?, &Fields::new(), None)))
    };
    form().into_response()
}

/// Starts a test, or shows its form with what is wrong.
pub(crate) async fn start(
    State(site): State<Arc<Site>>,
    headers: HeaderMap,
    Path(kind): Path<String>,
    Form(fields): Form<Fields>,
) -> Response {
    in_thread(move || {
        may_test(&site, &headers)?;
        let kind = known(&kind)?;
        match begun(&site, kind, &fields) {
            Ok(()) => Ok(Redirect::to("/live").into_response()),
            Err(refusal) => {
                let mut response = shown(&form(kind, &fields, Some(&refusal)));
                *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                Ok(response)
            }
        }
    })
    .await
}

fn begun(site: &Site, kind: TestKind, fields: &Fields) -> Result<(), Refusal> {
    let request = request::request(kind, fields)?;
    let state = TestState {
        command: format!(
            "linerate {} {}",
            request.arguments.join(" "),
            request.target
        ),
        target: request.target,
        intended: request.intended,
        ceiling: ceiling(site, kind),
        ..TestState::default()
    };
    let live = site.live.as_ref();
    let started = live.map_or(Ok(()), |live| live.start(state, &request.arguments));
    started.map_err(|message| Refusal {
        field: None,
        message,
    })
}

/// What this host itself does at most with such a test, as it was calibrated.
fn ceiling(site: &Site, kind: TestKind) -> Option<String> {
    let transport = match kind {
        TestKind::Tcp => Transport::Tcp,
        TestKind::Udp | TestKind::Saturate => Transport::Udp,
        TestKind::Latency | TestKind::Switch => return None,
    };
    let calibration = site.store.calibration()?;
    let ceilings = calibration.ceilings.iter();
    let ceilings = ceilings.filter(|ceiling| ceiling.transport == transport);
    let most = ceilings
        .map(|ceiling| ceiling.received.point)
        .max_by(f64::total_cmp)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate, for people"
    )]
    let most = linerate_model::BitRate::from_bps(most as u64);
    Some(rate(most))
}

/// Ends the test early.
pub(crate) async fn stop(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    if let Err(error) = may_test(&site, &headers) {
        return error.into_response();
    }
    if let Some(live) = &site.live {
        live.stop();
    }
    Redirect::to("/live").into_response()
}

fn form(kind: TestKind, fields: &Fields, refusal: Option<&Refusal>) -> Markup {
    let all = offered(kind).map(|(_, option)| option);
    let (first, rest): (Vec<&TestOption>, Vec<&TestOption>) =
        all.partition(|option| option.shown == HelpLevel::Short);
    let is_filled_in = |option: &&TestOption| value(fields, option.name).is_some();
    let is_open = rest.iter().any(is_filled_in);
    let wrong = |name: &str| refusal.filter(|refusal| refusal.field.as_deref() == Some(name));
    let content = html! {
        p { (about(kind)) }
        @if let Some(refusal) = refusal { p.alarm role="alert" { "Not started: " (refusal.message) } }
        form.options method="post" action=(format!("/tests/{}", kind.as_str())) {
            div.option {
                label for=(TARGET) { "Peer" }
                input type="text" id=(TARGET) name=(TARGET) value=(value(fields, TARGET).unwrap_or_default()) required
                    autocomplete="off" spellcheck="false" aria-describedby="target-help"
                    aria-invalid=[wrong(TARGET).map(|_| "true")];
                p.muted id="target-help" { "The host that runs " code { "linerate serve" } ", or another address as on the command line: " code { "10.0.0.2" } ", " code { "ssh://me@board" } }
            }
            @for option in &first { (field(option, fields, wrong(option.name))) }
            details open[is_open] {
                summary { "More options" }
                @for option in &rest { (field(option, fields, wrong(option.name))) }
            }
            p { button type="submit" { "Start the test" } }
        }
    };
    layout::page(
        &format!("Start a test: {}", kind.as_str()),
        Some(Part::Test),
        &content,
    )
}

/// An option with its help, as the command line has it.
fn field(option: &TestOption, fields: &Fields, wrong: Option<&Refusal>) -> Markup {
    let (id, help) = (format!("o-{}", option.name), format!("h-{}", option.name));
    let given = value(fields, option.name).unwrap_or_default();
    let usual = option.usual_in(Source::CommandLine);
    let choices = option.choices.map(|choices| choices()).unwrap_or_default();
    let is_list = matches!(option.takes, Takes::List(_));
    let invalid = wrong.map(|_| "true");
    html! {
        div.option {
            @if option.takes == Takes::Nothing {
                div.flag {
                    input type="checkbox" id=(id) name=(option.name) value="true" checked[given == "true"] aria-describedby=(help);
                    label for=(id) { code { "--" (option.name) } }
                }
            } @else {
                label for=(id) { code { "--" (option.name) } }
                @if choices.is_empty() || is_list {
                    input type="text" id=(id) name=(option.name) value=(given) autocomplete="off" spellcheck="false"
                        required[usual == Usual::Needed && option.excludes.is_empty()] aria-describedby=(help) aria-invalid=[invalid];
                } @else {
                    select id=(id) name=(option.name) aria-describedby=(help) aria-invalid=[invalid] {
                        option value="" { "as usual" }
                        @for choice in &choices { option value=(choice.name) selected[choice.name == given] { (choice.name) } }
                    }
                }
            }
            p.muted id=(help) {
                (option.help) "."
                @match usual {
                    Usual::Value(value) => { " Usual: " code { (value) } "." }
                    Usual::Words(words) => { " Usual: " (words) "." }
                    Usual::Needed => { " Needed." }
                    Usual::Off => {}
                }
            }
        }
    }
}

/// The test while it goes on. All that moves is filled in by the page's script.
pub(crate) async fn live(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    if site.live.is_none() {
        let text = "Start the site with `linerate web --allow-tests` to start tests from it.";
        return PageError::not_found(text).into_response();
    }
    let may_stop = site.has_entered(crate::pages::header(&headers, COOKIE));
    shown(&layout::page("Test", Some(Part::Test), &skeleton(may_stop))).into_response()
}

/// Figures of the test: what each is called, and where the script writes it.
const FIGURES: [(&str, &str); 10] = [
    ("Received, L4 payload", "received"),
    ("Intended load", "intended"),
    ("Offered", "offered"),
    ("Lost in the newest interval", "lost"),
    ("Sent again, TCP segments", "again"),
    ("Round-trip time", "rtt"),
    ("Busiest core, sender", "cpu-sender"),
    ("Busiest core, receiver", "cpu-receiver"),
    ("Ceiling of linerate on this host", "ceiling"),
    ("Newest sample", "age"),
];

fn skeleton(may_stop: bool) -> Markup {
    html! {
        noscript { p.alarm { "This page needs JavaScript to move. The result is in the list of runs when the test is over." } }
        p id="status" role="status" aria-live="polite" { "Waiting for the site." }
        p.conclusion id="headline" {}
        p { code id="command" {} }
        div.actions {
            button type="button" id="pause" aria-pressed="false" { "Pause the display" }
            @if may_stop { form method="post" action="/stop" { button type="submit" id="stop" disabled { "Stop the test" } } }
            a href="/tests" { "Start another test" }
        }
        label for="progress" { "Progress " span id="left" {} }
        progress id="progress" max="1" value="0" {}
        dl.results {
            @for (name, id) in FIGURES { div { dt { (name) } dd id=(id) { "–" } } }
        }
        p { strong { "Verdict: " } span id="verdict" { "not known yet" } }
        figure.chart {
            figcaption { h2 { "Rate over time" } p id="chart-caption" { "No interval is over yet." } }
            svg.live-chart id="chart" viewBox="0 0 720 240" role="img" aria-labelledby="chart-caption" {}
            details {
                summary { "The same numbers as a table" }
                div.scroll.tall tabindex="0" role="group" aria-label="Intervals" {
                    table { caption.sr-only { "Intervals" } thead { tr {
                        th scope="col" { "Way" } th.number scope="col" { "End (s)" } th.number scope="col" { "Rate" } th.number scope="col" { "Lost" }
                        th.number scope="col" { "Sent again" } th.number scope="col" { "RTT" } th.number scope="col" { "Core, sender" } th.number scope="col" { "Core, receiver" }
                    } } tbody id="intervals" {} }
                }
            }
        }
        h2 { "Hosts" }
        ul id="hosts" { li { "Not known yet." } }
        h2 { "Loss by place" }
        div id="places" { p { "Known when a trial is over." } }
        h2 { "Trials" }
        div.scroll.tall tabindex="0" role="group" aria-label="Trials" {
            table { caption.sr-only { "Trials" } thead { tr {
                th.number scope="col" { "Trial" } th scope="col" { "Way" } th.number scope="col" { "Intended" } th.number scope="col" { "Offered" } th.number scope="col" { "Received" }
                th.number scope="col" { "Lost" } th.number scope="col" { "Delay p50" } th.number scope="col" { "Delay p99" } th scope="col" { "Valid" }
            } } tbody id="trials" {} }
        }
        h2 { "Log" }
        ul id="notes" {}
        pre id="words" tabindex="0" hidden {}
    }
}
