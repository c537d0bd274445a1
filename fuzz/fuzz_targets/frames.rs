//! Whatever bytes come as a frame, a template, headers in words or a capture, they are refused with a sentence or make
//! frames that are whole; and whatever passes the link element, every frame is dropped or leaves once, in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_frames::neighbour::{self, Message, Neighbour};
use linerate_frames::pcap::{self, Reader};
use linerate_frames::{
    End, Flow, FrameHeaders, Layout, ParamError, Part, Template, Way, check, template_param, walk,
};
use linerate_model::{BitRate, ByteCount, MonoInstant, Ratio};
use linerate_testbed::link::{Copies, Frame, FrameClass, PacketFilter, PacketList, Shaper, Verdict};
use linerate_testbed::{LinkConfig, Outage};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    read_frame(data);
    read_headers(&text);
    for offset in [None, data.first().map(|first| usize::from(*first))] {
        read_template(data, offset);
    }
    read_capture(data);
    read_list(&text);
    pass_link(data);
});

/// Lengths of payloads, of which none is odd alone.
const PAYLOADS: [usize; 4] = [0, 25, 64, 1400];

fn flow(is_ipv4: bool) -> Flow {
    let [from, to]: [IpAddr; 2] = if is_ipv4 {
        [[198, 18, 0, 1], [198, 18, 0, 2]].map(|octets| Ipv4Addr::from(octets).into())
    } else {
        [1, 2].map(|last| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, last).into())
    };
    let end = |mac, address| End { mac: [2, 0, 0, 0, 0, mac], address: SocketAddr::new(address, 5301) };
    Flow { local: end(1, from), remote: end(2, to), traffic_class: 0 }
}

/// Frames of others, at whatever place a payload is looked for.
fn read_frame(frame: &[u8]) {
    let mut places = vec![0, frame.len() / 2, frame.len()];
    walk(frame, &mut |part| match part {
        Part::Header(name) => assert!(!name.is_empty()),
        Part::Ipv4(at) => assert!(at + 20 <= frame.len()),
        Part::Length { at, from } => assert!(at + 2 <= frame.len() && from <= frame.len()),
        Part::Transport { payload_at, .. } => places.push(payload_at),
    });
    for at in places {
        for payload in [0, frame.len().saturating_sub(at), usize::from(u16::MAX)] {
            let _ = check(frame, at, payload);
        }
    }
    let headers = FrameHeaders::default();
    if let Some(Message::Request { from, wanted }) = neighbour::read(frame) {
        let own = Neighbour { mac: [2, 0, 0, 0, 0, 9], address: wanted };
        let answer = neighbour::reply(&headers, own, from);
        assert_eq!(neighbour::read(&answer), Some(Message::Reply(own)), "{frame:02x?}");
    }
    let _ = PacketFilter::UDP_DATA.matches(frame);
}

/// Every frame made of these headers is one that the receiver takes.
fn make(layout: &Layout) {
    for payload in PAYLOADS {
        let template = Template::new(layout, payload);
        let mut frame = vec![0; template.frame_bytes()];
        let bytes: Vec<u8> = (0..payload).map(|place| place.to_le_bytes()[0]).collect();
        assert_eq!(template.write(&bytes, &mut frame), frame.len());
        assert!(frame.ends_with(&bytes));
        assert_eq!(check(&frame, layout.payload_at(), payload), Ok(()), "{frame:02x?}");
    }
}

fn said(error: &ParamError) {
    assert!(!error.why.to_string().is_empty() && !error.key.is_empty());
}

fn read_headers(text: &str) {
    for l4 in ["udp", "tcp"] {
        let of = |stack: &str| {
            let stack = stack.to_owned();
            FrameHeaders::from_params(|key| match key {
                FrameHeaders::HEADERS => Some(stack.as_str()),
                FrameHeaders::L4 => Some(l4),
                _ => None,
            })
        };
        let headers = match of(text) {
            Ok(headers) => headers,
            Err(error) => return said(&error),
        };
        let written = headers.stack.to_string();
        let again = of(&written).expect("what was read is written as it can be read");
        assert_eq!(again.stack.to_string(), written);
        for is_ipv4 in [true, false] {
            for way in [Way::AToB, Way::BToA] {
                let layout = Layout::new(&headers, &flow(is_ipv4), way);
                assert_eq!(layout.payload_at(), headers.bytes(is_ipv4));
                make(&layout);
            }
        }
    }
}

fn read_template(file: &[u8], offset: Option<usize>) {
    let hex = match template_param(file, offset) {
        Ok(hex) => hex,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let headers = FrameHeaders::from_params(|key| (key == FrameHeaders::TEMPLATE).then_some(&*hex));
    let headers = headers.expect("a file that was taken is a parameter that is taken");
    let layout = Layout::new(&headers, &flow(true), Way::AToB);
    assert_eq!(layout.payload_at() * 2, hex.len());
    make(&layout);
}

/// A capture is read to its end or to a sentence, and what was read is written as it can be read.
fn read_capture(file: &[u8]) {
    let Ok(mut reader) = Reader::new(file) else { return };
    let mut frames = Vec::new();
    while let Ok(Some(captured)) = reader.next_frame() {
        frames.push(captured);
    }
    let mut copy = Vec::new();
    pcap::begin(&mut copy).expect("memory takes it");
    for captured in &frames {
        pcap::add(&mut copy, captured.at, &captured.frame).expect("memory takes it");
    }
    let mut again = Reader::new(copy.as_slice()).expect("it is a capture");
    for captured in frames {
        assert_eq!(again.next_frame().ok().flatten(), Some(captured));
    }
}

fn read_list(text: &str) {
    let Ok(list) = text.parse::<PacketList>() else { return };
    assert_eq!(list.to_string().parse(), Ok(list.clone()));
    let listed = (1..=64).filter(|number| list.contains(*number)).count();
    assert_eq!(list.count_within(64), listed as u64);
}

/// A link whose settings and frames the bytes are: four of settings, then two for each step.
fn pass_link(data: &[u8]) {
    let [rate, losses, delays, extent, steps @ ..] = data else { return };
    let [loss, duplicate] = [losses & 15, losses >> 4].map(|share| Ratio::clamped(f64::from(share) / 16.0));
    let [delay, jitter] = [delays >> 4, (delays & 15).min(delays >> 4)];
    let millis = |count: u8| Duration::from_millis(count.into());
    let config = LinkConfig {
        rate: (*rate > 0).then(|| BitRate::from_bps(u64::from(*rate) * 10_000)),
        queue_bytes: ByteCount::new(1514 * u64::from(extent % 8 + 1)),
        police: extent & 0x80 != 0,
        delay: millis(delay),
        jitter: millis(jitter),
        outage: (extent & 0x40 != 0).then_some(Outage { every: millis(50), length: millis(5) }),
        loss,
        duplicate,
        reorder: Ratio::clamped(f64::from(extent >> 3 & 7) / 8.0),
        displacement: u32::from(extent % 4) + 1,
        ..LinkConfig::default()
    };
    if config.check(1500).is_err() {
        return;
    }
    let mut link = Link { shaper: Shaper::new(config, 1514, 1), inside: Vec::new(), last: MonoInstant::default() };
    let mut now = MonoInstant::default();
    for (handle, step) in (0_u32..).zip(steps.chunks_exact(2)) {
        now = now.after(Duration::from_micros(u64::from(step[0]) * 50));
        link.leave(now);
        let class = if step[1] & 1 == 0 { FrameClass::Data } else { FrameClass::Other };
        let frame = Frame { handle, length: 60 + u32::from(step[1]) * 5, tag: 0, class };
        if link.shaper.arrive(now, frame) == Verdict::Taken {
            link.inside.push(handle);
        }
    }
    while let Some(next) = link.shaper.next_departure() {
        now = now.max(next);
        link.leave(now);
    }
    assert!(link.inside.is_empty(), "{:?} never left", link.inside);
    assert_eq!(link.shaper.counters().in_flight.get(), 0);
}

struct Link {
    shaper: Shaper,
    /// Handles of frames that were taken and have not left.
    inside: Vec<u32>,
    last: MonoInstant,
}

impl Link {
    /// All that is due: no earlier than what left before, and nothing that is not inside.
    fn leave(&mut self, now: MonoInstant) {
        while let Some(left) = self.shaper.depart(now) {
            assert!(self.last <= left.at && left.at <= now);
            self.last = left.at;
            let place = self.inside.iter().position(|handle| *handle == left.handle);
            let place = place.expect("a frame that is inside leaves");
            if left.last == Copies::Last {
                self.inside.swap_remove(place);
            }
        }
    }
}
