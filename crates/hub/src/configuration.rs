//! What the hub is to do: options, and a TOML file with the same names.

use crate::environment;
use crate::source::{InventorySource, MAX_BYTES, PlannedInventory};
use anyhow::Result;
use clap::Args;
use linerate_mesh::Inventory;
use linerate_mesh::schedule::Schedule;
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::text::line_at;
use linerate_model::units::parse_duration;
use linerate_sys::bounded;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

/// Rounds of a schedule that has no period of its own.
const USUAL_PERIOD: Duration = Duration::from_hours(1);
/// Free space below which no round is begun: a document of a mesh of 100 hosts takes some 50 MB.
const USUAL_RESERVE: ByteCount = ByteCount::new(64 << 20);

/// Where database and archive are.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Options in a TOML file; its keys are their names. What the command line gives counts.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// PostgreSQL to use: `postgresql://USER:PASSWORD@HOST/NAME`, or a socket's folder as HOST. A URL with a password is
    /// better in the configuration or in `LINERATE_HUB_DATABASE`.
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// Certificates (PEM) of which one must have signed the database's, for its name. Without them a session over TCP is
    /// encrypted if the database can, or as `?sslmode=` of the URL asks, with whatever server answers.
    #[arg(long, value_name = "FILE")]
    database_ca: Option<PathBuf>,
    /// Directory of the run documents: a store, as `--store` of other commands.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    /// Keep rows of trials for so long: older months are dropped as a whole; documents stay [default: for ever].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    keep: Option<Duration>,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct HubArgs {
    /// Inventories of meshes to measure, each a schedule with the name of its file; the configuration may have more.
    #[arg(value_name = "INVENTORY")]
    inventories: Vec<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Measure these inventories so often [default: 1h].
    #[arg(long, value_name = "PERIOD", value_parser = parse_duration)]
    every: Option<Duration>,
    /// Begin their rounds up to so much late, each by its inventory's seed [default: a tenth of the period].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    jitter: Option<Duration>,
    /// End a round of theirs after so long, and keep what was measured [default: the plan's time and a quarter, and two
    /// minutes].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_duration: Option<Duration>,
    /// What this hub is called among those on the same database [default: hub].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Answer `/metrics` (`OpenMetrics`, for Prometheus) and `/health` over HTTP here, to anybody in reach: `127.0.0.1:9532`.
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Begin no round while the archive's file system has less free space than this [default: 64M].
    #[arg(long, value_name = "BYTES", value_parser = ByteCount::from_str)]
    reserve: Option<ByteCount>,
    /// The program that measures [default: linerate beside this program, or on `PATH`].
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    database: Option<String>,
    database_ca: Option<PathBuf>,
    archive: Option<PathBuf>,
    #[serde(default, deserialize_with = "time")]
    keep: Option<Duration>,
    name: Option<String>,
    metrics: Option<SocketAddr>,
    #[serde(default, deserialize_with = "bytes")]
    reserve: Option<ByteCount>,
    program: Option<PathBuf>,
    #[serde(default)]
    schedules: BTreeMap<String, ScheduleTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ScheduleTable {
    inventory: Option<PathBuf>,
    inventory_command: Option<String>,
    key: Option<PathBuf>,
    #[serde(default, deserialize_with = "time")]
    every: Option<Duration>,
    #[serde(default, deserialize_with = "time")]
    jitter: Option<Duration>,
    #[serde(default, deserialize_with = "time")]
    max_duration: Option<Duration>,
}

impl ScheduleTable {
    /// Where its hosts are told; paths are relative to `folder`, where a command is run.
    fn source(&self, name: &str, folder: &Path) -> Result<InventorySource, Failure> {
        match (&self.inventory, &self.inventory_command) {
            (Some(path), None) => Ok(InventorySource::File(folder.join(path))),
            (None, Some(command)) => Ok(InventorySource::Command {
                text: command.clone(),
                folder: if folder.as_os_str().is_empty() {
                    PathBuf::from(".")
                } else {
                    folder.to_owned()
                },
            }),
            _ => {
                let message = format!(
                    "[schedules.{name}]: give inventory, a file, or inventory-command, which prints one"
                );
                Err(Failure::new(ExitCode::Plan, message))
            }
        }
    }
}

fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map(Some).map_err(D::Error::custom)
}

fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<ByteCount>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// An option that some commands need, and how it is called.
#[derive(Debug, Clone)]
pub(crate) struct RequiredOption<T> {
    value: Option<T>,
    name: &'static str,
}

impl<T> RequiredOption<T> {
    /// Its value.
    ///
    /// # Errors
    ///
    /// It was not given, as [`ExitCode::Usage`].
    pub(crate) fn needed(self) -> Result<T, Failure> {
        let Self { value, name } = self;
        value.ok_or_else(|| {
            let message = format!("give --{name}, or {name} in the file of --config");
            Failure::new(ExitCode::Usage, message)
        })
    }
}

/// Where the database is, and who must have signed its certificate.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseAddress {
    pub(crate) url: String,
    pub(crate) authorities: Option<PathBuf>,
}

/// Places as given by the command line, the environment and the file.
#[derive(Debug, Clone)]
pub(crate) struct HubStorage {
    pub(crate) database: RequiredOption<DatabaseAddress>,
    pub(crate) archive: RequiredOption<PathBuf>,
    pub(crate) keep: Option<Duration>,
}

/// What `serve` does.
#[derive(Debug)]
pub(crate) struct HubPlan {
    pub(crate) database: DatabaseAddress,
    pub(crate) archive: PathBuf,
    pub(crate) keep: Option<Duration>,
    pub(crate) name: String,
    pub(crate) metrics: Option<SocketAddr>,
    pub(crate) reserve: ByteCount,
    pub(crate) program: PathBuf,
    pub(crate) schedules: Vec<MeshSchedule>,
}

/// A mesh that is measured again and again.
#[derive(Debug)]
pub(crate) struct MeshSchedule {
    pub(crate) name: String,
    pub(crate) source: InventorySource,
    /// What it said when it was read last.
    pub(crate) inventory: Inventory,
    /// Rounds from the Unix epoch on: every hub gets the same ones, whatever its inventory becomes.
    pub(crate) schedule: Schedule,
    pub(crate) max_duration: Duration,
    /// The file of the key to show the hosts' agents, in place of the inventory's.
    pub(crate) key: Option<PathBuf>,
    /// The longest round follows from the inventory.
    is_duration_planned: bool,
}

impl MeshSchedule {
    /// From now on its hosts are those of this inventory; whether it differs from the one before.
    pub(crate) fn take(&mut self, planned: PlannedInventory) -> bool {
        if self.is_duration_planned {
            self.max_duration = planned.longest;
        }
        let is_changed = self.inventory != planned.inventory;
        self.inventory = planned.inventory;
        is_changed
    }
}

impl PlaceArgs {
    pub(crate) fn given(&self) -> Result<HubStorage, Failure> {
        Ok(self.with(&self.file()?.0))
    }

    /// The file, and the folder that its paths are relative to.
    fn file(&self) -> Result<(File, PathBuf), Failure> {
        let Some(path) = &self.config else {
            return Ok((File::default(), PathBuf::new()));
        };
        let wrong = |why: String| Failure::new(ExitCode::Plan, format!("{}{why}", path.display()));
        let text = bounded::read_text_file(path, MAX_BYTES)
            .map_err(|error| wrong(format!(": {error}; --config takes a TOML file of options")))?;
        let file = toml::from_str(&text).map_err(|error| {
            let line = error.span().map(|span| line_at(&text, span.start));
            let line = line.map_or_else(String::new, |line| format!(", line {line}"));
            wrong(format!("{line}: {}", error.message()))
        })?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok((file, folder))
    }

    fn with(&self, file: &File) -> HubStorage {
        let url = self.database.clone().or_else(environment::database_url);
        let authorities = self.database_ca.clone();
        let authorities = authorities.or_else(|| file.database_ca.clone());
        HubStorage {
            database: RequiredOption {
                value: url
                    .or_else(|| file.database.clone())
                    .map(|url| DatabaseAddress { url, authorities }),
                name: "database",
            },
            archive: RequiredOption {
                value: self.archive.clone().or_else(|| file.archive.clone()),
                name: "archive",
            },
            keep: self.keep.or(file.keep),
        }
    }
}

impl HubArgs {
    /// What is to be done, with every inventory read and planned.
    ///
    /// # Errors
    ///
    /// What is wrong in which file, before anything starts.
    pub(crate) fn plan(&self) -> Result<HubPlan> {
        let (file, folder) = self.place.file()?;
        let HubStorage {
            database,
            archive,
            keep,
        } = self.place.with(&file);
        let mut schedules = Vec::new();
        for (name, table) in &file.schedules {
            let times = Times {
                every: table.every,
                jitter: table.jitter,
                max_duration: table.max_duration,
            };
            let key = table.key.as_ref().map(|key| folder.join(key));
            schedules.push(times.schedule(name, table.source(name, &folder)?, key)?);
        }
        let times = Times {
            every: self.every,
            jitter: self.jitter,
            max_duration: self.max_duration,
        };
        for path in &self.inventories {
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let schedule = times.schedule(&name, InventorySource::File(path.clone()), None)?;
            if schedules.iter().any(|other| other.name == schedule.name) {
                let message = format!(
                    "two schedules are called {name}: rename an inventory's file, or name them under [schedules] of --config"
                );
                return Err(Failure::new(ExitCode::Usage, message).into());
            }
            schedules.push(schedule);
        }
        if schedules.is_empty() {
            let message =
                "nothing to measure: give an inventory, or [schedules] in the file of --config";
            return Err(Failure::new(ExitCode::Usage, message).into());
        }
        let program = self.program.clone().or(file.program);
        Ok(HubPlan {
            database: database.needed()?,
            archive: archive.needed()?,
            keep,
            name: name(self.name.clone().or(file.name))?,
            metrics: self.metrics.or(file.metrics),
            reserve: self.reserve.or(file.reserve).unwrap_or(USUAL_RESERVE),
            program: program.map_or_else(measuring_program, Ok)?,
            schedules,
        })
    }
}

/// The program that measures: beside this one, else the first on `PATH`.
fn measuring_program() -> Result<PathBuf, Failure> {
    linerate_sys::process::program_beside("linerate").ok_or_else(|| {
        let message = "there is no program linerate beside this one or on PATH; install it, or name it with --program";
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// Names are parts of file names.
fn name(given: Option<String>) -> Result<String, Failure> {
    let name = given.unwrap_or_else(|| "hub".to_owned());
    check_name("hub", &name)?;
    Ok(name)
}

fn check_name(what: &str, name: &str) -> Result<(), Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_plain)
        && name.len() <= 100
    {
        return Ok(());
    }
    let message = format!(
        "\"{name}\" cannot name a {what}: names begin with a letter or digit and have letters, digits, '-', '_' and '.'"
    );
    Err(Failure::new(ExitCode::Plan, message))
}

struct Times {
    every: Option<Duration>,
    jitter: Option<Duration>,
    max_duration: Option<Duration>,
}

impl Times {
    fn schedule(
        &self,
        name: &str,
        source: InventorySource,
        key: Option<PathBuf>,
    ) -> Result<MeshSchedule, Failure> {
        check_name("schedule", name)?;
        let PlannedInventory { inventory, longest } = source.read()?;
        Ok(MeshSchedule {
            name: name.to_owned(),
            source,
            key,
            schedule: Schedule::new(
                self.every.unwrap_or(USUAL_PERIOD),
                self.jitter,
                inventory.seed,
            )?,
            inventory,
            max_duration: self.max_duration.unwrap_or(longest),
            is_duration_planned: self.max_duration.is_none(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const INVENTORY: &str =
        "[mesh]\ntime = \"1s\"\n[hosts.a]\naddress = \"a\"\n[hosts.b]\naddress = \"b\"\n";

    fn args(folder: &Path, text: &str) -> HubArgs {
        let config = folder.join("hub.toml");
        fs::write(&config, text).unwrap();
        fs::write(folder.join("lab.toml"), INVENTORY).unwrap();
        HubArgs {
            inventories: Vec::new(),
            place: PlaceArgs {
                config: Some(config),
                ..PlaceArgs::default()
            },
            every: None,
            jitter: None,
            max_duration: None,
            name: None,
            metrics: None,
            reserve: None,
            program: Some("/bin/true".into()),
        }
    }

    const PLACES: &str = "database = \"postgresql://x\"\narchive = \"/a\"\n";

    #[test]
    fn a_file_is_read_with_all_its_keys_and_options_count_more() {
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "{PLACES}keep = \"90d\"\nname = \"north\"\nreserve = \"1M\"\nmetrics = \"127.0.0.1:9532\"\n\
             [schedules.lab]\ninventory = \"lab.toml\"\nevery = \"2h\"\njitter = \"1m\"\nmax-duration = \"9m\"\n"
        );
        let mut args = args(folder.path(), &text);
        let plan = args.plan().unwrap();
        assert_eq!(plan.keep, Some(Duration::from_hours(90 * 24)));
        assert_eq!((plan.name.as_str(), plan.schedules.len()), ("north", 1));
        let lab = &plan.schedules[0];
        assert_eq!(lab.schedule.period(), Duration::from_hours(2));
        assert_eq!(lab.max_duration, Duration::from_mins(9));
        args.name = Some("south".to_owned());
        args.place.archive = Some("/b".into());
        let plan = args.plan().unwrap();
        assert_eq!(plan.name, "south");
        assert_eq!(plan.archive, Path::new("/b"));
    }

    #[test]
    fn a_command_prints_the_hosts_in_the_folder_of_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let hosts = |names: &[&str]| {
            let vars = names
                .iter()
                .map(|name| format!("\"{name}\": {{\"linerate_address\": \"{name}\"}}"));
            let vars: Vec<_> = vars.collect();
            let text = format!("{{\"_meta\": {{\"hostvars\": {{{}}}}}}}", vars.join(", "));
            fs::write(folder.path().join("hosts.json"), text).unwrap();
        };
        hosts(&["a", "b"]);
        let text =
            "[schedules.cloud]\ninventory-command = \"cat hosts.json\"\nkey = \"mesh.key\"\n";
        let mut plan = args(folder.path(), &format!("{PLACES}{text}"))
            .plan()
            .unwrap();
        let cloud = &mut plan.schedules[0];
        assert_eq!(cloud.inventory.hosts.len(), 2);
        assert_eq!(cloud.key.as_deref(), Some(&*folder.path().join("mesh.key")));
        let before = cloud.max_duration;
        assert!(!cloud.take(cloud.source.read().unwrap()));
        hosts(&["a", "b", "c", "d"]);
        assert!(cloud.take(cloud.source.read().unwrap()));
        assert_eq!(cloud.inventory.hosts.len(), 4);
        assert!(cloud.max_duration > before);
        let mut command = std::process::Command::new("linerate");
        cloud.source.give_to(&mut command);
        let words: Vec<_> = command.get_args().collect();
        assert_eq!(words, ["--inventory-command", "cat hosts.json"]);
        assert_eq!(command.get_current_dir(), Some(folder.path()));
    }

    #[test]
    fn examples_are_read() {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = own.ancestors().nth(2).unwrap();
        for example in ["kubernetes/hub.toml", "crates/packages/files/hub.toml"] {
            let text = fs::read_to_string(root.join(example)).unwrap();
            let folder = tempfile::tempdir().unwrap();
            let inventory = folder.path().join("nodes.toml");
            fs::copy(root.join("kubernetes/nodes.toml"), &inventory).unwrap();
            let text = text.replace("/etc/linerate/lab.toml", "nodes.toml");
            let mut args = args(folder.path(), &text);
            args.place.database = Some("postgresql:///linerate".to_owned());
            args.place.archive = Some("/var/lib/linerate-hub".into());
            let plan = args
                .plan()
                .unwrap_or_else(|error| panic!("{example}: {error:#}"));
            assert_eq!(plan.schedules.len(), 1, "{example}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_before_anything_starts() {
        let folder = tempfile::tempdir().unwrap();
        let lab = "[schedules.lab]\ninventory = \"lab.toml\"\n";
        for (text, code, part) in [
            (PLACES.to_owned(), ExitCode::Usage, "nothing to measure"),
            (lab.to_owned(), ExitCode::Usage, "--database"),
            (
                format!("{PLACES}colour = 1\n{lab}"),
                ExitCode::Plan,
                "line 3",
            ),
            (
                format!("{PLACES}keep = \"long\"\n{lab}"),
                ExitCode::Plan,
                "line 3",
            ),
            (
                format!("{PLACES}name = \"a/b\"\n{lab}"),
                ExitCode::Plan,
                "a/b",
            ),
            (
                format!("{PLACES}{lab}every = \"1ms\"\n"),
                ExitCode::Plan,
                "period",
            ),
            (
                format!("{PLACES}[schedules.\"a b\"]\ninventory = \"lab.toml\"\n"),
                ExitCode::Plan,
                "a b",
            ),
            (
                format!("{PLACES}[schedules.x]\ninventory = \"none.toml\"\n"),
                ExitCode::Plan,
                "none.toml",
            ),
            (
                format!("{PLACES}[schedules.x]\nevery = \"1h\"\n"),
                ExitCode::Plan,
                "inventory-command",
            ),
            (
                format!("{PLACES}{lab}inventory-command = \"cat hosts.json\"\n"),
                ExitCode::Plan,
                "[schedules.lab]",
            ),
            (
                format!("{PLACES}[schedules.x]\ninventory-command = \"exit 9\"\n"),
                ExitCode::Plan,
                "exit status: 9",
            ),
        ] {
            let error = args(folder.path(), &text).plan().unwrap_err();
            let failure = Failure::of(error.as_ref()).unwrap();
            assert_eq!(failure.code, code, "{text}: {error}");
            assert!(failure.message.contains(part), "{text}: {error}");
        }
    }
}
