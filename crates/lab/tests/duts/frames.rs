//! Numbered frames through a device: how many arrived of those that were sent.

use linerate_model::Clock as _;
use linerate_model::dut::TesterPort;
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, RingLayout};
use linerate_testbed::duts::Dut;
use std::collections::BTreeSet;
use std::io::IoSlice;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// The way of frames through a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    AToB,
    BToA,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::AToB, Self::BToA];

    /// Numbers of the port where frames go in, and of the one where they come out.
    pub(crate) fn ports(self) -> [usize; 2] {
        match self {
            Self::AToB => [0, 1],
            Self::BToA => [1, 0],
        }
    }
}

/// IP version of the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4 from an address that routers' rule sets block.
    Blocked,
    V4,
    V6,
}

/// Sends `count` numbered frames into the device, slower than it forwards, and returns the numbers of those that came
/// out, in order.
pub(crate) fn send_through(dut: &dyn Dut, way: Way, family: Family, count: u32) -> Vec<u32> {
    let arrived = arrivals(dut, way, family, count);
    arrived.into_iter().map(|(number, _)| number).collect()
}

/// The IPv4 source address of a frame that comes out of the device.
pub(crate) fn source_through(dut: &dyn Dut, way: Way) -> Ipv4Addr {
    arrivals(dut, way, Family::V4, 1)[0].1
}

/// Sends `count` frames as fast as the tester can; returns how many came out.
pub(crate) fn flood(dut: &dyn Dut, way: Way, count: u32) -> u64 {
    let [from, to] = way.ports().map(|port| dut.tester().ports()[port].clone());
    let work = move || {
        let sender = FrameSender::open(index_of(&from.interface)).unwrap();
        let layout = RingLayout::new(1514, 64 << 20).unwrap();
        let mut ring = PacketRing::open(index_of(&to.interface), layout).unwrap();
        let frame = frame(&from, &to, Family::V4, 0);
        let batch = [IoSlice::new(&frame); BATCH];
        let (mut left, mut arrived) = (count as usize, 0);
        let mut take = |ring: &mut PacketRing| {
            let before = arrived;
            ring.drain(usize::MAX, |frame| {
                arrived += u64::from(read(frame.bytes).is_some());
            });
            arrived > before
        };
        while left > 0 {
            // The frame that the device had no room for is gone, and counted there.
            let sent = sender.send(&batch[..left.min(BATCH)]).unwrap_or(1);
            left -= sent;
            take(&mut ring);
        }
        let mut deadline = MonoClock.now().after(SILENCE);
        while MonoClock.now() < deadline {
            if take(&mut ring) {
                deadline = MonoClock.now().after(SILENCE);
            }
        }
        assert_eq!(ring.dropped().unwrap().get(), 0, "the tester keeps up");
        arrived
    };
    dut.tester().spawn("flood", work).unwrap().join().unwrap()
}

/// Numbers of the frames that came out, each with the bytes where IPv4 has its source address.
fn arrivals(dut: &dyn Dut, way: Way, family: Family, count: u32) -> Vec<(u32, Ipv4Addr)> {
    let [from, to] = way.ports().map(|port| dut.tester().ports()[port].clone());
    let exchange = move || exchange(&from, &to, family, count);
    let thread = dut.tester().spawn("frames", exchange).unwrap();
    thread.join().unwrap()
}

fn exchange(
    from: &TesterPort,
    to: &TesterPort,
    family: Family,
    count: u32,
) -> Vec<(u32, Ipv4Addr)> {
    let sender = FrameSender::open(index_of(&from.interface)).unwrap();
    let layout = RingLayout::new(1514, 8 << 20).unwrap();
    let mut ring = PacketRing::open(index_of(&to.interface), layout).unwrap();
    let mut arrived = Vec::new();
    let mut take = |ring: &mut PacketRing| {
        ring.drain(usize::MAX, |frame| arrived.extend(read(frame.bytes)));
        arrived.len()
    };
    let all: Vec<u32> = (0..count).collect();
    for batch in all.chunks(BATCH) {
        let frames: Vec<_> = batch
            .iter()
            .map(|number| frame(from, to, family, *number))
            .collect();
        let mut slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
        let mut slices = &mut slices[..];
        while !slices.is_empty() {
            let sent = sender.send(slices).unwrap();
            slices = &mut slices[sent..];
        }
        // The next batch follows when this one is through, or some of it is lost.
        let deadline = MonoClock.now().after(THROUGH);
        let sent = batch.last().map_or(0, |last| *last as usize + 1);
        while take(&mut ring) < sent && MonoClock.now() < deadline {
            std::thread::yield_now();
        }
    }
    let mut deadline = MonoClock.now().after(SILENCE);
    let mut had = take(&mut ring);
    while had < all.len() && MonoClock.now() < deadline {
        std::thread::yield_now();
        let has = take(&mut ring);
        if has > had {
            deadline = MonoClock.now().after(SILENCE);
        }
        had = has;
    }
    arrived
}

/// Time that a device has for a batch.
const THROUGH: Duration = Duration::from_millis(5);
/// Time without a frame after which none is expected any more.
const SILENCE: Duration = Duration::from_secs(1);

fn index_of(name: &str) -> InterfaceIndex {
    let name = InterfaceName::new(name).unwrap();
    Netlink::new().unwrap().link_named(&name).unwrap().index
}

/// Before the number in each frame's payload.
const MARK: &[u8; 8] = b"duttest:";

/// The number of a frame of ours, and the bytes where IPv4 has its source address.
fn read(frame: &[u8]) -> Option<(u32, Ipv4Addr)> {
    let at = frame.windows(MARK.len()).position(|part| part == MARK)? + MARK.len();
    let number = u32::from_be_bytes(frame.get(at..at + 4)?.try_into().unwrap());
    let source: [u8; 4] = frame.get(26..30)?.try_into().unwrap();
    Some((number, source.into()))
}

fn frame(from: &TesterPort, to: &TesterPort, family: Family, number: u32) -> Vec<u8> {
    let mut payload = MARK.to_vec();
    payload.extend(number.to_be_bytes());
    payload.extend([0x5a; 30]);
    let (source, destination): (IpAddr, IpAddr) = match family {
        Family::Blocked => (Ipv4Addr::new(10, 0, 0, 3).into(), to.ipv4.into()),
        Family::V4 => (from.ipv4.into(), to.ipv4.into()),
        Family::V6 => (from.ipv6.into(), to.ipv6.into()),
    };
    let mut bytes = mac_bytes(&from.next_hop);
    bytes.extend(mac_bytes(&from.mac));
    let datagram = udp(source, destination, &payload);
    let length = u16::try_from(datagram.len()).unwrap();
    match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            bytes.extend([0x08, 0x00]);
            let mut header = vec![0x45, 0];
            header.extend((20 + length).to_be_bytes());
            header.extend([0, 0, 0, 0, 64, 17, 0, 0]);
            header.extend(source.octets());
            header.extend(destination.octets());
            let sum = checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            bytes.extend(header);
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            bytes.extend(length.to_be_bytes());
            bytes.extend([17, 64]);
            bytes.extend(source.octets());
            bytes.extend(destination.octets());
        }
        _ => unreachable!("both are of one family"),
    }
    bytes.extend(datagram);
    bytes
}

/// A UDP datagram with its checksum, which connection tracking checks.
fn udp(source: IpAddr, destination: IpAddr, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + payload.len()).unwrap();
    let mut datagram = Vec::new();
    for port in [5301_u16, 5301] {
        datagram.extend(port.to_be_bytes());
    }
    datagram.extend(length.to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let mut pseudo = Vec::new();
    for address in [source, destination] {
        match address {
            IpAddr::V4(address) => pseudo.extend(address.octets()),
            IpAddr::V6(address) => pseudo.extend(address.octets()),
        }
    }
    pseudo.extend([0, 17]);
    pseudo.extend(length.to_be_bytes());
    pseudo.extend(&datagram);
    let sum = checksum(&pseudo);
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    datagram
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let mut sum: u32 = 0;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(u16::from_be_bytes([pair[0], low]));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap()
}

fn mac_bytes(text: &str) -> Vec<u8> {
    let parts = text.split(':');
    parts
        .map(|part| u8::from_str_radix(part, 16).unwrap())
        .collect()
}

/// Numbers from 0 to below `count` that are not among `arrived`.
pub(crate) fn missing(arrived: &[u32], count: u32) -> Vec<u32> {
    let arrived: BTreeSet<_> = arrived.iter().copied().collect();
    (0..count)
        .filter(|number| !arrived.contains(number))
        .collect()
}
