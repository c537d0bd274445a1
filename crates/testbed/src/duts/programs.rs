//! Programs that devices need: where they are, and running them to their end.

use super::Availability;
use crate::{Result, TestbedError};
use linerate_sys::process::die_with_parent;
use std::env;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A program, and the Debian package that has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) name: &'static str,
    pub(super) package: &'static str,
}

/// Where programs are that only root runs, and that Debian's `alternatives` point to.
const FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/lib/openvswitch-switch"];

impl Program {
    pub(super) const fn new(name: &'static str, package: &'static str) -> Self {
        Self { name, package }
    }

    /// Whether all of `programs` are here.
    pub(super) fn all(programs: &[Self]) -> Availability {
        let missing = programs.iter().find(|program| program.path().is_none());
        match missing {
            None => Availability::Available,
            Some(program) => Availability::Missing {
                what: format!("the program {}", program.name),
                remedy: format!(
                    "get it with: apt-get install {} (Debian, as root)",
                    program.package
                ),
            },
        }
    }

    /// Its file: beside this program or in the folder above, in a folder of `PATH`, or where the system has it for root.
    pub(super) fn path(self) -> Option<PathBuf> {
        let path = env::var_os("PATH").unwrap_or_default();
        let usual = FOLDERS.iter().map(PathBuf::from);
        let own = env::current_exe().unwrap_or_default();
        let beside = own.ancestors().skip(1).take(2).map(Path::to_owned);
        let folders = beside.chain(env::split_paths(&path)).chain(usual);
        // A package that was unpacked and not installed has not the links that installing makes.
        let unpacked = |folder: &Path| folder.join("../lib/openvswitch-switch").join(self.name);
        folders
            .flat_map(|folder| [folder.join(self.name), unpacked(&folder)])
            .find(|file| file.is_file())
    }

    /// A command of it, which dies with the thread that starts it, and which a terminal's Ctrl-C does not reach: linerate
    /// ends it. A package that was unpacked below a folder of its own finds its libraries there.
    pub(super) fn command(self) -> Command {
        self.command_by(Command::new(self.found()))
    }

    /// A command like [`command`](Self::command) of a program that would keep what it writes until it has a block of it:
    /// this one writes each line at once.
    pub(super) fn talking_command(self) -> Command {
        let mut command = Command::new("stdbuf");
        command.arg("-oL").arg(self.found());
        self.command_by(command)
    }

    fn found(self) -> PathBuf {
        self.path().unwrap_or_else(|| PathBuf::from(self.name))
    }

    fn command_by(self, mut command: Command) -> Command {
        let root = self.root();
        let folders = libraries_below(&root);
        if !folders.is_empty() {
            let objects = folders.iter().map(|folder| folder.join("bpf"));
            let objects = objects.filter(|folder| folder.is_dir());
            // Where libxdp finds the programs that it loads.
            command.envs(objects.map(|folder| ("LIBXDP_OBJECT_PATH", folder)));
            // No folder of Debian's has a colon in its name.
            command.envs(env::join_paths(folders).map(|all| ("LD_LIBRARY_PATH", all)));
        }
        die_with_parent(&mut command);
        command.process_group(0);
        command
    }

    /// The folder that its package was unpacked in; `/` of one that is installed.
    pub(super) fn root(self) -> PathBuf {
        let path = self.path();
        let root = path.and_then(|path| root_of(&path));
        root.unwrap_or_else(|| PathBuf::from("/"))
    }

    /// Runs it to its end in the calling thread's network, with `input`; returns what it wrote.
    pub(super) fn run(self, arguments: &[&str], input: &str) -> Result<String> {
        let failed = || {
            let step = format!("running {} {}", self.name, arguments.join(" "));
            TestbedError::step(step)
        };
        let output = finish(self.command().args(arguments), input).map_err(failed())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let first: String = said.trim().chars().take(MAX_WORDS).collect();
        let ended = format!("{}: {first}", output.status);
        Err(failed()(io::Error::other(ended)))
    }
}

/// Characters of a program's last words that an error repeats.
const MAX_WORDS: usize = 400;

fn finish(command: &mut Command, input: &str) -> io::Result<Output> {
    command.stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().expect("invariant: it was asked for");
    // A program that ends before it has read its input says why on its standard error.
    let _ = pipe.write_all(input.as_bytes());
    drop(pipe);
    child.wait_with_output()
}

/// The folder below which `/usr/sbin`, `/usr/bin` or `/usr/lib` is that has the program, without links on the way.
fn root_of(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let mut above = path.ancestors();
    let usr = above.find(|folder| folder.file_name().is_some_and(|name| name == "usr"))?;
    usr.parent().map(Path::to_owned)
}

/// Folders of libraries of a package unpacked below `root`; none for the system's own.
fn libraries_below(root: &Path) -> Vec<PathBuf> {
    if root == Path::new("/") {
        return Vec::new();
    }
    let entries = ["usr/lib", "lib"].map(|folder| root.join(folder).read_dir());
    let entries = entries.into_iter().flatten().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-gnu"))
        .map(|entry| entry.path())
        .collect()
}
