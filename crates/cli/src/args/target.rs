//! Whom to measure, and as which user.

use crate::stacks::ready;
use crate::terminal;
use clap::Args;
use linerate_client::Target;
use linerate_client::address::{IpChoice, PeerAddress, foreign_help, with_users};
use linerate_model::exit::{ExitCode, Failure, Result};
use linerate_model::units::parse_duration;
use linerate_session::key::{Key, exposure, read_key};
use linerate_session::login::{Login, Padding, read_login, read_password};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Who is measured, and how to reach it.
#[derive(Debug, Clone, Args)]
#[command(after_long_help = foreign_help())]
pub(crate) struct TargetArgs {
    /// The peer: `10.0.0.2`, `board.local:5301` or `[fe80::1%eth0]:5301`; it runs `linerate serve`, or another program
    /// that --help lists.
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// Use IPv4 only.
    #[arg(
        short = '4',
        long = "ipv4",
        conflicts_with = "ipv6",
        hide_short_help = true
    )]
    pub(crate) ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long = "ipv6", hide_short_help = true)]
    pub(crate) ipv6: bool,
    /// Show the peer that this end holds the key in this file (its `serve --key`).
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) key: Option<PathBuf>,
    /// Keep what the peer prints of each test, if its protocol can send that, and show it.
    #[arg(long, alias = "get-server-output", hide_short_help = true)]
    pub(crate) far_output: bool,
    /// Give up on a silent peer after this long [default: 10s, 4s if it has never said anything; 1m for board://].
    #[arg(long, value_parser = parse_duration, hide_short_help = true)]
    pub(crate) timeout: Option<Duration>,
    /// Interface whose counters belong to the test [default: the one that carries it].
    #[arg(long, hide_short_help = true)]
    pub(crate) interface: Option<String>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
}

impl TargetArgs {
    /// Whom to measure.
    pub(crate) fn target(&self) -> Result<Target> {
        let ip = match (self.ipv4, self.ipv6) {
            (true, _) => IpChoice::V4,
            (_, true) => IpChoice::V6,
            _ => IpChoice::Any,
        };
        let mut target = Target::new(PeerAddress::parse(&self.host)?);
        target.ip = ip;
        if let Some(timeout) = self.timeout {
            target.set_timeout(timeout);
        }
        target.count_at(self.interface.as_deref())?;
        target.key = self.key.as_deref().map(key_in).transpose()?;
        target.far_output = self.far_output;
        target.login = self.login.login()?;
        ready([&mut target.far])?;
        if target.login.is_some() && !target.far.kind().about().has_users() {
            let message = format!("--login: {} has no users; {} has", target.far, with_users());
            return Err(Failure::new(ExitCode::Usage, message));
        }
        Ok(target)
    }
}

/// The key in the file at `path`.
pub(crate) fn key_in(path: &Path) -> Result<Key> {
    let key = read_key(path)?;
    note_exposure(path);
    Ok(key)
}

/// Says so if others can read the secret in the file at `path`.
pub(crate) fn note_exposure(path: &Path) {
    if let Some(exposed) = exposure(path) {
        terminal::note(&exposed);
    }
}

/// Who asks, where a peer wants to know.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Login at a peer that asks for one")]
pub(crate) struct LoginArgs {
    /// User to show; the password comes from `LINERATE_PASSWORD` or --password-file.
    #[arg(
        long,
        value_name = "USER",
        requires = "login_key",
        hide_short_help = true
    )]
    pub(crate) login: Option<String>,
    /// File whose first line is the password.
    #[arg(long, value_name = "FILE", requires = "login", hide_short_help = true)]
    pub(crate) password_file: Option<PathBuf>,
    /// The server's public RSA key (PEM).
    #[arg(long, value_name = "FILE", requires = "login", hide_short_help = true)]
    pub(crate) login_key: Option<PathBuf>,
    /// Padding of what is shown: `oaep`, or `pkcs1` for iperf3 before 3.17.
    #[arg(
        long,
        value_name = "PADDING",
        default_value = "oaep",
        hide_short_help = true
    )]
    pub(crate) login_padding: Padding,
}

impl LoginArgs {
    /// The user to show.
    pub(crate) fn login(&self) -> Result<Option<Arc<Login>>> {
        let (Some(user), Some(key)) = (&self.login, &self.login_key) else {
            return Ok(None);
        };
        let password = match &self.password_file {
            Some(file) => {
                note_exposure(file);
                read_password(file)?
            }
            None => password()?,
        };
        let login = read_login(user, &password, key, self.login_padding)?;
        Ok(Some(Arc::new(login)))
    }
}

fn password() -> Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the environment is read by the command line, once"
    )]
    let found = std::env::var("LINERATE_PASSWORD");
    found.map_err(|_| {
        let message = "--login: set the password as LINERATE_PASSWORD, or name a file that holds it with --password-file";
        Failure::new(ExitCode::Usage, message)
    })
}
