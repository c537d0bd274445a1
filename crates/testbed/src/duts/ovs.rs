//! Open vSwitch with its userspace datapath (`netdev`), over `AF_PACKET` or AF_XDP.
//!
//! Database, sockets and logs are in the device's own `/run`: an Open vSwitch of the host sees nothing of it.
//!
//! # References
//! - ovs-vswitchd(8), ovs-vswitchd.conf.db(5): `datapath_type`, `dpif-netdev/pmd-stats-show`, `coverage/show`

use super::cables::{Cables, Ipv6, NextHop, Side, dropped};
use super::forwarder::{Counts, Forwarder, Inside};
use super::keeper::{FOLDER, Keeper, Restartable, Running};
use super::params::params;
use super::programs::Program;
use super::{Availability, Dut, DutKind, DutParam, DutSetup};
use crate::{Result, TeardownError, TestbedError};
use linerate_model::dut::{DutCounters, DutPlace, DutWork};
use linerate_sys::netns::NetNamespace;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

pub(super) struct Ovs;

const PACKAGE: &str = "openvswitch-switch";

const SWITCH: Program = Program::new("ovs-vswitchd", PACKAGE);
const DATABASE: Program = Program::new("ovsdb-server", PACKAGE);
const TOOL: Program = Program::new("ovsdb-tool", PACKAGE);
const CONFIGURE: Program = Program::new("ovs-vsctl", PACKAGE);
const FLOWS: Program = Program::new("ovs-ofctl", PACKAGE);
const ASK: Program = Program::new("ovs-appctl", PACKAGE);

linerate_model::named_enum! {
    /// How its ports reach the interfaces.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Driver {
        AfPacket = "af_packet",
        AfXdp = "af_xdp",
    }
}

impl Driver {
    /// Type of its interfaces in the database.
    fn interface_type(self) -> &'static str {
        match self {
            Self::AfPacket => "system",
            Self::AfXdp => "afxdp",
        }
    }
}

linerate_model::named_enum! {
    /// What its only table does with frames.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Action {
        /// A learning switch.
        Normal = "normal",
        /// A flow from each port to the other.
        Ports = "ports",
    }
}

params! {
    DRIVER = "driver": "af_packet|af_xdp" ("af_packet"),
        "How its ports reach the interfaces; with af_xdp a thread polls them.";
    ACTION = "action": "normal|ports" ("normal"),
        "Its flows: a learning switch, or one from each port to the other.";
    VLAN = "vlan": "1…4094" ("none"),
        "Port B is an access port of this VLAN: frames leave it without the tag that they have at port A.";
}

impl DutKind for Ovs {
    fn id(&self) -> &'static str {
        "ovs"
    }

    fn summary(&self) -> &'static str {
        "Open vSwitch, its userspace datapath over AF_PACKET or AF_XDP."
    }

    fn params(&self) -> &'static [DutParam] {
        PARAMS
    }

    fn programs(&self, _setup: &DutSetup) -> Availability {
        Program::all(&[SWITCH, DATABASE, TOOL, CONFIGURE, FLOWS, ASK])
    }

    fn start(&self, setup: &DutSetup) -> Result<Box<dyn Dut>> {
        let driver = setup.one_of(DRIVER, &Driver::ALL)?;
        let action = setup.one_of(ACTION, &Action::ALL)?;
        let kind = driver.interface_type();
        let vlan = setup.number(VLAN, 1..=4094)?;
        let cables = Cables::lay(setup, NextHop::OtherPort, Ipv6::Off)?;
        cables.bring_up()?;
        let keeper = Keeper::start(&cables.device)?;
        let (database, vswitchd) = keeper.run(move || start_programs(kind, action, vlan))?;
        let version = CONFIGURE.run(&["--version"], "")?;
        let version = version.lines().next().unwrap_or("ovs-vsctl");
        let version = version.replace("ovs-vsctl (Open vSwitch)", "Open vSwitch");
        let word = match action {
            Action::Normal => "a learning switch",
            Action::Ports => "a flow per port",
        };
        let access = vlan.map_or_else(String::new, |vlan| format!(", port B of VLAN {vlan}"));
        let description = format!(
            "Open vSwitch, userspace datapath over {}, {word}{access}",
            driver.as_str().to_uppercase()
        );
        let inside = Switch {
            vswitchd: Restartable::Running(vswitchd),
            database,
            action,
            keeper,
        };
        let dut = Forwarder::running(setup, &description, version, cables, inside);
        Ok(dut)
    }
}

/// A command of Open vSwitch that knows where everything is.
fn command(program: Program) -> Command {
    let mut command = program.command();
    for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
        command.env(variable, FOLDER);
    }
    command
}

fn socket(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

const DUT: &str = "ovs";
/// Sockets of the database, of the switch, and for the flows of its bridge.
const DATABASE_SOCKET: &str = "db.sock";
const SWITCH_SOCKET: &str = "switch.ctl";
const FLOWS_SOCKET: &str = "br0.mgmt";

/// Starts database and switch on the calling thread, and makes the bridge.
fn start_programs(
    interface_type: &'static str,
    action: Action,
    vlan: Option<u32>,
) -> Result<(Running, Running)> {
    let file = socket("conf.db");
    let schema = TOOL.root().join("usr/share/openvswitch/vswitch.ovsschema");
    let schema = schema.to_string_lossy();
    TOOL.run(&["create", &file, &schema], "")?;
    let remote = socket(DATABASE_SOCKET);
    let mut database = command(DATABASE);
    database.args([&file, &format!("--remote=punix:{remote}"), "--no-chdir"]);
    database.arg(format!("--unixctl={}", socket("db.ctl")));
    let mut database = Running::start(DUT, DATABASE, &mut database)?;
    database.wait_until("to listen", |_| Path::new(&remote).exists())?;
    let db = format!("--db=unix:{remote}");
    CONFIGURE.run(&[&db, "--no-wait", "init"], "")?;
    let mut switch = start_switch()?;
    let made = make_bridge(&db, interface_type, vlan).and_then(|()| set_flows(action));
    // If the switch has ended, its own words say more than those of who asked it.
    made.map_err(|error| switch.explain(error))?;
    Ok((database, switch))
}

/// Starts the switch on the calling thread: it makes what the database says.
fn start_switch() -> Result<Running> {
    for left in [SWITCH_SOCKET, FLOWS_SOCKET] {
        // Of one that was killed; at the first start there is none.
        drop(std::fs::remove_file(socket(left)));
    }
    let mut switch = command(SWITCH);
    let control = socket(SWITCH_SOCKET);
    switch.arg(format!("unix:{}", socket(DATABASE_SOCKET)));
    switch.args(["--no-chdir", "-vconsole:warn"]);
    switch.arg(format!("--unixctl={control}"));
    let mut switch = Running::start(DUT, SWITCH, &mut switch)?;
    switch.wait_until("to listen", |_| Path::new(&control).exists())?;
    Ok(switch)
}

/// Starts the switch again, with the bridge that it had.
fn restart_switch(action: Action) -> Result<Running> {
    let mut switch = start_switch()?;
    let bridge = socket(FLOWS_SOCKET);
    switch.wait_until("to make its bridge", |_| Path::new(&bridge).exists())?;
    set_flows(action).map_err(|error| switch.explain(error))?;
    Ok(switch)
}

fn make_bridge(db: &str, interface_type: &str, vlan: Option<u32>) -> Result<()> {
    let kind = format!("type={interface_type}");
    let mut words = vec![db, "--timeout=15", "add-br", "br0", "--"];
    words.extend(["set", "bridge", "br0", "datapath_type=netdev"]);
    let ports = Side::BOTH.map(Side::device_port);
    for port in &ports {
        words.extend(["--", "add-port", "br0", port.as_str()]);
        words.extend(["--", "set", "interface", port.as_str(), &kind]);
    }
    let access = vlan.map(|vlan| format!("tag={vlan}"));
    if let Some(access) = &access {
        words.extend(["--", "set", "port", ports[1].as_str(), access]);
    }
    CONFIGURE.run(&words, "")?;
    for port in &ports {
        let words = [db, "get", "interface", port.as_str(), "error"];
        let error = CONFIGURE.run(&words, "")?;
        if error.trim() != "[]" {
            let step = format!("adding {port} as a port of type {interface_type}");
            let why = std::io::Error::other(error.trim().to_owned());
            return Err(TestbedError::step(step)(why));
        }
    }
    Ok(())
}

/// Gives the bridge its flows, beside the one of a learning switch that it has by itself.
fn set_flows(action: Action) -> Result<()> {
    if action == Action::Ports {
        let bridge = format!("unix:{}", socket(FLOWS_SOCKET));
        let flows = "in_port=dut-a,actions=output:dut-b\nin_port=dut-b,actions=output:dut-a\n";
        FLOWS.run(&["--names", "replace-flows", &bridge, "-"], flows)?;
    }
    Ok(())
}

/// Database and switch.
///
/// Field order is teardown order: the programs before the thread that keeps them.
struct Switch {
    vswitchd: Restartable,
    database: Running,
    action: Action,
    keeper: Keeper,
}

/// What its datapath counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Datapath {
    /// Frames taken from all ports.
    taken: u64,
    /// Where their flow was found, by the name of the cache or table.
    hits: Vec<(String, u64)>,
    /// Frames dropped, by Open vSwitch's own names.
    drops: Vec<(String, u64)>,
}

impl Switch {
    fn read(&self) -> Result<Datapath> {
        self.keeper.run(|| {
            let control = socket(SWITCH_SOCKET);
            let ask = |question| ASK.run(&["-t", &control, question], "");
            let mut read = pmd_stats(&ask("dpif-netdev/pmd-stats-show")?);
            read.drops = drops(&ask("coverage/show")?);
            Ok(read)
        })
    }
}

impl Inside for Switch {
    fn count(&mut self, _device: &Arc<NetNamespace>, counted: &mut DutCounters) -> Result<()> {
        self.vswitchd.get()?.check()?;
        self.database.check()?;
        let read = match self.read() {
            Ok(read) => read,
            Err(error) => return Err(self.vswitchd.get()?.explain(error)),
        };
        // What the interfaces received and the switch did not take: its socket or ring was full.
        let received = counted.ports.iter().map(|port| port.received.get());
        let received: u64 = received.sum();
        let missed = received.saturating_sub(read.taken);
        counted
            .drops
            .push(dropped(DutPlace::PortRx, "sockets", missed));
        for (name, packets) in read.drops {
            let place = match name.as_str() {
                "datapath_drop_meter" => DutPlace::Queue,
                "datapath_drop_lock_error" | "datapath_drop_sample_error" => DutPlace::Process,
                _ => DutPlace::Table,
            };
            counted.drops.push(dropped(place, &name, packets));
        }
        counted.counters.extend(read.hits);
        counted
            .counters
            .insert("frames taken".to_owned(), read.taken);
        Ok(())
    }

    fn work(&self) -> DutWork {
        self.vswitchd.work()
    }

    /// Kills the switch and starts it again; its database goes on.
    fn reset(&mut self, _device: &Arc<NetNamespace>) -> Option<Result<Counts>> {
        let action = self.action;
        let begin = move || restart_switch(action);
        let restarted = self.vswitchd.restart(&self.keeper, begin);
        Some(restarted.map(|()| Counts::Lost))
    }

    fn close(&mut self) -> Result<(), Vec<TeardownError>> {
        let ended = [self.vswitchd.close(), self.database.close()];
        let errors: Vec<_> = ended.into_iter().filter_map(Result::err).collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

/// Sums over the threads in the answer to `dpif-netdev/pmd-stats-show`:
///
/// ```text
/// pmd thread numa_id 0 core_id 1:
///   packets received: 7
///   emc hits: 5
/// ```
fn pmd_stats(text: &str) -> Datapath {
    const PLACES: [&str; 6] = [
        "simple match hits",
        "emc hits",
        "smc hits",
        "megaflow hits",
        "miss with success upcall",
        "miss with failed upcall",
    ];
    let sum = |wanted: &str| {
        let values = text.lines().filter_map(|line| {
            let (name, value) = line.trim().split_once(": ")?;
            (name == wanted)
                .then(|| value.parse::<u64>().ok())
                .flatten()
        });
        values.sum()
    };
    Datapath {
        taken: sum("packets received"),
        hits: PLACES.map(|place| (place.to_owned(), sum(place))).to_vec(),
        drops: Vec::new(),
    }
}

/// Drops in the answer to `coverage/show`, which leaves out what never happened:
///
/// ```text
/// datapath_drop_upcall_error   0.0/sec     0.000/sec        0.0000/sec   total: 5
/// ```
fn drops(text: &str) -> Vec<(String, u64)> {
    let lines = text
        .lines()
        .filter(|line| line.starts_with("datapath_drop_"));
    let named = lines.filter_map(|line| {
        let (name, rest) = line.split_once(char::is_whitespace)?;
        let (_, total) = rest.rsplit_once("total:")?;
        Some((name.to_owned(), total.trim().parse().ok()?))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_summed_and_caches_named() {
        let text = "pmd thread numa_id 0 core_id 1:\n  packets received: 7\n  emc hits: 5\n  \
                    megaflow hits: 1\n  avg cycles per packet: 4687.00 (32812/7)\n\
                    main thread:\n  packets received: 3\n  emc hits: 1\n";
        let read = pmd_stats(text);
        assert_eq!(read.taken, 10);
        assert!(read.hits.contains(&("emc hits".to_owned(), 6)));
        assert!(read.hits.contains(&("smc hits".to_owned(), 0)));
    }

    #[test]
    fn drops_are_read_by_name() {
        let text = "Event coverage, avg rate over last: 5 seconds, last minute, last hour,  hash=63:\n\
                    datapath_drop_upcall_error   0.0/sec     0.000/sec        0.0000/sec   total: 5\n\
                    netlink_sent               0.0/sec     0.000/sec        0.0000/sec   total: 90\n\
                    151 events never hit\n";
        let wanted = [("datapath_drop_upcall_error".to_owned(), 5)];
        assert_eq!(drops(text), wanted);
        assert_eq!(drops(""), []);
    }
}
