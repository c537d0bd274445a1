//! `--prove`: what it adds to a run, and the runs that cannot be proved.

use crate::harness::{Place, Server, good_log};

#[test]
fn a_live_command_keeps_its_experiment_with_the_run() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = ["udp", server.address(), "--rate", "1M", "-t", "300ms"];
    let run = place
        .run(&[&args[..], &["--prove", "--json"]].concat())
        .document();
    assert_eq!(run, place.run(&["export", "last"]).document());
    // Nothing limits at 1 Mbit/s, so a quarter more is tried; a busy machine may find something else.
    let record = &run["experiments"][0];
    assert!(record["limit"].is_string(), "{run}");
    let experiment = &record["experiment"];
    let tried = experiment["outcome"]["answer"].is_string();
    assert!(tried || experiment["not_run"].is_string(), "{experiment}");
    assert_eq!(run["trials"].as_array().unwrap().len(), 1);
}

#[test]
fn a_stored_run_is_proved_against_the_peer_that_it_measured() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    place
        .run(&["udp", server.address(), "--rate", "1M", "-t", "300ms"])
        .done();
    let text = place.run_own(&["explain", "last", "--prove"]).done();
    let kept = place.run(&["export", "last"]).document();
    if kept["verdict"]["limit"] == "other-programs" {
        // On a busy machine: what would prove it is to stop them, which is their user's to do.
        assert!(text.contains("stop the other programs"), "{text}");
    } else {
        assert!(
            text.contains("  answer ") || text.contains("could not be run: "),
            "{text}"
        );
        assert!(!kept["experiments"].as_array().unwrap().is_empty());
    }
    // What was proved is still so when it is explained again.
    let again = place.run(&["explain", "last", "--json"]).document();
    assert_eq!(again["verdict"], kept["verdict"]);
}

#[test]
fn a_test_both_ways_says_why_it_is_not_proved() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = ["udp", server.address(), "--rate", "1M", "-t", "200ms"];
    let args = [&args[..], &["--duplex", "--prove", "--json"]].concat();
    let run = place.run(&args).document();
    let why = &run["experiments"][0]["experiment"]["not_run"];
    assert!(why.as_str().unwrap().contains("both ways"), "{why}");
    place
        .run_own(&["explain", "last", "--prove"])
        .failed(2, &["cannot prove", "both ways"]);
}

#[test]
fn an_imported_run_cannot_be_proved() {
    let place = Place::new();
    place.run(&["import", good_log().to_str().unwrap()]).done();
    place
        .run_own(&["explain", "last", "--prove"])
        .failed(2, &["cannot prove", "imported"]);
}

#[test]
fn a_peer_that_is_gone_is_named() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let address = server.address().to_owned();
    place
        .run(&["udp", &address, "--rate", "1M", "-t", "200ms"])
        .done();
    server.kill();
    place
        .run_own(&["explain", "last", "--prove"])
        .failed(5, &["cannot connect", &address]);
    place.run(&["show", "last", "--json"]).document();
}
