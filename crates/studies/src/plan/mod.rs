//! A study as a file: factors × levels, repeated, in random order.
//!
//! ```toml
//! [study]
//! title = "payload and direction"
//! host = "10.0.0.2"
//! repetitions = 10
//! seed = 1
//! prove = false  # true runs the experiment that each run's verdict proposes
//! restart = false # true starts the peer's program anew for each repetition (ssh://)
//! control = true # the first cell is measured twice: what it differs by from itself is no effect
//!
//! [defaults]
//! kind = "udp"
//! time = "2s"
//! rate = "100M"
//!
//! [factors]
//! payload = [64, 512, 1448]
//! direction = ["forward", "reverse"]
//! ```
//!
//! Pure but for [`StudyPlan::read`]. Every combination of levels is a cell. Each repetition measures every
//! cell once, in an order of its own, so that what drifts over time spreads over all cells.

mod examples;
mod published;
mod quick;
mod reference;
mod schedule;
mod series;
mod settings;
mod stacks;

#[cfg(test)]
mod tests;

pub use examples::{EXAMPLES, Example};
pub(crate) use published::PublishedLevel;
pub use published::{PublishedFactor, PublishedMap, PublishedQuantity};
pub use reference::{json_schema, page};
pub use series::PlanSeries;
pub use settings::Test;

use linerate_client::address::{IpChoice, PeerAddress};
use linerate_model::Ratio;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::link::EmulatedLink;
use linerate_model::run::StudyPlace;
use linerate_model::units::parse_duration;
use linerate_peers::key::Key;
use linerate_session::login::Login;
use linerate_stacks::StackSpec;
use serde::Deserialize;
use settings::{Given, Setting};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// Most runs of a study: at a second each, more than a day.
const MAX_RUNS: usize = 100_000;
/// Largest plan that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// A study that can be run.
#[derive(Debug, Clone)]
pub struct StudyPlan {
    /// What it is about.
    pub title: String,
    /// The key that the peer asks for; not part of the file.
    pub key: Option<Key>,
    /// The user that the peer asks for; not part of the file.
    pub login: Option<Arc<Login>>,
    /// What a wrapper of this end starts, and the file of its key; not part of the file.
    pub wrapped: Option<(PathBuf, Option<PathBuf>)>,
    /// How often each cell is measured, at least once.
    pub repetitions: u32,
    /// Seed of the order.
    pub seed: u64,
    /// Whether each run's verdict is put to the proof.
    pub prove: bool,
    /// Whether the peer's program is started anew for each repetition, so that what a start decides is in the intervals.
    pub restart: bool,
    /// Every combination of levels.
    pub cells: Vec<Cell>,
    /// Which cell is measured a second time as the A/A control.
    pub control: ControlChoice,
    /// Most time of all runs together; then the cells that are known least are measured, not each `repetitions` times.
    pub budget: Option<Duration>,
    /// With a budget: half of a cell's interval, relative, at which it is known well enough.
    pub precision: Option<Ratio>,
    /// What is varied: one series without a name, or several.
    pub series: Vec<PlanSeries>,
    /// Which cells of a published table they measure.
    pub published: PublishedMap,
    /// The same in its short form, if the file has one.
    pub quick: Option<Box<Self>>,
}

/// Which cell of a plan is the A/A control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlChoice {
    /// This one.
    Cell(usize),
    /// None.
    None,
    /// The first, if cells are compared and repeated.
    Usual,
}

/// One combination of levels.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Its levels: `payload = 64, direction = reverse`.
    pub label: String,
    /// Every setting with its value, defaults included, and its series.
    pub settings: BTreeMap<String, String>,
    /// The peer: the study's, or a stack that is started for each run.
    pub far: PeerAddress,
    /// IP versions to use.
    pub ip: IpChoice,
    /// The link element before the peer, which must be an emulated board; `None` leaves its link as it is.
    pub link: Option<EmulatedLink>,
    /// What is measured.
    pub test: Test,
    /// How long each of its runs is then probed for what limits it; zero: not at all.
    pub diagnose: Duration,
    /// What the plan gives and its test does not say, in the plan's words: `load = tcp, diagnose = 5s`.
    pub beside: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    study: Study,
    #[serde(default)]
    defaults: series::Values,
    #[serde(default)]
    factors: series::Factors,
    #[serde(default)]
    series: series::Tables,
    #[serde(default)]
    stacks: stacks::Tables,
    #[serde(default)]
    published: PublishedMap,
    quick: Option<quick::Quick>,
}

/// What cells may be measured at.
struct Peers {
    /// The study's.
    host: Option<PeerAddress>,
    /// Stacks that the plan names.
    stacks: stacks::Named,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Study {
    title: Option<String>,
    host: Option<Spanned<String>>,
    #[serde(default = "one")]
    repetitions: Spanned<u32>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    prove: bool,
    #[serde(default)]
    restart: bool,
    control: Option<Spanned<toml::Value>>,
    budget: Option<Spanned<String>>,
    precision: Option<Spanned<String>>,
}

fn one() -> Spanned<u32> {
    Spanned::new(0..0, 1)
}

impl Peers {
    /// The same values, with stacks that the plan names written out.
    fn meant(&self, values: &[Given]) -> Vec<Given> {
        let one = |(setting, text, at): &Given| {
            let named = self.stacks.get(text);
            let named = named.filter(|_| setting.key == settings::STACK);
            (*setting, named.unwrap_or(text).clone(), *at)
        };
        values.iter().map(one).collect()
    }
}

/// A key with one of its values, and where the value stands.
#[derive(Clone, Copy)]
struct Level<'a> {
    setting: &'static Setting,
    value: &'a Spanned<toml::Value>,
}

impl StudyPlan {
    /// Reads the plan in the file at `path`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let fail = |why: String| {
            let message = format!("cannot read the plan {}: {why}", path.display());
            Failure::new(ExitCode::Plan, message)
        };
        let size = std::fs::metadata(path)
            .map_err(|error| fail(error.to_string()))?
            .len();
        if size > MAX_BYTES {
            return Err(fail(format!(
                "{size} bytes are more than the {MAX_BYTES} of a plan"
            )));
        }
        let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
        Self::parse(&text).map_err(|error| {
            let message = format!("{}{}", path.display(), error.message);
            Failure::new(ExitCode::Plan, message)
        })
    }

    /// Reads a plan; errors begin with `, line 7: `.
    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let place = Places { text };
        let mut file: File = toml::from_str(text)
            .map_err(|error| place.fail(error.span().map(|span| span.start), error.message()))?;
        let whole = Self::from_file(&file, place)?;
        let Some(quick) = file.quick.take() else {
            return Ok(whole);
        };
        quick.shorten(&mut file, place)?;
        let quick = Self {
            title: format!("{}, quick", whole.title),
            ..Self::from_file(&file, place)?
        };
        Ok(Self {
            quick: Some(Box::new(quick)),
            ..whole
        })
    }

    fn from_file(file: &File, place: Places<'_>) -> Result<Self, Failure> {
        let host = file.study.host.as_ref().map(|host| {
            let far = PeerAddress::parse(host.get_ref());
            far.map_err(|error| place.fail(Some(host.span().start), &format!("host: {error}")))
        });
        let repetitions = *file.study.repetitions.get_ref();
        let known = Peers {
            host: host.transpose()?,
            stacks: stacks::read(&file.stacks, place)?,
        };
        let (series, cells) = series::read(file, &known, place)?;
        let runs = cells.len().saturating_mul(repetitions as usize);
        if runs == 0 || runs > MAX_RUNS {
            let at = Some(file.study.repetitions.span().start);
            let why = format!(
                "repetitions = {repetitions}: {} cells make {runs} runs; 1 to {MAX_RUNS} are possible",
                cells.len()
            );
            return Err(place.fail(at, &why));
        }
        let control = schedule::control(&file.study, &cells, place)?;
        let budget = file.study.budget.as_ref();
        let budget = budget.map(|text| place.read(text, "budget", parse_duration));
        let precision = file.study.precision.as_ref();
        let precision = precision.map(|text| place.read(text, "precision", str::parse::<Ratio>));
        let title = file.study.title.clone();
        Ok(Self {
            title: title.unwrap_or_else(|| format!("study of {}", peers(&cells))),
            key: None,
            login: None,
            wrapped: None,
            repetitions,
            seed: file.study.seed,
            prove: file.study.prove,
            restart: file.study.restart,
            control,
            budget: budget.transpose()?,
            precision: precision.transpose()?,
            series,
            cells,
            published: file.published.clone(),
            quick: None,
        })
    }

    /// Every peer, as written.
    pub fn peers(&self) -> String {
        peers(&self.cells)
    }

    /// Whether every cell is measured with a stack that is started here, so that nobody is contacted.
    pub fn is_of_stacks(&self) -> bool {
        self.cells.iter().all(|cell| cell.far.is_stack())
    }

    /// Measures every cell at this peer; refuses where a cell is measured with a stack, or names its host.
    pub fn set_peer(&mut self, far: &PeerAddress) -> Result<(), Failure> {
        if let Some(cell) = self
            .cells
            .iter()
            .find(|cell| cell.settings.contains_key(settings::HOST))
        {
            let message = format!(
                "--host: the cell \"{}\" names its own host; leave --host out",
                cell.label
            );
            return Err(Failure::new(ExitCode::Usage, message));
        }
        if self.cells.iter().any(|cell| cell.far.is_stack()) {
            let message = "--host: the plan measures stacks that linerate starts on this host; leave --host out";
            return Err(Failure::new(ExitCode::Usage, message));
        }
        for cell in &mut self.cells {
            cell.far = far.clone();
        }
        Ok(())
    }
}

/// Where errors are in the plan.
#[derive(Clone, Copy)]
struct Places<'a> {
    text: &'a str,
}

impl Places<'_> {
    /// `, line 7: why`.
    fn fail(self, offset: Option<usize>, why: &str) -> Failure {
        let line = |offset: usize| {
            self.text
                .bytes()
                .take(offset)
                .filter(|byte| *byte == b'\n')
                .count()
                + 1
        };
        let line = offset
            .map(|offset| format!(", line {}", line(offset)))
            .unwrap_or_default();
        Failure::new(ExitCode::Plan, format!("{line}: {why}"))
    }

    /// The value of a key that is read from text.
    fn read<T, E: std::fmt::Display>(
        self,
        text: &Spanned<String>,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, Failure> {
        read(text.get_ref())
            .map_err(|error| self.fail(Some(text.span().start), &format!("{key}: {error}")))
    }
}

/// The peers of cells, each once, in the order of the cells.
fn peers(cells: &[Cell]) -> String {
    let mut all: Vec<String> = Vec::new();
    for cell in cells {
        let far = cell.far.to_string();
        if !all.contains(&far) {
            all.push(far);
        }
    }
    all.join(", ")
}

fn cross<'a>(
    before: &[Vec<Level<'a>>],
    setting: &'static Setting,
    levels: &'a [Spanned<toml::Value>],
) -> Vec<Vec<Level<'a>>> {
    let extended = |cell: &Vec<Level<'a>>, value| {
        let mut cell = cell.clone();
        cell.push(Level { setting, value });
        cell
    };
    before
        .iter()
        .flat_map(|cell| levels.iter().map(move |value| extended(cell, value)))
        .collect()
}

fn setting(key: &Spanned<String>, place: Places<'_>) -> Result<&'static Setting, Failure> {
    let found = settings::ALL
        .iter()
        .find(|setting| setting.key == key.get_ref());
    found.ok_or_else(|| {
        let known: Vec<_> = settings::ALL.iter().map(|setting| setting.key).collect();
        let why = format!(
            "there is no setting \"{}\"; known are {}",
            key.get_ref().escape_debug(),
            known.join(", ")
        );
        place.fail(Some(key.span().start), &why)
    })
}

/// A cell of a series: the defaults, changed by these levels.
fn cell(
    series: Option<&str>,
    (defaults, levels): (&[Level<'_>], &[Level<'_>]),
    peers: &Peers,
    place: Places<'_>,
) -> Result<Cell, Failure> {
    let overruled = |level: &&Level<'_>| {
        !levels
            .iter()
            .any(|other| other.setting.key == level.setting.key)
    };
    let mut values = Vec::new();
    for level in defaults.iter().filter(overruled).chain(levels) {
        let at = level.value.span().start;
        let text = plain(level.value.get_ref()).ok_or_else(|| {
            place.fail(
                Some(at),
                &format!(
                    "{}: a text, a number, true or false is needed",
                    level.setting.key
                ),
            )
        })?;
        values.push((level.setting, text, at));
    }
    let series = series.map(|name| (StudyPlace::SERIES, name.to_owned()));
    let varied = values
        .iter()
        .filter(|(setting, ..)| levels.iter().any(|level| level.setting.key == setting.key))
        .map(|(setting, text, _)| (setting.key, text.clone()));
    let label: Vec<_> = (series.clone().into_iter().chain(varied))
        .map(|(key, text)| format!("{key} = {text}"))
        .collect();
    let label = if label.is_empty() {
        "all".to_owned()
    } else {
        label.join(", ")
    };
    let beside: Vec<_> = values
        .iter()
        .filter(|(setting, ..)| settings::BESIDE.contains(&setting.key))
        .map(|(setting, text, _)| format!("{} = {text}", setting.key))
        .collect();
    let beside = Some(beside.join(", ")).filter(|beside| !beside.is_empty());
    let fail = |(at, why): (Option<usize>, String)| match at {
        Some(at) => place.fail(Some(at), &why),
        None => place.fail(None, &format!("cell \"{label}\": {why}")),
    };
    let measured = Test::from_values(&peers.meant(&values)).map_err(fail)?;
    let host = measured.host.as_ref().or(peers.host.as_ref());
    let far = peer(measured.stack, host).map_err(|why| fail((None, why)))?;
    let values = values.into_iter();
    let named = values.map(|(setting, text, _)| (setting.key, text));
    let named = (series.into_iter().chain(named)).map(|(key, text)| (key.to_owned(), text));
    Ok(Cell {
        label,
        settings: named.collect(),
        far,
        ip: measured.ip,
        link: measured.link,
        test: measured.test,
        diagnose: measured.diagnose,
        beside,
    })
}

/// The peer of a cell: its own stack, or the study's.
fn peer(stack: Option<StackSpec>, host: Option<&PeerAddress>) -> Result<PeerAddress, String> {
    match (stack, host) {
        (Some(stack), None) => PeerAddress::of_stack(stack).map_err(|error| error.message),
        (None, Some(host)) if host.is_stack() => {
            Err("host: write the stack as a setting, stack = \"NAME\" in [defaults]".to_owned())
        }
        (None, Some(host)) => Ok(host.clone()),
        (Some(_), Some(_)) => {
            Err("stack: leave out host, which no network of stacks reaches".to_owned())
        }
        (None, None) => Err("give a host in [study], or a stack".to_owned()),
    }
}

/// A value as it would stand on the command line.
fn plain(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(is_set) => Some(is_set.to_string()),
        _ => None,
    }
}
