//! Starts a board: base, image, supervisor, and the wait until it is ready.

use crate::answer::Answer;
use crate::base::Base;
use crate::boards::Record;
use crate::qemu::{self, Emulation};
use crate::supervisor::{KEEP, SUPERVISOR, Task};
use crate::tools::{failed, not_started};
use crate::{Boards, Equipment, Order, agent, image};
use linerate_model::Clock as _;
use linerate_model::board::{BoardBase, BoardStart};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_sys::clock::MonoClock;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Folders and port for a start.
#[derive(Debug, Clone)]
pub struct Places {
    /// Cache of fetched files.
    pub cache: PathBuf,
    /// Port of the agent.
    pub port: u16,
}

/// Fetches what a board with this equipment needs, so that its start needs no network.
pub fn fetch(equipment: &Equipment, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<()> {
    base(equipment, places, tell).map(drop)
}

fn base(equipment: &Equipment, places: &Places, tell: &mut dyn FnMut(&str)) -> Result<Base> {
    Base::get(&places.cache.join("bases"), equipment, tell)
}

/// A board that was started.
#[derive(Debug, Clone)]
pub struct Started {
    /// The board.
    pub record: Record,
    /// Timing of the start.
    pub start: BoardStart,
}

/// Starts a board, and returns once its agent answers. `tell` receives progress messages.
pub fn start(
    boards: &Boards,
    order: &Order,
    places: &Places,
    tell: &mut dyn FnMut(&str),
) -> Result<Started> {
    let began = MonoClock.now();
    let home = boards.make_home(&order.name)?;
    let lock = home.hold(&order.name)?;
    let (task, base) = prepare(&home.path, order, places, tell).inspect_err(|_| {
        // Nothing has been started: leave no trace of it.
        let _ = fs::remove_dir_all(&home.path);
    })?;
    tell(&format!(
        "starting {} ({})",
        order.name,
        task.emulation.description()
    ));
    let record = supervised(&task, lock)?;
    let took = MonoClock.now().saturating_since(began);
    let start = BoardStart { base, took };
    Ok(Started { record, start })
}

/// Puts the emulator's files into `folder`; returns the supervisor's task, and where the base came from.
fn prepare(
    folder: &Path,
    order: &Order,
    places: &Places,
    tell: &mut dyn FnMut(&str),
) -> Result<(Task, BoardBase)> {
    // Check for missing tools before anything is fetched.
    let emulator = qemu::version(order.machine())?;
    let agent = agent::read(order, &agent::agent_folders(Some(&places.cache)))?;
    let base = base(&order.equipment, places, tell)?;
    image::write(&folder.join(qemu::IMAGE), &base.archive, order, &agent)?;
    let task = Task {
        folder: folder.to_owned(),
        serial: order.serial,
        emulation: Emulation {
            name: order.name.clone(),
            machine: order.machine().name.to_owned(),
            arch: order.arch(),
            cores: order.cores,
            memory: order.memory,
            kernel: absolute(&base.kernel)?,
            firmware: base.firmware.as_deref().map(absolute).transpose()?,
            kernel_options: order.kernel_options.clone(),
            emulator,
        },
        port: places.port,
    };
    Ok((task, base.origin))
}

fn absolute(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(|error| failed("finding", path, &error))
}

/// Starts the supervisor, which inherits the lock, and waits until the board is ready.
fn supervised(task: &Task, lock: File) -> Result<Record> {
    let lost = |what: &str| {
        let message = format!("the supervisor of board {} {what}", task.emulation.name);
        Failure::new(ExitCode::Other, message)
    };
    let own = std::env::current_exe().map_err(|error| lost(&format!("was not found: {error}")))?;
    let mut command = Command::new(own);
    command.arg(SUPERVISOR);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(lock);
    let mut child = command
        .spawn()
        .map_err(|error| not_started(command.get_program(), &error))?;
    // It holds the lock too.
    drop(command);
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(lost("has no pipes"));
    };
    let task = serde_json::to_string(task).map_err(|error| lost(&error.to_string()))?;
    writeln!(input, "{task}").map_err(|_| lost("ended before it was told what to do"))?;
    let mut line = String::new();
    let read = BufReader::new(output).read_line(&mut line);
    let said = read.ok().and_then(|_| serde_json::from_str(&line).ok());
    match said {
        Some(Answer::Ready(record)) => {
            writeln!(input, "{KEEP}").map_err(|_| lost("ended when the board was ready"))?;
            Ok(record)
        }
        Some(failed) => failed.into_record(),
        None => Err(lost("ended")),
    }
}
