//! What the hub's database does in a second: rows of trials, and claims beside many dead rows and an old transaction.
//! Prints its figures. Needs the package `postgresql-15`, and the machine for itself, so run with `--ignored --nocapture`.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

#[expect(dead_code, reason = "shared with other tests of the hub")]
#[path = "database/hub.rs"]
mod hub;
#[expect(dead_code, reason = "shared with other tests of the hub")]
#[path = "database/postgres.rs"]
mod postgres;

use hub::{Bench, await_that, ended, hub};
use linerate_analysis::statistics::{USUAL_CONFIDENCE, mean};
use linerate_model::Clock as _;
use linerate_sys::clock::MonoClock;
use linerate_testkit::child::KilledChild;
use postgres::Postgres;
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// Documents, and trials of each: those of a mesh of 50 hosts.
const DOCUMENTS: usize = 40;
const TRIALS: usize = 2500;
/// How often each figure is taken.
const TIMES: usize = 10;
const CLAIM: &str = include_str!("../src/database/claim.sql");

fn words(what: &str, unit: &str, values: &[f64]) -> String {
    let found = mean(values, USUAL_CONFIDENCE).unwrap();
    let interval = found.interval.unwrap();
    format!(
        "{what}: {:.4} {unit}, 95 % [{:.4}, {:.4}], n = {}",
        found.point,
        interval.low,
        interval.high,
        values.len()
    )
}

#[test]
#[ignore = "needs the package postgresql-15 and the machine alone"]
fn rows_per_second_of_a_rebuild() {
    let (bench, postgres) = (Bench::new(), Postgres::start());
    let template = fs::read_to_string(bench.file("template")).unwrap();
    let mut run: Value = serde_json::from_str(&template).unwrap();
    let part = run["parts"][0].clone();
    let trials = part["trials"].as_array().unwrap().len();
    run["parts"] = vec![part; TRIALS / trials].into();
    let text = run.to_string();
    for number in 0..DOCUMENTS {
        let id = format!("run-{number}");
        let folder = bench.archive().join(&id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("run.json"), text.replace("@ID@", &id)).unwrap();
    }
    let rates: Vec<f64> = (0..TIMES)
        .map(|_| {
            let begun = MonoClock.now();
            let mut command = hub(&[
                "archive",
                "rebuild",
                "--database",
                &postgres.url(),
                "--archive",
            ]);
            let (code, said) = ended(command.arg(bench.archive()));
            let took = MonoClock.now().saturating_since(begun);
            assert_eq!(code, Some(0), "{said}");
            let rows = postgres.number("SELECT count(*) FROM trials");
            assert_eq!(rows, i64::try_from(DOCUMENTS * TRIALS).unwrap());
            f64::from(u32::try_from(rows).unwrap()) / took.as_secs_f64()
        })
        .collect();
    let what = "rows made by a rebuild of 10^5 trials, documents read too";
    println!("{}", words(what, "rows/s", &rates));
    let bytes = postgres.number("SELECT sum(pg_total_relation_size(inhrelid))::int8 FROM pg_inherits WHERE inhparent = 'trials'::regclass");
    println!(
        "size of a row with its indexes: {} B",
        bytes / i64::try_from(DOCUMENTS * TRIALS).unwrap()
    );
}

#[test]
#[ignore = "needs the package postgresql-15 and the machine alone"]
fn time_of_a_claim_beside_dead_rows() {
    let postgres = Postgres::start();
    let (code, said) = ended(&mut hub(&["status", "--database", &postgres.url()]));
    assert_eq!(code, Some(0), "{said}");
    postgres.sql(
        "INSERT INTO schedules SELECT 's' || n, 's', 3600, 600 FROM generate_series(1, 20) AS n;
         INSERT INTO hosts SELECT 's' || n, 'h' || h, 'address-' || n || '-' || h FROM generate_series(1, 20) AS n, generate_series(1, 50) AS h;
         INSERT INTO rounds SELECT 's' || n, number, now() - number * interval '1 hour', 'done' FROM generate_series(1, 20) AS n, generate_series(1, 5000) AS number;
         ANALYZE",
    );
    let claim = CLAIM.lines().filter(|line| !line.starts_with("--"));
    let claim = claim.collect::<Vec<_>>().join(" ");
    let names = postgres.sql("SELECT string_agg(name, ',') FROM schedules");
    let claims = |what: &str| {
        let times: Vec<f64> = (0..TIMES * 3)
            .map(|_| {
                let told = postgres.sql(&format!(
                    "UPDATE rounds SET state = 'waiting' WHERE number = 1;
                     PREPARE claim (text, text[], float8) AS {claim};
                     EXPLAIN (ANALYZE, SUMMARY) EXECUTE claim ('hub', string_to_array('{names}', ','), 10)"
                ));
                let of = |name: &str| -> f64 {
                    let line = told.lines().find(|line| line.contains(name)).unwrap();
                    let words: Vec<_> = line.split_whitespace().collect();
                    words[2].parse().unwrap()
                };
                of("Planning Time") + of("Execution Time")
            })
            .collect();
        println!("{}", words(what, "ms", &times));
    };
    claims("a claim among 10^5 rounds that are done");
    // A transaction that still sees every version keeps vacuum from taking the dead ones away.
    let statement = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_sleep(3600)";
    let old = postgres.psql(statement).stdout(Stdio::null()).spawn();
    let old = KilledChild::from(old.unwrap());
    let held = "SELECT count(*) FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND query LIKE 'BEGIN ISOLATION%'";
    await_that("an open transaction", || postgres.number(held) > 0);
    // The life of each round.
    for state in ["waiting", "leased", "done"] {
        postgres.sql(&format!("UPDATE rounds SET state = '{state}'"));
    }
    let dead =
        postgres.number("SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'rounds'");
    println!("dead rows: {dead}");
    claims("a claim beside 10^5 dead rows and more, with an old transaction open");
    drop(old);
}
