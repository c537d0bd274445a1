//! The console of a running board, on this terminal.

use crate::answer::is_readable;
use crate::tools::lacks;
use crate::{BoardName, Boards};
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::wake::wait;
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd as _};
use std::os::unix::net::UnixStream;

/// The key that leaves the console: Ctrl-], as telnet has it.
const LEAVE: u8 = 0x1d;

/// Connects `input` to the board's console and the console to `output`, until Ctrl-] is typed, the input ends or the
/// board is gone.
pub fn attach(
    boards: &Boards,
    name: &BoardName,
    input: &impl AsFd,
    output: impl Write,
) -> Result<(), Failure> {
    boards.reach(name)?;
    let console = connect(boards, name).map_err(|error| {
        let message = format!("connecting to the console of board {name}: {error}");
        Failure::new(ExitCode::Peer, message)
    })?;
    let raw = RawTerminal::enter(input)
        .map_err(|error| lacks(format!("setting up the terminal: {error}")))?;
    let carried = carry(console, input.as_fd().try_clone_to_owned(), output);
    drop(raw);
    carried.map_err(|error| {
        Failure::new(
            ExitCode::Other,
            format!("the console of board {name}: {error}"),
        )
    })
}

fn connect(boards: &Boards, name: &BoardName) -> io::Result<UnixStream> {
    let folder = File::open(boards.home(name).path)?;
    // Relative to the open folder, since a socket's path is limited to 107 bytes.
    let socket = crate::qemu::CONSOLE_SOCKET;
    UnixStream::connect(format!("/proc/self/fd/{}/{socket}", folder.as_raw_fd()))
}

fn carry(
    mut console: UnixStream,
    input: io::Result<std::os::fd::OwnedFd>,
    mut output: impl Write,
) -> io::Result<()> {
    let mut input = File::from(input?);
    let mut bytes = [0; 4096];
    loop {
        wait([input.as_fd(), console.as_fd()], None)?;
        if is_readable(console.as_fd()) {
            let length = console.read(&mut bytes)?;
            if length == 0 {
                return Ok(());
            }
            output.write_all(&bytes[..length])?;
            output.flush()?;
        }
        if is_readable(input.as_fd()) {
            let length = input.read(&mut bytes)?;
            let typed = &bytes[..length];
            let end = typed.iter().position(|byte| *byte == LEAVE);
            console.write_all(&typed[..end.unwrap_or(length)])?;
            if length == 0 || end.is_some() {
                return Ok(());
            }
        }
    }
}

/// A terminal in raw mode; its settings are restored on drop.
struct RawTerminal<'a, T: AsFd> {
    terminal: &'a T,
    before: Termios,
}

impl<'a, T: AsFd> RawTerminal<'a, T> {
    /// `None` if it is not a terminal.
    fn enter(terminal: &'a T) -> io::Result<Option<Self>> {
        if !isatty(terminal) {
            return Ok(None);
        }
        let before = tcgetattr(terminal)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(terminal, OptionalActions::Now, &raw)?;
        Ok(Some(Self { terminal, before }))
    }
}

impl<T: AsFd> Drop for RawTerminal<'_, T> {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        let _ = tcsetattr(self.terminal, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_reaches_the_board_up_to_the_key_that_leaves() {
        let (console, mut board) = UnixStream::pair().unwrap();
        let (mut user, terminal) = UnixStream::pair().unwrap();
        board.write_all(b"login: ").unwrap();
        user.write_all(b"root\n\x1dnot sent").unwrap();
        let mut shown = Vec::new();
        carry(console, Ok(terminal.into()), &mut shown).unwrap();
        assert_eq!(shown, b"login: ");
        let mut came = String::new();
        board.read_to_string(&mut came).unwrap();
        assert_eq!(came, "root\n");
    }
}
