//! The program as its users meet it: started, asked over HTTP, and what it refuses.
#![forbid(unsafe_code)]
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[expect(dead_code, reason = "other targets use the rest")]
#[path = "shared/harness.rs"]
mod harness;
#[expect(dead_code, reason = "other targets use the rest")]
#[path = "shared/pages.rs"]
mod pages;

use harness::{Site, code, program, run, two_runs, with_tests};
use linerate_archive::Store;
use pages::{add_nightly, add_rounds, round};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

#[test]
fn an_empty_store_says_how_a_run_is_made() {
    let answer = Site::start(&[]).get("/");
    assert_eq!(code(&answer), 200);
    assert!(
        answer.contains("No run") && answer.contains("linerate demo"),
        "{answer}"
    );
}

#[test]
fn runs_are_listed_found_and_shown() {
    let site = Site::over(two_runs(), &[]);
    let all = site.get("/");
    assert!(all.contains("2 runs") && all.contains("board A"), "{all}");
    let found = site.get("/?match=BOARD&kind=tcp&status=&limit=&tag=&since=");
    assert!(
        found.contains("1 run.") && found.contains("board A"),
        "{found}"
    );
    assert!(site.get("/?kind=udp").contains("No run"));
    let page = site.get("/runs/20260101-000000-tcp-00000001");
    assert!(
        page.contains("<iframe") && page.contains("sandbox="),
        "{page}"
    );
    let report = site.get("/runs/20260101-000000-tcp-00000001/report");
    assert!(
        report.contains("sandbox allow-scripts") && report.contains("<!DOCTYPE html>"),
        "{report:.400}"
    );
    let document = site.get("/runs/20260101-000000-tcp-00000001/run.json");
    assert!(
        document.contains("linerate/run/2") && document.contains("attachment"),
        "{document:.400}"
    );
}

#[test]
fn what_a_hostile_run_says_stays_text_and_nothing_inline_may_run() {
    let site = Site::over(two_runs(), &[]);
    fs::create_dir(site.store.path().join("torn")).unwrap();
    fs::write(
        site.store.path().join("torn/run.json"),
        "{\"schema\": \"linerate/run/2\", \"title\": \"<script>",
    )
    .unwrap();
    for path in [
        "/",
        "/runs/20260102-000000-tcp-00000002",
        "/runs/torn",
        "/runs/torn/report",
    ] {
        let answer = site.get(path);
        assert!(
            !answer.contains("<script>document")
                && !answer.contains("<img")
                && !answer.contains('\u{202e}'),
            "{path}"
        );
        let (head, _) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains("default-src 'none'") && !head.contains("unsafe-inline"),
            "{head}"
        );
    }
    assert!(site.get("/").contains("Broken: "));
    assert_eq!(code(&site.get("/runs/torn")), 404);
}

#[test]
fn no_path_leads_out_of_the_store() {
    let folder = two_runs();
    let beside = tempfile::tempdir().unwrap();
    Store::open(beside.path())
        .unwrap()
        .add_all(&[run("elsewhere", "secret")])
        .unwrap();
    std::os::unix::fs::symlink(
        beside.path().join("elsewhere"),
        folder.path().join("linked"),
    )
    .unwrap();
    let outside = beside
        .path()
        .join("elsewhere")
        .display()
        .to_string()
        .replace('/', "%2f");
    let site = Site::over(folder, &[]);
    for id in [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%2fetc",
        "last",
        "2026",
        ".index.json",
        "linked",
        "a%00b",
        &outside,
    ] {
        for end in ["", "/report", "/run.json"] {
            let answer = site.get(&format!("/runs/{id}{end}"));
            assert!(
                [400, 404].contains(&code(&answer)) && !answer.contains("secret"),
                "{id}{end}: {answer}"
            );
        }
        let answer = site.get(&format!("/compare/document?a={id}&b={id}"));
        assert!([400, 404].contains(&code(&answer)), "{id}: {answer}");
    }
    assert_eq!(code(&site.get("/assets/..%2fsrc%2flib.rs")), 404);
}

#[test]
fn another_name_for_this_host_is_refused() {
    let site = Site::over(two_runs(), &[]);
    let answer = site.ask("GET", "/", &["Host: rebound.example:5380"]);
    assert_eq!(code(&answer), 421);
    assert!(!answer.contains("board A"));
}

#[test]
fn the_printed_link_lets_one_browser_in_once() {
    let site = Site::over(two_runs(), &["--private"]);
    assert_eq!(code(&site.get("/")), 403);
    assert_eq!(code(&site.get("/enter?token=00")), 403);
    let link = site.link();
    let entered = site.get(link);
    assert_eq!(code(&entered), 303);
    let cookie = entered
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    assert_eq!(code(&site.ask("GET", "/", &[&cookie])), 200);
    assert_eq!(code(&site.get(link)), 403);
    assert_eq!(code(&site.ask("GET", "/", &[&format!("{cookie}0")])), 403);
}

#[test]
fn an_address_that_others_reach_asks_for_the_link() {
    let site = Site::start(&["--listen", "0.0.0.0:0"]);
    assert!(site.printed.contains("/enter?token="), "{}", site.printed);
    let port = site.host().rsplit_once(':').unwrap().1;
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: board.example\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert_eq!(code(&answer), 403);
}

#[test]
fn a_post_from_another_site_is_refused() {
    let site = Site::start(&[]);
    for headers in [
        &["Origin: http://evil.example"][..],
        &["Sec-Fetch-Site: cross-site"],
        &[],
    ] {
        let answer = site.ask("POST", "/", &[headers, &["Content-Length: 0"]].concat());
        assert_eq!(code(&answer), 403, "{headers:?}");
    }
}

#[test]
fn a_thousand_connections_that_ask_for_nothing_keep_nobody_out_for_good() {
    let site = Site::over(two_runs(), &[]);
    let idle: Vec<_> = (0..1000)
        .map(|_| TcpStream::connect(site.host()).unwrap())
        .collect();
    // Those that wait for their turn get it when silent ones are closed.
    assert_eq!(code(&site.get("/")), 200);
    for stream in idle {
        let _ = stream.shutdown(Shutdown::Both);
    }
    assert_eq!(code(&site.get("/")), 200);
}

#[test]
fn what_is_wrong_with_the_command_line_has_its_exit_code() {
    let site = Site::start(&[]);
    let mut taken = program(site.store.path());
    let taken = taken.args(["--listen", site.host()]).output().unwrap();
    assert_eq!(taken.status.code(), Some(4));
    let said = String::from_utf8(taken.stderr).unwrap();
    assert!(
        said.contains("cannot listen at") && said.contains("--listen"),
        "{said}"
    );
    let file = site.store.path().join("file");
    fs::write(&file, "").unwrap();
    let wrong = program(&file).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    let usage = program(site.store.path())
        .args(["--listen", "here"])
        .output()
        .unwrap();
    assert_eq!(usage.status.code(), Some(2));
}

const OWN: &str = "Sec-Fetch-Site: same-origin";

#[test]
fn only_who_opened_the_link_starts_a_test_and_only_from_the_site_itself() {
    let (site, cookie) = with_tests();
    let form = "target=board&rate=10M";
    assert_eq!(code(&site.post("/tests/udp", &[OWN], form)), 403);
    assert_eq!(
        code(&site.post("/tests/udp", &[OWN, "Cookie: linerate=0"], form)),
        403
    );
    assert_eq!(
        code(&site.post("/tests/udp", &[&cookie, "Sec-Fetch-Site: cross-site"], form)),
        403
    );
    assert_eq!(
        code(&site.post(
            "/tests/udp",
            &[&cookie, "Origin: http://evil.example"],
            form
        )),
        403
    );
    assert_eq!(code(&site.post("/tests/udp", &[&cookie], form)), 403);
    assert_eq!(code(&site.post("/stop", &[OWN], "")), 403);
    assert_eq!(code(&site.post("/tests/rm", &[OWN, &cookie], form)), 404);
    let refused = site.post("/tests/udp", &[OWN, &cookie], "target=-oX&rate=10M");
    assert_eq!(code(&refused), 422);
    assert!(refused.contains("not an address of a peer"), "{refused}");
    assert!(
        site.events_until("state", None)
            .iter()
            .any(|line| line.contains("\"phase\":\"idle\""))
    );
    let without = Site::start(&[]);
    assert_eq!(code(&without.post("/tests/udp", &[OWN], form)), 403);
}

#[test]
fn a_reader_that_comes_back_gets_every_event_once_and_a_stranger_the_whole() {
    let (site, cookie) = with_tests();
    let started = site.post(
        "/tests/udp",
        &[OWN, &cookie],
        "target=board&rate=10M&reverse=true",
    );
    assert_eq!(code(&started), 303);
    // A new reader gets the state as it is: it asks until that is the end.
    let all = loop {
        let whole = site.events_until("state", None);
        if whole
            .iter()
            .any(|line| line.contains("\"phase\":\"ended\""))
        {
            break whole;
        }
    };
    let words = all
        .iter()
        .rfind(|line| line.contains("arguments: "))
        .unwrap();
    assert!(
        words.contains("arguments: udp --rate=10M --reverse --store"),
        "{words}"
    );
    assert!(words.contains("--stream -- board"), "{words}");
    let whole = site.events_until("state", None);
    let newest = whole
        .iter()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap();
    let (boot, number) = newest.rsplit_once('-').unwrap();
    assert_eq!(number, "4", "state, began, interval, ended: {whole:?}");
    let rest = site.events_until("ended", Some(&format!("{boot}-1")));
    let ids: Vec<_> = rest
        .iter()
        .filter_map(|line| line.strip_prefix("id: "))
        .collect();
    let expected: Vec<_> = (2..=4).map(|n| format!("{boot}-{n}")).collect();
    assert_eq!(ids, expected);
    let stranger = site.events_until("state", Some("00-1"));
    assert!(
        stranger.iter().any(|line| line.contains("94000000")),
        "{stranger:?}"
    );
}

#[test]
fn a_test_is_stopped_and_another_one_waits_for_its_end() {
    let (site, cookie) = with_tests();
    let form = "target=board&rate=10M&time=9s";
    assert_eq!(code(&site.post("/tests/udp", &[OWN, &cookie], form)), 303);
    let second = site.post("/tests/udp", &[OWN, &cookie], form);
    assert_eq!(code(&second), 422);
    assert!(second.contains("a test is under way"), "{second}");
    // The program listens for the signal when it has printed its interval.
    while !site
        .events_until("state", None)
        .iter()
        .any(|line| line.contains("94000000"))
    {}
    let newest = site.events_until("state", None);
    let newest = newest
        .iter()
        .find_map(|line| line.strip_prefix("id: "))
        .unwrap()
        .to_owned();
    assert_eq!(code(&site.post("/stop", &[OWN, &cookie], "")), 303);
    let end = site.events_until("ended", Some(&newest));
    assert!(end.iter().any(|line| line == "event: stopping"), "{end:?}");
    assert!(end.last().unwrap().contains("stopped"), "{end:?}");
}

#[test]
fn each_test_of_a_mesh_is_followed_over_its_rounds() {
    let folder = tempfile::tempdir().unwrap();
    add_rounds(&Store::open(folder.path()).unwrap());
    let site = Site::over(folder, &[]);
    let page = site.get(&format!("/runs/{}", round(3)));
    assert!(
        page.contains(&format!("/runs/{}/history", round(3))),
        "{page}"
    );
    let history = site.get(&format!("/runs/{}/history/document", round(3)));
    let changed = format!(
        "The level of 1 of 2 tests changed. a → b: One change of level in 24 runs: −30 % since {}.",
        round(10)
    );
    assert!(history.contains(&changed), "{history:.3000}");
    // Where there is nothing to follow, that is said.
    let alone = site.store.path().to_owned();
    Store::open(&alone)
        .unwrap()
        .add_all(&[run("20260101-000100-tcp-00000001", "lab")])
        .unwrap();
    let none = site.get("/runs/20260101-000100-tcp-00000001/history/document");
    assert_eq!(code(&none), 404);
    assert!(none.contains("not made of tests"), "{none}");
}

#[test]
fn a_trend_tells_where_a_series_changed() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    add_nightly(&store);
    store
        .add_all(&[run("20270101-000000-tcp-00000002", "other")])
        .unwrap();
    let site = Site::over(folder, &[]);
    let document = site.get("/trends/document?tag=nightly*");
    assert!(
        document.contains("One change of level in 20 runs: −10 %"),
        "{document:.3000}"
    );
    assert!(document.contains("since 20260101-000010-tcp-00000001"));
    // Without a tag each title is a test, and of the other one there is one run only.
    let document = site.get("/trends/document");
    assert!(
        document.contains("One change of level in 20 runs")
            && document.contains("one run, left out: 1."),
        "{document:.3000}"
    );
    assert!(
        site.get("/trends?tag=nightly*")
            .contains("/trends/document?tag=nightly%2A")
    );
}
