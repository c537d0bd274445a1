//! A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket and at request on loopback, as a user without
//! privileges.

use crate::hub::await_that;
use linerate_testkit::child::KilledChild;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The user `nobody` of Debian: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

/// A server; killed with the value.
pub(crate) struct Postgres {
    dir: tempfile::TempDir,
    server: Option<KilledChild>,
    /// Where it serves TCP, encrypted.
    port: Option<u16>,
}

/// A program of the newest version that is installed.
fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").expect("the package postgresql-15");
    let mut found: Vec<_> = versions
        .flatten()
        .map(|version| version.path().join("bin").join(name))
        .filter(|file| file.is_file())
        .collect();
    found.sort();
    found.pop().expect("the package postgresql-15")
}

/// As a user that PostgreSQL runs as.
fn unprivileged(name: &str) -> Command {
    let mut command = Command::new(program(name));
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.current_dir("/").stdin(Stdio::null());
    command
}

impl Postgres {
    /// Makes a cluster and starts its server.
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["data", "socket"] {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            if rustix::process::geteuid().is_root() {
                chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mut server = Self {
            dir,
            server: None,
            port: None,
        };
        let made = unprivileged("initdb")
            .args([
                "--username=linerate",
                "--auth=trust",
                "--no-sync",
                "-E",
                "UTF8",
                "--locale=C",
                "-D",
            ])
            .arg(server.path("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        server.restart();
        server
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let mut server: Option<KilledChild> = None;
        await_that("a server that answers", || {
            let is_gone = |child: &mut KilledChild| child.try_wait().unwrap().is_some();
            // It refuses to start while sessions of the one that was killed have not noticed that.
            if server.as_mut().is_none_or(is_gone) {
                server = Some(self.spawned());
            }
            self.try_sql("SELECT 1").is_ok()
        });
        self.server = server;
    }

    fn spawned(&self) -> KilledChild {
        let log = self.path("log");
        let log = fs::File::options().create(true).append(true).open(log);
        let mut command = unprivileged("postgres");
        match self.port {
            None => command.args(["-c", "listen_addresses="]),
            Some(port) => command
                .args(["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on", "-c"])
                .arg(format!("port={port}")),
        };
        let child = command
            .arg("-D")
            .arg(self.path("data"))
            .arg("-k")
            .arg(self.path("socket"))
            // What is tested is the end of processes, not of the machine.
            .args(["-c", "fsync=off", "-c", "max_connections=20"])
            .stdout(Stdio::null())
            .stderr(log.unwrap())
            .spawn();
        child.unwrap().into()
    }

    /// Kills the server (`SIGKILL`); its sessions end when they notice.
    pub(crate) fn kill(&mut self) {
        drop(self.server.take());
    }

    /// Where it is, as the hub takes it.
    pub(crate) fn url(&self) -> String {
        self.url_of("linerate", "postgres")
    }

    /// For another user or database.
    pub(crate) fn url_of(&self, user: &str, database: &str) -> String {
        let folder = self
            .path("socket")
            .display()
            .to_string()
            .replace('/', "%2F");
        format!("postgresql://{user}@{folder}/{database}")
    }

    /// A session of the owner that executes this and ends.
    pub(crate) fn psql(&self, statement: &str) -> Command {
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1"])
            .args(["-U", "linerate", "-d", "postgres", "-c", statement, "-h"])
            .arg(self.path("socket"))
            .stdin(Stdio::null());
        if let Some(port) = self.port {
            psql.arg("-p").arg(port.to_string());
        }
        psql
    }

    /// What a statement returns, a line per row.
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.try_sql(statement)
            .unwrap_or_else(|why| panic!("{statement}: {why}"))
    }

    /// What a statement returns, or why it fails.
    pub(crate) fn try_sql(&self, statement: &str) -> Result<String, String> {
        let output = self
            .psql(&format!("SET search_path = linerate, public; {statement}"))
            .output()
            .unwrap();
        if output.status.success() {
            Ok(String::from_utf8(output.stdout)
                .unwrap()
                .trim_end()
                .to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// A number that a statement returns.
    pub(crate) fn number(&self, statement: &str) -> i64 {
        self.sql(statement).parse().unwrap()
    }

    /// Asks for a password of this user, which is `right`.
    pub(crate) fn ask_for_password(&self, user: &str) {
        self.sql(&format!("CREATE ROLE {user} LOGIN PASSWORD 'right'"));
        self.put_rule(&format!("local all {user} scram-sha-256"));
        self.sql("SELECT pg_reload_conf()");
    }

    /// Serves loopback too, with this certificate (`NAME.pem`, `NAME.key`) and encrypted only; its port.
    pub(crate) fn encrypt(&mut self, certificate: &Path) -> u16 {
        for (ending, name) in [("pem", "server.crt"), ("key", "server.key")] {
            let copy = self.path("data").join(name);
            fs::write(&copy, fs::read(certificate.with_extension(ending)).unwrap()).unwrap();
            if rustix::process::geteuid().is_root() {
                chown(&copy, Some(NOBODY), Some(NOBODY)).unwrap();
            }
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
        }
        self.put_rule("hostssl all all 127.0.0.1/32 trust\nhostnossl all all all reject");
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        self.port = Some(port);
        self.restart();
        port
    }

    /// Puts rules in front of those of `pg_hba.conf`.
    fn put_rule(&self, rule: &str) {
        let rules = self.path("data").join("pg_hba.conf");
        let others = fs::read_to_string(&rules).unwrap();
        // In place: the owner stays.
        fs::write(&rules, format!("{rule}\n{others}")).unwrap();
    }
}
