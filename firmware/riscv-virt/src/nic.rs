//! The machine's network device (virtio) as smoltcp takes one.

use crate::dma::Dma;
use core::cell::{Cell, UnsafeCell};
use core::ptr::NonNull;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport as _};

/// Where the machine has its virtio devices.
const SLOTS: usize = 0x1000_1000;
const SLOT: usize = 0x1000;
const SLOT_COUNT: usize = 8;

/// Longest frame without its FCS.
const MAX_FRAME: usize = 1514;
/// A frame with the header that the device puts before it.
const BUFFER: usize = 1536;
/// Frames that wait for the processor.
const BUFFERS: usize = 16;

type Device = VirtIONetRaw<Dma, MmioTransport<'static>, BUFFERS>;

#[repr(C, align(16))]
struct Buffers(UnsafeCell<[[u8; BUFFER]; BUFFERS]>);

// SAFETY: each is the device's or, for the time of one copy, the program's, which has one thread.
unsafe impl Sync for Buffers {}

static RECEIVED: Buffers = Buffers(UnsafeCell::new([[0; BUFFER]; BUFFERS]));

/// What the interface has counted.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) rx_packets: Cell<u64>,
    pub(crate) rx_bytes: Cell<u64>,
    pub(crate) tx_packets: Cell<u64>,
    pub(crate) tx_bytes: Cell<u64>,
}

fn add(count: &Cell<u64>, more: usize) {
    count.set(count.get() + more as u64);
}

/// The device.
pub(crate) struct Nic {
    device: Device,
    pub(crate) counts: Counts,
    /// What the device calls each buffer that it has.
    tokens: [u16; BUFFERS],
    frame: [u8; BUFFER],
    transmitted: [u8; MAX_FRAME],
}

/// A receive buffer.
///
/// # Safety
/// The device does not have it, or it is only handed to the device; and no other reference to it is alive.
unsafe fn buffer(at: usize) -> &'static mut [u8] {
    let all = RECEIVED.0.get().cast::<[u8; BUFFER]>();
    let one = all.wrapping_add(at % BUFFERS);
    // SAFETY: within the array, and the caller's word.
    unsafe { &mut *one }
}

impl Nic {
    /// The first network device there is.
    pub(crate) fn find() -> Option<Self> {
        (0..SLOT_COUNT)
            .find_map(|slot| {
                let header = core::ptr::with_exposed_provenance_mut(SLOTS + slot * SLOT);
                let header = NonNull::<VirtIOHeader>::new(header)?;
                // SAFETY: the machine has the registers of a virtio device there, or of an empty slot.
                let transport = unsafe { MmioTransport::new(header, SLOT) }.ok()?;
                (transport.device_type() == DeviceType::Network).then_some(transport)
            })
            .and_then(Self::start)
    }

    fn start(transport: MmioTransport<'static>) -> Option<Self> {
        let mut device = Device::new(transport).ok()?;
        let mut tokens = [0; BUFFERS];
        for (at, token) in tokens.iter_mut().enumerate() {
            // SAFETY: nobody has it yet.
            let buffer = unsafe { buffer(at) };
            // SAFETY: it is not touched before the device gives it back.
            *token = unsafe { device.receive_begin(buffer) }.ok()?;
        }
        Some(Self {
            device,
            counts: Counts::default(),
            tokens,
            frame: [0; BUFFER],
            transmitted: [0; MAX_FRAME],
        })
    }

    /// Its MAC address.
    pub(crate) fn address(&self) -> [u8; 6] {
        self.device.mac_address()
    }

    /// Whether a frame waits.
    pub(crate) fn has_frame(&self) -> bool {
        self.device.poll_receive().is_some()
    }

    /// Lets the interrupt come again.
    pub(crate) fn acknowledge(&mut self) {
        self.device.ack_interrupt();
    }

    /// Takes the next frame, and gives its buffer back; where it lies in `frame`.
    fn take(&mut self) -> Option<core::ops::Range<usize>> {
        let token = self.device.poll_receive()?;
        let at = self.tokens.iter().position(|known| *known == token)?;
        // SAFETY: the device has given it back.
        let buffer = unsafe { buffer(at) };
        // SAFETY: it is the one that was handed over for this token.
        let (header, length) = unsafe { self.device.receive_complete(token, buffer) }.ok()?;
        self.frame.copy_from_slice(buffer);
        // SAFETY: it is not touched before the device gives it back.
        self.tokens[at] = unsafe { self.device.receive_begin(buffer) }.ok()?;
        add(&self.counts.rx_packets, 1);
        add(&self.counts.rx_bytes, length);
        Some(header..header + length)
    }
}

/// A frame that came.
pub(crate) struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, take: F) -> R {
        take(self.0)
    }
}

/// Room for a frame.
pub(crate) struct Room<'a> {
    device: &'a mut Device,
    counts: &'a Counts,
    frame: &'a mut [u8],
}

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let frame = &mut self.frame[..length];
        let filled = fill(frame);
        // Its queue is empty, since each frame is waited for.
        if self.device.send(frame).is_ok() {
            add(&self.counts.tx_packets, 1);
            add(&self.counts.tx_bytes, length);
        }
        filled
    }
}

impl phy::Device for Nic {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Room<'_>)> {
        let place = self.take()?;
        let received = Received(self.frame.get(place)?);
        let room = Room {
            device: &mut self.device,
            counts: &self.counts,
            frame: &mut self.transmitted,
        };
        Some((received, room))
    }

    fn transmit(&mut self, _now: Instant) -> Option<Room<'_>> {
        Some(Room {
            device: &mut self.device,
            counts: &self.counts,
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
