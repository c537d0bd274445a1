//! Two hosts joined by the link element, the second with an emulated microcontroller behind it.

use linerate_client::Target;
use linerate_client::address::PeerAddress;
use linerate_model::run::Run;
use linerate_model::spec::TestSpec;
use linerate_studies::context::unattended;
use linerate_studies::run::single;
use linerate_testbed::{HostId, Link, LinkConfig, TwoHosts};
use linerate_testkit::child::KilledChild;
use linerate_testkit::namespaces::not_run;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The address that the firmware has unless it is built with another.
const DEVICE: &str = "10.78.1.2";

/// What host B is before the device: its gateway.
const GATEWAY: &str = "10.78.1.1";

/// How a device is emulated.
pub(crate) struct Board {
    /// The firmware that `make firmware` leaves.
    pub(crate) firmware: &'static str,
    /// What it says its processor is.
    pub(crate) processor: &'static str,
    /// The emulator.
    pub(crate) emulator: &'static str,
    /// What it emulates.
    pub(crate) machine: &'static [&'static str],
    /// Its network interface, on the TAP device `board`.
    pub(crate) nic: &'static [&'static str],
}

/// Arm's MPS2 with a Cortex-M7.
pub(crate) const MPS2: Board = Board {
    firmware: "mps2-an500",
    processor: "Cortex-M7",
    emulator: "qemu-system-arm",
    machine: &["-M", "mps2-an500"],
    nic: &[
        "-nic",
        "tap,ifname=board,script=no,downscript=no,mac=52:54:00:12:34:57",
    ],
};

/// QEMU's virt machine of 32-bit RISC-V.
pub(crate) const VIRT: Board = Board {
    firmware: "riscv-virt",
    processor: "RV32IMAC",
    emulator: "qemu-system-riscv32",
    machine: &["-M", "virt", "-bios", "none", "-m", "32M"],
    nic: &[
        "-netdev",
        "tap,id=link,ifname=board,script=no,downscript=no",
        "-device",
        "virtio-net-device,netdev=link,mac=52:54:00:12:34:58",
    ],
};

/// Host A measures, host B routes to the device.
pub(crate) struct Rig {
    hosts: TwoHosts,
    emulator: KilledChild,
}

impl Rig {
    /// Starts a device; `link` is what happens to frames in each direction.
    pub(crate) fn start(board: &Board, link: LinkConfig) -> Self {
        let firmware = firmware(board);
        let hosts = TwoHosts::create(Link::symmetric(link), 1).unwrap();
        on(
            &hosts,
            HostId::A,
            &format!("ip route add {DEVICE} via 10.77.0.2"),
        );
        on(
            &hosts,
            HostId::B,
            &format!(
                "echo 1 >/proc/sys/net/ipv4/ip_forward
                 ip tuntap add dev board mode tap
                 ip address add {GATEWAY}/24 dev board
                 ip link set board up"
            ),
        );
        let mut command = Command::new(board.emulator);
        command
            .args(board.machine)
            .args([
                "-nodefaults",
                "-display",
                "none",
                "-serial",
                "stdio",
                "-kernel",
            ])
            .arg(&firmware)
            .args(board.nic)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let spawn = move || command.spawn();
        let host = hosts.host(HostId::B);
        let spawned = host.spawn("emulator", spawn).unwrap().join().unwrap();
        let emulator = spawned.unwrap_or_else(|error| {
            not_run(format!("{} does not start: {error}", board.emulator));
        });
        let mut emulator = KilledChild::from(emulator);
        let console = BufReader::new(emulator.stdout.take().unwrap());
        let ready = format!("linerate responder at {DEVICE}:");
        let mut lines = console.lines().map_while(Result::ok);
        assert!(
            lines.any(|line| line.starts_with(&ready)),
            "the firmware ended before it was ready"
        );
        // What it says later has to go somewhere.
        std::thread::spawn(move || lines.for_each(drop));
        Self { hosts, emulator }
    }

    /// Runs one test on host A against the device, through the link element.
    pub(crate) fn measure(&self, spec: &TestSpec) -> Run {
        let spec = spec.clone();
        let far = PeerAddress::parse(DEVICE).unwrap();
        let work = move || unattended(|context| single(context, &Target::new(far), &spec));
        let host = self.hosts.host(HostId::A);
        let run = host.spawn("test", work).unwrap().join().unwrap().unwrap();
        let document = serde_json::to_value(&run).unwrap();
        assert_eq!(linerate_schema_check::validate(&document), Ok(()));
        run
    }

    /// Frames that the link element dropped from its list: towards the device, and from it.
    pub(crate) fn dropped_by_list(&self) -> [u64; 2] {
        let counters = self.hosts.link().unwrap().counters().unwrap();
        [counters.a_to_b, counters.b_to_a].map(|way| way.data.dropped_by_list.get())
    }

    /// Stops the device and takes the hosts down.
    pub(crate) fn close(self) {
        drop(self.emulator);
        self.hosts.close().unwrap();
    }
}

fn firmware(board: &Board) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/firmware");
    let firmware = folder.join(board.firmware);
    if !firmware.is_file() {
        not_run(format!(
            "there is no firmware {}: `make firmware` builds it",
            board.firmware
        ));
    }
    firmware
}

fn on(hosts: &TwoHosts, host: HostId, script: &str) {
    let owned = script.to_owned();
    let run = move || Command::new("sh").args(["-ec", &owned]).output().unwrap();
    let output = hosts
        .host(host)
        .spawn("script", run)
        .unwrap()
        .join()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
}
