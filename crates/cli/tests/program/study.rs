//! Studies: a plan file against a peer, interrupted and resumed; what they show, their control, their budget.

use crate::harness::{Place, Running, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// Two cells, twice, without a control.
fn plan(server: &Server, time: &str) -> String {
    with_study(server, time, "repetitions = 2\ncontrol = false\n")
}

/// Two cells.
fn with_study(server: &Server, time: &str, study: &str) -> String {
    format!(
        "[study]\ntitle = \"both ways\"\nhost = \"{}\"\n{study}\
         [defaults]\nkind = \"udp\"\nrate = \"2M\"\ntime = \"{time}\"\n\
         [factors]\ndirection = [\"forward\", \"reverse\"]\n",
        server.address()
    )
}

/// Cell and repetition of each part, in the order of measuring.
fn parts(study: &Value) -> Vec<(String, u64)> {
    let key = |part: &Value| {
        let values = &part["config"]["place"];
        (
            values["cell"].as_str().unwrap().to_owned(),
            values["repetition"].as_u64().unwrap(),
        )
    };
    study["parts"]
        .as_array()
        .into_iter()
        .flatten()
        .map(key)
        .collect()
}

#[test]
fn every_cell_is_measured_in_every_repetition_and_has_a_mean() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "200ms").as_bytes());
    let study = place.run(&["run", "plan.toml", "--json"]).document();
    assert_eq!(
        (&study["kind"], &study["status"]),
        (&"study".into(), &"complete".into())
    );
    let reported = place.run(&["report", "last", "-o", "report.html"]);
    assert_eq!(reported.code, Some(0));
    let page = std::fs::read_to_string(place.file("report.html")).unwrap();
    assert!(page.contains("Mean of the runs with its 95 % interval"));
    let mut measured = parts(&study);
    measured.sort_unstable();
    let (forward, reverse) = ("direction = forward", "direction = reverse");
    let all = [(forward, 1), (forward, 2), (reverse, 1), (reverse, 2)];
    assert_eq!(
        measured,
        all.map(|(cell, repetition)| (cell.to_owned(), repetition))
    );
    let rates: Vec<_> = study["estimates"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|mean| mean["quantity"] == "received_bps")
        .collect();
    assert_eq!(rates.len(), 2);
    for rate in rates {
        assert_eq!(rate["estimate"]["n"], 2);
        assert!(rate["estimate"]["interval"]["low"].is_number());
    }
    let text = place.run(&["show", "last"]).done();
    assert!(text.contains("n = 2) received, L4 payload"), "{text}");
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_study_says_what_its_factor_does_what_it_could_show_and_how_its_control_was() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let text = format!(
        "[study]\nhost = \"{}\"\nrepetitions = 3\n[defaults]\nkind = \"udp\"\ntime = \"200ms\"\nrate = \"2M\"\n\
         [factors]\npayload = [200, 1000]\n",
        server.address()
    );
    place.with("plan.toml", text.as_bytes());
    let study = place.run(&["run", "plan.toml", "--json"]).document();
    let mut measured = parts(&study);
    measured.sort_unstable();
    assert_eq!(measured.len(), 9);
    assert_eq!(measured[0].0, "A/A control");
    // While it is measured it is called like its cell.
    let titles = study["parts"].as_array().unwrap().iter();
    let title = |part: &&Value| {
        part["title"]
            .as_str()
            .unwrap()
            .starts_with("payload = 200 ")
    };
    assert_eq!(titles.filter(title).count(), 6);
    let findings = &study["study_findings"];
    assert_eq!(findings["control"]["cell"], "payload = 200", "{findings:#}");
    let effects = findings["main_effects"].as_array().unwrap();
    let mut effects = effects.iter();
    let received = effects
        .find(|one| one["quantity"] == "received_bps")
        .unwrap();
    assert_eq!(received["of"]["factor"], "payload");
    assert_eq!(received["against"], "200");
    let interval = &received["effect"]["estimate"]["interval"];
    assert!(interval["low"].as_f64() <= interval["high"].as_f64());
    assert!(received["effect"]["detectable_ratio"].as_f64().unwrap() > 0.0);
    let means = study["estimates"].as_array().unwrap();
    assert!(means.iter().all(|one| one["cell"] != "A/A control"));
    let shown = place.run(&["show", "last"]).done();
    assert!(shown.contains("A/A control"), "{shown}");
    place
        .run(&["report", "last", "-q", "-o", "report.html"])
        .done();
    let page = std::fs::read_to_string(place.file("report.html")).unwrap();
    assert!(page.contains("Every effect (") && page.contains("How the runs scatter"));
    let check = place.run(&["plan", "check", "plan.toml"]).done();
    assert!(
        check.contains("3 repetitions can show") && check.contains("earlier runs of 2 cells"),
        "{check}"
    );
    // At another host nothing was measured yet.
    let elsewhere = text.replace(server.address(), "192.0.2.1");
    place.with("elsewhere.toml", elsewhere.as_bytes());
    let check = place.run(&["plan", "check", "elsewhere.toml"]).done();
    assert!(check.contains("What 3 repetitions can show"), "{check}");
    assert!(check.contains("runs that scatter by 2 %"), "{check}");
}

#[test]
fn runs_record_which_start_of_the_server_answered_and_a_restarted_one_gives_n() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "200ms").as_bytes());
    let first = place.run(&["run", "plan.toml", "--json"]).document();
    let starts = |study: &Value| -> Vec<String> {
        let parts = study["parts"].as_array().unwrap().iter();
        let start = |part: &Value| part["instance"]["start"].as_str().unwrap().to_owned();
        let mut all: Vec<String> = parts.map(start).collect();
        all.sort_unstable();
        all.dedup();
        all
    };
    assert_eq!(starts(&first).len(), 1, "{first:#}");
    let repetition = &first["study_findings"]["repetition"];
    assert_eq!(
        (&repetition["starts"], &repetition["level"]),
        (&1.into(), &"run".into())
    );
    let shown = place.run(&["show", "last"]).done();
    assert!(shown.contains("one start of its peer's program"), "{shown}");
    drop(server);
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "200ms").as_bytes());
    let second = place.run(&["run", "plan.toml", "--json"]).document();
    assert_ne!(starts(&second), starts(&first));
    let anew = with_study(&server, "200ms", "repetitions = 2\nrestart = true\n");
    place.with("anew.toml", anew.as_bytes());
    for command in [&["run"][..], &["plan", "check"]] {
        let ended = place.run(&[command, &["anew.toml"]].concat());
        ended.failed(3, &["restart = true", server.address(), "ssh://"]);
    }
}

#[test]
fn a_budget_is_spent_on_cells_and_control_and_can_be_resumed() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    // Half of an interval below nine tenths of a paced rate: measured five times, every cell is known well enough.
    let plan = with_study(&server, "100ms", "precision = \"90%\"\n");
    place.with("plan.toml", plan.as_bytes());
    let short = place.run(&["run", "plan.toml", "--time", "5s"]);
    short.failed(3, &["5 runs of each of 3 cells", "more time"]);
    let time = ["--time", "60s"];
    let begin = [&["run", "plan.toml", "--stream"][..], &time].concat();
    let mut study = Running::start(&mut place.command(&begin));
    study.await_line("\"event\":\"trial\"");
    study.signal(Signal::INT);
    study.end().failed(1, &["was interrupted", "are kept"]);
    let first = place.run(&["show", "last", "--json"]).document();
    let id = first["id"].as_str().unwrap();
    let other = place.run(&["run", "plan.toml", "--resume", id, "--time", "61s"]);
    other.failed(3, &["cannot resume", "another"]);
    let resume = [&["run", "plan.toml", "--json", "--resume", id][..], &time].concat();
    let whole = place.run(&resume).document();
    assert_eq!(whole["status"], "complete");
    assert_eq!(whole["config"]["asked"]["budget"]["time_s"], 60.0);
    assert_eq!(whole["config"]["asked"]["budget"]["precision_ratio"], 0.9);
    let measured = parts(&whole);
    for cell in ["direction = forward", "direction = reverse", "A/A control"] {
        let runs = measured.iter().filter(|part| part.0 == cell).count();
        assert!(runs >= 5, "{cell}: {measured:?}");
    }
    assert!(whole["study_findings"]["control"].is_object());
}

#[test]
fn an_interrupted_study_goes_on_where_it_was() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "500ms").as_bytes());
    let mut study = Running::start(&mut place.command(&["run", "plan.toml", "--stream"]));
    study.await_line("\"event\":\"trial\"");
    study.signal(Signal::INT);
    study.end().failed(1, &["was interrupted", "are kept"]);
    let first = place.run(&["show", "last", "--json"]).document();
    let kept = parts(&first).len();
    assert!(kept < 4);

    let id = first["id"].as_str().unwrap();
    let resumed = place
        .run(&["run", "plan.toml", "--resume", id, "--json"])
        .document();
    assert_eq!(resumed["status"], "complete");
    assert_eq!(parts(&resumed).len(), 4);
    assert_eq!(parts(&first)[..], parts(&resumed)[..kept]);

    let again = place.run(&[
        "run",
        "plan.toml",
        "--resume",
        resumed["id"].as_str().unwrap(),
    ]);
    again.failed(3, &["it is complete", "leave out --resume"]);
    place.with("plan.toml", plan(&server, "501ms").as_bytes());
    let other = place.run(&["run", "plan.toml", "--resume", id]);
    other.failed(3, &["cannot resume", "another"]);
}

#[test]
fn a_study_whose_peer_disappears_says_how_to_go_on() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "300ms").as_bytes());
    let mut study = Running::start(&mut place.command(&["run", "plan.toml", "--stream"]));
    study.await_line("\"event\":\"trial\"");
    server.kill();
    study.end().failed(5, &["127.0.0.1", "go on with --resume"]);
    assert_eq!(place.listed()[0]["status"], "incomplete");
    place.is_sound_with(1);
}

/// Passes connections on to an iperf3 server, but hangs up the one with this number, from 0, once the server has answered
/// its first words. Its address.
fn hangs_up_once(server: &Server, number: usize) -> String {
    let near = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = near.local_addr().unwrap().to_string();
    let server = server.address().to_owned();
    thread::spawn(move || {
        for (at, from) in near.incoming().enumerate() {
            let mut from = from.unwrap();
            let mut to = TcpStream::connect(&server).unwrap();
            if at == number {
                let (mut cookie, mut state) = ([0; 37], [0]);
                from.read_exact(&mut cookie).unwrap();
                to.write_all(&cookie).unwrap();
                to.read_exact(&mut state).unwrap();
                from.write_all(&state).unwrap();
                continue;
            }
            let ends = [
                (from.try_clone().unwrap(), to.try_clone().unwrap()),
                (to, from),
            ];
            for (mut from, mut to) in ends {
                thread::spawn(move || {
                    // Either side may end first.
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    address
}

#[test]
fn another_tool_that_fails_once_does_not_end_a_study() {
    let place = Place::new();
    let server = Server::with(&["--speak", "iperf3:0", "--listen", "127.0.0.1:0"]);
    let plan = |host: &str| {
        format!(
            "[study]\nhost = \"iperf3://{host}\"\nrepetitions = 2\ncontrol = false\n\
             [defaults]\nkind = \"tcp\"\nrate = \"10M\"\ntime = \"300ms\"\n[factors]\nstreams = [1]\n"
        )
    };
    // Two connections of the first test, then the control connection of the second.
    place.with("plan.toml", plan(&hangs_up_once(&server, 2)).as_bytes());
    let ended = place.run(&["run", "plan.toml", "--json"]);
    let study = ended.document();
    assert_eq!(study["status"], "complete", "{study}");
    assert_eq!(parts(&study).len(), 2);
    let notes = study["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "{notes:?}");
    let note = notes[0].as_str().unwrap();
    assert!(
        note.contains("(repetition 2) was measured again: "),
        "{note}"
    );
    // One that fails again is gone.
    drop(server);
    place.run(&["run", "plan.toml"]).failed(5, &["--resume"]);
}

#[test]
fn a_killed_study_keeps_its_parts() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place.with("plan.toml", plan(&server, "300ms").as_bytes());
    let mut study = Running::start(&mut place.command(&["run", "plan.toml", "--stream"]));
    study.await_line("\"event\":\"trial\"");
    // The second trial ends after the first part was stored.
    study.await_line("\"event\":\"trial\"");
    study.signal(Signal::KILL);
    study.end();
    let kept = place.run(&["show", "last", "--json"]).document();
    assert!(!parts(&kept).is_empty());
    let id = kept["id"].as_str().unwrap();
    let resumed = place
        .run(&["run", "plan.toml", "--resume", id, "--json"])
        .document();
    assert_eq!(parts(&resumed).len(), 4);
}

#[test]
fn plans_that_are_none() {
    let place = Place::new();
    let head = "[study]\nhost = \"127.0.0.1\"\n[defaults]\nkind = \"tcp\"\n";
    for (text, words) in [
        (
            format!("{head}paylod = 64\n"),
            ["line 5", "\"paylod\"", "payload"],
        ),
        (
            format!("{head}streams = 0\n"),
            ["streams = 0", "from 1 to 10000", "plan.toml"],
        ),
        (format!("{head}[factors"), ["line 5", "plan.toml", ""]),
        (String::new(), ["plan.toml", "study", ""]),
    ] {
        place.with("plan.toml", text.as_bytes());
        place.run(&["run", "plan.toml"]).failed(3, &words);
    }
    place.with("plan.toml", b"\xff\xfe");
    place
        .run(&["run", "plan.toml"])
        .failed(3, &["cannot read the plan plan.toml"]);
    place
        .run(&["run", "missing.toml"])
        .failed(3, &["missing.toml", "No such file"]);
    place.is_sound_with(0);
}

#[test]
fn the_short_form_of_a_plan_is_measured_at_the_host_that_is_asked_for() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let text = "[study]\ntitle = \"t\"\nhost = \"192.0.2.1\"\nrepetitions = 3\n\
                [defaults]\nkind = \"udp\"\ntime = \"1h\"\n[factors]\nrate = [\"1M\", \"2M\"]\n\
                [quick]\nrepetitions = 1\n[quick.defaults]\ntime = \"100ms\"\nrate = \"1M\"\n";
    place.with("plan.toml", text.as_bytes());
    let check = place.run(&["plan", "check", "plan.toml"]).done();
    let costs = [
        "t: 2 cells, 3 repetitions, 9 runs;",
        "--quick: 1 cell, 1 repetition, 1 run;",
    ];
    assert!(costs.iter().all(|cost| check.contains(cost)), "{check}");
    let words = [
        "run",
        "plan.toml",
        "--quick",
        "--host",
        server.address(),
        "--json",
    ];
    let run: Value = serde_json::from_str(&place.run(&words).done()).unwrap();
    assert_eq!(run["title"], "t, quick");
    assert_eq!(run["parts"].as_array().unwrap().len(), 1, "{run}");
    place.with(
        "whole.toml",
        text.split("[quick]").next().unwrap().as_bytes(),
    );
    place
        .run(&["run", "whole.toml", "--quick"])
        .failed(3, &["--quick", "[quick]"]);
}

#[test]
fn a_plan_begins_with_an_example_and_says_what_it_costs() {
    let place = Place::new();
    for purpose in ["udp", "tcp", "latency", "saturate"] {
        let file = format!("{purpose}.toml");
        let made = place.run(&["plan", "init", purpose, "-o", &file]);
        assert_eq!(made.code, Some(0), "{made:?}");
        let costs = place.run(&["plan", "check", &file]).done();
        assert!(
            costs.contains(" cells, ") && costs.contains(" runs; at most about "),
            "{costs}"
        );
        let again = place.run(&["plan", "init", purpose, "-o", &file]);
        again.failed(2, &["is there already"]);
    }
    let json = place.run(&["plan", "check", "udp.toml", "--json"]).done();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["runs"].as_u64(), Some(85), "{json}");
    place.with(
        "bad.toml",
        b"[study]\nhost = \"h\"\n[defaults]\nkind = \"udp\"\nrate = \"fast\"\n",
    );
    place
        .run(&["plan", "check", "bad.toml"])
        .failed(3, &["bad.toml, line 5", "rate = fast"]);
    let schema = place.run(&["plan", "schema"]).done();
    assert!(schema.contains("\"loss-goal\""), "{schema}");
}

/// One that is missing would else be missed after the cells that happen to come first.
#[test]
fn a_device_that_cannot_be_started_is_told_before_anything_is_measured() {
    let place = Place::new();
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../p4/cross_connect/cross_connect.json"
    );
    let plan = format!(
        "[study]\ntitle = \"two devices\"\n[defaults]\nkind = \"switch\"\nbudget = \"1s\"\nframe-size = 64\n\
         [factors]\ndut = [\"wire\", \"bmv2,program={program}\"]\n"
    );
    place.with("plan.toml", plan.as_bytes());
    let output = place.run(&["run", "plan.toml"]);
    assert_eq!(output.code, Some(4), "{}", output.err);
    assert!(!output.err.contains("--resume"), "{}", output.err);
    assert_eq!(place.run(&["list", "--json"]).out.trim(), "[]");
}
