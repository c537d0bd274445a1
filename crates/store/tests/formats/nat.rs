//! Both ends' logs of tests through a translator of addresses: which are of one test, and what shows it.

use super::{packets, read};
use linerate_model::run::Run;
use linerate_store::import::import;

type Log = (String, Vec<u8>);

/// Both ends' logs of a test.
fn logs(stem: &str, ending: &str) -> [Log; 2] {
    ["client", "server"].map(|end| read(&format!("formats/{stem}.{end}.{ending}")))
}

fn changed((name, bytes): &Log, from: &str, to: &str) -> Log {
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains(from), "{name} has no {from}");
    (format!("other-{name}"), text.replace(from, to).into_bytes())
}

/// How many trials the logs make, and what the first one says.
fn made(files: &[Log]) -> (usize, String) {
    let runs = import(files).unwrap().runs;
    let trials: Vec<_> = runs.iter().flat_map(|run: &Run| &run.trials).collect();
    (trials.len(), trials[0].reasons.join("; "))
}

#[test]
fn a_cookie_joins_what_a_translator_took_apart() {
    for (stem, ending, address) in [
        ("iperf3-3.12-nat-tcp", "txt", "198.51.100.7 port 54070"),
        ("iperf3-3.12-nat-udpR", "json", "198.51.100.7 port 59580"),
    ] {
        let (count, said) = made(&logs(stem, ending));
        assert_eq!(count, 1, "{stem}");
        assert!(said.contains("joined by the test's cookie"), "{said}");
        assert!(said.contains(address), "{said}");
    }
}

#[test]
fn counts_of_datagrams_join_where_there_is_no_cookie() {
    let runs = import(&logs("iperf3-3.12-nat-udp", "txt")).unwrap().runs;
    let trial = &runs[0].trials[0];
    assert_eq!((runs.len(), runs[0].trials.len()), (1, 1));
    assert_eq!(packets(trial), [Some(8629), Some(6815), Some(1814)]);
    let said = trial.reasons.join("; ");
    assert!(said.contains("joined by what both counted"), "{said}");
}

#[test]
fn rounded_bytes_join_only_tests_that_began_together() {
    let [client, server] = logs("iperf3-3.12-nat-tcp", "txt");
    let plain = [&client, &server].map(|log| changed(log, "Cookie: ", "Nothing: "));
    let (count, said) = made(&plain);
    assert_eq!(count, 1);
    assert!(said.contains("joined by what both counted"), "{said}");
    let later = changed(&plain[1], "11:26:44", "11:36:44");
    assert_eq!(made(&[plain[0].clone(), later]).0, 2);
    // Without the times that `-V` prints.
    assert_eq!(made(&logs("iperf3-3.12-nat-plain", "txt")).0, 2);
}

#[test]
fn what_could_be_of_another_test_stays_apart() {
    let [client, server] = logs("iperf3-3.12-nat-tcp", "txt");
    let other = changed(&server, "vv2ux6", "aaaaaa");
    assert_eq!(made(&[client, other]).0, 2);
    // Two clients that counted the same.
    let [client, server] = logs("iperf3-3.12-nat-udp", "txt");
    let rival = changed(&client, "port 43911", "port 43912");
    assert_eq!(made(&[client.clone(), rival, server.clone()]).0, 3);
    let rival = changed(&server, "port 43611", "port 43612");
    assert_eq!(made(&[client.clone(), server.clone(), rival]).0, 3);
    // One datagram more.
    let other = changed(&server, "1812/8627", "1812/8628");
    assert_eq!(made(&[client.clone(), other]).0, 2);
    // The same two hosts at both ends: nothing is translated, so the ports tell.
    let near = changed(&server, "198.51.100.7", "192.168.1.10");
    assert_eq!(made(&[client, near]).0, 2);
}
