//! Two hosts, the second with dropbear for one user without privileges.
//!
//! In the server's mount namespace `/usr/bin` has busybox only, and `/tmp`, the user's home and `/etc/passwd` are those of
//! a folder of the test's:
//!
//! ```text
//!   host A: linerate, ssh ──veth── host B: dropbear (user 1000) ── sh of busybox ── the agent
//! ```

use crate::run::{Ended, Running};
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use linerate_testkit::child::KilledChild;
use linerate_testkit::namespaces::not_run;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Pause between two looks at processes.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

pub(crate) struct Server {
    hosts: TwoHosts,
    folder: TempDir,
    dropbear: KilledChild,
}

/// A program of this machine, or of those that `ci/need` unpacked.
fn program(name: &str) -> PathBuf {
    #[expect(clippy::disallowed_methods, reason = "a test's own setting")]
    let path = std::env::var("PATH").unwrap_or_default();
    let places = path.split(':').chain(["/usr/sbin", "/sbin"]);
    let mut found = places.map(|place| Path::new(place).join(name));
    found.find(|path| path.is_file()).unwrap_or_else(|| {
        not_run(format!(
            "there is no {name}: `ci/need packages-test` gets it"
        ))
    })
}

fn done(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for part in ["bin", "tmp", "home/.ssh", "client"] {
            fs::create_dir_all(folder.path().join(part)).unwrap();
        }
        for closed in ["home", "home/.ssh"] {
            let mode = fs::Permissions::from_mode(0o700);
            fs::set_permissions(folder.path().join(closed), mode).unwrap();
        }
        make_userland(folder.path());
        make_keys(folder.path());
        let hosts = TwoHosts::create(Link::symmetric(LinkConfig::default()), 1).unwrap();
        let mut command = dropbear(folder.path());
        let spawn = move || command.spawn().unwrap();
        let host = hosts.host(HostId::B);
        let mut dropbear = host.spawn("dropbear", spawn).unwrap().join().unwrap();
        let mut said = BufReader::new(dropbear.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("Not backgrounding") {
            assert_ne!(said.read_line(&mut line).unwrap(), 0, "dropbear: {line}");
        }
        // What it says later is not of interest, and must not fill the pipe.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self {
            hosts,
            folder,
            dropbear: dropbear.into(),
        }
    }

    /// Its address, with more settings.
    fn host(&self, more: &str) -> String {
        let config = self.folder.path().join("client/config");
        let config = config.display();
        format!("ssh://user@10.77.0.2:2222?config={config}{more}")
    }

    /// Runs a plan whose `[study]` says this beside its host.
    pub(crate) fn study(&self, study: &str, rest: &str) -> Ended {
        let path = self.folder.path().join("client/plan.toml");
        let plan = format!("[study]\nhost = \"{}\"\n{study}\n{rest}", self.host(""));
        fs::write(&path, plan).unwrap();
        let mut linerate = Command::new(env!("CARGO_BIN_EXE_linerate"));
        linerate
            .arg("run")
            .arg(path)
            .args(["--json", "--no-store", "--run-programs"])
            .stdin(Stdio::null());
        self.start_client(linerate).end()
    }

    fn client(&self, command: &str, more: &str, words: &[&str]) -> Command {
        let mut linerate = Command::new(env!("CARGO_BIN_EXE_linerate"));
        linerate
            .arg(command)
            .arg(self.host(more))
            .args(words)
            .stdin(Stdio::null());
        linerate
    }

    /// Starts a program on the client's host.
    fn start_client(&self, mut command: Command) -> Running {
        let host = self.hosts.host(HostId::A);
        let start = move || Running::start(&mut command);
        host.spawn("client", start).unwrap().join().unwrap()
    }

    /// Runs a command against the server, whose address has `more` at its end.
    pub(crate) fn command(&self, command: &str, more: &str, words: &[&str]) -> Ended {
        self.start_client(self.client(command, more, words)).end()
    }

    pub(crate) fn udp(&self, more: &str, words: &[&str]) -> Ended {
        self.command("udp", more, words)
    }

    /// A test under way, of more time than any test of linerate's own may take.
    pub(crate) fn start_test(&self) -> Running {
        let words = ["--rate", "1M", "-t", "10m", "--stream", "--no-store"];
        let mut running = self.start_client(self.client("udp", "", &words));
        running.await_line("\"event\":\"interval\"");
        running
    }

    /// Processes of the user that have this word in their command line.
    fn processes(&self, word: &str) -> Vec<String> {
        let home = format!("HOME={}\0", self.folder.path().join("home").display());
        let found = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let path = entry.ok()?.path();
            let words = fs::read_to_string(path.join("cmdline")).ok()?;
            let settings = fs::read(path.join("environ")).ok()?;
            let is_it = words.contains(word) && String::from_utf8_lossy(&settings).contains(&home);
            is_it.then(|| path.file_name().unwrap().to_str().unwrap().to_owned())
        });
        found.collect()
    }

    /// The agent on the server, if one runs.
    pub(crate) fn agent(&self) -> Option<String> {
        self.processes("/linerate\0deployed-agent\0").pop()
    }

    pub(crate) fn wait_for_no_agent(&self) {
        while self.agent().is_some() || !self.processes("linerate-far").is_empty() {
            sleep_until(MonoClock.now().after(LOOK_INTERVAL));
        }
    }

    /// Nothing is left where an agent could have been.
    #[track_caller]
    pub(crate) fn has_no_files(&self) {
        for part in ["tmp", "home"] {
            let found = fs::read_dir(self.folder.path().join(part)).unwrap();
            let found: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
            let found: Vec<_> = found.iter().filter(|name| *name != ".ssh").collect();
            assert!(found.is_empty(), "{part}: {found:?}");
        }
    }

    /// Ends what serves the client's connection.
    pub(crate) fn cut(&self) {
        let parent = self.dropbear.id().to_string();
        let children = format!("/proc/{parent}/task/{parent}/children");
        let children = fs::read_to_string(children).unwrap();
        let mut kill = Command::new("kill");
        done(kill.arg("-KILL").args(children.split_whitespace()));
    }

    /// Gives the user another program of this name.
    pub(crate) fn replace(&self, name: &str, script: &str) {
        self.remove(name);
        let path = self.folder.path().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        let bin = self.folder.path().join("bin");
        // busybox's own shell has its other programs within itself, whatever the folder has.
        fs::remove_file(bin.join("sh")).unwrap();
        fs::copy(program("sh"), bin.join("sh")).unwrap();
        fs::remove_file(bin.join(name)).unwrap();
    }

    pub(crate) fn close(self) {
        let Self {
            hosts, dropbear, ..
        } = self;
        drop(dropbear);
        hosts.close().unwrap();
    }
}

/// busybox under the name of each of its programs, and a user of them.
fn make_userland(folder: &Path) {
    let (bin, busybox) = (folder.join("bin"), program("busybox"));
    fs::copy(&busybox, bin.join("busybox")).unwrap();
    for applet in done(Command::new(&busybox).arg("--list")).lines() {
        if applet != "busybox" {
            symlink("busybox", bin.join(applet)).unwrap();
        }
    }
    let home = folder.join("home");
    let user = format!("user:x:1000:1000::{}:/bin/sh\n", home.display());
    fs::write(folder.join("passwd"), user).unwrap();
}

/// The server's key, the user's, and how each side knows the other's.
fn make_keys(folder: &Path) {
    let host_key = folder.join("host_key");
    let mut make = Command::new(program("dropbearkey"));
    let printed = done(make.args(["-t", "ed25519", "-f"]).arg(&host_key));
    let public = printed
        .lines()
        .find(|line| line.starts_with("ssh-ed25519 "));
    let client = folder.join("client");
    let known = format!("[10.77.0.2]:2222 {}\n", public.unwrap());
    fs::write(client.join("known_hosts"), known).unwrap();
    let mut make = Command::new(program("ssh-keygen"));
    done(
        make.args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(client.join("key")),
    );
    fs::copy(
        client.join("key.pub"),
        folder.join("home/.ssh/authorized_keys"),
    )
    .unwrap();
    let place = client.display();
    let config = format!(
        "IdentityFile {place}/key\nIdentitiesOnly yes\nUserKnownHostsFile {place}/known_hosts\nBatchMode yes\n"
    );
    fs::write(client.join("config"), config).unwrap();
}

/// dropbear as user 1000 of a user namespace of its own, with the folder's files in the places of the system's.
fn dropbear(folder: &Path) -> Command {
    // Both are started once `/usr/bin` and `/tmp` are others.
    for (name, from) in [("unshare", "unshare"), ("dropbear", "dropbear")] {
        fs::copy(program(from), folder.join(name)).unwrap();
    }
    let script = "cd \"$1\"
mount --bind passwd /etc/passwd
mount --bind tmp /tmp
mount --bind bin /usr/bin
exec ./unshare --user --map-user=1000 --map-group=1000 ./dropbear -F -E -s -r host_key -p 10.77.0.2:2222 -P pid";
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-ec", script, "sh"])
        .arg(folder)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    command
}
