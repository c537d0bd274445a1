//! The stream, compressed: each piece can be unpacked as soon as it has come (RFC 1951, with a flush after each).

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Output buffer growth per step, bytes.
const ROOM: usize = 4096;

/// Most that comes out of one frame's payload: DEFLATE packs at most about a thousandfold.
const MAX_UNPACKED: usize = 256 << 10;

/// Compressor of what is sent.
#[derive(Debug)]
pub(super) struct Packer(Compress);

impl Packer {
    pub(super) fn new() -> Self {
        Self(Compress::new(Compression::default(), false))
    }

    /// Compresses a piece and flushes it.
    pub(super) fn pack(&mut self, mut piece: &[u8]) -> Vec<u8> {
        let mut packed = Vec::with_capacity(ROOM);
        loop {
            let before = self.0.total_in();
            packed.reserve(ROOM);
            let status = self.0.compress_vec(piece, &mut packed, FlushCompress::Sync);
            status.expect("invariant: compressing has no state in which it fails");
            let taken = usize::try_from(self.0.total_in() - before).unwrap_or(piece.len());
            piece = &piece[taken..];
            // With room left, all that was taken has been flushed.
            if piece.is_empty() && packed.len() < packed.capacity() {
                return packed;
            }
        }
    }
}

/// Decompressor of what is received.
#[derive(Debug)]
pub(super) struct Unpacker(Decompress);

impl Unpacker {
    pub(super) fn new() -> Self {
        Self(Decompress::new(false))
    }

    /// Decompresses a piece; `None` if the data is invalid.
    pub(super) fn unpack(&mut self, mut piece: &[u8]) -> Option<Vec<u8>> {
        let mut unpacked = Vec::with_capacity(ROOM);
        loop {
            let before = self.0.total_in();
            unpacked.reserve(ROOM);
            let status = self
                .0
                .decompress_vec(piece, &mut unpacked, FlushDecompress::Sync);
            let taken = usize::try_from(self.0.total_in() - before).unwrap_or(piece.len());
            piece = &piece[taken..];
            if !matches!(status, Ok(Status::Ok | Status::BufError)) || unpacked.len() > MAX_UNPACKED
            {
                return None;
            }
            if piece.is_empty() && unpacked.len() < unpacked.capacity() {
                return Some(unpacked);
            }
        }
    }
}
