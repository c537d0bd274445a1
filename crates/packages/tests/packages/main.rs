//! What packages hold, and that nothing but sources and programs decides their bytes.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

mod apk;
mod deb;
mod rpm;

use flate2::read::GzDecoder;
use jiff::Timestamp;
use linerate_packages::architecture::Architecture;
use linerate_packages::content::entries;
use linerate_packages::entry::Entry;
use linerate_packages::formats::{self, Format};
use linerate_packages::package::Package;
use linerate_packages::{Source, hex, image};
use linerate_schema_check::{SPDX_2_3, validate_against};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

fn source() -> Source<'static> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    Source {
        root: own.ancestors().nth(2).unwrap(),
        time: Timestamp::from_second(1_790_000_000).unwrap(),
        version: "0.1.0",
    }
}

/// A folder as `make dist` leaves it, with words in place of programs.
fn dist() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for architecture in Architecture::ALL {
        for program in Package::ALL.into_iter().flat_map(Package::programs) {
            let name = format!("{program}-{architecture}");
            fs::write(folder.path().join(&name), format!("is {name}")).unwrap();
        }
    }
    folder
}

fn made_of(package: Package, architecture: Architecture) -> Vec<Entry> {
    entries(&source(), dist().path(), package, architecture).unwrap()
}

fn made(architecture: Architecture) -> Vec<Entry> {
    made_of(Package::Linerate, architecture)
}

/// A package in a form, of what `make dist` leaves.
fn packed(format: &dyn Format, package: Package, architecture: Architecture) -> Vec<u8> {
    let all = made_of(package, architecture);
    let made = format.package(&source(), package, architecture, &all);
    made.unwrap()
}

/// What a program printed, both ways; it must have succeeded.
fn said(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{command:?}: {text}");
    text
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut all).unwrap();
    all
}

fn entry<'a>(all: &'a [Entry], path: &str) -> &'a Entry {
    let found = all.iter().find(|entry| entry.path == path);
    found.unwrap_or_else(|| panic!("no {path}"))
}

/// Files of an archive by path.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(archive);
    let mut files = BTreeMap::new();
    for file in archive.entries().unwrap() {
        let mut file = file.unwrap();
        assert_eq!(file.header().mtime().unwrap(), 1_790_000_000);
        assert_eq!(file.header().uid().unwrap(), 0);
        let path = file.path().unwrap().to_string_lossy().into_owned();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        files.insert(path, bytes);
    }
    files
}

#[test]
fn programs_agents_words_unit_and_licences_are_in_it() {
    let all = made(Architecture::Riscv64);
    let program = entry(&all, "bin/linerate");
    assert_eq!(program.bytes, b"is linerate-riscv64");
    assert_eq!(program.mode, 0o755);
    assert_eq!(
        entry(&all, "bin/linerate-p4").bytes,
        b"is linerate-p4-riscv64"
    );
    for other in ["aarch64", "armv7", "x86-64"] {
        let agent = entry(&all, &format!("lib/linerate/agents/linerate-{other}"));
        assert_eq!(agent.bytes, format!("is linerate-{other}").into_bytes());
    }
    let own = "lib/linerate/agents/linerate-riscv64";
    assert!(all.iter().all(|entry| entry.path != own));
    let page = unpacked(&entry(&all, "share/man/man1/linerate-tcp.1.gz").bytes);
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("2026-09-21"), "{page}");
    entry(&all, "share/bash-completion/completions/linerate");
    entry(&all, "share/zsh/vendor-completions/_linerate");
    entry(&all, "share/fish/vendor_completions.d/linerate-p4.fish");
    let unit = &entry(&all, "lib/systemd/system/linerate.service").bytes;
    let unit = String::from_utf8_lossy(unit).into_owned();
    assert!(unit.contains("--config /etc/linerate/serve.toml") && unit.contains("Type=notify"));
    entry(&all, "lib/systemd/system/linerate.socket");
    entry(&all, "etc/linerate/serve.toml");
    entry(&all, "share/doc/linerate/guide/first.md");
    let notices = unpacked(&entry(&all, "share/doc/linerate/third-party.txt.gz").bytes);
    let notices = String::from_utf8(notices).unwrap();
    for part in ["clap 4", "serde_json 1", "aws-lc-sys", "Apache ECharts"] {
        assert!(notices.contains(part), "{part}");
    }
    assert!(notices.contains("Permission is hereby granted"));
    assert!(!notices.contains("proptest "), "only in tests");
}

#[test]
fn the_hub_is_a_package_of_its_own() {
    let core = made(Architecture::Aarch64);
    let hub = made_of(Package::Hub, Architecture::Aarch64);
    let program = entry(&hub, "bin/linerate-hub");
    assert_eq!(program.bytes, b"is linerate-hub-aarch64");
    for path in [
        "lib/systemd/system/linerate-hub.service",
        "share/bash-completion/completions/linerate-hub",
        "share/zsh/vendor-completions/_linerate-hub",
        "share/man/man1/linerate-hub.1.gz",
        "share/man/man1/linerate-hub-serve.1.gz",
        "share/licenses/linerate-hub/LICENSE-MIT",
        "share/doc/linerate-hub/examples/alerts.yml",
        "share/doc/linerate-hub/examples/hub.toml",
    ] {
        entry(&hub, path);
    }
    // No file is in both: dpkg would refuse the second.
    for one in &hub {
        let both = core.iter().any(|other| other.path == one.path);
        assert!(!both, "{}", one.path);
    }
    let notices = unpacked(&entry(&hub, "share/doc/linerate-hub/third-party.txt.gz").bytes);
    let notices = String::from_utf8(notices).unwrap();
    assert!(notices.starts_with("linerate-hub contains:"));
    assert!(notices.contains("tokio-postgres 0") && !notices.contains("ECharts"));
}

#[test]
fn an_image_of_the_hub_has_what_it_starts() {
    let source = source();
    let both: Vec<_> = Package::ALL
        .into_iter()
        .flat_map(|one| made_of(one, Architecture::X86_64))
        .collect();
    let image = [(Architecture::X86_64, both)];
    let files = files(&image::archive(&source, Package::Hub, &image).unwrap());
    let blobs = files.iter().filter(|(path, _)| path.starts_with("blobs/"));
    let layer = blobs
        .map(|(_, bytes)| bytes)
        .max_by_key(|bytes| bytes.len());
    let layer = self::files(&unpacked(layer.unwrap()));
    for path in ["usr/bin/linerate", "usr/bin/linerate-hub"] {
        assert!(layer.contains_key(path), "{path}");
    }
}

#[test]
fn the_bill_of_materials_is_of_its_schema_and_has_sums() {
    let all = made(Architecture::X86_64);
    let bill = unpacked(&entry(&all, "share/doc/linerate/linerate.spdx.json.gz").bytes);
    let bill: Value = serde_json::from_slice(&bill).unwrap();
    validate_against(SPDX_2_3, &bill).unwrap();
    let packages = bill["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    let clap = packages.iter().find(|one| one["name"] == "clap").unwrap();
    let sum = clap["checksums"][0]["checksumValue"].as_str().unwrap();
    assert_eq!(sum.len(), 64);
    for other in ["clap_mangen", "syn", "cc"] {
        assert!(packages.iter().all(|one| one["name"] != other), "{other}");
    }
}

#[test]
fn the_same_sources_and_programs_make_the_same_bytes() {
    let source = source();
    let make = || {
        let all = made(Architecture::Armv7);
        let image = [(Architecture::Armv7, all.clone())];
        let image = image::archive(&source, Package::Linerate, &image).unwrap();
        let forms = formats::ALL.iter().map(|form| {
            let made = form.package(&source, Package::Linerate, Architecture::Armv7, &all);
            made.unwrap()
        });
        let all: Vec<_> = forms.chain([image]).collect();
        all.iter()
            .map(|bytes| hex(&Sha256::digest(bytes)))
            .collect::<Vec<_>>()
    };
    assert_eq!(make(), make());
}

#[test]
fn an_image_is_what_its_digests_say_and_runs_as_nobody() {
    let source = source();
    let all = Architecture::ALL.map(|one| (one, made(one)));
    let files = files(&image::archive(&source, Package::Linerate, &all).unwrap());
    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let bytes = &files[&format!("blobs/{}", digest.replace(':', "/"))];
        assert_eq!(digest, format!("sha256:{}", hex(&Sha256::digest(bytes))));
        assert_eq!(descriptor["size"], bytes.len());
        bytes
    };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let index = json(&files["index.json"]);
    let list = json(blob(&index["manifests"][0]));
    let manifests = list["manifests"].as_array().unwrap();
    assert_eq!(manifests.len(), 4);
    for descriptor in manifests {
        let manifest = json(blob(descriptor));
        let config = json(blob(&manifest["config"]));
        assert_eq!(
            config["architecture"],
            descriptor["platform"]["architecture"]
        );
        assert_eq!(config["config"]["User"], "65532:65532");
        let layer = unpacked(blob(&manifest["layers"][0]));
        let sum = format!("sha256:{}", hex(&Sha256::digest(&layer)));
        assert_eq!(config["rootfs"]["diff_ids"][0], sum);
        assert!(self::files(&layer).contains_key("usr/bin/linerate"));
    }
}

/// The level of exposure that `systemd-analyze security` computes of a unit's text: 0 is best, 10 worst.
fn exposure(unit: &str, drop_in: Option<&str>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("linerate.service");
    fs::write(&path, unit).unwrap();
    if let Some(text) = drop_in {
        let place = folder.path().join("linerate.service.d");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("one.conf"), text).unwrap();
    }
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager"]);
    let output = analyze.arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let level = said.rsplit_once("linerate.service: ").map(|(_, rest)| rest);
    let level = level.and_then(|rest| rest.split(' ').next()?.parse().ok());
    level.unwrap_or_else(|| panic!("{output:?}"))
}

#[test]
#[ignore = "needs systemd-analyze"]
fn the_unit_exposes_little_and_its_drop_in_not_much_more() {
    let all = made(Architecture::X86_64);
    let text = |path: &str| String::from_utf8(entry(&all, path).bytes.clone()).unwrap();
    let unit = text("lib/systemd/system/linerate.service");
    let plain = exposure(&unit, None);
    assert!(plain < 2.0, "{plain}");
    let more = exposure(
        &unit,
        Some(&text("share/doc/linerate/examples/datapaths.conf")),
    );
    assert!(more > plain && more < 3.0, "{more}");
    let key = exposure(&unit, Some(&text("share/doc/linerate/examples/key.conf")));
    assert!(key < 2.0, "{key}");
}
