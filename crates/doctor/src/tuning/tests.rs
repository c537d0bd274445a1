use super::*;
use linerate_model::knob::Consent;
use linerate_sys::host_files::HostFiles;
use std::fs;
use std::path::PathBuf;

/// A host's files, and the undo file beside them.
struct Tree {
    dir: tempfile::TempDir,
}

const GOVERNOR: Knob = Knob::Governor { policy: 0 };
const INTERRUPT: Knob = Knob::InterruptAffinity { interrupt: 38 };
const FILES: &[(&str, &str)] = &[
    (
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
        "schedutil\n",
    ),
    ("sys/devices/system/cpu/cpu1/cpuidle/state2/disable", "0\n"),
    ("proc/irq/38/smp_affinity_list", "0-3\n"),
    ("proc/sys/net/core/rmem_max", "212992\n"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t200000\n"),
    ("proc/sys/kernel/random/boot_id", "first\n"),
];

impl Tree {
    fn new() -> Self {
        let tree = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        for (path, text) in FILES {
            let path = tree.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn undo(&self) -> PathBuf {
        self.path("var/lib/undo.jsonl")
    }

    fn settings(&self) -> HostSettings {
        HostSettings::new(&HostFiles::new(self.dir.path()))
    }

    fn identity(&self) -> Identity {
        Identity::of_host(&HostFiles::new(self.dir.path()))
    }

    fn apply(&self, wanted: &[Setting]) -> Vec<ChangeResult> {
        let made = apply(
            &mut self.settings(),
            &self.undo(),
            &self.identity(),
            wanted,
            Foreign::Keep,
        );
        made.unwrap().into_iter().map(|made| made.result).collect()
    }

    fn restore(&self, foreign: Foreign) -> Restored {
        restore(
            &mut self.settings(),
            &self.undo(),
            &self.identity(),
            foreign,
        )
        .unwrap()
    }

    fn read(&self, knob: &Knob) -> String {
        self.settings().read(knob).unwrap()
    }

    /// Somebody else changes a setting.
    fn set(&self, knob: &Knob, value: &str) {
        self.settings().write(knob, value).unwrap();
    }

    #[track_caller]
    fn is_as_it_was(&self) {
        for (path, text) in FILES {
            let now = fs::read_to_string(self.path(path)).unwrap();
            assert!(
                now.split_whitespace().eq(text.split_whitespace()),
                "{path}: {now}"
            );
        }
        assert!(!self.undo().exists());
    }
}

fn to(knob: &Knob, value: &str) -> Setting {
    Setting {
        knob: knob.clone(),
        value: value.to_owned(),
        consent: Consent::Safe,
    }
}

fn sysctl(name: &str) -> Knob {
    Knob::Sysctl {
        name: name.to_owned(),
    }
}

fn everything() -> Vec<Setting> {
    vec![
        to(&GOVERNOR, "performance"),
        to(&Knob::IdleState { core: 1, state: 2 }, "1"),
        to(&INTERRUPT, "2"),
        to(&sysctl("net.core.rmem_max"), "16777216"),
        to(&sysctl("net.ipv4.tcp_rmem"), "4096 131072 6291456"),
    ]
}

fn results(restored: &Restored) -> Vec<ChangeResult> {
    restored.changes.iter().map(|made| made.result).collect()
}

#[test]
fn what_was_changed_is_taken_back_in_reverse_order_and_the_file_goes() {
    let tree = Tree::new();
    assert_eq!(tree.apply(&everything()), [ChangeResult::Changed; 5]);
    assert_eq!(tree.read(&GOVERNOR), "performance");
    assert_eq!(tree.apply(&everything()), [ChangeResult::Already; 5]);
    let restored = tree.restore(Foreign::Keep);
    assert_eq!(results(&restored), [ChangeResult::Restored; 5]);
    let order: Vec<_> = restored.changes.into_iter().map(|made| made.knob).collect();
    let made: Vec<_> = everything()
        .into_iter()
        .rev()
        .map(|setting| setting.knob)
        .collect();
    assert_eq!(order, made);
    tree.is_as_it_was();
    let again = tree.restore(Foreign::Keep);
    assert!(again.changes.is_empty() && again.notes[0].contains("nothing to take back"));
    tree.is_as_it_was();
}

#[test]
fn applying_twice_keeps_the_first_values() {
    let tree = Tree::new();
    tree.apply(&[to(&INTERRUPT, "2")]);
    tree.apply(&[to(&INTERRUPT, "1")]);
    tree.apply(&[to(&GOVERNOR, "performance"), to(&INTERRUPT, "3")]);
    tree.restore(Foreign::Keep);
    tree.is_as_it_was();
}

#[test]
fn what_somebody_else_has_changed_is_left_unless_forced() {
    let tree = Tree::new();
    tree.apply(&everything());
    tree.set(&GOVERNOR, "userspace");
    let again = tree.apply(&[to(&GOVERNOR, "performance")]);
    assert_eq!(again, [ChangeResult::Kept]);
    let restored = tree.restore(Foreign::Keep);
    let kept: Vec<_> = restored
        .changes
        .iter()
        .filter(|made| made.result == ChangeResult::Kept)
        .collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].knob == GOVERNOR && kept[0].why.as_ref().unwrap().contains("--force"));
    assert!(restored.is_left && tree.undo().exists());
    assert_eq!(tree.read(&GOVERNOR), "userspace");
    assert_eq!(tree.read(&INTERRUPT), "0-3", "the others are back");
    assert!(!tree.restore(Foreign::Overwrite).is_left);
    tree.is_as_it_was();
}

#[test]
fn a_setting_that_is_not_there_is_refused_and_stops_nothing() {
    let tree = Tree::new();
    let wanted = [
        to(&Knob::Governor { policy: 7 }, "performance"),
        to(&sysctl("kernel.core_pattern"), "|/bin/false"),
        to(
            &Knob::Ring {
                interface: "eth0".to_owned(),
                part: linerate_model::knob::RingPart::Rx,
            },
            "1",
        ),
        to(&GOVERNOR, "performance"),
    ];
    let refused = ChangeResult::Refused;
    assert_eq!(
        tree.apply(&wanted),
        [refused, refused, refused, ChangeResult::Changed]
    );
    tree.restore(Foreign::Keep);
    tree.is_as_it_was();
    assert_eq!(tree.apply(&wanted[..1]), [refused]);
    assert!(
        !tree.undo().exists(),
        "where nothing was changed there is nothing to keep"
    );
}

/// A driver that rounds to multiples of eight.
struct Rounding(HostSettings);

impl Settings for Rounding {
    fn read(&mut self, knob: &Knob) -> Result<String, String> {
        self.0.read(knob)
    }

    fn write(&mut self, knob: &Knob, value: &str) -> Result<(), String> {
        let value: u64 = value.parse().map_err(|_| "no number".to_owned())?;
        self.0.write(knob, &value.next_multiple_of(8).to_string())
    }
}

#[test]
fn what_a_driver_makes_of_a_value_is_known_as_ours() {
    let tree = Tree::new();
    let wanted = [to(&sysctl("net.core.rmem_max"), "1001")];
    let made = apply(
        &mut Rounding(tree.settings()),
        &tree.undo(),
        &tree.identity(),
        &wanted,
        Foreign::Keep,
    );
    let made = made.unwrap().remove(0);
    assert_eq!(
        (made.after.as_deref(), made.result),
        (Some("1008"), ChangeResult::Changed)
    );
    assert!(made.why.is_some());
    tree.restore(Foreign::Keep);
    tree.is_as_it_was();
}

#[test]
fn a_restart_of_the_host_has_taken_everything_back() {
    let tree = Tree::new();
    tree.apply(&[to(&GOVERNOR, "performance")]);
    fs::write(tree.path("proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    tree.set(&GOVERNOR, "ondemand");
    let restored = tree.restore(Foreign::Keep);
    assert!(restored.changes.is_empty() && restored.notes[0].contains("started anew"));
    assert_eq!(tree.read(&GOVERNOR), "ondemand");
    assert!(!tree.undo().exists());
}

#[test]
fn changes_of_another_network_are_not_taken_back_here() {
    let tree = Tree::new();
    let network = |name: &str| Identity {
        network: Some(name.to_owned()),
        ..tree.identity()
    };
    let wanted = [to(&GOVERNOR, "performance")];
    apply(
        &mut tree.settings(),
        &tree.undo(),
        &network("net:[1]"),
        &wanted,
        Foreign::Keep,
    )
    .unwrap();
    let elsewhere = restore(
        &mut tree.settings(),
        &tree.undo(),
        &network("net:[2]"),
        Foreign::Keep,
    );
    let error = elsewhere.unwrap_err().to_string();
    assert!(
        error.contains("net:[1]") && error.contains("--force"),
        "{error}"
    );
    assert_eq!(tree.read(&GOVERNOR), "performance");
    let added = [to(&INTERRUPT, "2")];
    let added = apply(
        &mut tree.settings(),
        &tree.undo(),
        &network("net:[2]"),
        &added,
        Foreign::Keep,
    );
    assert!(added.is_err(), "nor mixed with those of this one");
    restore(
        &mut tree.settings(),
        &tree.undo(),
        &network("net:[1]"),
        Foreign::Keep,
    )
    .unwrap();
    tree.is_as_it_was();
}

#[test]
fn two_cannot_change_settings_at_once() {
    let tree = Tree::new();
    tree.apply(&[to(&GOVERNOR, "performance")]);
    let held = fs::File::open(tree.undo()).unwrap();
    held.lock().unwrap();
    let other = restore(
        &mut tree.settings(),
        &tree.undo(),
        &tree.identity(),
        Foreign::Keep,
    );
    assert!(matches!(other, Err(UndoError::Busy { .. })), "{other:?}");
    drop(held);
    tree.restore(Foreign::Keep);
    tree.is_as_it_was();
}

#[test]
fn an_undo_file_cut_off_anywhere_takes_back_what_had_been_changed() {
    let tree = Tree::new();
    tree.apply(&everything());
    let whole = fs::read(tree.undo()).unwrap();
    // Every length would sync some thousand files; a prime meets every part of a line.
    for length in (0..=whole.len()).step_by(7) {
        let tree = Tree::new();
        fs::create_dir_all(tree.undo().parent().unwrap()).unwrap();
        fs::write(tree.undo(), &whole[..length]).unwrap();
        // A change is made only after its line is whole.
        let lines = whole[..length].split(|byte| *byte == b'\n').count() - 1;
        for setting in everything().iter().take(lines.saturating_sub(1)) {
            tree.set(&setting.knob, &setting.value);
        }
        if length < "{\"schema\":\"linerate/undo/".len() {
            // So little may be anybody's: nothing was changed yet, and the file stays.
            let identity = tree.identity();
            let restored = restore(&mut tree.settings(), &tree.undo(), &identity, Foreign::Keep);
            assert!(matches!(restored, Err(UndoError::NoHeader { .. })));
            assert_eq!(fs::read(tree.undo()).unwrap(), &whole[..length]);
        } else {
            drop(tree.restore(Foreign::Keep));
            tree.is_as_it_was();
        }
    }
}

#[test]
fn a_change_after_a_crash_does_not_join_the_line_that_was_cut_off() {
    let tree = Tree::new();
    tree.apply(&[to(&GOVERNOR, "performance")]);
    let mut bytes = fs::read(tree.undo()).unwrap();
    bytes.extend_from_slice(b"{\"knob\":{\"kind\":\"gov");
    fs::write(tree.undo(), bytes).unwrap();
    tree.apply(&[to(&INTERRUPT, "2")]);
    tree.restore(Foreign::Keep);
    tree.is_as_it_was();
}

#[test]
fn a_file_that_is_none_of_ours_touches_nothing_and_names_the_line() {
    let header = "{\"schema\":\"linerate/undo/1\",\"boot\":\"first\",\"network\":null}\n";
    let forged =
        "{\"knob\":{\"kind\":\"file\",\"path\":\"/etc/passwd\"},\"before\":\"\",\"after\":\"\"}\n";
    for (text, word) in [
        ("hello\n".to_owned(), "line 1"),
        (
            "{\"schema\":\"linerate/undo/2\"}\n".to_owned(),
            "linerate/undo/2",
        ),
        (format!("{header}{forged}"), "line 2"),
        (format!("{header}nonsense\n"), "line 2"),
    ] {
        let tree = Tree::new();
        fs::create_dir_all(tree.undo().parent().unwrap()).unwrap();
        fs::write(tree.undo(), &text).unwrap();
        let error = restore(
            &mut tree.settings(),
            &tree.undo(),
            &tree.identity(),
            Foreign::Overwrite,
        );
        let error = error.unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        assert_eq!(fs::read_to_string(tree.undo()).unwrap(), text);
    }
    let tree = Tree::new();
    fs::create_dir_all(tree.undo().parent().unwrap()).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", tree.undo()).unwrap();
    assert!(
        restore(
            &mut tree.settings(),
            &tree.undo(),
            &tree.identity(),
            Foreign::Keep
        )
        .is_err()
    );
}

/// What changes the governor of the first cores.
fn governor() -> Vec<Setting> {
    vec![Setting {
        knob: GOVERNOR,
        value: "performance".to_owned(),
        consent: Consent::Safe,
    }]
}

#[test]
fn a_file_that_linerate_did_not_write_is_neither_changed_nor_removed() {
    let tree = Tree::new();
    let undo = tree.undo();
    fs::create_dir_all(undo.parent().unwrap()).unwrap();
    for text in [
        "",
        "no line",
        "a line\n",
        "{",
        "{}\n",
        "{\"schema\":\"linerate/run/2\"}\n",
        "\n",
    ] {
        fs::write(&undo, text).unwrap();
        let identity = tree.identity();
        let restored = restore(&mut tree.settings(), &undo, &identity, Foreign::Overwrite);
        assert!(restored.is_err(), "{text:?}");
        assert_eq!(fs::read_to_string(&undo).unwrap(), text);
        if !text.is_empty() && text != "{" {
            let applied = apply(
                &mut tree.settings(),
                &undo,
                &identity,
                &governor(),
                Foreign::Keep,
            );
            assert!(applied.is_err(), "{text:?}");
            assert_eq!(fs::read_to_string(&undo).unwrap(), text);
        }
    }
    assert_eq!(tree.read(&GOVERNOR), "schedutil");
}

#[test]
fn a_link_in_a_copy_of_a_host_leads_nowhere_outside_of_it() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::NamedTempFile::new().unwrap();
    fs::write(outside.path(), "schedutil\n").unwrap();
    let tree = Tree::new();
    let place = tree.path(FILES[0].0);
    let folder = place.parent().unwrap().to_owned();
    let up = "../".repeat(30) + outside.path().to_str().unwrap();
    for target in [outside.path(), Path::new(&up)] {
        fs::remove_file(&place).unwrap();
        symlink(target, &place).unwrap();
        assert_eq!(tree.apply(&governor()), [ChangeResult::Refused]);
        assert_eq!(fs::read_to_string(outside.path()).unwrap(), "schedutil\n");
    }
    // As the whole folder, too; and one that leads to another place of the copy is followed.
    let moved = tree.path("sys/moved");
    fs::remove_file(&place).unwrap();
    fs::write(&place, "schedutil\n").unwrap();
    fs::rename(&folder, &moved).unwrap();
    symlink("/sys/moved", &folder).unwrap();
    assert_eq!(tree.apply(&governor()), [ChangeResult::Changed]);
    assert_eq!(
        fs::read_to_string(moved.join("scaling_governor")).unwrap(),
        "performance\n"
    );
}
