//! Logs in the shapes of public threads: what tools print beside the forms that their manuals show.

use super::{bps, delays, packets, read};
use linerate_model::run::{Run, RunStatus, Trial, TrialWork};
use linerate_store::import::{Imported, import};

#[track_caller]
fn imported(text: &str) -> Imported {
    import(&[("log".to_owned(), text.as_bytes().to_vec())]).unwrap()
}

/// The trials of a log of which nothing is refused.
#[track_caller]
fn trials(text: &str) -> Vec<Trial> {
    let Imported { runs, refused, .. } = imported(text);
    assert_eq!(refused, []);
    runs.into_iter().flat_map(|run| run.trials).collect()
}

fn refusal(text: &str) -> String {
    let error = import(&[("log".to_owned(), text.as_bytes().to_vec())]);
    error.unwrap_err().to_string()
}

fn answered(trial: &Trial) -> f64 {
    let TrialWork::ClosedLoop(work) = &trial.work else {
        panic!("{:?}", trial.work);
    };
    work.counts.received_packet_rate.unwrap().pps()
}

/// A table of netperf's requests and responses.
fn requests(banner: &str, rate: &str) -> String {
    format!(
        "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.7 () port 0 AF_INET{banner}\n\
         Local /Remote\n\
         Socket Size   Request  Resp.   Elapsed  Trans.\n\
         Send   Recv   Size     Size    Time     Rate\n\
         bytes  Bytes  bytes    bytes   secs.    per sec\n\n\
         16384  87380  1        1       10.00    {rate}\n\
         16384  87380\n"
    )
}

#[test]
fn a_burst_is_read_wherever_it_stands_in_the_banner() {
    for banner in [" : first burst 0", " : demo : first burst 0 : cpu bind"] {
        let [trial] = &trials(&requests(banner, "20000.00"))[..] else {
            panic!();
        };
        let mean = trial.delay().unwrap().mean_ns.unwrap();
        assert!((mean - 50_000.0).abs() < 1.0, "{banner}");
    }
    let burst = trials(&requests(" : first burst 16 : cpu bind", "90000.00"));
    assert_eq!(burst[0].delay(), None);
    assert!((answered(&burst[0]) - 90_000.0).abs() < 0.01);
}

#[test]
fn prose_behind_a_table_of_netperf_is_no_part_of_it() {
    let table = requests(" : first burst 0", "20000.00");
    for prose in [
        "So it is about 3.3 Mbit/s of data, in /etc/services nothing changed.",
        "Next\n====\n",
        "Latency, as a mean, is fine\nIn 2024, it was not\n",
        "  5 more runs gave 10^6bits/secs",
    ] {
        let [trial] = &trials(&format!("{table}\n{prose}\n"))[..] else {
            panic!("{prose}");
        };
        assert!((answered(trial) - 20_000.0).abs() < 0.01, "{prose}");
    }
}

#[test]
fn a_table_without_throughput_has_its_transactions() {
    let banner = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : first burst 2\n";
    let table = format!(
        "{banner}Minimum      Mean         Maximum      99th         Stddev       Transaction \n\
         Latency      Latency      Latency      Percentile   Latency      Rate        \n\
         Microseconds Microseconds Microseconds Latency      Microseconds Tran/s      \n\
        {blank}Microseconds                          \n\
         38           56.69        383          69           3.89         52866.251   \n\nreal\t0m11.387s\n",
        blank = " ".repeat(39)
    );
    let commas = format!(
        "{banner}Minimum Latency Microseconds,Mean Latency Microseconds,Maximum Latency Microseconds,\
         99th Percentile Latency Microseconds,Transaction Rate Tran/s\n38,56.69,383,69,52866.251\n"
    );
    for text in [table, commas] {
        let [trial] = &trials(&text)[..] else {
            panic!("{text}");
        };
        assert_eq!(
            delays(trial),
            [Some(38_000), None, Some(69_000), Some(383_000)]
        );
        assert_eq!(trial.delay().unwrap().mean_ns, Some(56_690.0));
        assert!((answered(trial) - 52_866.251).abs() < 0.001);
    }
    // A figure that is cut is not taken.
    let cut = format!("{banner}Mean Latency Microseconds,Transaction Rate Tran/s\n56.69,528\n");
    assert!(refusal(&cut).contains("decimals"));
}

#[test]
fn a_log_of_two_tools_names_the_one_that_is_left_out() {
    let iperf = "Client connecting to 192.0.2.7, TCP port 5001\n\
        TCP window size: 45.0 KByte (default)\n\
        [  1] local 192.0.2.9 port 44090 connected with 192.0.2.7 port 5001\n\
        [ ID] Interval           Transfer     Bandwidth\n\
        [  1] 0.0000-1.0000 sec  6.38 MBytes  53.5 Mbits/sec\n\
        [  1] 1.0000-2.0000 sec  6.25 MBytes  52.4 Mbits/sec\n\
        [  1] 0.0000-2.0475 sec  12.6 MBytes  51.7 Mbits/sec\n";
    let banner = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to 192.0.2.7 () port 0 AF_INET : first burst 0\n";
    let netperf = "Minimum Latency Microseconds,Mean Latency Microseconds,Transaction Rate Tran/s\n64081,75600.31,13.218\n";
    let command =
        "$ netperf -H 192.0.2.7 -t TCP_RR -- -o min_latency,mean_latency,transaction_rate\n";
    let other = netperf.replace("13.218", "14.320");
    let log = format!("{iperf}\n{command}{banner}{netperf}{command}{banner}{other}");
    let Imported { refused, runs, .. } = imported(&log);
    assert_eq!(runs.len(), 2);
    assert!(
        refused[0]
            .to_string()
            .contains("it also has lines of iperf2")
    );
}

/// What sockperf prints of the messages with one server, with this mean.
fn server(number: usize, mean: &str) -> String {
    format!(
        "sockperf: ========= Printing statistics for Server No: {number}\n\
         sockperf: [Valid Duration] RunTime=9.550 sec; SentMessages=95000; ReceivedMessages=95000\n\
         sockperf: ====> avg-latency={mean} (std-dev=1.500)\n\
         sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0\n\
         sockperf: Summary: Latency is {mean} usec\n\
         sockperf: Total 95000 observations; each percentile contains 950.00 observations\n\
         sockperf: ---> <MAX> observation =   90.000\n\
         sockperf: ---> percentile 99.000 =   50.000\n\
         sockperf: ---> percentile 50.000 =   22.000\n\
         sockperf: ---> <MIN> observation =   18.000\n"
    )
}

const SOCKPERF: &str = "sockperf: == version #3.10-no.git ==\n\
    sockperf[CLIENT] send on:sockperf: using recvfrom() to block on socket(s)\n\n\
    [ 0] IP = 192.0.2.7       PORT = 11111 # UDP\n";

#[test]
fn each_of_several_servers_of_sockperf_has_its_own_figures() {
    let both = format!(
        "{SOCKPERF}[ 1] IP = 192.0.2.8       PORT = 11111 # UDP\n{}{}",
        server(0, "22.500"),
        server(1, "44.500")
    );
    let trials = trials(&both);
    let figures = trials.iter().map(|trial| {
        let mean = trial.delay().unwrap().mean_ns.unwrap();
        (trial.label.as_deref().unwrap(), mean)
    });
    let figures: Vec<_> = figures.collect();
    assert_eq!(figures, [("192.0.2.7", 22_500.0), ("192.0.2.8", 44_500.0)]);
    // One whose figures have no end is no figure of the other.
    let first = server(0, "22.500");
    let cut = first.rsplit_once("sockperf: ").unwrap().0;
    let cut = format!("{SOCKPERF}{cut}{}", server(1, "44.500"));
    assert!(refusal(&cut).contains("observation"), "{}", refusal(&cut));
}

#[test]
fn paced_ping_pong_is_no_load() {
    for rate in ["max", "1000"] {
        let command = format!("$ sockperf ping-pong -i 192.0.2.7 -m 100 --mps={rate} -t 10\n");
        let trials = trials(&format!("{command}{SOCKPERF}{}", server(0, "22.500")));
        assert!(matches!(trials[0].work, TrialWork::ClosedLoop(_)), "{rate}");
    }
}

#[test]
fn bold_figures_are_figures() {
    let log = "h$ ./nuttcp 192.0.2.7 <- virtual machine\n\
        1283.1875 MB / 10.00 sec = **1076.4544 Mbps** 39 %TX 45 %RX 0 retrans 1.49 msRTT\n";
    assert_eq!(bps(trials(log)[0].received_rate), 1_076_454_400);
}

#[test]
fn what_came_before_the_last_interval_is_no_reason_of_an_end() {
    let log = "iperf> iperf -s -i 2\n\
        I (84810) IPERF: mode=tcp-server sip=0.0.0.0:5001, dip=0.0.0.0:5001, interval=2, time=30\n\
        I (84812) iperf: Socket created\n\nInterval       Bandwidth\n\
         0.0- 2.0 sec  24.36 Mbits/sec\n 2.0- 4.0 sec  23.38 Mbits/sec\n";
    assert!(refusal(log).contains("its last line"));
    let Imported { runs, .. } = imported(&format!("{log}I (89000) iperf: iperf exit\n"));
    let [Run { status, notes, .. }] = &runs[..] else {
        panic!();
    };
    assert_eq!(*status, RunStatus::Incomplete);
    assert!(
        notes.iter().any(|note| note.contains("iperf exit")),
        "{notes:?}"
    );
}

/// What examples of NXP, RT-Thread and others print of lwiperf.
const LWIPERF: &str = "-------------------------------------------------\n \
     TCP_DONE_SERVER (RX)\n \
     Local address : 192.0.2.20  Port 5001 \n \
     Remote address : 192.0.2.10  Port 49152 \n \
     Bytes Transferred 117964800 \n \
     Duration (ms) 10012 \n \
     Bandwidth (kbitpsec) 94256 \n\n";

#[test]
fn a_report_of_lwiperf_may_have_a_line_for_each_figure() {
    let both = format!("{LWIPERF}{}", LWIPERF.replace("SERVER (RX)", "CLIENT (TX)"));
    let trials = trials(&both);
    let end = |is_sender| {
        let mut ends = trials.iter();
        ends.find(|trial| trial.offered_load.is_some() == is_sender)
    };
    let (received, sent) = (end(false).unwrap(), end(true).unwrap());
    assert_eq!(bps(received.received_rate), 94_256_000);
    assert_eq!(received.received_bytes.unwrap().get(), 117_964_800);
    assert_eq!(bps(sent.offered_load), 94_256_000);
    for line in LWIPERF.lines().filter(|line| !line.trim().is_empty()) {
        let without = LWIPERF.replace(line, "");
        let is_told = match import(&[("log".to_owned(), without.clone().into_bytes())]) {
            Ok(Imported { runs, refused, .. }) => {
                let rates = runs.iter().flat_map(|run| &run.trials);
                let mut rates = rates.map(|trial| trial.received_rate);
                !refused.is_empty() || rates.all(|rate| rate == received.received_rate)
            }
            Err(error) => !error.to_string().contains("not a log"),
        };
        assert!(is_told, "{line}");
    }
    let aborted = LWIPERF.replace("TCP_DONE_SERVER (RX)", "TCP_ABORTED_REMOTE");
    assert!(refusal(&aborted).contains("TCP_ABORTED_REMOTE"));
}

#[test]
fn two_clients_of_a_udp_server_at_once_are_two_tests() {
    let (_, log) = read("formats/iperf2-udp-two-clients.txt");
    let trials = trials(std::str::from_utf8(&log).unwrap());
    let [one, other] = &trials[..] else {
        panic!("{}", trials.len());
    };
    assert_eq!(bps(one.received_rate), 47_000_000);
    assert_eq!(packets(one)[2], Some(2560));
    assert_eq!(bps(other.received_rate), 48_700_000);
    assert_eq!(packets(other)[2], Some(1140));
}

#[test]
fn lines_of_trip_times_are_no_damaged_figures() {
    let log = "Server listening on TCP port 5001 with pid 2211\n\
        TCP window size:  128 KByte (default)\n\
        [  1] local 192.0.2.7%eth0 port 5001 connected with 192.0.2.1 port 41234 (trip-times) (sock=4) (peer 2.1.9)\n\
        [ ID] Interval        Transfer    Bandwidth    Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr  Reads=Dist\n\
        [  1] 0.0000-0.5259 sec  59.0 MBytes   941 Mbits/sec  1.505/0.411/3.120/0.290 ms (472/131137)  173 KByte 78100  1281=612:605:64:0:0:0:0:0\n\
        [  1] 0.0000-0.5259 trip-time (3WHS done->fin+finack) = 0.5597 sec\n";
    assert_eq!(bps(trials(log)[0].received_rate), 941_000_000);
}

#[test]
fn sums_alone_are_the_figures_of_a_test() {
    let log = "Client connecting to 192.0.2.7, TCP port 5001 with pid 771 (2/0 flows/load)\n\
        TCP window size: 16.0 KByte (default)\n\
        [SUM-2] 0.00-1.00 sec   222 MBytes  1.86 Gbits/sec\n\
        [SUM-2] 1.00-2.00 sec   222 MBytes  1.86 Gbits/sec\n\
        [SUM-2] 0.00-2.01 sec   445 MBytes  1.86 Gbits/sec\n\
        [ CT] final connect times (min/avg/max/stdev) = 0.240/0.245/0.250/0.005 ms (tot/err) = 2/0\n";
    let trials = trials(log);
    assert_eq!(bps(trials[0].offered_load), 1_860_000_000);
    assert_eq!(trials[0].streams, Some(2));
}
