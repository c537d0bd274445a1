//! Peers that are busy, gone, silent, or something else; and users who have seen enough.

use crate::harness::{Place, Running, Server};
use linerate_testkit::ports::free_address;
use rustix::process::Signal;
use std::fs::Permissions;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::thread;

/// A peer that says `words` to its first client, then listens until the client leaves.
fn says(words: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client.write_all(words).unwrap();
        let _ = client.read_to_end(&mut Vec::new());
    });
    address
}

#[test]
fn a_port_in_use() {
    let server = Server::on("127.0.0.1");
    let ended = Place::new().run(&["serve", "--listen", server.address()]);
    ended.failed(4, &[server.address(), "in use", "--listen"]);
}

/// Streams that carry little cost little: a server of 101 had 188 MB when each had its whole room at once, has some 60.
#[test]
fn a_hundred_slow_streams_leave_a_server_small() {
    let (server, place) = (Server::on("127.0.0.1"), Place::new());
    let slow = ["--rate", "1M", "--payload", "64", "-t", "500ms"];
    let streams = ["udp", server.address(), "-P", "101", "--json"];
    let run = place.run(&[&streams[..], &slow, &["--diagnose", "0s"]].concat());
    let streams = &run.document()["trials"][0]["raw"][1]["streams"];
    assert_eq!(streams.as_array().unwrap().len(), 101);
    let peak = server.status("VmHWM");
    assert!(peak < 100 << 10, "{peak} KiB");
}

#[test]
fn nobody_listens() {
    let place = Place::new();
    let free = free_address(Ipv4Addr::LOCALHOST.into()).unwrap();
    let address = free.to_string();
    let ended = place.run(&["tcp", &address]);
    ended.failed(5, &[&address, "refused", "start `linerate serve`"]);
    place.is_sound_with(0);
}

#[test]
fn a_peer_of_another_version() {
    let place = Place::new();
    let ended = place.run(&["udp", &says(b"linerate\0\x03"), "--rate", "1M"]);
    ended.failed(5, &["version 3", "speaks 2", "use the same version"]);
    place.is_sound_with(0);
}

#[test]
fn a_peer_that_is_something_else() {
    let place = Place::new();
    for (words, name) in [
        (&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], "HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH"),
        (b"\x09", "iperf3"),
        (b"220 mail ESMTP\r\n", "unknown protocol"),
    ] {
        let ended = place.run(&["tcp", &says(words)]);
        ended.failed(5, &["127.0.0.1:", name, "linerate serve"]);
    }
    place.is_sound_with(0);
}

#[test]
fn an_iperf3_that_is_none_or_lies() {
    let place = Place::new();
    let params = "127.0.0.1";
    let cases: [(&[u8], &[&str]); 6] = [
        (
            b"HTTP/1.1 400\r\n",
            &[params, "not how an iperf3 server begins"],
        ),
        (b"\xff", &["busy", "try again later"]),
        (b"\xfe\0\0\0\x8e\0\0\0\0", &["a user and password"]),
        (b"\x09\x02", &["TEST_RUNNING", "no place there"]),
        (b"\x09\xfe\0\0\0\x1b\0\0\0\0", &["--server-bitrate-limit"]),
        (b"\x09\x0b", &["stopped by its user"]),
    ];
    for (words, parts) in cases {
        let host = format!("iperf3://{}", says(words));
        let ended = place.run(&["tcp", &host, "-t", "1s"]);
        assert!(matches!(ended.code, Some(2 | 5)), "{ended:?}");
        for part in parts {
            assert!(ended.err.contains(part), "{part}: {ended:?}");
        }
    }
    let silent = format!("iperf3://{}", says(b""));
    let ended = place.run(&["udp", &silent, "--rate", "1M", "--timeout", "300ms"]);
    ended.failed(5, &["said nothing for 0.3 s", "iperf3 -s", "--timeout"]);
    let ended = place.run(&["latency", "iperf3://127.0.0.1:1"]);
    ended.failed(5, &["iperf3 -s"]);
    let ended = place.run(&["tcp", "iperf9://127.0.0.1"]);
    ended.failed(2, &["iperf3://", "linerate serve"]);
}

#[test]
fn a_peer_that_says_nothing() {
    let place = Place::new();
    let ended = place.run(&["tcp", &says(b""), "--timeout", "300ms"]);
    ended.failed(
        5,
        &["said nothing for 0.3 s", "linerate serve", "--timeout"],
    );
    place.is_sound_with(0);
}

#[test]
fn a_peer_that_hangs_up() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let hang_up = thread::spawn(move || drop(listener.accept().unwrap()));
    place
        .run(&["tcp", &address])
        .failed(5, &[&address, "closed"]);
    hang_up.join().unwrap();
    place.is_sound_with(0);
}

#[test]
fn a_peer_that_disappears_in_mid_test() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let address = server.address().to_owned();
    let mut test = Running::start(&mut place.command(&["tcp", &address, "-t", "1m", "--stream"]));
    test.await_line("\"event\":\"progress\"");
    server.kill();
    let ended = test.end();
    ended.failed(
        5,
        &[
            &address,
            "closed the control connection",
            "it was stopped, it crashed, or it gave up waiting",
        ],
    );
    let shown = place.run(&["show", "last"]).done();
    assert!(shown.contains("the run ended early: "), "{shown}");
    place.is_sound_with(1);
}

#[test]
fn a_user_who_has_seen_enough() {
    let tests = [
        (Signal::INT, "udp --rate 2M", 1),
        (Signal::TERM, "udp --rate 2M --reverse", 1),
        (Signal::INT, "tcp --rate 2M --duplex", 2),
    ];
    for (signal, words, trials) in tests {
        let place = Place::new();
        let server = Server::on("127.0.0.1");
        let mut args: Vec<_> = words.split(' ').collect();
        args.extend([server.address(), "-t", "1m", "--stream"]);
        let mut test = Running::start(&mut place.command(&args));
        test.await_line("Mbit/s\"");
        test.signal(signal);
        let ended = test.end();
        ended.failed(1, &["was interrupted", "are kept"]);
        // What was measured until then is a measurement, only a shorter one.
        let kept = place.run(&["show", "last", "--json"]).document();
        let kept = kept["trials"].as_array().unwrap();
        assert_eq!(kept.len(), trials, "{words}");
        // The progress that was waited for is that of the first direction.
        assert!(kept[0]["received_bytes"].as_u64().unwrap() > 0);
        for trial in kept {
            assert_eq!(trial["valid"], true, "{trial}");
            let why = trial["reasons"][0].as_str().unwrap();
            assert_eq!(why, "stopped by the user before its end");
        }
        place.is_sound_with(1);
        // The peer is free for the next one.
        let args = ["udp", server.address(), "--rate", "1M", "-t", "100ms"];
        place.run(&args).done();
    }
}

#[test]
fn a_search_that_is_interrupted_keeps_its_trials() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = ["saturate", server.address(), "--max", "2M", "--stream"];
    let mut search = Running::start(&mut place.command(&args));
    search.await_line("\"event\":\"trial\"");
    search.signal(Signal::INT);
    search.end().failed(1, &["was interrupted"]);
    let document = place.run(&["show", "last", "--json"]).document();
    assert!(!document["trials"].as_array().unwrap().is_empty());
    place.is_sound_with(1);
}

#[test]
fn a_killed_run_is_readable() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let args = ["saturate", server.address(), "--max", "2M", "--stream"];
    let mut search = Running::start(&mut place.command(&args));
    search.await_line("\"event\":\"trial\"");
    search.signal(Signal::KILL);
    assert_eq!(search.end().code, None);
    let shown = place.run(&["show", "last"]).done();
    assert!(shown.contains("did not come to its end"), "{shown}");
    place.is_sound_with(1);
}

#[test]
fn a_peer_with_a_key_serves_who_holds_it() {
    let place = Place::new();
    let right = place.with("right.key", b"correct horse battery staple\n");
    let wrong = place.with("wrong.key", b"some other key of this length\n");
    let short = place.with("short.key", b"short\n");
    let path = |file: &PathBuf| file.to_str().unwrap().to_owned();
    std::fs::set_permissions(&right, Permissions::from_mode(0o600)).unwrap();
    std::fs::set_permissions(&wrong, Permissions::from_mode(0o644)).unwrap();
    let server = Server::with(&["--listen", "127.0.0.1:0", "--key", &path(&right)]);
    let test = |key: &[&str]| {
        let args = ["udp", server.address(), "--rate", "1M", "-t", "50ms"];
        place.run(&[&args, key].concat())
    };
    test(&["--key", &path(&right)]).done();
    test(&[]).failed(5, &["wants a key", "--key"]);
    let other = test(&["--key", &path(&wrong)]);
    other.failed(5, &["the client's key is another", "--key"]);
    assert!(other.err.contains("chmod 600"), "{}", other.err);
    test(&["--key", &path(&short)]).failed(2, &["short.key", "at least 16", "urandom"]);
    let open = Server::on("127.0.0.1");
    let args = [
        "udp",
        open.address(),
        "--rate",
        "1M",
        "--key",
        &path(&right),
    ];
    place
        .run(&args)
        .failed(5, &["this server has no key", "leave --key away"]);
}

#[test]
fn what_the_peer_cannot_do_is_said_with_what_it_can() {
    let place = Place::new();
    let limits = "--listen 127.0.0.1:0 --max-duration 1s --max-rate 5M";
    let server = Server::with(&limits.split(' ').collect::<Vec<_>>());
    let cases = [
        (
            "udp --rate 1M -t 1s --datapath pigeon",
            2,
            "known are sockets",
        ),
        ("udp --rate 1M -t 1s --datapath sockets,wings=2", 2, "wings"),
        ("udp --rate 1M -t 1s --workload pigeon", 2, "known are bulk"),
        ("udp --rate 1M -t 1s --workload bulk", 2, "it needs TCP"),
        ("tcp -t 2s", 2, "at most 1s"),
        ("udp --rate 6M -t 1s", 2, "5 Mbit/s"),
        ("udp --rate max -t 1s", 2, "5 Mbit/s"),
    ];
    for (words, code, word) in cases {
        let args: Vec<_> = words.split(' ').chain([server.address()]).collect();
        place.run(&args).failed(code, &[server.address(), word]);
    }
}

#[test]
fn a_server_imitates_slow_applications_only_if_it_was_started_to() {
    let place = Place::new();
    let server = Server::on("127.0.0.1");
    let slow = |more: &[&'static str]| {
        let args = ["latency", "--responder-stall", "100ms,10ms"];
        let mut args: Vec<_> = args.into_iter().chain(more.iter().copied()).collect();
        args.extend(["--time", "200ms", "--wait", "block", "--sizes", "32"]);
        args
    };
    for more in [&[][..], &["--rate", "1k"]] {
        let args = [slow(more), vec![server.address()]].concat();
        place
            .run(&args)
            .failed(2, &["start it with `linerate serve --allow-imitation`"]);
    }
    let words = [
        "tcp",
        "--receiver-pause=1ms",
        "-t",
        "100ms",
        "--diagnose",
        "0s",
    ];
    let tcp = |more: &[&'static str], address| [&words[..], more, &[address]].concat();
    place
        .run(&tcp(&[], server.address()))
        .failed(2, &["--allow-imitation"]);
    // The client's own application may be as slow as it likes.
    place.run(&tcp(&["--reverse"], server.address())).done();
    let allows = Server::with(&["--listen", "127.0.0.1:0", "--allow-imitation"]);
    place
        .run(&[slow(&[]), vec![allows.address()]].concat())
        .done();
    place.run(&tcp(&[], allows.address())).done();
}

#[test]
fn strangers_do_not_stop_the_server_and_it_ends_when_asked() {
    let server = Server::on("127.0.0.1");
    let mut stranger = TcpStream::connect(server.address()).unwrap();
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stranger.read_to_end(&mut Vec::new()).unwrap();
    Place::new()
        .run(&["tcp", server.address(), "-t", "100ms", "--diagnose", "0s"])
        .done();
    let (code, said) = server.stop(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("HTTP (a web client)"), "{said}");
}

#[test]
fn a_server_for_one_client_ends_after_it() {
    let server = Server::with(&["--listen", "127.0.0.1:0", "--once"]);
    Place::new()
        .run(&["tcp", server.address(), "-t", "100ms"])
        .done();
    let (code, _) = server.ended();
    assert_eq!(code, Some(0));
}
