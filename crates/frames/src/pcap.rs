//! Captures of Ethernet frames: the classic pcap format, as tcpdump and Wireshark read and write it.
//!
//! # References
//! - draft-ietf-opsawg-pcap: a header of 24 bytes, then for each packet 16 bytes and its bytes; either byte order;
//!   microseconds or nanoseconds

use std::io::{self, Read, Write};

/// A frame and when it was captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Nanoseconds since 1970.
    pub at: u64,
    /// From the destination MAC address on, without FCS.
    pub frame: Vec<u8>,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The newer format.
    #[error("it is a pcapng capture; make a pcap of it: editcap -F pcap IN OUT")]
    Pcapng,
    /// Something else.
    #[error("not a pcap capture")]
    NoPcap,
    /// Frames of another link type, by its number.
    #[error("its link type is {0}, not 1 (Ethernet)")]
    NotEthernet(u32),
    /// A packet that no frame is.
    #[error("packet {packet} has {bytes} bytes; 65536 are the most")]
    TooLong {
        /// Number of the packet, from 1 on.
        packet: u64,
        /// Its captured length.
        bytes: u32,
    },
    /// A packet of which only the first bytes were captured.
    #[error(
        "packet {packet} was captured with {kept} of its {bytes} bytes; capture whole packets: tcpdump -s 0"
    )]
    Cut {
        /// Number of the packet, from 1 on.
        packet: u64,
        /// Bytes that were captured.
        kept: u32,
        /// Bytes that it had.
        bytes: u32,
    },
    /// The file ends within the packet of this number.
    #[error("it ends within packet {0}")]
    Truncated(u64),
}

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const ETHERNET: u32 = 1;
const MAX_FRAME: u32 = 1 << 16;
const SECOND: u64 = 1_000_000_000;

/// A capture that is read frame by frame.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    is_little: bool,
    /// Nanoseconds of the unit of the fraction of a second.
    unit: u64,
    read: u64,
}

impl<R: Read> Reader<R> {
    /// Reads the header of the file.
    ///
    /// # Errors
    /// What the file is instead.
    pub fn new(mut from: R) -> Result<Self, PcapError> {
        let mut header = [0; 24];
        let length = read_up_to(&mut from, &mut header)?;
        let word = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
        let magic = u32::from_le_bytes(word(0));
        if magic == SECTION_HEADER {
            return Err(PcapError::Pcapng);
        }
        let (is_little, unit) = match (magic, magic.swap_bytes()) {
            (MICROSECONDS, _) => (true, 1000),
            (NANOSECONDS, _) => (true, 1),
            (_, MICROSECONDS) => (false, 1000),
            (_, NANOSECONDS) => (false, 1),
            _ => return Err(PcapError::NoPcap),
        };
        if length < header.len() {
            return Err(PcapError::NoPcap);
        }
        let reader = Self {
            from,
            is_little,
            unit,
            read: 0,
        };
        // The upper bits tell of an FCS.
        match reader.number(word(20)) & 0x03ff_ffff {
            ETHERNET => Ok(reader),
            other => Err(PcapError::NotEthernet(other)),
        }
    }

    fn number(&self, bytes: [u8; 4]) -> u32 {
        if self.is_little {
            u32::from_le_bytes(bytes)
        } else {
            u32::from_be_bytes(bytes)
        }
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// Which packet is wrong, and how.
    pub fn next_frame(&mut self) -> Result<Option<Captured>, PcapError> {
        let mut header = [[0; 4]; 4];
        let length = read_up_to(&mut self.from, header.as_flattened_mut())?;
        if length == 0 {
            return Ok(None);
        }
        self.read += 1;
        let packet = self.read;
        let [seconds, fraction, kept, bytes] = header.map(|word| self.number(word));
        if length < 16 {
            return Err(PcapError::Truncated(packet));
        }
        if kept > MAX_FRAME {
            return Err(PcapError::TooLong {
                packet,
                bytes: kept,
            });
        }
        if kept < bytes {
            return Err(PcapError::Cut {
                packet,
                kept,
                bytes,
            });
        }
        let mut frame = vec![0; kept as usize];
        if read_up_to(&mut self.from, &mut frame)? < frame.len() {
            return Err(PcapError::Truncated(packet));
        }
        let at = u64::from(seconds) * SECOND + u64::from(fraction) * self.unit;
        Ok(Some(Captured { at, frame }))
    }
}

/// Fills as much of `bytes` as there is.
fn read_up_to(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < bytes.len() {
        match from.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

/// Begins a capture of Ethernet frames with nanoseconds.
///
/// # Errors
/// Those of the writer.
pub fn begin(to: &mut impl Write) -> io::Result<()> {
    let words = [NANOSECONDS, 2 | 4 << 16, 0, 0, MAX_FRAME, ETHERNET];
    to.write_all(words.map(u32::to_le_bytes).as_flattened())
}

/// Adds a frame to a capture.
///
/// # Errors
/// Those of the writer.
pub fn add(to: &mut impl Write, at: u64, frame: &[u8]) -> io::Result<()> {
    let short = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let length = short(frame.len() as u64);
    let words = [short(at / SECOND), short(at % SECOND), length, length];
    to.write_all(words.map(u32::to_le_bytes).as_flattened())?;
    to.write_all(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(frames: &[(u64, &[u8])]) -> Vec<u8> {
        let mut file = Vec::new();
        begin(&mut file).unwrap();
        for (at, frame) in frames {
            add(&mut file, *at, frame).unwrap();
        }
        file
    }

    #[test]
    fn what_is_written_is_read() {
        let file = written(&[
            (1_700_000_000_123_456_789, b"abc"),
            (1_700_000_001_000_000_000, b""),
        ]);
        let mut reader = Reader::new(&file[..]).unwrap();
        let first = reader.next_frame().unwrap().unwrap();
        assert_eq!(
            (first.at, &first.frame[..]),
            (1_700_000_000_123_456_789, &b"abc"[..])
        );
        assert_eq!(reader.next_frame().unwrap().unwrap().frame, b"");
        assert_eq!(reader.next_frame().unwrap(), None);
    }

    #[test]
    fn a_capture_of_the_other_byte_order_in_microseconds_is_read() {
        let words = [
            MICROSECONDS,
            2 << 16 | 4,
            0,
            0,
            65_535,
            ETHERNET,
            7,
            5,
            2,
            2,
        ];
        let mut file = words.map(u32::to_be_bytes).as_flattened().to_vec();
        file.extend(b"xy");
        let mut reader = Reader::new(&file[..]).unwrap();
        let first = reader.next_frame().unwrap().unwrap();
        assert_eq!((first.at, &first.frame[..]), (7_000_005_000, &b"xy"[..]));
    }

    #[test]
    fn what_is_cut_anywhere_is_told() {
        let file = written(&[(1, b"abcdef")]);
        for length in 0..file.len() {
            let read = Reader::new(&file[..length]).and_then(|mut reader| reader.next_frame());
            assert_eq!(read.is_ok(), length == 24, "{length}");
        }
    }

    #[test]
    fn other_files_are_told_by_what_they_are() {
        let words = |words: [u32; 6]| words.map(u32::to_le_bytes).as_flattened().to_vec();
        let refused = |file: &[u8]| Reader::new(file).err().unwrap().to_string();
        assert!(refused(&words([SECTION_HEADER, 0, 0, 0, 0, 0])).contains("pcapng"));
        assert!(refused(b"GIF89a").contains("not a pcap"));
        let raw_ip = words([MICROSECONDS, 0, 0, 0, 0, 101]);
        assert!(refused(&raw_ip).contains("101"));
        let mut huge = written(&[]);
        huge.extend(
            [0, 0, u32::MAX, u32::MAX]
                .map(u32::to_le_bytes)
                .as_flattened(),
        );
        let error = Reader::new(&huge[..]).unwrap().next_frame().unwrap_err();
        assert!(matches!(error, PcapError::TooLong { packet: 1, .. }));
    }
}
