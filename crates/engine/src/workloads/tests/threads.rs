//! Streams that share threads.

use super::*;
use linerate_model::sample::FlowCounts;

/// Counts of each stream, thread after thread.
fn of_streams(reports: &[StreamReport]) -> Vec<u64> {
    let counts = reports.iter().filter_map(|report| report.flows.as_ref());
    counts.flat_map(FlowCounts::iter).collect()
}

#[test]
fn streams_that_share_threads_are_each_counted_alike_at_both_ends() {
    for (pace, wait) in [
        (Pace::Unpaced, WaitMode::Block),
        (Pace::Unpaced, WaitMode::Spin),
        (Pace::At(BitRate::from_bps(400_000_000)), WaitMode::Block),
    ] {
        for side in [Side::Sender, Side::Receiver] {
            let spec = TestSpec {
                streams: 200,
                threads: Some(3),
                wait,
                ..bulk(20_000_003).with_pace(pace)
            };
            let (sent, received) = exchange(&spec, side, "127.0.0.1:0");
            assert_eq!((sent.len(), received.len()), (3, 3));
            assert_eq!(total_bytes(&sent), 20_000_003, "{side:?}, {pace:?}");
            assert_eq!(total_bytes(&received), 20_000_003, "{side:?}, {pace:?}");
            let (sent, received) = (of_streams(&sent), of_streams(&received));
            assert_eq!(sent.len(), 200);
            assert_eq!(sent, received, "{side:?}, {pace:?}");
            assert_eq!(sent.iter().sum::<u64>(), 20_000_003);
        }
    }
}

#[test]
fn datagrams_of_streams_that_share_threads_are_each_counted_alike_at_both_ends() {
    let cases = [
        (1, 1, WaitMode::Block, "127.0.0.1:0"),
        (200, 3, WaitMode::Spin, "127.0.0.1:0"),
        (1000, 2, WaitMode::Block, "[::1]:0"),
    ];
    for (streams, threads, wait, address) in cases {
        for side in [Side::Sender, Side::Receiver] {
            let spec = TestSpec {
                streams,
                threads: Some(threads),
                wait,
                ..datagrams(2503)
            };
            let (sent, received) = exchange(&spec, side, address);
            let what = format!("{streams} streams, {side:?}");
            assert_eq!(sent.len(), usize::from(threads), "{what}");
            assert_eq!(total_packets(&sent), 2503, "{what}");
            assert_eq!(total_packets(&received), 2503, "{what}");
            for seen in &received {
                let work = seen.work.get::<DatagramReceiver>().unwrap();
                assert_eq!(work.sequence.foreign.get(), 0, "{what}");
                assert_eq!(work.sequence.reordered.get(), 0, "{what}");
                assert_eq!(work.socket.socket_overflows.unwrap().get(), 0, "{what}");
                assert_eq!(work.times.pdv.as_ref().unwrap().len(), seen.packets.get());
            }
            let (sent, received) = (of_streams(&sent), of_streams(&received));
            assert_eq!(sent.len(), usize::from(streams), "{what}");
            assert_eq!(sent, received, "{what}");
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(
                most - least <= u64::from(threads),
                "{what}: {least}, {most}"
            );
        }
    }
}

#[test]
fn threads_are_refused_where_streams_cannot_share_them() {
    let format = native::Streams { token: 7 };
    let refused = |spec: &TestSpec| check(spec, &format).unwrap_err().to_string();
    let many = TestSpec {
        streams: 200,
        ..bulk(1)
    };
    assert!(refused(&many).contains("set threads"), "{}", refused(&many));
    let shared = |spec: TestSpec| TestSpec {
        streams: 4,
        threads: Some(2),
        ..spec
    };
    assert!(check(&shared(bulk(1)), &format).is_ok());
    let datapath = shared(over("io-uring", bulk(1)));
    assert!(refused(&datapath).contains("datapath sockets only"));
    assert!(check(&shared(datagrams(1)), &format).is_ok());
    let asked = shared(ping_pong(Transport::Udp, 64, 1));
    assert!(refused(&asked).contains("bulk and datagrams only"));
    let polling = TestSpec {
        wait: WaitMode::BusyPoll,
        ..shared(bulk(1))
    };
    assert!(refused(&polling).contains("block and spin only"));
    let more = TestSpec {
        streams: 1,
        ..shared(bulk(1))
    };
    assert!(refused(&more).contains("no more than there are streams"));
}
