//! `linerate p4 run`.

use crate::served::{self, ServedArgs};
use crate::{files, print};
use clap::Args;
use linerate_model::Clock as _;
use linerate_model::dut::DutCounters;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::{DROP_PORT, DataPlane as _, Limits, Switch};
use linerate_p4_switch::{Control, OpenPort, PortError, PortKind, Station, open};
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::clock::{MonoClock, has_passed};
use linerate_sys::ending;
use linerate_sys::netlink::InterfaceName;
use linerate_sys::random::random_bytes;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
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
    /// Core on which the switch runs.
    #[arg(long, value_name = "CORE")]
    core: Option<u32>,
    #[command(flatten)]
    served: ServedArgs,
    /// Print counters as JSON.
    #[arg(long)]
    json: bool,
    /// Print counters as a line of JSON for each line of standard input, whose end ends the switch: for programs that start it.
    #[arg(long)]
    ask: bool,
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
    let switch = switch(args)?;
    if let Some(core) = args.core {
        let pinned = pin_current_thread(core);
        pinned.map_err(|error| {
            let message = format!("--core {core}: {error}; see nproc");
            Failure::new(ExitCode::HostLacks, message)
        })?;
    }
    let asked = ending::interrupt().map_err(host("waiting for signals"))?;
    let ports = open_all(&numbered)?;
    let mut told = described(&ports);
    let (cpu, packets) = args.served.cpu_port();
    let (mut station, control) = Station::new(ports, cpu).map_err(host("making a waker"))?;
    station.install(switch);
    let files = served::Files {
        program: &args.program,
        p4info: args.p4info.as_deref(),
        entries: args.entries.as_deref(),
    };
    // Ends with this function, after the last packet.
    let server = args.served.serve(&control, packets, &files, seed())?;
    if let Some(server) = &server {
        let _ = writeln!(told, "P4Runtime at {}", server.address());
    }
    let until = args
        .duration
        .map(|seconds| MonoClock.now().after(Duration::from_secs(seconds)));
    let end = if until.is_some() {
        ""
    } else {
        "; Ctrl-C ends it"
    };
    let _ = writeln!(told, "{} runs{end}", args.program.display());
    let questions = Arc::new(Questions::default());
    if args.ask {
        questions.read(control);
    }
    say(&told);
    let is_over = || {
        asked.load(Ordering::Relaxed)
            || until.is_some_and(has_passed)
            || questions.ended.load(Ordering::Relaxed)
    };
    let ended = answering(&mut station, &questions, is_over)?;
    let counts = station.counts();
    // The interfaces are left before anybody reads that it has ended.
    drop(station);
    print(&if args.json || args.ask {
        json(&counts)?
    } else {
        words(&counts)
    })?;
    ended.map_err(|error| refused(&error))?;
    Ok(ExitCode::Done)
}

/// The program with its entries.
fn switch(args: &RunArgs) -> Result<Switch, Failure> {
    let program = files::program(&args.program)?;
    if let Some(path) = &args.p4info {
        files::check_p4info(&program, path)?;
    }
    let mut switch = Switch::new(program, Limits::default(), seed());
    if let Some(path) = &args.entries {
        files::set_entries(&mut switch, path)?;
    }
    Ok(switch)
}

fn open_all(ports: &[(u32, &PortArg)]) -> Result<Vec<(u32, OpenPort)>, Failure> {
    let opened = ports.iter().map(|(number, arg)| {
        let port = match arg.kind {
            Some(kind) => kind.open(&arg.interface),
            None => open(&arg.interface),
        };
        Ok((*number, port.map_err(|error| refused(&error))?))
    });
    opened.collect()
}

fn described(ports: &[(u32, OpenPort)]) -> String {
    let mut text = String::new();
    for (number, port) in ports {
        let _ = writeln!(text, "port {number}: {port}");
        for note in &port.notes {
            let _ = writeln!(text, "  note: {note}");
        }
    }
    text
}

/// Lets packets through until `is_over`, and answers questions meanwhile.
fn answering(
    station: &mut Station,
    questions: &Questions,
    is_over: impl Fn() -> bool,
) -> Result<Result<(), PortError>, Failure> {
    let mut answered = 0;
    loop {
        let has_question = || questions.asked.load(Ordering::Relaxed) > answered;
        let ended = station.run(|| is_over() || has_question());
        if ended.is_err() || !has_question() {
            return Ok(ended);
        }
        print(&json(&station.counts())?)?;
        answered += 1;
    }
}

/// What somebody who started the switch asks of it, line by line.
#[derive(Debug, Default)]
struct Questions {
    asked: AtomicU64,
    ended: AtomicBool,
}

impl Questions {
    /// Counts lines of standard input until it ends, and wakes the switch at each.
    fn read(self: &Arc<Self>, control: Control) {
        let own = Arc::clone(self);
        std::thread::spawn(move || {
            for _ in io::stdin().lines().map_while(Result::ok) {
                own.asked.fetch_add(1, Ordering::Relaxed);
                control.run(Box::new(|_, _| ()));
            }
            own.ended.store(true, Ordering::Relaxed);
            control.run(Box::new(|_, _| ()));
        });
    }
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

fn json(counts: &DutCounters) -> Result<String, Failure> {
    let text = serde_json::to_string(counts);
    let text = text.map_err(|error| Failure::new(ExitCode::Other, error.to_string()))?;
    Ok(text + "\n")
}

fn words(counts: &DutCounters) -> String {
    let mut text = String::new();
    for port in &counts.ports {
        let (name, received, sent) = (&port.name, port.received, port.sent);
        let _ = writeln!(text, "{name}: received {received}, sent {sent}");
    }
    for drop in counts.drops.iter().filter(|drop| drop.packets.get() > 0) {
        let (packets, place, at) = (drop.packets, drop.place.in_words(), &drop.at);
        let _ = writeln!(text, "dropped {packets}: {place}, {at}");
    }
    for (what, count) in &counts.counters {
        let _ = writeln!(text, "{what}: {count}");
    }
    text
}
