//! Pages in headless Chromium that are driven as a user would: keys, chosen files, tabs, what they say, what they ask for.
//!
//! Speaks Chromium's `DevTools` protocol over a pipe: no port is opened. Tests that use this are `#[ignore]`d as "needs
//! chromium".

use crate::browser::QUIET;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A browser whose pages all are of one origin; commands and keys go to one of them.
#[derive(Debug)]
pub struct Driven {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Number of the last message.
    last: u64,
    /// Of whose pages requests are no complaints: `http://127.0.0.1:5380/`, or nothing for files.
    origin: String,
    /// What runs in each document before its own scripts.
    before: String,
    /// The pages, as they were opened.
    tabs: Vec<Tab>,
    /// The session of the page that is driven.
    session: String,
    /// Sessions of the frames within pages, in the order in which they came.
    frames: Vec<String>,
    /// Events that nobody waited for yet.
    events: Vec<Value>,
    /// What pages, their frames and workers complained of, and what they asked other machines for.
    complaints: Vec<String>,
    /// Its profile, gone with it.
    _home: tempfile::TempDir,
}

#[derive(Debug)]
struct Tab {
    target: Value,
    session: String,
}

/// What tells of a page, frame or worker what it logs and asks for.
const TELLING: [&str; 3] = ["Runtime", "Log", "Network"];

/// Moves the pipe's ends to where Chromium expects them: commands on 3, answers on 4.
const PIPED: &str = "exec chromium \"$@\" 3<&0 4>&1 1>&2";

impl Driven {
    /// Opens a file in a fresh browser. `before` runs in each document before its own scripts.
    ///
    /// # Panics
    /// If the browser does not start or answer.
    pub fn open(file: &Path, before: &str, options: &[&str]) -> Self {
        let mut page = Self::start(String::new(), before, options);
        page.new_tab(&format!("file://{}", file.display()));
        page
    }

    /// Opens a page of the site `origin`, such as `http://127.0.0.1:5380/`, in a fresh browser.
    ///
    /// # Panics
    /// If the browser does not start or answer.
    pub fn visit(origin: &str, path: &str, options: &[&str]) -> Self {
        let mut page = Self::start(origin.to_owned(), "", options);
        page.new_tab(&format!("{origin}{path}"));
        page
    }

    fn start(origin: String, before: &str, options: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut browser = Command::new("sh")
            .args(["-c", PIPED, "chromium", "--remote-debugging-pipe"])
            .args(QUIET)
            .args(options)
            .args(reachable(&origin))
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium starts (Debian package: chromium)");
        let to = browser.stdin.take().expect("a pipe to it");
        let from = BufReader::new(browser.stdout.take().expect("a pipe from it"));
        let mut driven = Self {
            browser,
            to,
            from,
            last: 0,
            origin,
            before: before.to_owned(),
            tabs: Vec::new(),
            session: String::new(),
            frames: Vec::new(),
            events: Vec::new(),
            complaints: Vec::new(),
            _home: home,
        };
        // Those of the whole browser; a page's own frames and workers are attached to it.
        driven.attach_to(&json!([{"type": "shared_worker"}]));
        driven
    }

    /// Has what is begun tell what it does before it does anything.
    fn attach_to(&mut self, filter: &Value) {
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter});
        self.call("Target.setAutoAttach", &attach);
    }

    /// Opens one more page, which is driven from now on; its number.
    ///
    /// # Panics
    /// If Chromium does not open it.
    pub fn new_tab(&mut self, url: &str) -> usize {
        let blank = json!({"url": "about:blank"});
        let mut opened = self.call_in("", "Target.createTarget", &blank);
        let target = opened["targetId"].take();
        let attached = json!({"targetId": target, "flatten": true});
        let attached = self.call_in("", "Target.attachToTarget", &attached);
        self.session = text(&attached["sessionId"]);
        self.tabs.push(Tab {
            target,
            session: self.session.clone(),
        });
        for domain in TELLING {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
        self.call("Page.enable", &json!({}));
        self.attach_to(&json!([{}]));
        let source = json!({"source": self.before});
        self.call("Page.addScriptToEvaluateOnNewDocument", &source);
        self.go_to(url);
        self.tabs.len() - 1
    }

    /// Drives the page of this number, in front of the others or behind them.
    pub fn switch_to(&mut self, tab: usize) {
        self.session.clone_from(&self.tabs[tab].session);
    }

    /// Shows the page that is driven.
    pub fn bring_to_front(&mut self) {
        self.call("Page.bringToFront", &json!({}));
    }

    /// Closes the page of this number; which one is driven then is to be said.
    pub fn close_tab(&mut self, tab: usize) {
        let target = json!({"targetId": self.tabs[tab].target});
        self.call_in("", "Target.closeTarget", &target);
    }

    /// Opens an address in place of the page, and waits until it is loaded.
    pub fn go_to(&mut self, url: &str) {
        self.forget_page();
        let gone = self.call("Page.navigate", &json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {}", gone["errorText"]);
        self.event("Page.loadEventFired");
    }

    /// Does something that opens another page in place of this one, and waits until it is loaded.
    pub fn loads_after(&mut self, action: impl FnOnce(&mut Self)) {
        self.forget_page();
        action(self);
        self.event("Page.loadEventFired");
    }

    /// What was told of the page that is replaced is not waited for again.
    fn forget_page(&mut self) {
        self.frames.clear();
        self.events
            .retain(|event| event["method"] != "Page.loadEventFired");
    }

    /// Sends a command to the page, and gives its result.
    ///
    /// # Panics
    /// If Chromium refuses it or is gone.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let session = self.session.clone();
        self.call_in(&session, method, params)
    }

    fn call_in(&mut self, session: &str, method: &str, params: &Value) -> Value {
        let id = self.send(session, method, params);
        loop {
            let mut said = self.read();
            if said["id"] == json!(id) {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].take();
            }
            self.keep(said);
        }
    }

    /// Sends a command; its number.
    fn send(&mut self, session: &str, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        let sent = write!(self.to, "{message}\0").and_then(|()| self.to.flush());
        sent.expect("Chromium reads");
        self.last
    }

    /// Keeps an event for who waits for it; the answer to what [`greet`](Self::greet) sent is none.
    fn keep(&mut self, said: Value) {
        if said["method"].is_string() {
            self.events.push(said);
        }
    }

    /// Waits for an event of the page; those that came while a command was under way count.
    pub fn event(&mut self, method: &str) -> Value {
        loop {
            let found = self.events.iter().position(|event| {
                event["method"] == method && event["sessionId"] == json!(self.session)
            });
            if let Some(at) = found {
                return self.events.remove(at)["params"].take();
            }
            let said = self.read();
            self.keep(said);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        let read = self.from.read_until(0, &mut bytes);
        assert!(read.is_ok_and(|n| n > 0), "Chromium has ended");
        bytes.pop();
        let said = serde_json::from_slice(&bytes).expect("Chromium speaks JSON");
        self.complaints.extend(complaint(&said, &self.origin));
        if said["method"] == json!("Target.attachedToTarget")
            && said["params"]["waitingForDebugger"] == json!(true)
        {
            self.greet(&said["params"]);
        }
        said
    }

    /// Has a new frame or worker tell what it does, then begin. Nobody waits for the answers: this may be read while
    /// another answer is awaited that comes only after it has begun.
    fn greet(&mut self, attached: &Value) {
        let session = text(&attached["sessionId"]);
        for domain in TELLING {
            self.send(&session, &format!("{domain}.enable"), &json!({}));
        }
        self.send(&session, "Runtime.runIfWaitingForDebugger", &json!({}));
        if attached["targetInfo"]["type"] == json!("iframe") {
            self.frames.push(session);
        }
    }

    /// The value of an expression in the page; a promise is waited for.
    ///
    /// # Panics
    /// If it throws.
    pub fn eval(&mut self, expression: &str) -> Value {
        value_of(
            expression,
            self.call("Runtime.evaluate", &evaluate(expression)),
        )
    }

    /// The value of an expression in the newest frame of the page that is a process of its own.
    ///
    /// # Panics
    /// If it throws.
    pub fn eval_in_frame(&mut self, expression: &str) -> Value {
        while self.frames.is_empty() {
            self.event("Target.attachedToTarget");
        }
        let frame = self.frames.last().cloned().unwrap_or_default();
        value_of(
            expression,
            self.call_in(&frame, "Runtime.evaluate", &evaluate(expression)),
        )
    }

    /// Waits until an expression is true in the page.
    pub fn wait_for(&mut self, condition: &str) {
        self.eval(&until(condition));
    }

    /// Waits until an expression is true in the frame within the page.
    pub fn wait_in_frame_for(&mut self, condition: &str) {
        self.eval_in_frame(&until(condition));
    }

    /// Presses and releases a key by its name (`Tab`, `Enter`, `ArrowDown`, ` `).
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            " " => (32, " "),
            "Tab" => (9, ""),
            "ArrowDown" => (40, ""),
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut pressed = json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
            if kind == "keyDown" && !text.is_empty() {
                pressed["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", &pressed);
        }
    }

    /// Presses a key for each character of a text.
    pub fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            self.press(&character.to_string());
        }
    }

    /// Presses Tab until the element that `selector` names has the focus.
    ///
    /// # Panics
    /// If it cannot be reached.
    pub fn tab_to(&mut self, selector: &str) {
        let is_there = format!(
            "document.activeElement === document.querySelector({})",
            json!(selector)
        );
        for _ in 0..MAX_STOPS {
            if self.eval(&is_there) == json!(true) {
                return;
            }
            self.press("Tab");
        }
        panic!("{selector} cannot be reached with the keyboard");
    }

    /// Answers the dialog that a press of Enter on the field for files opens.
    pub fn choose_files(&mut self, files: &[PathBuf]) {
        self.call(
            "Page.setInterceptFileChooserDialog",
            &json!({"enabled": true}),
        );
        self.press("Enter");
        let opened = self.event("Page.fileChooserOpened");
        let files: Vec<String> = files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        let chosen = json!({"files": files, "backendNodeId": opened["backendNodeId"]});
        self.call("DOM.setFileInputFiles", &chosen);
    }

    /// What pages logged, threw, was refused by its policy, or asked other machines for, up to now.
    pub fn complaints(&mut self) -> &[String] {
        // What was said before this answer has been read then.
        self.eval("0");
        &self.complaints
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        // A browser that is gone already is as good.
        drop(self.browser.kill());
        drop(self.browser.wait());
    }
}

/// Lets the browser reach one host, which it has by its address; the last such option holds.
fn reachable(origin: &str) -> Option<String> {
    let (_, host) = origin.split_once("//")?;
    let host = host.split([':', '/']).next()?;
    Some(format!(
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE {host}"
    ))
}

/// More than any page of ours has places where Tab stops.
pub(crate) const MAX_STOPS: usize = 400;

fn evaluate(expression: &str) -> Value {
    json!({"expression": expression, "awaitPromise": true, "returnByValue": true})
}

fn value_of(expression: &str, mut said: Value) -> Value {
    let thrown = &said["exceptionDetails"];
    assert!(thrown.is_null(), "{expression}: {thrown}");
    said["result"]["value"].take()
}

fn until(condition: &str) -> String {
    format!(
        "new Promise((done) => {{ const look = () => ({condition}) ? done(true) : setTimeout(look, 20); look(); }})"
    )
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// What of an event no quiet page of `origin` does.
fn complaint(event: &Value, origin: &str) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.consoleAPICalled" => Some(format!("console: {}", params["args"])),
        "Runtime.exceptionThrown" => Some(format!("thrown: {}", params["exceptionDetails"])),
        "Log.entryAdded" => Some(format!("log: {}", params["entry"])),
        "Network.requestWillBeSent" => {
            let url = text(&params["request"]["url"]);
            let own = ["file:", "blob:", "data:", "about:"];
            let is_own = own.iter().any(|scheme| url.starts_with(scheme));
            let is_own = is_own || (!origin.is_empty() && url.starts_with(origin));
            (!is_own).then(|| format!("request: {url}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_another_machine_is_a_complaint_and_the_page_itself_is_not() {
        let request = |url: &str, origin: &str| {
            let params = json!({"request": {"url": url}});
            let event = json!({"method": "Network.requestWillBeSent", "params": params});
            complaint(&event, origin)
        };
        assert_eq!(request("file:///tmp/page.html", ""), None);
        assert_eq!(
            request("https://example.org/a", "").unwrap(),
            "request: https://example.org/a"
        );
        let own = "http://127.0.0.1:5380/";
        assert_eq!(request("http://127.0.0.1:5380/events", own), None);
        assert!(request("http://127.0.0.1:53801/events", own).is_some());
        let logged = json!({"method": "Log.entryAdded", "params": {"entry": "x"}});
        assert!(complaint(&logged, own).is_some());
    }

    #[test]
    #[ignore = "needs chromium"]
    fn a_page_is_driven_by_keys_and_what_it_complains_of_is_heard() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("page.html");
        let html = "<button id=a onclick='console.error(1)'>a</button><p>x</p>";
        std::fs::write(&file, html).unwrap();
        let mut page = Driven::open(&file, "globalThis.before = 7;", &[]);
        assert_eq!(page.eval("before"), json!(7));
        assert_eq!(page.complaints(), [""; 0]);
        page.tab_to("#a");
        page.press("Enter");
        assert_eq!(page.complaints().len(), 1);
        page.eval("navigator.sendBeacon('http://example.invalid/a')");
        page.event("Network.requestWillBeSent");
        assert!(
            page.complaints()
                .iter()
                .any(|one| one.contains("example.invalid"))
        );
    }
}
