//! A page in headless Chromium: what it draws, what it logs, and that it asks nobody for anything.
//!
//! The browser starts with an empty profile of its own and resolves no name. Chromium is the Debian package
//! `chromium`; tests that use this are `#[ignore]`d as "needs chromium".

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Chromium without anything that talks to a network or keeps a profile.
pub(crate) const QUIET: &[&str] = &[
    "--headless",
    // Its sandbox does not start as root; the page is ours and no name resolves.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
];

/// What it tells of a page that is opened once.
const OPTIONS: &[&str] = &[
    "--enable-logging=stderr",
    "--v=0",
    "--hide-scrollbars",
    "--virtual-time-budget=20000",
    "--log-net-log-capture-mode=Default",
];

/// A file that is opened in the browser, in a folder of its own.
#[derive(Debug)]
pub struct Page {
    home: tempfile::TempDir,
    file: PathBuf,
}

impl Page {
    /// A page of this text.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn from_html(html: &str) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let file = home.path().join("report.html");
        std::fs::write(&file, html).expect("room for the page");
        Self { home, file }
    }

    /// The folder that goes with the page.
    pub fn folder(&self) -> &Path {
        self.home.path()
    }

    /// The page itself.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds a script at the end of the page, and lets the page's policy know it by its hash.
    ///
    /// # Panics
    /// If the page has no end.
    pub fn add_script(&self, script: &str) {
        let html = std::fs::read_to_string(&self.file).expect("the page");
        let (before, after) = html.rsplit_once("</body>").expect("the end of the page");
        let hash = STANDARD.encode(Sha256::digest(script));
        let known = format!("script-src 'sha256-{hash}' ");
        let before = before.replacen("script-src ", &known, 1);
        let html = format!("{before}<script>{script}</script></body>{after}");
        std::fs::write(&self.file, html).expect("room for the page");
    }

    /// Opens the page; it must log nothing and request nothing.
    ///
    /// # Panics
    /// If the browser does not start, or the page does one of these.
    pub fn open(&self, options: &[&str]) -> Output {
        let profile = tempfile::tempdir_in(self.home.path()).expect("a temporary folder");
        let net_log = profile.path().join("net.json");
        let output = Command::new("chromium")
            .args(QUIET)
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--log-net-log={}", net_log.display()))
            .args(options)
            .arg(format!("file://{}", self.file.display()))
            .output()
            .expect("chromium starts (Debian package: chromium)");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{log}");
        assert!(!log.contains("CONSOLE"), "{log}");
        assert!(!log.contains("Refused"), "{log}");
        let net_log = std::fs::read_to_string(net_log).expect("Chromium's log of the network");
        assert_eq!(requests(&net_log), Vec::<&str>::new());
        output
    }

    /// The document after all scripts ran.
    ///
    /// # Panics
    /// As [`open`](Self::open), and if it is not text.
    pub fn dom(&self, options: &[&str]) -> String {
        let options: Vec<_> = options.iter().copied().chain(["--dump-dom"]).collect();
        String::from_utf8(self.open(&options).stdout).expect("a document is text")
    }
}

/// What a page asked other machines for. In Chromium's log what a page asks for has a page as initiator, and the
/// browser's own housekeeping none.
fn requests(net_log: &str) -> Vec<&str> {
    let by_page = |line: &&str| {
        line.contains("\"initiator\":\"null\"") || line.contains("\"initiator\":\"file:")
    };
    let url = |line: &'_ str| -> Option<(usize, usize)> {
        let start = line.find("\"url\":\"")? + 7;
        let url = line.get(start..)?;
        let schemes = ["http:", "https:", "ws:", "wss:"];
        let is_remote = schemes.iter().any(|scheme| url.starts_with(scheme));
        is_remote.then(|| (start, start + url.find('"').unwrap_or(url.len())))
    };
    net_log
        .lines()
        .filter(by_page)
        .filter_map(|line| url(line).and_then(|(start, end)| line.get(start..end)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_the_page_is_seen_and_the_browsers_own_is_not() {
        let log = "{\"params\":{\"initiator\":\"file://\",\"url\":\"https://example.org/a\"}},\n\
                   {\"params\":{\"initiator\":\"not an origin\",\"url\":\"https://example.org/b\"}},\n\
                   {\"params\":{\"initiator\":\"null\",\"url\":\"file:///tmp/report.html\"}},\n";
        assert_eq!(requests(log), ["https://example.org/a"]);
    }

    #[test]
    #[ignore = "needs chromium"]
    #[should_panic(expected = "CONSOLE")]
    fn a_page_that_logs_something_fails() {
        let page = Page::from_html("<html><body>x</body></html>");
        page.add_script("console.error('on purpose')");
        page.dom(&[]);
    }

    #[test]
    #[ignore = "needs chromium"]
    #[should_panic(expected = "example.invalid")]
    fn a_page_that_requests_something_fails() {
        let page = Page::from_html("<html><body>x</body></html>");
        // An error of the request itself would be logged too; a beacon's is not.
        page.add_script("navigator.sendBeacon('http://example.invalid/a')");
        page.dom(&[]);
    }
}
