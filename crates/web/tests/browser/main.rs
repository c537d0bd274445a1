//! The site in a real browser: what it logs and asks for, without a mouse, in many tabs, and when its stream breaks off.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

mod feed;
#[expect(dead_code, reason = "other targets use the rest")]
#[path = "../shared/harness.rs"]
mod harness;
mod keyboard;
#[path = "../shared/pages.rs"]
mod pages;
mod relay;
mod stream;

use feed::Feed;
use pages::{every_kind, every_page};

#[test]
#[ignore = "needs chromium"]
fn every_page_logs_nothing_and_asks_nobody_else() {
    let mut feed = Feed::over(every_kind(), &[]);
    for path in every_page() {
        feed.go_to(&path);
        assert_eq!(feed.page.complaints(), [""; 0], "/{path}");
    }
    feed.start_test();
    let newest = feed.interval();
    feed.wait_for_intervals(newest);
    feed.end_test();
    feed.page
        .wait_for("document.documentElement.dataset.phase === 'ended'");
    assert_eq!(feed.page.complaints(), [""; 0]);
}

/// Were it let through, the test above would see it.
#[test]
#[ignore = "needs chromium"]
fn what_a_page_asks_of_others_is_refused_by_its_policy() {
    let mut feed = Feed::over(every_kind(), &[]);
    let asked = "fetch('http://example.invalid/').then(() => 'sent', () => 'refused')";
    assert_eq!(feed.page.eval(asked), "refused");
    let complaints = feed.page.complaints();
    let is_by_policy = |one: &String| one.contains("connect-src");
    assert!(complaints.iter().any(is_by_policy), "{complaints:?}");
}
