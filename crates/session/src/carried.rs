//! A control connection over a serial line: a connection within this process, whose bytes a carrier takes over the line.
//!
//! ```text
//!   driver ── TCP over loopback ── [ carrier ] ── serial line ── [ carrier ] ── TCP over loopback ── driver
//! ```

use anyhow::{Context as _, Result, bail};
use linerate_model::Clock as _;
use linerate_peers::carrier::{Carried, Carrier};
use linerate_sys::clock::MonoClock;
use linerate_sys::serial::SerialLine;
use linerate_sys::tcp::wait_readable;
use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Timeout of a session over a console, at either end: a report of 100 kB takes half of it at 9600 baud.
pub const CONSOLE_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum wait: bounds the delay of a stop.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Wait while the line accepts no bytes.
const FULL_WAIT: Duration = Duration::from_millis(5);

/// Both ends of a TCP connection within this process.
pub fn connection_pair() -> Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("listening on loopback")?;
    let near = TcpStream::connect(listener.local_addr()?).context("connecting over loopback")?;
    let (far, from) = listener.accept().context("connecting over loopback")?;
    if from != near.local_addr()? {
        bail!("another program of this host connected to a port of loopback just then; try again");
    }
    Ok((near, far))
}

/// One end of a carrier link over a serial line.
pub struct ConsoleLink {
    line: SerialLine,
    carrier: Carrier,
    /// Bytes that the line has not accepted yet.
    outbox: VecDeque<u8>,
}

impl ConsoleLink {
    /// Runs `carrier` over `line`.
    pub fn new(line: SerialLine, carrier: Carrier) -> Self {
        Self {
            line,
            carrier,
            outbox: VecDeque::new(),
        }
    }

    /// Waits until the peer opens the stream; `false` if it never does, or `stop` is set.
    pub fn wait_for_opening(&mut self, stop: &AtomicBool) -> Result<bool> {
        while !stop.load(Ordering::Relaxed) {
            self.speak()?;
            if self.carrier.is_open() {
                return Ok(true);
            }
            if self.carrier.poll_carried() == Some(Carried::Over) {
                return Ok(false);
            }
            self.hear(None)?;
        }
        Ok(false)
    }

    /// Carries `stream` in both directions, until both ends have closed it, the link is over, or `stop` is set.
    pub fn carry(&mut self, stream: &TcpStream, stop: &AtomicBool) -> Result<()> {
        let carried = self.carry_all(stream, stop);
        // Makes the end visible at the other side of `stream`.
        let _ = stream.shutdown(Shutdown::Both);
        carried
    }

    fn carry_all(&mut self, mut stream: &TcpStream, stop: &AtomicBool) -> Result<()> {
        let mut has_ended = false;
        while !stop.load(Ordering::Relaxed) {
            self.speak()?;
            while let Some(carried) = self.carrier.poll_carried() {
                match carried {
                    // If the stream is closed, the next read shows it.
                    Carried::Bytes(bytes) => drop(stream.write_all(&bytes)),
                    Carried::Closed => drop(stream.shutdown(Shutdown::Write)),
                    Carried::Over => return Ok(()),
                }
            }
            let takes = (!has_ended && self.carrier.has_room()).then_some(stream);
            if !self.hear(takes)? {
                continue;
            }
            let mut bytes = [0; 1024];
            match stream.read(&mut bytes) {
                Ok(length) if length > 0 => self.carrier.send(&bytes[..length]),
                _ => {
                    has_ended = true;
                    self.carrier.close();
                }
            }
        }
        Ok(())
    }

    /// Writes pending bytes, as far as the line accepts them.
    fn speak(&mut self) -> Result<()> {
        while let Some(bytes) = self.carrier.poll_line(MonoClock.now()) {
            self.outbox.extend(bytes);
        }
        while !self.outbox.is_empty() {
            let written = self.line.write(self.outbox.as_slices().0);
            let written = written.context("writing to the serial line")?;
            if written == 0 {
                break;
            }
            self.outbox.drain(..written);
        }
        Ok(())
    }

    /// Waits for the line, for `stream`, or for a timer, and takes what arrived on the line. Returns whether `stream`
    /// is readable.
    fn hear(&mut self, stream: Option<&TcpStream>) -> Result<bool> {
        let due = self.carrier.deadline().saturating_since(MonoClock.now());
        let most = if self.outbox.is_empty() {
            POLL_INTERVAL
        } else {
            FULL_WAIT
        };
        let mut watched = vec![self.line.as_fd()];
        watched.extend(stream.map(TcpStream::as_fd));
        let readable = wait_readable(&watched, due.min(most)).context("waiting for the line")?;
        if readable[0] {
            let mut bytes = [0; 1024];
            match self
                .line
                .read(&mut bytes)
                .context("reading from the serial line")?
            {
                Some(0) => bail!("the serial line is gone"),
                Some(length) => self.carrier.hear(MonoClock.now(), &bytes[..length]),
                None => {}
            }
        }
        Ok(readable.get(1) == Some(&true))
    }
}
