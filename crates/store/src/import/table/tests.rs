//! Tables of old results, good and bad.

use super::*;
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

fn imported(text: &str, mapping: &str) -> Imported {
    import_table("old/results.csv", text.as_bytes(), &columns(mapping)).unwrap()
}

fn refused(text: &str, mapping: &str) -> String {
    let error = import_table("old/results.csv", text.as_bytes(), &columns(mapping));
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
    let binary = import_table("t", b"mbit\n\xff", &columns(mapping)).unwrap_err();
    assert!(
        matches!(binary, ImportError::Binary { offset: 5, .. }),
        "{binary}"
    );
    let mapping = "rate=r:M,transport=t";
    assert!(refused("r,t\n1,\n", mapping).contains("tcp or udp is needed"));
}

#[test]
fn a_table_of_more_lines_than_are_kept_is_refused_before_they_are_read() {
    let table = |lines: usize| "proto,mbit\n".to_owned() + &"udp,1.5\n".repeat(lines);
    let mapping = "transport=proto,rate=mbit:Mbit/s";
    for lines in [10_000, 100_000, 1_000_000] {
        let error = refused(&table(lines), mapping);
        assert!(
            error.contains("10 000 lines") && error.contains("split"),
            "{error}"
        );
    }
    let most = imported(&table(9_999), mapping);
    assert_eq!(most.runs[0].trials.len(), 9_999);
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
