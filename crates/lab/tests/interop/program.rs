//! A foreign program under way.

use anyhow::{Context as _, Result, bail, ensure};
use linerate_model::spec::Transport;
use linerate_testkit::child::KilledChild;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Where ci/need unpacks what is not installed (ci/packages).
const FOREIGN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/foreign/usr/bin/");

/// A program of another component or release of Debian, by its command in ci/packages.
pub(crate) fn unpacked(command: &str) -> String {
    format!("{FOREIGN}{command}")
}

/// What it prints of itself when it is asked by `option`, on both outputs.
pub(crate) fn about(program: &str, option: &str) -> Result<String> {
    /// Of a shell and of the dynamic loader: it cannot be run.
    const CANNOT_RUN: i32 = 127;
    let output = Command::new(program)
        .arg(option)
        .output()
        .with_context(|| format!("{program}: see ci/packages, and run ci/need packages-test"))?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    ensure!(
        output.status.code() != Some(CANNOT_RUN),
        "{program}: {said}"
    );
    Ok(said)
}

/// A program, and what it prints; it ends with this.
pub(crate) struct Program {
    child: KilledChild,
    lines: mpsc::Receiver<String>,
    /// What it prints on standard error.
    errors: mpsc::Receiver<String>,
}

impl Program {
    /// Starts it. Without a terminal most print nothing before they end, unless they are told to or run by `stdbuf -oL`.
    pub(crate) fn start(
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<Self> {
        let child = Command::new(name)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| {
                format!("starting {name}: see ci/packages, and run ci/need packages-test")
            })?;
        let mut child = KilledChild::from(child);
        let lines = lines_of(child.stdout.take().context("its output")?);
        let errors = lines_of(child.stderr.take().context("its errors")?);
        Ok(Self {
            child,
            lines,
            errors,
        })
    }

    /// The next line that is looked for.
    pub(crate) fn await_line(&self, is_it: impl Fn(&str) -> bool) -> Result<String> {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(10));
            let line = line.with_context(|| {
                let errors = self.errors();
                format!("a line of the program's that did not come; its errors: {errors:?}")
            })?;
            if is_it(&line) {
                return Ok(line);
            }
        }
    }

    /// What it printed on standard error, also in its last moment.
    fn errors(&self) -> Vec<String> {
        let next = || self.errors.recv_timeout(Duration::from_millis(200)).ok();
        std::iter::from_fn(next).collect()
    }

    /// Waits until somebody listens there: not every program says so only then.
    pub(crate) fn await_port(&self, address: SocketAddr, transport: Transport) -> Result<()> {
        const LISTENS: &str = "0A";
        let (name, state) = match transport {
            Transport::Tcp => ("tcp", Some(LISTENS)),
            Transport::Udp => ("udp", None),
        };
        let version = if address.is_ipv6() { "6" } else { "" };
        let port = format!(":{:04X}", address.port());
        for _ in 0..1000 {
            let table = std::fs::read_to_string(format!("/proc/self/net/{name}{version}"))?;
            let mut sockets = table
                .lines()
                .map(|line| line.split_whitespace().collect::<Vec<_>>());
            let is_there = sockets.any(|socket| {
                let is_it = socket.get(1).is_some_and(|own| own.ends_with(&port));
                is_it && state.is_none_or(|state| socket.get(3) == Some(&state))
            });
            if is_there {
                return Ok(());
            }
            // What it says meanwhile is of no use.
            let _ = self.lines.recv_timeout(Duration::from_millis(10));
        }
        let errors = self.errors();
        bail!("nobody listens on {address}; the program's errors: {errors:?}")
    }

    /// Ends it as Ctrl-C does; what it printed since.
    pub(crate) fn interrupt(mut self) -> Result<Vec<String>> {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args(["-INT", &pid]).status()?;
        ensure!(killed.success(), "it has ended before");
        let said = self.lines.iter().collect();
        self.child.wait()?;
        Ok(said)
    }
}

/// The lines that come there.
fn lines_of(out: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (say, lines) = mpsc::channel();
    std::thread::spawn(move || {
        // What is printed later must go somewhere, so this goes on when nobody listens.
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            let _ = say.send(line);
        }
    });
    lines
}
