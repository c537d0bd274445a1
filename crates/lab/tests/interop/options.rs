//! Options of single tests whose meaning changed over iperf3's versions, with every program that is named.

use crate::ends::{OwnServer, spec};
use crate::iperf3::{Iperf3, RealServer};
use crate::matrix::{Cell, Role, Tool as _, Way, programs};
use linerate_agent::AgentPlan;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::spec::{TestSpec, Transport};
use linerate_session::login::{Login, Padding, read_login, read_logins};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The programs, each with the number after the dot of its version.
fn by_version() -> Vec<(String, u32)> {
    let minor = |program: &String| -> Option<u32> {
        let version = Iperf3.version(program).ok()?;
        let (_, minor) = version.split_once('.')?;
        minor.split(['.', '+', '-']).next()?.parse().ok()
    };
    let with_version = |program: String| {
        let minor = minor(&program).unwrap_or_else(|| panic!("not run: iperf3 ({program})"));
        (program, minor)
    };
    programs(&Iperf3).into_iter().map(with_version).collect()
}

/// A file beside this one: a pair of keys and a list of users that serve this test only.
fn file(name: &str) -> PathBuf {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/login");
    [folder, name].iter().collect()
}

const fn padding(minor: u32) -> Padding {
    if minor < 17 {
        Padding::Pkcs1
    } else {
        Padding::Oaep
    }
}

fn mario(password: &str, padding: Padding) -> Arc<Login> {
    let login = read_login("mario", password, &file("public.pem"), padding);
    Arc::new(login.expect("the key beside this file"))
}

fn tcp() -> TestSpec {
    spec(Cell {
        role: Role::Client,
        transport: Transport::Tcp,
        way: Way::Normal,
        is_v6: false,
    })
}

#[test]
fn an_iperf3_server_lets_in_its_user_and_nobody_else() {
    for (program, minor) in by_version() {
        let (key, list) = (file("private.pem"), file("users.csv"));
        let options = [
            "--rsa-private-key-path",
            key.to_str().unwrap(),
            "--authorized-users-path",
            list.to_str().unwrap(),
        ];
        let server = RealServer::start(&program, HERE, &options).unwrap();
        let outcome = |login| {
            let mut target = Target::new(PeerAddress::parse(&server.url()).unwrap());
            target.login = login;
            let mut client = Client::connect(&target).unwrap();
            client.run(&tcp(), &mut |_| true)
        };
        assert!(
            outcome(Some(mario("rossi", padding(minor)))).is_ok(),
            "{program}"
        );
        for login in [None, Some(mario("verdi", padding(minor)))] {
            let error = outcome(login).unwrap_err().to_string();
            assert!(error.contains("--login"), "{program}: {error}");
        }
    }
}

#[test]
fn an_iperf3_client_is_let_in_with_its_password_and_not_without() {
    for (program, minor) in by_version() {
        let logins = read_logins(&file("users.csv"), &file("private.pem"), padding(minor));
        let plan = AgentPlan {
            logins: Some(Arc::new(logins.unwrap())),
            ..AgentPlan::private()
        };
        let server = OwnServer::with(HERE, "iperf3", plan).unwrap();
        let error_of = |password: Option<&str>| {
            let key = file("public.pem");
            let mut command = Command::new(&program);
            command
                .args(["-J", "-n", "100K", "-c", &HERE.to_string()])
                .args(["-p", &server.address.port().to_string()]);
            if let Some(password) = password {
                command
                    .args(["--username", "mario", "--rsa-public-key-path"])
                    .arg(key)
                    .env("IPERF3_PASSWORD", password);
            }
            let output = command.output().unwrap();
            let document: Value = serde_json::from_slice(&output.stdout).unwrap();
            document["error"].as_str().map(str::to_owned)
        };
        assert_eq!(error_of(Some("rossi")), None, "{program}");
        for password in [None, Some("verdi")] {
            let error = error_of(password).unwrap();
            assert!(error.contains("authorization"), "{program}: {error}");
        }
    }
}

#[test]
fn what_an_iperf3_server_prints_is_kept_if_it_is_wanted() {
    for (program, _) in by_version() {
        let server = RealServer::start(&program, HERE, &["-1"]).unwrap();
        let mut target = Target::new(PeerAddress::parse(&server.url()).unwrap());
        target.far_output = true;
        let mut client = Client::connect(&target).unwrap();
        let printed = client.run(&tcp(), &mut |_| true).unwrap().far_output;
        let printed = printed.unwrap_or_else(|| panic!("{program} sends no output"));
        assert!(printed.contains("receiver"), "{program}: {printed}");
    }
}

/// 3.14 and later tell datagrams of the warm-up apart.
#[test]
fn datagrams_of_a_warm_up_are_not_counted_where_iperf3_tells_them_apart() {
    for (program, minor) in by_version() {
        for way in [Way::Normal, Way::Reverse] {
            let server = RealServer::start(&program, HERE, &["-1"]).unwrap();
            let cell = Cell {
                role: Role::Client,
                transport: Transport::Udp,
                way,
                is_v6: false,
            };
            let warm = TestSpec {
                warm_up: Duration::from_secs(1),
                ..spec(cell)
            };
            let outcome = server.connect().unwrap().run(&warm, &mut |_| true);
            if way == Way::Normal && minor < 14 {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("leave out --warm-up"), "{error}");
                continue;
            }
            let done = outcome.unwrap().directions.remove(0);
            let packets = |report: Option<linerate_model::sample::EndpointReport>| -> u64 {
                let streams = report.unwrap().streams;
                streams.iter().map(|stream| stream.packets.get()).sum()
            };
            let (sent, received) = (packets(done.sender), packets(done.receiver));
            // A second of 4 Mbit/s in datagrams of 1100 bytes is 454; with the warm-up it would be twice that.
            assert!((300..600).contains(&sent), "{program}, {way}: {sent}");
            assert_eq!(sent, received, "{program}, {way}");
        }
    }
}
