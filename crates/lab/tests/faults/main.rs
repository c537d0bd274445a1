//! The fault laboratory: known bottlenecks, each at three strengths, and what linerate says of them.
//!
//! Needs user namespaces, so it runs with `--ignored`; names filter, `--list` lists, `--keep DIR`
//! keeps each cell's run document, `--proof all|one|none` says which verdicts are proved, `--strengths all|one`
//! which strengths are played. By default all strengths, and one proof of each fault's three; in the tier `test`
//! (`LINERATE_TIER`) one strength without proofs; `make laboratory` proves all, and
//! with `--write` makes the table the page `docs/results/laboratory.md`. Prints the table in Markdown. It fails if a wrong
//! verdict is confirmed, or if so few are right that 95 % can be ruled out at a false-alarm rate of
//! 0.1 %; what could not run is named, and counted as ignored, never as passed.
//!
//! In the tier `test` a few composed scenes follow, else two limits at once (`two-limits`).
//!
//! `--scenes SEED COUNT --keep DIR` plays composed scenes instead, those of the first so many that the folder lacks, and
//! judges the verdicts on all that it holds; with `--write` that is the page `docs/results/verdicts.md`. With `--fit` it
//! judges nothing, and makes the table that verdicts are drawn from of what they show. `--side-by-side`: other programs do
//! the same at this time. `--rare`: only scenes with a mechanism that few are limited by. `--guard SET --keep DIR` plays
//! nothing, and writes the scenes that the folder holds as that set of the guard in `crates/analysis/tests/scenes`.
#![expect(clippy::unwrap_used, reason = "a test")]

mod composed;
mod families;
mod fault;
mod guard;
mod learning;
mod records;
mod reduction;
#[path = "../../../analysis/tests/scenes/replay.rs"]
mod replay;
mod rig;
mod rivals;
mod scene;
mod table;
mod two_limits;

use crate::fault::{Fault, Need, Strength};
use crate::guard::Guard;
use crate::rig::Proof;
use crate::table::{Outcome, Row};
use anyhow::{Context as _, Result};
use linerate_model::Clock as _;
use linerate_model::run::Run;
use linerate_sys::clock::MonoClock;
use linerate_testbed::enter_user_namespace;
use linerate_testkit::pages;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let result = match std::env::args().nth(1).as_deref() {
        Some(guard::GUARD) => guard::guard_main().map(|()| true),
        Some(rig::FAR_END) => rig::peer_main().map(|()| true),
        _ => laboratory(&Request::parse(std::env::args().skip(1))),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(LIBTEST_FAILED),
        Err(error) => {
            say(&format!("the laboratory failed: {error:#}"));
            ExitCode::from(LIBTEST_FAILED)
        }
    }
}

/// What libtest exits with when a test failed.
const LIBTEST_FAILED: u8 = 101;

fn say(line: &str) {
    let mut out = std::io::stdout();
    writeln!(out, "{line}").and_then(|()| out.flush()).unwrap();
}

/// What the arguments ask for.
#[derive(Default)]
struct Request {
    filters: Vec<String>,
    skips: Vec<String>,
    keep: Option<PathBuf>,
    /// The set of the guard that what is kept becomes.
    guard: Option<String>,
    list: bool,
    run: bool,
    write: bool,
    proofs: Proofs,
    strengths: Strengths,
    composed: ComposedScenes,
}

/// Whether composed scenes are played.
#[derive(Debug, Clone, Copy, Default)]
enum ComposedScenes {
    #[default]
    None,
    /// A few, after the faults.
    Sample,
    /// Instead of the faults.
    Instead(Scenes),
}

/// What composed scenes are played for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To judge verdicts on them.
    Judge,
    /// To make the table of them that verdicts are drawn from.
    Fit,
    /// To judge the verdicts that the command itself comes to, with no more probes than it makes.
    Sample,
}

/// Composed scenes of one seed.
#[derive(Debug, Clone, Copy)]
struct Scenes {
    seed: u64,
    /// Played are those that the folder lacks of the first so many.
    count: u64,
    /// Other programs do the same at this time: scenes of CPU time are left out.
    is_side_by_side: bool,
    /// Only those with a mechanism that few scenes are limited by.
    are_rare_only: bool,
    purpose: Purpose,
}

/// Which strengths of each fault are played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Strengths {
    /// All three.
    #[default]
    All,
    /// The first of the first fault, the second of the second, and so on: as many of each.
    OneOfEach,
}

impl Strengths {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "one" => Some(Self::OneOfEach),
            _ => None,
        }
    }

    /// Those of the fault with this number.
    fn of(self, number: usize, fault: &'static Fault) -> &'static [Strength] {
        match self {
            Self::All => &fault.strengths,
            Self::OneOfEach => {
                let chosen = number % fault.strengths.len();
                &fault.strengths[chosen..=chosen]
            }
        }
    }
}

/// Which cells' verdicts are proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Proofs {
    /// Every one.
    All,
    /// That of each fault's middle strength: a proof takes five to ten times as long as the test.
    #[default]
    OneOfEach,
    /// None.
    None,
}

impl Proofs {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "all" => Some(Self::All),
            "one" => Some(Self::OneOfEach),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    fn of(self, fault: &Fault, strength: &Strength) -> Proof {
        let is_middle = fault
            .strengths
            .get(1)
            .is_some_and(|s| s.name == strength.name);
        match self {
            Self::All => Proof::Demanded,
            Self::OneOfEach if is_middle => Proof::Demanded,
            Self::OneOfEach | Self::None => Proof::Waived,
        }
    }
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut request = Self::default();
        if std::env::var_os("LINERATE_TIER").is_some_and(|tier| tier == "test") {
            (request.strengths, request.proofs) = (Strengths::OneOfEach, Proofs::None);
            request.composed = ComposedScenes::Sample;
        }
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--ignored" | "--include-ignored" => request.run = true,
                "--strengths" => {
                    let word = arguments.next().unwrap_or_default();
                    request.strengths = Strengths::parse(&word).unwrap();
                }
                "--proof" => {
                    let word = arguments.next().unwrap_or_default();
                    request.proofs = Proofs::parse(&word).unwrap();
                }
                "--scenes" => {
                    let mut number = || arguments.next().and_then(|word| word.parse().ok());
                    let (seed, count) = (number().unwrap(), number().unwrap());
                    request.composed = ComposedScenes::Instead(Scenes {
                        seed,
                        count,
                        is_side_by_side: false,
                        are_rare_only: false,
                        purpose: Purpose::Judge,
                    });
                }
                "--side-by-side" => {
                    request.change_scenes(|scenes| scenes.is_side_by_side = true);
                }
                "--rare" => request.change_scenes(|scenes| scenes.are_rare_only = true),
                "--fit" => request.change_scenes(|scenes| scenes.purpose = Purpose::Fit),
                "--list" => request.list = true,
                "--write" => request.write = true,
                "--keep" => request.keep = arguments.next().map(PathBuf::from),
                "--guard" => request.guard = arguments.next(),
                "--skip" => request.skips.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" => {
                    drop(arguments.next());
                }
                option if option.starts_with('-') => {}
                _ => request.filters.push(argument),
            }
        }
        request
    }

    fn change_scenes(&mut self, change: impl FnOnce(&mut Scenes)) {
        if let ComposedScenes::Instead(scenes) = &mut self.composed {
            change(scenes);
        }
    }

    fn wants(&self, fault: &Fault) -> bool {
        let hit = |text: &String| LABORATORY == text || fault.name.contains(text.as_str());
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skips.iter().any(hit)
    }

    /// Two limits at once take a minute: not in the tier `test`.
    fn wants_two_limits(&self) -> bool {
        let is_named = |filter: &String| "two-limits".contains(filter.as_str());
        let is_whole = self.filters.is_empty() && matches!(self.composed, ComposedScenes::None);
        is_whole || self.filters.iter().any(is_named)
    }

    fn cells(&self) -> Vec<(&'static Fault, &'static Strength)> {
        let faults = families::ALL.iter().copied().flatten().enumerate();
        faults
            .filter(|(_, fault)| self.wants(fault))
            .flat_map(|(number, fault)| {
                let strengths = self.strengths.of(number, fault).iter();
                strengths.map(move |strength| (fault, strength))
            })
            .collect()
    }
}

/// Of the page of results.
const TITLE: &str = "The fault laboratory";

/// The whole set is one test.
const LABORATORY: &str = "the_fault_laboratory";

fn laboratory(request: &Request) -> Result<bool> {
    let wrong: Vec<String> = families::ALL
        .iter()
        .copied()
        .flatten()
        .filter_map(table::complaint)
        .collect();
    anyhow::ensure!(wrong.is_empty(), "{}", wrong.join("; "));
    if let Some(set) = &request.guard {
        let kept = request.keep.as_deref();
        let kept = kept.context("--guard needs --keep DIR")?;
        return reduction::write(kept, set).map(|()| true);
    }
    let cells = request.cells();
    if request.list {
        for (fault, strength) in cells {
            say(&format!("{} ({}): cell", fault.name, strength.name));
        }
        say(&format!("{LABORATORY}: test"));
        return Ok(true);
    }
    if cells.is_empty() && !request.wants_two_limits() || !request.run {
        let ignored = usize::from(!cells.is_empty());
        say(&format!(
            "\ntest result: ok. 0 passed; 0 failed; {ignored} ignored; 0 measured; 0 filtered out\n"
        ));
        return Ok(true);
    }
    // Before the namespace, so that it stays outside.
    let mut guard = Guard::start()?;
    enter_user_namespace()?;
    if let ComposedScenes::Instead(scenes) = request.composed {
        return compose(scenes, request, &mut guard);
    }
    let rows = play_all(&cells, request, &mut guard);
    let (mut text, good) = table::conclusion(&rows);
    // Two limits alone were asked for.
    let mut good = good || rows.is_empty();
    if request.wants_two_limits() && guard.has_quota() {
        let (found, are_named) = two_limits::are_named(&mut guard)?;
        let _ = write!(text, "\n\n{found}");
        good &= are_named;
    }
    say(&text);
    if request.write {
        let text = format!("{}\n{text}\n", table::text(&rows));
        pages::write("laboratory.md", TITLE, "make laboratory", &text)?;
    }
    let is_sampled = matches!(request.composed, ComposedScenes::Sample);
    let good = good && (!is_sampled || records::sample(&mut guard)?);
    let ignored = rows
        .iter()
        .filter(|row| matches!(row.outcome, Outcome::NotRun(_)))
        .count();
    let word = if good { "ok" } else { "FAILED" };
    say(&format!(
        "\ntest {LABORATORY} ... {word}\n\ntest result: {word}. {} passed; {} failed; {ignored} ignored; 0 measured; 0 filtered out\n",
        u8::from(good),
        u8::from(!good)
    ));
    Ok(good)
}

/// Plays composed scenes and says how often the verdicts on all that the folder holds are right.
fn compose(scenes: Scenes, request: &Request, guard: &mut Guard) -> Result<bool> {
    let folder = request
        .keep
        .as_deref()
        .context("--scenes needs --keep DIR")?;
    records::play_missing(scenes, folder, guard)?;
    if scenes.purpose == Purpose::Fit {
        return learning::fit(&records::labelled(folder)?).map(|()| true);
    }
    let text = records::judgement(folder)?;
    say(&text);
    if request.write {
        records::write(&text)?;
    }
    Ok(true)
}

fn play_all(
    cells: &[(&'static Fault, &'static Strength)],
    request: &Request,
    guard: &mut Guard,
) -> Vec<Row> {
    say(table::PROGRESS);
    let mut rows = Vec::with_capacity(cells.len());
    for (fault, strength) in cells {
        let started = MonoClock.now();
        let (outcome, repeats) = play(fault, strength, request, guard);
        let took = MonoClock.now().saturating_since(started);
        let row = Row {
            fault,
            strength,
            outcome,
            took,
            repeats,
        };
        say(&row.line());
        rows.push(row);
    }
    rows
}

/// Plays one cell; also says how often its test was made again.
fn play(
    fault: &Fault,
    strength: &Strength,
    request: &Request,
    guard: &mut Guard,
) -> (Outcome, u32) {
    let lacking: Vec<&str> = fault
        .needs
        .iter()
        .filter(|need| !is_met(**need, guard))
        .map(|need| told(*need))
        .collect();
    if !lacking.is_empty() {
        return (
            Outcome::NotRun(format!("needs {}", lacking.join(" and "))),
            0,
        );
    }
    let proof = request.proofs.of(fault, strength);
    let keep = request.keep.as_deref();
    let played = rig::play(&(strength.scene)(), proof, guard);
    let kept = played.and_then(|played| {
        let run = kept(played.run, fault, strength, keep)?;
        Ok((run.verdict, played.repeats, played.is_disturbed))
    });
    match kept {
        Ok((Some(verdict), repeats, true)) => (Outcome::Disturbed(Box::new(verdict)), repeats),
        Ok((Some(verdict), repeats, false)) => (Outcome::Judged(Box::new(verdict)), repeats),
        Ok((None, repeats, _)) => (
            Outcome::Failed("the run has no verdict".to_owned()),
            repeats,
        ),
        Err(error) => (Outcome::Failed(format!("{error:#}")), 0),
    }
}

/// Writes the run document, if asked to.
fn kept(run: Run, fault: &Fault, strength: &Strength, keep: Option<&Path>) -> Result<Run> {
    if let Some(folder) = keep {
        let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
        let name: String = strength.name.chars().map(plain).collect();
        std::fs::create_dir_all(folder)?;
        let path = folder.join(format!("{}--{name}.json", fault.name));
        std::fs::write(path, serde_json::to_vec_pretty(&run)?)?;
    }
    Ok(run)
}

fn is_met(need: Need, guard: &mut Guard) -> bool {
    let runs = |program: &str| {
        let version = std::process::Command::new(program).arg("-V").output();
        version.is_ok_and(|output| output.status.success())
    };
    match need {
        Need::CpuQuota => guard.has_quota(),
        Need::Nft => runs("nft"),
        Need::RealRoot => guard.has_root(),
        Need::Tc => runs("tc"),
    }
}

fn told(need: Need) -> &'static str {
    match need {
        Need::CpuQuota => "real root and the cpu controller of cgroups version 1",
        Need::Nft => "nft (Debian package nftables)",
        Need::RealRoot => "real root",
        Need::Tc => "tc (Debian package iproute2)",
    }
}
