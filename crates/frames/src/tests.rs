//! Every header against bytes written by hand from its RFC, and any stack there and back.

use crate::*;
use proptest::prelude::*;
use std::net::SocketAddr;

fn flow(is_ipv4: bool) -> Flow {
    let (a, b) = if is_ipv4 {
        ("198.18.0.1:5301", "198.18.0.2:5301")
    } else {
        ("[2001:2::1]:5301", "[2001:2::2]:5301")
    };
    let end = |last, text: &str| End {
        mac: [2, 0, 0, 0, 0, last],
        address: text.parse::<SocketAddr>().unwrap(),
    };
    Flow {
        local: end(1, a),
        remote: end(2, b),
        traffic_class: 0,
    }
}

fn headers(stack: &str, l4: &str) -> FrameHeaders {
    FrameHeaders {
        stack: stack.parse().unwrap(),
        transport: l4.parse().unwrap(),
        template: None,
        b_template: None,
    }
}

fn frame(stack: &str, l4: &str, is_ipv4: bool, payload: &[u8]) -> (Layout, Vec<u8>) {
    let layout = Layout::new(&headers(stack, l4), &flow(is_ipv4), Way::AToB);
    let template = Template::new(&layout, payload.len());
    let mut bytes = vec![0; template.frame_bytes()];
    assert_eq!(template.write(payload, &mut bytes), bytes.len());
    (layout, bytes)
}

/// Bytes in hexadecimal, blanks aside.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter(char::is_ascii_hexdigit).collect();
    let pair = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(pair).collect()
}

const MACS: &str = "020000000002 020000000001";
/// A datagram of four bytes from 198.18.0.1 to 198.18.0.2: IPv4 checksum 0xaea5 over
/// 4500 0020 0000 4000 4011 c612 0001 c612 0002; UDP checksum over pseudo-header, header and payload.
const DATAGRAM: &str =
    "4500 0020 0000 4000 4011 aea5 c6120001 c6120002  14b5 14b5 000c aca6 deadbeef";

#[test]
fn tags_are_those_of_802_1q() {
    let (_, made) = frame(
        "vlan=100,pcp=5,dei=1",
        "udp",
        true,
        &[0xde, 0xad, 0xbe, 0xef],
    );
    assert_eq!(made, bytes(&format!("{MACS} 8100 b064 0800 {DATAGRAM}")));
    let (_, made) = frame(
        "qinq=100/0x0c8,pcp=1",
        "udp",
        true,
        &[0xde, 0xad, 0xbe, 0xef],
    );
    assert_eq!(
        made,
        bytes(&format!("{MACS} 88a8 2064 8100 20c8 0800 {DATAGRAM}"))
    );
    let (_, made) = frame("vlan=1,tpid=0x9100", "udp", true, &[0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(made, bytes(&format!("{MACS} 9100 0001 0800 {DATAGRAM}")));
}

#[test]
fn labels_are_those_of_rfc_3032() {
    let (_, made) = frame(
        "mpls=16/1048575,tc=3,ttl=9",
        "udp",
        true,
        &[0xde, 0xad, 0xbe, 0xef],
    );
    assert_eq!(
        made,
        bytes(&format!("{MACS} 8847 00010609 fffff709 {DATAGRAM}"))
    );
}

#[test]
fn a_gre_tunnel_is_that_of_rfc_2890() {
    let (_, made) = frame(
        "gre=7,a=10.0.0.1,b=10.0.0.2",
        "udp",
        true,
        &[0xde, 0xad, 0xbe, 0xef],
    );
    // Of 20 + 8 + 32 bytes; 4500 003c 4000 402f 0a00 0001 0a00 0002 sum to 0xd96e.
    let outer = "4500 003c 0000 4000 402f 2691 0a000001 0a000002 2000 0800 00000007";
    assert_eq!(made, bytes(&format!("{MACS} 0800 {outer} {DATAGRAM}")));
}

#[test]
fn a_vxlan_tunnel_is_that_of_rfc_7348() {
    let (_, made) = frame(
        "vxlan=0x123456,a=fd00::1,b=fd00::2",
        "udp",
        true,
        &[0xde, 0xad, 0xbe, 0xef],
    );
    // UDP 8, VXLAN 8, Ethernet 14 and 32 bytes.
    let outer = format!(
        "6000 0000 003e 1140 fd00{}0001 fd00{}0002 c001 12b5 003e 0000 08000000 12345600 {MACS} 0800",
        "0000".repeat(6),
        "0000".repeat(6)
    );
    assert_eq!(made, bytes(&format!("{MACS} 86dd {outer} {DATAGRAM}")));
}

#[test]
fn a_segment_is_that_of_rfc_9293() {
    let (layout, made) = frame("", "tcp", true, &[0xde, 0xad, 0xbe, 0xef]);
    let ip = "4500 002c 0000 4000 4006 aea4 c6120001 c6120002";
    let tcp = "14b5 14b5 00000001 00000001 5018 ffff 0000 0000 deadbeef";
    let mut wanted = bytes(&format!("{MACS} 0800 {ip} {tcp}"));
    // By the definition: the words of addresses, protocol, length and segment.
    let pseudo = [&wanted[26..34], &[0, 6, 0, 24]].concat();
    let all = [&pseudo[..], &wanted[34..]].concat();
    let words = all
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap();
    wanted[50..52].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(made, wanted);
    assert_eq!(layout.checksum_at(), Some(50));
}

#[test]
fn frames_from_the_other_port_have_a_tunnel_the_other_way() {
    let own = headers("gre,a=10.0.0.1,b=10.0.0.2", "udp");
    let layout = Layout::new(&own, &flow(true), Way::BToA);
    let template = Template::new(&layout, 20);
    let mut made = vec![0; template.frame_bytes()];
    template.write(&[0; 20], &mut made);
    assert_eq!(made[26..34], [10, 0, 0, 2, 10, 0, 0, 1]);
}

#[test]
fn what_is_no_stack_is_refused_with_what_would_be() {
    for (text, why) in [
        ("vlan", "vlan: it needs a value: vlan=ID"),
        ("vlan=4095", "vlan: ID=4095: it takes 0 to 4094"),
        ("vlan=1,pcp=8", "vlan: pcp=8: it takes 0 to 7"),
        ("vlan=1,pcp=1,pcp=2", "vlan: pcp is given twice"),
        (
            "vlan=1,ttl=2",
            "\"ttl\" is neither a header (vlan, qinq, mpls, gre, vxlan) nor an attribute of vlan (pcp, dei, tpid)",
        ),
        (
            "pcp=1",
            "\"pcp\" is not a header; there are vlan, qinq, mpls, gre, vxlan",
        ),
        (
            "qinq=5",
            "qinq: \"5\" is not two identifiers: qinq=OUTER/INNER",
        ),
        (
            "mpls=16/1048576",
            "mpls: LABEL=1048576: it takes 0 to 1048575",
        ),
        (
            "mpls=16,mpls=17",
            "mpls cannot stand behind mpls: labels of one stack are one header, mpls=16/17",
        ),
        (
            "mpls=16,vlan=1",
            "vlan cannot stand behind mpls: a tag stands behind Ethernet or another tag",
        ),
        (
            "gre,vlan=1",
            "vlan cannot stand behind gre: a tag stands behind Ethernet or another tag",
        ),
        (
            "gre,a=10.0.0.1",
            "gre: it takes both addresses, a and b, of one family, which differ",
        ),
        (
            "gre,gre,gre",
            "a frame has at most 8 headers, 2 of them tunnels",
        ),
        ("mpls=1/2/3/4/5/6/7/8/9", "mpls: at most 8 labels"),
    ] {
        let refused = text.parse::<HeaderStack>().map(|stack| stack.to_string());
        assert_eq!(
            refused.map_err(|error| error.to_string()),
            Err(why.to_owned()),
            "{text}"
        );
    }
    assert!("".parse::<HeaderStack>().unwrap().is_empty());
    let read = " VLAN=100 , pcp=5, mpls=16/17 "
        .parse::<HeaderStack>()
        .unwrap();
    assert_eq!(read.to_string(), "vlan=100,pcp=5,mpls=16/17");
}

#[test]
fn parameters_are_read_with_the_key_that_is_wrong() {
    let read = |key: &'static str, text: &'static str| {
        FrameHeaders::from_params(|other| (other == key).then_some(text))
    };
    for (key, text) in [
        (FrameHeaders::HEADERS, "vlan"),
        (
            FrameHeaders::HEADERS,
            "gre,mpls=1/2/3/4/5/6/7/8,vxlan=1,qinq=1/2,qinq=3/4",
        ),
        (FrameHeaders::L4, "sctp"),
        (FrameHeaders::TEMPLATE, "0011"),
        (FrameHeaders::TEMPLATE, "zz"),
        (FrameHeaders::TEMPLATE, "00112233445566778899aabbccddeef"),
    ] {
        assert_eq!(read(key, text).unwrap_err().key, key, "{text}");
    }
    let template = read(FrameHeaders::TEMPLATE, "00112233445566778899aabbccddee").unwrap();
    assert_eq!(template.bytes(true), 15);
    assert_eq!(read("other", "x").unwrap().bytes(false), 62);
}

/// Frames from port B may begin with other bytes, of the same number.
#[test]
fn each_way_has_its_template() {
    let [own, other] = [
        "00112233445566778899aabbccddee",
        "ff112233445566778899aabbccddee",
    ];
    let read = |other| {
        FrameHeaders::from_params(move |key| match key {
            FrameHeaders::TEMPLATE => Some(own),
            FrameHeaders::B_TEMPLATE => Some(other),
            _ => None,
        })
    };
    let headers = read(other).unwrap();
    let first = |way| headers.template_of(way).unwrap()[0];
    assert_eq!([first(Way::AToB), first(Way::BToA)], [0x00, 0xff]);
    let refused = read(&other[2..]).unwrap_err();
    assert_eq!(refused.key, FrameHeaders::B_TEMPLATE);
    assert!(
        refused.why.to_string().contains("14 B, the other 15"),
        "{}",
        refused.why
    );
}

/// A template is hexadecimal with what people write between, or the first packet of a capture; what is neither is told.
#[test]
fn a_template_is_read_from_text_or_a_capture() {
    let (_, datagram) = frame("vlan=100", "udp", true, &[]);
    let pairs: Vec<_> = datagram.iter().map(|byte| format!("{byte:02x}")).collect();
    let hex = pairs.join(" ");
    let text = format!(
        "# a tagged datagram\n{}\n",
        hex.replace("81 00", "81:00 # tag\n")
    );
    let mut capture = Vec::new();
    pcap::begin(&mut capture).unwrap();
    let long = [&datagram[..], &[1; 40]].concat();
    pcap::add(&mut capture, 1, &long).unwrap();
    pcap::add(&mut capture, 2, &[0; 60]).unwrap();
    let wanted = hex.replace(' ', "");
    assert_eq!(template_param(text.as_bytes(), None), Ok(wanted.clone()));
    assert_eq!(
        template_param(&capture, Some(datagram.len())),
        Ok(wanted.clone())
    );
    assert_eq!(
        template_param(&capture, None).unwrap().len(),
        long.len() * 2
    );
    let read = FrameHeaders::from_params(|key| (key == FrameHeaders::TEMPLATE).then_some(&wanted));
    let layout = Layout::new(&read.unwrap(), &flow(false), Way::BToA);
    assert_eq!(layout.transport().unwrap().at, 38);
    for (file, offset, why) in [
        (
            &b"0102"[..],
            None,
            "it takes 14 to 1024 whole bytes, not 4 digits",
        ),
        (
            b"012",
            None,
            "it is neither a pcap capture nor whole bytes in hexadecimal",
        ),
        (b"GIF89a\0", None, "not a pcap capture"),
        (&capture[..24], None, "the capture has no packet"),
        (
            text.as_bytes(),
            Some(47),
            "it has 46 bytes, and none at offset 47",
        ),
        (
            &capture,
            Some(47),
            "its udp header is at byte 38, so number and time must be at an even distance from there, not at byte 47: give another offset",
        ),
    ] {
        let refused = template_param(file, offset).unwrap_err().to_string();
        assert_eq!(refused, why);
    }
}

/// The parts of a frame in words, to compare.
/// A capture at the sender has no checksums yet where the interface would fill them in; over IPv6 a datagram needs one.
#[test]
fn a_template_without_checksum_makes_frames_that_are_whole() {
    for (is_ipv4, has_checksum) in [(true, false), (false, true)] {
        let (layout, mut made) = frame("vlan=5", "udp", is_ipv4, &[1; 20]);
        let place = layout.checksum_at().unwrap();
        made[place..place + 2].fill(0);
        made.truncate(layout.payload_at());
        let read = Layout::of_bytes(made);
        assert_eq!(read.checksum_at().is_some(), has_checksum);
        let template = Template::new(&read, 30);
        let mut again = vec![0; template.frame_bytes()];
        template.write(&[9; 30], &mut again);
        assert_eq!(check(&again, read.payload_at(), 30), Ok(()));
    }
}

fn parts(frame: &[u8]) -> Vec<Part> {
    let mut parts = Vec::new();
    walk(frame, &mut |part| parts.push(part));
    parts
}

/// Text of any stack.
fn stacks() -> impl Strategy<Value = String> {
    let tag = (0..4095_u32, 0..8_u32).prop_map(|(id, pcp)| format!("vlan={id},pcp={pcp}"));
    let two = (0..4095_u32, 0..4095_u32).prop_map(|(a, b)| format!("qinq={a}/{b}"));
    let labels = prop::collection::vec(0..1_048_576_u32, 1..5).prop_map(|labels| {
        let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
        format!("mpls={},ttl=3", labels.join("/"))
    });
    let gre = any::<u32>().prop_map(|key| format!("gre={key},a=10.1.0.1,b=10.1.0.2"));
    let vxlan = (0..1_u32 << 24).prop_map(|network| format!("vxlan={network}"));
    let item = prop_oneof![tag, two, labels, gre, vxlan];
    prop::collection::vec(item, 0..5).prop_map(|items| items.join(","))
}

proptest! {
    /// What is built is read: the same layout from the bytes alone, and every frame is whole.
    #[test]
    fn any_stack_is_read_as_it_was_built(
        stack in stacks(),
        l4 in prop_oneof![Just("udp"), Just("tcp")],
        is_ipv4 in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 18..200),
    ) {
        prop_assume!(stack.parse::<HeaderStack>().is_ok());
        let (layout, made) = frame(&stack, l4, is_ipv4, &payload);
        let at = layout.payload_at();
        prop_assert_eq!(&made[at..], &payload[..]);
        prop_assert_eq!(check(&made, at, payload.len()), Ok(()));
        let read = Layout::of_bytes(made[..at].to_vec());
        prop_assert_eq!(read.transport(), layout.transport());
        prop_assert_eq!(read.varying().collect::<Vec<_>>(), layout.varying().collect::<Vec<_>>());
        prop_assert_eq!(read.checksum_at(), layout.checksum_at());
        // Made anew from its bytes for another length it is the frame of the stack.
        let longer = [&payload[..], b"more"].concat();
        let template = Template::new(&read, longer.len());
        let mut again = vec![0; template.frame_bytes()];
        template.write(&longer, &mut again);
        let (_, wanted) = frame(&stack, l4, is_ipv4, &longer);
        prop_assert_eq!(again, wanted);
    }

    /// A cut frame is not whole, and what is cut in its headers is read as far as it goes.
    #[test]
    fn a_cut_frame_is_never_whole(stack in stacks(), is_ipv4 in any::<bool>(), cut in 1..60_usize) {
        prop_assume!(stack.parse::<HeaderStack>().is_ok());
        let (layout, made) = frame(&stack, "udp", is_ipv4, &[7; 40]);
        let short = &made[..made.len().saturating_sub(cut)];
        if short.len() >= layout.payload_at() {
            prop_assert_eq!(check(short, layout.payload_at(), 40), Err(Refusal::Length));
        }
        let (whole, seen) = (parts(&made), parts(short));
        prop_assert_eq!(&whole[..seen.len()], &seen[..]);
    }

    #[test]
    fn a_flipped_bit_of_payload_or_transport_never_passes(
        stack in stacks(),
        l4 in prop_oneof![Just("udp"), Just("tcp")],
        bit in 0..480_usize,
    ) {
        prop_assume!(stack.parse::<HeaderStack>().is_ok());
        let (layout, mut made) = frame(&stack, l4, true, &[7; 60]);
        let from = layout.payload_at();
        made[from + bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(check(&made, from, 60), Err(Refusal::Checksum));
    }

    #[test]
    fn nonsense_never_panics(
        noise in prop::collection::vec(any::<u8>(), 0..200),
        stack in stacks(),
        at in 0..200_usize,
        payload in 0..200_usize,
    ) {
        prop_assume!(stack.parse::<HeaderStack>().is_ok());
        let (_, mut made) = frame(&stack, "tcp", false, &[0; 30]);
        for frame in [&noise[..], {
            // Begins as a frame of ours, and goes on as it likes.
            let from = at.min(made.len());
            made.truncate(from);
            made.extend(&noise);
            &made[..]
        }] {
            parts(frame);
            let _ = check(frame, at, payload);
            if frame.len() >= ETHERNET_HEADER {
                let layout = Layout::of_bytes(frame.to_vec());
                let template = Template::new(&layout, payload);
                template.write(&vec![0; payload], &mut vec![0; template.frame_bytes()]);
            }
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9=,/:. ]{0,60}") {
        let _ = text.parse::<HeaderStack>();
    }
}
