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

mod cell;
mod examples;
mod published;
mod quick;
mod reference;
mod schedule;
mod series;
mod stacks;

#[cfg(test)]
mod tests;

pub use cell::Cell;
pub use examples::{EXAMPLES, Example};
pub(crate) use published::PublishedLevel;
pub use published::{PublishedFactor, PublishedMap, PublishedQuantity};
pub use reference::json_schema;
pub use series::PlanSeries;

use crate::options::{self, HOST};
use cell::Peers;
use linerate_client::address::PeerAddress;
use linerate_model::Ratio;
use linerate_model::consent::{Effect, Effects, Foreign};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::text::line_at;
use linerate_model::units::parse_duration;
use linerate_peers::key::Key;
use linerate_session::login::Login;
use linerate_sys::bounded;
use serde::Deserialize;
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
    /// Whether the peer is the user's choice, and not that of the file; not part of the file.
    pub is_peer_named: bool,
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
    /// The plan in its short form, if the file has one.
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

impl StudyPlan {
    /// Reads the plan in the file at `path`.
    pub fn read(path: &Path) -> Result<Foreign<Self>> {
        let fail = |why: String| {
            let message = format!(
                "cannot read the plan {}: {why}; give a TOML file that this user may read (`linerate plan init` makes one)",
                path.display()
            );
            Failure::new(ExitCode::Plan, message)
        };
        let text = bounded::read_text_file(path, MAX_BYTES);
        let text = text.map_err(|error| fail(error.to_string()))?;
        let plan = Self::parse(&text).map_err(|error| {
            let message = format!("{}{}", path.display(), error.message);
            Failure::new(ExitCode::Plan, message)
        })?;
        Ok(Foreign::new(plan, path.display().to_string()))
    }

    /// Reads a plan that came with results: it names no file of this host, not even one to be read.
    pub(crate) fn parse_foreign(text: &str) -> Result<Self> {
        // What is no table is said with its line below.
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        if let Some(named) = file_named_in(&table) {
            let message = format!(
                ": {named} names a file of this host, which is not read for a package; unpack it and look at its plan"
            );
            return Err(Failure::new(ExitCode::Plan, message));
        }
        Self::parse(text)
    }

    /// Reads a plan; errors begin with `, line 7: `.
    pub(crate) fn parse(text: &str) -> Result<Self> {
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

    fn from_file(file: &File, place: Places<'_>) -> Result<Self> {
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
            is_peer_named: false,
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

    /// The first cell that names its own host.
    fn with_own_host(&self) -> Option<&Cell> {
        let mut cells = self.cells.iter();
        cells.find(|cell| cell.settings.contains_key(HOST))
    }

    /// Refuses a plan of a package whose hosts are among what it varies: one named host takes the place of none of them.
    pub fn check_hosts_of_package(&self) -> Result<()> {
        let Some(cell) = self.with_own_host() else {
            return Ok(());
        };
        let message = format!(
            "the package's plan names a host for each cell, such as \"{}\", and none of them is contacted: unpack it (tar xf), write hosts of yours into its plan.toml, and measure with: linerate reproduce plan.toml --published table.csv",
            cell.label
        );
        Err(Failure::new(ExitCode::Usage, message))
    }

    /// Measures every cell at this peer; refuses where a cell is measured with a stack, or names its host.
    pub fn set_peer(&mut self, far: &PeerAddress) -> Result<()> {
        if let Some(cell) = self.with_own_host() {
            let message = format!(
                "--host: the cell \"{}\" names its own host; leave --host out",
                cell.label
            );
            return Err(Failure::new(ExitCode::Usage, message));
        }
        if self.cells.iter().any(|cell| cell.test.is_of_device()) {
            let message = "--host: the plan measures a device between two ports of this host; leave --host out";
            return Err(Failure::new(ExitCode::Usage, message));
        }
        if self.cells.iter().any(|cell| cell.far.is_stack()) {
            let message = "--host: the plan measures stacks that linerate starts on this host; leave --host out";
            return Err(Failure::new(ExitCode::Usage, message));
        }
        for cell in &mut self.cells {
            cell.far = far.clone();
        }
        self.is_peer_named = true;
        Ok(())
    }
}

/// The first setting below `table` whose value names a file, as it is written.
fn file_named_in(table: &toml::Table) -> Option<String> {
    fn of_value(key: &str, value: &toml::Value) -> Option<String> {
        match value {
            toml::Value::String(text) => options::with_key(key)
                .any(|option| (option.names_file)(text))
                .then(|| format!("{key} = {text:?}")),
            toml::Value::Array(all) => all.iter().find_map(|one| of_value(key, one)),
            toml::Value::Table(table) => file_named_in(table),
            _ => None,
        }
    }
    table.iter().find_map(|(key, value)| of_value(key, value))
}

impl Effects for StudyPlan {
    /// Of all cells: of its peer, where the user named none, and of its test.
    fn effects(&self) -> Vec<Effect> {
        let of_cell = |cell: &Cell| {
            // A device is between ports of this host: there is no peer.
            let has_peer = !self.is_peer_named && !cell.test.is_of_device();
            let far = has_peer.then(|| cell.far.effects());
            let far = far.into_iter().flatten();
            far.chain(cell.test.effects()).collect::<Vec<_>>()
        };
        self.cells.iter().flat_map(of_cell).collect()
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
        let line = offset
            .map(|offset| format!(", line {}", line_at(self.text, offset)))
            .unwrap_or_default();
        Failure::new(ExitCode::Plan, format!("{line}: {why}"))
    }

    /// The value of a key that is read from text.
    fn read<T, E: std::fmt::Display>(
        self,
        text: &Spanned<String>,
        key: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T> {
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
