//! What boards and images of boards are made of: arguments that several commands of `board` share.

use crate::args::output::OutputArgs;
use crate::context::cache_folder;
use crate::terminal;
use clap::Args;
use clap::builder::PossibleValuesParser;
use linerate_boards::{Arch, Equipment, Machine, Places};
use linerate_client::address::own_port;
use linerate_model::exit::{ExitCode, Failure};
use std::path::PathBuf;

/// What is fetched for a board.
#[derive(Debug, Clone, Args)]
pub(super) struct EquipmentArgs {
    /// Machine to emulate, as QEMU calls it [default: `sifive_u`, or what --arch has].
    #[arg(long, value_parser = PossibleValuesParser::new(Machine::names()))]
    machine: Option<String>,
    /// Architecture of the machine's processor [default: the first that has the machine].
    #[arg(long, value_parser = PossibleValuesParser::new(Arch::ALL.map(Arch::name)))]
    arch: Option<String>,
    /// Debian packages to have on the board, with what they depend on.
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    packages: Vec<String>,
    /// Release of Debian whose kernel and packages the board has.
    #[arg(long, value_name = "RELEASE", default_value = Equipment::USUAL_SUITE)]
    suite: String,
    /// Debian archive to fetch from [default: that of this host's apt].
    #[arg(long, value_name = "URL")]
    mirror: Option<String>,
    /// Directory for what is fetched [default: ~/.cache/linerate].
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
}

impl EquipmentArgs {
    pub(super) fn equipment(&self) -> Result<Equipment, Failure> {
        let mut archs = Arch::ALL.into_iter();
        let arch = archs.find(|arch| self.arch.as_deref() == Some(arch.name()));
        let machine = Machine::find(self.machine.as_deref(), arch);
        let machine = machine.map_err(|why| Failure::new(ExitCode::Usage, why))?;
        Ok(Equipment {
            packages: self.packages.clone(),
            suite: self.suite.clone(),
            mirror: self.mirror.clone(),
            ..Equipment::of(machine)
        })
    }

    pub(super) fn places(&self) -> Result<Places, Failure> {
        let cache = self.cache.clone().map_or_else(cache_folder, Ok)?;
        Ok(Places {
            cache,
            port: own_port(),
        })
    }
}

/// Shows what takes long, unless a program reads the output.
pub(super) fn notes(output: &OutputArgs) -> impl FnMut(&str) + use<> {
    let is_told = !(output.quiet || output.json || output.stream);
    move |line| {
        if is_told {
            terminal::note(line);
        }
    }
}
