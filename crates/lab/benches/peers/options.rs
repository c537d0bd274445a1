//! Arguments after `cargo bench -- `.

use crate::goals::{IPERF3, NEPER, SFNT};
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) rounds: u32,
    /// Of each test, in whole seconds.
    pub(crate) seconds: u64,
    /// Decides the order of the contenders in each round.
    pub(crate) seed: u64,
    /// Cores of the sending and of the receiving host; by default the first two allowed.
    pub(crate) cores: Option<[u32; 2]>,
    /// The iperf3 to compare with, if not the installed one.
    pub(crate) iperf3: Option<PathBuf>,
    /// The sfnt-pingpong to compare with, if there is one.
    pub(crate) sfnt: Option<PathBuf>,
    /// The `tcp_stream` of neper to compare with, if there is one.
    pub(crate) neper: Option<PathBuf>,
    /// The linerate to measure; by default the one of this workspace is built.
    pub(crate) linerate: Option<PathBuf>,
    /// Another build of linerate to run beside.
    pub(crate) before: Option<PathBuf>,
    /// Run these tests only.
    pub(crate) only: Vec<String>,
    /// Make the hosts as root, outside of a user namespace: the kernel loads XDP programs there only.
    pub(crate) as_root: bool,
}

impl Options {
    /// Whether every test is run, of this build alone.
    pub(crate) const fn is_whole(&self) -> bool {
        self.only.is_empty() && self.before.is_none() && self.linerate.is_none()
    }

    /// Contenders whose program the user named: none of them may be left out without a word.
    pub(crate) fn named(&self) -> Vec<&'static str> {
        let all = [
            (IPERF3, self.iperf3.is_some()),
            (SFNT, self.sfnt.is_some()),
            (NEPER, self.neper.is_some()),
        ];
        let named = all.into_iter().filter(|(_, is_named)| *is_named);
        named.map(|(name, _)| name).collect()
    }
}

/// Names for `--only`.
pub(crate) const TESTS: [&str; 10] = [
    "tcp", "streams", "udp", "gso", "ping", "pace", "search", "size", "observe", "frames",
];

/// What this program was started for.
pub(crate) enum Mode {
    /// By `cargo bench`.
    Compare(Options),
    /// By the runner of tests: one tiny round of linerate alone.
    Test,
}

/// Cargo passes `--bench` for `cargo bench`; test runs pass options of libtest.
pub(crate) fn parse(words: &[String]) -> Result<Mode> {
    if !words.iter().any(|word| word == "--bench") {
        return Ok(Mode::Test);
    }
    let mut options = Options {
        rounds: 10,
        seconds: 2,
        seed: 1,
        cores: None,
        iperf3: None,
        sfnt: None,
        neper: None,
        linerate: None,
        before: None,
        only: Vec::new(),
        as_root: false,
    };
    let mut words = words.iter().filter(|word| *word != "--bench");
    while let Some(word) = words.next() {
        let value = words
            .next()
            .with_context(|| format!("{word} needs a value\n{USAGE}"))?;
        set(&mut options, word, value).with_context(|| format!("{word} {value}\n{USAGE}"))?;
    }
    Ok(Mode::Compare(options))
}

fn set(options: &mut Options, word: &str, value: &str) -> Result<()> {
    match word {
        "--rounds" => options.rounds = positive(value)?,
        "--seconds" => options.seconds = positive(value)?.into(),
        "--seed" => options.seed = value.parse()?,
        "--cpu" => options.cores = Some(cores(value)?),
        "--iperf3" => options.iperf3 = Some(value.into()),
        "--sfnt" => options.sfnt = Some(value.into()),
        "--neper" => options.neper = Some(value.into()),
        "--linerate" => options.linerate = Some(value.into()),
        "--before" => options.before = Some(value.into()),
        "--only" => options.only = tests(value)?,
        "--namespaces" => options.as_root = as_root(value)?,
        _ => bail!("there is no such argument"),
    }
    Ok(())
}

fn as_root(value: &str) -> Result<bool> {
    match value {
        "root" => Ok(true),
        "user" => Ok(false),
        _ => bail!("must be user or root"),
    }
}

fn positive(value: &str) -> Result<u32> {
    match value.parse()? {
        0 => bail!("must be 1 or more"),
        number => Ok(number),
    }
}

fn cores(value: &str) -> Result<[u32; 2]> {
    let (a, b) = value
        .split_once(',')
        .context("must be two core numbers such as 0,1")?;
    Ok([a.parse()?, b.parse()?])
}

fn tests(value: &str) -> Result<Vec<String>> {
    let names: Vec<String> = value.split(',').map(str::to_owned).collect();
    match names.iter().find(|name| !TESTS.contains(&name.as_str())) {
        Some(name) => bail!("\"{name}\" is none of {}", TESTS.join(", ")),
        None => Ok(names),
    }
}

const USAGE: &str = "usage: cargo bench -p linerate-lab --bench peers -- [--rounds 10] [--seconds 2] \
    [--seed 1] [--cpu SENDER,RECEIVER] [--iperf3 PATH] [--sfnt PATH] [--neper TCP_STREAM] [--linerate PATH] [--before PATH] \
    [--only tcp,streams,udp,gso,ping,pace,search,size,observe,frames] [--namespaces user|root (af-xdp and frames need root)]";
