//! What composed scenes gave, one file each, and how often the verdicts on them are right.
//!
//! A record holds every probe that could be made, so that the choice of probes and their tables can be tried on it again
//! without measuring: a verdict is replayed as the command would have come to it.

use crate::composed::{Carried, Composed, Expected, HOSTS, Mechanism};
use crate::guard::Guard;
use crate::learning::Labelled;
use crate::replay::{OR, is_right, named, replayed};
use crate::rig::on_scene;
use crate::say;
use crate::table::FALSE_ALARMS;
use crate::{Purpose, Scenes};
use anyhow::{Context as _, Result};
use linerate_analysis::{Observation, diagnose};
use linerate_model::run::{Confidence, Run, Verdict};
use linerate_model::spec::Transport;
use linerate_studies::run::{diagnose as probe, probe_all};
use linerate_testkit::disturbance::{DISTURBED, observed};
use linerate_testkit::pages;
use serde::{Deserialize, Serialize};
use statrs::distribution::{Binomial, DiscreteCDF as _};
use statrs::statistics::{Data, OrderStatistics as _};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One scene, what its mechanisms cost, and its run with every probe, or those that the command makes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Record {
    seed: u64,
    number: u64,
    scene: Composed,
    /// With all mechanisms, before and after the others.
    base: [Carried; 2],
    /// Without each mechanism, in their order.
    relieved: Vec<Carried>,
    /// Share of the CPU that went to other programs, or was stolen, at most of its tests.
    taken: f64,
    run: Run,
    /// The scene tested once more, with the probes that the command makes: of scenes to judge.
    #[serde(default)]
    again: Option<Run>,
}

/// Plays the scenes of `seed` that `folder` does not hold yet.
///
/// Several programs may share a folder: each takes scenes that no other has begun.
pub(crate) fn play_missing(scenes: Scenes, folder: &Path, guard: &mut Guard) -> Result<()> {
    fs::create_dir_all(folder)?;
    let Scenes { seed, count, .. } = scenes;
    for number in 0..count {
        let path = folder.join(format!("{seed}-{number}.json"));
        let scene = Composed::draw(seed, number);
        let skipped =
            scenes.is_side_by_side && scene.is_of_cpu() || scenes.are_rare_only && !scene.is_rare();
        if skipped || path.exists() {
            continue;
        }
        let part = path.with_extension("begun");
        let Ok(mut begun) = fs::File::create_new(&part) else {
            continue;
        };
        match play(scenes, number, guard) {
            Ok(record) => {
                say(&record.line());
                begun.write_all(&serde_json::to_vec(&record)?)?;
                fs::rename(part, path)?;
            }
            Err(error) => {
                say(&format!(
                    "{seed}-{number}: not played: {error:#}: {scene:?}"
                ));
                fs::remove_file(part)?;
            }
        }
    }
    Ok(())
}

fn play(scenes: Scenes, number: u64, guard: &mut Guard) -> Result<Record> {
    let Scenes { seed, purpose, .. } = scenes;
    let scene = Composed::draw(seed, number);
    let mut taken = 0.0;
    let first = carried(&scene, guard, &mut taken)?;
    let relieved = (0..scene.mechanisms.len())
        .map(|index| carried(&scene.without(index), guard, &mut taken))
        .collect::<Result<_>>()?;
    let probes = match purpose {
        Purpose::Judge | Purpose::Fit => Probes::All,
        Purpose::Sample => Probes::AsCommand,
    };
    let run = probed(&scene, probes, guard, &mut taken)?;
    let again = match purpose {
        Purpose::Judge => Some(probed(&scene, Probes::AsCommand, guard, &mut taken)?),
        Purpose::Fit | Purpose::Sample => None,
    };
    let last = carried(&scene, guard, &mut taken)?;
    Ok(Record {
        seed,
        number,
        scene,
        base: [first, last],
        relieved,
        taken,
        run,
        again,
    })
}

/// Which probes follow a scene's own test.
enum Probes {
    /// Every one that can be made.
    All,
    /// Those that the command makes.
    AsCommand,
}

/// The scene's own test with its probes.
fn probed(scene: &Composed, which: Probes, guard: &mut Guard, taken: &mut f64) -> Result<Run> {
    let scene = scene.scene();
    let test = scene.test.clone();
    let measured = on_scene(&scene, guard, move |context, target| {
        Ok(observed(|| {
            let run = test.run(context, target)?;
            anyhow::Ok(match which {
                Probes::All => probe_all(context, target, run),
                Probes::AsCommand => probe(context, target, run, BUDGET),
            })
        }))
    })?;
    *taken = taken.max(measured.taken);
    measured.value
}

/// What a scene carries in a short test.
fn carried(scene: &Composed, guard: &mut Guard, taken: &mut f64) -> Result<Carried> {
    let scene = scene.measured();
    let test = scene.test.clone();
    let measured = on_scene(&scene, guard, move |context, target| {
        Ok(observed(|| test.run(context, target)))
    })?;
    *taken = taken.max(measured.taken);
    Carried::of(&measured.value?).context("the run has no trial")
}

/// A mechanism is a limit if without it at least this much more arrives.
const GAIN: f64 = 1.1;
/// A limit that stands out.
const CLEAR_GAIN: f64 = 1.3;
/// Another limit's gain, as a share of the greatest one's (both as logarithms), up to which there is one main limit.
const SECOND: f64 = 0.35;
/// Two tests of one scene that differ by more were not of one scene.
const STEADY: f64 = 1.25;
/// A sender that keeps its schedule sends this share of what was intended, and more.
const SENT: f64 = 0.9;
/// Loss of datagrams that is worth a verdict.
const LOSSY: f64 = 0.005;

impl Record {
    /// Each mechanism with what taking it away gains, as a multiple of the rate.
    fn gains(&self) -> Vec<(Mechanism, f64)> {
        let base = (self.base[0].bps * self.base[1].bps).sqrt();
        let gain = |relieved: &Carried| relieved.bps / base.max(1.0);
        let mechanisms = self.scene.mechanisms.iter().copied();
        mechanisms.zip(self.relieved.iter().map(gain)).collect()
    }

    /// Whether its tests are of one scene, the run that is to be explained among them.
    fn is_steady(&self) -> bool {
        let is_near = |ratio: f64| (1.0 / STEADY..=STEADY).contains(&ratio);
        let [first, last] = self.base.map(|carried| carried.bps.max(1.0));
        let own = Carried::of(&self.run).map_or(0.0, |own| own.bps);
        is_near(first / last) && is_near(own / (first * last).sqrt())
    }

    /// Whether other programs took no CPU time to speak of from its tests.
    pub(crate) fn is_quiet(&self) -> bool {
        self.taken < DISTURBED
    }

    /// What limits, the greatest gain first; where nothing limits the rate of datagrams, what makes them lost.
    fn limits(&self) -> Vec<(Expected, f64)> {
        let mut limits: Vec<(Expected, f64)> = self
            .gains()
            .into_iter()
            .filter(|(_, gain)| *gain >= GAIN)
            .map(|(mechanism, gain)| (self.scene.expected(mechanism), gain))
            .collect();
        limits.sort_by(|a, b| b.1.total_cmp(&a.1));
        let loss = self.base[0].loss.min(self.base[1].loss);
        // What was never sent, with every mechanism or without any, is held back by the hosts themselves.
        let sent = self.base[0].bps / (1.0 - loss).max(LOSSY);
        let is_sent = sent >= self.scene.load.as_f64() * SENT;
        if limits.is_empty() && loss >= LOSSY && is_sent {
            let pairs = self.scene.mechanisms.iter().zip(&self.relieved);
            let relieving = pairs.filter(|(_, relieved)| relieved.loss <= loss / 2.0);
            limits.extend(
                relieving.map(|(mechanism, _)| (self.scene.expected(*mechanism), CLEAR_GAIN)),
            );
        }
        limits
    }

    /// The limit whose relief gains by far the most. Where others fill a link, both they and the link are limits; what is
    /// to be said is that others fill it.
    fn main_limit(&self) -> Option<Expected> {
        if self.scene.is_free() {
            return Some(HOSTS);
        }
        let limits = self.limits();
        let shared = limits
            .iter()
            .find(|(limit, gain)| *limit == CONGESTION && *gain >= CLEAR_GAIN);
        if let Some((expected, _)) = shared {
            return Some(*expected);
        }
        match limits.as_slice() {
            [(expected, gain), rest @ ..] if *gain >= CLEAR_GAIN => {
                let next = rest.first().map_or(1.0, |(_, gain)| *gain);
                (next.ln() <= gain.ln() * SECOND).then_some(*expected)
            }
            _ => None,
        }
    }

    /// By how much the rate rises without its limit: as was said, and as was measured.
    fn next_gain(&self) -> Option<(f64, f64)> {
        let (verdict, _) = self.replayed();
        let next = verdict.weighed.as_ref()?.next.as_ref()?;
        let before = self
            .run
            .trials
            .iter()
            .filter_map(|trial| trial.received_rate);
        let before = before.max()?.as_f64();
        let gains = self.gains().into_iter();
        let mut named = gains
            .filter(|(mechanism, _)| is_right(self.scene.expected(*mechanism), &found(&verdict)));
        let (_, measured) = named.next().filter(|(_, gain)| *gain >= GAIN)?;
        let said = match self.scene.transport {
            Transport::Tcp => next.rate,
            // More than was intended cannot have arrived.
            Transport::Udp => next.rate.min(self.scene.load),
        };
        Some((said.as_f64() / before, measured))
    }

    fn line(&self) -> String {
        let (verdict, _) = self.replayed();
        let gains: Vec<String> = self
            .gains()
            .iter()
            .map(|(mechanism, gain)| format!("{mechanism:?} ×{gain:.2}"))
            .collect();
        let said = found(&verdict);
        let limits = self.limits().into_iter();
        let expected: Vec<Expected> = limits.map(|(limit, _)| limit).collect();
        let mark = match self.main_limit() {
            _ if !self.is_steady() => "unsteady",
            None => "no single limit",
            Some(limit) if is_right(limit, &said) => "right",
            Some(_) => "WRONG",
        };
        let second = self.again.as_ref().map(|again| diagnose(again).0);
        let second = second.filter(|second| found(second) != said);
        let second = second.map_or_else(String::new, |second| {
            format!(", then {} ({})", found(&second), confidence(&second))
        });
        format!(
            "{}-{} {:?} {:?}{} {:.1} Mbit/s: {} | limits: {} | said: {said} ({}){second} | {mark}",
            self.seed,
            self.number,
            self.scene.transport,
            self.scene.direction,
            if self.scene.search { " search" } else { "" },
            self.base[0].bps / 1e6,
            gains.join(", "),
            expected.join(", "),
            confidence(&verdict),
        )
    }

    /// The verdict on the run alone, as on a log or with `--diagnose 0s`.
    fn unprobed(&self) -> Verdict {
        let mut run = self.run.clone();
        run.probes.clear();
        diagnose(&run).0
    }

    /// The verdict that the command would have come to in its ten seconds, and how long that took.
    pub(crate) fn replayed(&self) -> (Verdict, Duration) {
        replayed(&self.run)
    }

    /// Its seed and number.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}", self.seed, self.number)
    }

    /// The test with every probe.
    pub(crate) const fn run(&self) -> &Run {
        &self.run
    }

    /// The main limit of a steady scene, by its id in the table of counts.
    pub(crate) fn label(&self) -> Option<String> {
        self.main_limit()
            .filter(|_| self.is_steady())
            .map(str::to_owned)
    }
}

/// What the commands spend.
const BUDGET: Duration = Duration::from_secs(10);

/// The limit of a link that others fill.
const CONGESTION: &str = "congestion";

fn confidence(verdict: &Verdict) -> &'static str {
    match verdict.confidence {
        Confidence::Weak => "weak",
        Confidence::Supported => "supported",
        Confidence::Confirmed => "confirmed",
    }
}

fn found(verdict: &Verdict) -> String {
    named(verdict).to_owned()
}

/// Every record of `folder`, in the order of their names.
pub(crate) fn read(folder: &Path) -> Result<Vec<Record>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    let record = |path: &PathBuf| {
        let bytes = fs::read(path)?;
        serde_json::from_slice(&bytes).with_context(|| path.display().to_string())
    };
    paths.iter().map(record).collect()
}

/// What the scenes of `folder` with one main limit show, for the table of counts.
pub(crate) fn labelled(folder: &Path) -> Result<Vec<Labelled>> {
    let labelled = |record: &Record| {
        // Of several that are right none can be counted.
        let limit = record.label().filter(|limit| !limit.contains(OR))?;
        Some(Labelled {
            scene: record.name(),
            limit,
            observation: Observation::from_run(&record.run)?,
        })
    };
    Ok(read(folder)?.iter().filter_map(labelled).collect())
}

/// Plays the first few scenes of a seed that nothing is fitted on; whether verdicts that are supported may still be wrong
/// as rarely as they should.
pub(crate) fn sample(guard: &mut Guard) -> Result<bool> {
    let folder = tempfile::tempdir()?;
    play_missing(SAMPLE, folder.path(), guard)?;
    let records = read(folder.path())?;
    let (mut supported, mut wrong) = (0, 0);
    for record in records.iter().filter(|record| record.is_steady()) {
        let Some(limit) = record.main_limit() else {
            continue;
        };
        let (verdict, _) = record.replayed();
        if verdict.confidence != Confidence::Weak && !verdict.limit.is_unknown() {
            supported += 1;
            wrong += u64::from(!is_right(limit, &found(&verdict)));
        }
    }
    let chance = match wrong {
        0 => 1.0,
        _ => Binomial::new(SUPPORTED_WRONG, supported).map_or(0.0, |all| all.sf(wrong - 1)),
    };
    say(&format!(
        "\nOf {} composed scenes, {supported} with one main limit have a supported verdict, {wrong} of them wrong; if {:.0} % were in the long run, so many or more would be with probability {chance:.4}.",
        records.len(),
        SUPPORTED_WRONG * 100.0
    ));
    Ok(!records.is_empty() && chance >= FALSE_ALARMS)
}

/// Of `make test`.
const SAMPLE: Scenes = Scenes {
    seed: 3,
    count: 5,
    is_side_by_side: false,
    are_rare_only: false,
    purpose: Purpose::Sample,
};
/// Share of supported verdicts that may be wrong.
const SUPPORTED_WRONG: f64 = 0.01;

/// How often the verdicts on the scenes with one main limit are right, by what limits, as Markdown.
pub(crate) fn judgement(folder: &Path) -> Result<String> {
    let records = read(folder)?;
    let (quiet, loud): (Vec<&Record>, Vec<&Record>) =
        records.iter().partition(|record| record.is_quiet());
    let replayed = |records: &[&Record]| {
        let judged = judged(records).into_iter();
        Tally::new(judged.map(|(record, expected)| (record.replayed().0, expected)))
    };
    let unprobed = judged(&quiet).into_iter();
    let unprobed = unprobed.map(|(record, expected)| (record.unprobed(), expected));
    let mut text = String::new();
    for (condition, tally) in [
        ("on a quiet machine", replayed(&quiet)),
        ("beside other programs", replayed(&loud)),
        ("without probes, on a quiet machine", Tally::new(unprobed)),
    ] {
        writeln!(text, "- {condition}: {}", tally.conclusion())?;
    }
    write!(
        text,
        "\n{MEANING}\n\n{}",
        table("On a quiet machine", &quiet)?
    )?;
    text.push_str(&reliability(&judged(&quiet))?);
    text.push('\n');
    text.push_str(&table("Beside other programs", &loud)?);
    Ok(text)
}

/// What the words of the tables mean.
const MEANING: &str = "Main limit: its relief gains at least 30 %, and far more than any other's. Unsteady: two tests of the same differ by more than 25 %.";

/// Records of scenes with one main limit, with what a verdict must say.
fn judged<'a>(records: &[&'a Record]) -> Vec<(&'a Record, Expected)> {
    let steady = records.iter().filter(|record| record.is_steady());
    steady
        .filter_map(|record| Some((*record, record.main_limit()?)))
        .collect()
}

/// Verdicts by what limits, a row each; limits whose verdicts were all right and supported share one.
fn tallied(verdicts: impl Iterator<Item = (Verdict, Expected)>) -> Result<String> {
    let mut rows: BTreeMap<Expected, Tally> = BTreeMap::new();
    let mut all = Tally::default();
    for (verdict, expected) in verdicts {
        let row = rows.entry(expected).or_default();
        row.count(&verdict, expected);
        all.count(&verdict, expected);
    }
    let mut text = String::from(
        "| limits | scenes | right, supported | right, weak | not identified | wrong, weak | wrong, supported | said instead |\n|---|--:|--:|--:|--:|--:|--:|---|\n",
    );
    let (perfect, others): (Vec<_>, Vec<_>) =
        rows.iter().partition(|(_, tally)| tally.is_perfect());
    if !perfect.is_empty() {
        let scenes = perfect.iter().map(|(_, tally)| tally.scenes).sum();
        let together = Tally {
            scenes,
            right: [0, scenes],
            ..Tally::default()
        };
        let names: Vec<&str> = perfect.iter().map(|(name, _)| **name).collect();
        writeln!(text, "{}", together.row(&names.join(", ")))?;
    }
    for (name, tally) in others {
        writeln!(text, "{}", tally.row(name))?;
    }
    writeln!(text, "{}", all.row("**all**"))?;
    Ok(text)
}

fn table(title: &str, records: &[&Record]) -> Result<String> {
    let judged = judged(records);
    let unsteady = records.iter().filter(|record| !record.is_steady()).count();
    let mut text = format!(
        "## {title}\n\n{} scenes: {} with one main limit, judged here; {unsteady} unsteady; the others with several limits, or none of what was built.\n\n",
        records.len(),
        judged.len(),
    );
    if judged.is_empty() {
        writeln!(text, "{}\n", of_repeats(records))?;
        return Ok(text);
    }
    let mut times: Vec<f64> = Vec::new();
    text.push_str(&tallied(judged.iter().map(|(record, expected)| {
        let (verdict, time) = record.replayed();
        times.push(time.as_secs_f64());
        (verdict, *expected)
    }))?);
    let mut times = Data::new(times);
    writeln!(
        text,
        "\n{}\n{}\n{}\n- Traffic of the probes: {:.1} s in the median, {:.1} s at p90.",
        of_several(records),
        of_next(records),
        of_repeats(records),
        times.quantile(0.5),
        times.quantile(0.9)
    )?;
    Ok(text)
}

/// Classes of a verdict's probability, by where they end.
const CLASSES: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 1.0];

/// How often verdicts of each probability are right: that often, if probabilities are what they are called.
fn reliability(judged: &[(&Record, Expected)]) -> Result<String> {
    let mut text = String::from(
        "\n| probability | verdicts | right | right, if it holds |\n|---|--:|--:|--:|\n",
    );
    let verdicts: Vec<(f64, bool)> = judged
        .iter()
        .filter_map(|(record, expected)| {
            let (verdict, _) = record.replayed();
            let probability = verdict.weighed.as_ref()?.probability_ratio.get();
            Some((probability, is_right(expected, &found(&verdict))))
        })
        .collect();
    let mut from = 0.0;
    for to in CLASSES {
        let class = |(probability, _): &&(f64, bool)| {
            (from..to).contains(probability) || (to >= 1.0 && *probability >= 1.0)
        };
        let here: Vec<&(f64, bool)> = verdicts.iter().filter(class).collect();
        let right = here.iter().filter(|(_, right)| *right).count();
        let promised: f64 = here.iter().map(|(probability, _)| probability).sum();
        if !here.is_empty() {
            writeln!(
                text,
                "| {from:.2} to {to:.2} | {} | {right} | {promised:.1} |",
                here.len()
            )?;
        }
        from = to;
    }
    Ok(text)
}

/// What was said of scenes in which taking away any of several mechanisms raises the rate.
fn of_several(records: &[&Record]) -> String {
    let (mut scenes, mut greatest, mut another) = (0, 0, 0);
    for record in records.iter().filter(|record| record.is_steady()) {
        let limits = record.limits();
        if limits.len() < 2 {
            continue;
        }
        scenes += 1;
        let said = found(&record.replayed().0);
        match limits.iter().position(|(limit, _)| is_right(limit, &said)) {
            Some(0) => greatest += 1,
            Some(_) => another += 1,
            None => {}
        }
    }
    format!(
        "- {scenes} scenes with several limits: {greatest} verdicts named the one whose relief gains most, {another} another of them."
    )
}

/// How near the rates at which the next limit was said to be are to those that were measured without the first.
fn of_next(records: &[&Record]) -> String {
    let gains: Vec<(f64, f64)> = records
        .iter()
        .filter(|record| record.is_steady())
        .filter_map(|record| record.next_gain())
        .collect();
    let count = |is: fn(f64) -> bool| {
        let ratios = gains.iter().map(|(said, measured)| measured / said);
        ratios.filter(|ratio| is(*ratio)).count()
    };
    format!(
        "- Next limit, {} scenes whose first was right: the rate without the first was within 15 % of the one predicted in {}, below it in {}.",
        gains.len(),
        count(|ratio| (1.0 / NEAR..=NEAR).contains(&ratio)),
        count(|ratio| ratio < 1.0 / NEAR),
    )
}

/// How often the same scene, tested and probed once more, had the same verdict.
fn of_repeats(records: &[&Record]) -> String {
    let (mut twice, mut same, mut sure_of_both) = (0, 0, 0);
    let (mut of_one_limit, mut same_of_one) = (0, 0);
    for record in records.iter().filter(|record| record.is_steady()) {
        let Some(again) = &record.again else {
            continue;
        };
        let (first, second) = (record.replayed().0, diagnose(again).0);
        let is_same = found(&first) == found(&second);
        twice += 1;
        same += u32::from(is_same);
        let has_one = record.main_limit().is_some();
        of_one_limit += u32::from(has_one);
        same_of_one += u32::from(has_one && is_same);
        let is_sure = |verdict: &Verdict| verdict.confidence != Confidence::Weak;
        sure_of_both += u32::from(!is_same && is_sure(&first) && is_sure(&second));
    }
    format!(
        "- {twice} scenes tested and probed twice: {same} had the same verdict both times ({same_of_one} of {of_one_limit} with one main limit); {sure_of_both} had two supported ones that differ."
    )
}

/// Two gains that differ by no more are near.
const NEAR: f64 = 1.15;

/// Of the page of results.
const TITLE: &str = "Verdicts on composed scenes";

/// Writes what was judged as a page of results.
pub(crate) fn write(text: &str) -> Result<()> {
    Ok(pages::write("verdicts.md", TITLE, "make verdicts", text)?)
}

/// Verdicts on scenes of one limit.
#[derive(Default)]
struct Tally {
    scenes: u32,
    right: [u32; 2],
    unknown: u32,
    wrong: [u32; 2],
    instead: BTreeMap<String, u32>,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict, expected: Expected) {
        self.scenes += 1;
        let sure = usize::from(verdict.confidence != Confidence::Weak);
        let found = found(verdict);
        if is_right(expected, &found) {
            self.right[sure] += 1;
        } else if verdict.limit.is_unknown() {
            self.unknown += 1;
        } else {
            self.wrong[sure] += 1;
            *self.instead.entry(found).or_default() += 1;
        }
    }

    fn new(verdicts: impl Iterator<Item = (Verdict, Expected)>) -> Self {
        let mut all = Self::default();
        verdicts.for_each(|(verdict, expected)| all.count(&verdict, expected));
        all
    }

    fn conclusion(&self) -> String {
        let Self {
            scenes,
            right: [weak, supported],
            wrong: [_, supported_wrong],
            ..
        } = self;
        format!(
            "{} of {scenes} verdicts name the main limit, {supported} of them supported; {supported_wrong} supported ones are wrong",
            weak + supported
        )
    }

    const fn is_perfect(&self) -> bool {
        self.right[1] == self.scenes
    }

    fn row(&self, name: &str) -> String {
        let instead: Vec<String> = self
            .instead
            .iter()
            .map(|(limit, count)| format!("{limit} {count}"))
            .collect();
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |",
            self.scenes,
            self.right[1],
            self.right[0],
            self.unknown,
            self.wrong[0],
            self.wrong[1],
            instead.join(", ")
        )
    }
}
