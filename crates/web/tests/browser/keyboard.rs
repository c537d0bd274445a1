//! The site without a mouse.

use crate::feed::Feed;
use crate::pages::{REFUSED, every_kind, every_page, round};
use linerate_testkit::devtools::Driven;

fn is_true(page: &mut Driven, condition: &str) -> bool {
    page.eval(condition) == true
}

#[test]
#[ignore = "needs chromium"]
fn every_control_is_reached_by_tab_in_its_order_and_shows_it() {
    let mut feed = Feed::over(every_kind(), &[]);
    let mut stops = 0;
    for path in every_page().iter().map(String::as_str).chain(REFUSED) {
        feed.go_to(path);
        // Buttons come with the charts.
        feed.page.wait_for(
            "[...document.querySelectorAll('.plot')].every((one) => !one.checkVisibility() || one.dataset.rendered === 'true')",
        );
        println!("/{path}");
        stops += feed.page.walk_by_tab();
    }
    println!("{stops} stops");
    assert!(stops > 400, "{stops}");
}

#[test]
#[ignore = "needs chromium"]
fn the_first_stop_leads_past_the_navigation() {
    let mut feed = Feed::over(every_kind(), &[]);
    for path in ["", "runs/20261122-212358-tcp-4199", "tests/udp"] {
        feed.go_to(path);
        let page = &mut feed.page;
        page.press("Tab");
        let is_seen =
            "document.activeElement.matches('.skip') && document.activeElement.offsetWidth > 24";
        assert!(is_true(page, is_seen), "/{path}");
        page.press("Enter");
        page.wait_for("location.hash === '#content'");
        page.press("Tab");
        let is_within = "document.querySelector('#content').contains(document.activeElement)";
        assert!(is_true(page, is_within), "/{path}");
    }
}

#[test]
#[ignore = "needs chromium"]
fn a_run_is_found_and_two_are_compared_with_keys_alone() {
    let mut feed = Feed::over(every_kind(), &[]);
    let page = &mut feed.page;
    page.tab_to("#match");
    page.type_text("20261122-2123");
    page.loads_after(|page| page.press("Enter"));
    assert_eq!(page.eval("document.querySelectorAll('tbody tr').length"), 2);
    page.tab_to("tbody a");
    page.loads_after(|page| page.press("Enter"));
    assert!(is_true(
        page,
        "location.pathname.startsWith('/runs/20261122-2123')"
    ));
    page.tab_to("nav a");
    page.loads_after(|page| page.press("Enter"));
    assert!(is_true(
        page,
        "document.querySelector('#comparison button').disabled"
    ));
    let (older, newer) = (round(3), round(12));
    for run in [&newer, &older] {
        page.tab_to(&format!("input[value='{run}']"));
        page.press(" ");
    }
    page.tab_to("#comparison button");
    page.loads_after(|page| page.press("Enter"));
    assert_eq!(
        page.eval("document.querySelector('h1').textContent"),
        "Comparison"
    );
    // The older one is the base.
    let base = "document.querySelector('.actions a').textContent";
    assert_eq!(page.eval(base), format!("A: {older}"));
    let has_words = "document.querySelector('main, body').textContent.includes('Mbit/s')";
    page.wait_in_frame_for(has_words);
}

#[test]
#[ignore = "needs chromium"]
fn a_test_is_started_paused_and_stopped_with_keys_alone() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.start_test();
    feed.interval();
    feed.wait_for_intervals(1);
    feed.page.tab_to("#pause");
    feed.page.press(" ");
    assert_eq!(feed.page.eval("document.activeElement.ariaPressed"), "true");
    feed.interval();
    // Another page shows it; this one waits.
    let live = format!("{}live", feed.relay.origin());
    feed.page.new_tab(&live);
    feed.wait_for_intervals(2);
    feed.page.switch_to(0);
    assert_eq!(feed.shown_ends(), [1]);
    feed.page.bring_to_front();
    feed.page.press("Enter");
    feed.wait_for_intervals(2);
    feed.page.tab_to("#stop");
    feed.page.loads_after(|page| page.press("Enter"));
    feed.page
        .wait_for("document.querySelector('#status').textContent === 'The test is over.'");
    assert_eq!(feed.shown_ends(), [1, 2]);
}
