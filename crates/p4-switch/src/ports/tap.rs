//! TAP: an interface of this host that the port makes; what the host sends there the program receives.

use super::{ETHERNET_HEADER, FrameCounts, Frames, OpenPort, PortError, PortKind};
use super::{is_there, refused};
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use rustix::io::{Errno, read, write};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

const PRIVILEGES: &str = "run as root (CAP_NET_ADMIN)";

#[derive(Debug)]
pub(super) struct Tap;

impl PortKind for Tap {
    fn id(&self) -> &'static str {
        "tap"
    }

    fn summary(&self) -> &'static str {
        "An interface that the port makes and that ends with it; the host and its programs are behind it."
    }

    fn open(&self, name: &InterfaceName) -> Result<OpenPort, PortError> {
        let host = |step| refused(name, step, PRIVILEGES);
        let tap = linerate_sys::tap::Tap::create(name).map_err(host("making a TAP device"))?;
        let mut netlink = Netlink::new().map_err(host("opening a netlink socket"))?;
        let link = netlink.link_named(name).map_err(host("looking it up"))?;
        netlink.set_up(link.index).map_err(host("bringing it up"))?;
        Ok(OpenPort {
            name: name.to_string(),
            datapath: self.id().to_owned(),
            notes: Vec::new(),
            frames: Box::new(Device {
                file: tap.into(),
                buffer: vec![0; (link.mtu_bytes + ETHERNET_HEADER) as usize],
                index: link.index,
                counts: FrameCounts::default(),
            }),
        })
    }
}

#[derive(Debug)]
struct Device {
    file: OwnedFd,
    buffer: Vec<u8>,
    index: InterfaceIndex,
    counts: FrameCounts,
}

impl Frames for Device {
    fn receive(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        for taken in 0..limit {
            match read(&self.file, &mut self.buffer) {
                Ok(length) => take(&self.buffer[..length]),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(taken),
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(limit)
    }

    fn send(&mut self, frame: &[u8]) {
        if frame.len() > self.buffer.len() {
            self.counts.too_long += 1;
        } else if write(&self.file, frame).is_ok() {
            self.counts.sent += 1;
        } else {
            self.counts.send_dropped += 1;
        }
    }

    fn flush(&mut self) {}

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.file.as_fd()]
    }

    fn is_there(&self) -> bool {
        is_there(self.index)
    }

    fn counted(&mut self) -> FrameCounts {
        self.counts
    }
}
