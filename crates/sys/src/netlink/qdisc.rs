//! The queueing discipline at the root of an interface.

use super::message::{self, Message};
use super::{InterfaceIndex, Netlink};
use std::io;

/// A queueing discipline as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Qdisc {
    /// Its kind, `fq_codel`.
    pub kind: String,
    /// Its handle; zero if the kernel put it there by itself.
    pub handle: u32,
    /// Its parameters (`TCA_OPTIONS`), as its own code writes them.
    pub options: Vec<u8>,
}

impl Netlink {
    /// The queueing discipline at the root of the interface; `None` if it has none (`noqueue`).
    pub fn root_qdisc(&mut self, index: InterfaceIndex) -> io::Result<Option<Qdisc>> {
        // Of an interface without one the kernel sends nothing at all: the acknowledgement ends the wait.
        let mut message = Message::acknowledged_query(libc::RTM_GETQDISC);
        message.qdisc_header(index, 0);
        // The socket is left with an answer unread, so each question has one of its own.
        match Self::new()?.exchange(message) {
            Ok(answer) => Ok(message::qdisc(&answer)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts `qdisc` at the root of the interface in place of what is there.
    pub fn replace_root_qdisc(&mut self, index: InterfaceIndex, qdisc: &Qdisc) -> io::Result<()> {
        let mut message = Message::replacement(libc::RTM_NEWQDISC);
        message.qdisc_header(index, qdisc.handle);
        message.text(libc::TCA_KIND, &qdisc.kind);
        if !qdisc.options.is_empty() {
            message.bytes(libc::TCA_OPTIONS, &qdisc.options);
        }
        self.request(message)
    }

    /// Takes away what was put at the root of the interface: the kernel puts its own default back.
    pub fn delete_root_qdisc(&mut self, index: InterfaceIndex) -> io::Result<()> {
        let mut message = Message::change(libc::RTM_DELQDISC);
        message.qdisc_header(index, 0);
        self.request(message)
    }
}
