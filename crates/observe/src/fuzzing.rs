//! Parsers of kernel data, for the fuzz targets: they run with privileges, and a foreign module or filter may make the
//! data arbitrary.

use crate::drops;

/// Parses arbitrary bytes as BTF.
pub fn btf(bytes: &[u8]) {
    drops::read_btf(bytes);
}
