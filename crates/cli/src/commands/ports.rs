//! `linerate ports`.

use crate::args::output::OutputArgs;
use crate::outcome::no_report;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use linerate_client::Ports;
use linerate_model::exit::ExitCode;

/// Arguments of `ports`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PortsArgs {
    /// Only this protocol; without it, every one.
    #[arg(value_name = "PROTOCOL")]
    protocol: Option<String>,
}

impl PortsArgs {
    /// Says which ports firewalls must let through.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "ports")?;
        let ports = Ports::of(self.protocol.as_deref())?;
        let text = if output.json {
            serde_json::to_string_pretty(&ports.document())?
        } else {
            ports.to_string()
        };
        terminal::print_line(&text)?;
        Ok(ExitCode::Done)
    }
}
