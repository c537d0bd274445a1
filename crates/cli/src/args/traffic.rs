//! How traffic moves, for how long, and what is observed meanwhile.

use crate::args::values::{datapath, pinning, rate, size};
use clap::{Args, ValueEnum};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::spec::{
    DatapathChoice, Direction, Imitation, Observe, Pace, Pinning, SocketChoice, SpecError, Stop,
    TestSpec, WaitMode, WorkloadId, validate,
};
use linerate_model::units::parse_duration;
use linerate_model::{BitRate, ByteCount};
use std::time::Duration;

/// How traffic moves.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct TrafficArgs {
    /// The peer sends.
    #[arg(short = 'R', long, conflicts_with = "duplex")]
    pub(crate) reverse: bool,
    /// Both ends send at once.
    #[arg(long, aliases = ["bidir", "full-duplex"])]
    pub(crate) duplex: bool,
    /// One direction after the other, a run for each: first this end sends, then the peer.
    #[arg(long, conflicts_with_all = ["reverse", "duplex"])]
    pub(crate) both: bool,
    /// Datapath, with its parameters: `sockets,gso=true,gro=true`.
    #[arg(long, default_value = "sockets", value_parser = datapath, hide_short_help = true)]
    pub(crate) datapath: DatapathChoice,
    /// Pin the traffic threads to these cores: LOCAL,REMOTE (either may be empty).
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = pinning, hide_short_help = true)]
    pub(crate) cpu: Option<Pinning>,
    /// Ask for this send buffer (`SO_SNDBUF`).
    #[arg(long, value_parser = size, hide_short_help = true)]
    pub(crate) send_buffer: Option<ByteCount>,
    /// Ask for this receive buffer (`SO_RCVBUF`).
    #[arg(long, value_parser = size, hide_short_help = true)]
    pub(crate) receive_buffer: Option<ByteCount>,
    /// Let the receiver pause this long after each read, to imitate a slow application.
    #[arg(long, value_parser = parse_duration, hide_short_help = true)]
    pub(crate) receiver_pause: Option<Duration>,
    /// Seed of everything random.
    #[arg(long, default_value_t = 1, hide_short_help = true)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) observe: ObserveArgs,
}

impl TrafficArgs {
    /// Writes them into a test.
    pub(crate) fn apply(&self, spec: &mut TestSpec) {
        spec.direction = match (self.reverse, self.duplex) {
            (_, true) => Direction::Duplex,
            (true, _) => Direction::Reverse,
            _ => Direction::Forward,
        };
        spec.datapath = self.datapath.clone();
        spec.pinning = self.cpu.unwrap_or_default();
        spec.socket = SocketChoice {
            send_buffer_bytes: self.send_buffer,
            receive_buffer_bytes: self.receive_buffer,
            ..SocketChoice::default()
        };
        spec.imitation = self.receiver_pause.map(Imitation::slow_receiver);
        spec.seed = self.seed;
        spec.observe = self.observe.choice();
    }
}

/// When and how much: options of single tests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct LengthArgs {
    /// Workload in place of the usual one, by its id.
    #[arg(long, value_name = "ID", hide_short_help = true)]
    workload: Option<String>,
    /// Length of the test.
    #[arg(short = 't', long = "time", default_value = "10s", value_parser = parse_duration)]
    pub(crate) time: Duration,
    /// Parallel streams.
    #[arg(short = 'P', long, alias = "parallel", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=128))]
    pub(crate) streams: u16,
    /// Send for this long first without counting.
    #[arg(long, alias = "omit", short_alias = 'O', default_value = "0s", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) warm_up: Duration,
    /// Length of a reporting interval [default: 1s, longer where a test would have too many].
    #[arg(short = 'i', long, value_parser = parse_duration)]
    pub(crate) interval: Option<Duration>,
    /// How traffic threads wait.
    #[arg(long, default_value = "block", hide_short_help = true)]
    pub(crate) wait: WaitArg,
}

impl LengthArgs {
    /// Writes them into a test.
    pub(crate) fn apply(&self, spec: &mut TestSpec) {
        if let Some(id) = &self.workload {
            spec.workload = WorkloadId::new(id);
        }
        spec.stop = Stop::After(self.time);
        spec.streams = self.streams;
        spec.warm_up = self.warm_up;
        match self.interval {
            Some(interval) => spec.interval = interval,
            None => spec.fit_interval(),
        }
        spec.wait = self.wait.into();
    }
}

/// A rate as iperf has it: of each stream.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct StreamRateArgs {
    /// Intended load of each stream; 0 is unpaced.
    #[arg(short = 'b', long, alias = "bandwidth", hide = true, value_name = "RATE", value_parser = rate)]
    bitrate: Option<BitRate>,
}

impl StreamRateArgs {
    /// The same over all streams.
    pub(crate) fn total(self, streams: u16) -> Option<Pace> {
        let each = self.bitrate?.bps();
        Some(match each.saturating_mul(u64::from(streams)) {
            0 => Pace::Unpaced,
            total => Pace::At(BitRate::from_bps(total)),
        })
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

/// How much both ends look at their hosts.
#[derive(Debug, Clone, Copy, Args)]
#[command(next_help_heading = "Traffic")]
pub(crate) struct ObserveArgs {
    /// Sample where the CPU time of both ends goes, and show its cost by layer. `saturate` does so in
    /// a trial of its own, after the search.
    #[arg(long, hide_short_help = true)]
    pub(crate) profile: bool,
    /// What both ends observe beside moving traffic: less costs less, and explains less.
    #[arg(
        long,
        default_value = "counters",
        value_name = "WHAT",
        conflicts_with = "profile",
        hide_short_help = true
    )]
    pub(crate) observe: ObserveArg,
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

/// A specification that both ends will accept, or what is wrong with it.
pub(crate) fn checked(spec: TestSpec) -> Result<TestSpec, Failure> {
    match validate(&spec) {
        Ok(()) => Ok(spec),
        Err(error) => Err(out_of_bounds(error.setting(), &error)),
    }
}

/// `--payload 0: must be from 1 to 65507`.
pub(crate) fn out_of_bounds(option: &str, error: &SpecError) -> Failure {
    let message = format!("--{option} {}: must be {}", error.value, error.valid);
    Failure::new(ExitCode::Usage, message)
}
