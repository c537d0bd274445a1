//! The package on Debian 12 and 13 in emulated machines, where nothing else is installed: `guest.sh` is what its user does.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use jiff::Timestamp;
use linerate_packages::Source;
use linerate_packages::architecture::Architecture;
use linerate_packages::content::entries;
use linerate_packages::formats::Format as _;
use linerate_packages::formats::deb::Deb;
use linerate_packages::package::Package;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Packages of a guest: what a machine has, and no compiler.
const INCLUDE: &str = "linux-image-cloud-amd64,systemd-sysv,udev,iproute2,kmod,dbus,man-db,openssh-server,openssh-client";

/// Runs `guest.sh` when the guest has started.
const UNIT: &str = "[Unit]\nAfter=multi-user.target\n[Service]\nType=oneshot\nExecStart=/guest.sh\n[Install]\nWantedBy=multi-user.target\n";

fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap().to_owned()
}

fn done(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

/// Writes the packages of this version and of one before it, of what `make dist` built.
fn packages(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let root = root();
    for version in ["0.0.9", "0.1.0"] {
        let source = Source {
            root: &root,
            time: Timestamp::from_second(1_790_000_000).unwrap(),
            version,
        };
        for package in Package::ALL {
            let dist = root.join("target/dist");
            let all = entries(&source, &dist, package, Architecture::X86_64).unwrap();
            let made = Deb.package(&source, package, Architecture::X86_64, &all);
            let name = Deb.file_name(&source, package, Architecture::X86_64);
            fs::write(folder.join(name), made.unwrap()).unwrap();
        }
    }
}

/// The archive of a system of this release of Debian; made once.
fn archive(suite: &str, kept: &Path) -> PathBuf {
    let archive = kept.join(format!("{suite}.tar"));
    if !archive.is_file() {
        let partial = kept.join(format!("{suite}.partial.tar"));
        let mut make = Command::new("mmdebstrap");
        make.args(["--variant=minbase", &format!("--include={INCLUDE}"), suite]);
        done(make.arg(&partial));
        fs::rename(&partial, &archive).unwrap();
    }
    archive
}

/// Unpacks a system, and puts into it what its user has: packages, and a script that starts with it.
fn prepare(archive: &Path, system: &Path) {
    fs::create_dir(system).unwrap();
    let mut unpack = Command::new("tar");
    unpack.arg("-xpf").arg(archive).arg("-C").arg(system);
    done(&mut unpack);
    packages(&system.join("packages"));
    let script = system.join("guest.sh");
    fs::write(&script, include_str!("guest.sh")).unwrap();
    done(Command::new("chmod").arg("755").arg(script));
    let units = system.join("etc/systemd/system");
    fs::write(units.join("guest.service"), UNIT).unwrap();
    let wants = units.join("multi-user.target.wants");
    fs::create_dir_all(&wants).unwrap();
    std::os::unix::fs::symlink("../guest.service", wants.join("guest.service")).unwrap();
}

/// The file of `system` that it boots from: `vmlinuz-…` or `initrd.img-…`.
fn boot(system: &Path, name: &str) -> PathBuf {
    let files = fs::read_dir(system.join("boot")).unwrap().flatten();
    let mut found = files.map(|file| file.path()).filter(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.starts_with(name)
    });
    found.next().unwrap_or_else(|| panic!("no {name}"))
}

/// Starts a guest of this release of Debian; what its script said.
fn guest(suite: &str) -> String {
    let kept = root().join("target/guests");
    fs::create_dir_all(&kept).unwrap();
    let archive = archive(suite, &kept);
    let work = tempfile::tempdir_in(&kept).unwrap();
    let [system, disk, said] = ["root", "disk", "said"].map(|name| work.path().join(name));
    prepare(&archive, &system);
    let mut make = Command::new("mke2fs");
    make.args(["-q", "-t", "ext4", "-d"]).arg(&system);
    done(make.arg(&disk).arg("3G"));
    let drive = format!("file={},format=raw,if=virtio,cache=unsafe", disk.display());
    let mut emulate = Command::new("timeout");
    // Without KVM: not every machine has it, and in a guest of its own it may start and never boot.
    emulate.args(["1200", "qemu-system-x86_64", "-accel", "tcg,thread=multi"]);
    emulate.args(["-cpu", "max", "-m", "1G", "-smp", "2", "-display", "none"]);
    emulate.args(["-no-reboot", "-nic", "none", "-drive", &drive]);
    emulate.args(["-append", "root=/dev/vda rw quiet"]);
    emulate
        .arg("-serial")
        .arg(format!("file:{}", said.display()));
    emulate.arg("-kernel").arg(boot(&system, "vmlinuz"));
    emulate.arg("-initrd").arg(boot(&system, "initrd.img"));
    done(&mut emulate);
    fs::read_to_string(&said).unwrap()
}

fn passes(suite: &str) {
    let said = guest(suite);
    assert!(!said.contains("FAILED"), "{suite}:\n{said}");
    assert!(
        said.lines().any(|line| line.trim_end() == "done"),
        "{suite}:\n{said}"
    );
}

#[test]
#[ignore = "needs what `make dist` builds, mmdebstrap and QEMU"]
fn the_package_serves_a_machine_of_debian_12() {
    passes("bookworm");
}

#[test]
#[ignore = "needs what `make dist` builds, mmdebstrap and QEMU"]
fn the_package_serves_a_machine_of_debian_13() {
    passes("trixie");
}

#[test]
#[ignore = "needs what `make dist` builds, and lintian"]
fn lintian_finds_no_error() {
    let folder = tempfile::tempdir().unwrap();
    packages(folder.path());
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error"]);
    done(lintian.arg(folder.path().join("linerate_0.1.0_amd64.deb")));
}
