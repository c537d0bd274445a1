//! Files that are damaged, or made to do harm: an error or a footprint, never a panic, never more memory than they have
//! bytes for.

use crate::build::{Workshop, adds_up};
use linerate_footprint::{FootprintError, Input, Options, examine};
use linerate_model::footprint::Footprint;
use proptest::prelude::*;
use std::fs;
use std::sync::OnceLock;

fn read(bytes: &[u8]) -> Result<Footprint, FootprintError> {
    let found = examine(
        &[Input {
            name: "file",
            bytes,
        }],
        &Options::default(),
    );
    match &found {
        Ok(footprint) => adds_up(footprint),
        Err(error) => assert!(error.to_string().contains("file"), "{error}"),
    }
    found
}

/// A program with debugging information, an object, an archive and a map.
fn seeds() -> &'static [Vec<u8>] {
    static SEEDS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let shop = Workshop::new();
        shop.objects("cc", &["-O1", "-g"]);
        shop.run("ar", &["rcs", "libab.a", "a.o", "b.o"]);
        shop.run(
            "cc",
            &["-o", "program", "main.o", "libab.a", "-Wl,-Map=program.map"],
        );
        let names = ["program", "a.o", "libab.a", "program.map"];
        names
            .map(|name| fs::read(shop.folder().join(name)).unwrap())
            .to_vec()
    })
}

/// Where the table of section headers of an ELF64 file begins, and how many there are.
fn section_headers(bytes: &[u8]) -> (usize, usize) {
    let offset = u64::from_le_bytes(bytes[0x28..0x30].try_into().unwrap());
    let count = u16::from_le_bytes(bytes[0x3c..0x3e].try_into().unwrap());
    (usize::try_from(offset).unwrap(), usize::from(count))
}

/// The object with field `at` of every section header changed.
fn with_field(at: usize, value: u64) -> Vec<u8> {
    let mut bytes = seeds()[1].clone();
    let (table, count) = section_headers(&bytes);
    for section in 1..count {
        let field = table + section * 64 + at;
        bytes[field..field + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes
}

#[test]
fn sections_that_claim_more_than_the_file_has_are_damage() {
    // sh_offset, sh_size.
    for (field, value) in [
        (0x18, u64::MAX),
        (0x20, u64::MAX),
        (0x20, 1 << 60),
        (0x18, 1 << 40),
    ] {
        let error = read(&with_field(field, value)).unwrap_err();
        assert!(matches!(error, FootprintError::Damaged { .. }), "{error}");
    }
}

#[test]
fn sizes_that_take_no_byte_of_the_file_only_are_numbers() {
    // Every section is said to be zero when the program starts, and to fill all memory.
    let mut bytes = with_field(0x20, u64::MAX);
    let (table, count) = section_headers(&bytes);
    for section in 1..count {
        let kind = table + section * 64 + 4;
        bytes[kind..kind + 4].copy_from_slice(&8_u32.to_le_bytes());
    }
    if let Ok(footprint) = read(&bytes) {
        assert_eq!(footprint.totals.dec().get(), u64::MAX);
    }
    // sh_addralign, sh_addr, sh_link, sh_info.
    for (field, value) in [(0x30, u64::MAX), (0x10, u64::MAX), (0x28, u64::MAX)] {
        let _ = read(&with_field(field, value));
    }
}

#[test]
fn what_is_cut_off_is_an_error_or_less() {
    for seed in seeds() {
        for parts in 0..64 {
            let _ = read(&seed[..seed.len() * parts / 64]);
        }
        for length in 0..200 {
            let _ = read(&seed[..length.min(seed.len())]);
        }
    }
}

#[test]
fn what_is_no_such_file_is_refused_by_name() {
    for bytes in [
        &b""[..],
        b"hello\n",
        b"\x7fELF",
        b"!<arch>\nx",
        b"!<thin>\n",
        b"{}",
        b"{",
        b"\0\0\0\0",
        b"\xff\xfe",
    ] {
        assert!(read(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn what_other_tools_say_of_a_build_is_named() {
    for (text, name) in [
        (
            "             VMA              LMA     Size Align Out     In      Symbol\n",
            "lld",
        ),
        ("#\n# IAR ELF Linker V8.32.1.169/W32 for ARM\n#\n", "IAR"),
        (
            "Component: ARM Compiler 5.06 (build 750) Tool: armlink [4d35ed]\n",
            "armlink",
        ),
        (
            "   text\t   data\t    bss\t    dec\t    hex\tfilename\n",
            "`size`",
        ),
        (
            "app.elf  :\nsection            size        addr\n",
            "`size -A`",
        ),
        (
            "Memory region         Used Size  Region Size  %age Used\n",
            "memory used",
        ),
    ] {
        let error = read(text.as_bytes()).unwrap_err();
        let is_named =
            matches!(&error, FootprintError::Foreign { what, .. } if what.contains(name));
        assert!(is_named, "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_break_nothing(
        which in 0..4_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..24),
    ) {
        let mut bytes = seeds()[which].clone();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn changed_headers_break_nothing(
        which in 0..2_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = seeds()[which].clone();
        let (table, count) = section_headers(&bytes);
        for (at, value) in changes {
            let at = at.index(64 + count * 64);
            bytes[if at < 64 { at } else { table + at - 64 }] = value;
        }
        let _ = read(&bytes);
    }
}
