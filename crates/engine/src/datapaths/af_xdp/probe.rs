//! Frames of a test known by what they carry, whatever headers a device has left before it: NAT writes other addresses and
//! ports, and others add or take tags and options.
//!
//! The probe is looked for where it was sent, and then at every other even offset from the end of the shortest headers on,
//! up to a bound. Token and stream are 40 bits: one frame of others in 10¹⁰ has them somewhere.

use super::frame::{self, End, Flow, Refusal};
use super::lengths::Lengths;
use crate::datapaths::Probe;
use linerate_sys::bpf::{Assembler, Label, Register, Width};
use linerate_wire::header::{HEADER_LEN, Header};
use std::net::{IpAddr, SocketAddr};

/// How the frames of a stream begin, behind their headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct ProbeMark {
    /// Token of the test.
    pub(in crate::datapaths) token: u32,
    /// Index of the stream.
    pub(in crate::datapaths) stream: u8,
}

/// First and last offset, and the step between: behind Ethernet and IPv4 without UDP, and behind IPv6 with extensions, or a
/// tunnel.
const FIRST_AT: i16 = 34;
const LAST_AT: i16 = 162;
const STEP: usize = 2;

impl From<&Probe> for ProbeMark {
    fn from(probe: &Probe) -> Self {
        Self {
            token: probe.token,
            stream: probe.stream,
        }
    }
}

/// All offsets, first that at which it was sent.
fn offsets(usual: i16) -> impl Iterator<Item = i16> {
    let others = (FIRST_AT..=LAST_AT).step_by(STEP);
    std::iter::once(usual).chain(others.filter(move |at| *at != usual))
}

/// Offset of the UDP payload in a frame as it is sent.
pub(in crate::datapaths) const fn payload_at(is_ipv4: bool) -> i16 {
    if is_ipv4 { 42 } else { 62 }
}

impl ProbeMark {
    /// Payload of a frame that carries the probe, if it has the length of its number. `usual`: where it was sent.
    pub(in crate::datapaths) fn payload<'a>(
        self,
        frame: &'a [u8],
        usual: i16,
        lengths: &Lengths,
    ) -> Result<&'a [u8], Refusal> {
        let token = self.token.to_be_bytes();
        let is_here = |at: &i16| {
            let from = usize::from(at.unsigned_abs());
            let probe = frame.get(from..from + HEADER_LEN);
            probe.is_some_and(|probe| probe[..4] == token && probe[4] == self.stream)
        };
        let at = offsets(usual).find(is_here).ok_or(Refusal::NotOurs)?;
        let from = usize::from(at.unsigned_abs());
        let header = frame.get(from..).and_then(Header::read);
        let length = lengths.of(header.map_or(0, |header| header.sequence));
        let payload = frame.get(from..from + length).ok_or(Refusal::Length)?;
        let is_plain = |flow: &Flow| at == payload_at(flow.remote.address.is_ipv4());
        let Some(flow) = flow_in(frame).filter(is_plain) else {
            return Ok(payload);
        };
        // Headers as they were sent, whatever is in them: their checksums tell whether all is whole.
        let whole = frame::payload(&flow, frame)?;
        let is_same = whole.len() == length;
        is_same.then_some(whole).ok_or(Refusal::Length)
    }

    /// Goes to `found` with a frame that carries the probe, and moves its register so that the probe lies `usual` bytes behind
    /// it; to `missing` with others. Registers 2 and 3 are lost.
    pub(in crate::datapaths) fn find(
        self,
        asm: &mut Assembler,
        [start, end]: [Register; 2],
        usual: i16,
        [found, missing]: [Label; 2],
    ) {
        let header = i16::try_from(HEADER_LEN).unwrap_or(0);
        let token = i32::from_ne_bytes(self.token.to_be_bytes());
        for at in offsets(usual) {
            let next = asm.label();
            // The others are in ascending order.
            let short = if at == usual { next } else { missing };
            asm.copy(2, start);
            asm.add(2, i32::from(at + header));
            asm.jump_if_above(2, end, short);
            asm.load(Width::Word, 3, start, at);
            asm.jump_if_word_differs(3, token, next);
            asm.load(Width::Byte, 3, start, at + 4);
            asm.jump_if_word_differs(3, self.stream.into(), next);
            if at != usual {
                asm.add(start, i32::from(at - usual));
            }
            asm.jump(found);
            asm.place(next);
        }
        asm.jump(missing);
    }
}

/// Addresses and ports of a frame of Ethernet, IP and UDP, from its own point of view.
fn flow_in(frame: &[u8]) -> Option<Flow> {
    let address = |at: usize, is_ipv4: bool| -> Option<IpAddr> {
        Some(if is_ipv4 {
            IpAddr::from(<[u8; 4]>::try_from(frame.get(at..at + 4)?).ok()?)
        } else {
            IpAddr::from(<[u8; 16]>::try_from(frame.get(at..at + 16)?).ok()?)
        })
    };
    let is_ipv4 = match frame.get(12..14)? {
        [0x08, 0x00] => true,
        [0x86, 0xdd] => false,
        _ => return None,
    };
    let (addresses, ports) = if is_ipv4 {
        ([26, 30], 34)
    } else {
        ([22, 38], 54)
    };
    let end = |address_at: usize, port_at: usize| {
        let port = <[u8; 2]>::try_from(frame.get(port_at..port_at + 2)?).ok()?;
        let address = address(address_at, is_ipv4)?;
        Some(End {
            mac: [0; 6],
            address: SocketAddr::new(address, u16::from_be_bytes(port)),
        })
    };
    Some(Flow {
        remote: end(addresses[0], ports)?,
        local: end(addresses[1], ports + 2)?,
        traffic_class: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapaths::af_xdp::frame::Template;
    use linerate_wire::Stamp;
    use linerate_wire::header::Kind;

    const MARK: ProbeMark = ProbeMark {
        token: 0x8102_0304,
        stream: 7,
    };

    fn frame(payload: &[u8]) -> Vec<u8> {
        let end = |mac, address: &str| End {
            mac: [2, 0, 0, 0, 0, mac],
            address: address.parse().unwrap(),
        };
        let flow = Flow {
            local: end(1, "198.18.0.1:5301"),
            remote: end(2, "198.19.0.2:5301"),
            traffic_class: 0,
        };
        let template = Template::new(&flow, payload.len());
        let mut frame = vec![0; template.frame_bytes()];
        template.write(payload, &mut frame);
        frame
    }

    #[test]
    fn a_probe_is_found_behind_other_headers_and_nothing_else_is() {
        let payload: Vec<u8> = [0x81, 2, 3, 4, 7].into_iter().chain(0..40).collect();
        let plain = frame(&payload);
        let read = |frame: &[u8]| {
            MARK.payload(frame, 42, &Lengths::One(payload.len()))
                .map(<[u8]>::to_vec)
        };
        assert_eq!(read(&plain), Ok(payload.clone()));
        // A VLAN tag, and options of IPv4.
        for (at, bytes) in [(12, 4), (34, 8), (34, 40)] {
            let mut longer = plain.clone();
            longer.splice(at..at, vec![0x81; bytes]);
            assert_eq!(read(&longer), Ok(payload.clone()), "{bytes} at {at}");
        }
        // Another address, with the checksums as they were: NAT mends them, and whoever does not has broken the frame.
        let mut broken = plain.clone();
        broken[29] ^= 1;
        assert_eq!(read(&broken), Err(Refusal::Checksum));
        assert_eq!(read(&plain[..plain.len() - 1]), Err(Refusal::Length));
        let mut other = plain;
        other[46] = 8;
        assert_eq!(read(&other), Err(Refusal::NotOurs));
        assert_eq!(read(&frame(&[0; 100])), Err(Refusal::NotOurs));
        assert_eq!(read(&[0x81; 20]), Err(Refusal::NotOurs));
    }

    #[test]
    fn a_frame_of_a_mix_has_the_length_of_its_number() {
        let lengths = Lengths::Mix(vec![18, 60, 100]);
        let read = |sequence: u64, payload: usize| {
            let mut bytes = vec![0; payload];
            let header = Header {
                token: MARK.token,
                stream: MARK.stream,
                kind: Kind::Counted,
                sequence,
                sent: Stamp::from_bits(0),
            };
            header.write(&mut bytes);
            let frame = frame(&bytes);
            MARK.payload(&frame, 42, &lengths).map(<[u8]>::len)
        };
        assert_eq!(
            [0, 1, 2, 3].map(|n| read(n, lengths.of(n))),
            [18, 60, 100, 18].map(Ok)
        );
        assert_eq!(read(4, 18), Err(Refusal::Length));
        assert_eq!(read(4, 100), Err(Refusal::Length));
    }

    #[test]
    fn an_address_that_nat_wrote_with_its_checksums_is_no_matter() {
        let payload: Vec<u8> = [0x81, 2, 3, 4, 7].into_iter().chain(0..40).collect();
        let end = |address: &str| End {
            mac: [2; 6],
            address: address.parse().unwrap(),
        };
        for (local, remote) in [
            ("203.0.113.9:61000", "10.1.2.3:9"),
            ("[fd00::1]:1", "[fd00::2]:2"),
        ] {
            let flow = Flow {
                local: end(local),
                remote: end(remote),
                traffic_class: 0,
            };
            let template = Template::new(&flow, payload.len());
            let mut frame = vec![0; template.frame_bytes()];
            template.write(&payload, &mut frame);
            let read = MARK.payload(&frame, 42, &Lengths::One(payload.len()));
            assert_eq!(read, Ok(&payload[..]), "{local}");
        }
    }
}
