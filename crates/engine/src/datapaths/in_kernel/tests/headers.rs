//! Frames with any headers, and behind a template.

use super::{Sender, flow, header};
use crate::datapaths::af_xdp::frame::{Layout, Template};
use crate::datapaths::af_xdp::lengths::Lengths;
use crate::datapaths::in_kernel::Flows;
use linerate_frames::{FrameHeaders, Way};
use linerate_wire::header::{Header, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// Behind any headers a frame of the program is that of the template of its flow and length, byte for byte.
#[test]
fn frames_with_any_headers_are_those_of_their_template() {
    let lengths = [Lengths::One(60), Lengths::Mix(vec![18, 100, 61, 1000])];
    let stacks = [
        ("", "tcp"),
        ("vlan=100,pcp=5", "udp"),
        ("qinq=100/200", "tcp"),
        ("mpls=16/17", "udp"),
        ("vlan=7,gre=9,mpls=3", "udp"),
        ("vxlan=5,a=10.0.0.1,b=10.0.0.2,vlan=3", "tcp"),
        ("gre,vxlan=5", "udp"),
    ];
    for (stack, l4) in stacks {
        let headers = FrameHeaders {
            stack: stack.parse().unwrap(),
            transport: l4.parse().unwrap(),
            ..FrameHeaders::default()
        };
        for (is_ipv4, count, lengths) in [
            (true, 1, &lengths[0]),
            (true, 1, &lengths[1]),
            (false, 1, &lengths[1]),
            (true, 1000, &lengths[1]),
            (false, 1000, &lengths[0]),
        ] {
            let flows = Flows::new(count).unwrap();
            let base = flow(is_ipv4);
            let mut sender = Sender::with_headers(&headers, &base, lengths, (flows, false));
            for number in 0..50 {
                let now = number * 1000 + 5;
                let made = sender.run(now).unwrap().to_vec();
                let layout = Layout::new(&headers, &base, Way::AToB);
                let (payload_at, length) = (layout.payload_at(), lengths.of(number));
                let mut payload = vec![0; length];
                header(Kind::Counted, number, now).write(&mut payload);
                assert_eq!(made[payload_at..], payload, "{stack} {number}");
                assert_eq!(linerate_frames::check(&made, payload_at, length), Ok(()));
                let template = Template::new(&layout, length);
                let mut wanted = vec![0; template.frame_bytes()];
                template.write(&payload, &mut wanted);
                let own = layout.transport().unwrap();
                let [from, to] = own.low_halves();
                let checksums = own.ip_checksum_at().into_iter().chain(layout.checksum_at());
                let mut of_flow: Vec<_> = [from, to, own.at, own.at + 2]
                    .into_iter()
                    .chain(checksums)
                    .chain(layout.tunnel_ports().iter().copied())
                    .collect();
                of_flow.retain(|_| !flows.is_one());
                let mut made = made;
                for bytes in [&mut made, &mut wanted] {
                    for at in &of_flow {
                        bytes[*at..at + 2].fill(0);
                    }
                }
                assert_eq!(made, wanted, "{stack} {l4} {number}");
                sender.frame[14..40].fill(0xee);
            }
        }
    }
}

/// Routers spread the packets of tunnels by their outer headers, so that each flow inside has a source port of its own
/// outside, the same for each of its frames and both ways.
#[test]
fn the_source_port_of_a_tunnel_follows_the_flow() {
    const FLOWS: u32 = 200;
    let headers = FrameHeaders {
        stack: "vxlan=5,vxlan=6".parse().unwrap(),
        ..FrameHeaders::default()
    };
    let layout = Layout::new(&headers, &flow(true), Way::AToB);
    let own = layout.transport().unwrap();
    let [outer, inner] = layout.tunnel_ports() else {
        panic!("{layout:?}");
    };
    let mut ports: BTreeMap<Vec<u8>, u16> = BTreeMap::new();
    for is_reverse in [false, true] {
        let flows = (Flows::new(FLOWS).unwrap(), is_reverse);
        let lengths = Lengths::One(60);
        let mut sender = Sender::with_headers(&headers, &flow(true), &lengths, flows);
        for number in 0..u64::from(FLOWS) * 20 {
            let made = sender.run(number * 1000 + 5).unwrap();
            let half = |at: usize| &made[at..at + 2];
            let [from, to] = own.low_halves();
            let mut fields = [[half(from), half(own.at)], [half(to), half(own.at + 2)]];
            if is_reverse {
                fields.reverse();
            }
            let port = u16::from_be_bytes([made[*outer], made[*outer + 1]]);
            assert_eq!(half(*outer), half(*inner));
            assert!(port >= 49_152, "{port}");
            let known = *ports.entry(fields.as_flattened().concat()).or_insert(port);
            assert_eq!(known, port);
        }
    }
    assert_eq!(ports.len(), FLOWS as usize);
    let different: BTreeSet<_> = ports.into_values().collect();
    // Of 2^14 ports some have two of 200 flows by chance: one on average.
    assert!(different.len() > 190, "{}", different.len());
}

/// A template without a header that is known is sent as it is, before number and time.
#[test]
fn a_template_is_sent_as_it_is() {
    for bytes in [15, 16, 17, 61, 300] {
        let own: Vec<u8> = (0..bytes)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect();
        let headers = FrameHeaders {
            template: Some(own.clone().into()),
            ..FrameHeaders::default()
        };
        let one = (Flows::new(1).unwrap(), false);
        let lengths = Lengths::Mix(vec![18, 40]);
        let mut sender = Sender::with_headers(&headers, &flow(true), &lengths, one);
        for number in 0..6 {
            let made = sender.run(number * 1000 + 5).unwrap().to_vec();
            assert_eq!(made[..bytes], own);
            let length = lengths.of(number);
            let read = Header::read(&made[bytes..]).unwrap();
            assert_eq!((made.len(), read.sequence), (bytes + length, number));
        }
    }
}
