//! A shell on a terminal that a test looks at, types on and resizes, by `tmux`.
//!
//! Each has a server of its own, which ends with it. tmux is the Debian package `tmux`; tests that use this are
//! `#[ignore]`d as "needs tmux".

use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use std::process::Command;
use std::time::Duration;

/// A terminal with a shell.
#[derive(Debug)]
pub struct Tmux {
    /// Where its server listens; gone with it.
    home: tempfile::TempDir,
}

/// Between two looks at the screen.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A test that waits longer than this is stuck, also on a busy machine.
const STUCK: Duration = Duration::from_mins(2);

impl Tmux {
    /// A terminal of this many columns and rows.
    ///
    /// # Panics
    /// If tmux does not start.
    pub fn new(columns: u16, rows: u16) -> Self {
        let home = tempfile::tempdir().expect("a temporary folder");
        let terminal = Self { home };
        terminal.tmux(&["new-session", "-d", "env PS1='$ ' sh"]);
        // Its line would take a row of the terminal.
        terminal.tmux(&["set-option", "-g", "status", "off"]);
        terminal.resize((columns, rows));
        terminal
    }

    fn tmux(&self, args: &[&str]) -> String {
        let made = Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(self.home.path().join("tmux"))
            .args(["-f", "/dev/null"])
            .args(args)
            .env("LC_ALL", "C.UTF-8")
            .env_remove("TMUX")
            .output()
            .expect("tmux starts (Debian package: tmux)");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "tmux {args:?}: {said}");
        String::from_utf8_lossy(&made.stdout).into_owned()
    }

    /// Types a line and Enter.
    pub fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", "--", text]);
        self.key("Enter");
    }

    /// Presses a key by tmux's name (`q`, `Escape`, `C-c`, `Tab`, `PageUp`).
    pub fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    /// Gives the terminal another size.
    pub fn resize(&self, (columns, rows): (u16, u16)) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// What stands on the screen, a line for each row, without colours.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen is as wanted, and gives it.
    ///
    /// # Panics
    /// If it never is; the message has what it is instead.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        let stuck = MonoClock.now().after(STUCK);
        loop {
            let screen = self.screen();
            if is_there(&screen) {
                return screen;
            }
            assert!(MonoClock.now() < stuck, "{what} does not come:\n{screen}");
            sleep_until(MonoClock.now().after(LOOK_INTERVAL));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.home.path().join("tmux");
        let ended = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .arg("kill-server")
            .output();
        // One that is gone already is as good.
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "needs tmux"]
    fn a_shell_answers_and_its_terminal_has_the_size_asked_for() {
        let terminal = Tmux::new(100, 30);
        terminal.line("stty size; echo do''ne");
        let screen = terminal.wait_for("an answer", |screen| screen.contains("done"));
        assert!(screen.contains("30 100"), "{screen}");
        terminal.resize((120, 40));
        // The shell may be heard of before its terminal's new size is.
        terminal.line("clear; until stty size | grep 40; do sleep 0.1; done");
        terminal.wait_for("the new size", |screen| screen.contains("40 120"));
    }
}
