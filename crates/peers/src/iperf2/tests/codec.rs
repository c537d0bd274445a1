//! Headers and reports of every generation.

use super::super::header::{Amount, Back, DataDirection, Header, Request, opening_len, write};
use super::super::report::Report;
use super::{datagram, words};
use crate::iperf2::streams::{Counters, Opening, Width};
use linerate_model::sample::{DatagramReceiver, SequenceCount, StreamReport};
use linerate_model::spec::Transport;
use linerate_model::{BitRate, ByteCount, PacketCount};
use std::time::Duration;

#[test]
#[expect(clippy::too_many_lines, reason = "a table, one row per generation")]
fn every_generation_is_told_by_its_first_datagram() {
    let time = (-1000_i32).cast_unsigned();
    let base = [0, 1, 5001, 0, 1_048_576, time];
    let wide = |second: u32, flags: u32| {
        let mut all = vec![second];
        all.extend(base);
        all[1] = flags;
        all
    };
    let extended = [0x4800_0000, 1, 5001, 0, 0, time, 0, 0, 0, 0x0002_0002];
    let cases: Vec<(&str, Vec<u8>, Width, Counters, u8)> = vec![
        (
            "up to 2.0.9",
            datagram(0, &base),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
        (
            "zperf up to 4.1",
            datagram(0, &[0, 1, 0, 0, 10, 0]),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
        (
            "zperf from 4.2 on",
            datagram(0, &wide(0x7a7a_7a7a, 0)),
            Width::Wide,
            Counters::Bits32,
            0,
        ),
        (
            "2.0.13",
            datagram(0, &[&wide(0, 0x4800_0000)[..], &[0; 10]].concat()),
            Width::Wide,
            Counters::Bits64,
            0,
        ),
        (
            "from 2.1 on",
            datagram(1, &[&[0][..], &extended[..]].concat()),
            Width::Wide,
            Counters::Bits64,
            1,
        ),
        (
            "linerate",
            datagram(1, &wide(0, 0)),
            Width::Wide,
            Counters::Bits32,
            1,
        ),
        (
            "no header",
            words(&[0, 1, 2]),
            Width::Narrow,
            Counters::Bits32,
            0,
        ),
    ];
    for (name, bytes, width, counters, first) in cases {
        let header = Header::of_udp(&bytes).unwrap();
        assert_eq!(
            (header.width, header.counters, header.first),
            (width, counters, first),
            "{name}"
        );
        assert_eq!(header.way, DataDirection::Forward { back: None }, "{name}");
    }
    assert_eq!(Header::of_udp(&datagram(u32::MAX, &base)), None);
}

#[test]
fn a_tcp_stream_is_data_unless_its_flags_say_a_header() {
    let plain = words(&[0, 2, 5001, 0, 0, (-1000_i32).cast_unsigned(), 0x3031_3233]);
    assert_eq!(Header::of_tcp(&plain).unwrap().skip, 24);
    for data in [b"0123456789012345678901234567".to_vec(), {
        let mut zperf = vec![0; 4];
        zperf.extend([b'z'; 200]);
        zperf
    }] {
        assert_eq!(Header::of_tcp(&data).unwrap().skip, 0);
    }
    let back = words(&[0x8000_0001, 1, 5002, 0, 0, (-500_i32).cast_unsigned()]);
    let header = Header::of_tcp(&back).unwrap();
    assert_eq!(header.skip, 24);
    assert_eq!(
        header.way,
        DataDirection::Forward {
            back: Some((5002, Back::AtOnce))
        }
    );
    assert_eq!(header.amount, Amount::Time(Duration::from_secs(5)));
    assert!(Header::of_tcp(&words(&[0x0080_0000, 100, 1])).is_err());
    assert!(Header::of_tcp(&words(&[0x5000_0000, 1, 5001])).is_err());
}

#[test]
fn what_is_asked_for_is_read_as_it_was_meant() {
    for transport in [Transport::Tcp, Transport::Udp] {
        for way in [DataDirection::Reverse, DataDirection::FullDuplex] {
            let rate = BitRate::from_bps(12_000_000_000);
            let request = Request {
                transport,
                way,
                streams: 1,
                buffer: 1400,
                rate: Some(rate),
                amount: Amount::Time(Duration::from_millis(2500)),
            };
            let bytes = write(&request);
            assert!(bytes.len() <= Opening::MAX_BYTES);
            let header = match transport {
                Transport::Tcp => Header::of_tcp(&bytes).unwrap(),
                Transport::Udp => {
                    let mut datagram = words(&[1, 0, 0, 0]);
                    datagram.extend(&bytes);
                    Header::of_udp(&datagram).unwrap()
                }
            };
            assert_eq!(header.way, way);
            assert_eq!(header.rate, Some(rate));
            assert_eq!(header.buffer, Some(1400));
            assert_eq!(header.amount, request.amount);
            assert!(header.is_extended || transport == Transport::Tcp);
        }
    }
}

#[test]
fn headers_cut_off_anywhere_or_of_any_bytes_are_survived() {
    let request = Request {
        transport: Transport::Tcp,
        way: DataDirection::FullDuplex,
        streams: 1,
        buffer: 1400,
        rate: None,
        amount: Amount::Bytes(7),
    };
    let whole = write(&request);
    for length in 0..=whole.len() {
        let part = &whole[..length];
        let needed = opening_len(part);
        assert_eq!(needed, if length < 4 { 4 } else { 64 });
        assert_eq!(
            Header::of_tcp(part).is_ok(),
            !(4..64).contains(&length),
            "{length}"
        );
        let _ = Header::of_udp(part);
        let _ = Report::read(part);
    }
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut bytes = Vec::new();
        for _ in 0..20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            bytes.extend(((seed >> 33) as u32).to_be_bytes());
        }
        assert!(opening_len(&bytes) <= 256);
        let _ = Header::of_tcp(&bytes);
        let _ = Header::of_udp(&bytes);
        if let Some(report) = Report::read(&bytes) {
            let _ = report.as_stream(0, 9, 1470);
        }
    }
}

const REPORT: Report = Report {
    bytes: (7 << 32) + 5,
    duration: Duration::from_millis(2500),
    lost: 11,
    out_of_order: 3,
    datagrams: 17_007,
    jitter: Duration::from_micros(120),
    is_modern: false,
};

#[test]
fn a_report_is_read_in_every_form_it_is_written_in() {
    for (width, is_extended, length) in [
        (Width::Narrow, false, 52),
        (Width::Wide, false, 56),
        (Width::Wide, true, 128),
    ] {
        let bytes = REPORT.write(width, is_extended, 1470).unwrap();
        assert_eq!(bytes.len(), length);
        let is_modern = length == 128;
        assert_eq!(
            Report::read(&bytes),
            Some(Report {
                is_modern,
                ..REPORT
            })
        );
        // As long as the server's buffer, as up to 2.0.13.
        let mut long = bytes.clone();
        long.resize(1470, b'0');
        assert_eq!(Report::read(&long), Some(REPORT), "{length}");
        for cut in 0..52 {
            assert_eq!(Report::read(&bytes[..cut]), None);
        }
    }
    let many = Report {
        is_modern: true,
        datagrams: (9 << 32) + 1,
        ..REPORT
    };
    let bytes = many.write(Width::Wide, true, 1470).unwrap();
    assert_eq!(Report::read(&bytes), Some(many));
}

#[test]
fn a_report_never_takes_more_than_what_asked_for_it() {
    assert_eq!(REPORT.write(Width::Narrow, false, 51), None);
    assert_eq!(REPORT.write(Width::Wide, true, 55), None);
    assert_eq!(
        REPORT.write(Width::Wide, true, 100).map(|b| b.len()),
        Some(56)
    );
}

#[test]
fn what_was_received_is_right_in_every_way_of_counting() {
    let of = |datagrams, lost, bytes| Report {
        bytes,
        lost,
        datagrams,
        ..REPORT
    };
    let received = |report: Report| report.received(1000, 100);
    let modern = |datagrams, lost, bytes| Report {
        is_modern: true,
        ..of(datagrams, lost, bytes)
    };
    // 1000 sent, 30 lost; the opening and the end are counted.
    assert_eq!(received(modern(1002, 30, 972 * 100)), 970);
    // Duplicates are bytes, but no datagrams.
    assert_eq!(received(modern(1002, 0, 1007 * 100)), 1000);
    // Up to 2.0.13: the opening is not counted but missed.
    assert_eq!(received(of(1002, 31, 971 * 100)), 970);
    // linerate: the end is not counted.
    assert_eq!(received(of(1001, 30, 971 * 100)), 970);
    // zperf: datagrams are those received.
    assert_eq!(received(of(970, 30, 970 * 100)), 970);
    // 2.0.10 to 2.0.12 with the end −1002: both counts are too high.
    let high = (1 << 31) - 1002;
    assert_eq!(received(of(high, high - 971, 971 * 100)), 970);
}

#[test]
fn the_jitter_of_2_0_12_is_found_behind_its_additional_word() {
    let high = (1 << 31) - 1001;
    let mut bytes = words(&[
        0,
        0,
        0,
        0,
        0x8000_0000,
        0,
        97_000,
        2,
        0,
        high - 970,
        0,
        high,
        0,
        0,
        250,
    ]);
    bytes.resize(1470, 0);
    let report = Report::read(&bytes).unwrap();
    assert_eq!(report.jitter, Duration::from_micros(250));
}

#[test]
fn what_was_lost_last_is_lost_in_our_report() {
    // 99 and the one that opened the stream were sent; the last did not come, and no number after it.
    let end = DatagramReceiver {
        sequence: SequenceCount {
            received: PacketCount::new(99),
            next_expected: 99,
            ..SequenceCount::default()
        },
        sent_there: Some(PacketCount::new(100)),
        ..DatagramReceiver::default()
    };
    let stream =
        StreamReport::new(0, end.clone()).with_counts(ByteCount::new(99_000), PacketCount::new(99));
    let report = Report::from_receiver(&stream, &end);
    assert_eq!((report.datagrams, report.lost), (100, 1));
    assert_eq!(report.received(99, 1000), 98);
}
