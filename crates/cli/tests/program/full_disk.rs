//! A store that has no room left: under a file size limit, and on a full file system.

use crate::harness::{Ended, Place, Server, good_log};
use std::process::Command;

/// The program with this shell command before it.
pub(crate) fn after(before: &str, program: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("{before}; exec \"$0\" \"$@\""))
        .arg(program.get_program())
        .args(program.get_args());
    if let Some(dir) = program.get_current_dir() {
        shell.current_dir(dir);
    }
    shell
}

/// Files of at most 16 KiB: enough for the head of a run, not for a trial of a hundred intervals.
const LIMIT: &str = "ulimit -f 32";

/// What was measured is on the screen all the same.
#[test]
fn a_trial_that_does_not_fit() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = [
        "udp",
        server.address(),
        "--rate=1M",
        "-t",
        "1s",
        "-i",
        "10ms",
    ];
    let ended = Ended::spawn(&mut after(LIMIT, &place.command(&args)));
    let words = [
        "was not stored",
        "-o FILE",
        "run.json",
        "File too large",
        "ulimit -f",
    ];
    ended.failed(1, &words);
    assert!(ended.err.contains("trial 0 is in memory only"), "{ended:?}");
    assert!(ended.out.contains("1 Mbit/s"), "{ended:?}");
    place.is_sound_with(1);
}

#[test]
fn an_import_that_does_not_fit_leaves_nothing() {
    let place = Place::new();
    let log = good_log();
    let import = place.command(&["import", log.to_str().unwrap()]);
    let ended = Ended::spawn(&mut after("ulimit -f 1", &import));
    ended.failed(1, &["File too large", "ulimit -f"]);
    place.is_sound_with(0);
}

#[test]
fn a_report_that_does_not_fit_leaves_nothing() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    let report = place.command(&["report", "last", "-o", "report.html"]);
    let ended = Ended::spawn(&mut after(LIMIT, &report));
    ended.failed(1, &["cannot write report.html", "File too large"]);
    for file in std::fs::read_dir(place.file("")).unwrap() {
        assert_eq!(file.unwrap().file_name(), "store");
    }
}

#[test]
#[ignore = "needs user namespaces"]
fn a_file_system_without_room() {
    let server = Server::on("127.0.0.1");
    // The mount is gone with the shell, so it looks at the store itself.
    let script = r#"
        mount -t tmpfs -o size=16k none /mnt || exit 99
        "$0" udp "$1" --rate=1M -t 200ms -i 5ms --store /mnt >/dev/null
        echo "code $?"
        "$0" list --store /mnt && "$0" show last --store /mnt && "$0" report last --store /mnt
        echo "after $?"
    "#;
    let mut unshare = Command::new("unshare");
    unshare
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_linerate"))
        .arg(server.address());
    let ended = Ended::spawn(&mut unshare);
    assert!(ended.out.contains("code 1\n"), "{ended:?}");
    assert!(ended.out.contains("incomplete"), "{ended:?}");
    assert!(ended.out.ends_with("after 0\n"), "{ended:?}");
    for word in ["No space left on device", "free space"] {
        assert_eq!(ended.err.matches(word).count(), 1, "{ended:?}");
    }
}
