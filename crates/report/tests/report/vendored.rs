//! The vendored library is the one that was released.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const SUMS: &str = include_str!("../../vendor/echarts-6.1.0/SHA256SUMS");
const ECHARTS: &[u8] = include_bytes!("../../vendor/echarts-6.1.0/echarts.common.min.js");

#[test]
fn the_vendored_library_has_its_checksum() {
    let mut hex = String::new();
    for byte in Sha256::digest(ECHARTS) {
        write!(hex, "{byte:02x}").unwrap();
    }
    assert_eq!(SUMS, format!("{hex}  echarts.common.min.js\n"));
}

#[test]
fn the_vendored_library_cannot_end_its_script_element() {
    let text = String::from_utf8_lossy(ECHARTS).to_lowercase();
    assert!(!text.contains("</script"));
    assert!(!text.contains("<!--"));
}
