//! What the sockets keep, in one value of fixed size, of which nothing is in a program's file.

use core::mem::MaybeUninit;
use smoltcp::iface::{SocketSet, SocketStorage};
use smoltcp::socket::{tcp, udp};

/// Bytes of a datagram on Ethernet.
const DATAGRAM: usize = 1472;
/// Datagrams that wait to be taken: each is taken when it comes.
const DATAGRAMS_IN: usize = 2;
/// Datagrams that wait for the interface.
const DATAGRAMS_OUT: usize = 4;
/// Bytes of the control connection each way: a specification, and a few messages.
const CONTROL: usize = 2048;
/// Bytes of the data connection each way: four segments, so that one is under way while another is acknowledged.
const STREAM: usize = 4 * 1460;

/// The memory of a node, some 50 KiB.
pub struct Memory<'a> {
    sockets: MaybeUninit<[SocketStorage<'a>; 6]>,
    control: [[[u8; CONTROL]; 2]; 2],
    datagrams: [Datagrams; 2],
    streams: [[[u8; STREAM]; 2]; 2],
    scratch: [u8; DATAGRAM],
}

/// The queues of one UDP socket.
struct Datagrams {
    taken: MaybeUninit<[udp::PacketMetadata; DATAGRAMS_IN]>,
    taken_bytes: [u8; DATAGRAM * DATAGRAMS_IN],
    given: MaybeUninit<[udp::PacketMetadata; DATAGRAMS_OUT]>,
    given_bytes: [u8; DATAGRAM * DATAGRAMS_OUT],
}

impl Datagrams {
    const EMPTY: Self = Self {
        taken: MaybeUninit::uninit(),
        taken_bytes: [0; DATAGRAM * DATAGRAMS_IN],
        given: MaybeUninit::uninit(),
        given_bytes: [0; DATAGRAM * DATAGRAMS_OUT],
    };
}

/// The sockets, and what is beside them.
pub(crate) struct Parts<'a> {
    pub(crate) sockets: SocketSet<'a>,
    /// To serve a client on, and for what is left to say to the one before.
    pub(crate) control: [tcp::Socket<'a>; 2],
    pub(crate) datagrams: [udp::Socket<'a>; 2],
    pub(crate) streams: [tcp::Socket<'a>; 2],
    pub(crate) scratch: &'a mut [u8],
}

impl Default for Memory<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Memory<'a> {
    /// Nothing kept.
    pub const fn new() -> Self {
        Self {
            sockets: MaybeUninit::uninit(),
            control: [[[0; CONTROL]; 2]; 2],
            datagrams: [Datagrams::EMPTY; 2],
            streams: [[[0; STREAM]; 2]; 2],
            scratch: [0; DATAGRAM],
        }
    }

    pub(crate) fn parts(&'a mut self) -> Parts<'a> {
        Parts {
            sockets: SocketSet::new(&mut self.sockets.write([SocketStorage::EMPTY; 6])[..]),
            control: self.control.each_mut().map(stream),
            datagrams: self.datagrams.each_mut().map(datagrams),
            streams: self.streams.each_mut().map(stream),
            scratch: &mut self.scratch,
        }
    }
}

fn stream<const BYTES: usize>([taken, given]: &mut [[u8; BYTES]; 2]) -> tcp::Socket<'_> {
    let [taken, given] = [taken, given].map(|bytes| tcp::SocketBuffer::new(&mut bytes[..]));
    tcp::Socket::new(taken, given)
}

fn datagrams(memory: &mut Datagrams) -> udp::Socket<'_> {
    let taken = memory
        .taken
        .write([udp::PacketMetadata::EMPTY; DATAGRAMS_IN]);
    let given = memory
        .given
        .write([udp::PacketMetadata::EMPTY; DATAGRAMS_OUT]);
    let taken = udp::PacketBuffer::new(&mut taken[..], &mut memory.taken_bytes[..]);
    let given = udp::PacketBuffer::new(&mut given[..], &mut memory.given_bytes[..]);
    udp::Socket::new(taken, given)
}
