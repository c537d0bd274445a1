//! linerate and its peers side by side, on two hosts made of this machine.
//!
//! `cargo bench -p linerate-lab --bench peers -- [--rounds N]` prints each result, and a whole run writes them as a table to
//! `docs/results/bench.md`. Every tool
//! runs as it is started by a user, two processes, each bound to one core; rounds are interleaved
//! and their order is drawn, so that what drifts on the machine meets all alike. `cargo test`
//! runs one tiny round of linerate alone.
#![forbid(unsafe_code)]

mod activity;
mod contenders;
mod footprint;
mod generators;
mod goals;
mod lab;
mod observing;
mod options;
mod process;
mod recorder;
mod table;
mod turns;

use crate::activity::{Activity, Lengths, PACES, STREAMS, Values};
use crate::contenders::{
    Contender, Floor, Iperf2, Iperf3, Linerate, Neper, PingPong, Sfnt, Sockperf, Variant, perform,
};
use crate::goals::{BEFORE, Goal, OWN, PAST_THE_STACK, SPINNING, ZERO_COPY, against_before, goals};
use crate::lab::Lab;
use crate::options::{Mode, Options};
use crate::table::{Line, Results};
use crate::turns::take_turns;
use anyhow::{Context as _, Result, bail, ensure};
use linerate_model::random::Random;
use linerate_sys::affinity::allowed_cores;
use linerate_testbed::Link;
use linerate_testkit::namespaces::{Case, namespace_main};
use linerate_testkit::pages;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            drop(writeln!(io::stderr(), "error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match options::parse(&words)? {
        Mode::Compare(options) => compare(&options).map(|()| ExitCode::SUCCESS),
        Mode::Test => Ok(namespace_main(prepare_smoke, SMOKE)),
    }
}

/// Linerate as it was built for the smoke test: building needs threads, and namespaces are entered without.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// One short test of each kind, linerate alone: that they run and give sane values.
const SMOKE: &[Case] = &[Case {
    name: "smoke",
    run: || tiny_round().expect("every activity gives a sane value"),
}];

fn prepare_smoke() -> Result<()> {
    let _ = PROGRAM.set(build()?);
    Ok(linerate_testbed::enter_user_namespace()?)
}

fn tiny_round() -> Result<()> {
    let program = PROGRAM.get().context("invariant: built before")?.clone();
    let lab = Lab::new(Link::Direct { mtu: 1500 }, cores(None)?, 1)?;
    let linerate = Linerate {
        name: OWN,
        program,
        variant: Variant::Plain,
    };
    let lengths = Lengths {
        test: Duration::from_secs(1),
        settle: Duration::from_millis(100),
    };
    let mut order = Random::new(1);
    let paced = Activity::Paced(PACES[0]);
    for activity in [
        Activity::Tcp,
        Activity::Udp,
        Activity::Aggregated,
        Activity::PingPong,
        Activity::TcpPingPong,
        paced,
    ] {
        let values = trials(&[&linerate], &lab, activity, lengths, &mut order).remove(0);
        let values = values.with_context(|| format!("{activity:?}"))?;
        let wrong = values
            .iter()
            .find(|(_, value)| !value.is_finite() || **value <= 0.0);
        ensure!(
            !values.is_empty() && wrong.is_none(),
            "{activity:?} gave {values:?}"
        );
    }
    footprint::memory_line(&linerate.program, &lab)?;
    Ok(())
}

fn compare(options: &Options) -> Result<()> {
    let program = match &options.linerate {
        Some(program) => program.clone(),
        None => build()?,
    };
    if !options.as_root {
        linerate_testbed::enter_user_namespace()?;
    }
    let folder = tempfile::tempdir()?;
    let cores = cores(options.cores)?;
    let lab = Lab::new(Link::Direct { mtu: 1500 }, cores, options.seed)?;
    let contenders = contenders(&program, options, &folder);
    check_named(&contenders, options)?;
    let mut page = Page::default();
    page.say(&facts(&contenders, options, cores))?;
    let rows = wanted_rows(options);
    let results = rounds(&contenders, &lab, &rows, options);
    for goal in &rows {
        page.line(results.line(goal))?;
    }
    if is_wanted(options, "observe") {
        for line in observing::lines(&program, &lab, options)? {
            page.line(line)?;
        }
    }
    if is_wanted(options, "frames") {
        match generators::lines(&program, options, cores) {
            Ok(lines) => lines.into_iter().try_for_each(|line| page.line(line))?,
            Err(error) => page.line(Line::not_run(
                "frames of 64 B over veth",
                &format!("{error:#}"),
            ))?,
        }
    }
    if is_wanted(options, "search") {
        page.line(or_not_run(
            "saturation search",
            footprint::search_line(&program, options, cores),
        ))?;
    }
    if is_wanted(options, "size") {
        page.line(or_not_run(
            "idle memory",
            footprint::memory_line(&program, &lab),
        ))?;
        page.line(or_not_run(
            "binary size",
            footprint::size_line(&program, &folder),
        ))?;
    }
    page.text
        .push_str(&table::page(&page.lines, options.rounds));
    page.say("")?;
    for failure in results.failures() {
        page.say(&format!("- failed: {failure}"))?;
    }
    if options.is_whole() {
        pages::write("bench.md", TITLE, "make bench", &page.text)?;
    }
    Ok(())
}

/// Whether every contender whose program the user named can be run.
fn check_named(contenders: &[Box<dyn Contender>], options: &Options) -> Result<()> {
    let named = options.named();
    for contender in contenders.iter().filter(|one| named.contains(&one.name())) {
        let version = contender.version().map_err(anyhow::Error::msg);
        version.with_context(|| format!("{}, as given", contender.name()))?;
    }
    Ok(())
}

/// Of the page of results.
const TITLE: &str = "Speed beside other tools";

/// What was printed so far.
#[derive(Default)]
struct Page {
    text: String,
    lines: Vec<Line>,
}

impl Page {
    fn say(&mut self, text: &str) -> Result<()> {
        say(text)?;
        self.text.push_str(text);
        self.text.push('\n');
        Ok(())
    }

    /// Prints a line at once; the page has all of them in one table.
    fn line(&mut self, line: Line) -> Result<()> {
        say(&line.to_string())?;
        self.lines.push(line);
        Ok(())
    }
}

/// The rows of the table that were asked for.
fn wanted_rows(options: &Options) -> Vec<Goal> {
    let mut rows = goals();
    if options.before.is_some() {
        rows.extend(against_before());
    }
    rows.retain(|goal| wanted_activities(options).contains(&goal.activity));
    // What one row of the table holds stands together, linerate as it is first.
    rows.sort_by_key(|goal| (goal.measure, goal.own != OWN, goal.own));
    rows
}

fn contenders(
    program: &Path,
    options: &Options,
    folder: &tempfile::TempDir,
) -> Vec<Box<dyn Contender>> {
    let floor = Floor::build(folder);
    let iperf3 = |is_zero_copy| Iperf3 {
        program: options.iperf3.clone().unwrap_or_else(|| "iperf3".into()),
        is_zero_copy,
    };
    let mut all: Vec<Box<dyn Contender>> = vec![
        Box::new(Linerate {
            name: OWN,
            program: program.to_owned(),
            variant: Variant::Plain,
        }),
        Box::new(Linerate {
            name: SPINNING,
            program: program.to_owned(),
            variant: Variant::Spinning,
        }),
        Box::new(Linerate {
            name: PAST_THE_STACK,
            program: program.to_owned(),
            variant: Variant::PastTheStack,
        }),
        Box::new(Linerate {
            name: ZERO_COPY,
            program: program.to_owned(),
            variant: Variant::ZeroCopy,
        }),
        Box::new(iperf3(false)),
        Box::new(iperf3(true)),
        Box::new(Iperf2),
        Box::new(Sockperf),
        Box::new(Neper {
            program: options.neper.clone(),
        }),
        Box::new(Sfnt {
            program: options.sfnt.clone(),
        }),
        Box::new(floor.zero_copy()),
        Box::new(floor),
    ];
    if let Some(program) = options.before.clone() {
        all.push(Box::new(Linerate {
            name: BEFORE,
            program,
            variant: Variant::Plain,
        }));
    }
    all
}

/// All rounds. A failed test is kept as a failure of that round and does not end the others.
fn rounds(
    contenders: &[Box<dyn Contender>],
    lab: &Lab,
    rows: &[Goal],
    options: &Options,
) -> Results {
    let mut results = Results::default();
    let mut order = Random::new(options.seed);
    let lengths = Lengths {
        test: Duration::from_secs(options.seconds),
        settle: Duration::from_millis(200),
    };
    let mut takes_part = line_up(contenders, rows, &mut results);
    for round in 1..=options.rounds {
        drop(writeln!(
            io::stderr(),
            "round {round} of {}",
            options.rounds
        ));
        for (activity, able) in &mut takes_part {
            order.shuffle(able);
            let trials = trials(able, lab, *activity, lengths, &mut order);
            for (contender, trial) in able.iter().zip(trials) {
                let trial = trial.map_err(|error| format!("{error:#}"));
                results.push(contender.name(), *activity, trial);
            }
        }
    }
    results
}

/// One test of each contender: one after the other, or in turns.
fn trials(
    able: &[&dyn Contender],
    lab: &Lab,
    activity: Activity,
    lengths: Lengths,
    order: &mut Random,
) -> Vec<Result<Values>> {
    if activity.is_ping_pong() {
        let able: Vec<_> = able.iter().filter_map(|one| one.ping_pong()).collect();
        return ping_pongs(&able, lab, activity, lengths, order);
    }
    let one = |contender: &&dyn Contender| perform(*contender, lab, activity, lengths);
    able.iter().map(one).collect()
}

/// Ping-pongs in turns, but for those that others cannot be beside.
fn ping_pongs(
    able: &[&dyn PingPong],
    lab: &Lab,
    activity: Activity,
    lengths: Lengths,
    order: &mut Random,
) -> Vec<Result<Values>> {
    let together: Vec<_> = able.iter().copied().filter(|one| !one.is_alone()).collect();
    let mut shared = take_turns(&together, lab, activity, lengths, order).into_iter();
    let each = able.iter().map(|one| {
        let mut own = Vec::new();
        if one.is_alone() {
            own = take_turns(&[*one], lab, activity, lengths, order);
        }
        let values = own.pop().or_else(|| shared.next());
        values.expect("invariant: each of those together has its values")
    });
    each.collect()
}

/// Who is needed for the rows and can do what; the others' reasons go into `results`.
fn line_up<'a>(
    contenders: &'a [Box<dyn Contender>],
    rows: &[Goal],
    results: &mut Results,
) -> Vec<(Activity, Vec<&'a dyn Contender>)> {
    let able = |activity: Activity| {
        let mut able = Vec::new();
        let needed = |name: &str| {
            let mut rows = rows.iter().filter(|row| row.activity == activity);
            rows.any(|row| row.own == name || row.peer == name)
        };
        for contender in contenders.iter().filter(|one| needed(one.name())) {
            match contender.version().and_then(|_| contender.offers(activity)) {
                Ok(()) => able.push(contender.as_ref()),
                Err(why) => results.absent(contender.name(), activity, why),
            }
        }
        (activity, able)
    };
    let mut activities: Vec<Activity> = rows.iter().map(|row| row.activity).collect();
    activities.sort_unstable();
    activities.dedup();
    activities.into_iter().map(able).collect()
}

fn wanted_activities(options: &Options) -> Vec<Activity> {
    let mut all = vec![
        ("tcp", Activity::Tcp),
        ("udp", Activity::Udp),
        ("gso", Activity::Aggregated),
        ("ping", Activity::PingPong),
        ("ping", Activity::TcpPingPong),
    ];
    all.extend(STREAMS.map(|streams| ("streams", Activity::Streams(streams))));
    all.extend(PACES.map(|pace| ("pace", Activity::Paced(pace))));
    all.retain(|(name, _)| is_wanted(options, name));
    all.into_iter().map(|(_, activity)| activity).collect()
}

fn is_wanted(options: &Options, name: &str) -> bool {
    options.only.is_empty() || options.only.iter().any(|only| only == name)
}

fn or_not_run(what: &str, line: Result<Line>) -> Line {
    line.unwrap_or_else(|error| Line::not_run(what, &format!("{error:#}")))
}

/// What was compared on what.
fn facts(contenders: &[Box<dyn Contender>], options: &Options, cores: [u32; 2]) -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let mut lines = vec![
        format!("- core {} sends, core {} receives", cores[0], cores[1]),
        format!(
            "- kernel.perf_event_paranoid {}: a profile from within a user namespace sees the kernel below 2, the whole host below 1",
            read("/proc/sys/kernel/perf_event_paranoid").trim()
        ),
        format!(
            "- load average at the start {}",
            read("/proc/loadavg").trim()
        ),
        format!(
            "- {} rounds of {} s per test, order drawn with seed {}; ratio = linerate / peer, pairs of one round",
            options.rounds, options.seconds, options.seed
        ),
    ];
    for contender in contenders {
        let version = contender
            .version()
            .unwrap_or_else(|why| format!("not run: {why}"));
        lines.push(format!("- {}: {version}", contender.name()));
    }
    lines.join("\n") + "\n"
}

/// Builds the binary with the profile of this benchmark; the path of what was built.
fn build() -> Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    // Of the whole workspace, so that no dependency is built anew with other features.
    command.args([
        "build",
        "--locked",
        "--quiet",
        "--workspace",
        "--bin",
        "linerate",
    ]);
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let status = command
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("starting cargo to build linerate")?;
    if !status.success() {
        bail!("building linerate: {status}");
    }
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent);
    let program = folder
        .context("this benchmark is not in target/PROFILE/deps")?
        .join("linerate");
    ensure!(program.exists(), "{} was not built", program.display());
    Ok(program)
}

fn cores(asked: Option<[u32; 2]>) -> Result<[u32; 2]> {
    if let Some(cores) = asked {
        return Ok(cores);
    }
    let allowed = allowed_cores()?;
    let first = *allowed.first().context("no core is allowed")?;
    Ok([first, *allowed.get(1).unwrap_or(&first)])
}

fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}
