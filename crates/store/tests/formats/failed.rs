//! Tests of which the tool itself says that they failed: that is the answer.

use super::{bps, read};
use linerate_model::run::RunStatus;
use linerate_store::import::import;

/// What is said of a log that has nothing but this.
#[track_caller]
fn refusal(text: &str) -> String {
    let log = ("a.log".to_owned(), text.as_bytes().to_vec());
    import(&[log]).unwrap_err().to_string()
}

#[test]
fn a_failed_upload_is_left_out_beside_one_that_was_made() {
    let imported = import(&[read("pasted/zperf-failed.log")]).unwrap();
    let [run] = &imported.runs[..] else { panic!() };
    assert_eq!(bps(run.trials[0].offered_load), 970_000);
    assert_eq!(imported.refused, []);
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("TCP upload failed (-116)")),
        "{:?}",
        imported.warnings
    );
}

#[test]
fn what_a_tool_says_of_its_failure_is_the_answer() {
    for (text, words) in [
        (
            "$ iperf3 -c b\niperf3: error - unable to connect to server: Connection refused\n",
            "unable to connect",
        ),
        (
            "uart:~$ zperf udp upload 10.0.0.1 5001 1 1K 1M\nConnecting to 10.0.0.1\nUDP upload failed (-113)\nuart:~$ \n",
            "UDP upload failed (-113)",
        ),
        (
            "------------------------------------------------------------\nClient connecting to b, TCP port 5001\nTCP window size: 16.0 KByte (default)\n------------------------------------------------------------\ntcp connect failed: Connection refused\n[  1] local 0.0.0.0 port 0 connected with 127.0.0.1 port 9\n",
            "tcp connect failed: Connection refused",
        ),
        (
            // What is not buffered comes first in a file.
            "tcp connect failed: Connection refused\n------------------------------------------------------------\nClient connecting to b, TCP port 5001\nTCP window size: 16.0 KByte (default)\n------------------------------------------------------------\n[  1] local 0.0.0.0 port 0 connected with 127.0.0.1 port 9\n",
            "tcp connect failed: Connection refused",
        ),
        (
            "sockperf: == version #3.7-no.git == \nsockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\nsockperf: Starting test...\nsockperf: Test ended\nsockperf: No messages were received from the server. Is the server down?\n",
            "No messages were received",
        ),
        (
            "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.1 () port 0 AF_INET\nnetperf: send_omni: connect_data_socket failed: No route to host\n",
            "No route to host",
        ),
        (
            "establish control: are you sure there is a netserver listening on b at port 12865?\nestablish_control could not establish the control connection from 0.0.0.0 port 0 address family AF_INET to b port 12865 address family AF_INET\n",
            "could not establish the control connection",
        ),
        (
            "mode=tcp-client sip=0.0.0.0:5001, dip=10.0.0.1:5001, interval=3, time=30\nE (3122) iperf: Socket unable to connect: errno 113\nI (3123) iperf: iperf exit\n",
            "unable to connect",
        ),
    ] {
        let said = refusal(text);
        assert!(
            said.contains("failed") && said.contains(words),
            "{text}\n{said}"
        );
        assert!(!said.contains("cut off"), "{said}");
    }
}

#[test]
fn a_log_that_is_cut_stays_cut() {
    let whole = String::from_utf8(read("pasted/zperf-failed.log").1).unwrap();
    let (first, _) = whole.split_once("Upload completed!").unwrap();
    let said = refusal(first);
    assert!(said.contains("cut off"), "{said}");
}

/// Which of sockperf's lines with figures is the first that a cut log lacks.
#[test]
fn a_cut_log_of_sockperf_names_the_line_that_is_missing() {
    let whole = include_str!("../fixtures/formats/sockperf-3.7-ul.txt");
    let cut_before = |words: &str| {
        let log = &whole[..whole.find(words).unwrap()];
        let log = (
            "cut.log".to_owned(),
            log.as_bytes()[..=log.rfind('\n').unwrap()].to_vec(),
        );
        import(&[log]).unwrap_err().to_string()
    };
    for (words, said) in [
        ("[Valid Duration]", "its counted time (\"[Valid Duration]"),
        ("Summary:", "its mean delay (\"Summary: Latency is"),
        ("<MIN> observation", "the end of its quantiles"),
    ] {
        let error = cut_before(words);
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_document_of_linerate_is_named_with_the_commands_that_read_it() {
    for text in [
        "{\n  \"schema\": \"linerate/run/2\",\n  \"id\": \"r\"\n}\n",
        "{\"schema\":\"linerate/run/2\",\"id\":\"r\",\"trials\":[]}\n",
    ] {
        let said = refusal(text);
        assert!(
            said.contains("linerate/run/2") && said.contains("`linerate show a.log`"),
            "{said}"
        );
    }
}

#[test]
fn a_log_without_its_first_line_says_that_it_is_not_there() {
    for text in [
        "[  5]   0.00-1.00   sec  11.4 MBytes  95.8 Mbits/sec    0    148 KBytes\niperf Done.\niperf3: x\n- - - - - - - - - -\n",
        "[ ID] Interval       Transfer     Bandwidth\nTCP window size: 16.0 KByte (default)\n[  1] 0.0000-1.0017 sec  11.5 MBytes  96.5 Mbits/sec\n",
    ] {
        let said = refusal(text);
        assert!(said.contains("cut off: its first line"), "{said}");
        assert!(said.contains("is not there"), "{said}");
    }
}

/// What a server says whose client vanished.
#[test]
fn a_test_whose_client_closed_ended_early() {
    let (_, bytes) = read("formats/iperf3-3.12-nat-tcp.server.txt");
    let text = String::from_utf8(bytes).unwrap();
    let (figures, _) = text.split_once("- - - -").unwrap();
    let closed = format!("{figures}iperf3: the client has unexpectedly closed the connection\n");
    let imported = import(&[("a.log".to_owned(), closed.into_bytes())]).unwrap();
    let [run] = &imported.runs[..] else { panic!() };
    assert_eq!(run.status, RunStatus::Incomplete);
    assert!(refusal(figures).contains("is cut off"), "without that line");
}

#[test]
fn a_line_that_was_wrapped_is_named_as_such() {
    let (_, bytes) = read("formats/iperf3-3.12-nat-tcp.client.txt");
    let text = String::from_utf8(bytes).unwrap();
    let wrapped = text.replace(" connected to", "\nconnected to");
    assert!(refusal(&wrapped).contains("perhaps a mail or a terminal wrapped it"));
}
