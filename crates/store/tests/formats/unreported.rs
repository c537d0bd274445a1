//! Tests of which one end's report never came: what it counted is unknown, though the tool prints zeros for it.

use super::{bps, packets};
use linerate_model::run::{Run, RunStatus};
use linerate_store::import::{Imported, import};

const INTERRUPT: &str = "iperf3: interrupt - the client has terminated\n";
const REFUSED: &str = "iperf3: error - unable to connect to server: Connection refused\n";
const DONE: &str = "\niperf Done.\n";

/// A client that sent for 3 s, as the summary line of the other end says it.
fn tcp(receiver: &str) -> String {
    format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port 52154 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n\
         [  5]   0.00-1.00   sec  12.5 MBytes   105 Mbits/sec  289    124 KBytes       \n\
         [  5]   1.00-2.00   sec  11.5 MBytes  96.4 Mbits/sec    0   62.2 KBytes       \n\
         [  5]   2.00-2.99   sec  11.2 MBytes  94.7 Mbits/sec  158    116 KBytes       \n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-2.99   sec  35.2 MBytes  98.7 Mbits/sec  447             sender\n\
         [  5]   0.00-2.99   sec  {receiver}                  receiver\n"
    )
}

const NOTHING: &str = "0.00 Bytes  0.00 bits/sec";

const UDP: &str = "Connecting to host 10.0.0.2, port 5201\n\
    [  5] local 10.0.0.1 port 46084 connected to 10.0.0.2 port 5201\n\
    [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
    [  5]   0.00-1.00   sec  14.3 MBytes   120 Mbits/sec  10352  \n\
    [  5]   1.00-2.00   sec  14.3 MBytes   120 Mbits/sec  10358  \n\
    [  5]   2.00-3.00   sec  14.3 MBytes   120 Mbits/sec  10344  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-3.00   sec  42.9 MBytes   120 Mbits/sec  0.000 ms  0/31054 (0%)  sender\n\
    [  5]   0.00-3.00   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)  receiver\n";

const UDP_REVERSE: &str = "Connecting to host 10.0.0.2, port 5201\n\
    Reverse mode, remote host 10.0.0.2 is sending\n\
    [  5] local 10.0.0.1 port 35621 connected to 10.0.0.2 port 5201\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-1.00   sec  11.2 MBytes  93.5 Mbits/sec  0.365 ms  2073/10148 (20%)  \n\
    [  5]   1.00-2.00   sec  11.6 MBytes  96.6 Mbits/sec  0.336 ms  1979/10349 (19%)  \n\
    [  5]   2.00-3.00   sec  11.2 MBytes  94.0 Mbits/sec  0.704 ms  2270/10355 (22%)  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
    [  5]   0.00-3.00   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)  sender\n\
    [  5]   0.00-3.00   sec  33.9 MBytes  94.7 Mbits/sec  0.704 ms  6322/30852 (20%)  receiver\n";

const BOTH_WAYS: &str = "Connecting to host 10.0.0.2, port 5201\n\
    [  5] local 10.0.0.1 port 60602 connected to 10.0.0.2 port 5201\n\
    [  7] local 10.0.0.1 port 60614 connected to 10.0.0.2 port 5201\n\
    [ ID][Role] Interval           Transfer     Bitrate         Retr  Cwnd\n\
    [  5][TX-C]   0.00-1.00   sec  12.2 MBytes   102 Mbits/sec   91    110 KBytes       \n\
    [  7][RX-C]   0.00-1.00   sec  10.9 MBytes  91.6 Mbits/sec                  \n\
    - - - - - - - - - - - - - - - - - - - - - - - - -\n\
    [ ID][Role] Interval           Transfer     Bitrate         Retr\n\
    [  5][TX-C]   0.00-1.00   sec  12.2 MBytes   102 Mbits/sec   91             sender\n\
    [  5][TX-C]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec                  receiver\n\
    [  7][RX-C]   0.00-1.00   sec  0.00 Bytes  0.00 bits/sec                  sender\n\
    [  7][RX-C]   0.00-1.00   sec  10.9 MBytes  91.6 Mbits/sec                  receiver\n";

#[track_caller]
fn imported(text: &str) -> Imported {
    import(&[("a.log".to_owned(), text.as_bytes().to_vec())]).unwrap()
}

/// The one run of a log, of which nothing is left out.
#[track_caller]
fn run(text: &str) -> Run {
    let Imported {
        runs,
        refused,
        warnings,
    } = imported(text);
    assert_eq!((refused, warnings), (vec![], vec![]), "{text}");
    let [run] = <[Run; 1]>::try_from(runs).unwrap();
    run
}

/// What is said of an end that came early.
#[track_caller]
fn ended(run: &Run, words: &str) {
    assert_eq!(run.status, RunStatus::Incomplete);
    assert!(
        run.notes.iter().any(|note| note.contains(words)),
        "{:?}",
        run.notes
    );
}

#[test]
fn an_interrupt_on_the_first_line_is_that_of_the_test_below_it() {
    for text in [
        format!("{INTERRUPT}{}", tcp(NOTHING)),
        format!("{}{INTERRUPT}", tcp(NOTHING)),
        format!("$ iperf3 -c 10.0.0.2\n{INTERRUPT}{}", tcp(NOTHING)),
    ] {
        let run = run(&text);
        ended(&run, "interrupt - the client has terminated");
        assert_eq!(run.trials[0].received_rate, None, "{text}");
        assert_eq!(bps(run.trials[0].offered_load), 98_700_000, "{text}");
    }
}

#[test]
fn a_line_about_a_test_that_failed_is_not_that_of_a_whole_one_beside_it() {
    let whole = tcp("34.1 MBytes  95.7 Mbits/sec") + DONE;
    for said in [INTERRUPT, REFUSED] {
        for text in [format!("{said}{whole}"), format!("{whole}{said}")] {
            let Imported {
                runs,
                warnings,
                refused,
            } = imported(&text);
            let [run] = &runs[..] else { panic!("{text}") };
            assert_eq!(run.status, RunStatus::Complete, "{text}");
            assert_eq!(bps(run.trials[0].received_rate), 95_700_000, "{text}");
            assert_eq!(refused, [], "{text}");
            assert!(
                warnings[0].contains("was left out: it failed"),
                "{warnings:?}"
            );
        }
    }
    // A test that has streams did connect.
    let run = imported(&format!("{REFUSED}{}", tcp(NOTHING)))
        .runs
        .remove(0);
    ended(&run, "no report of the other end came");
}

#[test]
fn each_test_of_a_log_takes_the_end_before_its_own_lines() {
    let cut = format!("{INTERRUPT}{}", tcp(NOTHING));
    let whole = (tcp("34.1 MBytes  95.7 Mbits/sec") + DONE).replace("52154", "52160");
    let runs = imported(&format!("{cut}{whole}{}", cut.replace("52154", "52170"))).runs;
    let found: Vec<_> = runs
        .iter()
        .map(|run| (run.status, run.trials[0].received_rate.is_some()))
        .collect();
    let early = (RunStatus::Incomplete, false);
    assert_eq!(found, [early, (RunStatus::Complete, true), early]);
}

#[test]
fn a_server_that_was_stopped_said_so_before_its_last_test() {
    let stopped = "iperf3: interrupt - the server has terminated\n";
    let listening = "-----------------------------------------------------------\n\
        Server listening on 5201 (test #1)\n\
        -----------------------------------------------------------\n";
    let test = "Accepted connection from 10.0.0.1, port 52140\n\
        [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 52154\n\
        [ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-1.00   sec  11.4 MBytes  95.6 Mbits/sec                  \n\
        - - - - - - - - - - - - - - - - - - - - - - - - -\n\
        [ ID] Interval           Transfer     Bitrate\n\
        [  5]   0.00-1.00   sec  11.4 MBytes  95.7 Mbits/sec                  receiver\n";
    let inside = run(&format!("{stopped}{listening}{test}"));
    ended(&inside, "the server has terminated");
    assert_eq!(bps(inside.trials[0].received_rate), 95_700_000);
    let between = run(&format!("{stopped}{listening}{test}{listening}"));
    assert_eq!(between.status, RunStatus::Complete);
}

#[test]
fn zeros_without_the_last_line_are_no_report() {
    let receiver = run(&tcp(NOTHING));
    ended(&receiver, "no report of the other end came");
    assert_eq!(receiver.trials[0].received_rate, None);

    let datagrams = run(UDP);
    ended(&datagrams, "no report of the other end came");
    assert_eq!(datagrams.trials[0].received_rate, None);
    assert_eq!(packets(&datagrams.trials[0]), [Some(31_054), None, None]);

    let reverse = run(UDP_REVERSE);
    ended(&reverse, "no report of the other end came");
    assert_eq!(reverse.trials[0].offered_load, None);
    assert_eq!(bps(reverse.trials[0].received_rate), 94_700_000);
    assert_eq!(
        packets(&reverse.trials[0]),
        [None, Some(24_530), Some(6322)]
    );
    let said = reverse.trials[0].reasons.join("; ");
    assert!(!said.contains("duplicates"), "{said}");

    let both = run(BOTH_WAYS);
    ended(&both, "no report of the other end came");
    let rates: Vec<_> = both
        .trials
        .iter()
        .map(|trial| (trial.offered_load.is_some(), trial.received_rate.is_some()))
        .collect();
    assert_eq!(rates, [(true, false), (false, true)]);
}

#[test]
fn a_receiver_that_reported_nothing_received_nothing() {
    let run = run(&format!("{UDP}{DONE}"));
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(bps(run.trials[0].received_rate), 0);
    assert_eq!(packets(&run.trials[0])[1..], [Some(0), Some(31_054)]);
}

#[test]
fn a_sender_of_what_arrived_did_not_send_nothing() {
    let run = run(&format!("{UDP_REVERSE}{DONE}"));
    assert_eq!(run.status, RunStatus::Complete);
    assert_eq!(run.trials[0].offered_load, None);
    let said = run.trials[0].reasons.join("; ");
    assert!(
        said.contains("the sender did not report") && !said.contains("duplicates"),
        "{said}"
    );
}
