//! The server as a service: what it says to its log and to the service manager, and when it reads its configuration.

use super::ServeArgs;
use super::configuration::Options;
use crate::args::output::OutputArgs;
use crate::terminal::{self, LogForm};
use anyhow::{Context as _, Result};
use linerate_agent::{AgentPlan, Owner};
use linerate_model::agent::AgentEvent;
use linerate_model::{Clock as _, MonoInstant};
use linerate_sys::clock::MonoClock;
use linerate_sys::ending;
use sd_notify::{NotifyState, notify, watchdog_enabled};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What runs a server from the command line.
pub(super) struct Service {
    /// What the server does.
    pub(super) plan: AgentPlan,
    form: LogForm,
    file: Option<File>,
    manager: Manager,
}

/// The configuration file.
struct File {
    path: PathBuf,
    /// As they were at the last good reading.
    options: Options,
    /// Set by who wants it read again.
    reload: &'static AtomicBool,
}

/// State that the service manager was notified of.
struct Manager {
    is_ready: bool,
    is_stopping: bool,
    /// How often it wants a sign of life, and when it had the last.
    watchdog: Option<Duration>,
    alive: MonoInstant,
}

impl Service {
    /// With the options of the command line, and those of the file that it names.
    pub(super) fn new(args: &ServeArgs, output: &OutputArgs) -> Result<Self> {
        let Some(path) = args.config.clone() else {
            return Ok(Self::of(args, args.plan()?, output, None));
        };
        let reload = ending::reload_on_hang_up().context("installing the handler of SIGHUP")?;
        let options = Options::read(&path)?;
        let args = options.with_command_line(&path)?;
        let file = File {
            path,
            options,
            reload,
        };
        Ok(Self::of(&args, args.plan()?, output, Some(file)))
    }

    fn of(args: &ServeArgs, plan: AgentPlan, output: &OutputArgs, file: Option<File>) -> Self {
        let form = if output.json || output.stream {
            LogForm::Json
        } else {
            args.log.unwrap_or(LogForm::Notes)
        };
        Self {
            plan,
            form,
            file,
            manager: Manager {
                is_ready: false,
                is_stopping: false,
                watchdog: watchdog_enabled(),
                alive: MonoClock.now(),
            },
        }
    }

    /// Reads the configuration again if somebody wants that; what is wrong there changes nothing.
    fn reload(&mut self) -> Option<AgentPlan> {
        let file = self.file.as_mut()?;
        if !file.reload.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut states = vec![NotifyState::Reloading];
        states.extend(NotifyState::monotonic_usec_now());
        tell(&states);
        let read = Options::read(&file.path).map_err(anyhow::Error::from);
        let read = read.and_then(|options| {
            let plan = options.with_command_line(&file.path)?.plan()?;
            Ok((options, self.plan.renewed(plan)?))
        });
        let (event, plan) = match read {
            Ok((options, plan)) => {
                let (changed, at_restart) = file.options.changed_to(&options);
                (file.options, self.plan) = (options, plan.clone());
                let event = AgentEvent::Reloaded {
                    changed,
                    at_restart,
                };
                (event, Some(plan))
            }
            Err(error) => {
                let error = format!("{error:#}");
                (AgentEvent::NotReloaded { error }, None)
            }
        };
        self.event(&event);
        tell(&[NotifyState::Ready]);
        plan
    }
}

impl Owner for Service {
    fn event(&mut self, event: &AgentEvent) {
        terminal::agent_event(event, self.form);
    }

    fn turn(&mut self) -> Option<AgentPlan> {
        self.manager.turn(MonoClock.now());
        self.reload()
    }
}

impl Manager {
    /// Says that the server is ready, that it stops, or that it is alive.
    fn turn(&mut self, now: MonoInstant) {
        if !self.is_ready {
            self.is_ready = true;
            tell(&[NotifyState::Ready]);
        }
        if ending::is_asked() && !self.is_stopping {
            self.is_stopping = true;
            tell(&[NotifyState::Stopping]);
        }
        let is_due = |often: Duration| now.saturating_since(self.alive) >= often / 3;
        if self.watchdog.is_some_and(is_due) {
            self.alive = now;
            tell(&[NotifyState::Watchdog]);
        }
    }
}

/// Notifies the service manager, if there is one. That it cannot be notified has nobody to go to.
fn tell(states: &[NotifyState<'_>]) {
    drop(notify(states));
}
