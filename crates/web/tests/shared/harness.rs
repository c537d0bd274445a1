//! The program over a store, asked over HTTP or in a browser.

use linerate_archive::Store;
use linerate_model::run::{Run, RunKind, Tool};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The program over a store, ended when this is dropped.
pub(crate) struct Site {
    program: Child,
    /// What it printed when it was ready.
    pub(crate) printed: String,
    pub(crate) store: TempDir,
    /// Where the program is if it was copied, beside one that measures.
    programs: Option<TempDir>,
}

impl Site {
    pub(crate) fn start(options: &[&str]) -> Self {
        let store = tempfile::tempdir().unwrap();
        Self::over(store, options)
    }

    pub(crate) fn over(store: TempDir, options: &[&str]) -> Self {
        Self::by(program(store.path()), store, options)
    }

    /// The site of a user who may start tests, which `script`, a file of these tests, makes in place of linerate.
    pub(crate) fn measuring_by(script: &str, store: TempDir) -> Self {
        // Links: what is being written cannot be started, nor while another thread starts a program.
        let programs = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let own = programs.path().join("linerate-web");
        fs::hard_link(env!("CARGO_BIN_EXE_linerate-web"), &own).unwrap();
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        symlink(tests.join(script), programs.path().join("linerate")).unwrap();
        let mut program = Command::new(own);
        program.arg("--store").arg(store.path());
        let mut site = Self::by(program, store, &["--allow-tests"]);
        site.programs = Some(programs);
        site
    }

    fn by(mut program: Command, store: TempDir, options: &[&str]) -> Self {
        if !options.contains(&"--listen") {
            program.args(["--listen", "127.0.0.1:0"]);
        }
        let mut program = program
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = String::new();
        let mut out = BufReader::new(program.stdout.as_mut().unwrap());
        out.read_line(&mut printed).unwrap();
        Self {
            program,
            printed: printed.trim().to_owned(),
            store,
            programs: None,
        }
    }

    /// Ends the program; what it kept stays.
    pub(crate) fn stop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }

    /// The folder of the program that measures.
    pub(crate) fn programs(&self) -> &Path {
        self.programs.as_ref().unwrap().path()
    }

    /// What is printed after the address: the way in.
    pub(crate) fn link(&self) -> &str {
        self.printed.split_once(self.host()).unwrap().1
    }

    /// The cookie of who opens the link.
    pub(crate) fn cookie(&self) -> String {
        let entered = self.get(self.link());
        let mut lines = entered.lines();
        let cookie = lines.find_map(|line| line.strip_prefix("set-cookie: "));
        format!("Cookie: {}", cookie.unwrap().split(';').next().unwrap())
    }

    pub(crate) fn host(&self) -> &str {
        self.printed
            .strip_prefix("http://")
            .unwrap()
            .split('/')
            .next()
            .unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.ask("GET", path, &[])
    }

    /// The whole answer, head and body.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str]) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let mut lines = vec![
            format!("{method} {path} HTTP/1.1"),
            "Connection: close".to_owned(),
        ];
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            lines.push(format!("Host: {}", self.host()));
        }
        lines.extend(headers.iter().map(|header| (*header).to_owned()));
        let request = format!("{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(crate) fn post(&self, path: &str, headers: &[&str], form: &str) -> String {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let host = format!("Host: {}", self.host());
        let length = format!("Content-Length: {}", form.len());
        let first = format!("POST {path} HTTP/1.1");
        let own = [
            &*first,
            &host,
            "Connection: close",
            "Content-Type: application/x-www-form-urlencoded",
            &length,
        ];
        let request = [&own[..], headers].concat().join("\r\n");
        stream
            .write_all(format!("{request}\r\n\r\n{form}").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Reads the stream of events up to the first of this name; what came, line by line.
    pub(crate) fn events_until(&self, name: &str, last: Option<&str>) -> Vec<String> {
        let mut stream = TcpStream::connect(self.host()).unwrap();
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!(
            "GET /events HTTP/1.1\r\nHost: {}\r\n{last}\r\n",
            self.host()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = Vec::new();
        let mut is_found = false;
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            is_found |= line == format!("event: {name}");
            let is_whole = is_found && line.starts_with("data: ");
            lines.push(line);
            if is_whole {
                break;
            }
        }
        lines
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn program(store: &Path) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_linerate-web"));
    program.arg("--store").arg(store);
    program
}

pub(crate) fn code(answer: &str) -> u16 {
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A run of a kind with a title, as any tool may have made it.
pub(crate) fn run(id: &str, title: &str) -> Run {
    let mut run = Run::new(id, RunKind::Tcp, Tool::unversioned("linerate"));
    run.title = Some(title.to_owned());
    run
}

/// What nobody should call a run.
pub(crate) const HOSTILE: &str =
    "</title><script>document.title='owned'</script><img src=x onerror=alert(1)>\u{202e}";

pub(crate) fn two_runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let runs = [
        run("20260101-000000-tcp-00000001", "board A"),
        run("20260102-000000-tcp-00000002", HOSTILE),
    ];
    store.add_all(&runs).unwrap();
    folder
}

/// The site with that program, and the cookie of who opened the link.
pub(crate) fn with_tests() -> (Site, String) {
    let site = Site::measuring_by("shared/measures.sh", tempfile::tempdir().unwrap());
    let cookie = site.cookie();
    (site, cookie)
}
