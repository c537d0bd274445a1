//! The stream of a test's events: one for a whole browser, and whole whatever becomes of the connection.

use crate::feed::Feed;
use crate::harness::Site;
use crate::pages::every_kind;
use crate::relay::Stream;

const TABS: usize = 10;

/// HTTP/1.1 allows six connections to a host: with a stream for each tab the seventh would never load.
#[test]
#[ignore = "needs chromium"]
fn ten_tabs_show_the_newest_sample_of_one_stream() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.start_test();
    let live = format!("{}live", feed.relay.origin());
    for tab in 1..TABS {
        // Some of the test is over when a tab comes.
        let newest = feed.interval();
        assert_eq!(feed.page.new_tab(&live), tab);
        feed.wait_for_intervals(newest);
    }
    for _ in 0..3 {
        let newest = feed.interval();
        for tab in 0..TABS {
            feed.page.switch_to(tab);
            feed.wait_for_intervals(newest);
            let all: Vec<u64> = (1..=u64::from(newest)).collect();
            assert_eq!(feed.shown_ends(), all, "tab {tab}");
            let rate = format!("{} Mbit/s", 90 + newest);
            let figure = feed
                .page
                .eval("document.querySelector('#received').textContent");
            assert_eq!(figure, rate, "tab {tab}");
        }
    }
    assert_eq!(feed.relay.streams().len(), 1);
    assert_eq!(feed.page.complaints(), [""; 0]);
    // Half of them are closed, half show something else: nobody is left who reads it.
    for tab in 0..TABS {
        feed.page.switch_to(tab);
        if tab % 2 == 0 {
            feed.go_to("");
        } else {
            feed.page.close_tab(tab);
        }
    }
    feed.relay.wait_for_no_stream();
}

/// Where a stream breaks off: before an event, within each of its lines, after the last of them.
const BREAKS: [&str; 5] = [
    "id: ",
    "event: inter",
    "data: ",
    "\"received_bps\":",
    "}\n\n",
];

#[test]
#[ignore = "needs chromium"]
fn a_stream_that_breaks_off_loses_no_sample_and_repeats_none() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.start_test();
    let mut newest = feed.interval();
    feed.wait_for_intervals(newest);
    for text in BREAKS {
        feed.relay.break_off_after(text);
        feed.interval();
        feed.page
            .wait_for("document.querySelector('#status').textContent.startsWith('The connection to the site is gone')");
        feed.interval();
        newest = feed.interval();
        feed.relay.restore();
        feed.wait_for_intervals(newest);
        feed.page
            .wait_for("document.querySelector('#status').textContent === 'The test is under way.'");
        let all: Vec<u64> = (1..=u64::from(newest)).collect();
        assert_eq!(feed.shown_ends(), all, "after a break at {text:?}");
    }
    let streams = feed.relay.streams();
    assert_eq!(streams.len(), 1 + BREAKS.len());
    for pair in streams.windows(2) {
        // Each went on after an event that the one before it had brought: the last one that the browser had taken in.
        let asked = pair[1].request.lines();
        let mut asked = asked.filter_map(|line| line.strip_prefix("Last-Event-ID: "));
        let asked = asked
            .next()
            .unwrap_or_else(|| panic!("{}", pair[1].request));
        assert!(ids(&pair[0]).contains(&asked), "{asked}");
        let (boot, number) = asked.rsplit_once('-').unwrap();
        let next = number.parse::<u64>().unwrap() + 1;
        let first = format!("{boot}-{next}");
        assert_eq!(ids(&pair[1]).first(), Some(&&*first));
        assert!(!pair[1].answer.contains("event: state"));
    }
}

/// The ids of the events that a stream brought.
fn ids(stream: &Stream) -> Vec<&str> {
    let lines = stream.answer.lines();
    lines.filter_map(|line| line.strip_prefix("id: ")).collect()
}

#[test]
#[ignore = "needs chromium"]
fn a_connection_that_comes_back_without_news_is_shown_as_one() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.start_test();
    feed.relay.break_off_after("}\n\n");
    feed.interval();
    let status = |words: &str| {
        format!("document.querySelector('#status').textContent.startsWith('{words}')")
    };
    feed.page
        .wait_for(&status("The connection to the site is gone"));
    feed.relay.restore();
    feed.page.wait_for(&status("The test is under way"));
}

#[test]
#[ignore = "needs chromium"]
fn a_site_that_has_no_stream_any_more_is_said() {
    let mut feed = Feed::over(every_kind(), &[]);
    feed.start_test();
    let host = feed.site.host().to_owned();
    // Started again without the right to start tests.
    feed.site.stop();
    let _reader = Site::start(&["--listen", &host]);
    feed.page.wait_for(
        "document.querySelector('#status').textContent === 'The site refuses its events; reload this page.'",
    );
}
