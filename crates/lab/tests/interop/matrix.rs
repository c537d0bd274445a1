//! The matrix: every foreign tool in every combination that it has, measured and compared.
//!
//! A tool is one file with a [`Tool`], one line in [`ALL`](crate::ALL), and a test that calls [`every_cell`]. Programs are
//! taken from the search path and from where ci/need unpacks them, or from the variable `LINERATE_<TOOL>`: paths with
//! colons between them. A tool that no distribution has is measured where the variable names one.
//! Rates are low, so that no buffer is ever full: a datagram or byte that is missing was miscounted.
//! False alarms need a program that is kept from running for 50 ms at the end of a test, which is how long sockperf waits.

use crate::table;
use anyhow::Result;
use linerate_model::spec::Transport;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Which end linerate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    Client,
    Server,
}

/// Who sends, seen from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Normal,
    Reverse,
    Both,
}

/// One combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) role: Role,
    pub(crate) transport: Transport,
    pub(crate) is_v6: bool,
    pub(crate) way: Way,
}

/// What both ends said of one quantity of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Count {
    /// `B`, `packets`, `messages`.
    pub(crate) unit: &'static str,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// What the protocol itself cannot see, if anything.
    pub(crate) deviation: Option<&'static Deviation>,
}

/// A difference between both ends' counts that is the foreign tool's, not an error.
#[derive(Debug)]
pub(crate) struct Deviation {
    /// Its reason, one sentence for the table.
    pub(crate) words: &'static str,
    /// Whether these two counts, sent and received, differ no more than that.
    pub(crate) explains: fn(u64, u64) -> bool,
}

impl Count {
    pub(crate) const fn new(unit: &'static str, sent: u64, received: u64) -> Self {
        Self {
            unit,
            sent,
            received,
            deviation: None,
        }
    }

    /// This count, of which such a difference is the tool's own.
    pub(crate) const fn with(mut self, deviation: &'static Deviation) -> Self {
        self.deviation = Some(deviation);
        self
    }

    /// Whether something was moved, and both ends say the same as far as the protocol lets them.
    pub(crate) fn agrees(&self) -> bool {
        let is_explained = || {
            self.deviation
                .is_some_and(|deviation| (deviation.explains)(self.sent, self.received))
        };
        self.received > 0 && (self.sent == self.received || is_explained())
    }
}

/// A foreign tool.
pub(crate) trait Tool: Sync {
    /// Its name in the table, in its marker there and, in capitals, in its variable.
    fn name(&self) -> &'static str;

    /// The programs to measure with, as in `ci/packages`: that of Debian 12, and newer ones; none if nobody packages it.
    fn programs(&self) -> Vec<String>;

    /// The programs that the user's variable names.
    fn named(&self, variable: &str) -> Vec<String> {
        variable.split(':').map(str::to_owned).collect()
    }

    /// What this program says its version is.
    fn version(&self, program: &str) -> Result<String>;

    /// Whether tool and linerate have this combination.
    fn has(&self, cell: Cell) -> bool;

    /// Makes one test between this program and linerate.
    fn measure(&self, program: &str, cell: Cell) -> Result<Vec<Count>>;
}

/// All cells measured of one program.
pub(crate) struct Measured {
    pub(crate) version: String,
    /// In the order of the cells; what went wrong instead of counts.
    pub(crate) cells: Vec<(Cell, Result<Vec<Count>, String>)>,
}

/// Measures every cell of every program of a tool; fails if one does not agree or a program is not there.
#[expect(clippy::print_stdout, reason = "libtest shows it with --nocapture")]
pub(crate) fn every_cell(tool: &dyn Tool) {
    let programs = programs(tool);
    if programs.is_empty() {
        println!("not asked for: {} names no {}", of(tool), tool.name());
        return;
    }
    let mut wrong = Vec::new();
    let mut all = Vec::new();
    for program in programs {
        match tool.version(&program) {
            Ok(version) => all.push(measure_all(tool, &program, version)),
            Err(error) => wrong.push(format!("not run: {} ({program}): {error:#}", tool.name())),
        }
    }
    for Measured { version, cells } in &all {
        for (cell, counts) in cells {
            match counts {
                Ok(counts) if !counts.is_empty() && counts.iter().all(Count::agrees) => {}
                Ok(counts) => wrong.push(format!("{version}, {cell}: {counts:?}")),
                Err(error) => wrong.push(format!("{version}, {cell}: {error}")),
            }
        }
    }
    let text = table::text(tool.name(), &all);
    println!("{text}");
    if is_to_be_written() && wrong.is_empty() {
        table::write(tool.name(), &text);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test is told by variables, libtest takes no arguments of ours"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The programs to measure with.
pub(crate) fn programs(tool: &dyn Tool) -> Vec<String> {
    variable(&of(tool)).map_or_else(|| tool.programs(), |named| tool.named(&named))
}

/// The variable that names the programs of a tool.
fn of(tool: &dyn Tool) -> String {
    format!("LINERATE_{}", tool.name().to_uppercase())
}

/// Whether the page of results gets the table: `LINERATE_INTEROP=write`.
fn is_to_be_written() -> bool {
    variable("LINERATE_INTEROP").is_some_and(|wish| wish == "write")
}

/// Every combination that there could be.
pub(crate) fn cells() -> impl Iterator<Item = Cell> {
    let ways = [Way::Normal, Way::Reverse, Way::Both];
    [Role::Client, Role::Server]
        .into_iter()
        .flat_map(move |role| {
            [Transport::Tcp, Transport::Udp]
                .into_iter()
                .flat_map(move |transport| {
                    [false, true].into_iter().flat_map(move |is_v6| {
                        ways.into_iter().map(move |way| Cell {
                            role,
                            transport,
                            is_v6,
                            way,
                        })
                    })
                })
        })
}

/// Measures all cells of one program, as many at a time as there are cores.
fn measure_all(tool: &dyn Tool, program: &str, version: String) -> Measured {
    let wanted: Vec<Cell> = cells().filter(|cell| tool.has(*cell)).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        while let Some(cell) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let counts = tool.measure(program, *cell);
            let counts = counts.map_err(|error| format!("{error:#}"));
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((*cell, counts));
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(worker);
        }
    });
    let mut cells = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    cells.sort_by_key(|(cell, _)| *cell);
    Measured { version, cells }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "client",
            Self::Server => "server",
        })
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Normal => "normal",
            Self::Reverse => "reverse",
            Self::Both => "both ways",
        })
    }
}

impl Cell {
    /// `IPv4` or `IPv6`.
    pub(crate) const fn ip(self) -> &'static str {
        if self.is_v6 { "IPv6" } else { "IPv4" }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (role, transport, ip, way) = (self.role, self.transport, self.ip(), self.way);
        write!(f, "linerate is {role}, {transport}, {ip}, {way}")
    }
}
