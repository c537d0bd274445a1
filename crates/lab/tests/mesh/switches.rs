//! Two bridges with four hosts each, every host shaped to 10 Mbit/s, and a link between the bridges.
//!
//! ```text
//!  h0 h1 h2 h3           h4 h5 h6 h7      10 Mbit/s each
//!   └──┴─ left ─ link ─ right ─┴──┘       20 Mbit/s, or as fast as it can
//!           │
//!       controller
//! ```

use linerate_agent::{Agent, AgentPlan};
use linerate_mesh::Inventory;
use linerate_model::mesh::MeshReport;
use linerate_peers::key::Key;
use linerate_studies::context::unattended;
use linerate_studies::run::{Hosts, mesh as measure};
use linerate_sys::netns::NetNamespace;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

const HOSTS: usize = 8;
const PORT: u16 = 5301;
const KEY: &[u8] = b"the key of a mesh of these tests";

/// The link between the switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// To 20 Mbit/s each way.
    Shaped,
    Unshaped,
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
            let name = link.file_name().unwrap().to_str().unwrap().to_owned();
            tell_id.send(name).unwrap();
            let mut agent = None;
            for script in waiting {
                if script == "serve" {
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

fn shell(script: &str) {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
}

/// Measures the mesh and searches for shared links while agents run on the first `serving` hosts.
pub(crate) fn mesh(between: Between, serving: usize, seed: u64) -> MeshReport {
    let work = move || {
        let _network = NetNamespace::unshare().unwrap();
        let hosts = build(between, serving);
        let report = found(seed);
        for host in hosts {
            drop(host.scripts);
            host.thread.join().unwrap();
        }
        report
    };
    thread::spawn(work).join().unwrap()
}

fn build(between: Between, serving: usize) -> Vec<Running> {
    let mut script = "ip link set lo up\n\
        ip link add left type bridge\nip link add right type bridge\n\
        ip link add over type veth peer name back\n\
        ip link set over master left\nip link set back master right\n\
        ip addr add 10.66.0.100/24 dev left\n"
        .to_owned();
    for name in ["left", "right", "over", "back"] {
        writeln!(script, "ip link set {name} up").unwrap();
    }
    if between == Between::Shaped {
        for end in ["over", "back"] {
            // Segments as large as a queue of packets takes, so that the shaper counts what a wire would.
            writeln!(script, "ip link set {end} gso_max_size 1514 gso_max_segs 1\ntc qdisc add dev {end} root tbf rate 20mbit burst 8kb latency 60ms").unwrap();
        }
    }
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
        host.run(&format!(
            "ip link set lo up\nip addr add 10.66.0.{address}/24 dev eth0\n\
             ip link set eth0 gso_max_size 1514 gso_max_segs 1\nip link set eth0 up\n\
             tc qdisc add dev eth0 root tbf rate 10mbit burst 8kb latency 60ms"
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
