//! Options of `latency` that ask at a rate.

use clap::{Args, ValueEnum};
use linerate_model::PacketRate;
use linerate_model::spec::Arrival;
use linerate_model::units::parse_duration;
use linerate_studies::run::{OpenLoop, RequestRate, USUAL_RISING, parse_rising};
use std::time::Duration;

/// Requests at a rate.
#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Open loop: requests at a rate, timed from when each was meant to be sent"
)]
pub(crate) struct OpenLoopArgs {
    /// Ask at this rate (requests per second: `500`, `20k`) instead of one message after the other.
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PacketRate>,
    /// Ask at rates that rise until they are not answered in full, and mark where delay leaves its
    /// level at the lowest: latency against load.
    #[arg(
        long,
        value_name = "LOWEST-HIGHEST",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = USUAL_RISING,
        conflicts_with = "rate",
        value_parser = parse_rising
    )]
    pub(crate) curve: Option<RequestRate>,
    /// Round trips per minute while TCP streams fill the path, in each direction, in place of everything else
    /// (responsiveness, without TLS and HTTP).
    #[arg(long, conflicts_with_all = ["rate", "curve", "load", "transport", "sizes", "wait"])]
    pub(crate) rpm: bool,
    /// Distances between requests: all the same, or random and independent.
    #[arg(long, default_value = "constant", hide_short_help = true)]
    pub(crate) arrival: ArrivalArg,
    /// Count a request as unanswered after this long.
    #[arg(long, default_value = "1s", value_parser = parse_duration, hide_short_help = true)]
    pub(crate) answer_timeout: Duration,
    /// Let the peer stand still regularly, to see what a stall does to the figures: EVERY,FOR
    /// (`1s,50ms`). Works with and without a rate.
    #[arg(long, value_name = "EVERY,FOR", hide_short_help = true)]
    pub(crate) responder_stall: Option<String>,
}

/// Arrivals by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ArrivalArg {
    /// At equal distances.
    Constant,
    /// At random, each independent of the others.
    Poisson,
}

impl OpenLoopArgs {
    /// The open loop that is asked for.
    pub(crate) fn choice(&self) -> Option<OpenLoop> {
        let rate = self.rate.map(RequestRate::At).or(self.curve)?;
        Some(OpenLoop {
            rate,
            arrival: match self.arrival {
                ArrivalArg::Constant => Arrival::Constant,
                ArrivalArg::Poisson => Arrival::Poisson,
            },
            answer_timeout: self.answer_timeout,
        })
    }
}
