//! A host with a TAP device, and behind it the board.

use anyhow::{Context as _, Result, bail};
use linerate_sys::netns::NetNamespace;
use linerate_testkit::child::KilledChild;
use std::io::{BufRead as _, BufReader};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

/// This host's address.
pub(crate) const HOST: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);

/// The board's address.
pub(crate) const BOARD: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

const TAP: &str = "tap0";

/// Moves the calling thread, and what it starts from now on, into a network of its own with a TAP device.
pub(crate) fn enter() -> Result<()> {
    NetNamespace::unshare()?;
    let address = format!("{HOST}/24");
    for words in [
        &["link", "set", "lo", "up"][..],
        &["tuntap", "add", "dev", TAP, "mode", "tap"],
        &["address", "add", &address, "dev", TAP],
        &["link", "set", TAP, "up"],
    ] {
        let status = Command::new("ip").args(words).status();
        let status = status.context("starting ip: install iproute2")?;
        if !status.success() {
            bail!("ip {}: {status}", words.join(" "));
        }
    }
    Ok(())
}

/// The program of `board.c`, running.
pub(crate) struct Board {
    /// Its program, which ends with the value.
    _child: KilledChild,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Board {
    /// Starts it with these words after the program's name; returns when its network is up.
    pub(crate) fn start(program: &Path, words: &[&str]) -> Result<Self> {
        let child = Command::new(program)
            .args(words)
            .env("PRECONFIGURED_TAPIF", TAP)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut child = KilledChild::from(child);
        let out = child.stdout.take().context("its output")?;
        let mut board = Self {
            _child: child,
            lines: BufReader::new(out).lines(),
        };
        board.line("ready")?;
        Ok(board)
    }

    /// The rest of the next line that begins so; what else the port prints is passed over.
    fn line(&mut self, begins: &str) -> Result<String> {
        loop {
            let line = self.lines.next().context("the board ended")??;
            if let Some(rest) = line.strip_prefix(begins) {
                return Ok(rest.trim().to_owned());
            }
        }
    }

    /// What lwiperf's callback is told of the next connection: `received` or `sent`, and its bytes.
    pub(crate) fn report(&mut self) -> Result<(String, u64)> {
        let line = self.line("report ")?;
        let mut words = line.split(' ');
        let kind = words.next().unwrap_or_default().to_owned();
        let bytes = words.next().context("bytes")?.parse()?;
        Ok((kind, bytes))
    }
}
