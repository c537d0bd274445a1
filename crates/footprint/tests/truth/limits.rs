//! Files that do not belong together are refused, with what to do.

use crate::build::Workshop;
use linerate_footprint::{Input, Options, examine};
use std::fs;

#[test]
fn files_that_do_not_fit_are_told_apart() {
    let shop = Workshop::new();
    shop.objects("cc", &["-O0"]);
    let object = fs::read(shop.folder().join("a.o")).unwrap();
    let map = b"Memory Configuration\nLinker script and memory map\n.text 0x10 0x20\n .text 0x10 0x20 a.o\nOUTPUT(a x)\n".as_slice();
    let frames = b"a.c:1:1:f\t16\tstatic\n".as_slice();
    let footprint = br#"{"schema": "linerate/footprint/1", "tool": {"name": "linerate"}, "kind": "footprint", "files": [], "totals": {"text_bytes": 1, "data_bytes": 0, "bss_bytes": 0, "stacks_bytes": 0, "flash_bytes": 1, "ram_bytes": 0}, "regions": [], "notes": []}"#.as_slice();
    let builds = br#"{"schema": "linerate/footprint/1", "tool": {"name": "linerate"}, "kind": "builds", "stack": "lwip", "version": "1", "target": "x", "compiler": "y", "builds": [], "published": [], "notes": []}"#.as_slice();
    let cases: [(&[&[u8]], &str); 4] = [
        (&[map, map], "2 maps are given for 0"),
        (&[frames], "holds sections"),
        (&[footprint, &object], "cannot be added"),
        (&[builds], "builds document"),
    ];
    for (files, words) in cases {
        let inputs: Vec<_> = files
            .iter()
            .map(|bytes| Input {
                name: "file",
                bytes,
            })
            .collect();
        let error = examine(&inputs, &Options::default()).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let again = examine(
        &[Input {
            name: "old.json",
            bytes: footprint,
        }],
        &Options::default(),
    )
    .unwrap();
    assert_eq!(again.totals.text.get(), 1);
}
