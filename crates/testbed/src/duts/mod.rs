//! Devices under test, each started between two ports of a tester.
//!
//! ```text
//!   tester                           device
//!   port-a ====== veth ====== dut-a  [ ... ]  dut-b ====== veth ====== port-b   most
//!   port-a ================================ veth ===================== port-b   wire
//!   eth1   ======================= [ ... ] =========================== eth2     p4runtime: one that runs already
//! ```
//!
//! Tester and device are network namespaces without a name: they end with the last descriptor, so a killed process
//! leaves nothing. Interfaces have no offloads, so that what they carry is frames as on a wire, and the tester's
//! have no addresses, so that its kernel answers nothing by itself.

mod bmv2;
mod bridge;
mod cables;
mod container;
mod forwarder;
mod keeper;
mod link;
mod ovs;
mod p4;
mod p4runtime;
mod params;
mod pipeline;
mod process;
mod programs;
mod router;
mod steering;
mod testpmd;
mod wire;
mod xdp;

use crate::host::spawn_in;
use crate::{Result, TeardownError, TestbedError};
pub use cables::Tester;
use cables::may_make_networks;
use linerate_model::dut::{DutChoice, DutCounters, DutFacts, DutRelief, DutWork, TesterPort};
use linerate_model::spec::TestSpec;
use params::PORTS;
pub use params::{DutParam, DutSetup};
use std::thread::JoinHandle;

/// Every kind of device. A new one: its file or folder, its `mod` line above, its entry here.
pub static ALL: &[&dyn DutKind] = &[
    &wire::Wire,
    &bridge::Bridge,
    &router::Router,
    &xdp::Xdp,
    &link::Link,
    &ovs::Ovs,
    &testpmd::Testpmd,
    &container::Container,
    &p4::P4,
    &bmv2::Bmv2,
    &p4runtime::P4Runtime,
];

/// The kind of device with this id.
pub fn find(id: &str) -> Result<&'static dyn DutKind> {
    let known = ALL.iter().copied().find(|kind| kind.id() == id);
    known.ok_or_else(|| TestbedError::UnknownDut {
        id: id.to_owned(),
        known: ALL
            .iter()
            .map(|kind| kind.id())
            .collect::<Vec<_>>()
            .join(", "),
    })
}

/// Whether a parameter of this choice names a file that is read.
pub fn names_file(choice: &DutChoice) -> bool {
    let known = ALL.iter().find(|kind| kind.id() == choice.kind);
    let params = known.map_or(&[][..], |kind| kind.params());
    let mut files = params.iter().filter(|param| param.values == params::FILE);
    files.any(|param| choice.params.contains_key(param.name))
}

/// The device of a choice between two interfaces of this host, where they are given and it is not started between
/// ports of linerate's own; an error in words where it is the other kind.
pub fn between(mut choice: DutChoice, ports: Option<[String; 2]>) -> Result<DutChoice, String> {
    let kind = find(&choice.kind).map_err(|error| error.to_string())?;
    match (kind.is_between_given_ports(), ports) {
        (true, Some(ports)) => {
            for (key, port) in PORTS.iter().zip(ports) {
                choice.params.insert(key.name.to_owned(), port);
            }
        }
        (true, None)
            if PORTS
                .iter()
                .any(|port| !choice.params.contains_key(port.name)) =>
        {
            return Err(format!(
                "{} is between two interfaces of this host: give them too",
                kind.id()
            ));
        }
        (false, Some(_)) => {
            return Err(format!(
                "{} is started between ports of its own: leave the two interfaces out",
                kind.id()
            ));
        }
        _ => {}
    }
    Ok(choice)
}

/// Starts the device that `setup` names.
pub fn start(setup: &DutSetup) -> Result<Box<dyn Dut>> {
    startable(setup)?.start(setup)
}

/// Refuses parameters that the device does not have, and a host that lacks what it needs. Starts nothing.
pub fn check(setup: &DutSetup) -> Result<()> {
    startable(setup).map(drop)
}

fn startable(setup: &DutSetup) -> Result<&'static dyn DutKind> {
    let kind = find(&setup.choice.kind)?;
    setup.check(kind)?;
    match kind.availability(setup) {
        Availability::Available => Ok(kind),
        Availability::Missing { what, remedy } => Err(TestbedError::DutLacks {
            dut: kind.id(),
            what,
            remedy,
        }),
    }
}

/// Whether this host can start a kind of device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It can.
    Available,
    /// It lacks something.
    Missing {
        /// What it lacks.
        what: String,
        /// What would make it available.
        remedy: String,
    },
}

/// A kind of device under test.
pub trait DutKind: Sync {
    /// The name on the command line, in plans, in the store and in reports.
    fn id(&self) -> &'static str;
    /// One sentence for help and the reference table.
    fn summary(&self) -> &'static str;
    /// The parameters it understands.
    fn params(&self) -> &'static [DutParam];
    /// Whether it is between two interfaces of this host, and not between ports that are made for it.
    fn is_between_given_ports(&self) -> bool {
        false
    }
    /// Whether this host can start it with these parameters; if not, what it lacks, and how to get it.
    fn availability(&self, setup: &DutSetup) -> Availability {
        match may_make_networks() {
            Availability::Available => self.programs(setup),
            missing @ Availability::Missing { .. } => missing,
        }
    }
    /// Whether this host has the programs that it starts with these parameters, beside the right to make networks.
    fn programs(&self, _setup: &DutSetup) -> Availability {
        Availability::Available
    }
    /// Starts it. On return it forwards frames between the tester's ports, and is silent by itself. Called by [`start`],
    /// which has checked the names of the parameters and what the host has.
    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>>;
}

/// A device under test that runs. Dropping it takes it down.
pub trait Dut: Send {
    /// The tester's side of the device.
    fn tester(&self) -> &Tester;
    /// What it is, as it was started.
    fn facts(&self) -> &DutFacts;
    /// What it has counted since it was started. To be called while no test traffic runs: reading costs the device
    /// time, and frames on their way are in some counters and not in others. An error if the device no longer runs.
    fn counters(&mut self) -> Result<DutCounters>;
    /// Whose CPU time its work is.
    fn work(&self) -> DutWork;
    /// What may relieve it while it runs `test`, and can be undone.
    fn reliefs(&self, _test: &TestSpec) -> Vec<DutRelief> {
        Vec::new()
    }
    /// Relieves it by one of these, or undoes that. To be called while no test traffic runs, and [`Self::counters`] only
    /// while it is not relieved.
    fn relieve(&mut self, _relief: DutRelief, _is_relieved: bool) -> Result<()> {
        Ok(())
    }
    /// Resets it (RFC 6201) while it forwards; returns once that has begun. An error where linerate has no way to.
    fn reset(&mut self) -> Result<()> {
        Err(TestbedError::NoReset {
            dut: self.facts().choice.kind.clone(),
        })
    }
    /// Takes it down and returns the errors.
    fn close(self: Box<Self>) -> Result<(), Vec<TeardownError>>;
}

impl Tester {
    /// Its ports, A and B.
    pub fn ports(&self) -> &[TesterPort; 2] {
        &self.ports
    }

    /// Moves the calling thread, and threads that it starts later, into the tester's network.
    pub fn enter(&self) -> Result<()> {
        let step = "entering the tester's network";
        self.namespace.enter().map_err(TestbedError::step(step))
    }

    /// Runs `work` on a new thread in the tester's network; threads and programs that it starts inherit it.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<T>> {
        spawn_in(&self.namespace, name, work)
    }
}
