//! Both ends of sfnt-pingpong are linerate's: the tool itself is in no distribution. The wire is held to the
//! tool's by transcripts (`peers/src/sfnt/transcripts`).

use crate::ends::OwnServer;
use anyhow::{Context as _, Result, ensure};
use linerate_agent::AgentPlan;
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_model::sample::StreamReport;
use linerate_model::spec::{Stop, TestSpec, Transport, WaitMode};
use linerate_model::{ByteCount, Histogram};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::time::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn server(ip: IpAddr) -> Result<OwnServer> {
    let plan = AgentPlan {
        settings: [("sfnt-version".to_owned(), "1.6.0-rc2".to_owned())].into(),
        ..AgentPlan::private()
    };
    OwnServer::with(ip, "sfnt", plan)
}

fn client(server: SocketAddr) -> Result<Client> {
    let far = PeerAddress::parse(&format!("sfnt://{server}"))?;
    Client::connect(&Target::new(far))
}

fn spec(transport: Transport, size: u64) -> TestSpec {
    TestSpec {
        stop: Stop::Transactions(300),
        ..TestSpec::ping_pong(transport).with_payload(ByteCount::new(size))
    }
}

/// What the requester saw of one test.
fn measured(client: &mut Client, spec: &TestSpec) -> Result<StreamReport> {
    let outcome = client.run(spec, &mut |_| true)?;
    let done = outcome.directions.first().context("a direction")?;
    ensure!(done.receiver.is_none(), "the protocol tells nothing of it");
    let sender = done.sender.as_ref().context("a report")?;
    Ok(sender.streams[0].clone())
}

fn every_size(transport: Transport, sizes: &[u64]) -> Result<()> {
    for ip in [HERE, Ipv6Addr::LOCALHOST.into()] {
        // Two sessions of a server that a stock one would have to be started for again.
        let server = server(ip)?;
        for wait in [WaitMode::Block, WaitMode::Spin] {
            let mut client = client(server.address)?;
            for size in sizes {
                let spec = TestSpec {
                    wait,
                    ..spec(transport, *size)
                };
                let seen = measured(&mut client, &spec)?;
                assert_eq!(seen.packets.get(), 300, "{ip} {size} {wait:?}: {seen:?}");
                assert_eq!(seen.bytes.get(), 300 * size);
                assert_eq!(seen.work.rtt().map(Histogram::len), Some(300));
            }
        }
    }
    Ok(())
}

#[test]
fn every_size_comes_back_over_tcp() {
    every_size(Transport::Tcp, &[1, 64, 65_536]).unwrap();
}

#[test]
fn every_size_comes_back_over_udp() {
    every_size(Transport::Udp, &[0, 64, 1473, 32_768]).unwrap();
}

#[test]
fn many_clients_are_served_at_once_and_by_time() {
    let server = server(HERE).unwrap();
    std::thread::scope(|scope| {
        for transport in [Transport::Tcp, Transport::Udp].repeat(3) {
            let server = server.address;
            scope.spawn(move || {
                let spec = TestSpec {
                    stop: Stop::After(Duration::from_millis(300)),
                    warm_up: Duration::from_millis(50),
                    ..spec(transport, 32)
                };
                let seen = measured(&mut client(server).unwrap(), &spec).unwrap();
                assert!(seen.packets.get() > 0, "{seen:?}");
            });
        }
    });
}

#[test]
fn one_client_changes_transport_by_connecting_again() {
    let server = server(HERE).unwrap();
    let mut client = client(server.address).unwrap();
    for transport in [Transport::Udp, Transport::Tcp, Transport::Udp] {
        let seen = measured(&mut client, &spec(transport, 8)).unwrap();
        assert_eq!(seen.packets.get(), 300);
    }
}

#[test]
fn a_bulk_transfer_is_refused_and_the_next_test_is_made() {
    let server = server(HERE).unwrap();
    let mut client = client(server.address).unwrap();
    let error = client.run(&TestSpec::tcp_bulk(), &mut |_| true);
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("linerate latency"), "{text}");
    let mut next = self::client(server.address).unwrap();
    measured(&mut next, &spec(Transport::Tcp, 8)).unwrap();
}

#[test]
fn a_datagram_that_is_lost_ends_the_run_with_what_to_do() {
    use std::io::{Read as _, Write as _};
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let far = PeerAddress::parse(&format!("sfnt://{}", listener.local_addr().unwrap())).unwrap();
    let server = std::thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        // A socket that answers nothing.
        let data = UdpSocket::bind((HERE, 0)).unwrap();
        let port = data.local_addr().unwrap().port().to_be_bytes();
        control
            .write_all(b"\x04\x00\x00\x001.6\x00\x02\x00\x00\x00x\x00")
            .unwrap();
        // It says where its socket is when it has the options, as the tool does.
        control.read_exact(&mut [0; 4]).unwrap();
        let place = [&[0; 4][..], &[2, 0, 0, 0], &port, &[127, 0, 0, 1]].concat();
        control.write_all(&place).unwrap();
        let mut rest = Vec::new();
        control.read_to_end(&mut rest).unwrap();
        drop(data);
    });
    let mut client = Client::connect(&Target::new(far)).unwrap();
    let error = client.run(&spec(Transport::Udp, 8), &mut |_| true);
    let text = format!("{:#}", error.unwrap_err());
    assert!(text.contains("lost"), "{text}");
    drop(client);
    server.join().unwrap();
}
