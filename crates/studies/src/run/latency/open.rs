//! Requests at a rate: the open loop beside the ping-pong, and latency against load.

use super::{LatencyPlan, Load, ModeVariant};
use crate::recorder::Recorder;
use crate::run::Measurement;
use anyhow::Result;
use linerate_analysis::load_delay::{Ladder, LoadPoint};
use linerate_client::Target;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::run::{CurveFacts, RunWork, Trial};
use linerate_model::spec::{self, Arrival, Stall, Stop, TestSpec, TestWork, Transport};
use linerate_model::units::parse_duration;
use linerate_model::{ByteCount, PacketRate};
use linerate_peers::own_streams;
use std::time::Duration;

/// Requests at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenLoop {
    /// How many per second.
    pub rate: RequestRate,
    /// When they are meant to be sent.
    pub arrival: Arrival,
    /// How long an answer is waited for.
    pub answer_timeout: Duration,
}

/// How many requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RequestRate {
    /// So many.
    At(PacketRate),
    /// From few to as many as are answered in full, and beyond.
    Rising {
        /// The lowest load: idle.
        lowest: PacketRate,
        /// Loads above it are not tried.
        highest: PacketRate,
    },
}

/// What is asked for as the responder's receive buffer over UDP: as much as most systems give without
/// privileges, so that requests that come while it stands still wait and are not lost.
const RECEIVE_BUFFER: ByteCount = ByteCount::new(4 << 20);

impl OpenLoop {
    /// The ping-pong `spec` as requests at the rate of this plan, or at the lowest.
    pub(super) fn apply(&self, spec: TestSpec) -> TestSpec {
        let rate = match self.rate {
            RequestRate::At(rate) | RequestRate::Rising { lowest: rate, .. } => rate,
        };
        self.at(rate, spec)
    }

    fn at(&self, rate: PacketRate, spec: TestSpec) -> TestSpec {
        let transport = spec.transport();
        let mut spec = TestSpec {
            workload: TestSpec::request_response(transport, rate).workload,
            work: TestWork::OpenLoop(spec::OpenLoop {
                transport,
                message: spec.payload(),
                rate,
                arrival: self.arrival,
                answer_timeout: self.answer_timeout,
            }),
            ..spec
        };
        if transport == Transport::Udp {
            spec.socket.receive_buffer_bytes = Some(RECEIVE_BUFFER);
        }
        spec
    }

    /// Whether it goes from few requests to many.
    pub(super) const fn rises(&self) -> bool {
        matches!(self.rate, RequestRate::Rising { .. })
    }

    /// Refuses a peer that cannot answer while it is asked, and messages that cannot be asked at a rate.
    pub(super) fn check(target: &Target, plan: &LatencyPlan) -> Result<(), Failure> {
        let kind = target.far.kind();
        if !kind.about().is_foreign {
            let format = own_streams();
            let specs = plan.specs().into_iter().filter(|_| plan.open().is_some());
            let refused = specs.map(|spec| linerate_engine::check(&spec, &format));
            return refused.collect::<Result<_, _>>().map_err(|error| {
                Failure::new(ExitCode::Usage, format!("requests at a rate: {error}"))
            });
        }
        let message = format!(
            "{} answers one message at a time and cannot be asked at a rate: leave out --rate, --curve and --rpm, or start `linerate serve` there",
            kind.id()
        );
        Err(Failure::new(ExitCode::Usage, message))
    }
}

/// `1 kpps` as a rate of requests: `1000/s`.
pub(super) fn per_second(rate: PacketRate, arrival: Arrival) -> String {
    let random = match arrival {
        Arrival::Constant => "",
        Arrival::Poisson => " at random",
    };
    format!("{}/s{random}", rate.pps().round())
}

/// Reads `1s,50ms`: how often a peer stands still, and for how long.
pub fn parse_stall(text: &str) -> Result<Stall, Failure> {
    let wrong = || {
        let message = format!("\"{text}\" is not a stall such as 1s,50ms: EVERY,FOR");
        Failure::new(ExitCode::Usage, message)
    };
    let (every, lasting) = text.split_once(',').ok_or_else(wrong)?;
    Ok(Stall {
        every: parse_duration(every.trim()).map_err(|_| wrong())?,
        lasting: parse_duration(lasting.trim()).map_err(|_| wrong())?,
    })
}

/// Every size in every mode at loads that rise until they are not answered in full.
pub(super) fn curves(
    run: &mut Measurement<'_, '_>,
    plan: &LatencyPlan,
    open: OpenLoop,
    load: Option<Load>,
) -> Result<()> {
    for way in plan.ways() {
        for size in &plan.sizes {
            if run.context.interrupted() {
                return Ok(());
            }
            let cell = Cell {
                size: *size,
                way: &way,
                load,
            };
            curve(run, plan, open, &cell)?;
        }
    }
    Ok(())
}

/// What has a curve of its own.
struct Cell<'a> {
    size: ByteCount,
    way: &'a ModeVariant,
    load: Option<Load>,
}

fn curve(
    run: &mut Measurement<'_, '_>,
    plan: &LatencyPlan,
    open: OpenLoop,
    cell: &Cell<'_>,
) -> Result<()> {
    let RequestRate::Rising { lowest, highest } = open.rate else {
        return Ok(());
    };
    let mut ladder = Ladder::between(lowest, highest);
    while let Some(rate) = ladder.next_load().filter(|_| !run.context.interrupted()) {
        let spec = TestSpec {
            stop: Stop::After(plan.time.max(enough(rate))),
            ..open.at(rate, super::spec(plan, cell.size, cell.way))
        };
        let label = super::label(&spec, cell.way, cell.load);
        let mut trials = run.unrecorded(&spec, Some(&label))?;
        for trial in &mut trials {
            trial.set_conditions(cell.way.conditions(cell.load));
            run.record(trial.clone());
        }
        ladder.record(trials.first().and_then(LoadPoint::from_trial));
        note_broken(run.recorder, trials.first());
    }
    // With several sizes or modes each has its own curve; the knee of the first is the run's.
    if let RunWork::Latency { curve, .. } = &mut run.recorder.run_mut().work
        && curve.is_none()
    {
        *curve = ladder.knee().map(|knee| CurveFacts {
            knee: Some(knee),
            ..CurveFacts::default()
        });
    }
    Ok(())
}

/// Requests of one load: a p99 whose interval reaches from the 16th to the fourth largest value.
const REQUESTS_PER_LOAD: f64 = 1000.0;

/// Longest that takes.
const MAX_TIME_PER_LOAD: Duration = Duration::from_secs(20);

/// How long `rate` takes for enough requests.
fn enough(rate: PacketRate) -> Duration {
    Duration::try_from_secs_f64(REQUESTS_PER_LOAD / rate.pps())
        .map_or(MAX_TIME_PER_LOAD, |time| time.min(MAX_TIME_PER_LOAD))
}

/// A load that could not be judged ends its curve: why, in the notes.
fn note_broken(recorder: &mut Recorder, trial: Option<&Trial>) {
    if let Some(trial) = trial.filter(|trial| !trial.valid) {
        let label = trial.label.as_deref().unwrap_or_default();
        let why = trial.reasons.join("; ");
        let note = format!("the curve ends at {label}, which does not count: {why}");
        recorder.run_mut().notes.push(note);
    }
}

/// The loads of a curve that is asked for without any.
pub const USUAL_RISING: &str = "100-10M";

/// Reads loads that rise: `100-1M`.
pub fn parse_rising(text: &str) -> Result<RequestRate, String> {
    let wrong = || format!("\"{text}\" is not two rates such as 100-1M, the lower one first");
    let (lowest, highest) = text.split_once('-').ok_or_else(wrong)?;
    let rate = |part: &str| part.trim().parse::<PacketRate>().map_err(|_| wrong());
    let (lowest, highest) = (rate(lowest)?, rate(highest)?);
    if lowest >= highest {
        return Err(wrong());
    }
    Ok(RequestRate::Rising { lowest, highest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Sending;

    #[test]
    fn a_stall_is_read() {
        let stall = parse_stall("1s, 50ms").unwrap();
        assert_eq!(stall.every, Duration::from_secs(1));
        assert_eq!(stall.lasting, Duration::from_millis(50));
        for wrong in ["1s", "50ms,", "a,b"] {
            assert_eq!(parse_stall(wrong).unwrap_err().code, ExitCode::Usage);
        }
    }

    #[test]
    fn what_cannot_be_asked_at_a_rate_is_refused_before_anything_is_sent() {
        let far =
            |text: &str| Target::new(linerate_client::address::PeerAddress::parse(text).unwrap());
        let mut plan = LatencyPlan::from_spec(&TestSpec::ping_pong(Transport::Udp));
        plan.sending = Sending::AtRate(OpenLoop {
            rate: RequestRate::At(PacketRate::from_pps(10.0)),
            arrival: Arrival::Constant,
            answer_timeout: spec::DEFAULT_ANSWER_TIMEOUT,
        });
        OpenLoop::check(&far("10.0.0.1"), &plan).unwrap();
        let other = OpenLoop::check(&far("sockperf://10.0.0.1"), &plan).unwrap_err();
        assert!(other.message.contains("one message at a time"), "{other}");
        plan.sizes = vec![ByteCount::new(17)];
        let short = OpenLoop::check(&far("10.0.0.1"), &plan).unwrap_err();
        assert_eq!(short.code, ExitCode::Usage);
        assert!(short.message.contains("at least 18 bytes"), "{short}");
    }

    #[test]
    fn a_rate_makes_a_ping_pong_an_open_loop() {
        let open = OpenLoop {
            rate: RequestRate::At(PacketRate::from_pps(500.0)),
            arrival: Arrival::Poisson,
            answer_timeout: spec::DEFAULT_ANSWER_TIMEOUT,
        };
        let spec = open.apply(TestSpec::ping_pong(Transport::Udp));
        let TestWork::OpenLoop(asked) = &spec.work else {
            panic!("{spec:?}")
        };
        assert_eq!(asked.rate, PacketRate::from_pps(500.0));
        assert_eq!(spec.socket.receive_buffer_bytes, Some(RECEIVE_BUFFER));
        spec::validate(&spec).unwrap();
        assert_eq!(
            per_second(PacketRate::from_pps(500.2), asked.arrival),
            "500/s at random"
        );
    }

    #[test]
    fn a_range_of_rates_rises() {
        let RequestRate::Rising { lowest, highest } = parse_rising("1k-20kpps").unwrap() else {
            panic!("not rising");
        };
        assert_eq!(
            (lowest, highest),
            (PacketRate::from_pps(1e3), PacketRate::from_pps(2e4))
        );
        for wrong in ["1k", "2k-1k", "1k-", "0-1k"] {
            assert!(
                parse_rising(wrong).unwrap_err().contains("100-1M"),
                "{wrong}"
            );
        }
    }
}
