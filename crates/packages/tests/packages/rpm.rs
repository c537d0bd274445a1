//! Packages of Fedora, RHEL and openSUSE.

use super::{packed, said};
use ::rpm::{FileFlags, Package as Read};
use linerate_packages::architecture::Architecture;
use linerate_packages::formats::rpm::Rpm;
use linerate_packages::package::Package;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn read(package: Package, architecture: Architecture) -> Read {
    let bytes = packed(&Rpm, package, architecture);
    let read = Read::parse(&mut bytes.as_slice()).unwrap();
    read.verify_digests().unwrap();
    read
}

#[test]
fn files_are_where_that_family_has_them() {
    let read = read(Package::Linerate, Architecture::Armv7);
    assert_eq!(read.metadata.get_arch().unwrap(), "armv7hl");
    let entries = read.metadata.get_file_entries().unwrap();
    let flags: BTreeMap<_, _> = entries
        .iter()
        .map(|entry| (entry.path.to_string_lossy().into_owned(), entry.flags))
        .collect();
    for (path, wanted) in [
        ("/usr/bin/linerate", FileFlags::empty()),
        (
            "/usr/lib/linerate/agents/linerate-x86-64",
            FileFlags::empty(),
        ),
        (
            "/usr/lib/systemd/system/linerate.socket",
            FileFlags::empty(),
        ),
        (
            "/usr/share/zsh/site-functions/_linerate",
            FileFlags::empty(),
        ),
        ("/usr/share/man/man1/linerate-tcp.1.gz", FileFlags::DOC),
        (
            "/usr/share/doc/linerate/linerate.spdx.json.gz",
            FileFlags::DOC,
        ),
        (
            "/usr/share/licenses/linerate/LICENSE-MIT",
            FileFlags::LICENSE,
        ),
        (
            "/etc/linerate/serve.toml",
            FileFlags::CONFIG | FileFlags::NOREPLACE,
        ),
        // Gone with the package.
        ("/usr/lib/linerate/agents", FileFlags::empty()),
        ("/etc/linerate", FileFlags::empty()),
    ] {
        assert_eq!(flags.get(path), Some(&wanted), "{path}");
    }
    let of_debian = ["lintian", "vendor-completions", "/copyright", "/changelog"];
    for path in flags.keys() {
        assert!(!of_debian.iter().any(|part| path.contains(part)), "{path}");
    }
}

#[test]
fn it_needs_no_library_and_the_hub_needs_linerate() {
    let needs = |package| {
        let all = read(package, Architecture::Aarch64).metadata.get_requires();
        let all = all.unwrap().into_iter();
        // What rpm itself must know, the shell of the scripts, the package's own configuration.
        let names = all.map(|one| (one.name, one.version));
        names
            .filter(|(name, _)| {
                !name.starts_with("rpmlib(") && name != "/bin/sh" && !name.starts_with("config(")
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(needs(Package::Linerate), []);
    let linerate = ("linerate".to_owned(), "0.1.0".to_owned());
    assert_eq!(needs(Package::Hub), [linerate]);
}

/// Writes a package for this machine.
fn written(folder: &Path, package: Package) -> PathBuf {
    let path = folder.join(format!("{}.rpm", package.name()));
    fs::write(&path, packed(&Rpm, package, Architecture::X86_64)).unwrap();
    path
}

#[test]
#[ignore = "needs rpm"]
fn rpm_installs_verifies_and_removes_both() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let paths = Package::ALL.map(|package| written(folder.path(), package));
    let rpm = |words: &[&str]| {
        // As the root of a user namespace, who may change the root directory.
        let mut rpm = Command::new("unshare");
        rpm.args(["--map-root-user", "rpm"]);
        rpm.args(words).env("LC_ALL", "C.UTF-8");
        rpm
    };
    for path in &paths {
        let text = said(rpm(&["--checksig", "--verbose"]).arg(path));
        assert!(text.contains("Payload SHA256 digest: OK"), "{text}");
        assert!(!text.contains("BAD"), "{text}");
    }
    let info = said(rpm(&["--query", "--package", "--info"]).arg(&paths[0]));
    for line in ["Architecture: x86_64", "License     : MIT OR Apache-2.0"] {
        assert!(info.contains(line), "{info}");
    }
    let scripts = said(rpm(&["--query", "--package", "--scripts"]).arg(&paths[0]));
    assert!(scripts.contains("try-restart linerate.service") && !scripts.contains('@'));
    // There is no shell below that root, which the scripts are for.
    let place = root.to_str().unwrap();
    let below = ["--force-debian", "--root", place, "--nodeps", "--noscripts"];
    said(rpm(&[&below[..], &["--install"]].concat()).args(&paths));
    let program = fs::read(root.join("usr/bin/linerate")).unwrap();
    assert_eq!(program, b"is linerate-x86-64");
    let verified = ["--root", place, "--verify", "--nodeps"];
    let text = said(rpm(&verified).args(["linerate", "linerate-hub"]));
    assert!(!text.contains("usr/"), "{text}");
    said(rpm(&[&below[..], &["--erase"]].concat()).args(["linerate", "linerate-hub"]));
    for own in [
        "usr/bin/linerate",
        "usr/lib/linerate",
        "etc/linerate",
        "usr/share/doc/linerate",
        "usr/share/doc/linerate-hub",
        "usr/share/licenses/linerate",
    ] {
        assert!(!root.join(own).exists(), "{own}");
    }
}

#[test]
fn scripts_are_what_a_shell_takes() {
    let folder = tempfile::tempdir().unwrap();
    for package in Package::ALL {
        let metadata = read(package, Architecture::Riscv64).metadata;
        let scripts = [
            metadata.get_pre_uninstall_script(),
            metadata.get_post_uninstall_script(),
        ];
        for script in scripts.map(|script| script.unwrap().script) {
            assert!(script.contains(package.service()), "{script}");
            let path = folder.path().join("script");
            fs::write(&path, script).unwrap();
            said(Command::new("sh").arg("-n").arg(path));
        }
        // Nothing runs at installation, when somebody's presets could enable it.
        assert!(metadata.get_post_install_script().is_err());
    }
}
