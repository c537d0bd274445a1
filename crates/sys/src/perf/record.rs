//! Records of the ring as values. Pure: bytes in, values out.
//!
//! ```text
//!  header  type:u32 misc:u16 size:u16
//!  SAMPLE  header ip:u64 pid:u32 tid:u32 nr:u64 addresses:[u64; nr]
//!  LOST    header id:u64 lost:u64
//! ```

/// What the core was doing when a sample was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Kernel code, on behalf of a thread or of an interrupt.
    Kernel,
    /// Anything else, such as a hypervisor.
    Other,
    /// User code.
    User,
}

/// One sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    /// What the core was doing.
    pub mode: Mode,
    /// Address of the next instruction.
    pub address: u64,
    /// Process of the thread that had the core; 0: the idle one, or one outside this PID namespace.
    pub process: u32,
    /// Thread that had the core.
    pub thread: u32,
    /// Addresses in the kernel, innermost first; empty for user code.
    pub chain: &'a [u64],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Record<'a> {
    Lost(u64),
    Sample(Sample<'a>),
}

/// Bytes of the header of a record.
pub(super) const HEADER: usize = 8;

/// Parses one record; `None` for other kinds and truncated records. `words` holds the call chain.
pub(super) fn parse<'a>(bytes: &[u8], words: &'a mut Vec<u64>) -> Option<Record<'a>> {
    let kind = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?);
    let misc = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    match kind {
        PERF_RECORD_LOST => Some(Record::Lost(word(bytes, HEADER + 8)?)),
        PERF_RECORD_SAMPLE => sample(bytes, misc, words).map(Record::Sample),
        _ => None,
    }
}

fn sample<'a>(bytes: &[u8], misc: u16, words: &'a mut Vec<u64>) -> Option<Sample<'a>> {
    let half = |at: usize| {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_ne_bytes(four))
    };
    let count = usize::try_from(word(bytes, HEADER + 16)?).ok()?;
    let chain = bytes.get(HEADER + 24..)?;
    let chain = chain.get(..count.checked_mul(8)?)?;
    let (eights, _) = chain.as_chunks::<8>();
    words.clear();
    words.extend(
        eights
            .iter()
            .map(|eight| u64::from_ne_bytes(*eight))
            .filter(|address| *address < CONTEXT_MARKS),
    );
    Some(Sample {
        mode: match misc & CPU_MODE {
            1 => Mode::Kernel,
            2 => Mode::User,
            _ => Mode::Other,
        },
        address: word(bytes, HEADER)?,
        process: half(HEADER + 8)?,
        thread: half(HEADER + 12)?,
        chain: words,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_ne_bytes(eight))
}

const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_SAMPLE: u32 = 9;
/// `PERF_RECORD_MISC_CPUMODE_MASK`.
const CPU_MODE: u16 = 7;
/// `PERF_CONTEXT_MAX`: from here on a word marks what follows (kernel, user) and is no address.
const CONTEXT_MARKS: u64 = (-4095_i64).cast_unsigned();

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(in super::super) fn sample_bytes(mode: u16, chain: &[u64]) -> Vec<u8> {
        let size = u16::try_from(HEADER + 24 + chain.len() * 8).unwrap();
        let mut bytes = PERF_RECORD_SAMPLE.to_ne_bytes().to_vec();
        bytes.extend(mode.to_ne_bytes());
        bytes.extend(size.to_ne_bytes());
        bytes.extend(0xffff_ffff_8100_0010_u64.to_ne_bytes());
        bytes.extend(7_u32.to_ne_bytes());
        bytes.extend(8_u32.to_ne_bytes());
        bytes.extend((chain.len() as u64).to_ne_bytes());
        bytes.extend(chain.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn a_kernel_sample_has_its_chain_without_marks() {
        let kernel_mark = (-128_i64).cast_unsigned();
        let bytes = sample_bytes(
            1,
            &[kernel_mark, 0xffff_ffff_8100_0010, 0xffff_ffff_8100_0500],
        );
        let mut words = Vec::new();
        let Some(Record::Sample(sample)) = parse(&bytes, &mut words) else {
            panic!("a sample");
        };
        assert_eq!(sample.mode, Mode::Kernel);
        assert_eq!((sample.process, sample.thread), (7, 8));
        assert_eq!(sample.chain, [0xffff_ffff_8100_0010, 0xffff_ffff_8100_0500]);
    }

    #[test]
    fn a_lost_record_says_how_many() {
        let mut bytes = PERF_RECORD_LOST.to_ne_bytes().to_vec();
        bytes.extend([0, 0, 24, 0]);
        bytes.extend(1_u64.to_ne_bytes());
        bytes.extend(42_u64.to_ne_bytes());
        assert_eq!(parse(&bytes, &mut Vec::new()), Some(Record::Lost(42)));
    }

    #[test]
    fn a_sample_that_is_cut_short_is_none() {
        let bytes = sample_bytes(2, &[1, 2, 3]);
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length], &mut Vec::new()), None, "{length}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes: Vec<u8>, kind in 0_u8..12) {
            let mut bytes = bytes;
            if let Some(first) = bytes.first_mut() { *first = kind; }
            let _ = parse(&bytes, &mut Vec::new());
        }
    }
}
