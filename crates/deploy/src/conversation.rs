//! What is said with the shell of the host that an agent is copied to. Its words are bounded, and what is shown of them
//! moves no cursor.
//!
//! ```text
//!  here                                  there (POSIX sh, head -c, mkdir)
//!    |                                     | makes a folder of its own where programs may run
//!    | <------ linerate-far Linux riscv64  |
//!    | the length, the agent's bytes ----> |
//!    | <------ linerate-sum LENGTH SHA256  | or LENGTH alone where there is no sha256sum
//!    | start, the key -------------------> |
//!    | <-------------- linerate-agent PORT | the agent has removed its folder
//! ```

use crate::{AGENT_FILE, AGENT_GREETING, DEPLOYED_AGENT};
use linerate_boards::Arch;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::hex;
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead, Read as _, Write};

/// Longest line that is taken.
const MAX_LINE: u64 = 512;

/// What the shell says first, and of a host where it finds no folder.
const GREETING: &str = "linerate-far";
const REFUSAL: &str = "linerate-refused";

/// What it says of the file that came.
const SUM: &str = "linerate-sum";

/// What lets it start the agent.
const START: &str = "start";

/// The program of the far shell. Only what POSIX has, and `head -c`. The agent is no `exec`, so that the folder is
/// removed also where the agent does not start.
pub(crate) fn script(port: u16) -> String {
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
read -r n && head -c "$n" >"$d/{AGENT_FILE}" || exit 1
s=$(sha256sum <"$d/{AGENT_FILE}" 2>/dev/null) || s=
printf '{SUM} %s %s\n' $(wc -c <"$d/{AGENT_FILE}") "${{s%% *}}"
read -r go && [ "$go" = {START} ] || exit 1
"$d/{AGENT_FILE}" {DEPLOYED_AGENT} --remove "$d" --port {port}
"#
    )
}

/// An agent that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Serving {
    pub(crate) port: u16,
    /// What is to be known of how it came there.
    pub(crate) note: Option<String>,
}

/// Why there is none.
#[derive(Debug)]
pub(crate) enum Broken {
    /// This end or the host lacks something.
    Refused(Failure),
    /// The shell ended, before this was heard.
    Silent(&'static str),
}

impl From<Failure> for Broken {
    fn from(failure: Failure) -> Self {
        Self::Refused(failure)
    }
}

/// Copies an agent there and starts it with this key. `agent` gives the one for an architecture.
pub(crate) fn deploy(
    mut heard: impl BufRead,
    mut said: impl Write,
    agent: impl FnOnce(Arch) -> Result<Vec<u8>, Failure>,
    key: &str,
) -> Result<Serving, Broken> {
    let machine = line(&mut heard, GREETING, "a shell")?;
    let agent = agent(architecture(&machine)?)?;
    let sent = said.write_all(format!("{}\n", agent.len()).as_bytes());
    sent.and_then(|()| said.write_all(&agent))
        .and_then(|()| said.flush())
        .map_err(|_| Broken::Silent("that the agent came"))?;
    let sum = line(&mut heard, SUM, "that the agent came")?;
    let note = verify(&sum, &agent)?;
    let asked = said.write_all(format!("{START}\n{key}\n").as_bytes());
    asked
        .and_then(|()| said.flush())
        .map_err(|_| Broken::Silent("the agent"))?;
    let port = line(&mut heard, AGENT_GREETING, "the agent")?;
    let port = port.parse().map_err(|_| Broken::Silent("the agent"))?;
    Ok(Serving { port, note })
}

/// What follows `word` in the next line that begins with it: what a shell's start-up files print comes before.
fn line(heard: &mut impl BufRead, word: &str, awaited: &'static str) -> Result<String, Broken> {
    loop {
        let mut line = Vec::new();
        let read = heard.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if !matches!(read, Ok(length) if length > 0) {
            return Err(Broken::Silent(awaited));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line == REFUSAL {
            let message = "there is no folder there in which this user may run programs: /tmp, /var/tmp, /dev/shm and its home do not do";
            return Err(Failure::new(ExitCode::HostLacks, message).into());
        }
        if let Some(rest) = line.strip_prefix(word) {
            return Ok(rest.trim().to_owned());
        }
    }
}

/// The architecture that `uname -s -m` tells of.
fn architecture(machine: &str) -> Result<Arch, Failure> {
    let found = machine.strip_prefix("Linux ").and_then(Arch::from_uname);
    found.ok_or_else(|| {
        let known: Vec<_> = Arch::ALL.map(Arch::name).to_vec();
        let message = format!(
            "it is a host of \"{}\", and linerate has agents for Linux on {}",
            clean(machine),
            known.join(", ")
        );
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// Whether the file there is the agent; what is to be known if that was seen by its length only.
fn verify(sum: &str, agent: &[u8]) -> Result<Option<String>, Failure> {
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

/// Words of the far side, without what only a terminal understands.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Reads to the end, and keeps the first `most` bytes, safe for a terminal.
pub(crate) fn kept(mut from: impl io::Read, most: u64) -> String {
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(most).read_to_end(&mut bytes);
    let _ = io::copy(&mut from, &mut io::sink());
    clean(String::from_utf8_lossy(&bytes).trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::BufReader;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};

    /// A program that stands in for the agent: it serves as soon as it has read a key.
    const AGENT: &str =
        "#!/bin/sh\nread -r key; rm -rf \"$3\"; echo \"linerate-agent ${#key}\"; read -r end\n";

    /// A far shell whose programs are those of `path`, and whose folder is `home`.
    fn shell(home: &Path, path: &str) -> Child {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", &script(7)])
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
        deploy(heard, said, |_| Ok(agent.to_vec()), "0123456789")
    }

    fn is_empty(folder: &Path) -> bool {
        fs::read_dir(folder).unwrap().next().is_none()
    }

    #[test]
    fn an_agent_is_copied_verified_and_started_and_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut child = shell(home.path(), "/usr/bin:/bin");
        let serving = deployed(&mut child, AGENT.as_bytes()).unwrap();
        assert_eq!((serving.port, serving.note), (10, None));
        assert!(is_empty(home.path()));
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }

    #[test]
    fn an_agent_that_does_not_start_leaves_nothing() {
        let home = tempfile::tempdir().unwrap();
        let mut child = shell(home.path(), "/usr/bin:/bin");
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
        let mut child = shell(home.path(), &programs(bin.path(), None));
        let serving = deployed(&mut child, AGENT.as_bytes()).unwrap();
        assert!(serving.note.unwrap().contains("no sha256sum"));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn an_agent_that_comes_damaged_is_not_started() {
        let (home, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let other = ("sha256sum", "#!/bin/sh\necho 'abc  -'\n");
        let mut child = shell(home.path(), &programs(bin.path(), Some(other)));
        let broken = deployed(&mut child, AGENT.as_bytes()).unwrap_err();
        let Broken::Refused(failure) = broken else {
            panic!("{broken:?}")
        };
        assert_eq!(failure.code, ExitCode::Peer);
        assert!(
            failure.message.contains("SHA-256 abc, sent were"),
            "{failure}"
        );
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }

    #[test]
    fn a_host_that_no_agent_is_for_is_told() {
        let (home, bin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let other = ("uname", "#!/bin/sh\necho mips\n");
        let mut child = shell(home.path(), &programs(bin.path(), Some(other)));
        let broken = deployed(&mut child, AGENT.as_bytes()).unwrap_err();
        let Broken::Refused(failure) = broken else {
            panic!("{broken:?}")
        };
        assert_eq!(failure.code, ExitCode::HostLacks);
        assert!(failure.message.contains("\"mips mips\""), "{failure}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(is_empty(home.path()));
    }
}
