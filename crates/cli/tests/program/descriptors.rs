//! A test that takes more descriptors than one end may have: it is said which end.

use crate::full_disk::after;
use crate::harness::{Ended, Place, Server, linerate};

/// Too few for eight streams beside what every process needs.
const LIMIT: &str = "ulimit -n 205";

/// The two tests of eight streams.
const TESTS: [&[&str]; 2] = [&["tcp"], &["udp", "--rate=1M"]];

#[test]
fn a_limit_of_the_client_is_this_hosts() {
    let server = Server::on("127.0.0.1");
    for test in TESTS {
        for direction in [&[][..], &["--reverse"]] {
            let place = Place::new();
            let args = [test, &[server.address(), "-P8", "-t1s"], direction].concat();
            let ended = Ended::spawn(&mut after(LIMIT, &place.command(&args)));
            ended.failed(
                4,
                &[
                    "cannot be made from this host",
                    "opening 8 streams",
                    "ulimit -Hn",
                ],
            );
            assert!(!ended.err.contains("refused"), "{ended:?}");
            place.is_sound_with(0);
        }
    }
}

/// Whichever file is the first that cannot be opened.
#[test]
fn a_run_that_finds_no_descriptor_leaves_nothing() {
    let server = Server::on("127.0.0.1");
    for most in 4..9 {
        let place = Place::new();
        let command = place.command(&["udp", server.address(), "--rate=1M", "-t1s"]);
        let ended = Ended::spawn(&mut after(&format!("ulimit -n {most}"), &command));
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.err.contains("ulimit -n") || ended.err.contains("ulimit -Hn"),
            "{most}: {ended:?}"
        );
        place.is_sound_with(0);
    }
}

#[test]
fn a_limit_of_the_server_is_its_refusal() {
    let mut serve = linerate();
    serve.args(["serve", "--listen", "127.0.0.1:0"]);
    let server = Server::by(&mut after(LIMIT, &serve));
    for test in TESTS {
        let place = Place::new();
        let ended = place.run(&[test, &[server.address(), "-P8", "-t1s"]].concat());
        ended.failed(
            4,
            &[server.address(), "refused the test", "opening 8 streams"],
        );
        assert!(!ended.err.contains("this host"), "{ended:?}");
    }
}
