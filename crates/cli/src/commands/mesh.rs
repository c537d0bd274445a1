//! `linerate mesh`: its arguments, where its inventory comes from, and what it shows.

use crate::args::output::OutputArgs;
use crate::args::target::key_in;
use crate::context::{interrupt_flag, with_store};
use crate::outcome::{NOT_KEPT, show_document};
use crate::terminal;
use anyhow::{Context as _, Error, Result};
use clap::Args;
use linerate_mesh::schedule::Schedule;
use linerate_mesh::{Inventory, plan};
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::mesh::{FlowStanding, MeshReport};
use linerate_model::text::spoken_time;
use linerate_model::units::parse_duration;
use linerate_studies::run::{Hosts, mesh};
use linerate_sys::bounded;
use linerate_sys::clock::MonoClock;
use linerate_sys::ending;
use linerate_sys::process::{printed_by, shell};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate mesh lab.toml --dry-run        rounds, time and bytes, before anything starts
  linerate mesh lab.toml -o lab.html      the matrix, slow pairs
  linerate mesh lab.toml --shared-links   also links that nobody declared
  linerate mesh lab.toml --every 1h       again and again; `linerate web` shows the trend
  linerate mesh --inventory-command ./inventory.sh";

/// Longest inventory that is read: 10 000 hosts take 1 MB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// What a command may take that prints one.
const COMMAND_TIME: Duration = Duration::from_mins(1);

/// Arguments of `mesh`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct MeshArgs {
    /// The hosts: a TOML file.
    #[arg(
        value_name = "INVENTORY",
        required_unless_present = "inventory_command",
        conflicts_with = "inventory_command"
    )]
    inventory: Option<PathBuf>,
    /// Take the hosts from what this shell command prints: JSON as Ansible's dynamic inventories have it.
    #[arg(long, value_name = "COMMAND")]
    inventory_command: Option<String>,
    /// Show rounds, time and bytes, and test nothing.
    #[arg(long)]
    dry_run: bool,
    /// Length of each test in each direction [default: the inventory's, else 5s].
    #[arg(short, long, value_parser = parse_duration)]
    time: Option<Duration>,
    /// How often each pair is tested [default: the inventory's, else 1].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: Option<u32>,
    /// Show running agents that this end holds the key in this file [default: the inventory's].
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Then run many pairs at once, and search for links that they share and nobody declared.
    #[arg(long)]
    shared_links: bool,
    /// Measure again each period, until this process is asked to end: every round is a run of its own, all with one title.
    /// The inventory is read anew for each. A round that would begin while another is under way is skipped.
    #[arg(long, value_name = "PERIOD", value_parser = parse_duration, conflicts_with = "dry_run")]
    every: Option<Duration>,
    /// Begin each round but the first up to so much late, by the inventory's seed [default: a tenth of the period].
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "every")]
    jitter: Option<Duration>,
    /// End after at most this time, and keep what was measured.
    #[arg(long, value_name = "TIME", value_parser = parse_duration, conflicts_with_all = ["dry_run", "every"])]
    max_duration: Option<Duration>,
}

/// How a round of tests ended.
enum RoundEnd {
    /// By itself.
    Finished(ExitCode),
    /// By the wish of the user, or by its time limit.
    Interrupted,
}

impl MeshArgs {
    /// Plans the mesh, and tests it.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        if let Some(period) = self.every {
            return self.rounds(output, period);
        }
        let inventory = self.wanted(output)?;
        if self.dry_run {
            show_document(output, &plan(&inventory)?)?;
            return Ok(ExitCode::Done);
        }
        if let Some(limit) = self.max_duration {
            end_after(limit)?;
        }
        Ok(match self.round(output, inventory)? {
            RoundEnd::Finished(code) => code,
            RoundEnd::Interrupted => ExitCode::Other,
        })
    }

    /// Tests the mesh again and again, until the process is asked to end. What is wrong at the first round ends it; later
    /// it is told, and the next round comes.
    fn rounds(&self, output: &OutputArgs, period: Duration) -> Result<ExitCode> {
        let seed = self.wanted(output)?.seed;
        let schedule = Schedule::new(period, self.jitter, seed)?;
        interrupt_flag()?;
        let epoch = MonoClock.now();
        let elapsed = || MonoClock.now().saturating_since(epoch);
        let tell = |text: String| {
            if !output.quiet {
                terminal::note(&text);
            }
        };
        let mut next = schedule.next(Duration::ZERO, None);
        loop {
            if ending::sleep_until(epoch.after(next.begin)) {
                return Ok(ExitCode::Done);
            }
            match self
                .wanted(output)
                .and_then(|inventory| self.round(output, inventory))
            {
                Ok(RoundEnd::Interrupted) => return Ok(ExitCode::Other),
                Ok(RoundEnd::Finished(_)) => {}
                Err(error) if next.number == 0 => return Err(error),
                Err(error) => terminal::error(&format!("round {}: {error:#}", next.number)),
            }
            // A round says when its work is over. What is told next is told by a process that ends by itself again.
            interrupt_flag()?;
            let now = elapsed();
            next = schedule.next(now, Some(next.number));
            if next.skipped > 0 {
                let last = next.number - next.skipped - 1;
                terminal::error(&format!(
                    "skipped: {} of the rounds, since round {last} was under way when they should have begun; choose a longer period with --every",
                    next.skipped
                ));
            }
            let wait = spoken_time(next.begin.saturating_sub(now));
            tell(format!("round {} begins in {wait}", next.number));
        }
    }

    /// The inventory with what the command line changes of it.
    fn wanted(&self, output: &OutputArgs) -> Result<Inventory> {
        let mut inventory = self.inventory()?;
        inventory.time = self.time.unwrap_or(inventory.time);
        inventory.repetitions = self.repetitions.unwrap_or(inventory.repetitions);
        inventory.shared_links |= self.shared_links;
        if let Some(title) = &output.title {
            inventory.title.clone_from(title);
        }
        Ok(inventory)
    }

    /// Tests the mesh once, as one run.
    fn round(&self, output: &OutputArgs, inventory: Inventory) -> Result<RoundEnd> {
        let key = self.key_file(&inventory);
        let key = key.as_deref().map(key_in).transpose()?;
        let hosts = Hosts::new(inventory, key.as_ref())?;
        let mut unsaved = None;
        let mut interrupted = false;
        let (_, report) = with_store(output, |context| {
            let made = mesh(context, &hosts);
            unsaved = context.unsaved.take();
            interrupted = context.interrupted();
            made
        })?;
        show_document(output, &report)?;
        if let Some(error) = unsaved {
            return Err(Error::new(error).context(NOT_KEPT));
        }
        Ok(if interrupted {
            RoundEnd::Interrupted
        } else {
            RoundEnd::Finished(code(&report))
        })
    }

    /// The file of the key; one of an inventory is beside it.
    fn key_file(&self, inventory: &Inventory) -> Option<PathBuf> {
        let beside = self.inventory.as_deref().and_then(Path::parent);
        let named = inventory.key.as_ref();
        let named = named.map(|key| beside.unwrap_or_else(|| Path::new("")).join(key));
        self.key.clone().or(named)
    }

    fn inventory(&self) -> Result<Inventory> {
        Ok(match (&self.inventory, &self.inventory_command) {
            (Some(path), _) => Inventory::from_toml(&path.display().to_string(), &read(path)?)?,
            (None, Some(command)) => linerate_mesh::from_ansible(command, &printed(command)?)?,
            (None, None) => {
                return Err(Failure::new(ExitCode::Usage, "give an inventory").into());
            }
        })
    }
}

/// Asks this process to end after `limit`, as a user would: also if whoever started it is stopped meanwhile.
fn end_after(limit: Duration) -> Result<()> {
    let deadline = MonoClock.now().after(limit);
    let wait = move || {
        if !ending::sleep_until(deadline) {
            ending::ask();
        }
    };
    let named = thread::Builder::new().name("limit".to_owned());
    named
        .spawn(wait)
        .context("starting a thread for --max-duration")?;
    Ok(())
}

/// What was not measured leaves the matrix incomplete.
fn code(report: &MeshReport) -> ExitCode {
    let is_failed = |standing| standing == FlowStanding::Failed;
    if report.flows.iter().any(|flow| is_failed(flow.standing)) {
        ExitCode::Peer
    } else {
        ExitCode::Done
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    let fail = |why: String| {
        let message = format!(
            "cannot read the inventory {}: {why}; give a TOML file of hosts that this user may read",
            path.display()
        );
        Failure::new(ExitCode::Plan, message)
    };
    bounded::read_text_file(path, MAX_BYTES).map_err(|error| fail(error.to_string()))
}

/// What the command of `--inventory-command` prints.
fn printed(command: &str) -> Result<String> {
    // A wish to end kills the command too.
    interrupt_flag()?;
    let printed = printed_by(&mut shell(command), MAX_BYTES, COMMAND_TIME);
    ending::work_is_over();
    printed.map_err(|error| {
        let message = format!("--inventory-command '{command}': {error}");
        let code = if ending::is_asked() {
            ExitCode::Other
        } else {
            ExitCode::Plan
        };
        Failure::new(code, message).into()
    })
}
