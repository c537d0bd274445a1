//! Logs whose lines a mail or a terminal wrapped.

use super::{all, bps, delays};
use linerate_model::run::Run;
use linerate_store::import::{Imported, import};
use serde_json::Value;

/// A line as a mail wraps it: in parts of at most `width` characters, broken at blanks alone.
fn at_words(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest: Vec<char> = line.chars().collect();
    while rest.len() > width {
        let is_break = |at: &usize| rest[*at] == ' ' && rest[..*at].iter().any(|c| *c != ' ');
        let fits = (0..=width).rev().find(is_break);
        let Some(at) = fits.or_else(|| (width..rest.len()).find(is_break)) else {
            break;
        };
        let after: String = rest.split_off(at).iter().collect();
        let part: String = rest.iter().collect();
        parts.push(part.trim_end().to_owned());
        rest = after.trim_start_matches(' ').chars().collect();
    }
    parts.push(rest.iter().collect());
    parts
}

/// A line as a terminal wraps it: in parts of `width` characters, of whose last blanks nothing is left in a copy.
fn at_columns(line: &str, width: usize) -> Vec<String> {
    let line: Vec<char> = line.chars().collect();
    let parts = line
        .chunks(width)
        .map(|part| part.iter().collect::<String>());
    let parts: Vec<_> = parts.map(|part| part.trim_end().to_owned()).collect();
    if parts.is_empty() {
        vec![String::new()]
    } else {
        parts
    }
}

/// What came of the fixtures with their lines wrapped.
#[derive(Default)]
struct Tally {
    /// Other figures without a word.
    wrong: Vec<String>,
    /// The same figures.
    joined: usize,
    /// What stood at the ends of lines is unknown.
    fewer: usize,
    /// Errors, and words on the run.
    named: Vec<String>,
}

impl Tally {
    fn of(widths: &[usize], wrap: fn(&str, usize) -> Vec<String>) -> Self {
        let mut tally = Self::default();
        for (name, bytes) in all() {
            let Ok(text) = String::from_utf8(bytes.clone()) else {
                continue;
            };
            // JSON has no columns. In a file of tests of many versions lines of one width are rests of one and not of another.
            let is_exempt = name.contains(".json") || name.contains("iperf2-versions");
            let whole = import(&[(name.clone(), bytes)]).ok();
            let Some(whole) = whole.filter(|whole| !is_exempt && whole.refused.is_empty()) else {
                continue;
            };
            for width in widths {
                let parts: Vec<_> = text.lines().flat_map(|line| wrap(line, *width)).collect();
                if parts.len() > text.lines().count() {
                    tally.add(&whole, &name, *width, &parts.join("\n"));
                }
            }
        }
        tally
    }

    fn add(&mut self, whole: &Imported, name: &str, width: usize, text: &str) {
        let is_doubted = |run: &Run| !run.doubts.is_empty();
        let what = format!("{name}, {width}");
        match import(&[(name.to_owned(), text.as_bytes().to_vec())]) {
            Ok(read) if trials(&read) == trials(whole) => self.joined += 1,
            Ok(read) if is_part(&trials(&read), &trials(whole)) => self.fewer += 1,
            Ok(read) if read.refused.is_empty() && !read.runs.iter().all(is_doubted) => {
                self.wrong.push(what);
            }
            _ => self.named.push(what),
        }
    }

    #[track_caller]
    fn check(&self) {
        assert!(self.wrong.is_empty(), "wrong: {:#?}", self.wrong);
        assert!(
            self.joined > 3 * (self.fewer + self.named.len()),
            "{} joined, {} with fewer figures, named: {:#?}",
            self.joined,
            self.fewer,
            self.named
        );
    }
}

fn trials(imported: &Imported) -> Value {
    let trials = imported
        .runs
        .iter()
        .map(|run| serde_json::to_value(&run.trials));
    trials.map(Result::unwrap).collect()
}

#[test]
fn lines_that_a_mail_wrapped_are_joined_and_none_gives_other_figures() {
    Tally::of(&[72, 76, 80], at_words).check();
}

#[test]
fn lines_that_a_terminal_wrapped_are_joined_and_none_gives_other_figures() {
    Tally::of(&[60, 80, 100, 120], at_columns).check();
}

#[test]
fn a_bounce_back_test_in_a_mail_is_no_transfer() {
    let log = "$ iperf -c 192.0.2.7 -e -i 1\n\
        -t 2 --bounceback --bounceback-request 800\n\
        Client connecting to 192.0.2.7, TCP port 5001 with pid 4711 (1/0 flows/load)\n\
        Bounceback test (req/reply size = 800 Byte/ 100 Byte) (server hold\n\
        req=0 usecs & tcp_quickack)\n\
        TCP window size: 85.0 KByte (default)\n\
        [  1] local 192.0.2.9%eth0 port 40002 connected with 192.0.2.7 port 5001\n\
        (bb w/quickack req/reply/hold=800/100/0) (sock=3)\n\
        (icwnd/mss/irtt=14/1448/265) (ct=0.43 ms)\n\
        [ ID] Interval        Transfer    Bandwidth         BB\n\
        cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS(avg)\n\
        [  1] 0.00-1.00 sec  8.79 MBytes  73.7 Mbits/sec\n\
        10235=0.093/0.078/1.057/0.027 ms    0   14K/62 us    10729 rps\n\
        [  1] 1.00-2.00 sec  9.58 MBytes  80.4 Mbits/sec\n\
        11166=0.086/0.077/0.225/0.003 ms    0   14K/61 us    11631 rps\n\
        [  1] 0.00-2.01 sec  18.4 MBytes  76.7 Mbits/sec\n\
        21401=0.089/0.077/1.057/0.011 ms    0   14K/1729 us    11180 rps\n\
        [  1] 0.00-2.01 sec  OWD (ms) Cnt=21401 TX=0.770/-0.357/4.012/1.683\n\
        RX=-0.678/-3.709/0.789/1.686 Asymmetry=2.299/0.001/7.702/2.857\n\
        [  1] 0.00-2.01 sec  BB8-PDF:\n\
        bin(w=100us):cnt(21401)=1:20400,2:936,3:58,4:4,5:2,11:1\n\
        (5.00/95.00/99.7%=1/1/2,Outliers=0,obl/obu=0/0)\n\
        [  1] 0.00-2.01 sec  Clock sync error count = 92028\n";
    let Imported { runs, warnings, .. } =
        import(&[("mail".to_owned(), log.as_bytes().to_vec())]).unwrap();
    let [run] = &runs[..] else {
        panic!("{} runs", runs.len());
    };
    let trial = &run.trials[0];
    assert_eq!(delays(trial), [Some(77_000), None, None, Some(1_057_000)]);
    assert_eq!(trial.delay().unwrap().mean_ns, Some(89_000.0));
    assert_eq!((trial.offered_load, trial.received_rate), (None, None));
    assert!(
        warnings[0].contains("a mail seems to have wrapped"),
        "{warnings:?}"
    );
}

#[test]
fn a_command_goes_on_in_the_next_line() {
    for end in [" \\\n  -b", "\n-b"] {
        let log = format!(
            "$ iperf3 -c 192.0.2.7 -u{end} 100M -t 2\n\
             Connecting to host 192.0.2.7, port 5201\n\
             [  5] local 192.0.2.9 port 40002 connected to 192.0.2.7 port 5201\n\
             [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
             [  5]   0.00-1.00   sec  11.9 MBytes  99.9 Mbits/sec  8630\n\
             [  5]   1.00-2.00   sec  11.9 MBytes   100 Mbits/sec  8632\n\
             - - - - - - - - - - - - - - - - - - - - - - - - -\n\
             [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
             [  5]   0.00-2.00   sec  23.8 MBytes   100 Mbits/sec  0.000 ms  0/17262 (0%)  sender\n\
             [  5]   0.00-2.04   sec  23.8 MBytes  98.0 Mbits/sec  0.011 ms  0/17262 (0%)  receiver\n\n\
             iperf Done.\n"
        );
        let imported = import(&[("log".to_owned(), log.into_bytes())]).unwrap();
        assert_eq!(imported.warnings, Vec::<String>::new());
        let trial = &imported.runs[0].trials[0];
        assert_eq!(bps(trial.intended_load), 100_000_000);
    }
}

/// Whether all that is known in `part` is the same in `whole`.
fn is_part(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::Null, _) => true,
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len() && part.iter().zip(whole).all(|(a, b)| is_part(a, b))
        }
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .all(|(key, a)| whole.get(key).is_some_and(|b| is_part(a, b))),
        (part, whole) => part == whole,
    }
}
