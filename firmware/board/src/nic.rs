//! A driver of whole frames, as smoltcp takes a network interface.

use core::ops::Range;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// Longest frame without its FCS.
pub const MAX_FRAME: usize = 1514;
/// Room for a frame and what a controller puts before or after it.
pub const BUFFER: usize = 1536;

/// What a board's network controller does.
pub trait Driver {
    /// Takes the next frame into `buffer`; where it lies there, without its FCS.
    fn take(&mut self, buffer: &mut [u8; BUFFER]) -> Option<Range<usize>>;
    /// Whether a frame of any length can be sent.
    fn has_room(&mut self) -> bool;
    /// Sends a frame; whether the controller took it.
    fn send(&mut self, frame: &[u8]) -> bool;
}

/// Frames and bytes without FCS that an interface has received and sent.
#[derive(Debug, Default)]
pub struct Counts {
    /// Frames received.
    pub rx_packets: u64,
    /// Their bytes.
    pub rx_bytes: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Their bytes.
    pub tx_bytes: u64,
}

/// A network interface.
#[derive(Debug)]
pub struct Nic<D> {
    /// Its controller.
    pub driver: D,
    counts: Counts,
    received: [u8; BUFFER],
    transmitted: [u8; MAX_FRAME],
}

impl<D: Driver> Nic<D> {
    /// The interface of this controller.
    pub const fn new(driver: D) -> Self {
        Self {
            driver,
            counts: Counts {
                rx_packets: 0,
                rx_bytes: 0,
                tx_packets: 0,
                tx_bytes: 0,
            },
            received: [0; BUFFER],
            transmitted: [0; MAX_FRAME],
        }
    }

    /// What it has counted.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }
}

/// A frame that came.
#[derive(Debug)]
pub struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

/// Room for a frame.
#[derive(Debug)]
pub struct Room<'a, D> {
    driver: &'a mut D,
    counts: &'a mut Counts,
    frame: &'a mut [u8],
}

impl<D: Driver> phy::TxToken for Room<'_, D> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let frame = &mut self.frame[..length];
        let filled = fill(frame);
        if self.driver.send(frame) {
            self.counts.tx_packets += 1;
            self.counts.tx_bytes += length as u64;
        }
        filled
    }
}

impl<D: Driver> phy::Device for Nic<D> {
    type RxToken<'a>
        = Received<'a>
    where
        D: 'a;
    type TxToken<'a>
        = Room<'a, D>
    where
        D: 'a;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Room<'_, D>)> {
        if !self.driver.has_room() {
            return None;
        }
        let place = self.driver.take(&mut self.received)?;
        let received = self.received.get(place)?;
        self.counts.rx_packets += 1;
        self.counts.rx_bytes += received.len() as u64;
        let room = Room {
            driver: &mut self.driver,
            counts: &mut self.counts,
            frame: &mut self.transmitted,
        };
        Some((Received(received), room))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_, D>> {
        self.driver.has_room().then_some(Room {
            driver: &mut self.driver,
            counts: &mut self.counts,
            frame: &mut self.transmitted,
        })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MAX_FRAME;
        capabilities.max_burst_size = Some(1);
        capabilities
    }
}
