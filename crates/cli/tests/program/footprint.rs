//! `linerate footprint`: every format, what is compared, exit codes, and what it says where a compiler is missing.

use crate::harness::{Ended, Place, linerate};
use serde_json::Value;
use std::process::Command;

const SOURCE: &str = "int shared = 7; char zero[3000]; const int table[50] = {1};\n\
    int tcp_input(int x) { return table[x] + shared; }\nint ip6_input(int x) { return zero[x] + 1; }\n";

/// A place with `a.o`, and `b.o` of a source that has grown.
fn built() -> Place {
    let place = Place::new();
    for (name, source) in [
        ("a", SOURCE.to_owned()),
        (
            "b",
            SOURCE.replace("[3000]", "[4000]") + "int more(void) { return 3; }\n",
        ),
    ] {
        place.with(&format!("{name}.c"), source.as_bytes());
        let mut cc = Command::new("cc");
        cc.args(["-c", "-O0", "-fstack-usage", &format!("{name}.c")])
            .current_dir(place.file("."));
        assert!(cc.status().unwrap().success());
    }
    place
}

/// A document that its schema allows.
#[track_caller]
fn valid(ended: &Ended) -> Value {
    let document: Value = serde_json::from_str(&ended.out).unwrap();
    let schema = linerate_schema_check::FOOTPRINT_1;
    assert_eq!(
        linerate_schema_check::validate_against(schema, &document),
        Ok(())
    );
    document
}

#[test]
fn one_build_in_every_format() {
    let place = built();
    let groups = ["--group", "IPv6", "--group", "mine=^a.o/tcp_"];
    let json = place.run(
        &[
            &[
                "footprint",
                "a.o",
                "a.su",
                "--json",
                "--thread-stack",
                "main=1K",
            ],
            &groups[..],
        ]
        .concat(),
    );
    assert_eq!(json.code, Some(0), "{json:?}");
    let document = valid(&json);
    assert_eq!(document["kind"], "footprint");
    let totals = &document["totals"];
    assert_eq!(totals["bss_bytes"], 3000);
    assert_eq!(totals["data_bytes"], 4);
    assert_eq!(totals["ram_bytes"], 3000 + 4 + 1024);
    assert_eq!(document["groups"][0]["name"], "IPv6");
    assert_eq!(document["groups"][0]["parts"], 1);
    assert_eq!(document["groups"][1]["parts"], 1);
    assert_eq!(
        document["stack_use"]["functions"].as_array().unwrap().len(),
        2
    );

    let text = place
        .run(&[&["footprint", "a.o", "a.su"], &groups[..]].concat())
        .done();
    for words in [
        "RAM 3004 B (data 4 + bss 3000)",
        "a.o",
        "ip6_input",
        "IPv6",
        "lower bound",
        ".rodata",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    for (name, words) in [
        (
            "f.csv",
            "flash,.text,text,run,,a.o,object,tcp_input,symbol,",
        ),
        ("f.html", "data-treemap=\"region-0\""),
        ("f.txt", "bss 3000"),
        ("f.json", "linerate/footprint/1"),
    ] {
        place.run(&["footprint", "a.o", "-q", "-o", name]).done();
        let written = std::fs::read_to_string(place.file(name)).unwrap();
        assert!(written.contains(words), "{words} is not in {name}");
    }
}

#[test]
fn two_builds_are_compared_and_budgets_have_an_exit_code() {
    let place = built();
    place
        .run(&["footprint", "a.o", "-q", "-o", "old.json"])
        .done();
    for base in ["a.o", "old.json"] {
        let ended = place.run(&[
            "footprint",
            base,
            "b.o",
            "--json",
            "--budget",
            "bss=+1000,ram=8K",
        ]);
        assert_eq!(
            (ended.code, ended.err.as_str()),
            (Some(0), ""),
            "{}",
            ended.out
        );
        let document = valid(&ended);
        assert_eq!(document["kind"], "difference");
        let ram = document["regions"]
            .as_array()
            .unwrap()
            .iter()
            .find(|region| region["name"] == "RAM")
            .unwrap();
        assert_eq!(ram["change_bytes"], 1000);
        assert_eq!(document["budgets"][0]["met"], true);
    }
    let ended = place.run(&[
        "footprint",
        "a.o",
        "b.o",
        "--budget",
        "ram=4K,bss=+999,flash=1M",
    ]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert!(
        ended.out.contains("B against A: flash +") && ended.out.contains("RAM +1000 B"),
        "{}",
        ended.out
    );
    assert!(
        ended.err.contains("bss grew by 1000 B; 999 B allowed"),
        "{}",
        ended.err
    );
    assert!(
        !ended.err.contains("ram=") && !ended.err.contains("flash"),
        "{}",
        ended.err
    );

    let both = place.run(&["footprint", "a.o", "b.o", "--together", "--json"]);
    assert_eq!(valid(&both)["totals"]["bss_bytes"], 7000);
    let page = place.run(&["footprint", "a.o", "b.o", "-q", "-o", "f.html"]);
    page.done();
    let page = std::fs::read_to_string(place.file("f.html")).unwrap();
    assert!(page.contains("What changed in RAM (+1000)"), "{page}");
}

#[test]
fn what_cannot_be_read_or_is_asked_wrongly_is_told() {
    let place = built();
    place.with("text.txt", b"hello\n");
    place.with("half.o", &std::fs::read(place.file("a.o")).unwrap()[..700]);
    let cases: [(&[&str], i32, &[&str]); 10] = [
        (&["no.elf"], 3, &["no.elf", "cannot read"]),
        (&["."], 3, &["not a regular file"]),
        (&["text.txt"], 3, &["text.txt", "ELF"]),
        (&["half.o"], 3, &["half.o", "damaged"]),
        (&["a.su"], 3, &["a.su", "sections"]),
        (&["a.o", "--budget", "itcm=1K"], 2, &["itcm", "flash, ram"]),
        (&["a.o", "--budget", "ram=+1K"], 2, &["growth", "A and B"]),
        (&["a.o", "--group", "x=("], 2, &["regular expression"]),
        (&["a.o", "-o", "f.pdf"], 2, &["f.pdf", ".html"]),
        (&["a.o", "--thread-stack", "main"], 2, &["NAME=SIZE"]),
    ];
    for (arguments, code, words) in cases {
        place
            .run(&[&["footprint"], arguments].concat())
            .failed(code, words);
    }
    assert_eq!(place.run(&["footprint"]).code, Some(2));
}

#[test]
fn a_missing_compiler_is_named_with_its_package() {
    let place = Place::new();
    let mut command = linerate();
    command
        .args(["footprint", "--stack", "lwip", "-q"])
        .current_dir(place.file("."))
        .env("PATH", place.file("."));
    Ended::spawn(&mut command).failed(
        4,
        &[
            "arm-none-eabi-gcc is not installed",
            "gcc-arm-none-eabi",
            "libnewlib-arm-none-eabi",
        ],
    );
    place
        .run(&["footprint", "--stack", "lwip", "--config", "O9"])
        .failed(2, &["O9", "large-buffers"]);
    place
        .run(&["footprint", "--stack", "uip"])
        .failed(2, &["uip"]);
}

/// The program itself, with its debugging information, made as long as a large firmware's: 500 MiB of addresses are
/// enough, of which the file alone takes 191.
#[test]
#[ignore = "reads a file of 200 MB"]
fn a_program_of_200_mb_is_read_in_500_mib() {
    let place = Place::new();
    let path = place.file("large.elf");
    std::fs::copy(env!("CARGO_BIN_EXE_linerate"), &path).unwrap();
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    let length = file.metadata().unwrap().len().max(200_000_000);
    file.set_len(length).unwrap();
    drop(file);
    let limited = format!(
        "ulimit -v {}; exec \"$0\" footprint large.elf -q -o large.json",
        500 * 1024
    );
    let mut command = Command::new("sh");
    command
        .args(["-c", &limited, env!("CARGO_BIN_EXE_linerate")])
        .current_dir(place.file("."));
    Ended::spawn(&mut command).done();
    let document: Value =
        serde_json::from_slice(&std::fs::read(place.file("large.json")).unwrap()).unwrap();
    assert_eq!(document["files"][0]["file_bytes"], length);
    assert!(document["totals"]["text_bytes"].as_u64().unwrap() > 1_000_000);
    let regions = document["regions"].to_string();
    assert!(regions.contains("\"crate\"") && regions.contains("linerate_footprint"));
}

/// What `size` of the cross compiler says of these files together: text, data, bss and their sum.
fn size(place: &Place, files: &[String]) -> Vec<u64> {
    let output = Command::new("arm-none-eabi-size")
        .arg("-t")
        .args(files)
        .current_dir(place.file("."))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let last = text.lines().next_back().unwrap();
    let numbers = last.split_whitespace().map_while(|word| word.parse().ok());
    numbers.take(4).collect()
}

fn totals(of: &Value) -> Vec<u64> {
    let keys = ["text_bytes", "data_bytes", "bss_bytes"];
    let mut all: Vec<_> = keys.iter().map(|key| of[key].as_u64().unwrap()).collect();
    all.push(all.iter().sum());
    all
}

#[test]
#[ignore = "needs arm-none-eabi-gcc, newlib and the Debian archive"]
fn lwip_is_built_in_the_published_configurations_and_is_as_size_has_it() {
    let place = Place::new();
    let ended = place.run(&["footprint", "--stack", "lwip", "--keep", "kept", "--json"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
    let document = valid(&ended);
    let builds = document["builds"].as_array().unwrap();
    assert_eq!(builds.len(), 12);
    for build in builds {
        let levels: Vec<_> = build["configuration"]
            .as_array()
            .unwrap()
            .iter()
            .map(|level| level.as_str().unwrap())
            .collect();
        let folder = format!("kept/{}", levels.join("-"));
        let objects = std::fs::read_dir(place.file(&format!("{folder}/objects"))).unwrap();
        let objects = objects.map(|entry| entry.unwrap().path());
        let objects = objects.filter(|path| path.extension().is_some_and(|end| end == "o"));
        let objects: Vec<_> = objects.map(|path| path.display().to_string()).collect();
        let archive = totals(&build["archive"]);
        assert_eq!(
            archive,
            size(&place, &[format!("{folder}/liblwip.a")]),
            "{folder}"
        );
        assert_eq!(archive, size(&place, &objects), "{folder}");
        let image = totals(&build["image"]);
        assert_eq!(
            image,
            size(&place, &[format!("{folder}/lwip.elf")]),
            "{folder}"
        );
        assert!(build["stack_at_least_bytes"].as_u64().unwrap() > 50);
        // Objects given one by one are the same build.
        let files: Vec<&str> = objects.iter().map(String::as_str).collect();
        let alone = place.run(&[&["footprint", "--json"], &files[..]].concat());
        assert_eq!(totals(&valid(&alone)["totals"]), archive, "{folder}");
    }
    let text = |at: usize| builds[at]["image"]["text_bytes"].as_u64().unwrap();
    // Without optimisation code is largest, for size smallest.
    for at in [0, 3, 6, 9] {
        assert!(
            text(at) > text(at + 2) && text(at + 2) > text(at + 1),
            "{builds:?}"
        );
    }
    assert_eq!(document["published"].as_array().unwrap().len(), 8);
}
