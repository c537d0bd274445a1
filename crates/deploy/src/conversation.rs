//! What is said with the shell of the host that linerate is copied to. Its words are bounded, and what is shown of them
//! moves no cursor.
//!
//! ```text
//!  here                                  there (POSIX sh, head -c, mkdir)
//!    |                                     | makes a folder of its own where programs may run
//!    | <------ linerate-far Linux riscv64  |
//!    | the length, the agent's bytes ----> |
//!    | <------ linerate-sum LENGTH SHA256  | or LENGTH alone where there is no sha256sum
//!    | more files, alike                   |
//!    | start ----------------------------> | the program, with the command that the script has
//! ```
//!
//! An agent reads a key then, removes its folder and says `linerate-agent PORT`. Of another command the output is read,
//! and the shell removes the folder after it.

use crate::steps::Steps;
use crate::{AGENT_FILE, AGENT_GREETING, DEPLOYED_AGENT};
use linerate_boards::{Arch, Linking, find_agent};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::hex;
use sha2::{Digest as _, Sha256};
use std::env::{self, consts::ARCH};
use std::fs;
use std::io::{self, BufRead, Read as _, Write};
use std::path::PathBuf;

/// Maximum length of a line.
const MAX_LINE: u64 = 512;

/// Maximum output before an awaited line: start-up files of a shell print less.
const MAX_BEFORE: usize = 64 * 1024;

/// Maximum standard error that is read beyond what is shown.
const MAX_ERRORS: u64 = 1024 * 1024;

/// Bytes of a program that are sent in a piece.
const PIECE: usize = 64 * 1024;

/// Maximum length of a command's output.
const MAX_OUTPUT: u64 = 8 * 1024 * 1024;

/// The shell's first word, also on a host where it finds no folder.
const GREETING: &str = "linerate-far";
const REFUSAL: &str = "linerate-refused";

/// Prefix of the received file's checksum.
const SUM: &str = "linerate-sum";

/// Word that starts the agent.
const START: &str = "start";

/// Script for the remote shell, which ends with `command`. Only POSIX, and `head -c`. The command is not `exec`ed, so
/// that the folder is removed even if it does not start.
fn script(command: &str, files: &[&str]) -> String {
    let program = format!("\"$d/{AGENT_FILE}\"");
    let names = files.iter().map(|name| format!("\"$d\"/{}", quoted(name)));
    let files = [program].into_iter().chain(names);
    let received: String = files.map(|file| received(&file)).collect();
    format!(
        r#"umask 077; d=
trap 'rm -rf "$d"' EXIT; trap 'exit 1' HUP INT TERM
for b in "$XDG_RUNTIME_DIR" "$TMPDIR" /tmp /var/tmp /dev/shm "$HOME"; do
  [ -n "$b" ] && mkdir "$b/linerate-$$" 2>/dev/null || continue
  d=$b/linerate-$$
  printf '#!/bin/sh\n' >"$d/{AGENT_FILE}" && chmod 700 "$d/{AGENT_FILE}" && "$d/{AGENT_FILE}" </dev/null 2>/dev/null && break
  rm -rf "$d"; d=
done
[ -n "$d" ] || {{ echo {REFUSAL}; exit 1; }}
printf '{GREETING} %s %s\n' "$(uname -s)" "$(uname -m)"
{received}cd "$d" && read -r go && [ "$go" = {START} ] || exit 1
"$d/{AGENT_FILE}" {command}
"#
    )
}

/// The part of the script that receives a file: its length, then its bytes.
fn received(file: &str) -> String {
    format!(
        r#"read -r n && head -c "$n" >{file} || exit 1
s=$(sha256sum <{file} 2>/dev/null) || s=
printf '{SUM} %s %s\n' $(wc -c <{file}) "${{s%% *}}"
"#
    )
}

/// Script that starts an agent on this port.
pub(crate) fn agent_script(port: u16) -> String {
    script(
        &format!("{DEPLOYED_AGENT} --remove \"$d\" --port {port}"),
        &[],
    )
}

/// Script that runs the program with these arguments to its end.
pub(crate) fn command_script(words: &[String]) -> String {
    let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
    script(&format!("{} </dev/null", words.join(" ")), &[])
}

/// A program for another host, and files of it.
#[derive(Debug, Clone)]
pub struct Package {
    /// The program's name here: that of its files for other architectures, before theirs.
    pub program: &'static str,
    /// Files beside it there, by the names that its arguments have for them.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Package {
    /// linerate itself.
    pub(crate) const OWN: Self = Self {
        program: "linerate",
        files: Vec::new(),
    };

    /// Script that runs the program with these words in its folder; its input is what follows [`START`].
    pub(crate) fn script(&self, words: &[String]) -> String {
        let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
        let names: Vec<_> = self.files.iter().map(|(name, _)| name.as_str()).collect();
        script(&words.join(" "), &names)
    }
}

/// Copies a program and its files there, and starts it; its output follows.
pub(crate) fn start_program<R: BufRead, W: Write>(
    mut heard: R,
    mut said: W,
    find: impl FnOnce(&str) -> Result<Vec<u8>>,
    files: &[(String, Vec<u8>)],
    progress: &Steps,
) -> Result<(R, W, Option<String>), Broken> {
    let mut note = copy(&mut heard, &mut said, find, progress)?;
    for (_, bytes) in files {
        let unverified = send(&mut heard, &mut said, bytes, progress)?;
        note = note.or(unverified);
    }
    let asked = said.write_all(format!("{START}\n").as_bytes());
    asked
        .and_then(|()| said.flush())
        .map_err(|_| Broken::Silent("its output"))?;
    Ok((heard, said, note))
}

/// Quotes a word for a POSIX shell.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A running agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Serving {
    pub(crate) port: u16,
    /// Note on how it was deployed.
    pub(crate) note: Option<String>,
}

/// Output of a remote command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its standard output.
    pub output: Vec<u8>,
    /// Note on how the program was deployed.
    pub note: Option<String>,
}

/// Why the dialogue failed.
#[derive(Debug)]
pub(crate) enum Broken {
    /// This end or the host lacks something.
    Refused(Failure),
    /// The shell ended before sending this.
    Silent(&'static str),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

/// Copies the program there that `find` gives for the output of `uname -m`; returns a note on the transfer.
fn copy(
    heard: &mut impl BufRead,
    said: &mut impl Write,
    find: impl FnOnce(&str) -> Result<Vec<u8>>,
    progress: &Steps,
) -> Result<Option<String>, Broken> {
    if heard.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) {
        progress.heard();
    }
    let machine = line(heard, GREETING, "a shell")?;
    let program = find(machine_name(&machine)?)?;
    progress.made();
    send(heard, said, &program, progress)
}

/// Sends a file; returns a note on the transfer.
fn send(
    heard: &mut impl BufRead,
    said: &mut impl Write,
    bytes: &[u8],
    progress: &Steps,
) -> Result<Option<String>, Broken> {
    let mut sent = said.write_all(format!("{}\n", bytes.len()).as_bytes());
    for piece in bytes.chunks(PIECE) {
        sent = sent.and_then(|()| said.write_all(piece));
        progress.made();
    }
    sent.and_then(|()| said.flush())
        .map_err(|_| Broken::Silent("that the agent came"))?;
    let sum = line(heard, SUM, "that the agent came")?;
    progress.made();
    Ok(verify(&sum, bytes)?)
}

/// Copies an agent there and starts it with this key.
pub(crate) fn start_agent(
    mut heard: impl BufRead,
    mut said: impl Write,
    find: impl FnOnce(&str) -> Result<Vec<u8>>,
    key: &str,
    progress: &Steps,
) -> Result<Serving, Broken> {
    let note = copy(&mut heard, &mut said, find, progress)?;
    let asked = said.write_all(format!("{START}\n{key}\n").as_bytes());
    asked
        .and_then(|()| said.flush())
        .map_err(|_| Broken::Silent("the agent"))?;
    let port = line(&mut heard, AGENT_GREETING, "the agent")?;
    let port = port.parse().map_err(|_| Broken::Silent("the agent"))?;
    Ok(Serving { port, note })
}

/// Copies the program there, runs it, and reads its output to the end.
pub(crate) fn run_command(
    heard: impl BufRead,
    said: impl Write,
    find: impl FnOnce(&str) -> Result<Vec<u8>>,
    progress: &Steps,
) -> Result<CommandOutput, Broken> {
    // Its input stays open: it has none of its own.
    let (heard, _said, note) = start_program(heard, said, find, &[], progress)?;
    let mut output = Vec::new();
    let read = heard.take(MAX_OUTPUT).read_to_end(&mut output);
    match read {
        Ok(length) if length > 0 => Ok(CommandOutput { output, note }),
        _ => Err(Broken::Silent("its output")),
    }
}

/// The rest of the next line that begins with `word`; output of the shell's start-up files may precede it.
fn line(heard: &mut impl BufRead, word: &str, awaited: &'static str) -> Result<String, Broken> {
    let mut before = 0;
    loop {
        let mut line = Vec::new();
        let read = heard.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return Err(Broken::Silent(awaited));
        }
        before += line.len();
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line == REFUSAL {
            let message = "there is no folder there in which this user may run programs: /tmp, /var/tmp, /dev/shm and its home do not do";
            return Err(Failure::new(ExitCode::HostLacks, message).into());
        }
        if let Some(rest) = line.strip_prefix(word) {
            return Ok(rest.trim().to_owned());
        }
        if before > MAX_BEFORE {
            let message = format!(
                "its shell prints without end, and {awaited} was not heard of; see what its start-up files print, such as with `ssh HOST true`"
            );
            return Err(Failure::new(ExitCode::Peer, message).into());
        }
    }
}

/// The machine in the output of `uname -s -m`, if it is a Linux.
fn machine_name(machine: &str) -> Result<&str> {
    machine
        .strip_prefix("Linux ")
        .ok_or_else(|| no_program_for(machine))
}

/// The first `program` in `folders` for this output of `uname -m`, or this program itself if it fits.
pub(crate) fn find_program(program: &str, machine: &str, folders: &[PathBuf]) -> Result<Vec<u8>> {
    match Arch::from_uname(machine) {
        Some(arch) => find_agent(program, arch, folders, Linking::Any),
        // There are no agents for this architecture, but this program runs on it.
        None if is_own(machine) => {
            let own = env::current_exe().and_then(fs::read);
            own.map_err(|error| {
                let message = format!("reading this program's own file: {error}");
                Failure::new(ExitCode::HostLacks, message)
            })
        }
        None => Err(no_program_for(&format!("Linux {machine}"))),
    }
}

/// Whether `uname -m` names an architecture of this program's own that [`Arch`] has no agents for: Rust's name of it, or the
/// one of a processor that runs the same programs.
fn is_own(machine: &str) -> bool {
    let names: &[&str] = match ARCH {
        "arm" => &["armv6l", "armv8l"],
        "x86" => &["i586", "i686"],
        same => return machine == same,
    };
    names.contains(&machine)
}

fn no_program_for(machine: &str) -> Failure {
    let known: Vec<_> = Arch::ALL.map(Arch::name).to_vec();
    let message = format!(
        "it is a host of \"{}\", and linerate has agents for Linux on {}",
        clean(machine),
        known.join(", ")
    );
    Failure::new(ExitCode::HostLacks, message)
}

/// Checks that the file there is the agent; returns a note if only the length could be checked.
fn verify(sum: &str, agent: &[u8]) -> Result<Option<String>> {
    let (length, theirs) = sum.split_once(' ').unwrap_or((sum, ""));
    let ours = hex(&Sha256::digest(agent));
    let is_whole = length == agent.len().to_string();
    if is_whole && theirs == ours {
        return Ok(None);
    }
    if is_whole && theirs.is_empty() {
        let note = "the agent's file was verified by its length only: the host has no sha256sum";
        return Ok(Some(note.to_owned()));
    }
    let message = format!(
        "the agent did not come as it was sent: {length} B with SHA-256 {}, sent were {} B with {ours}; see that its disk is not full, and try again",
        clean(theirs),
        agent.len()
    );
    Err(Failure::new(ExitCode::Peer, clean(&message)))
}

/// Text of the remote side without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Reads to the end; returns the first `most` bytes, safe for a terminal.
pub(crate) fn kept(mut from: impl io::Read, most: u64) -> String {
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(most).read_to_end(&mut bytes);
    let _ = io::copy(&mut from.take(MAX_ERRORS), &mut io::sink());
    clean(String::from_utf8_lossy(&bytes).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// A program that stands in for the agent: it serves as soon as it has read a key.
    const AGENT: &str =
        "#!/bin/sh\nread -r key; rm -rf \"$3\"; echo \"linerate-agent ${#key}\"; read -r end\n";

    const PATH: &str = "/usr/bin:/bin";

    /// A far shell whose programs are those of `path`, and whose folder is `home`.
    fn shell(home: &Path, path: &str, script: &str) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", script])
            .env_clear()
            .env("PATH", path)
            .env("TMPDIR", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        shell.spawn().unwrap()
    }

    fn deployed(child: &mut Child, agent: &[u8]) -> Result<Serving, Broken> {
        let heard = BufReader::new(child.stdout.take().unwrap());
        let said = child.stdin.as_ref().unwrap();
        let no_folder =
            |machine: &str| find_program("linerate", machine, &[]).map(|_| agent.to_vec());
        start_agent(heard, said, no_folder, "0123456789", &Steps::default())
    }

    fn is_empty(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().next().is_none()
    }

    #[test]
    fn an_agent_is_copied_verified_and_started_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut child = shell(home.path(), PATH, &agent_script(7));
        let serving = deployed(&mut child, AGENT.as_bytes()).unwrap();
        assert_eq!((serving.port, serving.note), (10, None));
        assert!(is_empty(home.path()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }

    #[test]
    fn a_shell_that_prints_without_end_is_given_up_after_what_start_up_files_print() {
        for noise in [&b"noise\n"[..], b"\n", b"linerate-faq ", b"\xff"] {
            let endless = noise.iter().copied().cycle();
            let mut heard = BufReader::new(Endless(Box::new(endless)));
            let mut said = Vec::new();
            let none = |_: &str| panic!("nobody greeted");
            let steps = Steps::default();
            match start_agent(&mut heard, &mut said, none, "key", &steps) {
                Err(Broken::Refused(failure)) => {
                    assert_eq!(failure.code, ExitCode::Peer);
                    assert!(failure.message.contains("without end"), "{failure}");
                }
                other => panic!("{other:?}"),
            }
            assert_eq!((steps.count(), said.len()), (0, 0));
        }
    }

    /// Bytes without end.
    struct Endless(Box<dyn Iterator<Item = u8>>);

    impl io::Read for Endless {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            for place in &mut *room {
                *place = self.0.next().unwrap_or_default();
            }
            Ok(room.len())
        }
    }

    #[test]
    fn a_command_is_run_with_its_words_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let words = ["it's; rm -rf /", "$HOME"].map(str::to_owned);
        let mut child = shell(home.path(), PATH, &command_script(&words));
        let heard = BufReader::new(child.stdout.take().unwrap());
        let said = child.stdin.take().unwrap();
        let program = b"#!/bin/sh\nprintf '%s|%s' \"$@\"; cat\n";
        let find = |_: &str| Ok(program.to_vec());
        let ran = run_command(heard, said, find, &Steps::default()).unwrap();
        assert_eq!(ran.output, b"it's; rm -rf /|$HOME");
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }

    #[test]
    fn a_program_has_its_files_beside_it_and_ends_with_its_input() {
        let home = tempfile::tempdir().unwrap();
        let package = Package {
            program: "linerate",
            files: vec![
                ("a.json".to_owned(), b"one\n".to_vec()),
                ("it's".to_owned(), Vec::new()),
            ],
        };
        let words = ["a.json", "it's"].map(str::to_owned);
        let mut child = shell(home.path(), PATH, &package.script(&words));
        let heard = BufReader::new(child.stdout.take().unwrap());
        let said = child.stdin.take().unwrap();
        let program = b"#!/bin/sh\ncat \"$@\"; read -r x; echo end $x; exit 7\n";
        let find = |_: &str| Ok(program.to_vec());
        let started = start_program(heard, said, find, &package.files, &Steps::default());
        let (mut heard, said, note) = started.unwrap();
        assert_eq!(note, None);
        drop(said);
        let mut output = String::new();
        heard.read_to_string(&mut output).unwrap();
        assert_eq!(output, "one\nend\n");
        assert_eq!(child.wait().unwrap().code(), Some(7));
        assert!(is_empty(home.path()));
    }

    #[test]
    fn the_program_is_that_of_the_host_s_architecture() {
        let folder = tempfile::tempdir().unwrap();
        let elf = |machine: u8| {
            let mut header = vec![0; 64];
            header[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\0");
            (header[16], header[18], header[20], header[52]) = (2, machine, 1, 64);
            header
        };
        // EM_AARCH64 and EM_RISCV.
        for (name, machine) in [("aarch64", 183), ("riscv64", 243)] {
            let path = folder.path().join(format!("linerate-{name}"));
            fs::write(path, elf(machine)).unwrap();
        }
        let folders = [folder.path().to_owned()];
        for (uname, machine) in [("arm64", 183), ("aarch64", 183), ("riscv64", 243)] {
            assert_eq!(
                find_program("linerate", uname, &folders).unwrap(),
                elf(machine),
                "{uname}"
            );
        }
        let other = find_program("linerate", "mips", &folders).unwrap_err();
        assert_eq!(other.code, ExitCode::HostLacks);
        let own = find_program("linerate", ARCH, &[]).unwrap();
        assert_eq!(own, env::current_exe().and_then(fs::read).unwrap());
    }

    #[test]
    fn an_agent_that_does_not_start_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut child = shell(home.path(), PATH, &agent_script(7));
        let broken = deployed(&mut child, b"#!/bin/sh\nexit 1\n").unwrap_err();
        assert!(matches!(broken, Broken::Silent("the agent")), "{broken:?}");
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }

    /// The programs of a host that has these only, and `extra` with its text.
    fn programs(folder: &Path, extra: Option<(&str, &str)>) -> String {
        for name in ["chmod", "head", "mkdir", "rm", "uname", "wc"] {
            let real = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
            let real = real.into_iter().find(|path| path.exists()).unwrap();
            std::os::unix::fs::symlink(real, folder.join(name)).unwrap();
        }
        if let Some((name, text)) = extra {
            let path = folder.join(name);
            let _ = fs::remove_file(&path);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        folder.to_str().unwrap().to_owned()
    }

    #[test]
    fn without_a_checksum_the_length_is_compared_and_that_is_said() {
        let (home, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut child = shell(home.path(), &programs(bin.path(), None), &agent_script(7));
        let serving = deployed(&mut child, AGENT.as_bytes()).unwrap();
        assert!(serving.note.unwrap().contains("no sha256sum"));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    /// The refusal of an agent for a host on which `replaced` stands for one of its programs; nothing is left there.
    fn refused_without_trace(replaced: (&str, &str)) -> Failure {
        let (home, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut child = shell(
            home.path(),
            &programs(bin.path(), Some(replaced)),
            &agent_script(7),
        );
        let broken = deployed(&mut child, AGENT.as_bytes()).unwrap_err();
        let Broken::Refused(failure) = broken else {
            panic!("{broken:?}")
        };
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_empty(home.path()));
        failure
    }

    #[test]
    fn an_agent_that_comes_damaged_is_not_started() {
        let failure = refused_without_trace(("sha256sum", "#!/bin/sh\necho 'abc  -'\n"));
        assert_eq!(failure.code, ExitCode::Peer);
        assert!(
            failure.message.contains("SHA-256 abc, sent were"),
            "{failure}"
        );
    }

    #[test]
    fn a_host_that_no_agent_is_for_is_told() {
        let failure = refused_without_trace(("uname", "#!/bin/sh\necho mips\n"));
        assert_eq!(failure.code, ExitCode::HostLacks);
        assert!(failure.message.contains("\"mips mips\""), "{failure}");
    }
}
