//! The page that `make site` builds, in a real browser: it says of logs, byte for byte, what the same code says natively
//! (and `linerate import`, as a test of the program shows), asks nobody for anything, and needs no mouse.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_model::WallTime;
use linerate_site::{Answer, ExplainOptions, Explanation, InputFile, explain};
use linerate_testkit::accessibility::DARK;
use linerate_testkit::devtools::Driven;
use serde_json::json;
use std::path::{Path, PathBuf};

/// What a question is answered with at: the page's clock stands still here.
const NOW: i64 = 1_795_514_400;

/// Holds the clock and keeps what the page makes files of.
const BEFORE: &str = "
    Date.prototype.toISOString = () => '2026-11-24T10:00:00.000Z';
    globalThis.made = [];
    const offer = URL.createObjectURL;
    URL.createObjectURL = (blob) => { made.push(blob); return offer.call(URL, blob); };";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page_file() -> PathBuf {
    let file = root().join("target/site/explain.html");
    assert!(file.exists(), "{} is not there: make site", file.display());
    file.canonicalize().unwrap()
}

fn open(options: &[&str]) -> Driven {
    Driven::open(&page_file(), BEFORE, options)
}

fn fixtures() -> PathBuf {
    root()
        .join("crates/store/tests/fixtures")
        .canonicalize()
        .unwrap()
}

/// The files of a folder, in the order of their names.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(fixtures().join(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file());
    files.sort();
    assert!(!files.is_empty(), "{folder} has no files");
    files
}

/// As a browser hands them over: by the last part of their names.
fn given(files: &[PathBuf]) -> Vec<InputFile> {
    let name = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().into_owned();
    files
        .iter()
        .map(|file| (name(file), std::fs::read(file).unwrap()))
        .collect()
}

fn natively(files: &[PathBuf]) -> Answer {
    let now = WallTime::from_unix(NOW).unwrap();
    explain(given(files), &ExplainOptions::default(), &now)
}

/// Puts files into the page's field, and waits for what it says of them.
fn choose(page: &mut Driven, files: &[PathBuf]) {
    page.eval("made.length = 0; document.documentElement.dataset.state = 'waiting'");
    let field = page.call(
        "Runtime.evaluate",
        &json!({"expression": "document.querySelector('#files')"}),
    );
    let files: Vec<String> = files
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let chosen = json!({"files": files, "objectId": field["result"]["objectId"]});
    page.call("DOM.setFileInputFiles", &chosen);
    wait(page);
}

fn wait(page: &mut Driven) {
    page.wait_for("['explained', 'refused'].includes(document.documentElement.dataset.state)");
}

fn shown(page: &mut Driven, selector: &str) -> String {
    let text = format!("document.querySelector('{selector}').textContent");
    page.eval(&text).as_str().unwrap().to_owned()
}

/// The items of a list of the page, with what stands before each.
fn items(page: &mut Driven, selector: &str) -> Vec<String> {
    let texts =
        format!("[...document.querySelectorAll('{selector} li')].map((item) => item.textContent)");
    let texts = page.eval(&texts);
    let texts = texts.as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

fn assert_says(page: &mut Driven, expected: &Explanation) {
    assert_eq!(shown(page, "#words"), expected.words);
    assert_eq!(shown(page, "#result-title"), expected.title);
    let before = |what: &str, texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| format!("{what}: {text}")).collect()
    };
    assert_eq!(
        items(page, "#left-out"),
        before("left out", &expected.left_out)
    );
    assert_eq!(items(page, "#notes"), before("note", &expected.notes));
    let report = page.eval("made[0].text()");
    assert!(
        report == json!(expected.report),
        "the report is another one"
    );
    let document = page.eval("made[1].text()");
    assert!(
        document == json!(expected.document),
        "the document is another one"
    );
}

#[track_caller]
fn assert_quiet(page: &mut Driven) {
    assert_eq!(page.complaints(), [""; 0]);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn published_logs_and_transcripts_give_what_the_same_code_gives_natively() {
    let mut page = open(&[]);
    let published = "published/hifive-unleashed";
    let mut together = vec![
        files(&format!("{published}/tcp")),
        files(&format!("{published}/udp/board-receives")),
        files(&format!("{published}/udp/board-sends")),
        files("published/onload-sfnt-pingpong"),
        files("formats"),
    ];
    together.extend(files("transcripts").into_iter().map(|file| vec![file]));
    let mut explained = 0;
    for files in together {
        choose(&mut page, &files);
        match natively(&files) {
            Answer::Explained(expected) => {
                assert_says(&mut page, &expected);
                explained += 1;
            }
            Answer::Refused { error } => assert_eq!(shown(&mut page, "#error"), error),
        }
    }
    assert!(explained > 10, "{explained}");
    assert_quiet(&mut page);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn the_report_is_drawn_within_the_page() {
    let mut page = open(&[]);
    choose(
        &mut page,
        &files("published/hifive-unleashed/udp/board-receives"),
    );
    page.wait_in_frame_for("document.documentElement.dataset.ready === 'true'");
    page.wait_in_frame_for(
        "(() => {
            const plots = [...document.querySelectorAll('figure.chart .plot')].filter((plot) => plot.offsetParent);
            return plots.length > 0 && plots.every((plot) => plot.dataset.rendered === 'true' && plot.querySelector('svg'));
        })()",
    );
    let policy = page.eval_in_frame(
        "document.querySelectorAll('meta[http-equiv=Content-Security-Policy]').length",
    );
    assert_eq!(policy, json!(1));
    assert_quiet(&mut page);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn files_are_chosen_and_the_report_is_reached_with_the_keyboard_alone() {
    let mut page = open(&[]);
    let logs = files("published/hifive-unleashed/udp/board-sends");
    page.tab_to("#files");
    page.choose_files(&logs);
    wait(&mut page);
    let Answer::Explained(expected) = natively(&logs) else {
        panic!("refused");
    };
    assert_says(&mut page, &expected);
    assert_eq!(
        page.eval("document.activeElement.id"),
        json!("result-title")
    );
    for stop in [
        "#open",
        "#save-report",
        "#save-document",
        "#copy",
        "#report",
    ] {
        page.tab_to(stop);
    }
    assert_quiet(&mut page);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn what_logs_do_not_tell_is_typed_and_explained_again() {
    let mut page = open(&[]);
    let logs = files("published/hifive-unleashed/udp/board-receives");
    choose(&mut page, &logs);
    page.tab_to(".known summary");
    page.press("Enter");
    page.tab_to("#link-speed");
    page.press("1");
    page.press("G");
    page.eval("made.length = 0; document.documentElement.dataset.state = 'waiting'");
    page.press("Enter");
    wait(&mut page);
    let asked = ExplainOptions {
        link_speed: "1G".to_owned(),
        ..ExplainOptions::default()
    };
    let Answer::Explained(expected) =
        explain(given(&logs), &asked, &WallTime::from_unix(NOW).unwrap())
    else {
        panic!("refused");
    };
    assert_says(&mut page, &expected);
    assert_quiet(&mut page);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn dropped_files_are_explained_and_what_is_no_log_is_named() {
    let home = tempfile::tempdir().unwrap();
    let other = home.path().join("notes.txt");
    std::fs::write(&other, "<b>buy milk</b>\n").unwrap();
    let mut page = open(&[]);
    drop_files(&mut page, &[&other]);
    let Answer::Refused { error } = natively(std::slice::from_ref(&other)) else {
        panic!("explained");
    };
    assert_eq!(shown(&mut page, "#error"), error);
    let mut logs = files("published/onload-sfnt-pingpong");
    logs.insert(0, other);
    page.eval("made.length = 0; document.documentElement.dataset.state = 'waiting'");
    drop_files(&mut page, &logs);
    let Answer::Explained(expected) = natively(&logs) else {
        panic!("refused");
    };
    assert_eq!(expected.left_out.len(), 1);
    assert_says(&mut page, &expected);
    assert_quiet(&mut page);
}

fn drop_files(page: &mut Driven, files: &[impl AsRef<Path>]) {
    let files: Vec<String> = files
        .iter()
        .map(|file| file.as_ref().display().to_string())
        .collect();
    for kind in ["dragEnter", "dragOver", "drop"] {
        let data = json!({"items": [], "files": files, "dragOperationsMask": 1});
        let dragged = json!({"type": kind, "x": 200, "y": 200, "data": data});
        page.call("Input.dispatchDragEvent", &dragged);
    }
    wait(page);
}

#[test]
#[ignore = "needs chromium and the built page"]
fn the_page_s_policy_lets_nothing_out() {
    let mut page = open(&[]);
    let tried =
        page.eval("fetch('http://example.invalid/').then(() => 'sent', (error) => 'refused')");
    assert_eq!(tried, json!("refused"));
    let complaints = page.complaints();
    assert!(
        complaints.iter().any(|one| one.contains("connect-src")),
        "{complaints:?}"
    );
    assert!(
        !complaints.iter().any(|one| one.starts_with("request:")),
        "{complaints:?}"
    );
}

#[test]
#[ignore = "needs chromium and the built page"]
fn axe_core_finds_nothing_wrong_with_the_page_before_and_after() {
    for options in [&[][..], &[DARK]] {
        let mut page = open(options);
        assert_eq!(page.barriers(), [""; 0]);
        let mut logs = files("published/onload-sfnt-pingpong");
        logs.push(root().join("README.md").canonicalize().unwrap());
        choose(&mut page, &logs);
        page.eval("document.querySelector('.known').open = true");
        assert_eq!(page.barriers(), [""; 0]);
        assert_quiet(&mut page);
    }
}

#[test]
#[ignore = "needs chromium and the built page"]
fn axe_core_finds_nothing_wrong_with_reports() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("report.html");
    for folder in [
        "hifive-unleashed/udp/board-receives",
        "hifive-unleashed/tcp",
        "onload-sfnt-pingpong",
    ] {
        let Answer::Explained(explained) = natively(&files(&format!("published/{folder}"))) else {
            panic!("{folder} is refused");
        };
        std::fs::write(&file, &explained.report).unwrap();
        for options in [&[][..], &[DARK]] {
            let mut page = Driven::open(&file, "", options);
            page.eval(
                "document.querySelectorAll('details').forEach((one) => { one.open = true; })",
            );
            assert_eq!(page.barriers(), [""; 0], "{folder} {options:?}");
        }
    }
}
