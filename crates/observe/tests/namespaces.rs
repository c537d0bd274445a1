//! Two hosts in one process, each a network namespace of its own threads: each observer must tell
//! of its own host only, and to the packet.
//!
//! Needs a new network namespace: as root directly, as an ordinary user in a new user namespace,
//! for which the test starts itself again through `unshare` of util-linux.
#![expect(clippy::unwrap_used, reason = "all of this file is tests")]

use linerate_model::signals;
use linerate_model::{Clock as _, MonoInstant};
use linerate_observe::{Observer, Scope, Snapshot, interface_for};
use linerate_sys::clock::MonoClock;
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Netlink, Qdisc};
use rustix::io::Errno;
use rustix::thread::UnshareFlags;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::process::Command;

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Runs `body` where namespaces can be made.
fn privileged(test: &str, body: fn()) {
    match on_new_host(|| ()) {
        Ok(()) => body(),
        Err(Errno::PERM) if !rustix::process::geteuid().is_root() => {
            let status = Command::new("unshare")
                .args(["--user", "--map-root-user"])
                .arg(std::env::current_exe().unwrap())
                .args(["--exact", test, "--include-ignored"])
                .status()
                .expect("unshare of util-linux is needed");
            assert!(status.success());
        }
        Err(error) => panic!("no new network namespace: {error}"),
    }
}

/// Runs `body` in a new thread that is alone in a new network namespace.
fn on_new_host<T: Send>(body: impl FnOnce() -> T + Send) -> Result<T, Errno> {
    std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            #[expect(
                deprecated,
                reason = "its unsafe twin guards against CLONE_FILES, unused here"
            )]
            rustix::thread::unshare(UnshareFlags::NEWNET)?;
            Ok(body())
        });
        host.join().unwrap()
    })
}

/// The calling thread's loopback device.
fn loopback() -> (Netlink, InterfaceIndex) {
    let mut netlink = Netlink::new().unwrap();
    let lo = InterfaceName::new("lo").unwrap();
    let index = netlink.link_named(&lo).unwrap().index;
    (netlink, index)
}

fn loopback_up() {
    let (mut netlink, index) = loopback();
    netlink.set_up(index).unwrap();
}

/// Puts a `pfifo` that holds nothing at the root: it drops every packet.
fn drop_everything() {
    let (mut netlink, index) = loopback();
    let holds_nothing = Qdisc {
        kind: "pfifo".to_owned(),
        handle: 0,
        options: 0_u32.to_ne_bytes().to_vec(),
    };
    netlink.replace_root_qdisc(index, &holds_nothing).unwrap();
}

fn observer() -> Observer {
    let scope = Scope::live(None);
    let interface = interface_for(&scope, LOOPBACK, LOOPBACK);
    Observer::new(Scope::live(interface))
}

/// What each signal gained while `body` ran.
fn gained<T>(body: impl FnOnce() -> T) -> (T, impl Fn(&str) -> u64) {
    let observer = observer();
    let before = observer.snapshot(MonoClock.now());
    let result = body();
    let after = observer.snapshot(MonoClock.now());
    let gained = move |signal: &str| {
        let gain = after.gained(&before, signal);
        gain.unwrap_or_else(|| panic!("{signal}: {:?}", after.missing.get(signal)))
    };
    (result, gained)
}

fn socket() -> (UdpSocket, UdpSocket) {
    let receiver = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    receiver.set_nonblocking(true).unwrap();
    let sender = UdpSocket::bind((LOOPBACK, 0)).unwrap();
    sender.connect(receiver.local_addr().unwrap()).unwrap();
    (sender, receiver)
}

fn send(sender: &UdpSocket, datagrams: u64) {
    for _ in 0..datagrams {
        sender.send(&[0; 1000]).unwrap();
    }
}

fn drain(socket: &UdpSocket) -> u64 {
    let mut buffer = [0; 2000];
    let mut received = 0;
    while socket.recv(&mut buffer).is_ok() {
        received += 1;
    }
    received
}

#[test]
#[ignore = "needs user namespaces or CAP_SYS_ADMIN"]
fn each_host_sees_its_own_traffic_to_the_packet() {
    privileged("each_host_sees_its_own_traffic_to_the_packet", || {
        on_new_host(|| {
            loopback_up();
            let (other, here) = gained(|| {
                let quiet = || observer().snapshot(MonoInstant::default());
                let before = on_new_host(quiet).unwrap();
                let (sender, receiver) = socket();
                send(&sender, 50);
                assert_eq!(drain(&receiver), 50);
                (before, on_new_host(quiet).unwrap())
            });
            assert_eq!(here(signals::UDP_OUT_DATAGRAMS), 50);
            assert_eq!(here(signals::UDP_IN_DATAGRAMS), 50);
            assert_eq!(here(signals::NIC_TX_PACKETS), 50);
            // The loopback device counts packets without their MAC header, unlike Ethernet.
            assert_eq!(here(signals::NIC_RX_BYTES), 50 * (1000 + 8 + 20));
            assert_eq!(here(signals::QDISC_DROPPED), 0);
            for snapshot in [other.0, other.1] {
                assert_is_quiet(&snapshot);
            }
        })
        .unwrap();
    });
}

fn assert_is_quiet(snapshot: &Snapshot) {
    for signal in [signals::UDP_OUT_DATAGRAMS, signals::NIC_TX_PACKETS] {
        assert_eq!(snapshot.values.get(signal), Some(&0), "{signal}");
    }
}

#[test]
#[ignore = "needs user namespaces or CAP_SYS_ADMIN"]
fn overflows_of_a_socket_are_counted_to_the_packet() {
    privileged("overflows_of_a_socket_are_counted_to_the_packet", || {
        on_new_host(|| {
            loopback_up();
            let (received, here) = gained(|| {
                let (sender, receiver) = socket();
                send(&sender, 5000);
                drain(&receiver)
            });
            assert!(received < 5000, "a default buffer holds no 5000 datagrams");
            assert_eq!(here(signals::UDP_RCVBUF_ERRORS), 5000 - received);
            assert_eq!(here(signals::UDP_IN_DATAGRAMS), received);
        })
        .unwrap();
    });
}

#[test]
#[ignore = "needs user namespaces or CAP_SYS_ADMIN"]
fn drops_of_a_queueing_discipline_are_counted_to_the_packet() {
    privileged(
        "drops_of_a_queueing_discipline_are_counted_to_the_packet",
        || {
            on_new_host(|| {
                loopback_up();
                drop_everything();
                let (received, here) = gained(|| {
                    let (sender, receiver) = socket();
                    send(&sender, 137);
                    drain(&receiver)
                });
                assert_eq!(received, 0);
                assert_eq!(here(signals::QDISC_DROPPED), 137);
                assert_eq!(here(signals::UDP_SNDBUF_ERRORS), 137);
                assert_eq!(here(signals::NIC_TX_PACKETS), 0);
                let discipline = observer().facts().queueing_discipline;
                assert_eq!(discipline.as_deref(), Some("pfifo"));
            })
            .unwrap();
        },
    );
}

#[test]
#[ignore = "needs user namespaces or CAP_SYS_ADMIN"]
fn the_rate_of_a_shaper_is_the_kernels_where_it_has_one() {
    let class = "class add dev lo parent 1: classid 1:1 htb rate 20mbit ceil 50mbit";
    let below = "class add dev lo parent 1:1 classid 1:2 htb rate 10mbit ceil";
    let (equal, other) = (format!("{below} 90mbit"), format!("{below} 30mbit"));
    let sibling = "class add dev lo parent 1:1 classid 1:3 htb rate 10mbit ceil 60mbit";
    let htb = |default| format!("qdisc add dev lo root handle 1: htb default {default}");
    let cases: [(&[&str], Option<u64>); 6] = [
        (
            &["qdisc add dev lo root tbf rate 30mbit burst 4k limit 9k"],
            Some(30),
        ),
        (&[&htb(1), class], Some(50)),
        (&[&htb(2), class, &equal], Some(50)),
        (&[&htb(2), class, &other], Some(30)),
        (&[&htb(2), class, &other, sibling], None),
        (&[&htb(0), class], None),
    ];
    for (commands, mbit) in cases {
        let read = on_new_host(|| {
            loopback_up();
            for command in commands {
                let status = Command::new("tc").args(command.split(' ')).status();
                assert!(
                    status.expect("tc of iproute2 is needed").success(),
                    "{command}"
                );
            }
            observer().facts().queueing_discipline_rate_bps
        });
        let read = read.unwrap().map(|rate| rate.bps() / 1_000_000);
        assert_eq!(read, mbit, "{commands:?}");
    }
}
