//! Short tests after a run: on a connection of their own, which is opened when the first is made.

use crate::run::trials;
use crate::watch::Watcher;
use anyhow::Result;
use linerate_analysis::experiment::NotRun;
use linerate_client::{Client, Pulse, Target, planned_time};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Trial;
use linerate_model::spec::{DatapathChoice, TestSpec};
use linerate_sys::netns::NetNamespace;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a test came to no trial.
pub(super) enum NoTrial {
    /// It cannot be made here; the run stays as it is and says why.
    NotRun(NotRun),
    /// The peer, or the path to it, failed.
    Failed(anyhow::Error),
}

impl From<NotRun> for NoTrial {
    fn from(why: NotRun) -> Self {
        Self::NotRun(why)
    }
}

/// The peer and, once it is needed, the connection to it.
pub(super) struct Bench<'a> {
    tested: Peer<'a>,
    wire: Option<Wire<'a>>,
}

/// A wire in the place of the device between two ports, in a network of its own.
pub(super) struct Wire<'a> {
    pub(super) target: &'a Target,
    /// Frames over it.
    pub(super) datapath: &'a DatapathChoice,
    pub(super) network: NetNamespace,
    /// Where the device's ports are, and the calling thread.
    pub(super) tested: NetNamespace,
}

impl<'a> Bench<'a> {
    pub(super) const fn new(target: &'a Target) -> Self {
        Self {
            tested: Peer::new(target),
            wire: None,
        }
    }

    /// With a wire that can take the device's place.
    pub(super) fn with_wire(self, wire: Wire<'a>) -> Self {
        Self {
            wire: Some(wire),
            ..self
        }
    }

    /// Runs one test of one direction, with longer times where the peer's protocol knows no shorter ones; its trial, or
    /// `None` if the user stopped it.
    pub(super) fn measure(
        &mut self,
        through: Through,
        watcher: &mut dyn Watcher,
        interrupt: &AtomicBool,
        spec: &TestSpec,
        index: u32,
    ) -> Result<Option<Trial>, NoTrial> {
        if through == Through::Path {
            return self.tested.measure(watcher, interrupt, spec, index);
        }
        let no_wire = || NotRun::Impossible("no wire can take the place of this device".to_owned());
        let wire = self.wire.as_ref().ok_or_else(no_wire)?;
        let spec = TestSpec {
            datapath: wire.datapath.clone(),
            ..spec.clone()
        };
        let failed = |error: io::Error| NoTrial::Failed(error.into());
        wire.network.enter().map_err(failed)?;
        let made = Peer::new(wire.target).measure(watcher, interrupt, &spec, index);
        wire.tested.enter().map_err(failed)?;
        made
    }
}

/// What a short test's traffic passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Through {
    /// What is between the two ends.
    Path,
    /// The wire in its place.
    Wire,
}

struct Peer<'a> {
    target: &'a Target,
    client: Option<Client>,
}

impl<'a> Peer<'a> {
    const fn new(target: &'a Target) -> Self {
        Self {
            target,
            client: None,
        }
    }

    fn measure(
        &mut self,
        watcher: &mut dyn Watcher,
        interrupt: &AtomicBool,
        spec: &TestSpec,
        index: u32,
    ) -> Result<Option<Trial>, NoTrial> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(self.target).map_err(NoTrial::Failed)?),
        };
        let spec = &self.target.far.kind().fitted(spec.clone());
        let planned = planned_time(spec);
        let outcome = client.run(spec, &mut |pulse: &Pulse| {
            if !pulse.elapsed.is_zero() {
                crate::progress::tell(watcher, pulse, planned, None);
            }
            !interrupt.load(Ordering::Relaxed)
        });
        let outcome = outcome.map_err(|error| {
            // A test that ended in an error has said goodbye.
            self.client = None;
            obstacle(error)
        })?;
        if outcome.stopped {
            return Ok(None);
        }
        Ok(trials(index, spec, outcome).into_iter().next())
    }
}

/// A test that the peer does not allow or cannot do is one that cannot be made.
fn obstacle(error: anyhow::Error) -> NoTrial {
    let refused = Failure::of(error.as_ref())
        .filter(|failure| matches!(failure.code, ExitCode::Usage | ExitCode::HostLacks))
        .map(|failure| failure.message.clone());
    match refused {
        Some(message) => NoTrial::NotRun(NotRun::Impossible(message)),
        None => NoTrial::Failed(error),
    }
}
