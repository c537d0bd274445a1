//! Where the hosts of a mesh are told.

use crate::environment::keep_from;
use linerate_mesh::{Inventory, from_ansible, plan};
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::bounded;
use linerate_sys::process::{printed_by, shell};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Most bytes of an inventory: ten thousand hosts have one of 2 MB.
pub(crate) const MAX_BYTES: u64 = 16 << 20;
/// What a command may take that prints one: rounds of other schedules wait meanwhile.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// What a round may take beyond its plan before it is ended: slow pairs are tested again, hosts that are away time out.
const SLACK: Duration = Duration::from_mins(2);

/// Where an inventory comes from, anew for every round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InventorySource {
    /// A TOML file.
    File(PathBuf),
    /// What a shell command prints that is run in `folder`: JSON as Ansible's dynamic inventories have it.
    Command { text: String, folder: PathBuf },
}

/// An inventory, and the longest that a round of it may take.
#[derive(Debug)]
pub(crate) struct PlannedInventory {
    pub(crate) inventory: Inventory,
    pub(crate) longest: Duration,
}

impl InventorySource {
    /// Reads and plans it. Takes 10 s at most.
    ///
    /// # Errors
    ///
    /// It cannot be read, is wrong, or cannot be planned.
    pub(crate) fn read(&self) -> Result<PlannedInventory, Failure> {
        let inventory = self.inventory()?;
        let plan = plan(&inventory)?;
        let search = plan.search.map_or(Duration::ZERO, |search| search.time);
        let longest = (plan.time + search).mul_f64(1.25) + SLACK;
        Ok(PlannedInventory { inventory, longest })
    }

    fn inventory(&self) -> Result<Inventory, Failure> {
        let plan_error = |message| Failure::new(ExitCode::Plan, message);
        match self {
            Self::File(path) => {
                let name = path.display().to_string();
                let text = bounded::read_text_file(path, MAX_BYTES).map_err(|error| {
                    plan_error(format!("cannot read the inventory {name}: {error}"))
                })?;
                Inventory::from_toml(&name, &text)
            }
            Self::Command { text, folder } => {
                let mut command = shell(text);
                let command = keep_from(command.current_dir(folder));
                let printed = printed_by(command, MAX_BYTES, COMMAND_TIME);
                let printed = printed
                    .map_err(|error| plan_error(format!("inventory-command '{text}': {error}")))?;
                from_ansible(text, &printed)
            }
        }
    }

    /// Has `command`, a `linerate mesh`, take its hosts from here.
    pub(crate) fn give_to(&self, command: &mut Command) {
        match self {
            Self::File(path) => command.arg(path),
            Self::Command { text, folder } => command
                .args(["--inventory-command", text])
                .current_dir(folder),
        };
    }
}
