//! The kernel's sockets by `io_uring`: the next receive is under way while a message is sent, and its
//! completion is looked for in memory instead of by a system call for each look.
//!
//! With `sqpoll` a thread of the kernel takes what is to be sent from memory too, so that a message costs
//! this thread no system call; that thread spins as well, and its time is reported beside this one's.
//!
//! One datagram per call: made for ping-pong. Other traffic runs on it, at its price.

use super::{
    Arrivals, Availability, Buffers, CALL_LIMIT, DatagramPath, DatapathKind, ModeDef, Nagle,
    ParamDef, PathDiagnostics, PathSetup, Span, StreamPath, refuse_unknown,
};
use crate::error::{EngineError, Result};
use linerate_model::spec::{TestSpec, WaitMode};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::udp::Blocking;
use linerate_sys::uring::{self, ROOM, Submission, UringSocket};
use linerate_sys::{sockopt, tcp};
use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, UdpSocket};
use std::os::fd::OwnedFd;

/// The kernel's sockets by `io_uring`.
pub(super) struct IoUring;

fn submission(params: &BTreeMap<String, String>) -> Result<Submission> {
    match params.get("sqpoll").map(String::as_str) {
        None | Some("false") => Ok(Submission::Calls),
        Some("true") => Ok(Submission::KernelThread),
        Some(other) => Err(EngineError::plan(
            "sqpoll",
            &other,
            "it takes true or false",
        )),
    }
}

impl DatapathKind for IoUring {
    fn id(&self) -> &'static str {
        "io-uring"
    }

    fn summary(&self) -> &'static str {
        "The kernel's sockets by io_uring: completions are looked for in memory."
    }

    fn params(&self) -> &'static [ParamDef] {
        &[ParamDef {
            name: "sqpoll",
            values: "true|false",
            summary: "Let a thread of the kernel take submissions (IORING_SETUP_SQPOLL).",
        }]
    }

    fn modes(&self) -> Vec<ModeDef> {
        vec![
            ModeDef {
                name: "io-uring",
                wait: WaitMode::Spin,
                params: &[],
                summary: "Poll io_uring's completions in memory; costs a whole core at each end.",
            },
            ModeDef {
                name: "io-uring-sqpoll",
                wait: WaitMode::Spin,
                params: &[("sqpoll", "true")],
                summary: "The same without system calls: a kernel thread submits; costs two cores at each end.",
            },
        ]
    }

    fn availability(&self) -> Availability {
        match uring::available() {
            Ok(()) => Availability::Available,
            Err(error) => missing(&error, uring::disabled()),
        }
    }

    fn check(&self, spec: &TestSpec) -> Result<()> {
        refuse_unknown(self, spec)?;
        submission(&spec.datapath.params)?;
        if spec.wait == WaitMode::BusyPoll {
            let why = "io_uring waits by block or spin";
            return Err(EngineError::plan("wait", &"busy-poll", why));
        }
        Ok(())
    }

    fn datagrams(&self, socket: UdpSocket, setup: &PathSetup<'_>) -> Result<Box<dyn DatagramPath>> {
        let socket = open(socket.into(), setup)?;
        Ok(Box::new(Datagrams {
            socket,
            payload: setup.payload,
            span: Span::default(),
            has_thread: submission(setup.params)? == Submission::KernelThread,
        }))
    }

    fn stream(&self, socket: TcpStream, setup: &PathSetup<'_>) -> Result<Box<dyn StreamPath>> {
        if setup.nagle == Nagle::Off {
            sockopt::set_no_delay(&socket)
                .map_err(|e| EngineError::io("set TCP_NODELAY on", &"a data socket", e))?;
        }
        sockopt::set_send_timeout(&socket, CALL_LIMIT)
            .map_err(|e| EngineError::io("set timeouts of", &"a data socket", e))?;
        let failed = |e| EngineError::io("name twice", &"a data socket", e);
        let control = socket.try_clone().map_err(failed)?;
        Ok(Box::new(Stream {
            socket: open(socket.into(), setup)?,
            control,
            waiting: Vec::with_capacity(ROOM),
            at: 0,
            is_over: false,
            blocking: blocking(setup.wait),
            has_thread: submission(setup.params)? == Submission::KernelThread,
        }))
    }
}

const fn blocking(wait: WaitMode) -> Blocking {
    match wait {
        WaitMode::Block | WaitMode::BusyPoll => Blocking::Yes,
        WaitMode::Spin => Blocking::No,
    }
}

fn open(socket: OwnedFd, setup: &PathSetup<'_>) -> Result<UringSocket> {
    let submission = submission(setup.params)?;
    let opened = UringSocket::open(socket, submission, blocking(setup.wait));
    opened.map_err(|error| match missing(&error, uring::disabled()) {
        Availability::Available => EngineError::io("make", &"a ring of io_uring", error),
        Availability::Missing { why, .. } => EngineError::Host {
            what: "making a ring of io_uring".to_owned(),
            why,
            remedy: REMEDY,
        },
    })
}

/// Advice where the cause is not known.
const REMEDY: &str = "leave io-uring out of --wait, or allow io_uring on this host: sysctl kernel.io_uring_disabled=0, and no seccomp filter of a container against it";

/// Why no ring can be created, from the error and `kernel.io_uring_disabled`.
fn missing(error: &io::Error, disabled: Option<u8>) -> Availability {
    let why = match (error.kind(), disabled) {
        (io::ErrorKind::PermissionDenied, Some(2)) => {
            "io_uring is switched off on this host (kernel.io_uring_disabled = 2)".to_owned()
        }
        (io::ErrorKind::PermissionDenied, Some(1)) => {
            "io_uring is for privileged processes only on this host (kernel.io_uring_disabled = 1)"
                .to_owned()
        }
        (io::ErrorKind::PermissionDenied, _) => {
            "io_uring is refused, probably by the seccomp filter of a container".to_owned()
        }
        (io::ErrorKind::Unsupported, _) => format!("there is no io_uring here: {error}"),
        _ => format!("io_uring cannot be used: {error}"),
    };
    Availability::Missing {
        why,
        remedy: REMEDY.to_owned(),
    }
}

/// What the ring used, and what the kernel lacks.
fn diagnostics(socket: &UringSocket, has_thread: bool) -> PathDiagnostics {
    let helper_cpu = socket.helper_cpu();
    let mut notes = Vec::new();
    if let Some(lack) = socket.lacks() {
        notes.push(format!(
            "io_uring without {lack}: its completions cost more here"
        ));
    }
    if has_thread && helper_cpu.is_none() {
        notes.push(
            "the CPU time of io_uring's kernel thread is not known, so the cost lacks it"
                .to_owned(),
        );
    }
    PathDiagnostics { helper_cpu, notes }
}

struct Datagrams {
    socket: UringSocket,
    payload: usize,
    span: Span,
    has_thread: bool,
}

impl DatagramPath for Datagrams {
    fn batch(&self) -> usize {
        1
    }

    fn slots(&mut self) -> &mut [u8] {
        &mut self.socket.outgoing()[..self.payload]
    }

    fn set_payload(&mut self, payload: usize) -> bool {
        self.payload = payload.min(ROOM);
        payload <= ROOM
    }

    fn send(&mut self, count: usize) -> Result<usize, Failure> {
        self.socket.send(self.payload).map(|_| count.min(1))
    }

    fn send_empty(&mut self) -> Result<(), Failure> {
        self.socket.send(0).map(drop)
    }

    fn receive(&mut self) -> Result<Arrivals<'_>, Failure> {
        let bytes = self.socket.receive()?;
        self.span.length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        Ok(Arrivals {
            bytes,
            spans: std::slice::from_ref(&self.span),
            overflows: None,
            runs: &[],
            came: None,
        })
    }

    fn overflows(&mut self) -> Option<u64> {
        let drops = sockopt::socket_drops(self.socket.socket());
        drops.ok().map(u64::from)
    }

    fn buffers(&self) -> Buffers {
        Buffers::of(self.socket.socket())
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        diagnostics(&self.socket, self.has_thread)
    }
}

struct Stream {
    socket: UringSocket,
    /// Second handle of the connection, for socket options and shutdown that the ring does not do.
    control: TcpStream,
    /// Received bytes that did not fit the reader's buffer, from `at` on.
    waiting: Vec<u8>,
    at: usize,
    is_over: bool,
    blocking: Blocking,
    has_thread: bool,
}

impl StreamPath for Stream {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Failure> {
        let part = &bytes[..bytes.len().min(ROOM)];
        self.socket.outgoing()[..part.len()].copy_from_slice(part);
        match self.socket.send(part.len()) {
            // The ring does not wait for buffer space; wait on the socket.
            Err(failure)
                if failure.class() == FailureClass::WouldBlock
                    && self.blocking == Blocking::Yes =>
            {
                tcp::send(&self.control, part, Blocking::Yes)
            }
            result => result,
        }
    }

    fn read(&mut self, room: &mut [u8]) -> Result<usize, Failure> {
        if self.at < self.waiting.len() {
            let taken = room.len().min(self.waiting.len() - self.at);
            room[..taken].copy_from_slice(&self.waiting[self.at..self.at + taken]);
            self.at += taken;
            return Ok(taken);
        }
        if self.is_over {
            return Ok(0);
        }
        let bytes = self.socket.receive()?;
        let taken = room.len().min(bytes.len());
        room[..taken].copy_from_slice(&bytes[..taken]);
        self.is_over = bytes.is_empty();
        self.waiting.clear();
        self.waiting.extend_from_slice(&bytes[taken..]);
        self.at = 0;
        Ok(taken)
    }

    fn connection(&self) -> Option<&TcpStream> {
        Some(&self.control)
    }

    fn diagnostics(&mut self) -> PathDiagnostics {
        diagnostics(&self.socket, self.has_thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_for_no_ring_is_told_with_what_to_do() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        for (disabled, said) in [
            (Some(2), "io_uring_disabled = 2"),
            (Some(1), "io_uring_disabled = 1"),
            (Some(0), "seccomp"),
            (None, "seccomp"),
        ] {
            let Availability::Missing { why, remedy } = missing(&denied, disabled) else {
                panic!("{disabled:?} is no reason");
            };
            assert!(why.contains(said), "{why}");
            assert!(remedy.contains("sysctl"), "{remedy}");
        }
        let absent = io::Error::from(io::ErrorKind::Unsupported);
        let Availability::Missing { why, .. } = missing(&absent, None) else {
            panic!("a kernel without it is no reason");
        };
        assert!(why.contains("no io_uring"), "{why}");
    }

    #[test]
    fn parameters_are_read_and_nonsense_is_refused() {
        let of =
            |value: &str| submission(&BTreeMap::from([("sqpoll".to_owned(), value.to_owned())]));
        assert_eq!(of("true").unwrap(), Submission::KernelThread);
        assert_eq!(of("false").unwrap(), Submission::Calls);
        assert!(
            of("maybe")
                .unwrap_err()
                .to_string()
                .contains("true or false")
        );
        assert_eq!(submission(&BTreeMap::new()).unwrap(), Submission::Calls);
    }
}
