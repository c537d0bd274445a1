//! Writes what a fuzzer of frames begins with into a folder: header stacks as text, frames of each, these in hexadecimal
//! and as captures, and questions and answers of neighbours.
#![expect(clippy::unwrap_used, reason = "a tool")]

use linerate_frames::neighbour::{self, Neighbour};
use linerate_frames::{End, Flow, FrameHeaders, Layout, Template, Way, pcap};
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

const STACKS: &[&str] = &[
    "",
    "vlan=100,pcp=5,dei=1,tpid=0x9100",
    "qinq=100/200,pcp=1",
    "mpls=16/17/18,tc=3,ttl=9",
    "gre",
    "gre=77,a=192.0.2.1,b=192.0.2.2",
    "vxlan=5,a=2001:db8::1,b=2001:db8::2",
    "vlan=1,mpls=16,gre,vxlan=9",
];

const PAYLOAD: usize = 24;

fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).unwrap();
    let write = |name: String, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
    let ends: [[IpAddr; 2]; 2] = [
        [[198, 18, 0, 1], [198, 18, 0, 2]].map(Into::into),
        ["2001:2::1", "2001:2::2"].map(|text| text.parse().unwrap()),
    ];
    for (index, stack) in STACKS.iter().enumerate() {
        write(format!("stack-{index}"), stack.as_bytes());
        for (family, [from, to]) in ["ip4", "ip6"].iter().zip(ends) {
            for l4 in ["udp", "tcp"] {
                let frame = frame(stack, l4, from, to);
                let name = format!("{index}-{family}-{l4}");
                let mut hex = String::new();
                let mut capture = Vec::new();
                for byte in &frame {
                    write!(hex, "{byte:02x}").unwrap();
                }
                pcap::begin(&mut capture).unwrap();
                pcap::add(&mut capture, 1, &frame).unwrap();
                write(format!("{name}.frame"), &frame);
                write(format!("{name}.hex"), hex.as_bytes());
                write(format!("{name}.pcap"), &capture);
            }
        }
    }
    let headers = FrameHeaders::default();
    for (family, [from, to]) in ["ip4", "ip6"].iter().zip(ends) {
        let [own, other] = [(1, from), (2, to)].map(|(mac, address)| Neighbour {
            mac: [2, 0, 0, 0, 0, mac],
            address,
        });
        let request = neighbour::request(&headers, own, to);
        write(format!("request-{family}"), &request);
        let reply = neighbour::reply(&headers, other, own);
        write(format!("reply-{family}"), &reply);
    }
}

fn frame(stack: &str, l4: &str, from: IpAddr, to: IpAddr) -> Vec<u8> {
    let headers = FrameHeaders::from_params(|key| match key {
        FrameHeaders::HEADERS => Some(stack),
        FrameHeaders::L4 => Some(l4),
        _ => None,
    });
    let end = |mac, address| End {
        mac: [2, 0, 0, 0, 0, mac],
        address: SocketAddr::new(address, 5301),
    };
    let flow = Flow {
        local: end(1, from),
        remote: end(2, to),
        traffic_class: 0,
    };
    let template = Template::new(&Layout::new(&headers.unwrap(), &flow, Way::AToB), PAYLOAD);
    let mut frame = vec![0; template.frame_bytes()];
    template.write(&[7; PAYLOAD], &mut frame);
    frame
}
