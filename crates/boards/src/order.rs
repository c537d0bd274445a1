//! Parameters of a board to start.

use crate::{Arch, BoardName, Machine, SerialNumber};
use linerate_model::ByteCount;
use std::path::PathBuf;

/// Software of a board.
#[derive(Debug, Clone)]
pub struct Equipment {
    /// Emulated machine.
    pub machine: &'static Machine,
    /// Debian packages besides the default ones.
    pub packages: Vec<String>,
    /// Debian release of kernel and packages.
    pub suite: String,
    /// Mirror; `None`: that of this host's apt.
    pub mirror: Option<String>,
}

impl Equipment {
    /// The first release of Debian with all architectures.
    pub const USUAL_SUITE: &str = "trixie";

    /// Default equipment of this machine.
    pub fn of(machine: &'static Machine) -> Self {
        Self {
            machine,
            packages: Vec::new(),
            suite: Self::USUAL_SUITE.to_owned(),
            mirror: None,
        }
    }
}

/// A board to start.
#[derive(Debug, Clone)]
pub struct Order {
    /// Its name.
    pub name: BoardName,
    /// Machine and packages.
    pub equipment: Equipment,
    /// Its serial number; default: the number of its network.
    pub serial: Option<SerialNumber>,
    /// Number of cores.
    pub cores: u8,
    /// Its memory.
    pub memory: ByteCount,
    /// Options for the kernel's command line.
    pub kernel_options: Vec<String>,
    /// Agent file; `None`: searched for.
    pub agent: Option<PathBuf>,
}

impl Order {
    /// Default memory: every machine supports it and Debian's kernel starts well in it.
    pub const USUAL_MEMORY: ByteCount = ByteCount::new(1 << 30);

    /// A board with its machine's defaults.
    pub fn new(name: BoardName, equipment: Equipment) -> Self {
        Self {
            name,
            serial: None,
            cores: equipment.machine.cores,
            memory: Self::USUAL_MEMORY,
            kernel_options: Vec::new(),
            agent: None,
            equipment,
        }
    }

    pub(crate) fn machine(&self) -> &'static Machine {
        self.equipment.machine
    }

    pub(crate) fn arch(&self) -> Arch {
        self.machine().arch
    }
}
