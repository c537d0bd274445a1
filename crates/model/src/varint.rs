//! Signed numbers in few bytes: zigzag and LEB128.

/// Appends `value`: zigzag, seven bits to a byte, low ones first.
pub(crate) fn put(bytes: &mut Vec<u8>, value: i64) {
    let mut zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
    loop {
        let low = u8::try_from(zigzag & 0x7f).expect("invariant: seven bits fit a byte");
        zigzag >>= 7;
        if zigzag == 0 {
            bytes.push(low);
            return;
        }
        bytes.push(low | 0x80);
    }
}

/// Takes the next value; `None` if `bytes` end within it or it has more than 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<i64> {
    let mut zigzag = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        zigzag |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()));
        }
    }
    None
}
