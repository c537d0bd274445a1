//! A page in headless Chromium that is driven as a user would: keys, chosen files, what it says, what it asks for.
//!
//! Speaks Chromium's `DevTools` protocol over a pipe: no port is opened. Tests that use this are `#[ignore]`d as "needs
//! chromium".

use crate::browser::QUIET;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A browser with one page.
#[derive(Debug)]
pub struct Driven {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Number of the last message.
    last: u64,
    /// The page's session.
    session: String,
    /// Sessions of the frames within the page, in the order in which they came, and how many of them were made to tell
    /// what they do.
    frames: Vec<String>,
    handled: usize,
    /// Events that nobody waited for yet.
    events: Vec<Value>,
    /// What the page and its frames complained of, and what they asked other machines for.
    complaints: Vec<String>,
    /// Its profile, gone with it.
    _home: tempfile::TempDir,
}

/// Moves the pipe's ends to where Chromium expects them: commands on 3, answers on 4.
const PIPED: &str = "exec chromium \"$@\" 3<&0 4>&1 1>&2";

impl Driven {
    /// Opens a file in a fresh browser. `before` runs in each document before its own scripts.
    ///
    /// # Panics
    /// If the browser does not start or answer.
    pub fn open(file: &Path, before: &str, options: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let mut browser = Command::new("sh")
            .args(["-c", PIPED, "chromium", "--remote-debugging-pipe"])
            .args(QUIET)
            .args(options)
            .arg(format!("--user-data-dir={}", home.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium starts (Debian package: chromium)");
        let to = browser.stdin.take().expect("a pipe to it");
        let from = BufReader::new(browser.stdout.take().expect("a pipe from it"));
        let mut page = Self {
            browser,
            to,
            from,
            last: 0,
            session: String::new(),
            frames: Vec::new(),
            handled: 0,
            events: Vec::new(),
            complaints: Vec::new(),
            _home: home,
        };
        let target = page.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attached = json!({"targetId": target["targetId"], "flatten": true});
        let attached = page.call("Target.attachToTarget", &attached);
        page.session = text(&attached["sessionId"]);
        page.enable();
        page.call("Page.enable", &json!({}));
        // A frame does nothing before it is made to tell what it does.
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        page.call("Target.setAutoAttach", &attach);
        page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            &json!({"source": before}),
        );
        let url = format!("file://{}", file.display());
        page.call("Page.navigate", &json!({"url": url}));
        page.event("Page.loadEventFired");
        page
    }

    /// Has the page tell what it logs and asks for.
    fn enable(&mut self) {
        for domain in ["Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), &json!({}));
        }
    }

    /// Sends a command, and gives its result.
    ///
    /// # Panics
    /// If Chromium refuses it or is gone.
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        let session = self.session.clone();
        let result = self.call_in(&session, method, params);
        while let Some(frame) = self.frames.get(self.handled).cloned() {
            self.handled += 1;
            for domain in ["Runtime", "Log", "Network"] {
                self.call_in(&frame, &format!("{domain}.enable"), &json!({}));
            }
            self.call_in(&frame, "Runtime.runIfWaitingForDebugger", &json!({}));
        }
        result
    }

    fn call_in(&mut self, session: &str, method: &str, params: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": params});
        if !session.is_empty() {
            message["sessionId"] = json!(session);
        }
        let sent = write!(self.to, "{message}\0").and_then(|()| self.to.flush());
        sent.expect("Chromium reads");
        loop {
            let mut said = self.read();
            if said["id"] == json!(self.last) {
                assert!(said["error"].is_null(), "{method}: {}", said["error"]);
                return said["result"].take();
            }
            self.events.push(said);
        }
    }

    /// Waits for an event; those that came while a command was under way count.
    pub fn event(&mut self, method: &str) -> Value {
        loop {
            let found = self
                .events
                .iter()
                .position(|event| event["method"] == method);
            if let Some(at) = found {
                return self.events.remove(at)["params"].take();
            }
            let said = self.read();
            self.events.push(said);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        let read = self.from.read_until(0, &mut bytes);
        assert!(read.is_ok_and(|n| n > 0), "Chromium has ended");
        bytes.pop();
        let said = serde_json::from_slice(&bytes).expect("Chromium speaks JSON");
        self.complaints.extend(complaint(&said));
        if said["method"] == json!("Target.attachedToTarget")
            && said["params"]["targetInfo"]["type"] == json!("iframe")
        {
            self.frames.push(text(&said["params"]["sessionId"]));
        }
        said
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
        // Has it tell what it does, if it is new.
        self.call("Runtime.evaluate", &evaluate("0"));
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

    /// Presses Tab until the element that `selector` names has the focus.
    ///
    /// # Panics
    /// If it cannot be reached.
    pub fn tab_to(&mut self, selector: &str) {
        /// More than any page of ours has stops.
        const MOST: usize = 200;
        let is_there = format!(
            "document.activeElement === document.querySelector({})",
            json!(selector)
        );
        for _ in 0..MOST {
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

    /// What the page logged, threw, was refused by its policy, or asked other machines for, up to now.
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

/// What of an event no quiet page does.
fn complaint(event: &Value) -> Option<String> {
    let params = &event["params"];
    match event["method"].as_str()? {
        "Runtime.consoleAPICalled" => Some(format!("console: {}", params["args"])),
        "Runtime.exceptionThrown" => Some(format!("thrown: {}", params["exceptionDetails"])),
        "Log.entryAdded" => Some(format!("log: {}", params["entry"])),
        "Network.requestWillBeSent" => {
            let url = text(&params["request"]["url"]);
            let own = ["file:", "blob:", "data:", "about:"];
            let is_own = own.iter().any(|scheme| url.starts_with(scheme));
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
        let request = |url: &str| {
            complaint(
                &json!({"method": "Network.requestWillBeSent", "params": {"request": {"url": url}}}),
            )
        };
        assert_eq!(request("file:///tmp/page.html"), None);
        assert_eq!(
            request("https://example.org/a").unwrap(),
            "request: https://example.org/a"
        );
        assert!(
            complaint(&json!({"method": "Log.entryAdded", "params": {"entry": "x"}})).is_some()
        );
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
