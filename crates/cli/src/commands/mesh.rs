//! `linerate mesh`: its arguments, where its inventory comes from, and what it shows.

use crate::args::output::OutputArgs;
use crate::args::target::key_in;
use crate::context::with_store;
use crate::outcome::{NOT_KEPT, show_document};
use anyhow::{Error, Result};
use clap::Args;
use linerate_mesh::{Inventory, plan};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::mesh::{FlowStanding, MeshReport};
use linerate_model::units::parse_duration;
use linerate_studies::run::{Hosts, mesh};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// For short help.
const EXAMPLES: &str = "Examples:
  linerate mesh lab.toml --dry-run        rounds, time and bytes, before anything starts
  linerate mesh lab.toml -o lab.html      the matrix, slow pairs
  linerate mesh lab.toml --shared-links   also links that nobody declared
  linerate mesh --inventory-command ./inventory.sh";

/// Longest inventory that is read: 10 000 hosts take 1 MB.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

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
}

impl MeshArgs {
    /// Plans the mesh, and tests it.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        let mut inventory = self.inventory()?;
        inventory.time = self.time.unwrap_or(inventory.time);
        inventory.repetitions = self.repetitions.unwrap_or(inventory.repetitions);
        inventory.shared_links |= self.shared_links;
        if let Some(title) = &output.title {
            inventory.title.clone_from(title);
        }
        if self.dry_run {
            show_document(output, &plan(&inventory)?)?;
            return Ok(ExitCode::Done);
        }
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
            ExitCode::Other
        } else {
            code(&report)
        })
    }

    /// The file of the key; one of an inventory is beside it.
    fn key_file(&self, inventory: &Inventory) -> Option<PathBuf> {
        let beside = self.inventory.as_deref().and_then(Path::parent);
        let named = inventory.key.as_ref();
        let named = named.map(|key| beside.unwrap_or_else(|| Path::new("")).join(key));
        self.key.clone().or(named)
    }

    fn inventory(&self) -> Result<Inventory, Failure> {
        match (&self.inventory, &self.inventory_command) {
            (Some(path), _) => Inventory::from_toml(&path.display().to_string(), &read(path)?),
            (None, Some(command)) => linerate_mesh::from_ansible(command, &printed(command)?),
            (None, None) => Err(Failure::new(ExitCode::Usage, "give an inventory")),
        }
    }
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
        let message = format!("cannot read the inventory {}: {why}", path.display());
        Failure::new(ExitCode::Plan, message)
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| fail(error.to_string()))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(fail(format!("it has more than {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// What a shell command prints; its standard error is the user's to see.
fn printed(command: &str) -> Result<String, Failure> {
    let fail = |why: String| {
        let message = format!("--inventory-command '{command}': {why}");
        Failure::new(ExitCode::Plan, message)
    };
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| fail(format!("sh does not start: {error}")))?;
    let mut bytes = Vec::new();
    let read = child
        .stdout
        .take()
        .map(|out| out.take(MAX_BYTES + 1).read_to_end(&mut bytes));
    let ended = child.wait();
    if let Some(Err(error)) = read {
        return Err(fail(error.to_string()));
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(format!("it printed more than {MAX_BYTES} bytes")));
    }
    match ended {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(fail(format!("it failed: {status}"))),
        Err(error) => return Err(fail(error.to_string())),
    }
    String::from_utf8(bytes).map_err(|_| fail("what it printed is not UTF-8".to_owned()))
}
