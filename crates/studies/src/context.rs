//! What every command gets: a store, a watcher, a way to be interrupted.

use crate::watch::{Silent, Watcher};
use linerate_model::run::Run;
use linerate_store::{Store, StoreError};
use linerate_testbed::duts::Dut;
use std::sync::atomic::{AtomicBool, Ordering};

/// The surroundings of a command.
pub struct Context<'a> {
    /// Where runs are kept; `None` keeps nothing.
    pub store: Option<Store>,
    /// Who is told about progress.
    pub watcher: &'a mut dyn Watcher,
    /// The command line that repeats the run.
    pub command: String,
    /// What the user calls what is measured; none: a run's own title.
    pub title: Option<String>,
    /// Why a run that was measured is not in the store as a whole.
    pub unsaved: Option<StoreError>,
    /// The device under test, if linerate started one: it is asked what it counted before and after each trial.
    pub device: Option<&'a mut dyn Dut>,
    /// Set when the user wants to stop: the run ends early and is kept as incomplete.
    pub interrupt: &'a AtomicBool,
}

impl Context<'_> {
    /// Whether the user wants to stop.
    pub fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// The surroundings of a part of the command, which keeps its run itself and is watched by `watcher`.
    pub(crate) fn of_part<'b>(
        command: &str,
        interrupt: &'b AtomicBool,
        watcher: &'b mut dyn Watcher,
    ) -> Context<'b> {
        Context {
            store: None,
            watcher,
            command: command.to_owned(),
            title: None,
            unsaved: None,
            device: None,
            interrupt,
        }
    }

    /// The device under test, for a part of the command.
    pub(crate) fn lend<'b>(device: &'b mut Option<&mut dyn Dut>) -> Option<&'b mut dyn Dut> {
        match device {
            Some(device) => Some(&mut **device),
            None => None,
        }
    }

    /// Writes what became known of a run since it was kept. One that could not be written is not there to be replaced.
    pub(crate) fn replace(&mut self, run: &Run) {
        if let (Some(store), None) = (&self.store, &self.unsaved) {
            self.unsaved = store.replace(&run.id, run).err();
        }
    }
}

/// Runs `command` with nobody there: nothing is kept, nobody is told, nothing interrupts it.
pub fn unattended<T>(command: impl FnOnce(&mut Context<'_>) -> T) -> T {
    command(&mut Context {
        store: None,
        watcher: &mut Silent,
        command: String::new(),
        title: None,
        unsaved: None,
        device: None,
        interrupt: &AtomicBool::new(false),
    })
}
