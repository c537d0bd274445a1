//! What a supervisor is asked while its board is up: the link between the board and its host.
//!
//! ```text
//!   caller ──── "hold" LINK, or "keep" LINK or none ──► supervisor
//!          ◄─── the board's record, or why not ────────
//!          ──── end of what it says ──────────────────►    a held link is taken off
//!          ◄─── end of the connection ─────────────────    now it is off
//! ```
//!
//! A held link ends with whoever holds it, however that ends; then the board has the link that was kept, if any.

use crate::answer::{Answer, is_readable, say};
use crate::boards::Record;
use crate::link::BoardNetwork;
use crate::{BoardName, Boards};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::link::EmulatedLink;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// The socket, in the board's folder.
const SOCKET: &str = "control.socket";

/// Timeout of a request: it is sent with the connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// Timeout of a supervisor's answer on a busy host; the kernel may take a second to bring an interface up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// Use this link while the connection is open.
    Hold(EmulatedLink),
    /// Use this link, or none, until the next such request.
    Keep(Option<EmulatedLink>),
}

/// A link that a board has while this value lives.
#[derive(Debug)]
pub struct HeldLink(UnixStream);

impl Drop for HeldLink {
    fn drop(&mut self) {
        // The end of the connection takes the link off. A supervisor that is gone has no link any more.
        let _ = self.0.shutdown(Shutdown::Write);
        let _ = self.0.read(&mut [0]);
    }
}

/// Sets the link of a running board for as long as the value lives.
pub fn hold_link(boards: &Boards, name: &BoardName, link: EmulatedLink) -> Result<HeldLink> {
    ask(boards, name, &Request::Hold(link)).map(|(stream, _)| HeldLink(stream))
}

/// Sets or removes the link of a running board; returns its new record.
pub fn keep_link(boards: &Boards, name: &BoardName, link: Option<EmulatedLink>) -> Result<Record> {
    ask(boards, name, &Request::Keep(link)).map(|(_, record)| record)
}

fn ask(boards: &Boards, name: &BoardName, request: &Request) -> Result<(UnixStream, Record)> {
    boards.reach(name)?;
    let asked = || -> io::Result<(UnixStream, Answer)> {
        let folder = File::open(boards.home(name).path)?;
        let mut stream = UnixStream::connect(by_folder(&folder))?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        writeln!(stream, "{}", serde_json::to_string(request)?)?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        Ok((stream, serde_json::from_str(&line)?))
    };
    let (stream, said) = asked().map_err(|error| {
        let message = format!(
            "asking the supervisor of board {name} for its link: {error}; start the board anew: linerate board down {name}, then board up"
        );
        Failure::new(ExitCode::Peer, message)
    })?;
    said.into_record()
        .map(|record| (stream, record))
        .map_err(|failure| {
            Failure::new(
                failure.code,
                format!("the link of board {name}: {}", failure.message),
            )
        })
}

/// Path relative to the open folder, since a socket's path is limited to 107 bytes.
fn by_folder(folder: &File) -> String {
    format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd())
}

/// The supervisor's end: open requests, and the links that they hold or keep.
pub(crate) struct Control {
    listener: UnixListener,
    network: BoardNetwork,
    kept: Option<EmulatedLink>,
    held: Option<SharedLink>,
}

/// A link that one or more callers hold.
struct SharedLink {
    link: EmulatedLink,
    by: Vec<UnixStream>,
}

impl Control {
    /// Listens in the folder of a board.
    pub(crate) fn listen(folder: &Path, network: BoardNetwork) -> io::Result<Self> {
        // Left by an earlier board of this name that was killed.
        let _ = fs::remove_file(folder.join(SOCKET));
        let folder = File::open(folder)?;
        let listener = UnixListener::bind(by_folder(&folder))?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            network,
            kept: None,
            held: None,
        })
    }

    /// Descriptors to wait on.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let holders = self.held.iter().flat_map(|held| &held.by);
        std::iter::once(self.listener.as_fd()).chain(holders.map(|holder| holder.as_fd()))
    }

    /// Handles pending requests. `note` records the board's link and returns its record.
    pub(crate) fn serve(&mut self, note: &mut dyn FnMut(Option<EmulatedLink>) -> Result<Record>) {
        if let Some(held) = &mut self.held {
            let gone: Vec<_> = held.by.extract_if(.., |holder| has_ended(holder)).collect();
            if held.by.is_empty() {
                self.held = None;
                // Nobody is left to be told of an error; the actual link is recorded in any case.
                let _ = self.network.set(self.kept);
                let _ = note(self.network.link());
            }
            // They see it by the end of their connection.
            drop(gone);
        }
        while let Ok((stream, _)) = self.listener.accept() {
            // A client that has gone, or sends nothing, is ignored.
            if let Ok(request) = request(&stream) {
                self.answer(stream, request, note);
            }
        }
    }

    /// Removes the link after the board's end.
    pub(crate) fn close(&mut self) {
        // The device has ended with QEMU: there is nothing to put back.
        let _ = self.network.set(None);
    }

    fn answer(
        &mut self,
        mut stream: UnixStream,
        request: Request,
        note: &mut dyn FnMut(Option<EmulatedLink>) -> Result<Record>,
    ) {
        let done = self.obey(request);
        let is_held = done.is_ok() && matches!(request, Request::Hold(_));
        let noted = note(self.network.link());
        let said = match done.and(noted) {
            Ok(record) => Answer::Ready(record),
            Err(failure) => Answer::from(&failure),
        };
        say(&mut stream, &said);
        if let Some(held) = self.held.as_mut().filter(|_| is_held) {
            held.by.push(stream);
        }
    }

    fn obey(&mut self, request: Request) -> Result<()> {
        match (request, &self.held) {
            (Request::Hold(link), Some(held)) if held.link == link => {}
            (_, Some(held)) => {
                let message = format!(
                    "it has {} for a test under way; wait for its end",
                    held.link
                );
                return Err(Failure::new(ExitCode::Peer, message));
            }
            (Request::Hold(link), None) => {
                self.network.set(Some(link))?;
                let by = Vec::new();
                self.held = Some(SharedLink { link, by });
            }
            (Request::Keep(link), None) => {
                self.network.set(link)?;
                self.kept = link;
            }
        }
        Ok(())
    }
}

fn request(stream: &UnixStream) -> io::Result<Request> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Whether the holder has closed its end.
fn has_ended(holder: &UnixStream) -> bool {
    // A holder sends nothing after its request, so readable means closed.
    is_readable(holder.as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::tests::record;

    #[test]
    fn a_board_whose_supervisor_does_not_answer_is_a_failed_peer() {
        let folder = tempfile::tempdir().unwrap();
        let boards = Boards::in_folder(folder.path().to_owned());
        let name: BoardName = "a".parse().unwrap();
        let home = boards.make_home(&name).unwrap();
        let _lock = home.hold(&name).unwrap();
        home.keep(&record("a")).unwrap();
        let error = hold_link(&boards, &name, EmulatedLink::default()).unwrap_err();
        assert_eq!(error.code, ExitCode::Peer);
        assert!(error.message.contains("board down a"), "{error}");
    }

    #[test]
    fn who_asks_is_answered_and_a_stranger_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let network = BoardNetwork::direct(crate::network::subnet(1));
        let mut control = Control::listen(folder.path(), network).unwrap();
        let connect = || UnixStream::connect(folder.path().join(SOCKET)).unwrap();
        let (mut stranger, mut caller) = (connect(), connect());
        stranger.write_all(b"no request\n").unwrap();
        let request = serde_json::to_string(&Request::Keep(None)).unwrap();
        writeln!(caller, "{request}").unwrap();
        control.serve(&mut |link| {
            assert_eq!(link, None);
            Ok(record("a"))
        });
        let mut answer = String::new();
        BufReader::new(caller).read_line(&mut answer).unwrap();
        let said: Answer = serde_json::from_str(&answer).unwrap();
        assert_eq!(said.into_record().unwrap(), record("a"));
        assert_eq!(stranger.read(&mut [0]).unwrap(), 0);
    }
}
