//! `serial://` over a console of 9600 baud: two pseudo-terminals, between which bytes pass at 960 per second, are damaged,
//! and have a kernel's messages among them. At one end is the program, at the other a login and a shell.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_model::Clock as _;
use linerate_model::random::Random;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_sys::serial::pseudo_terminal;
use linerate_testkit::child::KilledChild;
use serde_json::Value;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Bytes that pass at once, and the time that they take.
const PIECE: usize = 16;
const BYTE_TIME: Duration = Duration::from_nanos(1_000_000_000 / 960);

/// What a kernel says now and then on its console.
const KERNEL: &[u8] =
    b"\r\n[  112.004711] macb 10090000.ethernet eth0: Link is Up - 1Gbps/Full\r\n";

/// What asks who comes, and becomes a shell.
const LOGIN: &str = "while :; do
printf '\\r\\nDebian GNU/Linux 13 board ttyS0\\r\\n\\r\\nboard login: '; read -r user
printf 'Password: '; stty -echo; read -r password; stty echo; echo
[ \"$user $password\" = 'root secret' ] && break
echo 'Login incorrect'
done
PS1='root@board:~# ' exec sh -i";

/// One of so many bytes is damaged; after one of so many the kernel says something.
#[derive(Clone, Copy)]
struct Faults {
    noise: usize,
    kernel: usize,
}

/// Passes what one end writes on to the other, for as long as the test runs.
fn pass(mut from: File, mut to: File, faults: Faults, seed: u64) {
    let mut random = Random::new(seed);
    let mut bytes = [0; PIECE];
    while let Ok(length) = from.read(&mut bytes) {
        let mut passed = Vec::new();
        for byte in &bytes[..length] {
            let is_damaged = faults.noise > 0 && random.below(faults.noise) == 0;
            passed.push(if is_damaged { byte ^ 0x10 } else { *byte });
            if faults.kernel > 0 && random.below(faults.kernel) == 0 {
                passed.extend(KERNEL);
            }
        }
        let time = BYTE_TIME * u32::try_from(passed.len()).unwrap();
        sleep_until(MonoClock.now().after(time));
        if to.write_all(&passed).is_err() {
            return;
        }
    }
}

/// A board with a console.
struct Board {
    device: PathBuf,
    _shell: KilledChild,
    /// Where the shell is: a damaged command may write files.
    _home: tempfile::TempDir,
    /// Kept open, so that neither line is hung up between two programs.
    _lines: [File; 2],
}

impl Board {
    /// What it says is damaged by `faults`, and what it hears by their noise.
    fn start(faults: Faults) -> Self {
        Self::by(LOGIN, faults)
    }

    /// A board whose console runs this script in place of a login.
    fn by(script: &str, faults: Faults) -> Self {
        let (near, device) = pseudo_terminal().unwrap();
        let (far, console) = pseudo_terminal().unwrap();
        // As the kernel sets it up it answers a board that speaks before the program is there with the board's own words.
        let mut raw = Command::new("stty");
        raw.args(["raw", "-echo", "-F"]).arg(&device);
        assert!(raw.status().unwrap().success());
        let open = |path| File::options().read(true).write(true).open(path).unwrap();
        let lines = [open(&device), open(&console)];
        let of_console = || Stdio::from(open(&console));
        let home = tempfile::tempdir().unwrap();
        let shell = Command::new("sh")
            .args(["-c", script])
            .current_dir(home.path())
            .stdin(of_console())
            .stdout(of_console())
            .stderr(of_console())
            .spawn()
            .unwrap();
        let towards = Faults {
            kernel: 0,
            ..faults
        };
        let ways = [near.try_clone().unwrap(), far.try_clone().unwrap()];
        let [from_near, from_far] = ways;
        thread::spawn(move || pass(from_near, far, towards, 1));
        thread::spawn(move || pass(from_far, near, faults, 2));
        Self {
            device,
            _shell: shell.into(),
            _home: home,
            _lines: lines,
        }
    }

    /// Runs a test over the console; traffic runs over loopback.
    fn run(&self, command: &str, settings: &str, words: &[&str]) -> Output {
        let device = self.device.display();
        let agent = env!("CARGO_BIN_EXE_linerate");
        let host = format!("serial://{device}?baud=9600&host=127.0.0.1&agent={agent}{settings}");
        Command::new(agent)
            .args([command, &host])
            .args(words)
            .args(["--json", "--no-store"])
            .output()
            .unwrap()
    }

    fn measure(&self, command: &str, words: &[&str]) -> Value {
        let output = self.run(command, "&login=root&password=secret", words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        assert!(!said.contains("secret"), "{said}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.contains("secret"), "the password is kept");
        serde_json::from_str(&text).unwrap()
    }
}

#[test]
fn tests_run_over_a_slow_and_noisy_console_one_after_the_other() {
    let faults = Faults {
        noise: 1500,
        kernel: 2000,
    };
    let board = Board::start(faults);
    let run = board.measure("udp", &["--rate", "1M", "-t", "2"]);
    let packets = &run["trials"][0]["packets"];
    assert_eq!(packets["sent"], packets["received"], "{packets}");
    assert!(run["hosts"][1]["facts"]["kernel_release"].is_string());
    // The shell is there again.
    let run = board.measure("tcp", &["-t", "1", "--reverse"]);
    assert!(run["trials"][0]["received_bps"].as_f64().unwrap() > 0.0);
    let run = board.measure("latency", &["-t", "1", "--sizes", "64"]);
    assert!(!run["trials"].as_array().unwrap().is_empty());
}

#[test]
fn what_a_console_lacks_is_told() {
    let board = Board::start(Faults {
        noise: 0,
        kernel: 0,
    });
    for (settings, code, part) in [
        ("", 5, "it asks for a login"),
        ("&login=root&password=wrong", 5, "it refuses the login"),
    ] {
        let output = board.run("udp", settings, &["--rate", "1M"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_console_that_asks_for_the_password_again_and_again_gets_it_once() {
    let heard = tempfile::NamedTempFile::new().unwrap();
    let script = format!(
        "while :; do printf 'Password: '; read -r word; echo \"$word\" >>{}; done",
        heard.path().display()
    );
    let board = Board::by(
        &script,
        Faults {
            noise: 0,
            kernel: 0,
        },
    );
    let output = board.run("udp", "&login=root&password=secret", &["--rate", "1M"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("asks for the password again"), "{said}");
    assert!(!said.contains("secret"), "{said}");
    let heard = std::fs::read_to_string(heard.path()).unwrap();
    assert_eq!(heard.matches("secret").count(), 1, "{heard}");
}
