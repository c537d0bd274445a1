//! Any bytes to the decoders: none may panic, and what decodes must survive its own encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_peers::iperf2::header::{self, Header};
use linerate_peers::iperf2::report::Report;
use linerate_peers::native::message::{Kind, Message};
use linerate_peers::sockperf;

fuzz_target!(|data: &[u8]| {
    native(data);
    iperf2(data);
    sockperf(data);
});

/// Any kind byte and body.
fn native(data: &[u8]) {
    let Some((byte, body)) = data.split_first() else {
        return;
    };
    let Some(kind) = Kind::from_byte(*byte) else {
        return;
    };
    if let Ok(message) = Message::decode(kind, body)
        && let Ok(frame) = message.encode()
    {
        let again = Message::decode(kind, &frame[5..]).expect("what was encoded can be decoded");
        assert_eq!(again.kind(), message.kind());
        assert_eq!(again.encode().expect("as long as before"), frame);
    }
}

fn iperf2(data: &[u8]) {
    let _ = Header::of_tcp(data);
    let _ = Header::of_udp(data);
    assert!(header::opening_len(data) <= 256);
    if let Some(report) = Report::read(data) {
        for sent in [0, 1, report.datagrams, u64::MAX] {
            let _ = report.received(sent, 1448);
        }
    }
}

fn sockperf(data: &[u8]) {
    if let Some(header) = sockperf::wire::Header::read(data) {
        let mut again = data.to_vec();
        header.write(&mut again);
        assert_eq!(again, data);
        assert!(!header.reply().wants_reply());
    }
}
