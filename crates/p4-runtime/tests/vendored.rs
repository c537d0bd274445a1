//! The vendored definitions are those that were released.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::{fs, path::Path};

#[test]
fn the_vendored_definitions_have_their_checksums() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vendor/p4runtime-1.5.0");
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).expect("checksums");
    assert_eq!(sums.lines().count(), 5);
    for line in sums.lines() {
        let (sum, file) = line.split_once("  ").expect("a checksum and a file");
        let mut hex = String::new();
        for byte in Sha256::digest(fs::read(folder.join(file)).expect("a vendored file")) {
            write!(hex, "{byte:02x}").expect("text");
        }
        assert_eq!(sum, hex, "{file}");
    }
}
