use super::message::{Answer, Request, answer, attribute, attributes};
use super::*;
use proptest::prelude::*;

/// An answer: header of `kind` for request 1, family header, attributes.
fn datagram(kind: u16, header: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    attributes
        .iter()
        .fold(Request::new(kind, 1, header), |request, (kind, value)| {
            request.with(*kind, value)
        })
        .finish()
}

/// Attributes alone, as the value of a nested attribute.
fn nested(attributes: &[(u16, &[u8])]) -> Vec<u8> {
    datagram(0, &[], attributes)[16..].to_vec()
}

fn words(values: &[u32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect()
}

#[test]
fn an_interface_is_read_from_its_answer() {
    let mut header = [0; 16];
    header[2..4].copy_from_slice(&1_u16.to_ne_bytes());
    header[4..8].copy_from_slice(&7_i32.to_ne_bytes());
    let bytes = datagram(
        16,
        &header,
        &[
            (3, b"veth0\0"),
            (1, &[2, 0, 0xab, 0, 0, 1]),
            (4, &words(&[1500])),
            (6, b"fq_codel\0"),
            (0x8012, &nested(&[(1, b"veth\0")])),
        ],
    );
    let Some(Answer::Message(body)) = answer(&bytes, 16, 1) else {
        panic!("no message");
    };
    let link = link::parse(body).unwrap();
    assert_eq!((link.index, link.name.as_str()), (7, "veth0"));
    assert_eq!(link.address_text(), "02:00:ab:00:00:01");
    assert_eq!(link.virtual_kind(), Some("veth"));
    assert_eq!(link.qdisc.as_deref(), Some("fq_codel"));
    assert_eq!(link.mtu_bytes, Some(1500));
    assert_eq!(link.rx_queues, None);
}

#[test]
fn drops_are_read_from_new_and_old_statistics() {
    let queue = words(&[1, 2000, 3, 4, 5]);
    let new = datagram(36, &[0; 20], &[(7, &nested(&[(3, &queue)]))]);
    let old = datagram(
        36,
        &[0; 20],
        &[(3, &words(&[0, 0, 9, 3, 5, 0, 0, 1, 2000]))],
    );
    let expected = QdiscStats {
        dropped: 3,
        overlimits: 5,
        backlog_bytes: 2000,
    };
    for bytes in [new, old] {
        assert_eq!(qdisc::parse(&bytes[16..]), Some(expected));
    }
}

#[test]
fn a_refusal_is_the_kernels_error_number() {
    let bytes = datagram(2, &(-19_i32).to_ne_bytes(), &[]);
    assert_eq!(answer(&bytes, 16, 1), Some(Answer::Error(19)));
}

#[test]
fn answers_to_others_are_passed_over() {
    let mut bytes = Request::new(16, 99, b"not ours").finish();
    bytes.extend(datagram(16, b"ours", &[]));
    assert_eq!(answer(&bytes, 16, 1), Some(Answer::Message(b"ours")));
}

#[test]
fn an_answer_cut_anywhere_is_not_understood() {
    let bytes = datagram(16, &[0; 16], &[(3, b"eth0\0")]);
    for end in 0..bytes.len() - 4 {
        let cut = answer(&bytes[..end], 16, 1);
        assert_eq!(cut, None, "cut at {end}");
    }
}

#[test]
fn the_live_loopback_device_describes_itself() {
    let lo = link_by_name("lo").unwrap();
    assert!(lo.is_loopback);
    assert_eq!(lo.virtual_kind(), Some("loopback"));
    assert_eq!(link_by_index(lo.index), Ok(lo));
}

#[test]
fn an_unknown_interface_is_refused_by_name() {
    let error = link_by_name("no-such-if").unwrap_err().to_string();
    assert!(
        error.starts_with("netlink request for the interface: "),
        "{error}"
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_parsers_panic(bytes: Vec<u8>) {
        let _ = answer(&bytes, 16, 1);
        let _ = attribute(&bytes, 3);
        prop_assert!(attributes(&bytes).count() <= bytes.len() / 4);
        let _ = (link::parse(&bytes), qdisc::parse(&bytes), route::parse(&bytes));
    }

    #[test]
    fn what_is_written_is_read(values in proptest::collection::vec((0_u16..0x3fff, proptest::collection::vec(any::<u8>(), 0..20)), 0..8)) {
        let list: Vec<(u16, &[u8])> = values.iter().map(|(kind, value)| (*kind, &value[..])).collect();
        let bytes = nested(&list);
        prop_assert_eq!(attributes(&bytes).collect::<Vec<_>>(), list);
    }
}
