//! The command line: a contract that help texts and scripts rely on.

use crate::closed_loop::ClosedLoopArgs;
use crate::compare::CompareArgs;
use crate::doctor::DoctorArgs;
use crate::open_loop::OpenLoopArgs;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use linerate_model::spec::{DatapathChoice, Observe, Pace, Pinning, Transport, WaitMode};
use linerate_model::units::{UnitError, parse_duration};
use linerate_model::{BitRate, ByteCount, Ratio};
use linerate_session::login::Padding;
use linerate_studies::archive::{HgrmHint, UnitStep};
use linerate_studies::run::{Mode, NamedMode};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How fast a network path is, where it stops, and why.
#[derive(Debug, Parser)]
#[command(name = "linerate", version, after_long_help = crate::exit_code_help())]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How to show it.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output and store")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct OutputArgs {
    /// Print one JSON document (schema linerate/run/2) instead of text.
    #[arg(long, global = true, conflicts_with = "stream")]
    pub(crate) json: bool,
    /// Print JSON lines while the run goes on; the last one is the whole run.
    #[arg(long, global = true)]
    pub(crate) stream: bool,
    /// Show no progress bar.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Directory that keeps the runs [default: `LINERATE_STORE`, else ~/.local/share/linerate].
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Keep nothing on disk.
    #[arg(long, global = true, conflicts_with = "store")]
    pub(crate) no_store: bool,
    /// Write a report of the run to this file; its ending chooses the format (html, txt, csv, json, sfnt, hgrm).
    /// `export` writes what it exports.
    #[arg(long, short = 'o', global = true, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure two hosts made of this machine, and write a report: no privileges, no second machine.
    Demo(DemoArgs),
    /// Be the peer: answer tests that other hosts ask for.
    Serve(ServeArgs),
    /// Run one TCP transfer.
    Tcp(TcpArgs),
    /// Run one UDP datagram stream at an intended load.
    Udp(UdpArgs),
    /// Measure request/response latency, message by message.
    Latency(LatencyArgs),
    /// Search for the load at which loss or delay begins.
    Saturate(SaturateArgs),
    /// Run a study: every combination of factors in a plan file, repeated, in random order.
    Run(RunArgs),
    /// Judge run B against run A: what is faster, slower, or shows no difference.
    Compare(CompareArgs),
    /// Say what limits a stored run, and on what evidence.
    Explain(ExplainArgs),
    /// Turn logs of other tools into stored runs.
    Import(ImportArgs),
    /// Write a report of stored runs.
    Report(ReportArgs),
    /// Say what on this host spoils measurements; change it, take it back, measure the host's own jitter.
    Doctor(DoctorArgs),
    /// List the stored runs.
    List,
    /// Show one stored run.
    Show(OneRun),
    /// Write a stored run as JSON or CSV.
    Export(ExportArgs),
    /// Make the tests that the parent process asks for on standard input: what `latency --wrap` starts.
    #[command(name = linerate_studies::run::CHILD, hide = true)]
    WrappedTurns,
}

/// Arguments of `demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Rate of the shaped link between the two hosts, at L1 (bit/s, SI prefixes).
    #[arg(long, default_value = "100M", value_parser = rate)]
    pub(crate) link_rate: BitRate,
    /// Delay of the link in each direction.
    #[arg(long, default_value = "500us", value_parser = parse_duration)]
    pub(crate) link_delay: Duration,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// Address to listen on, and the port of the native protocol.
    #[arg(long, default_value = "[::]:5301", value_name = "ADDR:PORT")]
    pub(crate) listen: String,
    /// Protocols to answer: native, iperf3, iperf2, netperf, sfnt and sockperf, each with another port if need be (`native,iperf3:5202`).
    #[arg(long, default_value = "native", value_delimiter = ',')]
    pub(crate) speak: Vec<String>,
    /// Also accept clients from these networks (default: loopback, private and link-local only).
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Accept only clients that hold the key in this file, from any address.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    /// Let in only iperf3 clients of these users: lines of USER,HASH as iperf3 has them.
    #[arg(long, value_name = "FILE", requires = "login_key")]
    pub(crate) logins: Option<PathBuf>,
    /// This server's private RSA key for --logins (PEM); clients have the public half.
    #[arg(long, value_name = "FILE", requires = "logins")]
    pub(crate) login_key: Option<PathBuf>,
    /// Padding of what clients show: `oaep`, or `pkcs1` for iperf3 before 3.17.
    #[arg(long, value_name = "PADDING", default_value = "oaep")]
    pub(crate) login_padding: Padding,
    /// Most clients at once.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) max_clients: u16,
    /// Longest single test.
    #[arg(long, default_value = "1h", value_parser = parse_duration)]
    pub(crate) max_duration: Duration,
    /// Highest intended load a client may ask for; tests without a rate are then refused.
    #[arg(long, value_parser = rate)]
    pub(crate) max_rate: Option<BitRate>,
    /// Interface whose counters belong to the tests [default: the one that carries each client].
    #[arg(long)]
    pub(crate) interface: Option<String>,
    /// Exit after the first client has left.
    #[arg(long)]
    pub(crate) once: bool,
    /// Version that sfnt-pingpong clients are told: they leave unless it is their own.
    #[arg(long, value_name = "VERSION", default_value = "1.5.0")]
    pub(crate) sfnt_version: String,
    /// MD5 of the sources that sfnt-pingpong clients are told [default: that of the version, if it is known].
    #[arg(long, value_name = "MD5")]
    pub(crate) sfnt_checksum: Option<String>,
}

/// Who is measured, and how to reach it.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// The peer: `10.0.0.2`, `board.local:5301` or `[fe80::1%eth0]:5301`; it runs `linerate serve`. `iperf3://board` and `iperf2://board` are measured with the iperf that runs there, `netperf://board` with its netserver, `sfnt://host` and `sockperf://host` with its sfnt-pingpong or sockperf (`latency` only). A Zephyr board is told what to do through its shell: `zperf+serial:///dev/ttyUSB0?baud=115200&host=192.0.2.1` or `zperf+telnet://shellhost:23?host=192.0.2.1`, where host= is its address in the network.
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    /// Use IPv4 only.
    #[arg(short = '4', long = "ipv4", conflicts_with = "ipv6")]
    pub(crate) ipv4: bool,
    /// Use IPv6 only.
    #[arg(short = '6', long = "ipv6")]
    pub(crate) ipv6: bool,
    /// Show the peer that this end holds the key in this file (its `serve --key`).
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Keep what the peer prints of each test, if it is an iperf3, and show it.
    #[arg(long, alias = "get-server-output")]
    pub(crate) far_output: bool,
    /// Give up on a silent peer after this long.
    #[arg(long, default_value = "10s", value_parser = parse_duration)]
    pub(crate) timeout: Duration,
    /// Interface whose counters belong to the test [default: the one that carries it].
    #[arg(long)]
    pub(crate) interface: Option<String>,
}

/// Who asks, where an iperf3 wants to know.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Login at an iperf3 that asks for one")]
pub(crate) struct LoginArgs {
    /// User to show; the password comes from `LINERATE_PASSWORD` or --password-file.
    #[arg(long, value_name = "USER", requires = "login_key")]
    pub(crate) login: Option<String>,
    /// File whose first line is the password.
    #[arg(long, value_name = "FILE", requires = "login")]
    pub(crate) password_file: Option<PathBuf>,
    /// The server's public RSA key (PEM).
    #[arg(long, value_name = "FILE", requires = "login")]
    pub(crate) login_key: Option<PathBuf>,
    /// Padding of what is shown: `oaep`, or `pkcs1` for iperf3 before 3.17.
    #[arg(long, value_name = "PADDING", default_value = "oaep")]
    pub(crate) login_padding: Padding,
}

/// How traffic moves.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArgs {
    /// The peer sends.
    #[arg(long, conflicts_with = "duplex")]
    pub(crate) reverse: bool,
    /// Both ends send at once.
    #[arg(long)]
    pub(crate) duplex: bool,
    /// Datapath, with its parameters: `sockets,gso=true,gro=true`.
    #[arg(long, default_value = "sockets", value_parser = datapath)]
    pub(crate) datapath: DatapathChoice,
    /// Pin the traffic threads to these cores: LOCAL,REMOTE (either may be empty).
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = pinning)]
    pub(crate) cpu: Option<Pinning>,
    /// Ask for this send buffer (`SO_SNDBUF`).
    #[arg(long, value_parser = size)]
    pub(crate) send_buffer: Option<ByteCount>,
    /// Ask for this receive buffer (`SO_RCVBUF`).
    #[arg(long, value_parser = size)]
    pub(crate) receive_buffer: Option<ByteCount>,
    /// Let the receiver pause this long after each read, to imitate a slow application.
    #[arg(long, value_parser = parse_duration)]
    pub(crate) receiver_pause: Option<Duration>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Then run the experiment that the verdict proposes: only what it agrees with is confirmed.
    #[arg(long)]
    pub(crate) prove: bool,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

/// How much both ends look at their hosts.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct ObserveArgs {
    /// Sample where the CPU time of both ends goes, and show its cost by layer. `saturate` does so in
    /// a trial of its own, after the search.
    #[arg(long)]
    pub(crate) profile: bool,
    /// What both ends observe beside moving traffic: less costs less, and explains less.
    #[arg(
        long,
        default_value = "counters",
        value_name = "WHAT",
        conflicts_with = "profile"
    )]
    pub(crate) observe: ObserveArg,
}

/// When and how much: options of single tests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct LengthArgs {
    /// Length of the test.
    #[arg(short = 't', long = "time", default_value = "10s", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Parallel streams.
    #[arg(short = 'P', long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) streams: u16,
    /// Send for this long first without counting.
    #[arg(long, default_value = "0s", value_parser = parse_duration)]
    pub(crate) warm_up: Duration,
    /// Length of a reporting interval.
    #[arg(short = 'i', long, default_value = "1s", value_parser = parse_duration)]
    pub(crate) interval: Duration,
    /// How traffic threads wait.
    #[arg(long, default_value = "block")]
    pub(crate) wait: WaitArg,
}

/// Arguments of `tcp`.
#[derive(Debug, Clone, Args)]
pub(crate) struct TcpArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Size of each write.
    #[arg(long, default_value = "128K", value_parser = size)]
    pub(crate) payload: ByteCount,
    /// Intended load over all streams in bit/s of L4 payload; unpaced without it.
    #[arg(long, alias = "rate", value_name = "RATE", value_parser = rate)]
    pub(crate) pace: Option<BitRate>,
    /// Congestion control algorithm.
    #[arg(short = 'C', long)]
    pub(crate) congestion: Option<String>,
}

/// Arguments of `udp`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UdpArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Intended load over all streams in bit/s of L4 payload (`10M`, `1G`), or `max` for unpaced.
    #[arg(long, alias = "pace", value_name = "RATE", value_parser = pace)]
    pub(crate) rate: Pace,
    #[command(flatten)]
    pub(crate) length: LengthArgs,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Payload of each datagram.
    #[arg(long, default_value = "1448", value_parser = size)]
    pub(crate) payload: ByteCount,
}

/// Arguments of `latency`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Transport of the messages.
    #[arg(long, default_value = "udp")]
    pub(crate) transport: TransportArg,
    /// Message sizes in bytes, each alone (`64`), with a step (`64-256+64`) or a factor (`1-1Kx2`), or `sfnt`: the
    /// list of sfnt-pingpong for the transport [default: 32; with sfnt:// that list].
    #[arg(long, value_delimiter = ',')]
    pub(crate) sizes: Vec<String>,
    /// How both ends wait; several are measured in turns, in random order.
    #[arg(long, default_value = "block", value_delimiter = ',', value_parser = modes())]
    pub(crate) wait: Vec<Mode>,
    /// Pin the traffic threads to these cores: LOCAL,REMOTE (either may be empty).
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = pinning)]
    pub(crate) cpu: Option<Pinning>,
    /// Time per size and wait mode.
    #[arg(short = 't', long = "time", default_value = "2s", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Ping-pong for this long first without counting.
    #[arg(long, default_value = "100ms", value_parser = parse_duration)]
    pub(crate) warm_up: Duration,
    /// Measure again while traffic runs: `tcp`, `udp:RATE`, or either with `:reverse` at its end.
    #[arg(long)]
    pub(crate) load: Option<String>,
    #[command(flatten)]
    pub(crate) open_loop: OpenLoopArgs,
    #[command(flatten)]
    pub(crate) parts: PartsArgs,
    #[command(flatten)]
    pub(crate) turns: TurnArgs,
    #[command(flatten)]
    pub(crate) closed_loop: ClosedLoopArgs,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

/// Whether round trips are taken apart.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct PartsArgs {
    /// Measure everything once more with the kernel's timestamps, and say where the time goes: applications,
    /// stacks, queues, wire, wake-up. The stamps cost time, which is told.
    #[arg(long)]
    pub(crate) decompose: bool,
}

/// In which turns `latency` measures.
#[derive(Debug, Clone, Args)]
pub(crate) struct TurnArgs {
    /// Turns that each size and wait mode is measured in, in random order; they share its time
    /// [default: 5 where there is more than one, but none below 200 ms].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) rounds: Option<u32>,
    /// Seed of their order.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Measure every wait mode also with this end started by a wrapper, such as
    /// "onload --profile=latency"; the run records what it loads.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) wrap: Option<String>,
}

/// Arguments of `saturate`.
#[derive(Debug, Clone, Args)]
pub(crate) struct SaturateArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    #[command(flatten)]
    pub(crate) traffic: TrafficArgs,
    /// Loss ratios to search for, each a goal of its own.
    #[arg(long, default_value = "0,0.1%,0.5%", value_delimiter = ',', value_parser = share)]
    pub(crate) loss_goal: Vec<Ratio>,
    /// Delay that every goal must also meet: `p99<2ms` (delay above the smallest of the trial).
    #[arg(long, value_name = "QUANTILE<TIME")]
    pub(crate) delay_goal: Option<String>,
    /// Payload of each datagram.
    #[arg(long, default_value = "1448", value_parser = size)]
    pub(crate) payload: ByteCount,
    /// Lowest load to try, in bit/s of L4 payload.
    #[arg(long, default_value = "1M", value_parser = rate)]
    pub(crate) min: BitRate,
    /// Highest load to try, in bit/s of L4 payload.
    #[arg(long, default_value = "10G", value_parser = rate)]
    pub(crate) max: BitRate,
    /// How close the bounds shall be, relative to the upper one.
    #[arg(long, default_value = "0.5%", value_parser = share)]
    pub(crate) width: Ratio,
    /// Most trial time to use in each direction.
    #[arg(long, default_value = "60s", value_parser = parse_duration)]
    pub(crate) budget: Duration,
}

/// Arguments of `explain`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) run: OneRun,
    /// Run the experiment that the verdict proposes, against the peer that the run measured, and
    /// keep its answer with the run.
    #[arg(long)]
    pub(crate) prove: bool,
}

/// Arguments of `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RunArgs {
    /// The plan, a TOML file: `[study]`, `[defaults]`, `[factors]`.
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// Show the peer that this end holds the key in this file (its `serve --key`).
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) login: LoginArgs,
    /// Go on with an incomplete study of the same plan: its finished runs are taken over.
    #[arg(long, value_name = "RUN")]
    pub(crate) resume: Option<String>,
}

/// One stored run.
#[derive(Debug, Clone, Args)]
pub(crate) struct OneRun {
    /// Id, unique start of an id, `last`, or a path to a run.
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
}

/// Arguments of `import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportArgs {
    /// Logs of iperf3 (text or JSON), iperf 2 (text or CSV), zperf, lwiperf, netperf, neper, sockperf and
    /// sfnt-pingpong, and HdrHistogram's percentile text; views of both ends of one test become one trial.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Speed of the link that the tests crossed, at L2 (`1G`): logs do not tell, and verdicts need it.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) link_speed: Option<BitRate>,
    /// Step of K and M in zperf's figures where its log does not tell: 1024 before Zephyr 3.6.
    #[arg(long, value_name = "STEP")]
    pub(crate) zperf_units: Option<ZperfUnits>,
    /// Transport and unit (ns, us, ms, s) of .hgrm files that do not tell them.
    #[arg(long, value_name = "TRANSPORT:UNIT")]
    pub(crate) hgrm: Option<HgrmHint>,
}

/// Step of the prefixes that zperf prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ZperfUnits {
    /// 1024.
    #[value(name = "1024")]
    Binary,
    /// 1000.
    #[value(name = "1000")]
    Decimal,
}

impl From<ZperfUnits> for UnitStep {
    fn from(units: ZperfUnits) -> Self {
        match units {
            ZperfUnits::Binary => Self::Binary,
            ZperfUnits::Decimal => Self::Decimal,
        }
    }
}

/// Arguments of `report`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ReportArgs {
    /// Ids, unique starts of ids, `last`, or paths.
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<String>,
}

/// Arguments of `export`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) run: OneRun,
    /// Format [default: what the file's name ends in, csv or hgrm, else json].
    #[arg(long)]
    pub(crate) format: Option<ExportFormat>,
    /// With hgrm: the trial of this index only; else each trial goes to a file of its own.
    #[arg(long, value_name = "INDEX")]
    pub(crate) trial: Option<u32>,
}

/// Formats of `export`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ExportFormat {
    /// The run document.
    Json,
    /// One row per trial.
    Csv,
    /// One row per reporting interval.
    CsvIntervals,
    /// Whole delay distributions as HdrHistogram's percentile text.
    Hgrm,
}

impl ExportFormat {
    /// What the name of the file asks for.
    pub(crate) fn from_file(file: Option<&Path>) -> Self {
        match file.and_then(Path::extension) {
            Some(ending) if ending == "csv" => Self::Csv,
            Some(ending) if ending == "hgrm" => Self::Hgrm,
            _ => Self::Json,
        }
    }
}

/// Wait modes by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum WaitArg {
    /// Sleep in the kernel.
    Block,
    /// Poll in user space; costs a whole core at each end.
    Spin,
    /// Let the kernel poll the device.
    BusyPoll,
}

impl From<WaitArg> for WaitMode {
    fn from(arg: WaitArg) -> Self {
        match arg {
            WaitArg::Block => Self::Block,
            WaitArg::Spin => Self::Spin,
            WaitArg::BusyPoll => Self::BusyPoll,
        }
    }
}

/// Extents of observation by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ObserveArg {
    /// Counters, and a sampled profile: the same as --profile.
    All,
    /// Counters of both hosts before and after, and `TCP_INFO` meanwhile.
    Counters,
    /// Nothing: for measuring what observing costs. What limits is then mostly unknown.
    None,
}

impl ObserveArgs {
    /// What the test asks of both ends.
    pub(crate) const fn choice(self) -> Observe {
        match (self.profile, self.observe) {
            (true, _) | (_, ObserveArg::All) => Observe::All,
            (_, ObserveArg::Counters) => Observe::Counters,
            (_, ObserveArg::None) => Observe::None,
        }
    }
}

/// Transports by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum TransportArg {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl From<TransportArg> for Transport {
    fn from(arg: TransportArg) -> Self {
        match arg {
            TransportArg::Tcp => Self::Tcp,
            TransportArg::Udp => Self::Udp,
        }
    }
}

fn rate(text: &str) -> Result<BitRate, UnitError> {
    text.parse()
}

fn size(text: &str) -> Result<ByteCount, UnitError> {
    text.parse()
}

pub(crate) fn share(text: &str) -> Result<Ratio, UnitError> {
    text.parse()
}

fn pace(text: &str) -> Result<Pace, String> {
    match text {
        "max" => Ok(Pace::Unpaced),
        _ => match text.parse::<BitRate>() {
            Ok(rate) if rate.bps() > 0 => Ok(Pace::At(rate)),
            Ok(_) => Err("a rate of 0 sends nothing; say `max` for unpaced".to_owned()),
            Err(error) => Err(format!("{error}, and not `max`")),
        },
    }
}

fn pinning(text: &str) -> Result<Pinning, String> {
    let (local, remote) = text
        .split_once(',')
        .ok_or_else(|| format!("\"{text}\" is not LOCAL,REMOTE such as 0,1 or 2, or ,3"))?;
    let core = |part: &str| match part.trim() {
        "" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| format!("\"{number}\" is not a core number")),
    };
    Ok(Pinning {
        local: core(local)?,
        remote: core(remote)?,
    })
}

/// The ways to wait that this build knows.
fn modes() -> impl TypedValueParser<Value = Mode> {
    let shown =
        |known: NamedMode| PossibleValue::new(known.name).help(known.summary.trim_end_matches('.'));
    PossibleValuesParser::new(Mode::known().map(shown)).try_map(|name| name.parse::<Mode>())
}

fn datapath(text: &str) -> Result<DatapathChoice, UnitError> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn cores_may_be_left_out() {
        assert_eq!(
            pinning("0,1"),
            Ok(Pinning {
                local: Some(0),
                remote: Some(1)
            })
        );
        assert_eq!(
            pinning(",3"),
            Ok(Pinning {
                local: None,
                remote: Some(3)
            })
        );
        assert!(pinning("3").is_err());
        assert!(pinning("a,b").is_err());
    }

    #[test]
    fn a_rate_of_zero_is_told_apart_from_max() {
        assert_eq!(pace("max"), Ok(Pace::Unpaced));
        assert!(pace("0").unwrap_err().contains("max"));
        assert!(pace("10X").unwrap_err().contains("10X"));
    }

    #[test]
    fn datapath_parameters_are_generic() {
        let choice = datapath("sockets,gso=true").unwrap();
        assert_eq!(choice.params["gso"], "true");
        assert!(datapath("sockets,gso").is_err());
    }
}
