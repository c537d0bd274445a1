//! Any kind byte and body: decoding must not panic, and what decodes must survive its own encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_peers::native::message::{Kind, Message};

fuzz_target!(|data: &[u8]| {
    let Some((byte, body)) = data.split_first() else {
        return;
    };
    let Some((kind, ..)) = Kind::from_byte(*byte) else {
        return;
    };
    if let Ok(message) = Message::decode(*kind, body)
        && let Ok(frame) = message.encode()
    {
        let again = Message::decode(*kind, &frame[5..]).expect("what was encoded can be decoded");
        assert_eq!(again.kind(), message.kind());
        assert_eq!(again.encode().expect("as long as before"), frame);
    }
});
