//! Control messages (ancillary data) of a datagram: header (length, level, type), data, padding to a word.

use std::mem::size_of;

/// A control buffer, aligned as `cmsghdr` must be.
#[derive(Clone, Copy)]
#[repr(align(8))]
pub(crate) struct Control<const LEN: usize>(pub(crate) [u8; LEN]);

/// The messages in `bytes`, each by level, type and data, up to the first that is cut.
pub(crate) fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (i32, i32, &[u8])> {
    const HEADER: usize = size_of::<libc::cmsghdr>();
    std::iter::from_fn(move || {
        let length = usize::from_ne_bytes(*bytes.first_chunk()?);
        let level = i32::from_ne_bytes(*bytes.get(WORD..)?.first_chunk()?);
        let kind = i32::from_ne_bytes(*bytes.get(WORD + 4..)?.first_chunk()?);
        let data = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(WORD)..).unwrap_or(&[]);
        Some((level, kind, data))
    })
}

const WORD: usize = size_of::<usize>();
