//! The queueing discipline at the root of an interface.

use super::message::{HEADER, Message, half, word};
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
            Ok(answer) => Ok(parsed(&answer)),
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

/// What an `RTM_NEWQDISC` answer describes.
pub(super) fn parsed(answer: &[u8]) -> Option<Qdisc> {
    const TCMSG: usize = 20;
    const HANDLE: usize = 8;
    if half(answer, 4)? != libc::RTM_NEWQDISC {
        return None;
    }
    let mut made = Qdisc {
        kind: String::new(),
        handle: word(answer, HEADER + HANDLE)?,
        options: Vec::new(),
    };
    let mut at = HEADER + TCMSG;
    while let (Some(length), Some(kind)) = (half(answer, at), half(answer, at + 2)) {
        let length = usize::from(length).max(4);
        let value = answer.get(at + 4..at + length)?;
        match kind {
            libc::TCA_KIND => {
                let text = value.split(|byte| *byte == 0).next()?;
                made.kind = String::from_utf8(text.to_vec()).ok()?;
            }
            libc::TCA_OPTIONS => made.options = value.to_vec(),
            _ => {}
        }
        at += length.next_multiple_of(4);
    }
    (!made.kind.is_empty()).then_some(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queueing_discipline_is_read_as_it_is_written() {
        let mut message = Message::replacement(libc::RTM_NEWQDISC);
        message.qdisc_header(InterfaceIndex(3), 0x8001_0000);
        message.text(libc::TCA_KIND, "fq_codel");
        message.bytes(libc::TCA_OPTIONS, &[8, 0, 2, 0, 1, 0, 0, 0]);
        let bytes = message.finish(1);
        let made = parsed(&bytes).unwrap();
        assert_eq!((made.kind.as_str(), made.handle), ("fq_codel", 0x8001_0000));
        assert_eq!(made.options, [8, 0, 2, 0, 1, 0, 0, 0]);
        assert_eq!(parsed(&bytes[..bytes.len() - 3]), None);
    }
}
