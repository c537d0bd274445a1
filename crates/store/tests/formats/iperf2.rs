//! iperf 2's text and CSV.

use super::{both, bps, bytes, packets, text, whole};
use linerate_model::spec::{Direction, Transport};
use linerate_store::import::import;

#[test]
fn iperf2_s_directions_are_told_apart() {
    let reverse = both("iperf2-2.1.8-rev", "txt");
    assert_eq!(reverse.direction, Direction::Reverse);
    assert_eq!(
        (bps(reverse.offered_load), bps(reverse.received_rate)),
        (1_870_000_000, 1_900_000_000)
    );
    assert_eq!(reverse.tcp().unwrap().retransmitted_segments, Some(31));
    let udp = both("iperf2-2.1.8-udprev", "txt");
    assert_eq!(packets(&udp), [Some(92), Some(92), Some(0)]);
    let names = ["client", "server"].map(|end| format!("formats/iperf2-2.1.8-fd.{end}.txt"));
    let runs = whole(&[&names[0], &names[1]]);
    let [there, back] = &runs[0].trials[..] else {
        panic!("two directions");
    };
    assert_eq!(
        (bps(there.offered_load), bps(there.received_rate)),
        (2_860_000_000, 2_850_000_000)
    );
    assert_eq!(
        (bps(back.offered_load), bps(back.received_rate)),
        (3_990_000_000, 3_660_000_000)
    );
}

#[test]
fn iperf2_s_csv_gives_the_totals_of_its_last_lines() {
    let tcp = &whole(&["formats/iperf2-2.1.8-csv.client.txt"])[0].trials[0];
    assert_eq!(bytes(tcp), (Some(413_139_004), None));
    assert_eq!(bps(tcp.offered_load), 3_166_974_919);
    assert_eq!(tcp.intervals.len(), 2);
    assert!(tcp.reasons[0].contains("does not name the end"));
    let parallel = &whole(&["formats/iperf2-2.1.8-csvP.client.txt"])[0].trials[0];
    assert_eq!(parallel.streams, Some(2));
    assert_eq!(bytes(parallel).0, Some(930_873_404 + 256_770_108));
    let udp = both("iperf2-2.1.8-csvu", "txt");
    assert_eq!(udp.transport, Transport::Udp);
    assert_eq!(bytes(&udp), (Some(1_255_380), Some(1_255_380)));
    assert_eq!(
        (bps(udp.offered_load), bps(udp.received_rate)),
        (10_022_273, 10_019_574)
    );
    assert_eq!(packets(&udp)[1..], [Some(854), Some(0)]);
}

/// Lines of 2.0 with the server's report, and of 2.2 with headings.
const CSV: &str = "\
20261121060000,10.0.0.1,40000,10.0.0.2,5001,3,0.0-1.0,131040,1048320
20261121060001,10.0.0.1,40000,10.0.0.2,5001,3,0.0-2.0,262080,1048320
20261121060001,10.0.0.2,5001,10.0.0.1,40000,3,0.0-2.0,257670,1030680,0.051,3,178,1.685,0
time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,writecnt,writeerr,tcpretry,tcpcwnd,tcppcwnd,tcprtt,tcprttvar
20261121060010.123,10.0.0.1,40001,10.0.0.2,5001,1,0.0,1.0,1000000,8000000,10,0,2,14,10,250,10
20261121060010.123,10.0.0.1,40001,10.0.0.2,5001,-1,0.0,1.0,1000000,8000000,10,0,2,14,10,250,10
";

#[test]
fn csv_of_2_0_has_the_server_s_report_and_headings_name_the_columns() {
    let runs = import(&[("a.csv".to_owned(), CSV.into())]).unwrap();
    assert_eq!(runs.warnings, Vec::<String>::new());
    let udp = &runs.runs[0].trials[0];
    assert_eq!(bytes(udp), (Some(262_080), Some(257_670)));
    assert_eq!(packets(udp)[2], Some(3));
    let tcp = &runs.runs[1].trials[0];
    assert_eq!(tcp.tcp().unwrap().retransmitted_segments, Some(2));
    assert_eq!(
        tcp.tcp().unwrap().srtt_mean_ns,
        None,
        "a total is no reading"
    );
    for end in [40, 54, 66, 98] {
        let error = import(&[("a.csv".to_owned(), CSV.as_bytes()[..end].to_vec())]);
        assert!(error.is_err(), "{end}: {error:?}");
    }
}

#[test]
fn tests_of_iperf2_that_come_back_are_told_from_those_that_go() {
    let dual = text("lwiperf-client").runs;
    let dual: Vec<_> = dual.iter().filter(|run| run.trials.len() == 2).collect();
    assert_eq!(dual.len(), 2);
    let [there, back] = &dual[0].trials[..] else {
        panic!("two directions");
    };
    assert_eq!(
        (bps(there.received_rate), there.offered_load),
        (590_000_000, None)
    );
    assert_eq!(
        (bps(back.offered_load), back.received_rate),
        (620_000_000, None)
    );
    let trade = text("lwiperf-server").runs;
    let back = trade
        .iter()
        .find(|run| run.trials[0].direction == Direction::Reverse)
        .unwrap();
    assert_eq!(bps(back.trials[0].received_rate), 1_410_000_000);
}
