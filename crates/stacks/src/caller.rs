//! A server's side of the socket to the process that started it: its standard output, which it also reads.

use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::stack::StackCounts;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read, write};
use rustix::stdio::stdout;
use std::os::fd::BorrowedFd;

/// First word of the line that requests counts.
pub(crate) const COUNTS: &str = "counts";

/// The process that started this server.
#[derive(Debug, Default)]
pub struct Caller(());

impl Caller {
    /// Reports that the server is ready.
    pub fn ready(&self) -> Result<()> {
        self.say("ready")
    }

    /// Sends the counts.
    pub fn counts(&self, counts: &StackCounts) -> Result<()> {
        let text = serde_json::to_string(counts)
            .map_err(|error| Failure::new(ExitCode::Other, format!("writing counts: {error}")))?;
        self.say(&text)
    }

    /// Waits for a request for counts; returns after how many ended streams, or `None` once the caller is gone.
    pub fn hear(&self) -> Option<u64> {
        let mut line = Vec::new();
        let mut said = [0; 64];
        while !line.contains(&b'\n') {
            match read(stdout(), &mut said) {
                Ok(0) => return None,
                Ok(length) => line.extend(&said[..length]),
                Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
        // The caller waits for the answer, so lines never arrive together.
        let line = std::str::from_utf8(&line).ok()?;
        line.trim().strip_prefix(COUNTS)?.trim().parse().ok()
    }

    /// Whether there is a request, or the caller is gone.
    pub fn is_asking(&self) -> bool {
        let mut polled = [PollFd::from_borrowed_fd(stdout(), PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
    }

    /// Descriptor to wait on before [`hear`](Self::hear).
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        stdout()
    }

    fn say(&self, line: &str) -> Result<()> {
        let text = format!("{line}\n");
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match write(self.descriptor(), rest) {
                Ok(length) => rest = &rest[length..],
                Err(Errno::INTR) => {}
                Err(error) => {
                    let message = format!("answering the process that started the stack: {error}");
                    return Err(Failure::new(ExitCode::Other, message));
                }
            }
        }
        Ok(())
    }
}
