//! PostgreSQL: the queue of rounds, and rows that are derived from the archive.
//!
//! Every time that decides something is the database's own: hubs' clocks may be wrong by hours.

mod migrations;
mod queue;
mod rows;
mod summary;
mod tls;

pub(crate) use queue::{Claim, Declared, Due, LEASE_MARGIN};
#[cfg(test)]
pub(crate) use summary::RoundCounts;
pub(crate) use summary::{ScheduleSummary, Summary};

use crate::configuration::DatabaseAddress;
use anyhow::Result;
use linerate_model::exit::{ExitCode, Failure};
use std::error::Error as _;
use std::time::Duration;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

/// From the wish to connect to an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// What a session begins with: no statement waits for ever, and the tables are in a schema of their own.
const SESSION: &str = "SET statement_timeout = '60s'; SET lock_timeout = '20s'; SET idle_in_transaction_session_timeout = '60s'; SET timezone = 'UTC'; SET client_min_messages = warning; SET search_path = linerate";

/// A session with the database, whose schema is this program's.
pub(crate) struct Database {
    client: Client,
}

impl Database {
    /// Connects, and brings the schema to this program's version.
    ///
    /// # Errors
    ///
    /// A URL that cannot be read ([`ExitCode::Usage`]), certificates that cannot ([`ExitCode::Plan`]), a database that does
    /// not answer or refuses, a schema that is newer than this program ([`ExitCode::Peer`]).
    pub(crate) async fn connect(address: &DatabaseAddress) -> Result<Self> {
        let mut config: Config = address
            .url
            .parse()
            .map_err(|error: tokio_postgres::Error| {
                let why = words(&error);
                let message = format!(
                    "--database cannot be read: {why}; write postgresql://USER:PASSWORD@HOST/NAME"
                );
                Failure::new(ExitCode::Usage, message)
            })?;
        config
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(CONNECT_TIMEOUT * 4)
            .application_name("linerate-hub");
        let tls = encryption(address, &mut config)?;
        let asked = tokio::time::timeout(CONNECT_TIMEOUT * 2, config.connect(tls)).await;
        let (client, connection) = match asked {
            Ok(connected) => connected.map_err(|error| refused(&config, &words(&error)))?,
            Err(_) => return Err(refused(&config, "it does not answer").into()),
        };
        // Ends with the client, or with the database; then every query fails.
        tokio::spawn(connection);
        client
            .batch_execute(SESSION)
            .await
            .map_err(|error| failed("beginning a session", &error))?;
        let mut database = Self { client };
        migrations::apply(&mut database.client).await?;
        Ok(database)
    }

    /// Whether the session is over.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

/// How sessions are encrypted; a server that must prove its name is reached in no other way.
fn encryption(
    address: &DatabaseAddress,
    config: &mut Config,
) -> Result<MakeRustlsConnect, Failure> {
    let authorities = address.authorities.as_deref();
    if authorities.is_some() && config.get_ssl_mode() == SslMode::Disable {
        let message = "--database-ca asks for encryption, and sslmode=disable of the URL for none: leave out one";
        return Err(Failure::new(ExitCode::Usage, message));
    }
    let is_remote = |host: &Host| matches!(host, Host::Tcp(_));
    if authorities.is_some() && config.get_hosts().iter().any(is_remote) {
        config.ssl_mode(SslMode::Require);
    }
    tls::connector(authorities)
}

fn refused(config: &Config, why: &str) -> Failure {
    let hosts = config.get_hosts().iter().map(|host| match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<_> = hosts.collect();
    let message = format!(
        "the database {} at {} cannot be used: {why}; check --database, and that PostgreSQL runs there and lets this user in",
        config.get_dbname().unwrap_or("of this user's name"),
        hosts.join(", ")
    );
    Failure::new(ExitCode::Peer, message)
}

/// An error of the database while the hub was doing something.
fn failed(what: &str, error: &tokio_postgres::Error) -> Failure {
    Failure::new(
        ExitCode::Peer,
        format!("the database failed while {what}: {}", words(error)),
    )
}

/// The cause that the database or the system gives.
fn words(error: &tokio_postgres::Error) -> String {
    if let Some(told) = error.as_db_error() {
        let detail = told.detail().map(|detail| format!(" ({detail})"));
        return format!("{}{}", told.message(), detail.unwrap_or_default());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
