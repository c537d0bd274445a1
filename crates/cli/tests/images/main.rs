//! Disk images, from `board image` to a ready agent: needs user namespaces, QEMU, Debian's archive and the agent that
//! `make dist` builds, so run with `--ignored`.
//!
//! ```text
//!   this host ──TAP── board, booted from its disk by its own firmware
//!   10.79.0.1         10.79.0.2
//! ```
#![expect(clippy::unwrap_used, reason = "a test")]

mod board;
mod evidence;

use board::{ADDRESS, Board, Made, Pictured, make};
use evidence::contradictions;
use linerate_boards::{Profile, kernel_options};
use linerate_schema_check::{SPDX_2_3, validate_against};
use linerate_testbed::enter_user_namespace;
use linerate_testkit::namespaces::{Case, namespace_main};
use serde_json::Value;
use std::process::ExitCode;
use std::sync::OnceLock;

const CASES: &[Case] = &[
    Case {
        name: "an_image_for_virt_boots_to_a_ready_agent",
        run: an_image_for_virt_boots_to_a_ready_agent,
    },
    Case {
        name: "an_image_for_sifive_u_boots_from_its_card",
        run: an_image_for_sifive_u_boots_from_its_card,
    },
];

/// With every profile.
static VIRT: Pictured = Pictured {
    machine: "virt",
    profiles: "measure,tracing",
    nic: &[
        "-netdev",
        "tap,id=link,ifname=tap0,script=no,downscript=no",
        "-device",
        "virtio-net-device,netdev=link",
    ],
    typed: None,
};

static SIFIVE_U: Pictured = Pictured {
    machine: "sifive_u",
    profiles: "measure",
    nic: &["-nic", "tap,ifname=tap0,script=no,downscript=no"],
    // QEMU 7.2's card does not answer when U-Boot begins with it anew (`mmc dev`), as its usual way to boot does.
    typed: Some("mmc dev 0; setenv devnum 0; setenv devtype mmc; run scan_dev_for_boot_part"),
};

/// What was made before there was no network.
static MADE: OnceLock<[Result<Made, String>; 2]> = OnceLock::new();

fn main() -> ExitCode {
    let prepare = || {
        let _ = MADE.set([make(&VIRT), make(&SIFIVE_U)]);
        enter_user_namespace()
    };
    namespace_main(prepare, CASES)
}

fn made(index: usize) -> &'static Made {
    match &MADE.get().unwrap()[index] {
        Ok(made) => made,
        Err(why) => panic!("{why}"),
    }
}

/// The board is measured, has the programs of both profiles, and its kernel the options that the image was said to have.
fn an_image_for_virt_boots_to_a_ready_agent() {
    let made = made(0);
    let board = Board::boot(&VIRT, made);
    measured(&board);
    for program in [
        "iperf3 --version",
        "ethtool --version",
        "tcpdump --version",
        "perf --version",
        "bpftool version",
        "trace-cmd list -t",
        "strace --version",
        "linerate-p4 --version",
    ] {
        board.shell(program);
    }
    // A module that nothing has loaded yet.
    board.shell(
        "/usr/sbin/tc qdisc add dev lo root netem delay 1ms && /usr/sbin/tc qdisc del dev lo root",
    );

    let said = &made.document;
    assert_eq!(board.shell("uname -r").trim(), said["kernel_release"]);
    let profiles = ["measure", "tracing"].map(|name| Profile::find(name).unwrap());
    let options = kernel_options(&profiles, &board.shell("cat /boot/config"));
    assert!(options.len() > 50, "{}", options.len());
    assert_eq!(
        serde_json::to_value(&options).unwrap(),
        said["kernel_options"]
    );
    // The list is Debian's. The kernel's own list is compared where it has one, and it is seen what it does have.
    let own = board.shell("test ! -e /proc/config.gz || zcat /proc/config.gz");
    if !own.is_empty() {
        assert_eq!(kernel_options(&profiles, &own), options);
    }
    let contradictions = contradictions(&board, &options);
    assert!(contradictions.is_empty(), "{contradictions:#?}");
}

/// The loader, U-Boot and the kernel are read from the card.
fn an_image_for_sifive_u_boots_from_its_card() {
    let made = made(1);
    let board = Board::boot(&SIFIVE_U, made);
    let run = measured(&board);
    let facts = &run["hosts"][1]["facts"];
    assert_eq!(facts["board"], "SiFive HiFive Unleashed A00");
    assert_eq!(facts["emulated"], "sifive_u on QEMU");
    board.shell("grep -q mmcblk /proc/partitions");
}

/// A short test against the board; its run. The image's bill is one of SPDX.
fn measured(board: &Board<'_>) -> Value {
    let bill = board.made.bill();
    validate_against(SPDX_2_3, &bill).unwrap();
    let packages = bill["packages"].as_array().unwrap();
    let find = |name: &str| {
        packages
            .iter()
            .find(|package| package["name"] == name)
            .unwrap()
    };
    assert!(
        !find("busybox-static")["licenseDeclared"]
            .as_str()
            .unwrap_or_default()
            .is_empty()
    );
    let whole = &bill["packages"][0];
    assert_eq!(
        whole["checksums"][0]["checksumValue"],
        board.made.hash.as_str()
    );

    let run = board.linerate(&[
        "udp",
        ADDRESS,
        "--rate",
        "1M",
        "-t",
        "2",
        "--timeout",
        "1m",
        "--diagnose",
        "0s",
        "--json",
        "--no-store",
    ]);
    assert!(
        run["trials"][0]["packets"]["received"].as_u64().unwrap() > 0,
        "{run}"
    );
    assert!(
        run["hosts"][1]["facts"]["isa"]
            .as_str()
            .unwrap()
            .starts_with("rv64")
    );
    run
}
