//! `linerate serve`.

mod configuration;
mod service;

use crate::args::output::OutputArgs;
use crate::args::target::{key_in, note_exposure};
use crate::args::values::rate;
use crate::context::interrupt_flag;
use crate::outcome::no_report;
use crate::terminal::LogForm;
use anyhow::{Context as _, Result};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use linerate_agent::access::{Access, Network, Zone};
use linerate_agent::{
    AgentPlan, BudgetPart, DataPorts, MetricsPlan, SettingValues, Sockets, Speaking, serve_for,
    settings,
};
use linerate_model::BitRate;
use linerate_model::exit::ExitCode;
use linerate_model::units::parse_duration;
use linerate_session::login::{Logins, Padding, read_logins};
use listenfd::ListenFd;
use service::Service;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Arguments of `serve`.
#[expect(clippy::struct_excessive_bools, reason = "switches of a command line")]
#[derive(Debug, Clone, Args)]
#[command(after_help = known_protocols())]
pub(crate) struct ServeArgs {
    /// Take options from this TOML file too, by their names here; those of the command line come first. SIGHUP reads it again.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Address to listen on, and the port of the native protocol.
    #[arg(long, default_value = "[::]:5301", value_name = "ADDR:PORT")]
    listen: String,
    /// Protocols to answer, listed at the end; each with another port if need be, such as `iperf2:5002`.
    #[arg(long, default_value = Speaking::own().id(), value_delimiter = ',', value_name = "SPEAK")]
    speak: Vec<Speaking>,
    /// Also accept clients from these networks (default: loopback, private and link-local only).
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    allow: Vec<Network>,
    /// Let iperf2 clients in these networks have as much UDP as they ask for (default: loopback; to others no more bytes than came from them, since addresses can be forged).
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    allow_unproved: Vec<Network>,
    /// Accept clients from these networks only, with --key as well: CIDR, or `private` for loopback, private and link-local addresses.
    #[arg(
        long,
        value_name = "CIDR",
        value_delimiter = ',',
        conflicts_with = "allow"
    )]
    only: Vec<Zone>,
    /// Let clients without a key from these networks have threads of this host spin or be pinned, profiles of it, datapaths past its sockets, and socket buffers above 64 MiB (default: loopback).
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    allow_intrusive: Vec<Network>,
    /// Make tests of `linerate mesh` with agents in these networks, for holders of --key.
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    allow_mesh: Vec<Network>,
    /// Accept only clients that hold the key in this file, from any address; protocols that cannot show one are refused.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Let in only iperf3 clients of these users: lines of USER,HASH as iperf3 has them.
    #[arg(long, value_name = "FILE", requires = "login_key")]
    logins: Option<PathBuf>,
    /// This server's private RSA key for --logins (PEM); clients have the public half.
    #[arg(long, value_name = "FILE", requires = "logins")]
    login_key: Option<PathBuf>,
    /// Padding of what clients show: `oaep`, or `pkcs1` for iperf3 before 3.17.
    #[arg(long, value_name = "PADDING", default_value = "oaep")]
    login_padding: Padding,
    /// Most clients at once.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    max_clients: u16,
    /// Longest single test.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    max_duration: Duration,
    /// Highest intended load a client may ask for; tests without a rate are then refused.
    #[arg(long, value_parser = rate)]
    max_rate: Option<BitRate>,
    /// What tests may use, checked before and while they run: `client=10G` bytes of a client's network in a day, `day=100G` of all, `rate=100M` of a client's network at a time.
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    budget: Vec<BudgetPart>,
    /// Let clients have this server imitate a slow application (tests of linerate).
    #[arg(long, hide = true)]
    allow_imitation: bool,
    /// Interface whose counters belong to the tests [default: the one that carries each client].
    #[arg(long)]
    interface: Option<String>,
    /// Tell clients from other hosts that show no key this host's name, boot, clock and PCI devices too, for their reports.
    #[arg(long)]
    facts: bool,
    /// Take control and data of the native protocol at the one port of --listen, TCP and UDP: one firewall rule each.
    #[arg(long)]
    one_port: bool,
    /// Answer `/metrics` (`OpenMetrics`, for Prometheus) and `/health` over HTTP here, to anybody in reach: `127.0.0.1:9531`.
    #[arg(long, value_name = "ADDR:PORT")]
    metrics: Option<SocketAddr>,
    /// Form of the log: `text` with times, `json` lines on standard output (as --json), `journal` with priorities for journald.
    #[arg(long, value_name = "FORM")]
    log: Option<LogForm>,
    /// Exit after the first client has left.
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    settings: SettingArgs,
}

impl ServeArgs {
    /// Serves until it is stopped.
    pub(crate) fn run(&self, output: &OutputArgs) -> Result<ExitCode> {
        no_report(output, "serve")?;
        let mut service = Service::new(self, output)?;
        let plan = service.plan.clone();
        serve_for(&plan, sockets()?, interrupt_flag()?, &mut service)?;
        Ok(ExitCode::Done)
    }

    /// What it is to do.
    fn plan(&self) -> Result<AgentPlan> {
        let mut plan = AgentPlan {
            access: self.access(),
            speak: self.speak.clone(),
            key: self.key.as_deref().map(key_in).transpose()?,
            logins: self.logins()?,
            max_clients: self.max_clients,
            max_duration: self.max_duration,
            max_rate: self.max_rate,
            allow_imitation: self.allow_imitation,
            interface: self.interface.clone(),
            budget: self.budget.clone(),
            once: self.once,
            metrics: self.metrics.map(|listen| MetricsPlan {
                listen,
                render: linerate_report::agent_metrics,
            }),
            tell_name: self.facts,
            data_ports: if self.one_port {
                DataPorts::OfControl
            } else {
                DataPorts::OfEachTest
            },
            settings: self.settings.0.clone(),
            ..AgentPlan::listening_on(&self.listen)?
        };
        plan.allow_unproved.extend(&self.allow_unproved);
        plan.allow_intrusive.extend(&self.allow_intrusive);
        plan.allow_mesh.clone_from(&self.allow_mesh);
        Ok(plan)
    }

    /// Where clients may come from.
    fn access(&self) -> Access {
        if self.only.is_empty() {
            Access::NearAnd(self.allow.clone())
        } else {
            Access::Only(self.only.clone())
        }
    }

    /// The users that are let in.
    fn logins(&self) -> Result<Option<Arc<Logins>>> {
        let (Some(list), Some(key)) = (&self.logins, &self.login_key) else {
            return Ok(None);
        };
        note_exposure(key);
        note_exposure(list);
        let logins = read_logins(list, key, self.login_padding)?;
        Ok(Some(Arc::new(logins)))
    }
}

/// Sockets that the service manager listens on (`LISTEN_FDS`).
fn sockets() -> Result<Sockets> {
    let mut passed = ListenFd::from_env();
    let count = passed.len();
    let mut sockets = Sockets::default();
    let mut take = |at| -> io::Result<()> {
        match passed.take_tcp_listener(at) {
            Ok(listener) => sockets.tcp.extend(listener),
            // Of another kind.
            Err(_) => sockets.udp.extend(passed.take_udp_socket(at)?),
        }
        Ok(())
    };
    for at in 0..count {
        take(at).with_context(|| {
            format!("socket {at} of the service manager: serve takes TCP sockets that listen and UDP sockets")
        })?;
    }
    Ok(sockets)
}

/// What `--speak` knows, for help.
fn known_protocols() -> String {
    format!("Protocols: {}", Speaking::known())
}

/// The settings that only one protocol has, an option each: what the protocols list.
#[derive(Debug, Clone, Default)]
struct SettingArgs(SettingValues);

impl Args for SettingArgs {
    fn augment_args(command: Command) -> Command {
        command.args(settings().map(|setting| {
            Arg::new(setting.name)
                .long(setting.name)
                .value_name(setting.value)
                .help(setting.help)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let value = |name| matches.get_one::<String>(name).cloned();
        let given = settings().filter_map(|setting| {
            let value = value(setting.name)?;
            Some((setting.name.to_owned(), value))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
