//! Without a network: headers and reports, and both ends with each other.

mod codec;
mod sessions;
mod unproved;

pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A first datagram: number, time, then these words, and a filling.
pub(super) fn datagram(number: u32, rest: &[u32]) -> Vec<u8> {
    let mut bytes = words(&[number, 1, 2]);
    bytes.extend(words(rest));
    bytes.resize(1470, b'7');
    bytes
}
