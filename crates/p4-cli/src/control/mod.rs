//! What is done with a running P4Runtime switch: tables, counters, pipeline.

mod counters;
mod pipeline;
mod rate;
mod table;

use crate::files;
use clap::{Args, Subcommand};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_p4_runtime::proto::p4::config::v1::P4Info;
use linerate_p4_runtime::{Client, ClientError, ClientTls, Code, OwnCertificate, Schema};
use std::path::PathBuf;
use std::time::Duration;

/// The switch, and who asks.
#[derive(Debug, Args)]
pub(crate) struct Switch {
    /// The P4Runtime switch: HOST:PORT.
    address: String,
    /// Its number there.
    #[arg(long, value_name = "N", default_value_t = 1)]
    device_id: u64,
    /// The role to write as; without, the one that may do everything.
    #[arg(long, value_name = "NAME", default_value = "")]
    role: String,
    /// Who writes is the controller with the largest number.
    #[arg(long, value_name = "N", default_value_t = 1)]
    election_id: u128,
    /// Certificates of whom the switch must have its own from, in PEM form: the connection is encrypted.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The name in the switch's certificate; without, the host of its address.
    #[arg(long, value_name = "NAME", requires = "tls_ca")]
    tls_name: Option<String>,
    /// Certificate to show the switch.
    #[arg(long, value_name = "FILE", requires_all = ["tls_ca", "tls_key"])]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Seconds to wait for an answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// `linerate p4 table`.
#[derive(Debug, Subcommand)]
pub(crate) enum TableCommand {
    /// List the entries of all tables, or of one, with what their counters show.
    List(table::ListArgs),
    /// Add entries: all of them or, if one is refused, none, where the switch can do that.
    Add(table::ChangeArgs),
    /// Change what entries do.
    Modify(table::ChangeArgs),
    /// Delete entries.
    Delete(table::ChangeArgs),
}

/// `linerate p4 pipeline`.
#[derive(Debug, Subcommand)]
pub(crate) enum PipelineCommand {
    /// Make the switch run a program.
    Set(pipeline::SetArgs),
    /// Print what the switch runs.
    Show(Switch),
}

pub(crate) use counters::{CountersArgs, run as counters};
pub(crate) use rate::{RateArgs, run as rate};

pub(crate) fn table(command: &TableCommand) -> Result<ExitCode> {
    match command {
        TableCommand::List(args) => table::list(args),
        TableCommand::Add(args) => table::change(args, table::Kind::Add),
        TableCommand::Modify(args) => table::change(args, table::Kind::Modify),
        TableCommand::Delete(args) => table::change(args, table::Kind::Delete),
    }
}

pub(crate) fn pipeline(command: &PipelineCommand) -> Result<ExitCode> {
    match command {
        PipelineCommand::Set(args) => pipeline::set(args),
        PipelineCommand::Show(switch) => pipeline::show(switch),
    }
}

fn failed(error: &ClientError) -> Failure {
    let code = match error {
        ClientError::Address(_) => ExitCode::Usage,
        ClientError::Tls(_) => ExitCode::Plan,
        ClientError::Io(_) => ExitCode::HostLacks,
        _ => ExitCode::Peer,
    };
    Failure::new(code, error.to_string())
}

impl Switch {
    fn connect(&self) -> Result<Client> {
        let timeout = Duration::from_secs(self.timeout);
        let tls = self.tls()?;
        let connected = Client::connect_with(&self.address, self.device_id, timeout, tls.as_ref());
        connected.map_err(|error| failed(&error))
    }

    fn tls(&self) -> Result<Option<ClientTls>> {
        let Some(roots) = &self.tls_ca else {
            return Ok(None);
        };
        let own = match (&self.tls_cert, &self.tls_key) {
            (Some(chain), Some(key)) => Some(OwnCertificate {
                chain: files::read(chain)?,
                key: files::read(key)?,
            }),
            _ => None,
        };
        Ok(Some(ClientTls {
            roots: files::read(roots)?,
            own,
            name: self.tls_name.clone(),
        }))
    }

    fn connect_primary(&self) -> Result<Client> {
        let mut client = self.connect()?;
        let primary = client.become_primary(&self.role, self.election_id);
        primary.map_err(|error| {
            let mut failure = failed(&error);
            if error.code() == Some(Code::InvalidArgument) {
                failure.message = format!(
                    "{}; if another controller has this election id, give --election-id {}",
                    failure.message,
                    self.election_id.saturating_add(1)
                );
            }
            if let ClientError::NotPrimary {
                is_taken,
                highest: Some(id),
            } = error
            {
                failure.message = if is_taken {
                    let next = id.saturating_add(1);
                    format!("another controller is primary; --election-id {next} takes its place")
                } else {
                    let least = id.max(1);
                    format!("the switch has seen a larger election id: give --election-id {least}, or more")
                };
            }
            failure
        })?;
        Ok(client)
    }
}

/// The P4Info of the program that the switch runs.
fn running(client: &Client) -> Result<P4Info> {
    let config = client.pipeline().map_err(|error| failed(&error))?;
    let info = config.and_then(|config| config.p4info);
    info.ok_or_else(|| {
        let what = "the switch runs no program; set one: linerate p4 pipeline set ADDRESS PROGRAM.json --p4info FILE";
        Failure::new(ExitCode::Peer, what)
    })
}

/// The names of a program that a switch runs.
fn read(info: &P4Info) -> Result<Schema> {
    Schema::new(info).map_err(|error| Failure::new(ExitCode::Peer, format!("the switch's {error}")))
}

fn schema(client: &Client) -> Result<Schema> {
    read(&running(client)?)
}
