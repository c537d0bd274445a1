//! What is asked for when a board is to start.

use crate::{Arch, BoardName, Machine, SerialNumber};
use linerate_model::ByteCount;
use std::path::PathBuf;

/// What is fetched for a board.
#[derive(Debug, Clone)]
pub struct Equipment {
    /// What is emulated.
    pub machine: &'static Machine,
    /// Debian packages beside the usual ones.
    pub packages: Vec<String>,
    /// The release of Debian that kernel and packages are of.
    pub suite: String,
    /// Where it is fetched from, if not from where apt fetches.
    pub mirror: Option<String>,
}

impl Equipment {
    /// The first release of Debian with all architectures.
    pub const USUAL_SUITE: &str = "trixie";

    /// What every board of this machine has.
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
    /// Its serial number; the number of its network unless one is asked for.
    pub serial: Option<SerialNumber>,
    /// Its cores.
    pub cores: u8,
    /// Its memory.
    pub memory: ByteCount,
    /// Words for the kernel's command line.
    pub kernel_options: Vec<String>,
    /// The agent, if not the one that is found.
    pub agent: Option<PathBuf>,
}

impl Order {
    /// Memory that every machine has and Debian's kernel starts in at ease.
    pub const USUAL_MEMORY: ByteCount = ByteCount::new(1 << 30);

    /// A board as its machine usually is.
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
