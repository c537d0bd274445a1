//! Generators of others: `xdp-trafficgen` of xdp-tools and `dpdk-testpmd`.

use super::{Bench, Generator, Pair};
use crate::activity::{Activity, Values};
use crate::process::{Process, pause};
use anyhow::{Context as _, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Frames that the kernel makes, neither numbered nor stamped nor paced; `xdp-bench drop` counts them.
pub(super) struct Trafficgen;

/// From the start of a receiver to its being ready.
const RECEIVER: Duration = Duration::from_millis(400);

/// Waits of 20 ms for the end of a program.
const ENDING_TRIES: u32 = 250;

/// A program, by the name of its command or where `ci/need` unpacks it.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/foreign/usr/bin");
    let folders = std::env::split_paths(&path).chain([unpacked]);
    folders
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

fn need(name: &str, package: &str) -> Result<(), String> {
    match found(name) {
        Some(_) => Ok(()),
        None => Err(format!(
            "{name} is not here (ci/need packages-bench gets {package})"
        )),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

impl Generator for Trafficgen {
    fn name(&self) -> &'static str {
        "xdp-trafficgen"
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Frames(1 | 1_000) => need("xdp-trafficgen", "xdp-tools"),
            Activity::Frames(_) => {
                Err("flows differ by their port only: 65 536 at most".to_owned())
            }
            _ => Err("it has no pace".to_owned()),
        }
    }

    fn start(&self, bench: &Bench<'_>, activity: Activity) -> Result<Box<dyn Pair>> {
        let [a, b] = bench.ports();
        let bench_program = found("xdp-bench").context("xdp-bench is not here")?;
        let program = found("xdp-trafficgen").context("xdp-trafficgen is not here")?;
        let receiver = bench.run(1, &bench_program, &words(&["drop", &b.interface]))?;
        pause(RECEIVER);
        let mut sender = words(&["udp", &a.interface, "-m", &b.mac]);
        if let Activity::Frames(flows @ 2..) = activity {
            sender.extend(["-d".to_owned(), flows.to_string()]);
        }
        let sender = bench.run(0, &program, &sender)?;
        Ok(Box::new(Both { sender, receiver }))
    }
}

/// DPDK's test program: `txonly` sends, `rxonly` counts.
pub(super) struct Testpmd {
    name: &'static str,
    driver: &'static str,
}

impl Testpmd {
    pub(super) const AF_PACKET: Self = Self {
        name: "testpmd af_packet",
        driver: "net_af_packet",
    };
    pub(super) const AF_XDP: Self = Self {
        name: "testpmd af_xdp",
        driver: "net_af_xdp",
    };

    fn words(&self, bench: &Bench<'_>, end: usize, mode: &[String]) -> Vec<String> {
        let mut all = words(&[
            "--no-huge",
            "-m",
            "256",
            "--no-pci",
            "--no-shconf",
            "--no-telemetry",
        ]);
        for plugin in plugins() {
            all.extend(["-d".to_owned(), plugin.display().to_string()]);
        }
        let (core, port) = (bench.cores[end], &bench.ports()[end].interface);
        all.extend([
            format!("--lcores=0@{core},1@{core}"),
            format!("--vdev={}0,iface={port}", self.driver),
        ]);
        all.extend(words(&[
            "--",
            "--auto-start",
            "--nb-cores=1",
            "--total-num-mbufs=16384",
            // Prints nothing that anybody reads, and keeps it from ending with its input.
            "--stats-period=60",
        ]));
        all.extend_from_slice(mode);
        all
    }
}

/// Files of the drivers that it needs, of a package that is unpacked and not installed.
fn plugins() -> Vec<PathBuf> {
    const NEEDED: [&str; 4] = ["bus_vdev", "mempool_ring", "net_af_packet", "net_af_xdp"];
    let folders = found("dpdk-testpmd").and_then(|file| {
        let lib = file.parent()?.join("../lib");
        Some(lib.read_dir().ok()?.flatten().map(|entry| entry.path()))
    });
    let folders = folders.into_iter().flatten();
    let inner = folders.filter_map(|folder| folder.join("dpdk").read_dir().ok());
    let pmds = inner.flat_map(|folder| folder.flatten().map(|entry| entry.path()));
    let files = pmds.filter_map(|folder| folder.read_dir().ok());
    let files = files.flat_map(|folder| folder.flatten().map(|entry| entry.path()));
    files
        .filter(|file| {
            let name = file
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            NEEDED
                .iter()
                .any(|part| name.starts_with(&format!("librte_{part}.so.")))
        })
        .collect()
}

impl Generator for Testpmd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Frames(1) => need("dpdk-testpmd", "dpdk-dev"),
            Activity::Frames(_) => Err("measured with one flow only".to_owned()),
            _ => Err("it has no pace".to_owned()),
        }
    }

    fn start(&self, bench: &Bench<'_>, _activity: Activity) -> Result<Box<dyn Pair>> {
        let program = found("dpdk-testpmd").context("dpdk-testpmd is not here")?;
        let environment = libraries(&program);
        let start = |end, mode: &[String]| {
            let mut all = environment.clone();
            all.push(program.display().to_string());
            all.extend(self.words(bench, end, mode));
            bench.run(end, Path::new("env"), &all)
        };
        let receiver = start(1, &words(&["--forward-mode=rxonly"]))?;
        let sender = start(0, &words(&["--forward-mode=txonly", "--txpkts=60"]))?;
        // Its drivers take as long to begin.
        pause(RECEIVER * 4);
        Ok(Box::new(Both { sender, receiver }))
    }
}

/// What `env` sets so that an unpacked program finds its libraries.
fn libraries(program: &Path) -> Vec<String> {
    let usr = program.parent().and_then(Path::parent);
    let Some(root) = usr
        .filter(|usr| *usr != Path::new("/usr"))
        .and_then(Path::parent)
    else {
        return Vec::new();
    };
    let entries = ["usr/lib", "lib"].map(|folder| root.join(folder).read_dir());
    let folders = entries.into_iter().flatten().flatten().flatten();
    let folders = folders.map(|entry| entry.path().display().to_string());
    let folders: Vec<_> = folders
        .filter(|folder| folder.ends_with("-linux-gnu"))
        .collect();
    let objects = folders.iter().map(|folder| format!("{folder}/bpf"));
    let mut objects = objects.filter(|folder| Path::new(folder).is_dir());
    let mut all = vec![format!("LD_LIBRARY_PATH={}", folders.join(":"))];
    all.extend(
        objects
            .next()
            .map(|folder| format!("LIBXDP_OBJECT_PATH={folder}")),
    );
    all
}

/// A sender and a receiver that run until they are stopped.
struct Both {
    sender: Process,
    receiver: Process,
}

impl Pair for Both {
    fn processes(&self) -> Vec<u32> {
        vec![self.sender.id(), self.receiver.id()]
    }

    fn end(self: Box<Self>) -> Result<Values> {
        // What they attach to the interfaces stays there unless they end by themselves.
        for process in [&self.sender, &self.receiver] {
            process.interrupt()?;
        }
        for process in [&self.sender, &self.receiver] {
            let mut tries = 0;
            while !process.has_ended()? && tries < ENDING_TRIES {
                pause(Duration::from_millis(20));
                tries += 1;
            }
            ensure!(tries < ENDING_TRIES, "it does not end when it is asked to");
        }
        Ok(Values::new())
    }
}
