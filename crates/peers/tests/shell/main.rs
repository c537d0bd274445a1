//! Conversations with Zephyr's shell, replayed: what is typed, and what is understood.
//!
//! A transcript is a text file in `src/zperf/transcripts/`. What the shell says in it was recorded from
//! Zephyr 3.3 with zperf's own prompts, colours and log lines.
//!
//! ```text
//! # what it shows
//! wire serial           or telnet
//! * upload {…}          what the driver has the shell do: serve, upload, traffic-ended, end of the line
//! > …                   what is typed after it, escaped
//! < …                   what the shell says, escaped
//! ~                     time passes until the conversation wants to be told
//! = …                   what its driver is told
//! ! …                   the error that ended the conversation
//! ```
#![expect(clippy::unwrap_used, reason = "a test")]

use linerate_model::MonoInstant;
use linerate_model::spec::Transport;
use linerate_peers::Wire;
use linerate_peers::zperf::{Config, Event, Job, Shell, ShellError};
use linerate_peers::{FIRST_ANSWER, TIMEOUT};
use proptest::prelude::*;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;

const START: MonoInstant = MonoInstant::from_nanos(1);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/zperf/transcripts")
}

/// All transcripts, by name.
fn transcripts() -> Vec<(String, String)> {
    let mut found: Vec<_> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.display().to_string(), text)
        })
        .collect();
    found.sort();
    found
}

/// `\r`, `\n`, `\t`, `\\` and `\x1b` made bytes again.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (byte, false) => byte,
            (_, true) => match rest.next().unwrap() {
                b'x' => {
                    let digits = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
                }
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                plain => plain,
            },
        });
    }
    bytes
}

fn job(words: &str) -> Job {
    let words: Vec<_> = words.split(' ').collect();
    let transport = if words[1] == "udp" {
        Transport::Udp
    } else {
        Transport::Tcp
    };
    match words[0] {
        "serve" => Job::Serve {
            transport,
            port: 5001,
        },
        _ => Job::Upload {
            transport,
            to: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)),
            port: 5001,
            seconds: 3,
            size: 1024,
            bps: (transport == Transport::Udp).then_some(5_242_880),
        },
    }
}

/// A conversation and its time.
struct Talk {
    shell: Shell,
    now: MonoInstant,
}

impl Talk {
    fn begin(text: &str) -> Self {
        let wire = if text.contains("\nwire telnet\n") {
            Wire::Telnet
        } else {
            Wire::Serial
        };
        let config = Config {
            wire,
            release: None,
            timeout: TIMEOUT,
            first_answer: FIRST_ANSWER,
        };
        Self {
            shell: Shell::new(config, START),
            now: START,
        }
    }

    /// Carries out one line of a transcript; `chunk` bytes at a time.
    fn take(&mut self, line: &str, chunk: usize) -> Result<(), ShellError> {
        if let Some(said) = line.strip_prefix("< ") {
            let bytes = unescape(said);
            return bytes
                .chunks(chunk)
                .try_for_each(|piece| self.shell.feed(self.now, piece));
        }
        match line {
            "~" => {
                self.now = self.shell.deadline().unwrap();
                self.shell.pass(self.now)
            }
            "* traffic-ended" => {
                self.shell.traffic_ended(self.now);
                Ok(())
            }
            "* end of the line" => self.shell.eof(),
            other => {
                self.shell
                    .begin(self.now, job(other.strip_prefix("* ").unwrap()));
                Ok(())
            }
        }
    }

    /// What is typed and told since the last time, and how it went.
    fn tell(&mut self, outcome: Result<(), ShellError>, into: &mut String) {
        let mut typed = Vec::new();
        while let Some(bytes) = self.shell.poll_send() {
            typed.extend(bytes);
        }
        if !typed.is_empty() {
            writeln!(into, "> {}", typed.escape_ascii()).unwrap();
        }
        while let Some(event) = self.shell.poll_event() {
            writeln!(into, "= {event:?}").unwrap();
        }
        if let Err(error) = outcome {
            writeln!(into, "! {error}").unwrap();
        }
    }
}

fn is_input(line: &str) -> bool {
    line.starts_with(['<', '~', '*'])
}

/// What the transcript should say, given what the shell and the driver do in it.
fn replay(text: &str, chunk: usize) -> String {
    let mut said = String::new();
    for line in text
        .lines()
        .take_while(|line| !line.starts_with(['>', '<', '~', '*']))
    {
        writeln!(said, "{line}").unwrap();
    }
    let mut talk = Talk::begin(text);
    talk.tell(Ok(()), &mut said);
    for line in text.lines().filter(|line| is_input(line)) {
        writeln!(said, "{line}").unwrap();
        let outcome = talk.take(line, chunk);
        talk.tell(outcome, &mut said);
    }
    said
}

#[test]
fn every_transcript_is_replayed_to_the_byte() {
    for (name, text) in transcripts() {
        let said = replay(&text, usize::MAX);
        if std::env::var_os("WRITE_TRANSCRIPTS").is_some() {
            std::fs::write(&name, &said).unwrap();
            continue;
        }
        assert_eq!(said, text, "{name}");
    }
}

#[test]
fn a_byte_at_a_time_is_understood_like_all_at_once() {
    for (name, text) in transcripts() {
        for chunk in [1, 3] {
            assert_eq!(replay(&text, chunk), text, "{name}");
        }
    }
}

/// What was said up to some byte and never more: time alone ends every conversation that waits.
#[test]
fn a_shell_that_falls_silent_anywhere_is_given_up_in_bounded_time() {
    for (name, text) in transcripts() {
        let inputs: Vec<_> = text.lines().filter(|line| is_input(line)).collect();
        for (last, line) in inputs.iter().enumerate() {
            let Some(said) = line.strip_prefix("< ") else {
                continue;
            };
            let bytes = unescape(said);
            for cut in 0..bytes.len() {
                let mut talk = Talk::begin(&text);
                let before = &inputs[..last];
                let so_far = before
                    .iter()
                    .try_for_each(|line| talk.take(line, usize::MAX));
                assert_eq!(so_far, Ok(()), "{name}");
                let _ = talk.shell.feed(talk.now, &bytes[..cut]);
                let limit = talk.now.after(Duration::from_mins(1));
                while let Some(deadline) = talk.shell.deadline() {
                    assert!(deadline < limit, "{name}, line {last}, cut at {cut}");
                    talk.now = deadline;
                    if let Err(error) = talk.shell.pass(deadline) {
                        assert!(error.to_string().len() > 20, "{error}");
                    }
                    while talk.shell.poll_send().is_some() {}
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn no_noise_makes_a_conversation_panic_or_grow(
        noise in proptest::collection::vec(any::<u8>(), 0..2000),
        which in 0_usize..100,
    ) {
        let all = transcripts();
        let (_, text) = &all[which % all.len()];
        let mut talk = Talk::begin(text);
        for line in text.lines().filter(|line| is_input(line)).take(which % 9) {
            if talk.take(line, usize::MAX).is_err() {
                return Ok(());
            }
        }
        let _ = talk.shell.feed(talk.now, &noise);
        let mut sent = 0;
        while let Some(bytes) = talk.shell.poll_send() {
            sent += bytes.len();
        }
        prop_assert!(sent <= noise.len() + 4096);
        prop_assert!(talk.shell.poll_event().is_none_or(|event| event != Event::Serving || which > 0));
    }
}
