//! Packages of Alpine, read as apk-v2(5) has them.

use super::{packed, said};
use flate2::bufread::GzDecoder;
use linerate_packages::architecture::Architecture;
use linerate_packages::formats::apk::Apk;
use linerate_packages::hex;
use linerate_packages::package::Package;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::process::Command;
use tar::{Archive, EntryType};

/// A package, taken apart.
struct Read {
    /// Keys and values of `.PKGINFO`.
    about: BTreeMap<String, String>,
    /// The other files of the control segment.
    scripts: BTreeMap<String, String>,
    /// Its files by path.
    files: BTreeMap<String, Vec<u8>>,
}

/// The first gzip stream, and what follows it.
fn stream(bytes: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut decoder = GzDecoder::new(bytes);
    let mut unpacked = Vec::new();
    decoder.read_to_end(&mut unpacked).unwrap();
    (unpacked, decoder.into_inner())
}

/// Both segments are one archive, whose data have their sums.
fn read(package: Package, architecture: Architecture) -> Read {
    let bytes = packed(&Apk, package, architecture);
    let (control, rest) = stream(&bytes);
    let (data, nothing) = stream(rest);
    assert!(nothing.is_empty());
    let (mut scripts, mut files) = (BTreeMap::new(), BTreeMap::new());
    let whole = [control, data].concat();
    for file in Archive::new(whole.as_slice()).entries().unwrap() {
        let mut file = file.unwrap();
        let path = file.path().unwrap().to_string_lossy().into_owned();
        let sum = file.pax_extensions().unwrap().map(|mut pairs| {
            let pair = pairs.next().unwrap().unwrap();
            assert_eq!(pair.key().unwrap(), "APK-TOOLS.checksum.SHA1");
            pair.value().unwrap().to_owned()
        });
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        if path.starts_with('.') {
            assert!(files.is_empty(), "{path} is after the data");
            scripts.insert(path, String::from_utf8(bytes).unwrap());
        } else if file.header().entry_type() == EntryType::Regular {
            assert_eq!(sum, Some(hex(&Sha1::digest(&bytes))), "{path}");
            files.insert(path, bytes);
        }
    }
    let about = scripts.remove(".PKGINFO").unwrap();
    let pairs = about.lines().map(|line| line.split_once(" = ").unwrap());
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let about: BTreeMap<_, _> = pairs.collect();
    assert_eq!(about["datahash"], hex(&Sha256::digest(rest)));
    let bytes: usize = files.values().map(Vec::len).sum();
    assert_eq!(about["size"], bytes.to_string());
    Read {
        about,
        scripts,
        files,
    }
}

#[test]
fn a_package_has_services_of_openrc_and_places_of_alpine() {
    let Read { about, files, .. } = read(Package::Linerate, Architecture::X86_64);
    assert_eq!(about["arch"], "x86_64");
    assert_eq!(about["pkgver"], "0.1.0-r0");
    assert!(!about.contains_key("depend"), "{about:?}");
    assert_eq!(files["usr/bin/linerate"], b"is linerate-x86-64");
    for path in [
        "etc/init.d/linerate",
        "etc/linerate/serve.toml",
        "usr/lib/linerate/agents/linerate-armv7",
        "usr/share/zsh/site-functions/_linerate",
        "usr/share/man/man1/linerate-tcp.1.gz",
        "usr/share/licenses/linerate/LICENSE-APACHE",
        "usr/share/doc/linerate/third-party.txt.gz",
    ] {
        assert!(files.contains_key(path), "{path}");
    }
    let of_others = ["systemd", "lintian", "vendor-completions", "examples/"];
    for path in files.keys() {
        assert!(!of_others.iter().any(|part| path.contains(part)), "{path}");
    }
    let hub = read(Package::Hub, Architecture::Riscv64);
    assert_eq!(hub.about["depend"], "linerate=0.1.0-r0");
    let examples = "usr/share/doc/linerate-hub/examples/hub.toml";
    assert!(hub.files.contains_key(examples));
}

#[test]
fn scripts_and_services_are_what_a_shell_takes_and_of_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    for package in Package::ALL {
        let read = read(package, Architecture::Aarch64);
        let name = package.name();
        let service = &read.files[&format!("etc/init.d/{name}")];
        let service = String::from_utf8(service.clone()).unwrap();
        assert!(service.contains(&format!("\ncommand=/usr/bin/{name}\n")));
        let script = &read.scripts[".pre-install"];
        assert!(script.contains(&format!("-G {name} -g {name} {name} ")));
        assert_eq!(read.scripts.len(), 3);
        for text in read.scripts.values().chain([&service]) {
            assert!(!text.contains('@'), "{text}");
            fs::write(&path, text).unwrap();
            said(Command::new("sh").arg("-n").arg(&path));
        }
    }
}
