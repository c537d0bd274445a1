//! Frames of a test known by what they carry, whatever headers a device has left before it: NAT writes other addresses and
//! ports, and others add or take tags and options.
//!
//! The probe is looked for where it was sent, and then at every other even offset from the end of the shortest headers on,
//! up to a bound. Token and stream are 40 bits: one frame of others in 10¹⁰ has them somewhere.

use super::frame::Refusal;
use super::lengths::Lengths;
use crate::datapaths::Probe;
use linerate_sys::bpf::{Assembler, Label, Register, Width};
use linerate_wire::header::{HEADER_LEN, Header};

/// How the frames of a stream begin, behind their headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::datapaths) struct ProbeMark {
    /// Token of the test.
    pub(in crate::datapaths) token: u32,
    /// Index of the stream.
    pub(in crate::datapaths) stream: u8,
}

/// First and last offset, and the step between: behind Ethernet and IPv4 without UDP, and behind the most headers that frames
/// are sent with and some that a device adds.
const FIRST_AT: usize = 34;
const LAST_AT: usize = 240;
const STEP: usize = 2;

impl From<&Probe> for ProbeMark {
    fn from(probe: &Probe) -> Self {
        Self {
            token: probe.token,
            stream: probe.stream,
        }
    }
}

/// All offsets, first that at which it was sent; the others are as odd or even.
fn offsets(usual: usize) -> impl Iterator<Item = usize> {
    let others = (FIRST_AT + usual % STEP..=LAST_AT).step_by(STEP);
    std::iter::once(usual).chain(others.filter(move |at| *at != usual))
}

/// An offset in a frame, as instructions have it.
pub(in crate::datapaths) fn near(offset: usize) -> i16 {
    i16::try_from(offset).expect("invariant: headers and templates are below 32 KiB")
}

impl ProbeMark {
    /// Payload of a frame that carries the probe, if it has the length of its number. `usual`: where it was sent.
    pub(in crate::datapaths) fn payload<'a>(
        self,
        frame: &'a [u8],
        usual: usize,
        lengths: &Lengths,
    ) -> Result<&'a [u8], Refusal> {
        let token = self.token.to_be_bytes();
        let is_here = |at: &usize| {
            let probe = frame.get(*at..*at + HEADER_LEN);
            probe.is_some_and(|probe| probe[..4] == token && probe[4] == self.stream)
        };
        let at = offsets(usual).find(is_here).ok_or(Refusal::NotOurs)?;
        let header = frame.get(at..).and_then(Header::read);
        let length = lengths.of(header.map_or(0, |header| header.sequence));
        let payload = frame.get(at..at + length).ok_or(Refusal::Length)?;
        // Whatever headers a device left: if they are known, they tell whether all is whole.
        linerate_frames::check(frame, at, length).map(|()| payload)
    }

    /// Goes to `found` with a frame that carries the probe, and moves its register so that the probe lies `usual` bytes behind
    /// it; to `missing` with others. Registers 2 and 3 are lost.
    pub(in crate::datapaths) fn find(
        self,
        asm: &mut Assembler,
        frame: [Register; 2],
        usual: usize,
        labels: [Label; 2],
    ) {
        Self::find_any(self.token, Some(self.stream), asm, frame, usual, labels);
    }

    /// The same of one stream or of all.
    pub(in crate::datapaths) fn find_any(
        token: u32,
        stream: Option<u8>,
        asm: &mut Assembler,
        [start, end]: [Register; 2],
        usual: usize,
        [found, missing]: [Label; 2],
    ) {
        let token = i32::from_ne_bytes(token.to_be_bytes());
        for at in offsets(usual) {
            let next = asm.label();
            // The others are in ascending order.
            let short = if at == usual { next } else { missing };
            asm.copy(2, start);
            asm.add(2, i32::from(near(at + HEADER_LEN)));
            asm.jump_if_above(2, end, short);
            asm.load(Width::Word, 3, start, near(at));
            asm.jump_if_word_differs(3, token, next);
            if let Some(stream) = stream {
                asm.load(Width::Byte, 3, start, near(at + 4));
                asm.jump_if_word_differs(3, stream.into(), next);
            }
            if at != usual {
                asm.add(start, i32::from(near(at)) - i32::from(near(usual)));
            }
            asm.jump(found);
            asm.place(next);
        }
        asm.jump(missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datapaths::af_xdp::frame::{End, Flow, Layout, Template};
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
        let template = Template::new(&Layout::plain(&flow), payload.len());
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
            let template = Template::new(&Layout::plain(&flow), payload.len());
            let mut frame = vec![0; template.frame_bytes()];
            template.write(&payload, &mut frame);
            let read = MARK.payload(&frame, 42, &Lengths::One(payload.len()));
            assert_eq!(read, Ok(&payload[..]), "{local}");
        }
    }
}
