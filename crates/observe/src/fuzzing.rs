//! The parsers of what the kernel says, for the fuzz targets: they run with privileges, and a module or a filter of
//! somebody else's may make the kernel say anything.

use crate::drops;

/// Any bytes as the kernel's description of its types.
pub fn btf(bytes: &[u8]) {
    drops::read_btf(bytes);
}
