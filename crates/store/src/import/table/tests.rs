//! Tables of old results, good and bad.

use super::*;
use crate::import::Imported;
use linerate_model::run::RunWork;
use linerate_model::spec::Direction;

const OLD: &str = "\
stack,ip,way,mbit_per_s
lwip,ipv4,upload,59.71
lwip,ipv4,download,31.45
zephyr,ipv4,upload,17.56
zephyr,ipv4,upload,17.60
";

fn columns(text: &str) -> Columns {
    text.parse().unwrap()
}

fn read(file: &str, bytes: &[u8], mapping: &str) -> Result<Imported, ImportError> {
    let mut runs = Vec::new();
    let table = (file.to_owned(), bytes.to_vec());
    let Findings { warnings, refused } = import_table(&table, &columns(mapping), &mut |part| {
        runs.extend(part);
        ControlFlow::Continue(())
    })?;
    Ok(Imported {
        runs,
        warnings,
        refused,
    })
}

fn imported(text: &str, mapping: &str) -> Imported {
    read("old/results.csv", text.as_bytes(), mapping).unwrap()
}

fn refused(text: &str, mapping: &str) -> String {
    let error = read("old/results.csv", text.as_bytes(), mapping);
    error.unwrap_err().to_string()
}

#[test]
fn lines_become_trials_of_a_run_for_each_name() {
    let mapping = "rate=mbit_per_s:Mbit/s,transport==tcp,direction=way,run=stack,label=ip";
    let Imported { runs, refused, .. } = imported(OLD, mapping);
    assert_eq!(refused, []);
    let titles: Vec<_> = runs
        .iter()
        .map(|run| run.title.as_deref().unwrap())
        .collect();
    assert_eq!(titles, ["lwip", "zephyr"]);
    let [up, down] = &runs[0].trials[..] else {
        panic!("{:?}", runs[0].trials);
    };
    assert_eq!(
        (up.direction, down.direction),
        (Direction::Forward, Direction::Reverse)
    );
    assert_eq!(up.received_rate.unwrap().bps(), 59_710_000);
    assert_eq!(up.label.as_deref(), Some("ipv4"));
    assert_eq!(runs[0].kind(), RunKind::Tcp);
    let source = runs[0].source.as_ref().unwrap();
    assert_eq!(
        (&*source.format, &source.files[..]),
        ("table", &["old/results.csv".to_owned()][..])
    );
    let rounding = serde_json::to_value(up).unwrap()["rounding"]["received_bps"].clone();
    assert!(
        (rounding["low"].as_f64().unwrap() - 59_705_000.0).abs() < 1.0,
        "{rounding}"
    );
}

#[test]
fn factors_make_a_study_with_repetitions() {
    let mapping = "rate=mbit_per_s:Mbit/s,transport==tcp,direction=way,factors=stack+way";
    let runs = imported(OLD, mapping).runs;
    let [study] = &runs[..] else {
        panic!("{}", runs.len())
    };
    assert!(matches!(study.work, RunWork::Study { .. }));
    let places = study
        .parts()
        .iter()
        .map(|part| part.config.place.clone().unwrap());
    let places: Vec<_> = places.map(|place| (place.cell, place.repetition)).collect();
    let place = |cell: &str, n| (cell.to_owned(), n);
    assert_eq!(
        places,
        [
            place("stack = lwip, direction = forward", 1),
            place("stack = lwip, direction = reverse", 1),
            place("stack = zephyr, direction = forward", 1),
            place("stack = zephyr, direction = forward", 2),
        ]
    );
    let mut ids: Vec<_> = study.parts().iter().map(|part| &part.id).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn loads_and_losses_are_a_curve_and_delays_a_latency_run() {
    let curve = imported(
        "load;got;lost\n512;64,3;0\n70;70;0\n256;\"89,1\";1,5\n",
        "intended=load:M,rate=got:Mbit/s,loss=lost:%,transport==udp",
    );
    let run = &curve.runs[0];
    let loads = run
        .trials
        .iter()
        .map(|trial| trial.intended_load.unwrap().bps());
    assert_eq!(
        loads.collect::<Vec<_>>(),
        [70_000_000, 256_000_000, 512_000_000]
    );
    assert!((run.trials[1].loss_ratio().unwrap().get() - 0.015).abs() < 1e-9);
    let delays = imported(
        "bytes,median,tail\n32,12.5,40\n",
        "payload=bytes,p50=median:us,p99=tail:us,transport==udp",
    );
    let run = &delays.runs[0];
    assert_eq!(run.kind(), RunKind::Latency);
    let delay = run.trials[0].delay().unwrap();
    assert_eq!((delay.p50_ns, delay.p99_ns), (Some(12_500), Some(40_000)));
}

#[test]
fn a_bad_line_is_named_by_line_and_column_and_the_rest_is_read() {
    let text =
        "way,rate\nup,94 Mbit/s\nup,fast\nsideways,94 Mbit/s\n\nup,\ndown,\"12\nMbit/s\"\nup,9\n";
    let read = imported(text, "rate=rate,direction=way,transport==tcp");
    assert_eq!(read.runs[0].trials.len(), 2);
    let said: Vec<_> = read.refused.iter().map(ToString::to_string).collect();
    for (said, expected) in said.iter().zip([
        "old/results.csv: line 3, column \"rate\": \"fast\": not a number",
        "old/results.csv: line 4, column \"way\": \"sideways\": a direction is",
        "old/results.csv: line 6, column \"rate\": \"\": the line has no figure",
        "old/results.csv: line 9, column \"rate\": \"9\": its unit is not known",
    ]) {
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(said.len(), 4, "{said:?}");
}

#[test]
fn a_missing_column_is_told_with_headings_of_bounded_length() {
    let long = "x".repeat(100_000);
    let many: Vec<_> = (0..5000).map(|number| format!("c{number}")).collect();
    let text = format!("{long},{}\n1\n", many.join(","));
    let said = refused(&text, "rate=mbit:Mbit/s,transport==tcp");
    assert!(
        said.contains("…, c0, c1") && said.contains("and 4971 more"),
        "{said}"
    );
    assert!(said.len() < 400, "{}", said.len());
}

#[test]
fn a_table_that_cannot_be_read_says_why() {
    let mapping = "rate=mbit:Mbit/s,transport==tcp";
    let other = refused(OLD, mapping);
    assert!(other.contains("has no column \"mbit\""), "{other}");
    assert!(
        other.contains("it has stack, ip, way, mbit_per_s"),
        "{other}"
    );
    assert!(refused("", mapping).contains("is empty"));
    assert!(refused("mbit\n", mapping).contains("has no test in it"));
    assert!(refused("mbit\nx\n", mapping).contains("line 2, column \"mbit\""));
    let binary = read("t", b"mbit\n\xff", mapping).unwrap_err();
    assert!(
        matches!(binary, ImportError::Binary { offset: 5, .. }),
        "{binary}"
    );
    let mapping = "rate=r:M,transport=t";
    assert!(refused("r,t\n1,\n", mapping).contains("tcp or udp is needed"));
}

#[test]
fn a_table_of_any_length_is_read_in_parts_and_no_line_is_lost() {
    let table = |lines: usize| "proto,mbit,note\n".to_owned() + &"udp,1.5,\"a\nb\"\n".repeat(lines);
    let mapping = "transport=proto,rate=mbit:Mbit/s";
    let most = imported(&table(4_999), mapping);
    assert_eq!((most.runs.len(), most.warnings.len()), (1, 0));
    let long = table(12_000) + "udp,fast,c\n";
    let parts = imported(&long, mapping);
    let sizes: Vec<_> = parts.runs.iter().map(|run| run.trials.len()).collect();
    assert_eq!(sizes, [5_000, 5_000, 2_000]);
    assert!(
        parts.warnings[0].contains("more than 10000 lines"),
        "{:?}",
        parts.warnings
    );
    let titles: Vec<_> = parts
        .runs
        .iter()
        .filter_map(|run| run.title.as_deref())
        .collect();
    assert_eq!(titles[1], "results, UDP, lines 10002 to 20001");
    let ids: std::collections::BTreeSet<_> = parts.runs.iter().map(|run| &run.id).collect();
    assert_eq!(ids.len(), 3);
    let refused = parts.refused[0].to_string();
    assert!(refused.contains("line 24002, column \"mbit\""), "{refused}");
}

#[test]
fn a_study_of_a_long_table_is_made_of_each_1000_lines() {
    let table = "proto,mbit,stack\n".to_owned() + &"tcp,1.5,lwip\n".repeat(2_500);
    let made = imported(&table, "transport=proto,rate=mbit:Mbit/s,factors=stack");
    let sizes: Vec<_> = made.runs.iter().map(|run| run.parts().len()).collect();
    assert_eq!(sizes, [1_000, 1_000, 500]);
}

#[test]
fn a_quote_that_is_not_closed_is_named_and_takes_little_memory() {
    let text = "proto,mbit\nudp,1\nudp,\"2\n".to_owned() + &"udp,3\n".repeat(1_000_000);
    let error = refused(&text, "transport=proto,rate=mbit:Mbit/s");
    assert!(
        error.contains("line 3") && error.contains("1 MiB"),
        "{error}"
    );
}

#[test]
fn who_takes_no_more_of_a_table_is_given_no_more() {
    let text = "proto,mbit\n".to_owned() + &"udp,1\n".repeat(50_000);
    let mut parts = 0;
    let mapping = columns("transport=proto,rate=mbit:Mbit/s");
    let table = ("t.csv".to_owned(), text.into_bytes());
    let read = import_table(&table, &mapping, &mut |_| {
        parts += 1;
        ControlFlow::Break(())
    });
    assert_eq!((parts, read.unwrap().refused.len()), (1, 0));
}

#[test]
fn runs_keep_the_order_of_their_first_lines() {
    let table = "name,proto,mbit\nb,udp,1\na,udp,2\nb,udp,3\nc,udp,4\n";
    let made = imported(table, "run=name,transport=proto,rate=mbit:Mbit/s");
    let titles: Vec<_> = made
        .runs
        .iter()
        .map(|run| run.title.as_deref().unwrap())
        .collect();
    assert_eq!(titles, ["b", "a", "c"]);
    assert_eq!(made.runs[0].trials.len(), 2);
}

/// A table of a hundred thousand runs, of which two would have the same id of 32 bits.
#[test]
fn every_run_of_a_long_table_has_an_id_of_its_own() {
    let lines: Vec<_> = (0..100_000).map(|line| format!("r{line},94.5")).collect();
    let text = format!("name,rate\n{}\n", lines.join("\n"));
    let runs = imported(&text, "run=name,rate=rate:Mbit/s,transport==tcp").runs;
    let ids: std::collections::BTreeSet<_> = runs.iter().map(|run| &run.id).collect();
    assert_eq!((ids.len(), runs.len()), (100_000, 100_000));
}
