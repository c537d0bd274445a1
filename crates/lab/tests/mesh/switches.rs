//! Two bridges with four hosts each, every host shaped, and what is to be found or not between the bridges.
//!
//! ```text
//!  h0 h1 h2 h3           h4 h5 h6 h7      10 Mbit/s each
//!   └──┴─ left ─ over ─ back ─ right ─┴──┘
//!           │
//!       controller
//! ```

use linerate_agent::{Agent, AgentPlan};
use linerate_mesh::Inventory;
use linerate_model::mesh::MeshReport;
use linerate_peers::key::Key;
use linerate_studies::context::unattended;
use linerate_studies::run::{Hosts, mesh as measure};
use linerate_sys::ethtool::{Ethtool, Offload};
use linerate_sys::netlink::InterfaceName;
use linerate_sys::netns::NetNamespace;
use linerate_testbed::{InlineLink, LinkConfig};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const HOSTS: usize = 8;
const PORT: u16 = 5301;
const KEY: &[u8] = b"the key of a mesh of these tests";

/// What is special of a mesh.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene {
    /// Run where `over` and `back` are the two ends of the veth pair between the switches.
    pub(crate) between: &'static str,
    /// Each host's, Mbit/s.
    pub(crate) host_mbit: [u32; HOSTS],
    /// Of a link element there, each way.
    pub(crate) delay: Duration,
}

impl Scene {
    /// Nothing is shared.
    pub(crate) const UNSHAPED: Self = Self {
        between: "",
        host_mbit: [10; HOSTS],
        delay: Duration::ZERO,
    };
}

/// A thread in the network of a host.
struct Running {
    thread: JoinHandle<()>,
    /// Scripts to run there; dropping it ends the host.
    scripts: Sender<String>,
    done: Receiver<()>,
    /// Its number, by which its network is found.
    id: String,
}

impl Running {
    fn start() -> Self {
        let (scripts, waiting) = channel::<String>();
        let (tell, done) = channel();
        let (tell_id, id) = channel();
        let work = move || {
            let _network = NetNamespace::unshare().unwrap();
            let link = fs::read_link("/proc/thread-self").unwrap();
            let id = link.file_name().unwrap().to_str().unwrap().to_owned();
            tell_id.send(id).unwrap();
            let mut agent = None;
            for script in waiting {
                if script == "serve" {
                    // A link element computes no checksums.
                    let offload = Offload::TransmitChecksum;
                    let ethtool = Ethtool::new().unwrap();
                    ethtool.switch_off(&name("eth0"), offload).unwrap();
                    let plan = AgentPlan {
                        listen: format!("0.0.0.0:{PORT}").parse().unwrap(),
                        key: Some(Key::new(KEY).unwrap()),
                        ..AgentPlan::private()
                    };
                    agent = Some(Agent::start(plan).unwrap());
                } else {
                    shell(&script);
                }
                tell.send(()).unwrap();
            }
            if let Some(agent) = agent {
                agent.stop().unwrap();
            }
        };
        let thread = thread::spawn(work);
        Self {
            thread,
            scripts,
            done,
            id: id.recv().unwrap(),
        }
    }

    fn run(&self, script: &str) {
        self.scripts.send(script.to_owned()).unwrap();
        self.done.recv().unwrap();
    }
}

fn name(interface: &str) -> InterfaceName {
    InterfaceName::new(interface).unwrap()
}

fn shell(script: &str) {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
}

/// Measures the mesh and searches for shared links while agents run on the first `serving` hosts.
pub(crate) fn mesh(scene: Scene, serving: usize, seed: u64) -> MeshReport {
    let work = move || {
        let _network = NetNamespace::unshare().unwrap();
        let hosts = build(scene, serving);
        let delayed = (!scene.delay.is_zero()).then(|| delay(scene.delay, seed));
        let report = found(seed);
        for host in hosts {
            drop(host.scripts);
            host.thread.join().unwrap();
        }
        if let Some(link) = delayed {
            link.remove().unwrap();
        }
        report
    };
    thread::spawn(work).join().unwrap()
}

/// Puts a link element between the switches.
fn delay(delay: Duration, seed: u64) -> InlineLink {
    let config = LinkConfig {
        delay,
        ..LinkConfig::default()
    };
    let link = InlineLink::insert(&name("over"), &config, seed).unwrap();
    shell("ip link set over master left");
    link
}

fn build(scene: Scene, serving: usize) -> Vec<Running> {
    let mut script = "ip link set lo up\n\
        ip link add left type bridge\nip link add right type bridge\n\
        ip link add over type veth peer name back\n\
        ip link set over master left\nip link set back master right\n\
        ip addr add 10.66.0.100/24 dev left\n"
        .to_owned();
    for name in ["left", "right", "over", "back"] {
        writeln!(script, "ip link set {name} up").unwrap();
    }
    script.push_str(scene.between);
    shell(&script);
    let hosts: Vec<_> = (0..HOSTS).map(|_| Running::start()).collect();
    for (number, host) in hosts.iter().enumerate() {
        let switch = if number < HOSTS / 2 { "left" } else { "right" };
        let id = &host.id;
        shell(&format!(
            "ip link add p{number} type veth peer name eth0 netns {id}\n\
             ip link set p{number} master {switch}\nip link set p{number} up"
        ));
        let address = number + 1;
        let mbit = scene.host_mbit[number];
        host.run(&format!(
            "ip link set lo up\nip addr add 10.66.0.{address}/24 dev eth0\n\
             ip link set eth0 gso_max_size 1514 gso_max_segs 1\nip link set eth0 up\n\
             tc qdisc add dev eth0 root tbf rate {mbit}mbit burst 8kb latency 60ms"
        ));
        if number < serving {
            host.run("serve");
        }
    }
    hosts
}

fn found(seed: u64) -> MeshReport {
    let mut text = format!("[mesh]\ntime = \"2s\"\nshared-links = true\nseed = {seed}\n");
    for number in 0..HOSTS {
        let address = number + 1;
        writeln!(
            text,
            "[hosts.h{number}]\naddress = \"10.66.0.{address}:{PORT}\""
        )
        .unwrap();
    }
    let inventory = Inventory::from_toml("mesh.toml", &text).unwrap();
    let key = Key::new(KEY).unwrap();
    let hosts = Hosts::new(inventory, Some(&key)).unwrap();
    let (_, report) = unattended(|context| measure(context, &hosts)).unwrap();
    report
}
