//! Hubs on a real PostgreSQL: what becomes of every trial whatever is killed, paused, away or full. Needs the package
//! `postgresql-15`, so run with `--ignored`.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

mod hub;
mod postgres;

use hub::{Bench, Serving, await_that, ended, hub};
use linerate_model::Clock as _;
use linerate_model::random::Random;
use linerate_sys::clock::{MonoClock, sleep_until};
use linerate_testkit::disk::TinyDisk;
use postgres::Postgres;
use rustix::process::Signal;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// All rows that are derived from documents.
const DERIVED: &str = "SELECT t::text FROM trials t ORDER BY run, part, trial; SELECT r::text FROM runs r ORDER BY run";
/// Pairs of leases of one schedule that held at the same time.
const OVERLAPS: &str = "SELECT count(*) FROM leases a JOIN leases b ON a.schedule = b.schedule AND a.fence < b.fence
    WHERE tstzrange(a.granted_at, least(a.lease_until, a.ended_at)) && tstzrange(b.granted_at, least(b.lease_until, b.ended_at))";

fn serving(bench: &Bench, postgres: &Postgres, more: &[&str]) -> Serving {
    Serving::start(bench.serve(&postgres.url(), more), &bench.file("said"))
}

/// It ends with this code, and says this.
#[track_caller]
fn fails(command: &mut Command, code: i32, part: &str) {
    let (found, said) = ended(command);
    assert_eq!(found, Some(code), "{said}");
    assert!(said.contains(part), "{part}: {said}");
}

/// Waits until nothing is left to be done for what was made so far, and ends the hub. A document that was made while it ended
/// is the next hub's.
#[track_caller]
fn settle(mut hub: Serving, bench: &Bench, postgres: &Postgres) {
    let has_all_rows = || {
        let made = i64::try_from(bench.made().len()).unwrap();
        postgres.try_sql("SELECT count(*) FROM runs") == Ok(made.to_string())
    };
    loop {
        await_that("rows of every document", has_all_rows);
        assert_eq!(hub.stop(), Some(0));
        if has_all_rows() {
            return;
        }
        hub = serving(bench, postgres, &[]);
    }
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn every_trial_counts_once_whatever_is_killed() {
    let (bench, mut postgres) = (Bench::new(), Postgres::start());
    let mut random = Random::new(20_261_128);
    let mut kills = 0;
    while bench.made().len() < 50 {
        let hub = serving(&bench, &postgres, &[]);
        let wait = Duration::from_secs(2).mul_f64(random.unit());
        sleep_until(MonoClock.now().after(wait));
        match random.below(4) {
            // The database first, and the hub while it is away.
            0 => {
                postgres.kill();
                sleep_until(MonoClock.now().after(wait / 4));
                hub.kill();
                postgres.restart();
            }
            1 => {
                postgres.kill();
                postgres.restart();
                hub.kill();
            }
            _ => hub.kill(),
        }
        kills += 1;
        assert!(kills < 1000, "{} rounds", bench.made().len());
    }
    settle(serving(&bench, &postgres, &[]), &bench, &postgres);
    bench.every_trial_counts_once(&postgres);
    assert_eq!(postgres.number(OVERLAPS), 0);
    let live = postgres.sql(DERIVED);
    let rebuild = || {
        let mut command = hub(&[
            "archive",
            "rebuild",
            "--database",
            &postgres.url(),
            "--archive",
        ]);
        ended(command.arg(bench.archive()))
    };
    let (code, said) = rebuild();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(postgres.sql(DERIVED), live);
    // Of a database that was lost as a whole too.
    postgres.sql("DROP SCHEMA linerate CASCADE");
    let (code, said) = rebuild();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(postgres.sql(DERIVED), live);
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn hosts_that_an_inventory_gains_are_known_before_its_next_round() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let hub = serving(&bench, &postgres, &[]);
    let hosts = || postgres.try_sql("SELECT string_agg(name, ' ' ORDER BY name) FROM hosts");
    await_that("the first hosts", || hosts() == Ok("a b".to_owned()));
    let inventory = fs::read_to_string(bench.file("lab.toml")).unwrap();
    let more = format!("{inventory}[hosts.c]\naddress = \"c\"\n");
    fs::write(bench.file("lab.toml"), &more).unwrap();
    await_that("the new host", || hosts() == Ok("a b c".to_owned()));
    fs::write(bench.file("lab.toml"), "[hosts.a]\n").unwrap();
    await_that("a word on it", || hub.said().contains("lab.toml"));
    assert_eq!(hosts(), Ok("a b c".to_owned()));
    assert_eq!(hub.stop(), Some(0));
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn hosts_that_a_command_prints_are_those_of_the_next_round() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let print = |names: &str| {
        let hosts = names.split(' ');
        let hosts = hosts.map(|name| format!("\"{name}\": {{\"linerate_address\": \"{name}\"}}"));
        let hosts: Vec<_> = hosts.collect();
        let list = format!("{{\"_meta\": {{\"hostvars\": {{{}}}}}}}", hosts.join(", "));
        fs::write(bench.file("hosts.new"), list).unwrap();
        fs::rename(bench.file("hosts.new"), bench.file("hosts.json")).unwrap();
    };
    print("c d");
    let cloud = "[schedules.cloud]\ninventory-command = \"cat hosts.json\"\nevery = \"1s\"\njitter = \"0s\"\n";
    fs::write(bench.file("hub.toml"), cloud).unwrap();
    let config = bench.file("hub.toml");
    let hub = serving(&bench, &postgres, &["--config", config.to_str().unwrap()]);
    let hosts = || postgres.try_sql("SELECT string_agg(name, ' ' ORDER BY name) FROM hosts");
    await_that("the first hosts", || hosts() == Ok("a b c d".to_owned()));
    print("c d e");
    await_that("the new host", || hosts() == Ok("a b c d e".to_owned()));
    fs::remove_file(bench.file("hosts.json")).unwrap();
    await_that("a word on it", || {
        hub.said()
            .contains("inventory-command 'cat hosts.json': it failed")
    });
    assert_eq!(hosts(), Ok("a b c d e".to_owned()));
    assert_eq!(hub.stop(), Some(0));
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn programs_that_start_at_once_make_one_schema() {
    let postgres = Postgres::start();
    for _ in 0..5 {
        let starts = (0..4).map(|_| {
            let mut command = hub(&["status", "--database", &postgres.url()]);
            thread::spawn(move || ended(&mut command))
        });
        let starts: Vec<_> = starts.collect();
        for start in starts {
            let (code, said) = start.join().unwrap();
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("no schedule"), "{said}");
        }
        assert_eq!(postgres.sql("SELECT version FROM schema_version"), "1");
        postgres.sql("DROP SCHEMA linerate CASCADE");
    }
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn a_hub_that_wakes_after_its_lease_has_lapsed_changes_nothing() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    bench.rounds_take("0.5");
    let paused = serving(
        &bench,
        &postgres,
        &["--name", "north", "--max-duration", "1s"],
    );
    await_that("a lease", || {
        postgres.try_sql("SELECT count(*) > 0 FROM rounds WHERE state = 'leased'") == Ok("t".into())
    });
    paused.signal(Signal::STOP);
    let fence = postgres.number("SELECT max(fence) FROM leases");
    let other = serving(
        &bench,
        &postgres,
        &["--name", "south", "--max-duration", "1s"],
    );
    let by_other =
        format!("SELECT count(*) >= 3 FROM leases WHERE holder = 'south' AND fence > {fence}");
    await_that("three leases of the other", || {
        postgres.sql(&by_other) == "t"
    });
    paused.signal(Signal::CONT);
    let again =
        format!("SELECT count(*) > 0 FROM leases WHERE holder = 'north' AND fence > {fence}");
    other.signal(Signal::TERM);
    await_that("a lease of the one that woke", || {
        postgres.sql(&again) == "t"
    });
    settle(paused, &bench, &postgres);
    bench.every_trial_counts_once(&postgres);
    assert_eq!(postgres.number(OVERLAPS), 0);
    // No two rounds were under way at once.
    for pair in bench.spans().windows(2) {
        assert!(pair[0].1 <= pair[1].0, "{pair:?}");
    }
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn who_listens_is_told_of_every_round_once() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let mut listener = postgres.psql("LISTEN linerate_rounds");
    let listener = listener.args(["-f", "-"]).stdin(Stdio::piped());
    let mut listener = listener.stdout(Stdio::piped()).spawn().unwrap();
    let listening = "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN linerate_rounds'";
    await_that("a listener", || postgres.number(listening) == 1);
    let hub = serving(&bench, &postgres, &[]);
    await_that("three rounds", || bench.made().len() >= 3);
    settle(hub, &bench, &postgres);
    // `psql` shows notifications behind a statement.
    let mut order = listener.stdin.take().unwrap();
    order.write_all(b"SELECT 1;\n").unwrap();
    drop(order);
    let said = String::from_utf8(listener.wait_with_output().unwrap().stdout).unwrap();
    let told = said
        .lines()
        .filter(|line| line.starts_with("Asynchronous notification"));
    let told: Vec<_> = told.collect();
    for run in bench.made() {
        let of_it = told
            .iter()
            .filter(|line| line.contains(&format!("\"{run}\"")));
        assert_eq!(of_it.count(), 1, "{run}: {said}");
    }
    assert_eq!(told.len(), bench.made().len(), "{said}");
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn documents_stay_while_the_database_is_away_and_rows_follow() {
    let (bench, mut postgres) = (Bench::new(), Postgres::start());
    bench.rounds_take("2");
    let hub = serving(&bench, &postgres, &[]);
    await_that("a round under way", || bench.file("log").exists());
    postgres.kill();
    await_that("its document in the archive", || {
        bench.archived().len() == 1
    });
    await_that("a word on the database", || {
        hub.said().contains("rows follow")
    });
    postgres.restart();
    await_that("a word on its return", || {
        hub.said().contains("the database is back")
    });
    settle(hub, &bench, &postgres);
    bench.every_trial_counts_once(&postgres);
}

#[test]
#[ignore = "needs the package postgresql-15, and user and mount namespaces"]
fn a_full_disk_stops_rounds_and_loses_nothing() {
    let disk = TinyDisk::mount(2048);
    let (bench, postgres) = (Bench::with_archive(disk.dir()), Postgres::start());
    // Some twenty documents of 90 KiB.
    let template = fs::read_to_string(bench.file("template")).unwrap();
    let notes = format!("\"notes\":[\"{}\"],", "x".repeat(90_000));
    let large = template.replacen('{', &format!("{{{notes}"), 1);
    fs::write(bench.file("template"), large).unwrap();
    let hub = serving(&bench, &postgres, &["--reserve", "300K"]);
    await_that("no room", || {
        hub.said().contains("no round is begun until there is room")
    });
    let held = bench.archived().len();
    assert!(held >= 5, "{held}");
    // Full to the last byte: nothing can be written, and nothing is.
    let filler = disk.dir().join(".filler");
    drop(fs::write(&filler, vec![0; 2 << 20]));
    bench.every_trial_counts_once(&postgres);
    fs::remove_file(&filler).unwrap();
    // What an operator moves elsewhere makes room; its rows stay.
    let rows = postgres.number("SELECT count(*) FROM trials");
    for run in bench.archived().iter().take(3) {
        fs::remove_dir_all(disk.dir().join(run)).unwrap();
    }
    await_that("another document", || bench.made().len() > held);
    await_that("its rows", || {
        postgres.number("SELECT count(*) FROM trials") > rows
    });
    assert_eq!(hub.stop(), Some(0));
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn old_months_are_dropped_as_a_whole() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let hub = serving(&bench, &postgres, &["--keep", "60d"]);
    await_that("rows", || {
        postgres.try_sql("SELECT count(*) > 0 FROM runs") == Ok("t".into())
    });
    hub.kill();
    let months =
        "SELECT count(*) FROM pg_class WHERE relname ~ '^trials_[0-9_]+$' AND relkind = 'r'";
    let before = postgres.number(months);
    postgres.sql("CREATE TABLE trials_2020_01 PARTITION OF trials FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')");
    let hub = serving(&bench, &postgres, &["--keep", "60d"]);
    await_that("a word on the month", || {
        hub.said().contains("dropped trials_2020_01")
    });
    assert_eq!(postgres.number(months), before);
    assert_eq!(hub.stop(), Some(0));
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn what_the_hub_knows_is_told_in_words_and_as_metrics() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let hub_serving = serving(&bench, &postgres, &["--metrics", "127.0.0.1:0"]);
    await_that("a round", || !bench.made().is_empty());
    let said = hub_serving.said();
    let address = said
        .lines()
        .find_map(|line| line.split("http://").nth(1))
        .unwrap();
    let address = address.trim_end_matches("/metrics").to_owned();
    let page = || {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    };
    let first = page();
    await_that("trials in the metrics", || {
        !page().contains("linerate_hub_trials_total 0")
    });
    assert_eq!(first.lines().count(), page().lines().count());
    settle(hub_serving, &bench, &postgres);
    let (code, said) = ended(&mut hub(&["status", "--database", &postgres.url()]));
    assert_eq!(code, Some(0), "{said}");
    for part in [
        "lab: mesh of 2 hosts, every 1 s",
        " done, 0 failed",
        "started ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn places_that_cannot_be_used_are_told_with_their_code() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let nowhere = "postgresql://x@%2Fnowhere/x";
    fails(&mut bench.serve(nowhere, &[]), 5, "/nowhere");
    fails(&mut bench.serve("mysql://x", &[]), 2, "--database");
    postgres.ask_for_password("walled");
    let wrong = postgres.url_of("walled:wrong", "postgres");
    fails(
        &mut bench.serve(&wrong, &[]),
        5,
        "password authentication failed",
    );
    let none = postgres.url_of("linerate", "none");
    fails(&mut bench.serve(&none, &[]), 5, "\"none\" does not exist");
    assert_eq!(
        postgres.number("SELECT count(*) FROM pg_namespace WHERE nspname = 'linerate'"),
        0
    );
    let unwritable = Bench::with_archive("/proc/nowhere".as_ref());
    fails(
        &mut unwritable.serve(&postgres.url(), &[]),
        4,
        "cannot write the archive",
    );
    let is_file = Bench::with_archive("/dev/null".as_ref());
    fails(&mut is_file.serve(&postgres.url(), &[]), 4, "/dev/null");
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn a_session_is_encrypted_and_with_the_named_server_where_that_is_asked() {
    let mut postgres = Postgres::start();
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let certificate = |name: &str| {
        let of_tests = "../p4-runtime/tests/server/certificates";
        own.join(of_tests).join(name).display().to_string()
    };
    let port = postgres.encrypt(certificate("loopback.pem").as_ref());
    let url =
        |host: &str, more: &str| format!("postgresql://linerate@{host}:{port}/postgres{more}");
    let status = |url: &str, authority: Option<&str>| {
        let mut command = hub(&["status", "--database", url]);
        if let Some(file) = authority {
            command.arg("--database-ca").arg(file);
        }
        command
    };
    let done = |url: &str, authority: Option<&str>| {
        let (code, said) = ended(&mut status(url, authority));
        assert_eq!(code, Some(0), "{url} {authority:?}: {said}");
    };
    let [own, other, key] = ["servers.pem", "clients.pem", "loopback.key"].map(certificate);
    let here = url("127.0.0.1", "");
    done(&here, None);
    done(&here, Some(&own));
    // What it is called there is not what the certificate says.
    done(&url("localhost", ""), None);
    for (url, authority, code, part) in [
        (&url("localhost", ""), Some(&own), 5, "not valid for name"),
        (&here, Some(&other), 5, "UnknownIssuer"),
        (
            &url("127.0.0.1", "?sslmode=disable"),
            None,
            5,
            "no encryption",
        ),
        (
            &url("127.0.0.1", "?sslmode=disable"),
            Some(&own),
            2,
            "leave out one",
        ),
        (&here, Some(&"/nowhere.pem".to_owned()), 3, "/nowhere.pem"),
        (&here, Some(&key), 3, "it has no certificate"),
    ] {
        fails(&mut status(url, authority.map(String::as_str)), code, part);
    }
    // A socket of this host needs none.
    let plain = Postgres::start();
    done(&plain.url(), Some(&own));
}

#[test]
#[ignore = "needs the package postgresql-15"]
fn what_cannot_be_read_is_told_with_its_code_and_changes_nothing() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let hub_serving = serving(&bench, &postgres, &[]);
    await_that("two rounds", || bench.made().len() >= 2);
    fails(
        &mut bench.serve(&postgres.url(), &[]),
        4,
        "a hub called hub runs",
    );
    settle(hub_serving, &bench, &postgres);
    let rows = postgres.sql(DERIVED);
    let rebuild = |archive: &Path| {
        let mut command = hub(&[
            "archive",
            "rebuild",
            "--database",
            &postgres.url(),
            "--archive",
        ]);
        command.arg(archive);
        command
    };
    let other = Bench::new();
    fails(
        &mut other.serve(&postgres.url(), &[]),
        4,
        "of another archive",
    );
    let empty = tempfile::tempdir().unwrap();
    fails(&mut rebuild(empty.path()), 4, "there is no document");
    let cut = bench.archived().pop_first().unwrap();
    let document = bench.archive().join(&cut).join("run.json");
    let whole = fs::read(&document).unwrap();
    fs::write(&document, &whole[..whole.len() / 2]).unwrap();
    fails(&mut rebuild(bench.archive()), 1, &cut);
    assert_eq!(postgres.sql(DERIVED), rows);
    fs::write(&document, &whole).unwrap();

    postgres.sql("INSERT INTO schema_version (version) VALUES (99)");
    fails(&mut rebuild(bench.archive()), 5, "schema 99");
    fails(&mut bench.serve(&postgres.url(), &[]), 5, "schema 99");
    assert_eq!(postgres.sql(DERIVED), rows);
}
