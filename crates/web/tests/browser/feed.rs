//! A test whose events are said one by one, by the test of the site.

use crate::harness::Site;
use crate::relay::Relay;
use linerate_testkit::devtools::Driven;
use serde_json::json;
use std::fs::File;
use std::io::Write as _;
use std::process::Command;

/// A site that may start tests, what such a test says, and a browser that may start one.
pub(crate) struct Feed {
    pub(crate) site: Site,
    pub(crate) relay: Relay,
    pub(crate) page: Driven,
    events: Option<File>,
    intervals: u32,
}

impl Feed {
    pub(crate) fn over(store: tempfile::TempDir, options: &[&str]) -> Self {
        let site = Site::measuring_by("browser/tells.sh", store);
        let pipe = site.programs().join("events");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        // Open both ways it waits for nobody.
        let mut events = File::options();
        let events = events.read(true).write(true).open(&pipe).unwrap();
        let relay = Relay::before(site.host());
        let link = site.link().trim_start_matches('/');
        let page = Driven::visit(&relay.origin(), link, options);
        Self {
            site,
            relay,
            page,
            events: Some(events),
            intervals: 0,
        }
    }

    /// Opens a page of the site.
    pub(crate) fn go_to(&mut self, path: &str) {
        let url = format!("{}{path}", self.relay.origin());
        self.page.go_to(&url);
    }

    /// Fills the form of a test in and sends it, with keys alone: the page of the test is open then.
    pub(crate) fn start_test(&mut self) {
        self.go_to("tests/udp");
        for (field, text) in [("#target", "board"), ("#o-rate", "100M")] {
            self.page.tab_to(field);
            self.page.type_text(text);
        }
        self.page.loads_after(|page| page.press("Enter"));
        self.page
            .wait_for("document.documentElement.dataset.phase === 'connecting'");
        let client = json!({"role": "client", "name": "here", "cpu": "Fast 3000", "kernel": "6.1"});
        let hosts = json!([client, {"role": "server", "name": "board"}]);
        let began =
            json!({"event": "began", "kind": "udp", "title": "UDP to board", "hosts": hosts});
        self.say(&began);
    }

    pub(crate) fn say(&mut self, event: &serde_json::Value) {
        writeln!(self.events.as_ref().unwrap(), "{event}").unwrap();
    }

    /// One more interval, a second long; how many there are.
    pub(crate) fn interval(&mut self) -> u32 {
        self.intervals += 1;
        let (end, rate) = (self.intervals, 90_000_000 + self.intervals * 1_000_000);
        let progress =
            json!({"event": "progress", "share_ratio": 0.1, "text": "", "elapsed_s": end});
        self.say(&progress);
        self.say(&json!({
            "event": "interval", "direction": "forward", "start_s": end - 1, "end_s": end, "received_bps": rate,
            "offered_bps": 100_000_000, "lost_packets": end, "loss_ratio": 0.001, "srtt_ns": 250_000,
            "sender_busiest_core_ratio": 0.4, "receiver_busiest_core_ratio": 0.7,
        }));
        end
    }

    /// The test has nothing more to say.
    pub(crate) fn end_test(&mut self) {
        self.events = None;
    }

    /// Waits until the page shows so many intervals.
    pub(crate) fn wait_for_intervals(&mut self, count: u32) {
        let shown = format!("document.documentElement.dataset.intervals === '{count}'");
        self.page.wait_for(&shown);
    }

    /// The ends of all intervals in the page's table, in seconds.
    pub(crate) fn shown_ends(&mut self) -> Vec<u64> {
        let cells = "[...document.querySelectorAll('#intervals td:nth-child(2)')].map((cell) => Number(cell.textContent))";
        serde_json::from_value(self.page.eval(cells)).unwrap()
    }
}
