//! Agents that another linerate starts on this host, and that end with it.

use crate::context::interrupt_flag;
use anyhow::{Context as _, Result};
use clap::Args;
use linerate_agent::{ConsolePlan, DeployedPlan, serve_console, serve_deployed};
use linerate_model::exit::ExitCode;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd as _;
use std::path::PathBuf;

/// Arguments of a deployed agent.
#[derive(Debug, Clone, Args)]
pub(crate) struct DeployedArgs {
    /// The folder that it was copied to, to be removed.
    #[arg(long, value_name = "DIR")]
    remove: Option<PathBuf>,
    /// Port to listen on; 0 for any.
    #[arg(long, default_value_t = 0)]
    port: u16,
}

impl DeployedArgs {
    /// Serves until standard input ends.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let plan = DeployedPlan {
            remove: self.remove.clone(),
            port: self.port,
        };
        let input = io::stdin().as_fd().try_clone_to_owned();
        let input = File::from(input.context("taking over standard input")?);
        let interrupt = interrupt_flag()?;
        serve_deployed(&plan, input, io::stdout(), interrupt)?;
        Ok(ExitCode::Done)
    }
}

/// Arguments of an agent that is reached over its console.
#[derive(Debug, Clone, Args)]
pub(crate) struct ConsoleArgs {
    /// The console.
    #[arg(long, value_name = "FILE", default_value = "/proc/self/fd/0")]
    device: PathBuf,
    /// Its rate.
    #[arg(long)]
    baud: u32,
    /// The client's address in the network under test.
    #[arg(long)]
    client: IpAddr,
    /// This host's address there.
    #[arg(long)]
    address: IpAddr,
}

impl ConsoleArgs {
    /// Serves until the client leaves.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let plan = ConsolePlan {
            device: self.device.clone(),
            baud: self.baud,
            client: self.client,
            address: self.address,
        };
        let interrupt = interrupt_flag()?;
        serve_console(&plan, io::stdout(), interrupt)?;
        Ok(ExitCode::Done)
    }
}
