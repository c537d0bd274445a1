//! iperf 2's text and CSV.

use super::{both, bps, bytes, packets, read, text, whole};
use linerate_model::run::{Run, Trial};
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

/// The trials of a client's and a server's log.
#[track_caller]
fn trials(stem: &str) -> Vec<Trial> {
    let names = ["client", "server"].map(|end| format!("formats/{stem}.{end}.txt"));
    let runs = whole(&[&names[0], &names[1]]);
    runs.into_iter().flat_map(|run| run.trials).collect()
}

#[test]
fn a_way_back_that_begins_before_the_last_line_is_a_test_of_its_own() {
    for (stem, rates) in [
        ("iperf2-2.1.8-r", [9_460_000_000, 16_100_000_000]),
        // With a sum of one interval between its lines.
        ("iperf2-2.2.n-r", [14_600_000_000, 8_540_000_000]),
    ] {
        let trials = trials(stem);
        let [there, back] = &trials[..] else {
            panic!("{stem}: {} trials", trials.len());
        };
        let directions = [there.direction, back.direction];
        assert_eq!(
            directions,
            [Direction::Forward, Direction::Reverse],
            "{stem}"
        );
        assert_eq!([bps(there.received_rate), bps(back.received_rate)], rates);
        assert_eq!([there.intervals.len(), back.intervals.len()], [2, 2]);
    }
}

#[test]
fn a_client_s_header_may_come_before_that_of_its_own_server() {
    let (name, log) = read("formats/iperf2-2.1.8-r.client.txt");
    let log = String::from_utf8(log).unwrap();
    let (listening, rest) = log.split_at(log.find("Client connecting").unwrap());
    let (connecting, rest) = rest.split_at(rest.find("[  1]").unwrap());
    let swapped = format!("{connecting}{listening}{rest}");
    let of = |text: &str| import(&[(name.clone(), text.into())]).unwrap();
    let (usual, swapped) = (of(&log), of(&swapped));
    assert_eq!((swapped.refused.len(), swapped.warnings.len()), (0, 0));
    let trials = |runs: &[Run]| {
        runs.iter()
            .map(|run| run.trials.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(trials(&usual.runs), trials(&swapped.runs));
    // A client that failed calls nobody: the server below it is another program.
    let server = read("formats/iperf2-2.1.8-r.server.txt").1;
    let server = String::from_utf8(server).unwrap();
    let failed = format!("{connecting}tcp connect failed: Connection refused\n{server}");
    let failed = of(&failed);
    assert_eq!(failed.runs.len(), 2);
    assert_eq!(failed.refused, []);
    let said =
        |warning: &String| warning.contains("left out: tcp connect failed: Connection refused");
    assert!(failed.warnings.iter().any(said), "{:?}", failed.warnings);
}

#[test]
fn full_duplex_over_udp_has_no_report_and_needs_none() {
    for (stem, there, back) in [
        ("iperf2-2.1.8-ufd", [854, 846, 8], [853, 835, 18]),
        ("iperf2-2.2.n-ufd", [851, 851, 0], [853, 853, 0]),
    ] {
        let trials = trials(stem);
        let counts: Vec<_> = trials.iter().map(packets).collect();
        assert_eq!(counts, [there.map(Some), back.map(Some)], "{stem}");
        // The client alone knows what came back, and what it sent.
        let client = &whole(&[&format!("formats/{stem}.client.txt")])[0].trials;
        assert_eq!(packets(&client[0]), [Some(there[0]), None, None]);
        assert_eq!(packets(&client[1])[1..], [Some(back[1]), Some(back[2])]);
    }
    let trial = both("iperf2-2.2.n-nofin", "txt");
    assert_eq!(packets(&trial), [Some(853), Some(853), Some(0)]);
}

#[test]
fn parallel_streams_are_one_test_in_whatever_order_their_lines_come() {
    // Streams before the header, a report before another stream's last line, counts in the sums only,
    // and datagrams of a wrong quintuple.
    let early = both("iperf2-2.2.n-uP3", "txt");
    assert_eq!(early.streams, Some(3));
    assert_eq!(packets(&early), [Some(2557), Some(2556), Some(1)]);
    assert_eq!(early.intervals.len(), 4);
    assert!(early.reasons[0].contains("another address or port"));
    // Streams that begin when others have figures already.
    let files = ["client", "server"].map(|end| format!("formats/iperf2-2.2.1-uP3.{end}.txt"));
    let imported = import(&files.map(|name| read(&name))).unwrap();
    // A loss that an interval has was taken back: the datagram came late.
    assert!(imported.runs[0].doubts[0].contains("the summary has 888, the intervals 889"));
    let late = &imported.runs[0].trials[0];
    assert_eq!(late.streams, Some(3));
    assert_eq!(packets(late), [Some(2479), Some(1591), Some(888)]);
}

/// A client's log of one line of figures, which begins with these times and bytes.
fn one_line(figures: &str) -> Run {
    let log = format!(
        "------------------------------------------------------------\nClient connecting to 10.0.0.2, TCP port 5001\n\
         TCP window size: 16.0 KByte (default)\n------------------------------------------------------------\n\
         [  1] local 10.0.0.1 port 40000 connected with 10.0.0.2 port 5001\n[ ID] Interval       Transfer     Bandwidth\n\
         [  1] {figures} MBytes   105 Mbits/sec\n"
    );
    let mut imported = import(&[("a.log".to_owned(), log.into_bytes())]).unwrap();
    assert_eq!(imported.warnings, Vec::<String>::new(), "{figures}");
    imported.runs.remove(0)
}

/// With `-i` an interval comes first, and nothing tells it from the line over the whole test.
#[test]
fn a_log_that_may_be_cut_after_its_first_interval_says_so() {
    for figures in [
        "0.0000-1.0000 sec  12.5",
        "0.0- 1.0 sec  12.5",
        "0.0- 5.0 sec  62.6",
    ] {
        let notes = &one_line(figures).trials[0].reasons;
        let is_said = |note: &String| note.contains("its first interval and the rest is cut off");
        assert!(notes.iter().any(is_said), "{notes:?}");
    }
    // The length of a test, and that of no interval.
    for figures in ["0.0-10.0 sec  125", "0.0000-3.1038 sec  38.9"] {
        assert_eq!(one_line(figures).trials[0].reasons, Vec::<String>::new());
    }
}

#[test]
fn a_line_on_bounce_back_below_another_test_s_figures_takes_none_of_them() {
    let (name, log) = read("transcripts/iperf2-versions.txt");
    let log = String::from_utf8(log).unwrap();
    let mut lines: Vec<_> = log.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.starts_with("Bounceback test "));
    let at = at.unwrap();
    lines.swap(at - 1, at);
    let imported = import(&[(name, lines.join("\n").into_bytes())]).unwrap();
    let is_said = imported
        .refused
        .iter()
        .any(|error| error.to_string().contains("bounce-back"));
    assert!(is_said, "{:?}", imported.refused);
}
