//! `linerate board`: its arguments, and what it calls.

use super::board_equipment::{EquipmentArgs, notes};
use super::board_image::ImageArgs;
use crate::args::output::OutputArgs;
use crate::args::values::size;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::{Context as _, Result};
use clap::{ArgGroup, Args, Subcommand};
use linerate_boards::{
    BoardName, Boards, Order, Record, SerialNumber, Stopped, attach, enter_shell, fetch, keep_link,
    start, stop,
};
use linerate_model::board::{Board, BoardBase, BoardCondition, BoardDocument, SCHEMA};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::link::EmulatedLink;
use linerate_model::run::Tool;
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `board`.
#[derive(Debug, Clone, Args)]
pub(crate) struct BoardArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Clone, Subcommand)]
enum What {
    /// Start a board and wait until it is ready.
    Up(Box<UpArgs>),
    /// Fetch what a board needs, so that its start needs no network.
    Fetch(EquipmentArgs),
    /// Make a disk image that a board boots from, with the agent and packages, and its bill of materials beside it.
    Image(Box<ImageArgs>),
    /// Give the link between a board and this host a rate, a delay and a queue, until told otherwise.
    Link(LinkArgs),
    /// Stop boards; what is gone already is no error.
    Down {
        /// Names of boards.
        #[arg(value_name = "NAME", required = true)]
        names: Vec<BoardName>,
    },
    /// List the boards that were started.
    List,
    /// Open a shell on a board, or run a command there; the exit code is the command's.
    Shell {
        /// Name of the board.
        #[arg(value_name = "NAME")]
        name: BoardName,
        /// What to run.
        #[arg(value_name = "COMMAND", trailing_var_arg = true)]
        words: Vec<String>,
    },
    /// Print what a board's console has said.
    Log {
        /// Name of the board.
        #[arg(value_name = "NAME")]
        name: BoardName,
    },
    /// Use a board's console; Ctrl-] leaves it.
    Console {
        /// Name of the board.
        #[arg(value_name = "NAME")]
        name: BoardName,
    },
}

/// Arguments of `board up`.
#[derive(Debug, Clone, Args)]
struct UpArgs {
    /// Name of the board, by which other commands know it: `board://NAME`.
    #[arg(value_name = "NAME")]
    name: BoardName,
    #[command(flatten)]
    equipment: EquipmentArgs,
    /// Serial number, which the MAC address follows from [default: one that no other board of this network has].
    #[arg(long)]
    serial: Option<SerialNumber>,
    /// Cores [default: as the machine has; 2 where it may have any number].
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..))]
    cores: Option<u8>,
    /// Memory.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    memory: ByteCount,
    /// Word for the kernel's command line, such as `isolcpus=2`; once for each.
    #[arg(long, value_name = "WORD")]
    kernel_option: Vec<String>,
    /// linerate for the board: built for its architecture, without shared libraries [default: linerate-ARCH of linerate's
    /// package, or as `make dist` makes it beside this program or in the cache].
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

/// Arguments of `board link`.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("what").args(["rate", "delay", "off"]).required(true).multiple(true))]
struct LinkArgs {
    /// Name of the board.
    #[arg(value_name = "NAME")]
    name: BoardName,
    /// Rate at L1, in each direction [default: unlimited].
    #[arg(long)]
    rate: Option<BitRate>,
    /// Delay, one way [default: 0s].
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    delay: Option<Duration>,
    /// Bytes of frames that may wait in each direction; more are dropped [default: 128K].
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "rate")]
    queue: Option<ByteCount>,
    /// Neither: as the board was started.
    #[arg(long, conflicts_with_all = ["rate", "delay", "queue"])]
    off: bool,
}

impl LinkArgs {
    fn link(&self) -> Option<EmulatedLink> {
        let usual = EmulatedLink::default();
        (!self.off).then(|| EmulatedLink {
            rate: self.rate,
            delay: self.delay.unwrap_or(usual.delay),
            queue: self.queue.unwrap_or(usual.queue),
        })
    }
}

impl BoardArgs {
    /// Does what is asked with boards.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        if !matches!(self.what, What::Image(_)) {
            no_report(output, "board")?;
        }
        let boards = Boards::of_user()?;
        match &self.what {
            What::Up(args) => up(&boards, args, output)?,
            What::Fetch(args) => fetch(&args.equipment()?, &args.places()?, &mut notes(output))?,
            What::Link(args) => {
                let record = keep_link(&boards, &args.name, args.link())?;
                if !output.quiet {
                    terminal::print_line(&format!("{}{}", record.name, link(&record)))?;
                }
            }
            What::Down { names } => names
                .iter()
                .try_for_each(|name| down(&boards, name, output))?,
            What::Image(args) => args.run(output)?,
            What::List => list(&boards, output)?,
            What::Shell { name, words } => enter_shell(&boards, name, words)?,
            What::Log { name } => log(&boards, name)?,
            What::Console { name } => {
                if !output.quiet {
                    terminal::note(&format!("the console of {name}; Ctrl-] leaves it"));
                }
                attach(&boards, name, &io::stdin(), io::stdout())?;
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Starts a board and ends it, as the parent process asks.
pub(crate) fn supervise() -> Result<ExitCode> {
    let input = io::stdin().as_fd().try_clone_to_owned();
    let input = File::from(input.context("taking over standard input")?);
    linerate_boards::supervise(input, io::stdout(), linerate_client::greet)?;
    Ok(ExitCode::Done)
}

/// Takes the seed of an emulated board.
pub(crate) fn seed() -> Result<ExitCode> {
    linerate_boards::use_seed()?;
    Ok(ExitCode::Done)
}

impl UpArgs {
    fn order(&self) -> Result<Order, Failure> {
        let usual = Order::new(self.name.clone(), self.equipment.equipment()?);
        Ok(Order {
            serial: self.serial,
            cores: self.cores.unwrap_or(usual.cores),
            memory: self.memory,
            kernel_options: self.kernel_option.clone(),
            agent: self.agent.clone(),
            ..usual
        })
    }
}

fn up(boards: &Boards, args: &UpArgs, output: &OutputArgs) -> Result<()> {
    let places = args.equipment.places()?;
    let started = start(boards, &args.order()?, &places, &mut notes(output))?;
    let record = &started.record;
    if output.json || output.stream {
        let board = Board {
            name: record.name.to_string(),
            condition: BoardCondition::Ready,
            link: Some(record.into()),
            start: Some(started.start),
        };
        return print(vec![board]);
    }
    let name = &record.name;
    let base = match started.start.base {
        BoardBase::Cache => "without the network",
        BoardBase::Network => "with what it fetched",
    };
    terminal::print_line(&format!(
        "{name} is ready after {:.1} s, {base}: emulated {}, address {}, MAC {}",
        started.start.took.as_secs_f64(),
        record.emulated,
        record.address,
        record.mac
    ))?;
    if !output.quiet {
        terminal::print_line(&format!(
            "  measure  linerate udp board://{name} --rate 50M\n  shell    linerate board shell {name}\n  stop     linerate board down {name}"
        ))?;
    }
    Ok(())
}

fn down(boards: &Boards, name: &BoardName, output: &OutputArgs) -> Result<()> {
    let found = stop(boards, name)?;
    if output.quiet || output.json || output.stream {
        return Ok(());
    }
    terminal::print_line(&match found {
        Stopped::Up => format!("{name} is stopped"),
        Stopped::Remains => format!("{name} was gone; what it left is removed"),
        Stopped::Nothing => format!("{name} is not up"),
    })
}

fn list(boards: &Boards, output: &OutputArgs) -> Result<()> {
    let all = boards.all()?;
    if output.json || output.stream {
        return print(all.iter().map(Board::from).collect());
    }
    if all.is_empty() && !output.quiet {
        return terminal::print_line("no boards: `linerate board up NAME` starts one");
    }
    for board in &all {
        let about = board.record.as_ref().map_or_else(String::new, |record| {
            let (address, mac) = (record.address, &record.mac);
            let link = if board.is_up {
                link(record)
            } else {
                String::new()
            };
            format!("  {address}  {mac}  {}{link}", record.emulated)
        });
        let condition = match board.condition() {
            BoardCondition::Gone { why } => format!("gone ({why})"),
            BoardCondition::Ready => "ready".to_owned(),
            BoardCondition::Starting => "starting".to_owned(),
        };
        terminal::print_line(&format!("{}  {condition}{about}", board.name))?;
    }
    Ok(())
}

/// The link between a board and its host.
fn link(record: &Record) -> String {
    let written = record.link.map(|link| format!("  link: {link}"));
    written.unwrap_or_else(|| "  link: direct".to_owned())
}

/// Prints boards as one document.
fn print(boards: Vec<Board>) -> Result<()> {
    let document = BoardDocument {
        schema: SCHEMA.to_owned(),
        tool: Tool::linerate(env!("CARGO_PKG_VERSION")),
        boards,
    };
    terminal::print_line(&serde_json::to_string_pretty(&document)?)
}

fn log(boards: &Boards, name: &BoardName) -> Result<()> {
    let path = boards.console_log(name)?;
    let said = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let text = String::from_utf8_lossy(&said);
    let mut out = io::stdout().lock();
    for line in text.lines() {
        writeln!(out, "{}", linerate_report::figures::clean(line))
            .context(terminal::OutputFailed)?;
    }
    Ok(())
}
