//! What a server of iperf3's own cannot: many clients at once on one port; and options of single tests.

use crate::ends::{OwnServer, both, spec};
use crate::iperf3::{IPERF3, RealServer, client};
use crate::matrix::{Cell, Count, Role, Way};
use linerate_model::exit::Failure;
use linerate_model::spec::Transport;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::thread;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn clients_of_every_kind_are_served_at_once() {
    let server = OwnServer::start(HERE, "iperf3").unwrap();
    let kinds: [&[&str]; 6] = [
        &["-n", "200K"],
        &["-n", "200K", "-R"],
        &["-n", "200K", "--bidir"],
        &["-u", "-b", "2M", "-k", "50"],
        &["-u", "-b", "2M", "-R", "-t", "1"],
        &["-u", "-b", "2M", "--bidir", "-t", "1"],
    ];
    let address = server.address;
    let run = |options: &[&str]| {
        let mut all = vec!["-P", "2", "-l", "1000"];
        all.extend(options);
        let document = client(IPERF3, address, &all).unwrap();
        document["end"]["sum_received"]["bytes"].as_u64()
    };
    let received: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let twelve = kinds.iter().cycle().take(12);
        let clients: Vec<_> = twelve
            .map(|options| scope.spawn(move || run(options)))
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().unwrap())
            .collect()
    });
    assert!(
        received
            .iter()
            .all(|bytes| bytes.is_some_and(|bytes| bytes > 0)),
        "{received:?}"
    );
}

#[test]
fn one_client_makes_test_after_test_against_a_server_that_closes_in_between() {
    let server = RealServer::start(IPERF3, HERE, &[]).unwrap();
    let mut own = server.connect().unwrap();
    for (transport, way) in [
        (Transport::Udp, Way::Normal),
        (Transport::Tcp, Way::Both),
        (Transport::Udp, Way::Reverse),
    ] {
        let cell = Cell {
            role: Role::Client,
            transport,
            way,
            is_v6: false,
        };
        let outcome = own.run(&spec(cell), &mut |_| true).unwrap();
        for done in &outcome.directions {
            let counts = both(cell, done).unwrap();
            assert!(counts.iter().all(Count::agrees), "{cell}: {counts:?}");
        }
    }
}

#[test]
fn a_server_that_makes_another_test_is_told_to_be_busy() {
    let server = RealServer::start(IPERF3, HERE, &[]).unwrap();
    let mut first = server.connect().unwrap();
    let cell = Cell {
        role: Role::Client,
        transport: Transport::Tcp,
        way: Way::Normal,
        is_v6: false,
    };
    let mut second = None;
    let outcome = first.run(&spec(cell), &mut |pulse| {
        if second.is_none() && pulse.bytes > 0 {
            second = Some(server.connect().err());
        }
        true
    });
    let counts = both(cell, &outcome.unwrap().directions[0]).unwrap();
    assert!(counts.iter().all(Count::agrees), "{counts:?}");
    let error = second.flatten().expect("it makes one test at a time");
    let failure = error.downcast::<Failure>().unwrap();
    assert!(failure.message.contains("busy"), "{failure}");
}

#[test]
fn a_client_that_omits_gets_results_without_what_it_omitted() {
    let server = OwnServer::start(HERE, "iperf3").unwrap();
    for more in [&["-u"][..], &["-u", "-R"], &[], &["-R"]] {
        let mut options = vec!["-O", "1", "-t", "1", "-b", "4M", "-l", "1000"];
        options.extend(more);
        let end = client(IPERF3, server.address, &options).unwrap()["end"].clone();
        let of = |sum: &str, key: &str| end[sum][key].as_f64().unwrap();
        // Half a second of the other's second is more than any shift between the two ends' clocks of it.
        let (sent, received) = (of("sum_sent", "bytes"), of("sum_received", "bytes"));
        assert!(sent < 750_000.0, "{more:?}: {end}");
        assert!((sent - received).abs() < 250_000.0, "{more:?}: {end}");
    }
}

#[test]
fn a_client_that_asks_for_it_gets_the_servers_output() {
    let server = OwnServer::start(HERE, "iperf3").unwrap();
    let options = ["--get-server-output", "-n", "100K", "-P", "2"];
    let document = client(IPERF3, server.address, &options).unwrap();
    let text = document["server_output_text"].as_str().unwrap();
    assert_eq!(text.matches("receiver").count(), 2, "{text}");
}

/// A client that does not look for the algorithm on its own host first, as a stock one does.
#[test]
fn a_congestion_control_that_the_servers_host_lacks_is_told_by_its_code() {
    let server = OwnServer::start(HERE, "iperf3").unwrap();
    let open = || {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .write_all(b"abcdefghijklmnopqrstuvwxyz234567abcd\0")
            .unwrap();
        stream
    };
    let mut control = open();
    let wanted = br#"{"tcp":true,"time":1,"parallel":1,"congestion":"pigeon"}"#;
    let length = u32::try_from(wanted.len()).unwrap().to_be_bytes();
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    control.write_all(&[&length[..], wanted].concat()).unwrap();
    control.read_exact(&mut state).unwrap();
    let _data = open();
    let mut said = Vec::new();
    control.read_to_end(&mut said).unwrap();
    assert_eq!(said, [0xfe, 0, 0, 0, 134, 0, 0, 0, 0]);
}

#[test]
fn a_test_that_cannot_be_is_refused_in_iperf3s_own_words() {
    let server = OwnServer::start(HERE, "iperf3").unwrap();
    let error = client(
        IPERF3,
        server.address,
        &["-t", "1", "-P", "2", "-O", "60", "-b", "0", "-C", "pigeon"],
    );
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("ongestion"), "{text}");
    // The server goes on.
    client(IPERF3, server.address, &["-n", "1K"]).unwrap();
}
