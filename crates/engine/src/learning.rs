//! Which addresses a device between two ports has learned (RFC 2889 §5.7 and §5.8), with two ports in place of three.
//!
//! ```text
//!   teach:  port A ── from address i, to port B ──► device          it learns that address i is at port A
//!   probe:  port A ── to address i ──► device ──► port B ?          known: filtered; unknown: flooded, and comes to port B
//! ```
//! A switch sends no frame back to the port that it came from, so what arrives at port B is what it did not know. A probe that
//! is lost would look like one that was filtered: among the probes are frames to addresses that were never taught, which all
//! have to arrive.

use crate::datapaths::packet_path::is_full;
use crate::error::{EngineError, Result};
use linerate_model::{BitRate, ByteCount, Clock as _, PacketRate};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink};
use linerate_sys::packet::{BATCH, FrameSender, PacketRing, Promiscuous, RingLayout};
use linerate_wire::schedule::{Due, Schedule};
use std::io::{self, IoSlice};
use std::time::Duration;

/// A set of addresses, of which no other set has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSet {
    /// Number of the set.
    pub set: u8,
    /// Addresses of it.
    pub count: u32,
}

/// What was sent to teach addresses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taught {
    /// Frames per second, from the first to the last.
    pub rate: PacketRate,
}

/// What a device did with frames to the addresses of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probed {
    /// Addresses whose frame came to the other port: the device did not know them.
    pub flooded: u32,
    /// Place of the first of them in the order in which they were taught.
    pub first_flooded: Option<u32>,
    /// Frames to addresses that were never taught, all of which should arrive.
    pub controls: u32,
    /// Those of them that did not.
    pub controls_lost: u32,
}

/// Two ports of a device, by packet sockets of the calling thread's network.
pub struct AddressPorts {
    sender: FrameSender,
    ring: PacketRing,
    _promiscuous: Promiscuous,
    frame_bytes: usize,
    /// Address of the port at the other side.
    to: [u8; 6],
    /// Token of all frames: those of other programs are no answer.
    token: u32,
}

/// Experimental type of IEEE 802's frames: no stack takes them.
const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// Bytes of addresses, type and of what is known by: token, purpose, set, number.
const HEADER: usize = 14 + 10;
/// Memory of received frames.
const RING_BYTES: u32 = 16 << 20;
/// Frames per second of probes: below what any device that learns forwards.
const PROBE_RATE: f64 = 20_000.0;
/// Probes for each frame to an address that was never taught.
const PROBES_PER_CONTROL: u32 = 16;
/// Time that a batch of frames covers at most.
const WINDOW: Duration = Duration::from_micros(500);
/// Silence after which nothing more is expected.
const SILENCE: Duration = Duration::from_millis(200);

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Teach = 1,
    Probe = 2,
    Control = 3,
}

impl AddressPorts {
    /// Opens ports `a` and `b`, for frames of `frame_bytes` with FCS from `a` to `b`. `token` tells these frames from others.
    ///
    /// # Errors
    /// An interface that is not there, or missing privileges.
    pub fn open(a: &str, b: &str, frame_bytes: u64, token: u32) -> Result<Self> {
        let open = || {
            let [(from, _), (to, mac)] = [link(a)?, link(b)?];
            let frame_bytes = usize::try_from(frame_bytes).unwrap_or(usize::MAX);
            let frame_bytes = frame_bytes.saturating_sub(4).clamp(60, 1514);
            let layout = u32::try_from(frame_bytes).ok();
            let layout = layout.and_then(|bytes| RingLayout::new(bytes, RING_BYTES));
            Ok(Self {
                sender: FrameSender::open(from)?,
                ring: PacketRing::open(to, layout.ok_or(io::ErrorKind::InvalidInput)?)?,
                _promiscuous: Promiscuous::hold(to)?,
                frame_bytes,
                to: mac,
                token,
            })
        };
        open().map_err(|error| EngineError::io("open", &format!("port {a} or {b}"), error))
    }

    /// Sends a frame from each address of the set, at `rate`, or as fast as the sender can. `None` if `go_on` said to stop.
    ///
    /// # Errors
    /// What the interface says when it takes no frames.
    pub fn teach(
        &mut self,
        set: AddressSet,
        rate: Option<PacketRate>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Taught>> {
        let to = self.to;
        let frames = (0..set.count).map(|number| {
            let from = address(set.set, number);
            let (purpose, set) = (Purpose::Teach, set.set);
            LearningFrame {
                to,
                from,
                purpose,
                set,
                number,
            }
        });
        let start = MonoClock.now();
        if !self.send(frames, rate, go_on, &mut |_, _| {})? {
            return Ok(None);
        }
        let took = MonoClock.now().saturating_since(start).as_secs_f64();
        let rate = f64::from(set.count) / took.max(1e-9);
        self.drain(&mut |_, _| {});
        Ok(Some(Taught {
            rate: PacketRate::from_pps(rate),
        }))
    }

    /// Sends a frame to each address of the set and sees which arrive at the other port. `None` if `go_on` said to stop.
    ///
    /// # Errors
    /// What the interface says when it takes no frames.
    pub fn probe(&mut self, set: AddressSet, go_on: &dyn Fn() -> bool) -> Result<Option<Probed>> {
        // Of an address that is known already: a probe teaches nothing.
        let from = address(set.set, 0);
        let controls = set.count.div_ceil(PROBES_PER_CONTROL);
        let frames = (0..set.count).flat_map(|number| {
            let probe = LearningFrame {
                to: address(set.set, number),
                from,
                purpose: Purpose::Probe,
                set: set.set,
                number,
            };
            let control = number / PROBES_PER_CONTROL;
            let beside = LearningFrame {
                to: address(UNTAUGHT ^ set.set, control),
                purpose: Purpose::Control,
                number: control,
                ..probe
            };
            let is_turn = number.is_multiple_of(PROBES_PER_CONTROL);
            is_turn.then_some(beside).into_iter().chain([probe])
        });
        let mut seen = Arrived::new(set, controls);
        let rate = Some(PacketRate::from_pps(PROBE_RATE));
        let mut take = |purpose, number| seen.take(purpose, number);
        if !self.send(frames, rate, go_on, &mut take)? {
            return Ok(None);
        }
        self.drain(&mut |purpose, number| seen.take(purpose, number));
        Ok(Some(seen.result()))
    }

    /// Sends frames on a schedule, and passes those that arrive meanwhile to `take`. Whether all were sent: `go_on` is asked
    /// before each batch.
    fn send(
        &mut self,
        frames: impl Iterator<Item = LearningFrame>,
        rate: Option<PacketRate>,
        go_on: &dyn Fn() -> bool,
        take: &mut dyn FnMut(u8, u32),
    ) -> Result<bool> {
        let frame = ByteCount::new(self.frame_bytes as u64);
        let bits = BitRate::from_f64(rate.map_or(0.0, PacketRate::pps) * frame.as_f64() * 8.0);
        let start = MonoClock.now();
        let mut schedule = Schedule::new(start, bits.bps(), self.frame_bytes, WINDOW, BATCH);
        let mut frames = frames.peekable();
        let mut batch = vec![vec![0; self.frame_bytes]; BATCH];
        while frames.peek().is_some() {
            if !go_on() {
                return Ok(false);
            }
            let now = MonoClock.now();
            let due = match schedule.as_mut().map(|schedule| schedule.due(now)) {
                None => BATCH as u64,
                Some(Due::Now { count, .. }) => count,
                Some(Due::Wait(_)) => 0,
            };
            let mut made = 0;
            for (room, frame) in batch
                .iter_mut()
                .take(usize::try_from(due).unwrap_or(BATCH))
                .zip(&mut frames)
            {
                frame.write(room, self.token);
                made += 1;
            }
            self.send_all(&batch[..made])?;
            if let Some(schedule) = schedule.as_mut().filter(|_| made > 0) {
                schedule.served(now, made as u64);
            }
            self.receive(take);
            if made == 0 {
                std::thread::yield_now();
            }
        }
        Ok(true)
    }

    fn send_all(&self, frames: &[Vec<u8>]) -> Result<()> {
        let slices: Vec<_> = frames.iter().map(|frame| IoSlice::new(frame)).collect();
        let mut left = &slices[..];
        let give_up = MonoClock.now().after(SILENCE);
        while !left.is_empty() {
            match self.sender.send(left) {
                Ok(sent) => left = &left[sent..],
                // A full queue of the interface.
                Err(error) if is_full(&error) && MonoClock.now() < give_up => {
                    std::thread::yield_now();
                }
                Err(error) => {
                    return Err(EngineError::io("send", &"frames with addresses", error));
                }
            }
        }
        Ok(())
    }

    /// Passes what has arrived to `take`; whether it was anything.
    fn receive(&mut self, take: &mut dyn FnMut(u8, u32)) -> bool {
        let (token, mut any) = (self.token, false);
        self.ring.drain(usize::MAX, |frame| {
            if let Some((purpose, number)) = read(frame.bytes, token) {
                any = true;
                take(purpose, number);
            }
        });
        any
    }

    /// Receives until nothing has come for a while.
    fn drain(&mut self, take: &mut dyn FnMut(u8, u32)) {
        let mut quiet_since = MonoClock.now();
        while MonoClock.now().saturating_since(quiet_since) < SILENCE {
            if self.receive(take) {
                quiet_since = MonoClock.now();
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// What came to the other port.
struct Arrived {
    set: AddressSet,
    flooded: Vec<bool>,
    controls: Vec<bool>,
}

impl Arrived {
    fn new(set: AddressSet, controls: u32) -> Self {
        Self {
            flooded: vec![false; set.count as usize],
            controls: vec![false; controls as usize],
            set,
        }
    }

    fn take(&mut self, purpose: u8, number: u32) {
        let of = if purpose == Purpose::Probe as u8 {
            &mut self.flooded
        } else if purpose == Purpose::Control as u8 {
            &mut self.controls
        } else {
            return;
        };
        if let Some(place) = of.get_mut(number as usize) {
            *place = true;
        }
    }

    fn result(&self) -> Probed {
        let count = |places: &[bool], wanted: bool| {
            let all = places.iter().filter(|came| **came == wanted);
            u32::try_from(all.count()).unwrap_or(u32::MAX)
        };
        Probed {
            flooded: count(&self.flooded, true),
            first_flooded: (0..self.set.count)
                .zip(&self.flooded)
                .find_map(|(number, came)| came.then_some(number)),
            controls: u32::try_from(self.controls.len()).unwrap_or(u32::MAX),
            controls_lost: count(&self.controls, false),
        }
    }
}

/// Sets of addresses that are never taught have this bit.
const UNTAUGHT: u8 = 0x80;

/// Address of this number in a set: local, of one station, and as good as random (RFC 4814 §4.3), different for each.
fn address(set: u8, number: u32) -> [u8; 6] {
    // Odd: one to one modulo 2^32.
    const SPREAD: u32 = 0x9e37_79b1;
    let [a, b, c, d] = number.wrapping_mul(SPREAD).to_be_bytes();
    [0x06, set, a, b, c, d]
}

/// A frame that teaches or probes an address.
#[derive(Clone, Copy)]
struct LearningFrame {
    to: [u8; 6],
    from: [u8; 6],
    purpose: Purpose,
    set: u8,
    number: u32,
}

impl LearningFrame {
    fn write(self, frame: &mut [u8], token: u32) {
        frame[..6].copy_from_slice(&self.to);
        frame[6..12].copy_from_slice(&self.from);
        frame[12..14].copy_from_slice(&ETHERTYPE);
        frame[14..18].copy_from_slice(&token.to_be_bytes());
        frame[18..20].copy_from_slice(&[self.purpose as u8, self.set]);
        frame[20..HEADER].copy_from_slice(&self.number.to_be_bytes());
    }
}

/// Purpose and number of a frame with this token.
fn read(frame: &[u8], token: u32) -> Option<(u8, u32)> {
    let header = frame.get(12..HEADER)?;
    let is_ours = header[..2] == ETHERTYPE && header[2..6] == token.to_be_bytes();
    let number = u32::from_be_bytes(header[8..].try_into().ok()?);
    is_ours.then_some((header[6], number))
}

fn link(name: &str) -> io::Result<(InterfaceIndex, [u8; 6])> {
    let name = InterfaceName::new(name).ok_or(io::ErrorKind::InvalidInput)?;
    let link = Netlink::new()?.link_named(&name)?;
    let mac = link.mac().ok_or(io::ErrorKind::Unsupported)?;
    Ok((link.index, mac.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_address_is_of_one_station_and_of_one_set() {
        let sets = [0, 1, UNTAUGHT, UNTAUGHT | 1];
        let all = sets.map(|set| (0..20_000).map(move |number| address(set, number)));
        let distinct: BTreeSet<_> = all.into_iter().flatten().collect();
        assert_eq!(distinct.len(), 80_000);
        assert!(distinct.iter().all(|address| address[0] & 3 == 2));
    }

    #[test]
    fn what_arrives_is_known_by_token_purpose_and_number() {
        let mut frame = vec![0; 60];
        let probe = LearningFrame {
            to: [1; 6],
            from: [2; 6],
            purpose: Purpose::Probe,
            set: 3,
            number: 77,
        };
        probe.write(&mut frame, 0xabcd);
        assert_eq!(read(&frame, 0xabcd), Some((Purpose::Probe as u8, 77)));
        assert_eq!(read(&frame, 0xabce), None);
        assert_eq!(read(&frame[..20], 0xabcd), None);
        let mut seen = Arrived::new(AddressSet { set: 0, count: 100 }, 7);
        for number in [90, 77, 77, 400] {
            seen.take(Purpose::Probe as u8, number);
        }
        (1..7).for_each(|number| seen.take(Purpose::Control as u8, number));
        seen.take(Purpose::Teach as u8, 5);
        let result = seen.result();
        assert_eq!((result.flooded, result.first_flooded), (2, Some(77)));
        assert_eq!((result.controls, result.controls_lost), (7, 1));
    }
}
