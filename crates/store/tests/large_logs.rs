//! Logs larger than what may be kept of them: read in bounded memory, with the totals that they state.
//!
//! One test, since the peak that it measures is of its process.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_model::PacketCount;
use linerate_model::run::{Run, TrialInterval};
use linerate_model::spec::MAX_INTERVALS;
use linerate_store::import::{Imported, Source, import};
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

/// A log that is written while it is read.
struct Written {
    begin: &'static str,
    /// What is between begin and end: the text of each second.
    second: fn(u32) -> String,
    seconds: u32,
    end: fn(u32) -> String,
}

/// Where in the log the reader is.
struct Writing<'a> {
    log: &'a Written,
    next: u32,
    text: Vec<u8>,
    at: usize,
}

impl Source for Written {
    fn name(&self) -> String {
        "long.log".to_owned()
    }

    fn open(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(Box::new(BufReader::new(Writing {
            log: self,
            next: 0,
            text: self.begin.as_bytes().to_vec(),
            at: 0,
        })))
    }
}

impl Read for Writing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() && self.next <= self.log.seconds {
            self.text = if self.next < self.log.seconds {
                (self.log.second)(self.next).into_bytes()
            } else {
                (self.log.end)(self.log.seconds).into_bytes()
            };
            (self.at, self.next) = (0, self.next + 1);
        }
        let count = (&self.text[self.at..]).read(into)?;
        self.at += count;
        Ok(count)
    }
}

/// Intervals are joined twice.
const LONG: u32 = 3 * MAX_INTERVALS;
/// They are joined once.
const SHORT: u32 = MAX_INTERVALS + 2;

/// 100 datagrams of 1000 bytes a second, one lost of each hundred.
fn iperf3_text() -> Written {
    Written {
        begin: "Accepted connection from 10.0.0.1, port 40000\n\
                [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40001\n\
                [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n",
        second: |second| {
            format!(
                "[  5] {second:6}.00-{}.00 sec  99000 Bytes   792000 bits/sec  0.004 ms  1/100 (1%)\n",
                second + 1
            )
        },
        seconds: LONG,
        end: |seconds| {
            format!(
                "- - - - - - - - - - - - - - - - - - - - - - - - -\n\
                 [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
                 [  5]   0.00-{seconds}.00 sec  {} Bytes  792000 bits/sec  0.004 ms  {seconds}/{} (1%)  receiver\n",
                99_000 * u64::from(seconds),
                100 * u64::from(seconds)
            )
        },
    }
}

/// One such interval of iperf3's JSON.
fn json_interval(start: u32, end: u32) -> String {
    let seconds = u64::from(end - start);
    format!(
        "{{\"socket\":5,\"start\":{start},\"end\":{end},\"seconds\":{seconds},\"bytes\":{},\"bits_per_second\":792000,\
         \"jitter_ms\":0.004,\"lost_packets\":{seconds},\"packets\":{},\"lost_percent\":1,\"omitted\":false,\
         \"sender\":false}}",
        99_000 * seconds,
        100 * seconds
    )
}

const JSON_START: &str = "{\"connected\":[{\"socket\":5,\"local_host\":\"10.0.0.2\",\"local_port\":5201,\
    \"remote_host\":\"10.0.0.1\",\"remote_port\":40001}],\"version\":\"iperf 3.12\",\"cookie\":\"c\",\
    \"accepted_connection\":{\"host\":\"10.0.0.1\",\"port\":40000},\
    \"test_start\":{\"protocol\":\"UDP\",\"num_streams\":1,\"blksize\":1000,\"reverse\":0}}";

fn json_end(seconds: u32) -> String {
    let sum = json_interval(0, seconds);
    let sent = sum.replace("\"sender\":false", "\"sender\":true");
    format!(
        "{{\"streams\":[{{\"udp\":{sum}}}],\"sum\":{sum},\"sum_sent\":{sent},\"sum_received\":{sum}}}"
    )
}

/// `-J`: one document in one line.
fn iperf3_json() -> Written {
    fn begin() -> &'static str {
        Box::leak(format!("{{\"start\":{JSON_START},\"intervals\":[").into_boxed_str())
    }
    Written {
        begin: begin(),
        second: |second| {
            let comma = if second > 0 { "," } else { "" };
            let interval = json_interval(second, second + 1);
            format!("{comma}{{\"streams\":[{interval}]}}")
        },
        seconds: SHORT,
        end: |seconds| format!("],\"end\":{}}}\n", json_end(seconds)),
    }
}

/// `--json-stream`: an object in each line.
fn iperf3_json_stream() -> Written {
    fn begin() -> &'static str {
        Box::leak(format!("{{\"event\":\"start\",\"data\":{JSON_START}}}\n").into_boxed_str())
    }
    Written {
        begin: begin(),
        second: |second| {
            let interval = json_interval(second, second + 1);
            format!("{{\"event\":\"interval\",\"data\":{{\"streams\":[{interval}]}}}}\n")
        },
        seconds: SHORT,
        end: |seconds| format!("{{\"event\":\"end\",\"data\":{}}}\n", json_end(seconds)),
    }
}

fn iperf2_text() -> Written {
    Written {
        begin: "Server listening on UDP port 5001\n\
                [  3] local 10.0.0.2 port 5001 connected with 10.0.0.1 port 40001\n\
                [ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams\n",
        second: |second| {
            format!(
                "[  3] {second}.0-{}.0 sec  99000 Bytes  792000 bits/sec   0.004 ms    1/  100 (1%)\n",
                second + 1
            )
        },
        seconds: SHORT,
        end: |seconds| {
            format!(
                "[  3]  0.0-{seconds}.0 sec  {} Bytes  792000 bits/sec   0.004 ms  {seconds}/  {} (1%)\n",
                99_000 * u64::from(seconds),
                100 * u64::from(seconds)
            )
        },
    }
}

fn iperf2_csv() -> Written {
    fn line(start: u32, end: u32) -> String {
        let seconds = u64::from(end - start);
        format!(
            "20261121160757,10.0.0.2,5001,10.0.0.1,40001,3,{start}.0-{end}.0,{},792000,0.004,{seconds},{},1.000,0\n",
            99_000 * seconds,
            100 * seconds
        )
    }
    Written {
        begin: "",
        second: |second| line(second, second + 1),
        seconds: SHORT,
        end: |seconds| line(0, seconds),
    }
}

/// Kibibytes of this process's status.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The only run of a log, and how much memory reading it took at most, in KiB.
fn imported(log: &impl Source) -> (Run, u64) {
    // The peak is reset to what is resident now.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    let Imported {
        mut runs,
        warnings,
        refused,
    } = import(std::slice::from_ref(log)).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(refused, []);
    assert_eq!(runs.len(), 1);
    (runs.remove(0), status("VmHWM:").saturating_sub(before))
}

fn sum(run: &Run, of: fn(&TrialInterval) -> Option<PacketCount>) -> u64 {
    let intervals = run.trials[0].intervals.iter();
    intervals.map(|interval| of(interval).unwrap().get()).sum()
}

#[test]
fn a_log_of_days_is_read_without_being_held() {
    /// The intervals that are kept take 25 MB as they are read, as many when they are joined, and 20 MB in the run.
    const MAX_KIB: u64 = 128 * 1024;
    for (format, log) in [
        ("iperf2-csv", iperf2_csv()),
        ("iperf2-text", iperf2_text()),
        ("iperf3-json", iperf3_json()),
        ("iperf3-json", iperf3_json_stream()),
        ("iperf3-text", iperf3_text()),
    ] {
        let (run, taken_kib) = imported(&log);
        let all = u64::from(log.seconds);
        let width = log.seconds.div_ceil(MAX_INTERVALS).next_power_of_two();
        assert_eq!(run.source.as_ref().unwrap().format, format);
        assert!(taken_kib < MAX_KIB, "{format}: {taken_kib} KiB");
        let trial = &run.trials[0];
        let packets = trial.packets().unwrap();
        assert_eq!(packets.lost, Some(PacketCount::new(all)), "{format}");
        assert_eq!(
            packets.received,
            Some(PacketCount::new(99 * all)),
            "{format}"
        );
        assert_eq!(sum(&run, |i| i.lost_packets), all, "{format}");
        assert_eq!(sum(&run, |i| i.total_packets), 100 * all, "{format}");
        assert_eq!(trial.duration, Some(Duration::from_secs(all)), "{format}");
        let kept = u64::try_from(trial.intervals.len()).unwrap();
        assert_eq!(kept, all / u64::from(width), "{format}");
        let sentence = format!("up to {width} of them are one here");
        let mut reasons = trial.reasons.iter();
        assert!(reasons.any(|reason| reason.contains(&sentence)), "{format}");
    }
}
