//! Packages of Debian.

use super::{made, packed, said};
use linerate_packages::architecture::Architecture;
use linerate_packages::entry::Entry;
use linerate_packages::formats::deb::Deb;
use linerate_packages::package::Package;
use std::fs;
use std::process::Command;

/// Where a package of Debian installs a file, below `/`.
fn installed(entry: &Entry) -> String {
    let prefix = if entry.path.starts_with("etc/") {
        ""
    } else {
        "usr/"
    };
    format!("{prefix}{}", entry.path)
}

#[test]
#[ignore = "needs dpkg-deb"]
fn dpkg_reads_a_package_and_its_sums_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let all = made(Architecture::X86_64);
    let path = folder.path().join("linerate.deb");
    let bytes = packed(&Deb, Package::Linerate, Architecture::X86_64);
    fs::write(&path, bytes).unwrap();
    let run = |words: &[&str]| said(Command::new("dpkg-deb").args(words).arg(&path));
    let info = run(&["--info"]);
    assert!(info.contains("Architecture: amd64"), "{info}");
    let listed = run(&["--contents"]);
    let is_elsewhere = |entry: &&Entry| entry.path.starts_with("share/licenses/");
    for entry in all.iter().filter(|entry| !is_elsewhere(entry)) {
        assert!(
            listed.contains(&format!(" ./{}\n", installed(entry))),
            "{listed}"
        );
    }
    for own in [
        "etc/linerate/serve.toml",
        "usr/share/doc/linerate/copyright",
        "usr/share/doc/linerate/changelog.gz",
    ] {
        assert!(listed.contains(&format!(" ./{own}\n")), "{listed}");
    }
    let unpacked = folder.path().join("x");
    let mut extract = Command::new("dpkg-deb");
    extract.arg("--raw-extract").arg(&path).arg(&unpacked);
    assert!(extract.status().unwrap().success());
    for script in ["postinst", "postrm", "prerm"] {
        let text = fs::read_to_string(unpacked.join("DEBIAN").join(script)).unwrap();
        let is_of_units = script == "postinst" || text.contains("linerate.socket linerate.service");
        assert!(is_of_units && !text.contains('@'), "{text}");
    }
    let kept = fs::read_to_string(unpacked.join("DEBIAN/conffiles")).unwrap();
    assert_eq!(kept, "/etc/linerate/serve.toml\n");
    let mut check = Command::new("md5sum");
    check.args(["--check", "--quiet", "DEBIAN/md5sums"]);
    assert!(check.current_dir(&unpacked).status().unwrap().success());
}
