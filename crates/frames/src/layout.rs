//! Where things lie in the frames of a stream, and frames of one length.

use crate::build::{Build, ethertype};
use crate::checksum::{Sum, pseudo};
use crate::places::{IPV4_CHECKSUM, LengthField, TransportAt};
use crate::walk::{Part, walk};
use crate::{ETHERNET_HEADER, Flow, FrameHeaders, Transport, Way};

/// Headers of the frames of a stream: their bytes, and which of these depend on a frame's length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    bytes: Vec<u8>,
    lengths: Vec<LengthField>,
    /// First byte of each IPv4 header.
    ipv4: Vec<usize>,
    tunnel_ports: Vec<usize>,
    transport: Option<TransportAt>,
    /// Whether the transport header has a checksum.
    has_checksum: bool,
}

impl Layout {
    /// Headers of the frames of `flow`, which go this way between the two ports.
    pub fn new(headers: &FrameHeaders, flow: &Flow, way: Way) -> Self {
        if let Some(bytes) = headers.template_of(way) {
            return Self::of_bytes(bytes.to_vec());
        }
        let mut build = Build::new(flow, way);
        let layers = headers.stack.layers();
        let own = ethertype(flow.local.address.ip());
        let types: Vec<u16> = layers
            .iter()
            .map(|layer| layer.ethertype(&build))
            .chain([own])
            .collect();
        build.ethernet(types[0]);
        for (layer, next) in layers.iter().zip(&types[1..]) {
            layer.write(&mut build, *next);
        }
        let ends = build.ends(None);
        let ip_at = build.ip(ends, headers.transport.protocol());
        let at = build.bytes.len();
        build.transport(headers.transport);
        Self {
            bytes: build.bytes,
            lengths: build.lengths,
            ipv4: build.ipv4,
            tunnel_ports: build.tunnel_ports,
            transport: Some(TransportAt {
                kind: headers.transport,
                at,
                ip_at,
                is_ipv4: flow.is_ipv4(),
            }),
            has_checksum: true,
        }
    }

    /// Of frames that begin with these bytes, whatever they are. Of the headers that are known in them, lengths and
    /// checksums follow the frame's length; all else stays as it is.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        let (mut lengths, mut ipv4, mut transport) = (Vec::new(), Vec::new(), None);
        walk(&bytes, &mut |part| match part {
            Part::Header(_) => {}
            Part::Ipv4(at) => ipv4.push(at),
            Part::Length { at, from } => lengths.push(LengthField { at, from }),
            Part::Transport { place, .. } => transport = Some(place),
        });
        let has_checksum = transport.is_some_and(|known: TransportAt| {
            let place = known.checksum_at();
            // Only IPv4 allows a datagram without checksum: in IPv6 it stands for one to be filled in.
            let is_left_out =
                known.kind == Transport::Udp && known.is_ipv4 && bytes[place..place + 2] == [0; 2];
            // A sum of 16-bit words over headers and payload: the payload has to begin with a word.
            !is_left_out && (bytes.len() - known.at).is_multiple_of(2)
        });
        Self {
            bytes,
            lengths,
            ipv4,
            // A template's tunnels have the ports of its own bytes.
            tunnel_ports: Vec::new(),
            transport,
            has_checksum,
        }
    }

    /// Of a UDP flow without any other headers.
    pub fn plain(flow: &Flow) -> Self {
        Self::new(&FrameHeaders::default(), flow, Way::AToB)
    }

    /// These headers with zero in place of the last 16 bits of the addresses, and of the ports, of the innermost packet.
    #[must_use]
    pub fn without_flow(mut self) -> Self {
        if let Some(known) = self.transport {
            let [from, to] = known.low_halves();
            for place in [from, to, known.at, known.at + 2] {
                self.bytes[place..place + 2].fill(0);
            }
        }
        self
    }

    /// Bytes before a frame's payload.
    pub fn payload_at(&self) -> usize {
        self.bytes.len()
    }

    /// Innermost transport header; `None` where what is before the payload is not known as one.
    pub const fn transport(&self) -> Option<TransportAt> {
        self.transport
    }

    /// Places of the source ports of UDP tunnels, by which routers tell the flows inside apart (ECMP, RFC 7348 §5).
    /// No checksum covers them.
    pub fn tunnel_ports(&self) -> &[usize] {
        &self.tunnel_ports
    }

    /// Whether the transport header has a checksum over the payload.
    pub const fn has_checksum(&self) -> bool {
        self.has_checksum
    }

    /// Places of the 16-bit fields that depend on a frame's length, without the transport's checksum.
    pub fn varying(&self) -> impl Iterator<Item = usize> + '_ {
        let lengths = self.lengths.iter().map(|field| field.at);
        lengths.chain(self.ipv4.iter().map(|at| at + IPV4_CHECKSUM))
    }

    /// Longest frame without FCS on an interface of this MTU, bytes. A frame that begins with a tag may have the four
    /// bytes of one more, as on every Ethernet.
    pub fn most_frame(&self, mtu: usize) -> usize {
        const TAG: usize = 4;
        let is_tagged = matches!(self.bytes.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
        mtu + ETHERNET_HEADER + if is_tagged { TAG } else { 0 }
    }

    /// Headers of frames with this many bytes of payload; the transport's checksum is zero.
    fn filled(&self, payload: usize) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let total = bytes.len() + payload;
        for field in &self.lengths {
            let length = short(total - field.from);
            bytes[field.at..field.at + 2].copy_from_slice(&length.to_be_bytes());
        }
        for at in &self.ipv4 {
            let options = usize::from(bytes[*at] & 0xf).max(5) * 4;
            let place = at + IPV4_CHECKSUM;
            bytes[place..place + 2].fill(0);
            let sum = Sum::default().with(&bytes[*at..at + options]);
            bytes[place..place + 2].copy_from_slice(&sum.checksum());
        }
        if let Some(place) = self.checksum_at() {
            bytes[place..place + 2].fill(0);
        }
        bytes
    }

    /// Place of the transport's checksum, if frames have one.
    pub fn checksum_at(&self) -> Option<usize> {
        let known = self.transport.filter(|_| self.has_checksum)?;
        Some(known.checksum_at())
    }
}

fn short(length: usize) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}

/// Frames of one payload length, without payload and checksum.
#[derive(Debug, Clone)]
pub struct Template {
    headers: Vec<u8>,
    payload: usize,
    checksum: Option<Checksum>,
}

#[derive(Debug, Clone, Copy)]
struct Checksum {
    at: usize,
    /// Over pseudo-header and transport header.
    sum: Sum,
    kind: Transport,
}

impl Template {
    /// Of frames with payloads of `payload` bytes, at most 65 000.
    pub fn new(layout: &Layout, payload: usize) -> Self {
        let headers = layout.filled(payload);
        let known = layout.transport.filter(|_| layout.has_checksum);
        let checksum = known.and_then(|known| {
            let [from, to] = known.addresses(&headers)?;
            let length = short(headers.len() - known.at + payload);
            let sum = pseudo(from, to, known.kind.protocol(), length);
            Some(Checksum {
                at: known.checksum_at(),
                sum: sum.with(&headers[known.at..]),
                kind: known.kind,
            })
        });
        Self {
            headers,
            payload,
            checksum,
        }
    }

    /// Length of each frame in bytes, without FCS.
    pub fn frame_bytes(&self) -> usize {
        self.headers.len() + self.payload
    }

    /// Writes the frame of `payload`, which has the template's length, to the start of `room`. Returns the frame's
    /// length.
    pub fn write(&self, payload: &[u8], room: &mut [u8]) -> usize {
        let (headers, rest) = room.split_at_mut(self.headers.len());
        headers.copy_from_slice(&self.headers);
        rest[..self.payload].copy_from_slice(payload);
        if let Some(Checksum { at, sum, kind }) = self.checksum {
            let checksum = match (sum.with(payload).checksum(), kind) {
                // A checksum of zero is sent as all ones: zero means that there is none (RFC 768).
                ([0, 0], Transport::Udp) => [0xff; 2],
                (checksum, _) => checksum,
            };
            headers[at..at + 2].copy_from_slice(&checksum);
        }
        self.frame_bytes()
    }
}
