//! What axe-core finds wrong with the pages of the site, light and dark: nothing.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[expect(dead_code, reason = "other targets use the rest")]
#[path = "browser/feed.rs"]
mod feed;
#[expect(dead_code, reason = "other targets use the rest")]
#[path = "shared/harness.rs"]
mod harness;
#[path = "shared/pages.rs"]
mod pages;
#[expect(dead_code, reason = "other targets use the rest")]
#[path = "browser/relay.rs"]
mod relay;

use feed::Feed;
use linerate_testkit::accessibility::DARK;
use pages::{REFUSED, every_kind, every_page};
use serde_json::json;

/// Folds hide what they hold from axe-core.
const UNFOLD: &str = "document.querySelectorAll('details').forEach((one) => { one.open = true; })";

fn assert_without_barriers(options: &[&str]) {
    let mut feed = Feed::over(every_kind(), options);
    let mut found = Vec::new();
    let mut look = |feed: &mut Feed, page: &str| {
        feed.page.eval(UNFOLD);
        let barriers = feed.page.barriers().into_iter();
        found.extend(barriers.map(|one| format!("/{page}: {one}")));
    };
    let pages = every_page();
    for path in pages.iter().map(String::as_str).chain(REFUSED) {
        feed.go_to(path);
        look(&mut feed, path);
    }
    // A form that was refused.
    feed.go_to("tests/udp");
    feed.page.tab_to("#target");
    feed.page.type_text("-x");
    feed.page.tab_to("#o-rate");
    feed.page.type_text("1M");
    feed.page.loads_after(|page| page.press("Enter"));
    feed.page
        .wait_for("document.querySelector('[role=alert]') !== null");
    look(&mut feed, "tests/udp, refused");
    feed.start_test();
    let newest = feed.interval();
    let entry = json!({"place": "socket", "packets": 3, "source": "UdpRcvbufErrors"});
    let trial = json!({"index": 0, "valid": true, "direction": "forward", "ledger": [entry]});
    feed.say(&json!({"event": "trial", "trial": trial}));
    feed.say(&json!({"event": "note", "text": "the clock was set"}));
    feed.wait_for_intervals(newest);
    feed.page
        .wait_for("document.querySelector('#notes').childElementCount === 1");
    look(&mut feed, "live, measuring");
    feed.end_test();
    feed.page
        .wait_for("document.documentElement.dataset.phase === 'ended'");
    look(&mut feed, "live, ended");
    assert_eq!(found, [""; 0], "{} pages", pages.len());
}

#[test]
#[ignore = "needs chromium and axe-core"]
fn a_barrier_is_found() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.page
        .eval("document.querySelector('main').append(document.createElement('button')); 0");
    let barriers = feed.page.barriers();
    assert!(
        barriers.iter().any(|one| one.starts_with("button-name: ")),
        "{barriers:?}"
    );
}

#[test]
#[ignore = "needs chromium and axe-core"]
fn light_pages_are_without_barriers() {
    assert_without_barriers(&[]);
}

#[test]
#[ignore = "needs chromium and axe-core"]
fn dark_pages_are_without_barriers() {
    assert_without_barriers(&[DARK]);
}
