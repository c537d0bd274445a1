//! Supervisor of a program that is a stack: starts it, reports when it is ready, ends it.

use super::ready::{Output, accepts, is_bound};
use super::{Ready, Settings};
use crate::cache;
use crate::caller::Caller;
use crate::kernel::kernel_counters;
use crate::link::{self, Attachment, StackAddresses};
use crate::options::read_options;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::stack::StackCounts;
use linerate_sys::clock::MonoClock;
use linerate_sys::process::{
    adopt_orphans, ask_group_to_end, die_with_parent, end_children, kill_group, reap, wait_for_end,
    watch,
};
use linerate_sys::wake::wait;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Polling interval while a program is not ready.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// Starts the program with these words, from `StackKind::arguments`, and supervises it
/// until the caller is gone.
pub fn serve(words: &[String]) -> Result<()> {
    let Some((addresses, settings)) = read(words) else {
        let message = "the supervisor of a command is started by stack://command only";
        return Err(Failure::new(ExitCode::Usage, message));
    };
    adopt_orphans().map_err(|error| failed("becoming the parent of orphans", &error))?;
    let program = Program::start(&settings, addresses)?;
    let served = program.serve();
    let printed = program.stop();
    served.map_err(|error| match printed {
        printed if printed.is_empty() => error,
        printed => {
            let printed = printed.escape_debug();
            Failure::new(error.code, format!("{error}; it printed \"{printed}\""))
        }
    })
}

fn read(words: &[String]) -> Option<(StackAddresses, Settings)> {
    let [number, options] = words else {
        return None;
    };
    let options = read_options(options).ok()?;
    let settings = Settings::of(&options).ok()?;
    Some((StackAddresses::numbered(number.parse().ok()?), settings))
}

struct Program<'a> {
    settings: &'a Settings,
    addresses: StackAddresses,
    child: Child,
    /// Descriptor that is readable once it has ended.
    end: OwnedFd,
    output: Output,
}

impl<'a> Program<'a> {
    fn start(settings: &'a Settings, addresses: StackAddresses) -> Result<Self> {
        let words: Vec<_> = settings
            .run
            .iter()
            .map(|word| addresses.written_into(word))
            .collect();
        let (name, arguments) = words.split_first().expect("invariant: checked when read");
        let (pipe, printed) = io::pipe().map_err(|error| failed("making a pipe", &error))?;
        let errors = printed
            .try_clone()
            .map_err(|error| failed("making a pipe", &error))?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(errors)
            // A process group, so that its children end with it.
            .process_group(0);
        // In case this process is killed.
        die_with_parent(&mut command);
        let child = command.spawn().map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => "; install it, or give its path",
                _ => "",
            };
            let message = format!("the program {name} does not start: {error}{hint}");
            Failure::new(ExitCode::HostLacks, message)
        })?;
        // It holds the pipe's other end.
        drop(command);
        let end = watch(&child).map_err(|error| failed("watching the program", &error))?;
        let wanted = match &settings.ready {
            Ready::Line(text) => Some(text.clone()),
            Ready::Port(_) => None,
        };
        Ok(Self {
            settings,
            addresses,
            child,
            end,
            output: Output::read(pipe, wanted),
        })
    }

    /// Serves requests until the caller is gone.
    fn serve(&self) -> Result<()> {
        let caller = Caller::default();
        if !self.get_ready(&caller)? {
            return Ok(());
        }
        let source = self.source();
        caller.ready()?;
        loop {
            wait([self.end.as_fd(), caller.descriptor()], None)
                .map_err(|error| failed("waiting for the program", &error))?;
            if self.has_ended()? {
                return Err(self.gone("before the tests were over"));
            }
            if caller.is_asking() {
                if caller.hear().is_none() {
                    return Ok(());
                }
                caller.counts(&self.counts(source.clone()))?;
            }
        }
    }

    /// Waits until the program is ready; false if the caller is gone before.
    fn get_ready(&self, caller: &Caller) -> Result<bool> {
        let deadline = MonoClock.now().after(self.settings.start_time);
        let mut has_link = self.settings.link != Attachment::OwnTap;
        loop {
            if self.has_ended()? {
                return Err(self.gone("before it was ready"));
            }
            if caller.is_asking() {
                return Ok(false);
            }
            has_link = has_link || link::adopt(self.addresses)?;
            if has_link && self.is_ready() {
                return Ok(true);
            }
            let now = MonoClock.now();
            if now >= deadline {
                return Err(self.late(has_link));
            }
            wait_for_end(&self.child, now.after(LOOK_INTERVAL))
                .map_err(|error| failed("waiting for the program", &error))?;
        }
    }

    fn is_ready(&self) -> bool {
        match (&self.settings.ready, self.settings.link) {
            (Ready::Line(_), _) => self.output.is_seen(),
            (Ready::Port(port), Attachment::OwnTap) => {
                accepts((self.addresses.ipv4(), *port).into())
            }
            (Ready::Port(port), _) => is_bound(*port),
        }
    }

    fn late(&self, has_link: bool) -> Failure {
        let missing = match &self.settings.ready {
            _ if !has_link => format!("it made no TAP device {}", self.addresses.device().as_str()),
            Ready::Line(text) => format!("it printed no line with \"{text}\""),
            Ready::Port(port) => format!("nothing listened at port {port}"),
        };
        let message = format!(
            "the program {} was not ready within {:?}: {missing}; start-time= makes it longer",
            self.settings.run[0], self.settings.start_time
        );
        Failure::new(ExitCode::Peer, message)
    }

    fn has_ended(&self) -> Result<bool> {
        wait_for_end(&self.child, MonoClock.now())
            .map_err(|error| failed("looking at the program", &error))
    }

    /// Error for a program that ended by itself.
    fn gone(&self, when: &str) -> Failure {
        let name = &self.settings.run[0];
        Failure::new(ExitCode::Peer, format!("the program {name} ended {when}"))
    }

    /// Name and hash of the program file; `None` if this process may not read it.
    fn source(&self) -> Option<String> {
        let link = format!("/proc/{}/exe", self.child.id());
        let path = fs::read_link(&link).ok()?;
        cache::named_hash(&path.to_string_lossy(), fs::File::open(&link).ok()?).ok()
    }

    /// The kernel's counters, in a namespace of its own. Which of them is a test's payload is unknown.
    fn counts(&self, source: Option<String>) -> StackCounts {
        let counters = match self.settings.link {
            Attachment::Veth => kernel_counters(),
            Attachment::OwnTap | Attachment::Tap => BTreeMap::default(),
        };
        StackCounts {
            source,
            counters,
            ..StackCounts::default()
        }
    }

    /// Ends it and its children, with SIGTERM first; returns its last output. Errors mean that it has ended already.
    fn stop(self) -> String {
        let _ = ask_group_to_end(&self.child);
        let _ = wait_for_end(&self.child, MonoClock.now().after(self.settings.stop_time));
        let _ = kill_group(&self.child);
        let _ = reap(self.child);
        let _ = end_children();
        self.output.last()
    }
}

fn failed(step: &str, error: &io::Error) -> Failure {
    Failure::new(ExitCode::Other, format!("{step}: {error}"))
}
