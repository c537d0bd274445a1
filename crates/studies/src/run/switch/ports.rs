//! The two ports that a device is between: opened, and left as they were.

use super::device::DeviceChoice;
use super::held_port::HeldPort;
use super::plan::{NeighbourMode, SwitchPlan};
use anyhow::Result;
use linerate_agent::{Agent, AgentPlan};
use linerate_client::address::PeerAddress;
use linerate_client::{Client, Target};
use linerate_engine::neighbours::{PortHost, port_mac};
use linerate_engine::{EngineError, Role};
use linerate_model::BitRate;
use linerate_model::dut::{DutChoice, TesterPort};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::Host;
use linerate_model::spec::{DatapathChoice, Direction, TestSpec};
use linerate_peers::DescriptionRequest;
use linerate_sys::netns::NetNamespace;
use linerate_testbed::TestbedError;
use linerate_testbed::duts::{self, Dut};

/// The two ports, with what is known of them, and the peer at the second.
pub(super) struct Ports {
    /// Frames from one to the other.
    pub(super) datapath: DatapathChoice,
    /// The peer.
    pub(super) target: Target,
    /// The host of each, with the facts of its port.
    pub(super) hosts: Vec<Host>,
    /// L1 rate of the slower one; `None` where neither has a speed of its own.
    pub(super) line_rate: Option<BitRate>,
    /// Both as hosts on their links, where they find their next hops themselves.
    neighbours: Option<(PortHost, HeldPort)>,
}

impl Ports {
    /// Ports of which the second is that of a peer on another host, reached as `target` says.
    pub(super) fn with_peer(
        plan: &SwitchPlan,
        datapath: DatapathChoice,
        host: &PeerAddress,
        target: &Target,
    ) -> Result<Self> {
        let peer = Target::new(host.clone());
        Self::open(
            plan,
            datapath,
            Target {
                key: target.key.clone(),
                ..peer
            },
        )
    }

    fn open(plan: &SwitchPlan, datapath: DatapathChoice, target: Target) -> Result<Self> {
        match &plan.device {
            DeviceChoice::Mesh(names) => Self::open_mesh(names, datapath, target),
            _ => Self::open_two(plan, datapath, target),
        }
    }

    /// Those of a mesh, all of this host: both ends of its tests count at all of them.
    fn open_mesh(names: &[String], datapath: DatapathChoice, mut target: Target) -> Result<Self> {
        target.count_at_all(names)?;
        let mut hosts = Client::connect(&target)?.hosts();
        // Both ends are of this host, at the same ports.
        if let [here, there] = &mut hosts[..] {
            there.facts.clone_from(&here.facts);
            target.peer_facts = Some(here.facts.clone());
        }
        Ok(Self {
            line_rate: hosts
                .iter()
                .filter_map(|host| host.facts.link_speed_bps)
                .min(),
            datapath,
            target,
            hosts,
            neighbours: None,
        })
    }

    fn open_two(plan: &SwitchPlan, datapath: DatapathChoice, mut target: Target) -> Result<Self> {
        target.count_at(datapath.params.get("a").map(String::as_str))?;
        let request = DescriptionRequest {
            spec: Box::new(plan.lightest_test(&datapath)?),
            resolve: plan.neighbours == NeighbourMode::Resolve,
            gateway: plan.gateways[1],
        };
        let own = port_mac(&datapath.params, Role::Client).map_err(|error| refused(&error))?;
        // Before port B asks: who asks is answered, and known.
        let start = || PortHost::start(&datapath.params, Role::Client, plan.gateways[0]);
        let host = request.resolve.then(start).transpose();
        let host = host.map_err(|error| refused(&error))?;
        let mut client = Client::connect(&target)?;
        let there = client.describe(&request)?;
        if there.mac == own.to_string() {
            return Err(same_port(&plan.device).into());
        }
        let mut hosts = client.hosts();
        if let Some(peer) = hosts.last_mut() {
            peer.facts.clone_from(&there.facts);
        }
        target.peer_facts = Some(there.facts);
        let speed = |host: &Host| host.facts.link_speed_bps;
        let mut ports = Self {
            line_rate: hosts.iter().filter_map(speed).min(),
            datapath,
            target,
            hosts,
            neighbours: None,
        };
        if let Some(host) = host {
            ports.neighbours = Some((host, HeldPort::start(client, request)?));
            ports.datapath = ports.resolved()?;
        } else if plan.host_b().is_some() {
            // Neither host has the other's interface.
            let macs = [("a-to", there.mac), ("b-to", own.to_string())];
            for (key, mac) in macs {
                let params = &mut ports.datapath.params;
                params.entry(key.to_owned()).or_insert(mac);
            }
        }
        Ok(ports)
    }

    /// The datapath, with the MAC addresses of next hops as they are now.
    pub(super) fn resolved(&self) -> Result<DatapathChoice> {
        let mut datapath = self.datapath.clone();
        if let Some((a, b)) = &self.neighbours {
            let from_a = a.resolved().map_err(|error| refused(&error))?;
            let found = [from_a.to_string(), b.next_hop()?];
            for (key, mac) in ["a-to", "b-to"].into_iter().zip(found) {
                datapath.params.insert(key.to_owned(), mac);
            }
        }
        Ok(datapath)
    }

    /// Tries the generator that `test` asks for, with a few frames. Where this host or these ports have no way for frames of
    /// the kernel, a test of one flow in one direction is made by AF_XDP in its place; what is said of that.
    pub(super) fn settle_generator(&mut self, test: &TestSpec) -> Result<Option<String>> {
        let params = &mut self.datapath.params;
        let is_kernel = params
            .get(DatapathChoice::GENERATOR)
            .is_some_and(|by| by == "kernel");
        if !is_kernel {
            return Ok(None);
        }
        let tried = Client::connect(&self.target)?.run(test, &mut |_| true);
        let Err(error) = tried else {
            return Ok(None);
        };
        let is_lack =
            Failure::of(error.as_ref()).is_some_and(|failure| failure.code == ExitCode::HostLacks);
        let is_one = params
            .get(DatapathChoice::FLOWS)
            .is_none_or(|flows| flows == "1")
            && test.streams == 1;
        if !is_lack || !is_one || test.direction == Direction::Duplex {
            return Err(error);
        }
        params.insert(DatapathChoice::GENERATOR.to_owned(), "af-xdp".to_owned());
        Ok(Some(format!(
            "frames are made and counted by AF_XDP, which is slower: {error:#}"
        )))
    }

    /// Whether both are veth, whose ceiling a veth pair in the device's place shows.
    pub(super) fn are_veth(&self) -> bool {
        let is_veth = |host: &Host| host.facts.interface_kind.as_deref() == Some("veth");
        self.hosts.iter().all(is_veth)
    }
}

/// Works with a peer at port B, which is a thread of this process.
pub(super) fn on_ports<T>(
    plan: &SwitchPlan,
    datapath: DatapathChoice,
    work: impl FnOnce(&mut Ports) -> Result<T>,
) -> Result<T> {
    let agent = Agent::start(AgentPlan::listening_on("127.0.0.1:0")?)?;
    let address = format!("127.0.0.1:{}", agent.port());
    let target = Target {
        is_own: true,
        ..Target::new(PeerAddress::parse(&address)?)
    };
    let result = Ports::open(plan, datapath, target).and_then(|mut ports| work(&mut ports));
    agent.stop()?;
    result
}

/// Refuses a device that this host cannot start.
pub(crate) fn check_device(plan: &SwitchPlan) -> Result<(), Failure> {
    match &plan.device {
        DeviceChoice::Started(choice) => {
            duts::check(&plan.setup(choice)).map_err(|error| failure(&error))
        }
        DeviceChoice::Ports { .. } | DeviceChoice::Mesh(_) => Ok(()),
    }
}

/// Works with a device that is started for it. The calling thread is in the tester's network meanwhile.
pub(super) fn on_device<T>(
    plan: &SwitchPlan,
    choice: &DutChoice,
    work: impl FnOnce(&mut Ports, &mut dyn Dut) -> Result<T>,
) -> Result<T> {
    let mut device = duts::start(&plan.setup(choice)).map_err(|error| failure(&error))?;
    let [a, b] = device.tester().ports();
    let mut datapath = TesterPort::datapath(a, b);
    if plan.is_ipv6 {
        for (key, port) in [("a-ip", a), ("b-ip", b)] {
            let address = port.ipv6.to_string();
            datapath.params.insert(key.to_owned(), address);
        }
    }
    datapath.params.extend(plan.params.clone());
    let home = NetNamespace::current()?;
    device.tester().enter()?;
    let result = on_ports(plan, datapath, |ports| work(ports, &mut *device));
    home.enter()?;
    let closed = device.close();
    let result = result?;
    closed.map_err(|errors| anyhow::anyhow!("taking {choice} down: {errors:?}"))?;
    Ok(result)
}

/// Both ports are one interface, as when the other host is this one.
fn same_port(device: &DeviceChoice) -> Failure {
    let message = format!(
        "{}: both ports are one interface, with one MAC address: a device is between two; give two",
        device.name()
    );
    Failure::new(ExitCode::Usage, message)
}

/// What is wrong with the ports that were given, or with what they are joined to.
fn refused(error: &EngineError) -> Failure {
    let code = match error {
        EngineError::Plan { .. } => ExitCode::Usage,
        _ => ExitCode::HostLacks,
    };
    Failure::new(code, error.to_string())
}

/// What is wrong with how a device was asked for, or with this host.
fn failure(error: &TestbedError) -> Failure {
    let code = match error {
        TestbedError::UnknownDut { .. } | TestbedError::DutParam { .. } => ExitCode::Usage,
        TestbedError::DutRefuses { code, .. } => *code,
        _ => ExitCode::HostLacks,
    };
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    Failure::new(code, text)
}
