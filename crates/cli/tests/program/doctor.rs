//! `doctor`: documents, exit codes, changes of a copy of a host's files, and the other host.

use crate::harness::{Ended, Place, Running, linerate};
use linerate_schema_check::{DOCTOR_1, validate_against};
use linerate_testkit::ports::free_address;
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const FILES: &[(&str, &str)] = &[
    ("sys/devices/system/cpu/online", "0-1\n"),
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "schedutil\n",
    ),
    (
        "sys/devices/system/cpu/cpuidle/current_driver",
        "intel_idle\n",
    ),
    ("sys/devices/system/cpu/cpu1/cpuidle/state2/name", "C6\n"),
    (
        "sys/devices/system/cpu/cpu1/cpuidle/state2/latency",
        "133\n",
    ),
    ("sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "0\n"),
    ("sys/class/net/eth0/mtu", "1500\n"),
    (
        "proc/thread-self/net/dev",
        "Inter-| face\n face |bytes\n  eth0: 1 2\n",
    ),
    (
        "proc/interrupts",
        "           CPU0       CPU1\n 38:  4  1  PCI-MSIX  1-edge  eth0-rx-0\n",
    ),
    ("proc/irq/38/smp_affinity_list", "0-1\n"),
    ("proc/irq/38/effective_affinity_list", "1\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
    ("proc/sys/kernel/perf_event_paranoid", "2\n"),
    ("proc/sys/kernel/kptr_restrict", "0\n"),
    ("proc/sys/kernel/osrelease", "6.1.0\n"),
    ("proc/sys/kernel/hostname", "bench\n"),
];

/// The files of a host that lacks nothing that can be changed.
fn host() -> Place {
    let place = Place::new();
    for (path, text) in FILES {
        let path = place.file("host").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    place
}

/// `doctor` on those files.
fn doctor(place: &Place, args: &[&str]) -> Ended {
    let mut command = linerate();
    command.arg("doctor").args(args);
    command.arg("--root").arg(place.file("host"));
    command.arg("--undo").arg(place.file("undo.jsonl"));
    Ended::spawn(&mut command)
}

#[track_caller]
fn valid(text: &str) -> Value {
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(validate_against(DOCTOR_1, &document), Ok(()));
    document
}

fn results(document: &Value) -> Vec<&str> {
    let changes = document["changes"].as_array().unwrap();
    changes
        .iter()
        .map(|made| made["result"].as_str().unwrap())
        .collect()
}

fn outcome<'a>(document: &'a Value, id: &str) -> &'a Value {
    let checks = document["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["id"] == id).unwrap();
    &check["outcome"]
}

#[track_caller]
fn is_as_it_was(place: &Place) {
    for (path, text) in FILES {
        let now = fs::read_to_string(place.file("host").join(path)).unwrap();
        assert_eq!(&now, text, "{path}");
    }
    assert!(!place.file("undo.jsonl").exists());
}

#[test]
fn findings_come_first_and_nothing_unseen_is_passed() {
    let place = host();
    let text = doctor(&place, &[]).done();
    for word in [
        "bench, interface eth0",
        "c-states",
        "133 µs",
        "cpupower idle-set",
        "not checked",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let document = valid(&doctor(&place, &["--json"]).done());
    assert_eq!(document["schema"], "linerate/doctor/1");
    assert_eq!(document["checks"][0]["finding"]["severity"], "high");
    assert_eq!(outcome(&document, "coalescing"), "not-checked");
    assert_eq!(outcome(&document, "mtu"), "fine");
    is_as_it_was(&place);
}

#[test]
fn what_apply_changes_restore_takes_back() {
    let place = host();
    let document = valid(&doctor(&place, &["--apply", "--json"]).done());
    assert_eq!(results(&document), ["changed"; 4]);
    assert_eq!(outcome(&document, "governor"), "fine");
    assert!(
        document["undo_file"]
            .as_str()
            .unwrap()
            .ends_with("undo.jsonl")
    );
    let paranoid = place.file("host/proc/sys/kernel/perf_event_paranoid");
    assert_eq!(
        fs::read_to_string(&paranoid).unwrap(),
        "2\n",
        "only if it is asked for"
    );
    let named = valid(&doctor(&place, &["--apply", "--only", "tracing", "--json"]).done());
    assert_eq!(results(&named), ["changed"]);
    let text = doctor(&place, &["--restore"]).done();
    assert_eq!(text.matches("restored").count(), 5, "{text}");
    is_as_it_was(&place);
    assert!(
        doctor(&place, &["--restore"])
            .done()
            .contains("nothing to take back")
    );
}

#[test]
fn findings_count_only_when_asked() {
    let place = host();
    let ended = doctor(&place, &["--strict", "--only", "governor"]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert_eq!(doctor(&place, &["--strict", "--only", "mtu"]).code, Some(0));
}

#[test]
fn what_cannot_be_changed_is_said_with_its_code() {
    let place = host();
    doctor(&place, &["--apply"]).done();
    let governor = "host/sys/devices/system/cpu/cpufreq/policy0/scaling_governor";
    place.with(governor, b"powersave\n");
    let kept = doctor(&place, &["--restore"]);
    assert_eq!(kept.code, Some(1), "{kept:?}");
    assert!(
        kept.out.contains("--force") && kept.out.contains("powersave"),
        "{kept:?}"
    );
    doctor(&place, &["--restore", "--force"]).done();
    is_as_it_was(&place);
    place.with("undo.jsonl", b"none of ours\n");
    doctor(&place, &["--restore"]).failed(3, &["undo.jsonl", "line 1"]);
}

/// Whoever made the copy chose its links: what is outside is neither read nor named, and nothing waits.
#[test]
fn no_check_reads_outside_of_a_copy_or_waits_for_a_pipe() {
    const SECRET: &str = "secret-of-this-host";
    let place = host();
    let outside = place.with("outside", SECRET.as_bytes());
    fs::create_dir_all(place.file("host/etc/tuned")).unwrap();
    let mut replaced = vec!["etc/tuned/active_profile"];
    replaced.extend(FILES.iter().map(|(path, _)| *path));
    let [by_link, by_pipe] = [true, false].map(|is_link| {
        for path in &replaced {
            let path = place.file("host").join(path);
            drop(fs::remove_file(&path));
            if is_link {
                std::os::unix::fs::symlink(&outside, &path).unwrap();
            } else {
                let made = Command::new("mkfifo").arg(&path).status().unwrap();
                assert!(made.success());
            }
        }
        doctor(&place, &["--json", "--apply"]).done()
    });
    for text in [by_link, by_pipe] {
        assert!(!text.contains(SECRET), "{text}");
        valid(&text);
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), SECRET);
}

#[test]
fn an_undo_file_that_cannot_be_written_leaves_everything() {
    let place = host();
    place.with("blocked", b"");
    let blocked = place.file("blocked/undo.jsonl");
    let mut command = linerate();
    command
        .args(["doctor", "--apply", "--root"])
        .arg(place.file("host"));
    command.arg("--undo").arg(&blocked);
    Ended::spawn(&mut command).failed(4, &["blocked", "--undo"]);
    is_as_it_was(&place);
}

#[test]
fn wrong_words_are_usage_errors() {
    let place = host();
    doctor(&place, &["--only", "weather"]).failed(2, &["weather", "governor"]);
    doctor(&place, &["--jitter", "2h"]).failed(2, &["--jitter"]);
    doctor(&place, &["--jitter", "1s"]).failed(2, &["--root"]);
    doctor(&place, &["--apply", "--restore"]).failed(2, &["--restore"]);
    doctor(&place, &["-o", "x.html"]).failed(2, &["-o"]);
    let far = |url: &str| Ended::spawn(linerate().args(["doctor", "--host", url]));
    far("board").failed(2, &["ssh://"]);
    far("ssh://-oProxyCommand=true").failed(2, &["not the name"]);
}

#[test]
fn this_host_is_examined_and_its_jitter_measured() {
    let mut command = linerate();
    command.args(["doctor", "--json", "--jitter", "20ms"]);
    let ended = Ended::spawn(&mut command);
    let document = valid(&ended.done());
    let cores = document["jitter"]["cores"].as_array().unwrap();
    assert!(!cores.is_empty());
    for core in cores {
        assert!(core["elapsed_s"].as_f64().unwrap() > 0.0, "{core}");
        assert!(core["readings"].as_u64().unwrap() > 1, "{core}");
    }
    assert!(document["facts"]["kernel_release"].is_string());
}

/// A program in the place of ssh.
fn ssh(place: &Place, script: &str) -> PathBuf {
    let path = place.with("ssh", format!("#!/bin/sh\n{script}\n").as_bytes());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn at(host: &str, ssh: &Path, args: &[&str]) -> Ended {
    let mut command = linerate();
    command
        .args(["doctor", "--json", "--host", host, "--ssh"])
        .arg(ssh);
    command.args(args);
    Ended::spawn(&mut command)
}

/// Runs the last argument, which is what ssh would run at the peer.
const HERE: &str = r#"echo "$@" >> "$0.args"; for last; do :; done; echo "Welcome to this host"; exec sh -c "$last""#;

#[test]
fn the_program_goes_to_the_other_host_and_its_document_comes_back() {
    let place = Place::new();
    let ssh = ssh(&place, HERE);
    let document = valid(
        &at(
            "ssh://root@board:2222",
            &ssh,
            &["--only", "mtu,steal", "--cpu", "0"],
        )
        .done(),
    );
    assert_eq!(document["checks"].as_array().unwrap().len(), 2);
    assert_eq!(document["core"], 0);
    let said = fs::read_to_string(place.file("ssh.args")).unwrap();
    assert!(
        said.starts_with("-l root -p 2222 -T -- board sh -c "),
        "{said}"
    );
}

#[test]
fn another_host_that_is_of_no_use_says_why() {
    let place = Place::new();
    let told = |script: &str, code: i32, words: &[&str]| {
        let ended = at("ssh://board", &ssh(&place, script), &[]);
        ended.failed(code, words);
        assert!(!ended.err.contains('\u{1b}'), "{ended:?}");
    };
    told(
        "echo 'Permission denied (publickey).' >&2; exit 255",
        5,
        &["board", "Permission denied"],
    );
    told(
        "echo linerate-far Linux mips64; cat > /dev/null",
        4,
        &["Linux mips64", "riscv64"],
    );
    let greeting = "echo \"linerate-far $(uname -s) $(uname -m)\"; read -r n; \
         head -c \"$n\" > /dev/null; echo \"linerate-sum $n\"; read -r go;";
    told(
        &format!("{greeting} printf 'oh \\033[2J no' >&2"),
        5,
        &["its output", "oh"],
    );
    told(
        &format!("{greeting} echo '{{\"schema\":\"x\"}}'"),
        5,
        &["linerate/doctor/1"],
    );
    told(&format!("{greeting} yes"), 5, &["linerate/doctor/1"]);
    let none = at("ssh://board", &place.file("no-such-ssh"), &[]);
    none.failed(4, &["no-such-ssh", "OpenSSH"]);
}

#[test]
fn another_host_that_says_nothing_is_given_up() {
    let place = Place::new();
    let ssh = ssh(&place, "exec cat");
    at("ssh://board", &ssh, &["--timeout", "300ms"]).failed(5, &["board", "in time"]);
}

/// The real server on a port of its own, in a mount namespace of its own where it has what it wants: a user
/// `sshd` and `/run/sshd`. Killed when it goes out of scope.
struct Sshd {
    place: Place,
    port: u16,
    _running: Running,
}

impl Sshd {
    fn start() -> Self {
        let place = Place::new();
        let port = free_address(Ipv4Addr::LOCALHOST.into()).unwrap().port();
        for key in ["host_key", "other_key", "user_key"] {
            let file = place.file(key);
            let mut keygen = Command::new("ssh-keygen");
            keygen
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(file);
            assert!(keygen.status().unwrap().success());
        }
        let path = |name: &str| place.file(name).display().to_string();
        fs::copy(place.file("user_key.pub"), place.file("authorized")).unwrap();
        fs::create_dir(place.file("far")).unwrap();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\n\
             UsePAM no\nPidFile none\nPermitRootLogin prohibit-password\nSetEnv TMPDIR={}\n",
            path("host_key"),
            path("authorized"),
            path("far")
        );
        place.with("sshd_config", config.as_bytes());
        let mut users = fs::read_to_string("/etc/passwd").unwrap();
        users.push_str("\nsshd:x:65530:65530::/run/sshd:/usr/sbin/nologin\n");
        place.with("passwd", users.as_bytes());
        let script = format!(
            "mount -t tmpfs none /run && mkdir -m 755 /run/sshd && mount --bind {} /etc/passwd && \
             exec \"$(command -v sshd)\" -D -e -f {} 2>&1",
            path("passwd"),
            path("sshd_config")
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]);
        command.env("LD_LIBRARY_PATH", libraries());
        let mut running = Running::start(&mut command);
        running.await_line("Server listening on");
        Self {
            place,
            port,
            _running: running,
        }
    }

    /// The client's configuration; it knows the host by `key`.
    fn client(&self, key: &str) -> PathBuf {
        let host_key = fs::read_to_string(self.place.file(key)).unwrap();
        let known = format!("[127.0.0.1]:{} {host_key}", self.port);
        let known = self.place.with("known_hosts", known.as_bytes());
        let config = format!(
            "Host far\nHostName 127.0.0.1\nPort {}\nIdentityFile {}\nIdentitiesOnly yes\n\
             UserKnownHostsFile {}\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nBatchMode yes\n",
            self.port,
            self.place.file("user_key").display(),
            known.display()
        );
        self.place.with("ssh_config", config.as_bytes())
    }

    fn doctor(&self, key: &str, args: &[&str]) -> Ended {
        let ssh = format!("ssh -F {}", self.client(key).display());
        let mut command = linerate();
        command.args([
            "doctor",
            "--json",
            "--host",
            "ssh://root@far",
            "--ssh",
            &ssh,
        ]);
        Ended::spawn(command.args(args))
    }
}

/// Where libraries are beside an sshd that was unpacked and not installed.
fn libraries() -> OsString {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/foreign/usr/lib");
    let folders = fs::read_dir(lib).into_iter().flatten();
    let folders = folders.filter_map(|entry| Some(entry.ok()?.path()));
    std::env::join_paths(folders).unwrap()
}

#[test]
#[ignore = "needs root, and the server of OpenSSH"]
fn a_host_behind_a_real_ssh_server() {
    let server = Sshd::start();
    let document = valid(
        &server
            .doctor("host_key.pub", &["--only", "mtu,steal"])
            .done(),
    );
    assert_eq!(document["checks"].as_array().unwrap().len(), 2);
    let left = fs::read_dir(server.place.file("far")).unwrap().count();
    assert_eq!(left, 0, "the copy of this program is removed");
    let refused = server.doctor("other_key.pub", &[]);
    refused.failed(
        5,
        &["far: ssh ended before", "Host key verification failed"],
    );
}
