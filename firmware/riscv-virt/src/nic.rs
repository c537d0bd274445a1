//! The machine's network device (virtio).

use crate::dma::Dma;
use core::cell::UnsafeCell;
use core::ops::Range;
use core::ptr::NonNull;
use linerate_board::{BUFFER, Driver};
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport as _};

/// Where the machine has its virtio devices.
const SLOTS: usize = 0x1000_1000;
const SLOT: usize = 0x1000;
const SLOT_COUNT: usize = 8;

/// Frames that wait for the processor.
const BUFFERS: usize = 16;

type Device = VirtIONetRaw<Dma, MmioTransport<'static>, BUFFERS>;

#[repr(C, align(16))]
struct Buffers(UnsafeCell<[[u8; BUFFER]; BUFFERS]>);

// SAFETY: each is the device's or, for the time of one copy, the program's, which has one thread.
unsafe impl Sync for Buffers {}

static RECEIVED: Buffers = Buffers(UnsafeCell::new([[0; BUFFER]; BUFFERS]));

/// The device.
pub(crate) struct Virtio {
    device: Device,
    /// What the device calls each buffer that it has.
    tokens: [u16; BUFFERS],
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

impl Virtio {
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
        Some(Self { device, tokens })
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
}

impl Driver for Virtio {
    fn take(&mut self, frame: &mut [u8; BUFFER]) -> Option<Range<usize>> {
        let token = self.device.poll_receive()?;
        let at = self.tokens.iter().position(|known| *known == token)?;
        // SAFETY: the device has given it back.
        let buffer = unsafe { buffer(at) };
        // SAFETY: it is the one that was handed over for this token.
        let (header, length) = unsafe { self.device.receive_complete(token, buffer) }.ok()?;
        frame.copy_from_slice(buffer);
        // SAFETY: it is not touched before the device gives it back.
        self.tokens[at] = unsafe { self.device.receive_begin(buffer) }.ok()?;
        Some(header..header + length)
    }

    /// Its queue is empty, since each frame is waited for.
    fn has_room(&mut self) -> bool {
        true
    }

    fn send(&mut self, frame: &[u8]) -> bool {
        self.device.send(frame).is_ok()
    }
}
