//! Testbeds on the real kernel: needs user namespaces, so run with `--ignored`.
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_model::Clock as _;
use linerate_model::{BitRate, ByteCount, PacketCount, Ratio};
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::netlink::{InterfaceName, Netlink};
use linerate_sys::packet::{FrameSender, PacketRing, RingLayout, Tags};
use linerate_testbed::{
    Host, HostId, InlineLink, Link, LinkConfig, LinkCounters, PacketFilter, TwoHosts,
    enter_user_namespace,
};
use linerate_testkit::namespaces::{Case, namespace_main};
use std::fs;
use std::io::{IoSlice, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

const CASES: &[Case] = &[
    Case {
        name: "datagrams_and_replies_cross_the_element_in_both_families",
        run: datagrams_and_replies_cross_the_element_in_both_families,
    },
    Case {
        name: "datagrams_cross_a_direct_link",
        run: datagrams_cross_a_direct_link,
    },
    Case {
        name: "datagrams_cross_a_router_in_both_families",
        run: datagrams_cross_a_router_in_both_families,
    },
    Case {
        name: "jumbo_frames_cross_the_element",
        run: jumbo_frames_cross_the_element,
    },
    Case {
        name: "a_drop_list_is_exact_beside_duplicates_and_reordering",
        run: a_drop_list_is_exact_beside_duplicates_and_reordering,
    },
    Case {
        name: "a_full_queue_drops_and_every_packet_is_accounted_for",
        run: a_full_queue_drops_and_every_packet_is_accounted_for,
    },
    Case {
        name: "tcp_survives_loss_and_sends_whole_frames_only",
        run: tcp_survives_loss_and_sends_whole_frames_only,
    },
    Case {
        name: "an_element_is_put_before_an_interface_and_taken_away",
        run: an_element_is_put_before_an_interface_and_taken_away,
    },
    Case {
        name: "vlan_tags_cross_the_element",
        run: vlan_tags_cross_the_element,
    },
    Case {
        name: "reset_and_reconfigure_start_lists_again",
        run: reset_and_reconfigure_start_lists_again,
    },
    Case {
        name: "nothing_is_left_after_teardown",
        run: nothing_is_left_after_teardown,
    },
];

fn main() -> ExitCode {
    namespace_main(enter_user_namespace, CASES)
}

const PORT: u16 = 5201;

fn addresses(host: &Host) -> [IpAddr; 2] {
    [host.ipv4().into(), host.ipv6().into()]
}

fn two_hosts(config: LinkConfig) -> TwoHosts {
    TwoHosts::create(Link::symmetric(config), 1).unwrap()
}

/// A socket bound on `host` to `address`.
fn socket_on(host: &Host, address: IpAddr, port: u16) -> UdpSocket {
    let bind = move || UdpSocket::bind(SocketAddr::new(address, port)).unwrap();
    let socket = host.spawn("bind", bind).unwrap().join().unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket
}

fn ping_pong(hosts: &TwoHosts) {
    let (a, b) = (hosts.host(HostId::A), hosts.host(HostId::B));
    for (own, other) in addresses(a).into_iter().zip(addresses(b)) {
        let client = socket_on(a, own, 0);
        let server = socket_on(b, other, PORT);
        client.send_to(&[7; 1000], (other, PORT)).unwrap();
        let mut buffer = [0; 2000];
        let (length, from) = server
            .recv_from(&mut buffer)
            .unwrap_or_else(|error| panic!("{own} to {other}: {error}"));
        assert_eq!((length, from), (1000, client.local_addr().unwrap()));
        server.send_to(&buffer[..500], from).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 500);
    }
}

fn counters(hosts: &TwoHosts) -> LinkCounters {
    let counters = hosts.link().unwrap().counters().unwrap();
    for direction in [counters.a_to_b, counters.b_to_a] {
        assert!(direction.faults.is_none(), "{direction:?}");
    }
    counters
}

fn datagrams_and_replies_cross_the_element_in_both_families() {
    let hosts = two_hosts(LinkConfig::default());
    ping_pong(&hosts);
    let counters = counters(&hosts);
    for direction in [counters.a_to_b, counters.b_to_a] {
        assert_eq!(direction.data.arrived, PacketCount::new(2));
        assert_eq!(direction.data.forwarded, PacketCount::new(2));
    }
    assert_eq!(
        counters.a_to_b.data.forwarded_bytes,
        ByteCount::new((1000 + 42) + (1000 + 62))
    );
    hosts.close().unwrap();
}

fn datagrams_cross_a_direct_link() {
    let hosts = TwoHosts::create(Link::Direct { mtu: 9000 }, 1).unwrap();
    ping_pong(&hosts);
    assert!(hosts.link().is_none());
    hosts.close().unwrap();
}

/// The router counts them: they did not find a way around it.
fn datagrams_cross_a_router_in_both_families() {
    let hosts = TwoHosts::create(Link::Routed { mtu: 1500 }, 1).unwrap();
    ping_pong(&hosts);
    let read = || fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let router = hosts.router().unwrap();
    let snmp = router.spawn("count", read).unwrap().join().unwrap();
    let mut ip = snmp.lines().filter(|line| line.starts_with("Ip:"));
    let (names, values) = (ip.next().unwrap(), ip.next().unwrap());
    let forwarded = names
        .split_whitespace()
        .zip(values.split_whitespace())
        .find(|(name, _)| *name == "ForwDatagrams")
        .unwrap();
    assert_eq!(forwarded.1, "2");
    hosts.close().unwrap();
}

/// Beyond the element nobody learns another MAC address: host B's neighbour entries are permanent.
fn an_element_is_put_before_an_interface_and_taken_away() {
    let hosts = two_hosts(LinkConfig::default());
    let a = hosts.host(HostId::A);
    let delay = Duration::from_millis(20);
    let delayed = |delay| LinkConfig {
        delay,
        ..LinkConfig::default()
    };
    let work = || {
        a.enter().unwrap();
        let name = InterfaceName::new(a.interface()).unwrap();
        let address = || {
            let mut netlink = Netlink::new().unwrap();
            let index = netlink.link_named(&name).unwrap().index;
            netlink.add_address(index, a.ipv4().into(), 24).unwrap();
            netlink.set_up(index).unwrap();
        };
        let link = InlineLink::insert(&name, &delayed(delay), 1).unwrap();
        address();
        assert!(round_trip(&hosts) >= 2 * delay);
        link.reconfigure(&delayed(2 * delay)).unwrap();
        assert!(round_trip(&hosts) >= 4 * delay);
        link.remove().unwrap();
        address();
        let direct = (0..5).map(|_| round_trip(&hosts)).min().unwrap();
        assert!(direct < 2 * delay, "{direct:?}");
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap());
    hosts.close().unwrap();
}

/// From host A to host B and back.
fn round_trip(hosts: &TwoHosts) -> Duration {
    let [client, server] = [HostId::A, HostId::B].map(|id| {
        let host = hosts.host(id);
        socket_on(host, host.ipv4().into(), PORT)
    });
    let begun = MonoClock.now();
    client
        .send_to(&[7; 100], server.local_addr().unwrap())
        .unwrap();
    let mut buffer = [0; 100];
    let (_, from) = server.recv_from(&mut buffer).unwrap();
    server.send_to(&buffer, from).unwrap();
    client.recv(&mut buffer).unwrap();
    MonoClock.now().saturating_since(begun)
}

fn jumbo_frames_cross_the_element() {
    let link = Link::Element {
        a_to_b: Box::default(),
        b_to_a: Box::default(),
        mtu: 9000,
    };
    let hosts = TwoHosts::create(link, 1).unwrap();
    let [client, server] = [HostId::A, HostId::B].map(|id| {
        let host = hosts.host(id);
        socket_on(host, host.ipv4().into(), PORT)
    });
    let sent: Vec<u8> = (0..=u8::MAX).cycle().take(8972).collect();
    let to = SocketAddr::new(hosts.host(HostId::B).ipv4().into(), PORT);
    client.send_to(&sent, to).unwrap();
    let mut received = vec![0; 9000];
    let length = server.recv(&mut received).unwrap();
    assert_eq!(received[..length], sent);
    assert_eq!(counters(&hosts).a_to_b.data.arrived, PacketCount::new(1));
    hosts.close().unwrap();
}

/// Frames of the largest length, with a tag and without, arrive as they were sent.
fn vlan_tags_cross_the_element() {
    let hosts = two_hosts(LinkConfig::default());
    let port = |id| {
        hosts.host(id).enter().unwrap();
        let name = InterfaceName::new(hosts.host(id).interface()).unwrap();
        Netlink::new().unwrap().link_named(&name).unwrap().index
    };
    let work = || {
        let to = port(HostId::B);
        let layout = RingLayout::new(1600, 1 << 20).unwrap();
        let mut ring = PacketRing::open_with(to, layout, Tags::Kept).unwrap();
        let sender = FrameSender::open(port(HostId::A)).unwrap();
        let head = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        let frame = |tag: &[u8], payload: usize| {
            let payload = vec![0x5a; payload];
            [&head, tag, &[0x88, 0xb5], &payload].concat()
        };
        let sent = [
            frame(&[0x81, 0, 0x60, 10], 1500),
            frame(&[], 1500),
            frame(&[0x88, 0xa8, 0, 20], 46),
        ];
        for frame in &sent {
            sender.send(&[IoSlice::new(frame)]).unwrap();
        }
        let (mut received, limit) = (Vec::new(), MonoClock.now().after(PATIENCE));
        while received.len() < sent.len() && !has_passed(limit) {
            ring.drain(16, |frame| {
                if frame.bytes.starts_with(&head) {
                    received.push(frame.bytes.to_vec());
                }
            });
        }
        assert!(received == sent, "{} frames", received.len());
    };
    thread::scope(|scope| scope.spawn(work).join().unwrap());
    hosts.close().unwrap();
}

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a receiver saw of numbered datagrams.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    distinct: u64,
    duplicates: u64,
    reordered: u64,
}

/// Counts numbered datagrams until the one with number `u64::MAX`. A datagram without a number
/// is a mark, passed on to the sender's thread.
fn receive_numbers(socket: &UdpSocket, marks: &Sender<()>) -> Seen {
    let mut seen = Seen::default();
    let mut known = Vec::new();
    let mut next = 0;
    let mut buffer = [0; 2000];
    loop {
        let length = socket.recv(&mut buffer).unwrap();
        if length < 8 {
            marks.send(()).unwrap();
            continue;
        }
        let number = u64::from_be_bytes(buffer[..8].try_into().unwrap());
        if number == u64::MAX {
            return seen;
        }
        let index = usize::try_from(number).unwrap();
        known.resize(known.len().max(index + 1), false);
        if std::mem::replace(&mut known[index], true) {
            seen.duplicates += 1;
            continue;
        }
        seen.distinct += 1;
        seen.reordered += u64::from(number < next);
        next = next.max(number + 1);
    }
}

/// Sends `count` datagrams of 1448 bytes from A to B and returns what B saw. After each `window`
/// datagrams it waits until B has read them, so that a window that fits into B's socket buffer
/// can be lost nowhere but in the link. Marks are too short to be data to the link.
fn exchange(hosts: &TwoHosts, count: u64, window: u64) -> Seen {
    let (a, b) = (hosts.host(HostId::A), hosts.host(HostId::B));
    let sender = socket_on(a, a.ipv4().into(), 0);
    let receiver = socket_on(b, b.ipv4().into(), PORT);
    sender.connect((b.ipv4(), PORT)).unwrap();
    let (marks, marked) = channel();
    let thread = b
        .spawn("receiver", move || receive_numbers(&receiver, &marks))
        .unwrap();
    let mut datagram = [0; 1448];
    for number in 0..count {
        datagram[..8].copy_from_slice(&number.to_be_bytes());
        sender.send(&datagram).unwrap();
        if (number + 1) % window == 0 {
            sender.send(&[1; 4]).unwrap();
            marked.recv_timeout(Duration::from_secs(10)).unwrap();
        }
    }
    // The queue may be full, so the end is said until the receiver has heard it.
    while marked.recv_timeout(Duration::from_millis(20)) != Err(RecvTimeoutError::Disconnected) {
        sender.send(&u64::MAX.to_be_bytes()).unwrap();
    }
    thread.join().unwrap()
}

fn a_drop_list_is_exact_beside_duplicates_and_reordering() {
    let drop = "5, 17, 400-420, 50001-50114"; // 137
    let config = LinkConfig {
        rate: Some(BitRate::from_bps(1_000_000_000)),
        drop: drop.parse().unwrap(),
        duplicate: Ratio::new(0.01).unwrap(),
        reorder_list: "100, 5000, 60000-60001".parse().unwrap(),
        displacement: 3,
        ..LinkConfig::default()
    };
    let hosts = two_hosts(config);
    let seen = exchange(&hosts, 100_000, 32);
    let link = counters(&hosts).a_to_b;
    assert_eq!(seen.distinct, 100_000 - 137);
    assert_eq!(seen.reordered, 4);
    assert!(seen.duplicates > 0);
    assert_eq!(link.data.arrived, PacketCount::new(100_000));
    assert_eq!(link.data.dropped_by_list, PacketCount::new(137));
    assert_eq!(link.data.dropped(), PacketCount::new(137));
    assert_eq!(link.data.duplicated, PacketCount::new(seen.duplicates));
    assert_eq!(link.data.reordered, PacketCount::new(seen.reordered));
    assert_eq!(
        link.data.forwarded,
        PacketCount::new(seen.distinct + seen.duplicates)
    );
    hosts.close().unwrap();
}

fn a_full_queue_drops_and_every_packet_is_accounted_for() {
    let rate = BitRate::from_bps(20_000_000);
    let hosts = two_hosts(LinkConfig::with_rate(rate, ByteCount::new(20_000)));
    let seen = exchange(&hosts, 2_000, u64::MAX);
    let link = counters(&hosts).a_to_b;
    assert!(link.data.dropped_by_queue.get() > 0, "{link:?}");
    assert_eq!(link.data.dropped(), link.data.dropped_by_queue);
    assert_eq!(
        seen.distinct,
        2_000 - link.data.dropped_by_queue.get(),
        "{link:?}"
    );
    assert_eq!((seen.duplicates, seen.reordered), (0, 0));
    assert!(link.max_queue <= ByteCount::new(20_000), "{link:?}");
    assert!(link.max_queue > ByteCount::new(20_000 - 1490), "{link:?}");
    hosts.close().unwrap();
}

fn tcp_survives_loss_and_sends_whole_frames_only() {
    const BYTES: usize = 2_000_000;
    let config = LinkConfig {
        loss: Ratio::new(0.005).unwrap(),
        filter: PacketFilter::TCP_DATA,
        ..LinkConfig::default()
    };
    let hosts = two_hosts(config);
    let (a, b) = (hosts.host(HostId::A), hosts.host(HostId::B));
    let address = SocketAddr::new(b.ipv6().into(), PORT);
    let listen = move || TcpListener::bind(address).unwrap();
    let listener = b.spawn("listen", listen).unwrap().join().unwrap();
    let client = a
        .spawn("client", move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(&vec![9; BYTES]).unwrap();
        })
        .unwrap();
    let mut received = Vec::new();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_to_end(&mut received).unwrap();
    client.join().unwrap();
    assert_eq!(received, vec![9; BYTES]);
    let link = counters(&hosts).a_to_b;
    assert!(link.data.dropped_by_loss.get() > 0, "{link:?}");
    assert_eq!(link.data.oversize, PacketCount::default());
    // 1500 - 40 - 32 (timestamps) bytes per segment at most: no aggregate reached the link.
    assert!(link.data.arrived.get() >= 2_000_000 / 1428, "{link:?}");
    hosts.close().unwrap();
}

fn reset_and_reconfigure_start_lists_again() {
    let drop = |list: &str| LinkConfig {
        drop: list.parse().unwrap(),
        ..LinkConfig::default()
    };
    let hosts = two_hosts(drop("1-10"));
    assert_eq!(exchange(&hosts, 100, 10).distinct, 90);
    let link = hosts.link().unwrap();
    link.reset().unwrap();
    assert_eq!(counters(&hosts), LinkCounters::default());
    link.reconfigure(HostId::A, drop("1, 100")).unwrap();
    assert_eq!(exchange(&hosts, 100, 10).distinct, 98);
    assert_eq!(
        counters(&hosts).a_to_b.data.dropped_by_list,
        PacketCount::new(2)
    );
    hosts.close().unwrap();
}

/// Descriptors and threads of this process.
fn belongings() -> (usize, usize) {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    (count("/proc/self/fd"), count("/proc/self/task"))
}

fn nothing_is_left_after_teardown() {
    let before = belongings();
    for _ in 0..3 {
        let hosts = two_hosts(LinkConfig::default());
        ping_pong(&hosts);
        assert_ne!(belongings(), before);
        hosts.close().unwrap();
        drop(TwoHosts::create(Link::Direct { mtu: 1500 }, 1).unwrap());
        drop(two_hosts(LinkConfig::default()));
    }
    assert_eq!(belongings(), before);
}
