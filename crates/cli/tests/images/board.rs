//! An image that is made, and the board that boots from it.

use linerate_sys::process::die_with_parent;
use linerate_testkit::child::KilledChild;
use linerate_testkit::namespaces::not_run;
use serde_json::Value;
use std::fs;
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// The board's address, and its host's.
pub(crate) const ADDRESS: &str = "10.79.0.2";
const HOST: &str = "10.79.0.1/24";

/// A board that says nothing for so long hangs: U-Boot and the kernel write a line each few seconds at most on a busy
/// host, and reading a kernel from an SD card by SPI takes the longest.
const SILENCE: Duration = Duration::from_mins(4);

/// What is made and booted.
pub(crate) struct Pictured {
    pub(crate) machine: &'static str,
    pub(crate) profiles: &'static str,
    pub(crate) nic: &'static [&'static str],
    /// What is typed at U-Boot's prompt, where it does not boot by itself.
    pub(crate) typed: Option<&'static str>,
}

/// An image, removed when nobody needs it.
pub(crate) struct Made {
    folder: tempfile::TempDir,
    /// What `board image --json` said.
    pub(crate) document: Value,
    /// SHA-256 of the image as it was made.
    pub(crate) hash: String,
}

/// Makes an image with a key of its own for ssh.
pub(crate) fn make(pictured: &Pictured) -> Result<Made, String> {
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist/linerate-riscv64");
    if !agent.is_file() {
        return Err("there is no agent for riscv64: `make dist` builds it".to_owned());
    }
    // Beside the build: an image is larger than some hosts' memory has room for.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).map_err(|e| e.to_string())?;
    let key = folder.path().join("key");
    let mut keygen = Command::new("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key);
    output(&mut keygen)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(["board", "image", "--json", "--machine", pictured.machine]);
    command.args(["--arch", "riscv64", "--profile", pictured.profiles]);
    command
        .args(["--address", &format!("{ADDRESS}/24"), "--agent"])
        .arg(&agent);
    // QEMU's own device tree is not what this board's firmware hands on.
    command.args([
        "--kernel-option",
        &format!("linerate.emulated={},QEMU", pictured.machine),
    ]);
    command
        .arg("--authorized-keys")
        .arg(key.with_extension("pub"));
    command.arg("-o").arg(folder.path().join("sd.img"));
    #[expect(clippy::disallowed_methods, reason = "a test's own setting")]
    if let Ok(suite) = std::env::var("LINERATE_SUITE") {
        command.args(["--suite", &suite]);
    }
    let document = serde_json::from_str(&output(&mut command)?).map_err(|e| e.to_string())?;
    let hash = output(Command::new("sha256sum").arg(folder.path().join("sd.img")))?;
    let hash = hash.split(' ').next().unwrap_or_default().to_owned();
    Ok(Made {
        folder,
        document,
        hash,
    })
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        Ok(printed.into_owned())
    } else {
        Err(format!("{command:?}: {}: {said}{printed}", output.status))
    }
}

impl Made {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Its bill of materials.
    pub(crate) fn bill(&self) -> Value {
        serde_json::from_slice(&fs::read(self.path("sd.img.spdx.json")).unwrap()).unwrap()
    }
}

/// The board's link, removed with it, also when a test fails: the next board makes its own.
struct Tap;

impl Tap {
    fn make() -> Self {
        let link = format!(
            "ip tuntap add dev tap0 mode tap && ip address add {HOST} dev tap0 && ip link set tap0 up"
        );
        output(Command::new("sh").args(["-ec", &link])).unwrap();
        Self
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        // What cannot be removed is gone with its namespace.
        let _ = output(Command::new("ip").args(["link", "del", "tap0"]));
    }
}

/// A board that is up.
pub(crate) struct Board<'a> {
    pub(crate) made: &'a Made,
    _emulator: KilledChild,
    _tap: Tap,
    /// QEMU ends when it is closed.
    _keyboard: ChildStdin,
}

impl<'a> Board<'a> {
    /// Boots the image, and returns once its agent answers.
    pub(crate) fn boot(pictured: &Pictured, made: &'a Made) -> Self {
        let tap = Tap::make();
        let words = made.document["emulation"].as_array().unwrap();
        let mut words = words.iter().map(|word| word.as_str().unwrap());
        let mut command = Command::new(words.next().unwrap());
        command.args(words).args(pictured.nic);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        die_with_parent(&mut command);
        let mut emulator = KilledChild::from(match command.spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                not_run("QEMU is not installed")
            }
            spawned => spawned.unwrap(),
        });
        let console = said_by(emulator.stdout.take().unwrap());
        let mut keyboard = emulator.stdin.take().unwrap();
        if let Some(line) = pictured.typed {
            wait_for("Hit any key", &console);
            keyboard.write_all(b"\r").unwrap();
            wait_for("=> ", &console);
            keyboard.write_all(format!("{line}\r").as_bytes()).unwrap();
        }
        wait_for("linerate: started", &console);
        let agent: SocketAddr = format!("{ADDRESS}:5301").parse().unwrap();
        // It begins to listen after that line.
        while TcpStream::connect_timeout(&agent, Duration::from_secs(5)).is_err() {
            assert!(emulator.try_wait().unwrap().is_none(), "QEMU ended");
        }
        Self {
            made,
            _emulator: emulator,
            _tap: tap,
            _keyboard: keyboard,
        }
    }

    /// Runs linerate on this host; the document that it printed.
    #[expect(clippy::unused_self, reason = "the board is up")]
    pub(crate) fn linerate(&self, words: &[&str]) -> Value {
        let printed = output(Command::new(env!("CARGO_BIN_EXE_linerate")).args(words)).unwrap();
        serde_json::from_str(&printed).unwrap()
    }

    /// Runs a command on the board, which must succeed; what it printed.
    pub(crate) fn shell(&self, line: &str) -> String {
        let mut ssh = Command::new("ssh");
        ssh.arg("-i").arg(self.made.path("key"));
        for option in [
            "BatchMode=yes",
            "StrictHostKeyChecking=no",
            "UserKnownHostsFile=/dev/null",
            "LogLevel=ERROR",
        ] {
            ssh.args(["-o", option]);
        }
        output(ssh.arg(format!("root@{ADDRESS}")).arg(line)).unwrap()
    }
}

/// What a console says, piece by piece, until it is closed.
fn said_by(mut console: impl io::Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length) = console.read(&mut bytes)
            && length > 0
        {
            // Who listens may have heard enough; the emulator must not wait for it.
            let _ = sender.send(bytes[..length].to_vec());
        }
    });
    receiver
}

/// Waits until a console has said `part`.
fn wait_for(part: &str, console: &Receiver<Vec<u8>>) {
    let mut text = String::new();
    while !text.contains(part) {
        assert!(!text.contains("this is a shell"), "{text}");
        match console.recv_timeout(SILENCE) {
            Ok(bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            Err(RecvTimeoutError::Disconnected) => panic!("the console ended:\n{text}"),
            Err(RecvTimeoutError::Timeout) => panic!("the board hangs:\n{text}"),
        }
    }
}
