use super::*;
use linerate_model::WallTime;
use linerate_model::run::{RunKind, Tool};
use linerate_store::RunWriter;

struct Place {
    dir: tempfile::TempDir,
    archive: Archive,
}

fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let archive = Archive::open(dir.path()).unwrap();
    Place { dir, archive }
}

fn study(id: &str, parts: usize) -> Run {
    let mut run = Run::new(id, RunKind::Study, Tool::linerate("1"));
    run.started = WallTime::from_unix(1_700_000_000);
    let part = Run::new("part", RunKind::Tcp, Tool::linerate("1"));
    *run.parts_mut().unwrap() = vec![part; parts];
    run
}

impl Place {
    /// A round under way that has begun this run.
    fn begun(&self, run: &Run) -> (Spooled, RunWriter) {
        let spooled = self.archive.spool(&Round::new("lab", 7, 3, "hub")).unwrap();
        let store = Store::open(&spooled.path).unwrap();
        let header = Run {
            status: RunStatus::Incomplete,
            ..study(&run.id, 0)
        };
        let mut writer = store.create(&header).unwrap();
        for part in run.parts() {
            writer.part(part).unwrap();
        }
        (spooled, writer)
    }

    fn left(&self) -> usize {
        self.archive.spooled().unwrap().len()
    }
}

#[test]
fn a_whole_document_comes_into_the_archive_with_its_round() {
    let place = place();
    let run = study("r1", 2);
    let (spooled, writer) = place.begun(&run);
    writer.finish(&run).unwrap();
    let moved = place.archive.collect(&spooled, true).unwrap();
    assert_eq!((moved.runs, moved.errors), (vec!["r1".to_owned()], vec![]));
    assert_eq!(place.archive.runs().unwrap(), ["r1"]);
    assert_eq!(place.left(), 0);
    let archived = place.archive.load("r1").unwrap();
    assert_eq!(archived.run, run);
    let round = archived.round.unwrap();
    assert_eq!(
        (round.schedule.as_str(), round.number, round.fence),
        ("lab", 7, 3)
    );
    // Every store reads it.
    let listed = Store::open(place.dir.path()).unwrap().list().unwrap();
    assert_eq!(listed.len(), 1);
}

#[test]
fn what_was_cut_short_is_kept_and_its_round_is_made_again_unless_it_ended() {
    for ended in [false, true] {
        let place = place();
        let (spooled, writer) = place.begun(&study("r1", 2));
        drop(writer);
        place.archive.collect(&spooled, ended).unwrap();
        let archived = place.archive.load("r1").unwrap();
        assert_eq!(archived.run.status, RunStatus::Incomplete);
        assert_eq!(archived.run.parts().len(), 2);
        assert_eq!(archived.ends_round(), ended);
    }
}

#[test]
fn a_round_without_a_measurement_leaves_nothing() {
    let place = place();
    let (spooled, writer) = place.begun(&study("r1", 0));
    drop(writer);
    let moved = place.archive.collect(&spooled, false).unwrap();
    assert!(moved.runs.is_empty() && moved.errors.is_empty());
    assert!(place.archive.runs().unwrap().is_empty());
    assert_eq!(place.left(), 0);
}

#[test]
fn who_comes_after_another_has_taken_the_folder_finds_nothing() {
    let place = place();
    let run = study("r1", 1);
    let (spooled, writer) = place.begun(&run);
    writer.finish(&run).unwrap();
    let other = Archive::open(place.dir.path()).unwrap();
    let found = other.spooled().unwrap();
    other.collect(&found[0], false).unwrap();
    let moved = place.archive.collect(&spooled, true).unwrap();
    assert!(moved.is_taken && moved.runs.is_empty() && moved.errors.is_empty());
    assert_eq!(place.archive.runs().unwrap(), ["r1"]);
}

#[test]
fn an_attempt_that_was_killed_at_any_step_is_taken_up_by_the_next() {
    let run = study("r1", 2);
    for step in 0..3 {
        let place = place();
        let (spooled, writer) = place.begun(&run);
        let dir = writer.path().to_owned();
        match step {
            // Killed after the folder was taken.
            0 => drop(writer),
            // After the document was written, before its logs were removed.
            1 => {
                let kept = fs::read(dir.join("parts.jsonl")).unwrap();
                writer.finish(&run).unwrap();
                fs::write(dir.join("parts.jsonl"), kept).unwrap();
            }
            // While the round's file was written.
            _ => {
                writer.finish(&run).unwrap();
                fs::write(dir.join("round.json.new"), b"{").unwrap();
            }
        }
        let taken = place.archive.spool_path(3).unwrap();
        fs::rename(&spooled.path, &taken).unwrap();
        let found = place.archive.spooled().unwrap();
        let moved = place.archive.collect(&found[0], false).unwrap();
        assert_eq!(moved.runs, ["r1"], "{step}");
        let archived = place.archive.load("r1").unwrap();
        assert_eq!(archived.run.parts().len(), 2, "{step}");
        assert_eq!(place.left(), 0);
    }
}

#[test]
fn a_cut_document_stays_in_the_spool_and_is_named() {
    let place = place();
    let run = study("r1", 2);
    let (spooled, writer) = place.begun(&run);
    let document = writer.path().join(DOCUMENT);
    writer.finish(&run).unwrap();
    let whole = fs::read(&document).unwrap();
    fs::write(&document, &whole[..whole.len() / 2]).unwrap();
    let moved = place.archive.collect(&spooled, true).unwrap();
    assert!(moved.runs.is_empty());
    assert!(moved.errors[0].contains("run.json"), "{:?}", moved.errors);
    assert_eq!(place.left(), 1);
    assert!(place.archive.runs().unwrap().is_empty());
}

#[test]
fn a_document_under_another_name_is_refused() {
    let place = place();
    let run = study("r1", 1);
    let (spooled, writer) = place.begun(&run);
    writer.finish(&run).unwrap();
    place.archive.collect(&spooled, true).unwrap();
    fs::rename(place.dir.path().join("r1"), place.dir.path().join("r2")).unwrap();
    let error = place.archive.load("r2").unwrap_err();
    assert!(error.to_string().contains("document of run r1"), "{error}");
}

#[test]
fn an_archive_has_one_hub_of_a_name() {
    let place = place();
    let lock = place.archive.lock("north").unwrap();
    assert!(place.archive.lock("south").is_ok());
    let error = place.archive.lock("north").unwrap_err();
    let failure = Failure::of(error.as_ref()).unwrap();
    assert_eq!(failure.code, ExitCode::HostLacks);
    drop(lock);
    assert!(place.archive.lock("north").is_ok());
}
