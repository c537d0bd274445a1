//! Totals, to the byte, and who is said to claim what.

use crate::build::{Workshop, leaves, size_of};
use linerate_model::footprint::{FigureSource, FrameGrowth, NodeKind};
use std::fs;

#[test]
fn objects_and_archives_are_as_size_has_them() {
    let shop = Workshop::new();
    for options in [
        &["-O0"][..],
        &["-O2", "-ffunction-sections", "-fdata-sections"],
    ] {
        shop.objects("cc", options);
        let objects = shop.equals_size("size", &["a.o", "b.o"]);
        shop.run("ar", &["rcs", "libab.a", "a.o", "b.o"]);
        let archive = shop.equals_size("size", &["libab.a"]);
        shop.equals_size("size", &["libab.a", "main.o"]);
        assert_eq!(objects.totals, archive.totals);
        assert_eq!(size_of(&objects, "RAM/.bss/a.o/zero"), 5000);
        assert_eq!(size_of(&archive, "RAM/.bss/libab.a/a.o/zero"), 5000);
        assert_eq!(size_of(&archive, "RAM/.bss/libab.a/b.o/zero"), 300);
        assert_eq!(size_of(&archive, "flash/.rodata/libab.a/a.o/table"), 400);
    }
}

#[test]
fn a_program_is_as_size_has_it_with_and_without_a_map_and_symbols() {
    let shop = Workshop::new();
    shop.objects("cc", &["-O0", "-g"]);
    shop.run("ar", &["rcs", "libab.a", "a.o", "b.o"]);
    shop.run(
        "cc",
        &["-o", "program", "main.o", "libab.a", "-Wl,-Map=program.map"],
    );
    let plain = shop.equals_size("size", &["program"]);
    // Debugging information tells the two `helper` apart.
    for file in ["a.c", "b.c"] {
        let path = format!("flash/.text/{file}/helper");
        assert!(size_of(&plain, &path) > 10);
    }
    let text = plain.regions[0]
        .sections
        .iter()
        .find(|section| section.name == ".text")
        .unwrap();
    let unit = text.parts.iter().find(|part| part.name == "a.c").unwrap();
    assert_eq!(
        (unit.kind, unit.source),
        (NodeKind::SourcePath, FigureSource::Dwarf)
    );
    assert_eq!(size_of(&plain, "RAM/.bss/a.c/zero"), 5000);

    shop.run("size", &["program"]);
    let mapped = shop.examine(&["program", "program.map"]);
    assert_eq!(mapped.totals, plain.totals);
    assert_eq!(size_of(&mapped, "RAM/.bss/libab.a/a.o/zero"), 5000);
    let unclaimed = |footprint| -> u64 {
        let all = leaves(footprint);
        all.iter()
            .filter(|(path, _)| path.ends_with("(unclaimed)"))
            .map(|(_, size)| size)
            .sum()
    };
    assert!(
        unclaimed(&mapped) < unclaimed(&plain) / 2,
        "{} {}",
        unclaimed(&mapped),
        unclaimed(&plain)
    );

    shop.run("strip", &["-o", "stripped", "program"]);
    let stripped = shop.equals_size("size", &["stripped"]);
    assert_eq!(stripped.totals, plain.totals);
    let alone = shop.examine(&["program.map"]);
    assert!(
        alone.notes[0].contains("without its program"),
        "{:?}",
        alone.notes
    );
    assert_eq!(
        size_of(&alone, "RAM/.bss/libab.a/a.o/.bss"),
        size_of_input(&mapped)
    );
}

/// What a map calls `.bss` of `a.o`: its variables and the room between them.
fn size_of_input(mapped: &linerate_model::footprint::Footprint) -> u64 {
    let all = leaves(mapped);
    let own = all
        .iter()
        .filter(|(path, _)| path.starts_with("RAM/.bss/libab.a/a.o/"));
    own.map(|(_, size)| size).sum()
}

#[test]
fn a_program_without_section_headers_shows_its_segments() {
    let shop = Workshop::new();
    shop.objects("cc", &["-O1"]);
    shop.run("cc", &["-o", "program", "main.o", "a.o", "b.o"]);
    let mut bytes = fs::read(shop.folder().join("program")).unwrap();
    // e_shoff, e_shnum and e_shstrndx of ELF64.
    bytes[0x28..0x30].fill(0);
    bytes[0x3c..0x40].fill(0);
    shop.write("bare", &bytes);
    let bare = shop.examine(&["bare"]);
    assert!(
        bare.notes
            .iter()
            .any(|note| note.contains("no section headers")),
        "{:?}",
        bare.notes
    );
    let whole = shop.examine(&["program"]);
    assert!(bare.totals.dec() >= whole.totals.dec());
}

#[test]
fn a_program_of_rust_is_as_size_has_it() {
    let shop = Workshop::new();
    shop.write("main.rs", "static TABLE: [u32; 900] = [7; 900];\nfn main() { println!(\"{:?}\", TABLE.get(std::env::args().count())); }\n");
    shop.run("rustc", &["-g", "-Copt-level=1", "-o", "rust", "main.rs"]);
    let known = shop.equals_size("size", &["rust"]);
    let all = leaves(&known);
    let main = all.iter().find(|(path, _)| path.ends_with("/main::main"));
    assert_eq!(main.unwrap().0, "flash/.text/main.rs/main::main");
    shop.run("objcopy", &["--strip-debug", "rust", "crates"]);
    let crates = shop.equals_size("size", &["crates"]);
    let all = leaves(&crates);
    for name in [
        "flash/.text/core/",
        "flash/.text/std/",
        "flash/.text/main/main::main",
    ] {
        assert!(all.iter().any(|(path, _)| path.starts_with(name)), "{name}");
    }
}

#[test]
#[ignore = "needs c++"]
fn a_program_of_cpp_is_as_size_has_it() {
    let shop = Workshop::new();
    shop.write("main.cc", "#include <map>\n#include <string>\nnamespace net { template <class T> struct Socket { T poll(int n) { std::map<int, std::string> m; m[n] = \"x\"; return T(m.size()); } }; }\nint main(int c, char **) { return net::Socket<int>().poll(c); }\n");
    shop.run("c++", &["-O0", "-g", "-o", "cpp", "main.cc"]);
    let known = shop.equals_size("size", &["cpp"]);
    assert!(size_of(&known, "flash/.text/main.cc/net::Socket<int>::poll(int)") > 20);
}

/// A board with flash and RAM, as small as a linker takes it.
const SCRIPT: &str = "\
MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 64K  RAM (rw) : ORIGIN = 0x20000000, LENGTH = 16K }
SECTIONS {
  .text : { *(.text*) *(.rodata*) } > FLASH
  .data : { *(.data*) } > RAM AT > FLASH
  .bss (NOLOAD) : { *(.bss*) *(COMMON) } > RAM
}
";

#[test]
#[ignore = "needs arm-none-eabi-gcc"]
fn firmware_for_arm_is_as_its_size_has_it() {
    let shop = Workshop::new();
    let source = "int shared[7] = {1}; char zero[3000]; const int table[50] = {2};\nint f(int x) { return table[x] + shared[x] + zero[x]; }\nint _start(void) { return f(3); }\n";
    shop.write("fw.c", source);
    shop.write("board.ld", SCRIPT);
    let machine = ["-mcpu=cortex-m7", "-mthumb"];
    for level in ["-O0", "-Os", "-O2"] {
        let compile = [
            "-c",
            "fw.c",
            level,
            "-g",
            "-ffunction-sections",
            "-fstack-usage",
            "-ffreestanding",
        ];
        shop.run("arm-none-eabi-gcc", &[&machine[..], &compile].concat());
        shop.equals_size("arm-none-eabi-size", &["fw.o"]);
        shop.run("arm-none-eabi-ar", &["rcs", "libfw.a", "fw.o"]);
        shop.equals_size("arm-none-eabi-size", &["libfw.a"]);
        let link = [
            "-nostdlib",
            "-Tboard.ld",
            "-Wl,-Map=fw.map",
            "-o",
            "fw.elf",
            "fw.o",
        ];
        shop.run("arm-none-eabi-gcc", &[&machine[..], &link].concat());
        let plain = shop.equals_size("arm-none-eabi-size", &["fw.elf"]);
        assert!(size_of(&plain, "flash/.text/fw.c/f") > 3);
        let mapped = shop.examine(&["fw.elf", "fw.map", "fw.su"]);
        assert_eq!(mapped.totals, plain.totals);
        let regions: Vec<_> = mapped
            .regions
            .iter()
            .map(|r| (r.name.as_str(), r.size.get(), r.capacity.unwrap().get()))
            .collect();
        let totals = plain.totals;
        // Initial values are stored in flash and used in RAM.
        assert_eq!(
            regions,
            [
                ("FLASH", totals.flash.get(), 64 << 10),
                ("RAM", totals.ram.get(), 16 << 10)
            ]
        );
        let stack = mapped.stack_use.unwrap();
        assert_eq!(stack.functions.len(), 2);
        assert!(
            stack
                .functions
                .iter()
                .all(|function| function.growth == FrameGrowth::Fixed)
        );
        assert_eq!(stack.at_least, stack.functions[0].frame);
    }
}
