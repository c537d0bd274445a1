//! One real log per format and generation: its totals are those that the log itself prints.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]
#![expect(clippy::float_cmp, reason = "figures as printed are exact")]

use linerate_model::run::{Run, RunStatus, Trial};
use linerate_model::{BitRate, ByteCount, Interval, PacketCount, Quantity};
use linerate_store::import::{ALL, Imported, LogFile, import};
use proptest::prelude::*;
use std::path::{Path, PathBuf};

mod changes;
mod contradictions;
mod esp;
mod failed;
mod interleaved;
mod iperf2;
mod iperf3;
mod nat;
mod netperf;
mod newcomers;
mod others;
mod panes;
mod pasted;
mod repeated;
mod threads;
mod unreported;
mod wrapped;
mod written;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn read(name: &str) -> (String, Vec<u8>) {
    let path = fixtures().join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    (name.to_owned(), bytes)
}

/// The runs of several files, which must agree with each other.
#[track_caller]
fn whole(names: &[&str]) -> Vec<Run> {
    let files: Vec<_> = names.iter().map(|name| read(name)).collect();
    let Imported {
        runs,
        warnings,
        refused,
    } = import(&files).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(refused, []);
    runs
}

/// The one trial of a client's and a server's log.
#[track_caller]
fn both(stem: &str, ending: &str) -> Trial {
    let names = ["client", "server"].map(|end| format!("formats/{stem}.{end}.{ending}"));
    let runs = whole(&[&names[0], &names[1]]);
    let [run] = &runs[..] else {
        panic!("{} runs", runs.len());
    };
    assert_eq!(run.trials.len(), 1);
    run.trials[0].clone()
}

fn bytes(trial: &Trial) -> (Option<u64>, Option<u64>) {
    let of = |count: Option<ByteCount>| count.map(ByteCount::get);
    (of(trial.sent_bytes), of(trial.received_bytes))
}

fn packets(trial: &Trial) -> [Option<u64>; 3] {
    let packets = trial.packets().unwrap();
    [packets.sent, packets.received, packets.lost].map(|count| count.map(PacketCount::get))
}

fn bps(rate: Option<BitRate>) -> u64 {
    rate.unwrap().bps()
}

fn rounding(trial: &Trial, quantity: Quantity) -> Interval {
    *trial.rounding(quantity).unwrap()
}

fn delays(trial: &Trial) -> [Option<u64>; 4] {
    let delay = trial.delay().unwrap();
    [delay.min_ns, delay.p50_ns, delay.p99_ns, delay.max_ns]
}

fn text(name: &str) -> Imported {
    import(&[read(&format!("transcripts/{name}.txt"))]).unwrap()
}

/// Every fixture of a format, by name.
fn all() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for dir in ["formats", "transcripts"] {
        for entry in std::fs::read_dir(fixtures().join(dir)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            files.push(read(&format!("{dir}/{name}")));
        }
    }
    files.sort();
    files
}

#[test]
fn every_format_has_a_fixture_and_every_run_satisfies_the_schema() {
    let mut formats: Vec<String> = vec!["sfnt-pingpong".to_owned()];
    for file in all() {
        let Ok(imported) = import(&[file]) else {
            continue;
        };
        for run in imported.runs {
            assert_eq!(run.status, RunStatus::Complete);
            let document = serde_json::to_value(&run).unwrap();
            linerate_schema_check::validate(&document).unwrap();
            formats.push(run.source.unwrap().format);
        }
    }
    // Found inside a file of another tool.
    formats.push("lwiperf".to_owned());
    for format in ALL {
        assert!(
            formats.iter().any(|known| known == format.id),
            "{}",
            format.id
        );
    }
}

#[test]
fn every_format_has_a_row_in_the_guide() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/import.md");
    let guide = std::fs::read_to_string(path).unwrap();
    for format in ALL {
        let row = format!("| `{}` |", format.id);
        assert!(guide.contains(&row), "{}", format.id);
    }
}

#[test]
fn no_prefix_of_any_fixture_panics() {
    for (name, text) in all() {
        // A prime step: the cuts fall into each column in turn.
        let step = (text.len() / 41).max(1) | 1;
        for end in (0..text.len()).step_by(step) {
            drop(import(&[(name.clone(), text[..end].to_vec())]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_changed_fixture_never_panics(
        file in prop::sample::select(all()),
        at in any::<prop::sample::Index>(),
        new in "\\PC{0,12}",
    ) {
        let (name, mut bytes) = file;
        let at = at.index(bytes.len());
        let end = (at + new.len()).min(bytes.len());
        bytes.splice(at..end, new.bytes());
        drop(import(&[(name, bytes)]));
    }
}

/// A file is read like a log in memory, twice from its beginning.
#[test]
fn a_file_on_disk_is_a_log() {
    let name = "formats/sockperf-3.7-pp.txt";
    let [mut in_memory] = <[Run; 1]>::try_from(import(&[read(name)]).unwrap().runs).unwrap();
    let file = LogFile::new(&fixtures().join(name));
    let [from_disk] =
        <[Run; 1]>::try_from(import(std::slice::from_ref(&file)).unwrap().runs).unwrap();
    in_memory.source.clone_from(&from_disk.source);
    assert_eq!(from_disk, in_memory);
    let none = LogFile::new(&fixtures().join("none"));
    let Imported { runs, refused, .. } = import(&[file, none.clone()]).unwrap();
    assert_eq!(runs.len(), 1);
    assert!(refused[0].to_string().starts_with("cannot read "));
    let error = import(&[none]).unwrap_err();
    assert!(error.to_string().ends_with("check the path"));
}

#[test]
fn every_quantity_of_a_table_has_its_row_in_the_guide() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/import.md");
    let guide = std::fs::read_to_string(path).unwrap();
    for kind in linerate_store::import::QUANTITIES {
        let row = format!("| `{}` | {} |", kind.id, kind.holds);
        assert!(guide.contains(&row), "no row: {row}");
    }
}

#[test]
fn a_wrong_line_is_never_another_number_without_a_word() {
    // A prime: each kind of change and each place in a log have their turn. The test `every_line` makes them all.
    let wrong = changes::wrong(11);
    assert!(wrong.is_empty(), "{} are: {wrong:#?}", wrong.len());
}
