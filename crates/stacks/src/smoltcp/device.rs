//! The TAP device on this process's standard input, as a smoltcp device.

use ::smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use ::smoltcp::time::Instant;
use rustix::io::{read, write};
use rustix::stdio::stdin;
use std::cell::Cell;

/// Maximum frame: an IP packet of 1500 bytes with an Ethernet header.
const FRAME: usize = 1514;

/// Frame counters.
#[derive(Debug, Default)]
pub(super) struct FrameCounts {
    pub(super) received: Cell<u64>,
    pub(super) sent: Cell<u64>,
    pub(super) dropped: Cell<u64>,
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

/// The device.
#[derive(Debug)]
pub(super) struct Tap {
    buffer: [u8; FRAME],
    pub(super) counts: FrameCounts,
}

impl Tap {
    pub(super) fn new() -> Self {
        Self {
            buffer: [0; FRAME],
            counts: FrameCounts::default(),
        }
    }
}

/// A received frame.
pub(super) struct Received<'a>(&'a [u8]);

/// A frame to send.
pub(super) struct Sending<'a>(&'a FrameCounts);

impl Device for Tap {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Sending<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Sending<'_>)> {
        let length = read(stdin(), &mut self.buffer)
            .ok()
            .filter(|length| *length > 0)?;
        add(&self.counts.received);
        Some((Received(&self.buffer[..length]), Sending(&self.counts)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Sending<'_>> {
        Some(Sending(&self.counts))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut can = DeviceCapabilities::default();
        can.medium = Medium::Ethernet;
        can.max_transmission_unit = FRAME;
        can
    }
}

impl RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

impl TxToken for Sending<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let mut frame = [0; FRAME];
        let frame = &mut frame[..length];
        let filled = fill(frame);
        match write(stdin(), frame) {
            Ok(_) => add(&self.0.sent),
            // As on a full link: the stack retransmits if necessary.
            Err(_) => add(&self.0.dropped),
        }
        filled
    }
}
