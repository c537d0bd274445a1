//! netperf with the options that people give it.

use super::{bps, delays, packets, read};
use linerate_model::run::{Run, Trial, TrialWork};
use linerate_model::spec::{Direction, Transport};
use linerate_store::import::{Imported, import};

fn runs(name: &str) -> Imported {
    import(&[read(name)]).unwrap()
}

/// The one trial of each run whose title or notes do not matter.
fn trials(runs: &[Run]) -> Vec<&Trial> {
    runs.iter().flat_map(|run| &run.trials).collect()
}

fn per_second(trial: &Trial) -> f64 {
    let rate = match &trial.work {
        TrialWork::ClosedLoop(work) => work.counts.received_packet_rate,
        TrialWork::Connections(work) => work.received_packet_rate,
        other => panic!("{other:?}"),
    };
    rate.unwrap().pps()
}

fn has_note(run: &Run, words: &str) -> bool {
    let notes = run
        .notes
        .iter()
        .chain(run.trials.iter().flat_map(|trial| &trial.reasons));
    notes.into_iter().any(|note| note.contains(words))
}

#[test]
fn quantiles_come_from_keys_and_from_lines_with_commas() {
    let keys = runs("pasted/netperf-keys.log");
    let [run] = &keys.runs[..] else { panic!() };
    assert!((per_second(&run.trials[0]) - 24_310.55).abs() < 0.01);
    assert_eq!(
        delays(&run.trials[0]),
        [Some(31_000), None, Some(78_000), Some(21_012_000)]
    );
    let csv = runs("pasted/netperf-csv.log");
    let [run] = &csv.runs[..] else { panic!() };
    assert!((per_second(&run.trials[0]) - 3313.49).abs() < 0.01);
    assert_eq!(run.trials[0].transport, Transport::Udp);
    assert_eq!(
        delays(&run.trials[0]),
        [Some(200_000), Some(295_000), Some(406_000), Some(500_000)]
    );
    assert_eq!(run.trials[0].delay().unwrap().p90_ns, Some(330_000));
}

#[test]
fn cpu_time_behind_the_figures_is_told_apart() {
    let imported = runs("pasted/netperf-cpu.log");
    assert_eq!(imported.refused, []);
    let stream = imported
        .runs
        .iter()
        .find(|run| run.trials[0].received_rate.is_some())
        .unwrap();
    assert_eq!(bps(stream.trials[0].received_rate), 9_415_650_000);
    assert!(
        has_note(
            stream,
            "3.24 % of the client's host, 6.54 % of the server's host"
        ),
        "{:?}",
        stream.notes
    );
    let exchanges = imported
        .runs
        .iter()
        .find(|run| run.trials[0].delay().is_some())
        .unwrap();
    assert!((per_second(&exchanges.trials[0]) - 24_310.55).abs() < 0.01);
    assert!(
        has_note(exchanges, "2.10 % of the client's host"),
        "{:?}",
        exchanges.notes
    );
}

/// Received rates of the streams, in 10 kbit/s.
const RATES: [(Transport, Direction, u64); 9] = [
    (Transport::Udp, Direction::Forward, 178_520),
    (Transport::Tcp, Direction::Forward, 946_079),
    (Transport::Tcp, Direction::Forward, 1_220_142),
    (Transport::Tcp, Direction::Reverse, 1_238_819),
    (Transport::Tcp, Direction::Forward, 1_363_425),
    (Transport::Tcp, Direction::Forward, 1_803_714),
    (Transport::Tcp, Direction::Forward, 2_240_531),
    (Transport::Udp, Direction::Forward, 3_006_227),
    (Transport::Udp, Direction::Forward, 3_971_440),
];

/// Every combination of kind and form that netperf 2.7.1 printed on a loopback.
#[test]
fn every_kind_is_read_in_every_form() {
    let imported = runs("transcripts/netperf-options.txt");
    assert_eq!(imported.refused, []);
    let all = trials(&imported.runs);
    let rates: Vec<_> = all
        .iter()
        .filter(|trial| {
            !matches!(
                trial.work,
                TrialWork::ClosedLoop(_) | TrialWork::Connections(_)
            )
        })
        .map(|trial| {
            (
                trial.transport,
                trial.direction,
                bps(trial.received_rate) / 10_000,
            )
        })
        .collect();
    let mut rates = rates;
    rates.sort_by_key(|(.., rate)| *rate);
    assert_eq!(rates, RATES);
    let udp = all.iter().find(|trial| {
        trial
            .packets()
            .is_some_and(|packets| packets.sent.is_some())
    });
    assert_eq!(
        packets(udp.unwrap()),
        [Some(624_311), Some(159_411), Some(464_900)]
    );
    let of = |is: fn(&TrialWork) -> bool| {
        let mut found: Vec<_> = all
            .iter()
            .filter(|trial| is(&trial.work))
            .map(|trial| per_second(trial))
            .collect();
        found.sort_by(f64::total_cmp);
        found
    };
    let connections = of(|work| matches!(work, TrialWork::Connections(_)));
    assert_eq!(connections, [42_847.46, 48_108.16, 48_684.61]);
    let exchanges = of(|work| matches!(work, TrialWork::ClosedLoop(_)));
    assert_eq!(
        exchanges,
        [
            133_662.15, 140_516.51, 167_771.64, 183_020.85, 210_473.01, 218_322.21, 239_770.41,
            246_756.67
        ]
    );
    // The one that had no server says so.
    assert!(
        imported
            .warnings
            .iter()
            .any(|warning| warning.contains("establish_control could not establish")),
        "{:?}",
        imported.warnings
    );
}

/// What an omni test by keys with this banner and command line is read as, and what is doubted of it.
#[track_caller]
fn omni(command: &str, banner: &str, keys: &str) -> (Transport, Direction, Vec<String>) {
    let text = format!(
        "{command}{banner} TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.1 () port 0 AF_INET\n\
         THROUGHPUT=941.50\nTHROUGHPUT_UNITS=10^6bits/s\n{keys}"
    );
    let imported = import(&[("a.log".to_owned(), text.into_bytes())]).unwrap();
    assert_eq!(imported.refused, []);
    let [run] = &imported.runs[..] else {
        panic!("{} runs", imported.runs.len());
    };
    let trial = &run.trials[0];
    (trial.transport, trial.direction, run.doubts.clone())
}

#[test]
fn an_omni_test_is_what_its_keys_command_line_or_banner_tell() {
    let time = "ELAPSED_TIME=10.00\n";
    let by_keys = format!("{time}PROTOCOL=UDP\nDIRECTION=Receive\n");
    let told = omni("", "OMNI", &by_keys);
    assert_eq!(told, (Transport::Udp, Direction::Reverse, vec![]));
    let command = "$ netperf -H 10.0.0.1 -t omni -- -T udp -d recv -k THROUGHPUT\n";
    let told = omni(command, "OMNI", time);
    assert_eq!(told, (Transport::Udp, Direction::Reverse, vec![]));
    let told = omni("", "OMNI Receive", &format!("{time}PROTOCOL=TCP\n"));
    assert_eq!(told, (Transport::Tcp, Direction::Reverse, vec![]));
    let told = omni("", "MIGRATED UDP STREAM", time);
    assert_eq!(told, (Transport::Udp, Direction::Forward, vec![]));
}

#[test]
fn what_an_omni_test_does_not_tell_is_doubted() {
    let doubted = |keys: &str| omni("", "OMNI", keys).2.join("\n");
    let both = doubted("ELAPSED_TIME=10.00\n");
    assert!(
        both.contains("the protocol") && both.contains("the direction"),
        "{both}"
    );
    let one = doubted("ELAPSED_TIME=10.00\nPROTOCOL=UDP\n");
    assert!(
        !one.contains("the protocol") && one.contains("the direction"),
        "{one}"
    );
    let command = "$ netperf -H 10.0.0.1 -l 30 -- -k THROUGHPUT\n";
    let (_, _, doubts) = omni(command, "MIGRATED TCP STREAM", "");
    assert!(doubts[0].contains("how long the test was"), "{doubts:?}");
}

fn imported(text: &str) -> Imported {
    import(&[("a.log".to_owned(), text.as_bytes().to_vec())]).unwrap()
}

fn refusal(text: &str) -> String {
    let error = import(&[("a.log".to_owned(), text.as_bytes().to_vec())]);
    error.unwrap_err().to_string()
}

const STREAM: &str = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET\n";

fn table(rate: &str) -> String {
    format!(
        "Recv   Send    Send\nSocket Socket  Message  Elapsed\nSize   Size    Size     Time     Throughput\n\
         bytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    10.02     {rate}\n"
    )
}

/// Three netperfs that a script starts together: their banners come before their tables, or each is printed at its end.
#[test]
fn tests_that_ran_together_are_tests_of_their_own_and_say_so() {
    const RATES: [u64; 3] = [312_450_000, 315_010_000, 313_880_000];
    let tables = ["312.45", "315.01", "313.88"].map(table);
    let loop_of = "$ for i in 1 2 3; do netperf -H 10.0.0.2 & done; wait\n";
    let bare = "$ netperf -P 0 -H 10.0.0.2 & netperf -P 0 -H 10.0.0.2 & netperf -P 0 -H 10.0.0.2 &\n\
                131072 16384 16384 10.02 312.45\n131072 16384 16384 10.03 315.01\n131072 16384 16384 10.03 313.88\n";
    for text in [
        format!("{}{}", STREAM.repeat(3), tables.concat()),
        format!("{loop_of}{STREAM}{}", tables.join(STREAM)),
        bare.to_owned(),
    ] {
        let Imported { runs, refused, .. } = imported(&text);
        assert_eq!(refused, [], "{text}");
        let rates = trials(&runs)
            .into_iter()
            .map(|trial| bps(trial.received_rate));
        assert_eq!(rates.collect::<Vec<_>>(), RATES, "{text}");
        let is_said = |run: &Run| has_note(run, "nobody measured their sum");
        assert!(runs.iter().all(is_said), "{text}");
    }
}

#[test]
fn a_test_that_ran_together_with_others_and_has_no_table_is_named() {
    let text = format!("{}{}", STREAM.repeat(2), table("312.45"));
    let Imported { runs, warnings, .. } = imported(&text);
    assert_eq!(runs.len(), 1);
    let said = warnings.join("; ");
    assert!(
        said.contains("line 2 was left out: its table is not there"),
        "{said}"
    );
}

#[test]
fn figures_alone_that_follow_each_other_are_tests_of_their_own() {
    let text = "$ netperf -P 0 -H 10.0.0.2\n131072 16384 16384 10.02 312.45\n131072 16384 16384 10.03 315.01\n";
    let runs = imported(text).runs;
    let rates = trials(&runs)
        .into_iter()
        .map(|trial| bps(trial.received_rate));
    assert_eq!(rates.collect::<Vec<_>>(), [312_450_000, 315_010_000]);
    let text = "$ netperf -t TCP_RR -P 0 -H h & netperf -t TCP_RR -P 0 -H h &\n16384 131072 1 1 10.00 24310.55\n\
                16384 131072 1 1 10.00 23310.55\n16384 131072\n16384 131072\n";
    let rates: Vec<_> = imported(text)
        .runs
        .iter()
        .map(|run| format!("{:.0}", per_second(&run.trials[0])))
        .collect();
    assert_eq!(rates, ["24311", "23311"]);
    assert!(
        !runs.iter().any(|run| has_note(run, "sum")),
        "one after the other"
    );
}

#[test]
fn datagrams_that_nobody_counted_have_rates_and_no_loss() {
    let command = "$ netperf -H 10.0.0.2 -t omni -- -T udp -d send -o LOCAL_SEND_THROUGHPUT,REMOTE_RECV_THROUGHPUT\n";
    let text = format!(
        "{command}OMNI Send TEST from 0.0.0.0 to 10.0.0.2 () port 0\n\
         Local Send Throughput,Remote Recv Throughput,Throughput Units,Elapsed Time (sec)\n957.05,903.11,10^6bits/s,10.00\n"
    );
    let runs = imported(&text).runs;
    let trial = &runs[0].trials[0];
    let rates = (bps(trial.offered_load), bps(trial.received_rate));
    assert_eq!(rates, (957_050_000, 903_110_000));
    assert_eq!(trial.loss_ratio(), None);
    assert!(
        has_note(&runs[0], "903.11 of 957.05 10^6bits/s arrived"),
        "{runs:?}"
    );
    let text = "MIGRATED UDP STREAM TEST from 0.0.0.0 to 10.0.0.2 () port 0\n\
                THROUGHPUT=903.11\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.00\n";
    let runs = imported(text).runs;
    let trial = &runs[0].trials[0];
    assert_eq!(
        (bps(trial.received_rate), trial.offered_load),
        (903_110_000, None)
    );
    assert!(has_note(&runs[0], "add LOCAL_SEND_THROUGHPUT"), "{runs:?}");
}

#[test]
fn a_table_that_is_not_whole_is_refused_with_what_is_missing() {
    let alone = refusal("$ netperf -H 10.0.0.2 -P 0 -v 0\n941.42\n");
    assert!(alone.contains("without `-v 0`"), "{alone}");
    let udp = refusal(
        "MIGRATED UDP STREAM TEST from 0.0.0.0 to 10.0.0.2 () port 0\n\
         Socket  Message  Elapsed      Messages\nSize    Size     Time         Okay Errors   Throughput\n\
         bytes   bytes    secs            #      #   10^6bits/sec\n\n212992    1472   10.00      812710      0     957.05\n",
    );
    assert!(
        udp.contains("its line of what arrived is not there"),
        "{udp}"
    );
}

#[test]
fn a_row_of_headings_that_is_cut_gives_no_figures() {
    let (name, log) = read("transcripts/netperf-options.txt");
    let log = String::from_utf8(log).unwrap();
    let headings = log.lines().find(|line| line.ends_with("Command Line"));
    let headings = headings.unwrap();
    for kept in [headings.len() / 2, headings.len() * 3 / 4] {
        let cut = log.replace(headings, &headings[..kept]);
        let imported = import(&[(name.clone(), cut.into_bytes())]).unwrap();
        let [error] = &imported.refused[..] else {
            panic!("{:?}", imported.refused);
        };
        let error = error.to_string();
        assert!(error.contains("as many figures as headings"), "{error}");
    }
}
