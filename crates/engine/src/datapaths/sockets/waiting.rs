//! How socket calls wait: asleep in the kernel, spinning, or busy-polling the device.
//!
//! Busy polling needs a device queue that can be polled (NAPI): loopback and most virtual devices have none, and then
//! it waits like `block`. That, and every option that the kernel refused, is reported at the end.

use super::{CALL_LIMIT, host};
use crate::datapaths::PathDiagnostics;
use crate::error::{EngineError, Result};
use linerate_model::spec::WaitMode;
use linerate_sys::epoll::{BusyEpoll, BusyPoll};
use linerate_sys::failure::{Failure, FailureClass};
use linerate_sys::sockopt;
use linerate_sys::tcp;
use linerate_sys::udp::Blocking;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// Busy-poll time per call; the value recommended by the kernel's documentation.
const BUSY_POLL: Duration = Duration::from_micros(50);

/// Packets per poll: the kernel's own budget, and the maximum without privileges.
const POLL_BUDGET_PACKETS: u16 = 64;

/// Wait mode of one socket's calls.
pub(super) struct Waiting {
    blocking: Blocking,
    epoll: Option<BusyEpoll>,
    is_polling: bool,
    /// Polls in one [`take`](Self::take), where calls do not sleep.
    looks: u32,
    refused: Vec<String>,
}

impl Waiting {
    /// Sets timeouts and busy polling of `socket`.
    pub(super) fn of<S: AsFd>(socket: &S, wait: WaitMode, epoll: bool) -> Result<Self> {
        let timeouts = sockopt::set_send_timeout(socket, CALL_LIMIT)
            .and_then(|()| sockopt::set_receive_timeout(socket, CALL_LIMIT));
        timeouts.map_err(|e| EngineError::io("set timeouts of", &"a data socket", e))?;
        let mut waiting = Self {
            blocking: match wait {
                WaitMode::Spin => Blocking::No,
                WaitMode::Block | WaitMode::BusyPoll => Blocking::Yes,
            },
            epoll: None,
            is_polling: wait == WaitMode::BusyPoll,
            looks: 1,
            refused: Vec::new(),
        };
        match wait {
            WaitMode::BusyPoll if epoll => waiting.poll_by_epoll(socket)?,
            WaitMode::BusyPoll => waiting.poll_by_socket(socket)?,
            WaitMode::Block | WaitMode::Spin => {}
        }
        Ok(waiting)
    }

    fn poll_by_socket<S: AsFd>(&mut self, socket: &S) -> Result<()> {
        let remedy = "run as root or give CAP_NET_ADMIN, or wait by epoll-busy-poll or spin";
        sockopt::set_busy_poll(socket, BUSY_POLL).map_err(host("SO_BUSY_POLL", remedy))?;
        self.note(
            sockopt::prefer_busy_poll(socket),
            "SO_PREFER_BUSY_POLL: the device's interrupts compete with the polling",
        );
        self.note(
            sockopt::set_busy_poll_budget(socket, POLL_BUDGET_PACKETS),
            "SO_BUSY_POLL_BUDGET: polls take as many packets as this kernel's default",
        );
        Ok(())
    }

    fn poll_by_epoll<S: AsFd>(&mut self, socket: &S) -> Result<()> {
        let wanted = BusyPoll {
            time: BUSY_POLL,
            budget: POLL_BUDGET_PACKETS,
            preferred: true,
        };
        let remedy = "use Linux 6.9 or later, or wait by busy-poll or spin";
        let epoll = BusyEpoll::open(socket, wanted).map_err(host("EPIOCSPARAMS", remedy))?;
        self.epoll = Some(epoll);
        Ok(())
    }

    fn note(&mut self, outcome: io::Result<()>, what: &str) {
        if let Err(error) = outcome {
            self.refused
                .push(format!("the kernel refused {what} ({error})"));
        }
    }

    /// Whether sending calls may sleep.
    pub(super) const fn blocking(&self) -> Blocking {
        self.blocking
    }

    /// Runs a receiving call according to the wait mode.
    pub(super) fn receive<T>(
        &self,
        mut call: impl FnMut(Blocking) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(epoll) = &self.epoll else {
            return call(self.blocking);
        };
        match call(Blocking::No) {
            Err(failure) if failure.class() == FailureClass::WouldBlock => {
                let waited = epoll.wait(CALL_LIMIT);
                waited.map_err(|error| Failure::from_io("epoll_wait", &error))?;
                call(Blocking::No)
            }
            result => result,
        }
    }

    /// Makes each [`take`](Self::take) poll `looks` times from now on; false if its calls sleep.
    pub(super) const fn spin(&mut self, looks: u32) -> bool {
        let spins = matches!(self.blocking, Blocking::No);
        if spins {
            self.looks = looks;
        }
        spins
    }

    /// Whether one call polls several times.
    const fn is_spinning(&self) -> bool {
        self.looks > 1
    }

    /// Reads what has arrived at `socket`.
    #[inline]
    pub(super) fn take<S: AsFd>(&self, socket: &S, room: &mut [u8]) -> Result<usize, Failure> {
        if self.is_spinning() {
            return tcp::receive_spinning(socket, room, self.looks);
        }
        self.receive(|blocking| tcp::receive(socket, room, blocking))
    }

    /// Options that were refused, and whether there was a device queue to poll.
    pub(super) fn diagnostics<S: AsFd>(&mut self, socket: S) -> PathDiagnostics {
        let mut notes = std::mem::take(&mut self.refused);
        if self.is_polling {
            match sockopt::incoming_queue(socket) {
                Ok(Some(_)) => {}
                Ok(None) => notes.push(
                    "busy polling had nothing to poll: messages came from a device without a NAPI queue, such as loopback or veth, so this waited like block"
                        .to_owned(),
                ),
                Err(error) => notes.push(format!(
                    "whether busy polling had a device to poll is not known (SO_INCOMING_NAPI_ID: {error})"
                )),
            }
        }
        PathDiagnostics {
            helper_cpu: None,
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn epoll_takes_what_comes_and_says_that_loopback_has_nothing_to_poll() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut waiting = Waiting::of(&socket, WaitMode::BusyPoll, true).unwrap();
        let receive = |blocking| tcp::receive(&socket, &mut [0; 9], blocking);
        assert_eq!(waiting.receive(receive).unwrap_err().name(), "EAGAIN");
        socket
            .send_to(b"word", socket.local_addr().unwrap())
            .unwrap();
        assert_eq!(waiting.receive(receive), Ok(4));
        let notes = waiting.diagnostics(&socket).notes;
        assert!(
            notes.iter().any(|note| note.contains("like block")),
            "{notes:?}"
        );
    }

    #[test]
    fn other_ways_to_wait_have_nothing_to_say() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for wait in [WaitMode::Block, WaitMode::Spin] {
            let mut waiting = Waiting::of(&socket, wait, false).unwrap();
            assert_eq!(waiting.diagnostics(&socket), PathDiagnostics::default());
        }
    }
}
