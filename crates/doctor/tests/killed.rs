//! Changes to a host's settings whose maker is killed between any two steps, and taken back by another process.
//!
//! This program is its own victim: with `victim DIR STEP` it changes the files below DIR and kills itself
//! (SIGKILL) before reading or writing setting number STEP. No step waits for another by time.
#![expect(clippy::unwrap_used, reason = "a test")]
#![expect(
    clippy::print_stdout,
    reason = "libtest's line, which whoever adds up reads"
)]

use linerate_doctor::tuning::{Foreign, HostSettings, Identity, Settings, apply, restore};
use linerate_model::knob::{Consent, Knob, Setting};
use linerate_sys::host_files::HostFiles;
use rustix::process::{Signal, getpid, kill_process};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        [_, "victim", "apply", root, step] => victim(Path::new(root), step, |settings, root| {
            apply(
                settings,
                &undo(root),
                &Identity::of_host(&HostFiles::new(root)),
                &wanted(),
                Foreign::Keep,
            )
            .unwrap();
        }),
        [_, "victim", "restore", root, step] => victim(Path::new(root), step, |settings, root| {
            restore(
                settings,
                &undo(root),
                &Identity::of_host(&HostFiles::new(root)),
                Foreign::Keep,
            )
            .unwrap();
        }),
        [_, rest @ ..] if rest.contains(&"--list") || rest.contains(&"--ignored") => {
            println!("test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        }
        _ => {
            a_kill_while_changing_loses_nothing();
            a_kill_while_taking_back_loses_nothing();
            println!("test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out");
        }
    }
}

const FILES: &[(&str, &str)] = &[
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "schedutil\n",
    ),
    ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "0\n"),
    ("proc/irq/38/smp_affinity_list", "0-1\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
];

fn wanted() -> Vec<Setting> {
    let name = "net.core.rmem_max".to_owned();
    let to = |knob, value: &str| Setting {
        knob,
        value: value.to_owned(),
        consent: Consent::Safe,
    };
    vec![
        to(Knob::Governor { policy: 0 }, "performance"),
        to(Knob::IdleState { core: 0, state: 2 }, "1"),
        to(Knob::InterruptAffinity { interrupt: 38 }, "1"),
        to(Knob::Sysctl { name }, "16777216"),
    ]
}

fn undo(root: &Path) -> PathBuf {
    root.join("undo.jsonl")
}

fn tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

fn is_as_it_was(root: &Path) -> bool {
    FILES
        .iter()
        .all(|(path, text)| std::fs::read_to_string(root.join(path)).unwrap() == *text)
}

/// Settings that kill their user at a step.
struct Deadly {
    settings: HostSettings,
    left: u32,
}

impl Deadly {
    fn step(&mut self) {
        if self.left == 0 {
            kill_process(getpid(), Signal::KILL).unwrap();
        }
        self.left -= 1;
    }
}

impl Settings for Deadly {
    fn read(&mut self, knob: &Knob) -> Result<String, String> {
        self.step();
        self.settings.read(knob)
    }

    fn write(&mut self, knob: &Knob, value: &str) -> Result<(), String> {
        self.step();
        self.settings.write(knob, value)
    }
}

fn victim(root: &Path, step: &str, work: impl FnOnce(&mut Deadly, &Path)) {
    let mut settings = Deadly {
        settings: HostSettings::new(&HostFiles::new(root)),
        left: step.parse().unwrap(),
    };
    work(&mut settings, root);
}

/// Whether the victim was killed, as opposed to having come to its end.
fn kill_at(what: &str, root: &Path, step: u32) -> bool {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(own);
    let status = command
        .args(["victim", what])
        .arg(root)
        .arg(step.to_string())
        .status()
        .unwrap();
    assert!(status.success() || status.signal() == Some(9), "{status}");
    !status.success()
}

fn take_back(root: &Path) {
    let mut settings = HostSettings::new(&HostFiles::new(root));
    let done = restore(
        &mut settings,
        &undo(root),
        &Identity::of_host(&HostFiles::new(root)),
        Foreign::Keep,
    )
    .unwrap();
    assert!(!done.is_left, "{done:?}");
    assert!(is_as_it_was(root) && !undo(root).exists());
}

fn a_kill_while_changing_loses_nothing() {
    let mut kills = 0;
    loop {
        let root = tree();
        if !kill_at("apply", root.path(), kills) {
            break;
        }
        take_back(root.path());
        kills += 1;
    }
    // Four settings, each read, written and read again.
    assert_eq!(kills, 12);
}

fn a_kill_while_taking_back_loses_nothing() {
    let mut kills = 0;
    loop {
        let root = tree();
        assert!(!kill_at("apply", root.path(), u32::MAX));
        assert!(!is_as_it_was(root.path()));
        if !kill_at("restore", root.path(), kills) {
            break;
        }
        take_back(root.path());
        kills += 1;
    }
    assert_eq!(kills, 12);
}
