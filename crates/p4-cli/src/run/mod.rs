//! `linerate p4 run`.

mod controllers;
mod counts;
mod far;
mod ports;
mod questions;

use crate::files;
use clap::Args;
use controllers::{PACKET_INS, controllers, options};
use counts::Counts;
use linerate_model::Clock as _;
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4::{Limits, Switch};
use linerate_p4_runtime::{Options, Pipelines};
use linerate_p4_switch::{CpuPort, Idle, PortError, Station};
use linerate_sys::affinity::pin_current_thread;
use linerate_sys::clock::{MonoClock, has_passed, thread_cpu_time};
use linerate_sys::ending;
use linerate_sys::random::random_bytes;
use ports::PortArg;
use questions::{Questions, answering};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::Duration;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What p4c-bm2-ss wrote. With --p4runtime a controller may set it later.
    #[arg(required_unless_present = "p4runtime")]
    program: Option<PathBuf>,
    /// A port: an interface of this host, such as eth1, or with its number in the program, 1=eth1; without, ports count from 0.
    /// With `,af-xdp`, `,af-packet` or `,tap` (which makes the interface) as that kind of port, else as the best that works. With
    /// `,vlan=10` the frames of this VLAN alone, by tags that the program does not see: several ports of one interface.
    #[arg(long = "port", value_name = "[NUMBER=]INTERFACE[,KIND]", required = true, value_parser = ports::port)]
    ports: Vec<PortArg>,
    /// The P4Info that p4c wrote beside, to check that they belong together, and for controllers.
    #[arg(long, value_name = "FILE", requires = "program")]
    p4info: Option<PathBuf>,
    /// Entries, groups and sessions as in an STF test: `add`, `setdefault`, `mc_mgrp_create` and so on.
    #[arg(long, value_name = "FILE", requires = "program")]
    entries: Option<PathBuf>,
    /// The most entries of all tables together: a million take up to 1.4 GB of memory where a controller reads them all at once.
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().entries, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=MAX_ENTRIES))]
    max_entries: usize,
    /// Serve P4Runtime at this address: of this host alone without one. Whoever reaches it may do everything, unless --tls-ca says who.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true, default_missing_value = "127.0.0.1:9559", value_parser = own_address)]
    p4runtime: Option<SocketAddr>,
    /// The number that controllers know the switch by.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..), requires = "p4runtime")]
    device_id: u64,
    /// The port whose packets go to and come from controllers.
    #[arg(long, value_name = "PORT", default_value_t = 510, value_parser = clap::value_parser!(u32).range(..511), requires = "p4runtime")]
    cpu_port: u32,
    /// Certificate that controllers see, in PEM form: connections are encrypted.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "p4runtime"])]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificates of whom controllers must have theirs from; without, they need none.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_ca: Option<PathBuf>,
    /// Run on another host, `ssh://user@host`, or on an emulated board, `board://NAME`: copied there, and ended with this command.
    #[arg(long, value_name = "HOST", conflicts_with = "ask")]
    on: Option<String>,
    /// End after so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    duration: Option<u64>,
    /// Core on which the switch runs.
    #[arg(long, value_name = "CORE")]
    core: Option<u32>,
    /// Look for frames without sleeping: none waits for a thread to wake, and a core is always busy.
    #[arg(long)]
    spin: bool,
    /// Print counters as JSON.
    #[arg(long)]
    json: bool,
    /// Print counters as a line of JSON for each line of standard input, whose end ends the switch: for programs that start it.
    #[arg(long)]
    ask: bool,
    /// With --ask: end also once standard input has had no line for so many seconds; an empty line asks nothing.
    #[arg(long, value_name = "SECONDS", hide = true, requires = "ask", value_parser = clap::value_parser!(u64).range(1..))]
    until_silent: Option<u64>,
}

/// The largest table that an operator may allow; with the smallest entries it takes some gigabytes.
const MAX_ENTRIES: u64 = 1 << 24;

impl RunArgs {
    fn limits(&self) -> Limits {
        Limits {
            entries: self.max_entries,
            ..Limits::default()
        }
    }

    const fn idle(&self) -> Idle {
        if self.spin { Idle::Spin } else { Idle::Sleep }
    }
}

/// An address of this host, as numbers.
fn own_address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse();
    address.map_err(|_| "give address and port, such as --p4runtime=192.0.2.1:9559 or =[::1]:9559")
}

pub(crate) fn run(args: &RunArgs) -> Result<ExitCode> {
    let numbered = ports::numbers(args)?;
    let options = args.p4runtime.map(|_| options(args)).transpose()?;
    let (switch, first) = begin(args, options.as_ref())?;
    if let Some(place) = &args.on {
        return far::run(args, place);
    }
    args.core.map_or(Ok(()), pin)?;
    let asked = ending::interrupt().map_err(host("waiting for signals"))?;
    let ports = ports::open_all(&numbered)?;
    let mut told = ports::described(&ports);
    let (packets, to_controllers) = sync_channel(PACKET_INS);
    let cpu = args.p4runtime.map(|_| CpuPort {
        number: args.cpu_port,
        packets,
    });
    let (mut station, control) = Station::new(ports, cpu).map_err(host("making a waker"))?;
    station.set_idle(args.idle());
    let server = args.p4runtime.zip(options).map(|(address, options)| {
        let served = controllers(address, control.clone(), to_controllers, options, first);
        served.inspect(|server| {
            let _ = writeln!(told, "P4Runtime at {}", server.address());
        })
    });
    // It ends after the last packet.
    let _server = server.transpose()?;
    if let Some(switch) = switch {
        station.install(switch);
    }
    let until = args
        .duration
        .map(|seconds| MonoClock.now().after(Duration::from_secs(seconds)));
    let end = if until.is_some() {
        ""
    } else {
        "; Ctrl-C ends it"
    };
    let program = args.program.as_deref().map(Path::display);
    let program = program.map_or_else(|| "the switch".to_owned(), |path| path.to_string());
    let _ = writeln!(told, "{program} runs{end}");
    let questions = Arc::new(Questions::new(args.until_silent.map(Duration::from_secs)));
    if args.ask {
        questions.read(control);
    }
    say(&told);
    let is_over = || {
        asked.load(Ordering::Relaxed)
            || until.is_some_and(has_passed)
            || questions.ended.load(Ordering::Relaxed)
            || questions.is_silent()
    };
    let began = thread_cpu_time();
    let counts = |station: &mut Station| Counts {
        switch: station.counts(),
        cpu: thread_cpu_time().saturating_sub(began),
    };
    let ended = answering(&mut station, &questions, is_over, counts)?;
    let counted = counts(&mut station);
    // The interfaces are left before anybody reads that it has ended.
    drop(station);
    counted.print(args.json || args.ask)?;
    ended.map_err(|error| refused(&error))?;
    questions.check_heard()
}

fn pin(core: u32) -> Result<()> {
    let pinned = pin_current_thread(core);
    pinned.map_err(|error| {
        let message = format!("--core {core}: {error}; see nproc");
        Failure::new(ExitCode::HostLacks, message)
    })
}

/// The program with its entries: alone, or as what a server of controllers begins with.
fn begin(args: &RunArgs, served: Option<&Options>) -> Result<(Option<Switch>, Option<Pipelines>)> {
    let Some(path) = &args.program else {
        return Ok((None, None));
    };
    let bytes = files::read(path)?;
    let program = files::load(path, &bytes)?;
    let Some(options) = served else {
        if let Some(path) = &args.p4info {
            files::check_p4info(&program, path)?;
        }
        let mut switch = Switch::new(Arc::new(program), args.limits(), seed());
        enter(args, &mut switch)?;
        return Ok((Some(switch), None));
    };
    let p4info = args.p4info.as_ref().ok_or_else(|| {
        let message = "--p4runtime with a program: give its P4Info too: --p4info FILE";
        Failure::new(ExitCode::Usage, message)
    })?;
    let first = Pipelines::new(&files::read(p4info)?, program, bytes, options);
    let mut first = first.map_err(|error| files::wrong(p4info, &error))?;
    enter(args, first.switch())?;
    Ok((None, Some(first)))
}

/// Sets the entries that are asked for.
fn enter(args: &RunArgs, switch: &mut Switch) -> Result<()> {
    let entries = args.entries.as_ref();
    entries.map_or(Ok(()), |path| files::set_entries(switch, path))
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
