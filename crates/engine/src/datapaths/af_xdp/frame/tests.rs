//! Frames that are right are read, frames of every other kind are refused.

use super::*;
use proptest::prelude::*;

fn flow(local: &str, remote: &str) -> Flow {
    Flow {
        local: End {
            mac: [2, 0, 0, 0, 0, 1],
            address: local.parse().unwrap(),
        },
        remote: End {
            mac: [2, 0, 0, 0, 0, 2],
            address: remote.parse().unwrap(),
        },
        traffic_class: 0xb8,
    }
}

fn flows() -> [Flow; 2] {
    [
        flow("10.0.0.1:4000", "10.0.0.2:5000"),
        flow("[fd00::1]:4000", "[fd00::2]:5000"),
    ]
}

/// The flow with both ends swapped.
fn reversed(flow: &Flow) -> Flow {
    Flow {
        local: flow.remote,
        remote: flow.local,
        ..*flow
    }
}

fn frame(flow: &Flow, data: &[u8]) -> Vec<u8> {
    let mut room = vec![0xee; 4096];
    let length = Template::new(&Layout::plain(flow), data.len()).write(data, &mut room);
    room.truncate(length);
    room
}

#[test]
fn a_frame_of_ipv4_is_byte_for_byte_what_the_rfcs_say() {
    let [flow, _] = flows();
    let expected = [
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0][..],
        // Version and length, class, total length 31, no identification, do not fragment, 64 hops, UDP.
        &[0x45, 0xb8, 0, 31, 0, 0, 0x40, 0, 64, 17, 0x26, 0x14],
        &[10, 0, 0, 1, 10, 0, 0, 2],
        &[0x0f, 0xa0, 0x13, 0x88, 0, 11, 0x64, 0x4d],
        b"abc",
    ]
    .concat();
    let made = frame(&flow, b"abc");
    // Checksums by the definition, from the words written above.
    let word = |pair: &[u8]| {
        let second = pair.get(1).copied().unwrap_or(0);
        u32::from(u16::from_be_bytes([pair[0], second]))
    };
    let sum = |bytes: &[u8]| bytes.chunks(2).map(word).sum::<u32>();
    let fold = |sum: u32| u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    let without = |range: std::ops::Range<usize>, from: usize, to: usize| {
        let mut bytes = made.clone();
        bytes[range].fill(0);
        bytes[from..to].to_vec()
    };
    let header = !fold(sum(&without(24..26, 14, 34)));
    let pseudo = sum(&made[26..34]) + 17 + 11;
    let udp = !fold(pseudo + sum(&without(40..42, 34, made.len())));
    assert_eq!(made[24..26], header.to_be_bytes());
    assert_eq!(made[40..42], udp.to_be_bytes());
    let mut expected = expected;
    expected[24..26].copy_from_slice(&header.to_be_bytes());
    expected[40..42].copy_from_slice(&udp.to_be_bytes());
    assert_eq!(made, expected);
}

#[test]
fn a_frame_of_ipv6_has_its_class_length_and_a_checksum() {
    let [_, flow] = flows();
    let made = frame(&flow, b"abc");
    assert_eq!(made[12..22], [0x86, 0xdd, 0x6b, 0x80, 0, 0, 0, 11, 17, 64]);
    assert_eq!(made.len(), flow.headers() + 3);
    assert_ne!(made[60..62], [0, 0]);
    let mut without = made;
    without[60..62].fill(0);
    assert_eq!(
        payload(&reversed(&flow), &without),
        Err(Refusal::Checksum),
        "RFC 8200: not optional"
    );
}

#[test]
fn ipv4_may_leave_the_checksum_out_and_a_virtual_link_may_leave_it_half_done() {
    for flow in flows() {
        let mut made = frame(&flow, b"abcd");
        let at = flow.headers() - 2;
        let (from, to) = (flow.local.address.ip(), flow.remote.address.ip());
        made[at..at + 2].copy_from_slice(&pseudo(from, to, PROTOCOL_UDP, 12).bytes());
        assert_eq!(payload(&reversed(&flow), &made), Ok(&b"abcd"[..]));
        made[at..at + 2].fill(0);
        let is_v4 = flow.local.address.is_ipv4();
        assert_eq!(payload(&reversed(&flow), &made).is_ok(), is_v4);
    }
}

#[test]
fn a_checksum_that_comes_out_as_zero_is_sent_as_ones() {
    for flow in flows() {
        // The two bytes that make the sum all ones, whatever the rest is.
        let at = flow.headers() - 2;
        let plain = frame(&flow, &[0; 2]);
        let data = [plain[at], plain[at + 1]];
        let made = frame(&flow, &data);
        assert_eq!(made[at..at + 2], [0xff; 2]);
        assert_eq!(payload(&reversed(&flow), &made), Ok(&data[..]));
    }
}

#[test]
fn padding_after_the_datagram_is_not_payload() {
    for flow in flows() {
        let mut made = frame(&flow, b"x");
        made.resize(100, 0);
        assert_eq!(payload(&reversed(&flow), &made), Ok(&b"x"[..]));
        let empty = frame(&flow, b"");
        assert_eq!(payload(&reversed(&flow), &empty), Ok(&b""[..]));
    }
}

#[test]
fn a_cut_frame_is_refused_at_every_length() {
    for flow in flows() {
        let made = frame(&flow, b"payload");
        for length in 0..made.len() {
            let result = payload(&reversed(&flow), &made[..length]);
            assert_eq!(result, Err(Refusal::Length), "{length}");
        }
    }
}

#[test]
fn frames_of_other_flows_kinds_and_shapes_are_refused() {
    let [v4, v6] = flows();
    // Byte, its value, and what it makes of the frame.
    let spoiled: &[(&Flow, usize, u8, &str)] = &[
        (&v4, 12, 0x81, "VLAN tag"),
        (&v4, 13, 0x06, "ARP"),
        (&v4, 14, 0x46, "options"),
        (&v4, 14, 0x65, "version 6"),
        (&v4, 20, 0x60, "more fragments"),
        (&v4, 21, 0x01, "a later fragment"),
        (&v4, 23, 6, "TCP"),
        (&v4, 29, 9, "another source"),
        (&v4, 33, 9, "another destination"),
        (&v4, 35, 0, "another source port"),
        (&v4, 37, 0, "another destination port"),
        (&v6, 14, 0x40, "version 4"),
        (&v6, 20, 0, "hop-by-hop options"),
        (&v6, 20, 44, "a fragment"),
        (&v6, 37, 9, "another source"),
        (&v6, 53, 9, "another destination"),
        (&v6, 55, 0, "another source port"),
    ];
    for (flow, at, value, what) in spoiled {
        let mut made = frame(flow, b"payload");
        made[*at] = *value;
        let result = payload(&reversed(flow), &made);
        assert!(
            matches!(result, Err(Refusal::NotOurs | Refusal::Checksum)),
            "{what}: {result:?}"
        );
    }
    assert!(payload(&reversed(&v4), &frame(&v6, b"x")).is_err());
}

#[test]
fn lengths_that_do_not_fit_each_other_are_refused() {
    for flow in flows() {
        let made = frame(&flow, b"payload");
        let udp = flow.headers() - 4;
        for length in [0_u16, 7, 16, 1500, u16::MAX] {
            let mut bad = made.clone();
            bad[udp..udp + 2].copy_from_slice(&length.to_be_bytes());
            assert_eq!(
                payload(&reversed(&flow), &bad),
                Err(Refusal::Length),
                "{length}"
            );
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(data in proptest::collection::vec(any::<u8>(), 0..1473)) {
        for flow in flows() {
            let made = frame(&flow, &data);
            prop_assert_eq!(payload(&reversed(&flow), &made), Ok(&data[..]));
        }
    }

    #[test]
    fn a_flipped_bit_behind_the_ethernet_header_never_passes_for_another_payload(
        data in proptest::collection::vec(any::<u8>(), 0..64),
        bit in 0..1024_usize,
    ) {
        for flow in flows() {
            let mut made = frame(&flow, &data);
            let (from, to) = (flow.local.address.ip(), flow.remote.address.ip());
            let length = u16::try_from(data.len() + 8).unwrap();
            let checksum = flow.headers() - 2..flow.headers();
            if made[checksum] == pseudo(from, to, PROTOCOL_UDP, length).bytes() {
                // One in 65 536 looks as if it had been left to a device, and vouches for nothing.
                continue;
            }
            let bits = (made.len() - ETHERNET_HEADER) * 8;
            let at = ETHERNET_HEADER * 8 + bit % bits;
            made[at / 8] ^= 1 << (at % 8);
            // Class, flow label and hops of IPv6 are in no checksum.
            if let Ok(read) = payload(&reversed(&flow), &made) {
                prop_assert_eq!(read, &data[..]);
            }
        }
    }

    #[test]
    fn nonsense_never_panics(frame in proptest::collection::vec(any::<u8>(), 0..200)) {
        for flow in flows() {
            prop_assert!(payload(&flow, &frame).is_err());
        }
    }
}
