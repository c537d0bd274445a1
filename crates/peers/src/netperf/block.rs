//! The blocks that both ends exchange: a type, a status, and the words of a test; all big-endian.
//!
//! ```text
//!  0      4        8                      256 (netserver up to 2.5) or 656
//!  | type | status | words of the test …  |
//! ```
//! Nothing in a block says how long it is: both ends must mean the same. A client finds out by its first
//! request, see [`Size::of_greeting`].

use std::time::Duration;

/// Bytes before the words of a test.
const HEAD: usize = 8;

/// Words of a test in the longer kind of block.
const WORDS: usize = 162;

/// Length of all blocks of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// netperf up to 2.5.
    Short,
    /// netperf from 2.6 on.
    Long,
}

impl Size {
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::Short => 256,
            Self::Long => HEAD + WORDS * 4,
        }
    }

    /// Block size of a server by its answer to a [`greeting`]; `None` until that is known.
    ///
    /// A server of long blocks answers once, and the rest of its block is zero: it has made no test yet. One of short
    /// blocks takes the greeting for two requests and answers both.
    pub(super) fn of_greeting(answer: &[u8]) -> Option<Self> {
        let second = Self::Short.bytes();
        let kind = answer.get(second..)?.first_chunk::<4>()?;
        Some(match u32::from_be_bytes(*kind) {
            0 => Self::Long,
            _ => Self::Short,
        })
    }
}

/// A first request that both kinds of server understand: "stop debugging", which a server that does not debug
/// only acknowledges. It stands where each of the short blocks begins that a long one holds.
pub(super) fn greeting() -> Vec<u8> {
    let mut bytes = vec![0; Size::Long.bytes()];
    for block in bytes.chunks_mut(Size::Short.bytes()) {
        block[..4].copy_from_slice(&kind::DEBUG_OFF.to_be_bytes());
    }
    bytes
}

/// Bytes that a server of short blocks still expects after a [`greeting`]: the rest of a third request.
pub(super) fn rest_of_greeting() -> Vec<u8> {
    let begun = Size::Long.bytes() % Size::Short.bytes();
    vec![0; Size::Short.bytes() - begun]
}

/// Number of answers to a greeting from a server of short blocks.
pub(super) const SHORT_ANSWERS: usize = Size::Long.bytes().div_ceil(Size::Short.bytes());

/// Types of blocks. The response to a test is one more than its request, the results are two more.
pub(super) mod kind {
    pub(in super::super) const DEBUG_ON: u32 = 1;
    pub(in super::super) const DEBUG_OFF: u32 = 2;
    pub(in super::super) const DEBUG_OK: u32 = 3;
    pub(in super::super) const CPU_CALIBRATE: u32 = 5;
    pub(in super::super) const PASSPHRASE: u32 = 6;
    pub(in super::super) const TCP_STREAM: u32 = 10;
    pub(in super::super) const TCP_RR: u32 = 13;
    pub(in super::super) const UDP_STREAM: u32 = 16;
    pub(in super::super) const UDP_RR: u32 = 19;
    pub(in super::super) const OMNI: u32 = 97;
    pub(in super::super) const TCP_MAERTS: u32 = 94;
}

/// One block, its words in host order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) kind: u32,
    /// Request: the core to run on, or -1. Response and results: an error number of the server's system.
    pub(super) status: u32,
    words: [u32; WORDS],
}

impl Block {
    /// Block that begins with these words; the others are zero.
    pub(super) fn new(kind: u32, status: u32, words: &[u32]) -> Self {
        let mut all = [0; WORDS];
        all.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
        Self {
            kind,
            status,
            words: all,
        }
    }

    /// Parses a block of either size.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut words = bytes.chunks_exact(4).map(|word| {
            let word = word.try_into().expect("invariant: chunks of four");
            u32::from_be_bytes(word)
        });
        let (kind, status) = (words.next(), words.next());
        let rest: Vec<_> = words.collect();
        Self::new(kind.unwrap_or(0), status.unwrap_or(0), &rest)
    }

    /// Type of a block whose beginning has arrived, if it is not a known one; `None` if it may be.
    pub(super) fn beginning(bytes: &[u8]) -> Option<u32> {
        /// Exclusive upper bound of the types in all versions.
        const MAX_TYPE: u32 = 0xffff;
        let kind = u32::from_be_bytes(*bytes.first_chunk()?);
        (kind.min(kind.swap_bytes()) > MAX_TYPE).then_some(kind)
    }

    /// Encodes the block for the wire.
    pub(super) fn write(&self, size: Size) -> Vec<u8> {
        let head = [self.kind, self.status];
        let words = head.iter().chain(&self.words);
        let mut bytes: Vec<u8> = words.flat_map(|word| word.to_be_bytes()).collect();
        bytes.truncate(size.bytes());
        bytes
    }

    /// Word `at` of the test; zero beyond its end.
    pub(super) fn word(&self, at: usize) -> u32 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// Word `at` of the test as a signed number.
    pub(super) fn signed(&self, at: usize) -> i32 {
        self.word(at).cast_signed()
    }

    /// Text of at most `words` words from word `at`, up to its first zero.
    pub(super) fn text(&self, at: usize, words: usize) -> String {
        let bytes: Vec<u8> = (at..at + words)
            .flat_map(|at| self.word(at).to_be_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes text from word `at` on, in at most `words` words with the zero that ends it.
    pub(super) fn set_text(&mut self, at: usize, words: usize, text: &str) {
        let mut bytes: Vec<u8> = text.bytes().take(words * 4 - 1).collect();
        bytes.resize(words * 4, 0);
        for (word, chunk) in self.words[at..at + words]
            .iter_mut()
            .zip(bytes.chunks_exact(4))
        {
            *word = u32::from_be_bytes(chunk.try_into().expect("invariant: chunks of four"));
        }
    }

    /// A time in seconds, as binary32; `None` if a test cannot have it.
    pub(super) fn seconds(&self, at: usize) -> Option<Duration> {
        let seconds = f32::from_bits(self.word(at));
        Duration::try_from_secs_f32(seconds)
            .ok()
            .filter(|time| *time < Duration::from_hours(48))
    }

    /// A count as binary64 in two words; `None` if it is not a number from 0 to 2^53.
    pub(super) fn count(&self, at: usize) -> Option<u64> {
        const MAX_COUNT: f64 = 9_007_199_254_740_992.0;
        let bits = u64::from(self.word(at)) << 32 | u64::from(self.word(at + 1));
        let float = f64::from_bits(bits);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be from 0 to 2^53; the fraction is dropped on purpose"
        )]
        (0.0..=MAX_COUNT).contains(&float).then_some(float as u64)
    }
}

/// Encodes a time as one word.
pub(super) fn seconds(time: Duration) -> u32 {
    time.as_secs_f32().to_bits()
}

/// Encodes a count as two words.
pub(super) fn count(count: u64) -> [u32; 2] {
    #[expect(
        clippy::cast_precision_loss,
        reason = "netperf itself counts in binary64; exact up to 2^53"
    )]
    let bits = (count as f64).to_bits();
    let [high, low] = [bits >> 32, bits & u64::from(u32::MAX)];
    [high, low].map(|half| u32::try_from(half).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_its_words_in_network_order() {
        let block = Block::new(kind::TCP_STREAM, u32::MAX, &[1, 0x0102_0304]);
        let bytes = block.write(Size::Long);
        assert_eq!(bytes.len(), 656);
        assert_eq!(
            bytes[..16],
            [0, 0, 0, 10, 255, 255, 255, 255, 0, 0, 0, 1, 1, 2, 3, 4]
        );
        assert_eq!(Block::read(&bytes), block);
        let short = block.write(Size::Short);
        assert_eq!(short.len(), 256);
        assert_eq!(Block::read(&short), block);
    }

    #[test]
    fn numbers_keep_their_value() {
        let [high, low] = count(1 << 40);
        let block = Block::new(0, 0, &[high, low, seconds(Duration::from_millis(2500))]);
        assert_eq!(block.count(0), Some(1 << 40));
        assert_eq!(block.seconds(2), Some(Duration::from_millis(2500)));
    }

    #[test]
    fn numbers_that_cannot_be_are_none() {
        for float in [-1.0_f64, f64::NAN, f64::INFINITY, 1e300] {
            let bits = float.to_bits().to_be_bytes();
            let words = bits.as_chunks::<4>().0;
            let words: Vec<_> = words.iter().map(|word| u32::from_be_bytes(*word)).collect();
            let block = Block::new(0, 0, &words);
            assert_eq!(block.count(0), None, "{float}");
        }
        for float in [-1.0, f32::NAN, f32::INFINITY, 1e30] {
            assert_eq!(Block::new(0, 0, &[float.to_bits()]).seconds(0), None);
        }
        assert_eq!(Block::new(0, 0, &[]).word(WORDS), 0);
    }

    #[test]
    fn text_is_bounded_and_ends_with_a_zero() {
        let mut block = Block::new(0, 0, &[]);
        block.set_text(2, 4, "cubic");
        assert_eq!(block.text(2, 4), "cubic");
        block.set_text(2, 1, "reno");
        assert_eq!(block.text(2, 1), "ren");
    }

    #[test]
    fn the_greeting_tells_servers_apart() {
        let ok = Block::new(kind::DEBUG_OK, 0, &[]);
        let long = ok.write(Size::Long);
        let short = [ok.write(Size::Short), ok.write(Size::Short)].concat();
        assert_eq!(Size::of_greeting(&long[..259]), None);
        assert_eq!(Size::of_greeting(&long[..260]), Some(Size::Long));
        assert_eq!(Size::of_greeting(&short), Some(Size::Short));
        let whole = [greeting(), rest_of_greeting()].concat();
        assert_eq!(whole.len(), SHORT_ANSWERS * Size::Short.bytes());
        for request in whole.chunks(Size::Short.bytes()) {
            assert_eq!(Block::read(request).kind, kind::DEBUG_OFF);
        }
    }
}
