//! `linerate p4 run`.

use crate::{files, print};
use clap::Args;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::{DROP_PORT, Limits, Switch};
use linerate_p4_switch::{Counts, PortError, PortKind, Station, open};
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::ending;
use linerate_sys::netlink::InterfaceName;
use linerate_sys::random::random_bytes;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What p4c-bm2-ss wrote.
    program: PathBuf,
    /// A port: an interface of this host, such as eth1, or with its number in the program, 1=eth1; without, ports count from 0.
    /// With `,af-xdp`, `,af-packet` or `,tap` (which makes the interface) as that kind of port, else as the best that works.
    #[arg(long = "port", value_name = "[NUMBER=]INTERFACE[,KIND]", required = true, value_parser = port)]
    ports: Vec<PortArg>,
    /// The P4Info that p4c wrote beside, to check that they belong together.
    #[arg(long, value_name = "FILE")]
    p4info: Option<PathBuf>,
    /// Entries, groups and sessions as in an STF test: `add`, `setdefault`, `mc_mgrp_create` and so on.
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    duration: Option<u64>,
    /// Print counters as JSON.
    #[arg(long)]
    json: bool,
}

/// An interface, the number and the kind that are asked for.
#[derive(Debug, Clone)]
struct PortArg {
    number: Option<u32>,
    interface: InterfaceName,
    kind: Option<&'static dyn PortKind>,
}

fn port(text: &str) -> Result<PortArg, String> {
    let (number, rest) = match text.split_once('=') {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    };
    let (interface, kind) = match rest.split_once(',') {
        Some((interface, kind)) => (interface, Some(kind)),
        None => (rest, None),
    };
    let number = number.map(|number| {
        let number = number.parse().ok().filter(|number| *number < DROP_PORT);
        number.ok_or("a port's number is 0 to 510")
    });
    let kind = kind.map(|id| {
        let kinds = linerate_p4_switch::ALL.iter().copied();
        let known = || {
            kinds
                .clone()
                .map(PortKind::id)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = kinds.clone().find(|kind| kind.id() == id);
        found.ok_or_else(|| format!("kinds of ports are {}", known()))
    });
    let interface = InterfaceName::new(interface);
    Ok(PortArg {
        number: number.transpose()?,
        interface: interface.ok_or("an interface's name has 1 to 15 characters")?,
        kind: kind.transpose()?,
    })
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let numbered = numbers(&args.ports)?;
    let program = files::program(&args.program)?;
    if let Some(path) = &args.p4info {
        files::check_p4info(&program, path)?;
    }
    let mut switch = Switch::new(program, Limits::default(), seed());
    if let Some(path) = &args.entries {
        files::set_entries(&mut switch, path)?;
    }
    let asked = ending::interrupt().map_err(host("waiting for signals"))?;
    let mut ports = Vec::new();
    for (number, arg) in numbered {
        let opened = arg
            .kind
            .map_or_else(|| open(&arg.interface), |kind| kind.open(&arg.interface));
        ports.push((number, opened.map_err(|error| refused(&error))?));
    }
    let mut told = String::new();
    for (number, port) in &ports {
        let _ = writeln!(told, "port {number}: {port}");
        for note in &port.notes {
            let _ = writeln!(told, "  note: {note}");
        }
    }
    let (mut station, _control) = Station::new(ports, None).map_err(host("making a waker"))?;
    station.install(switch);
    let until = args
        .duration
        .map(|seconds| MonoClock.now().after(Duration::from_secs(seconds)));
    let end = if args.duration.is_some() {
        ""
    } else {
        "; Ctrl-C ends it"
    };
    let _ = writeln!(told, "{} runs{end}", args.program.display());
    say(&told);
    let is_over = || asked.load(Ordering::Relaxed) || until.is_some_and(has_passed);
    let ended = station.run(is_over);
    let counts = station.counts();
    drop(station);
    print(&if args.json {
        json(&counts)?
    } else {
        words(&counts)
    })?;
    ended.map_err(|error| refused(&error))?;
    Ok(ExitCode::Done)
}

/// Each port with its number: the one that is asked for, or the next that is free.
fn numbers(ports: &[PortArg]) -> Result<Vec<(u32, &PortArg)>, Failure> {
    let mut taken = BTreeSet::new();
    let usage = |message: String| Failure::new(ExitCode::Usage, message);
    for number in ports.iter().filter_map(|port| port.number) {
        if !taken.insert(number) {
            return Err(usage(format!("--port: two ports have number {number}")));
        }
    }
    let mut names = BTreeSet::new();
    let mut free = 0..DROP_PORT;
    let mut numbered = Vec::new();
    for port in ports {
        if !names.insert(port.interface.as_str()) {
            return Err(usage(format!("--port: {} is named twice", port.interface)));
        }
        let next = || free.find(|number| !taken.contains(number));
        let number = port.number.or_else(next);
        let number =
            number.ok_or_else(|| usage("--port: there are 511 ports at most".to_owned()))?;
        numbered.push((number, port));
    }
    Ok(numbered)
}

fn seed() -> u64 {
    // A program's random numbers need not be secret; without any they begin alike.
    random_bytes().map_or(0, u64::from_ne_bytes)
}

fn refused(error: &PortError) -> Failure {
    let code = match error {
        PortError::Gone(_) => ExitCode::Other,
        PortError::NoInterface(_) | PortError::Down(_) | PortError::Refused { .. } => {
            ExitCode::HostLacks
        }
    };
    Failure::new(code, error.to_string())
}

fn host(step: &'static str) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::new(ExitCode::HostLacks, format!("{step}: {error}"))
}

/// Tells people what runs, apart from what the command prints.
fn say(text: &str) {
    // Nobody who listens is no reason to end.
    let _ = io::stderr().write_all(text.as_bytes());
}

fn json(counts: &Counts) -> Result<String, Failure> {
    let text = serde_json::to_string(counts);
    let text = text.map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
    Ok(text + "\n")
}

fn words(counts: &Counts) -> String {
    let mut text = String::new();
    for port in &counts.ports {
        let _ = write!(
            text,
            "port {} {}: received {}, sent {}",
            port.number, port.name, port.received, port.sent
        );
        let lost = [
            (
                port.receive_dropped,
                "dropped before the program (receive ring full)",
            ),
            (port.send_dropped, "dropped after it (no room to send)"),
            (port.too_long, "dropped after it (longer than the MTU)"),
            (
                port.received_without_checksum,
                "received with a checksum left to a device: switch the sender's tx offload off",
            ),
        ];
        for (frames, how) in lost.iter().filter(|(frames, _)| *frames > 0) {
            let _ = write!(text, "; {frames} {how}");
        }
        text.push('\n');
    }
    let drops = counts.drops.iter().map(|drop| (drop.packets, drop.place));
    let others = [
        (counts.without_program, "no program was set"),
        (
            counts.to_control_dropped,
            "the control plane took packets too slowly",
        ),
    ];
    for (packets, why) in drops.chain(others).filter(|(packets, _)| *packets > 0) {
        let _ = writeln!(text, "dropped {packets}: {why}");
    }
    text
}
