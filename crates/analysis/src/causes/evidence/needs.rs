//! What a rule may need, whether a run has it, and what to call it when it is missing.

use super::{Evidence, load, range};
use linerate_model::BitRate;
use linerate_model::run::{Run, Trial};
use linerate_model::sample::DatagramReceiver;
use linerate_model::signals;
use linerate_model::spec::Side;

linerate_model::named_enum! {
    /// Something a rule reads, and what it is called for people, with the key of the run document that holds it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub(crate) enum Need {
        /// Shares of time from the TCP chronographs of the sending side.
        Chronographs = "the sender's busy, receiver-window and send-buffer limited time (trials.tcp.busy_ratio)",
        /// Congestion window of the sending side.
        CongestionWindow = "the congestion window (trials.tcp.cwnd_mean_bytes)",
        /// Delay variation of datagrams or RTT of TCP.
        Delay = "delay or RTT at rest and under load (trials.delay, trials.tcp.min_rtt_ns, trials.tcp.srtt_mean_ns)",
        /// The smallest delay of each part of a trial.
        DelayFloor = "the smallest delays over time (trials.raw.streams.delay_floor_ns)",
        /// A load that was asked for.
        IntendedLoad = "an intended load (trials.intended_bps)",
        /// Where each lost packet was lost.
        Ledger = "where packets were lost (trials.ledger)",
        /// Speed of the test's interface.
        LinkSpeed = "the link speed (hosts.facts.link_speed_bps or config.link_speed_bps)",
        /// Packets sent and received, or what the sender retransmitted.
        Loss = "packet accounting (trials.packets)",
        /// What the sender's application gave.
        OfferedLoad = "the offered load (trials.offered_bps)",
        /// CPU use of the receiver.
        ReceiverCpu = "the receiver's CPU use (trials.cpu.receiver)",
        /// What the receiver's application got.
        ReceivedRate = "the received rate (trials.received_bps)",
        /// Times from a request to its answer.
        RoundTrips = "round trips (trials.delay)",
        /// CPU use of the sender.
        SenderCpu = "the sender's CPU use (trials.cpu.sender)",
        /// Trials at two or more loads.
        SeveralLoads = "trials at two or more loads",
    }
}

impl Need {
    /// Whether the run has it for at least one trial.
    pub(in crate::causes) fn is_met(self, evidence: &Evidence<'_>) -> bool {
        let any = |has: fn(&Trial) -> bool| evidence.trials.iter().any(|trial| has(trial));
        match self {
            Self::Chronographs => any(|t| {
                t.tcp().is_some_and(|tcp| {
                    tcp.busy_ratio.is_some()
                        && tcp.rwnd_limited_ratio.is_some()
                        && tcp.sndbuf_limited_ratio.is_some()
                })
            }),
            Self::CongestionWindow => {
                any(|t| t.tcp().is_some_and(|tcp| tcp.cwnd_mean_bytes.is_some()))
            }
            Self::Delay => super::Delays::from_evidence(evidence).is_some(),
            Self::DelayFloor => any(|t| {
                let streams = t.raw().iter().flat_map(|report| &report.streams);
                let mut receivers =
                    streams.filter_map(|stream| stream.work.get::<DatagramReceiver>());
                receivers.any(|receiver| !receiver.delay_floor_ns.is_empty())
            }),
            Self::IntendedLoad => any(|t| t.intended_load.is_some()),
            Self::Ledger => super::LossPlaces::from_evidence(evidence).is_some(),
            Self::LinkSpeed => evidence.link_speed().is_some(),
            Self::Loss => any(|t| {
                let retransmitted = t.tcp().and_then(|tcp| tcp.retransmitted_segments);
                t.loss_ratio().is_some() || retransmitted.is_some()
            }),
            Self::OfferedLoad => any(|t| t.offered_load.is_some()),
            Self::ReceivedRate => any(|t| t.received_rate.is_some()),
            Self::RoundTrips => any(|t| {
                t.delay()
                    .is_some_and(|delay| delay.p50_ns.is_some() || delay.mean_ns.is_some())
            }),
            Self::ReceiverCpu => any(|t| has_cpu(t, Side::Receiver)),
            Self::SenderCpu => any(|t| has_cpu(t, Side::Sender)),
            Self::SeveralLoads => several_loads(evidence),
        }
    }

    /// The needs that are not met, as one phrase; `None` if all are.
    pub(in crate::causes) fn missing(needs: &[Self], evidence: &Evidence<'_>) -> Option<String> {
        let needs = needs.iter().copied();
        let missing: Vec<Self> = needs.filter(|need| !need.is_met(evidence)).collect();
        (!missing.is_empty()).then(|| Self::not_recorded(&missing))
    }

    /// The needs that are not met, as a sentence without the keys of the document; `None` if all are.
    pub(in crate::causes) fn lacking(needs: &[Self], evidence: &Evidence<'_>) -> Option<String> {
        let missing = needs.iter().filter(|need| !need.is_met(evidence));
        let names: Vec<&str> = missing.map(|need| need.name()).collect();
        (!names.is_empty()).then(|| format!("Not recorded: {}.", names.join("; ")))
    }

    /// What it is called, without its key.
    fn name(self) -> &'static str {
        let text = self.as_str();
        text.split_once(" (").map_or(text, |(name, _)| name)
    }

    /// `Not recorded: packet accounting (trials.packets); trials at two or more loads`.
    pub(in crate::causes) fn not_recorded(needs: &[Self]) -> String {
        let names: Vec<&str> = needs.iter().map(|need| need.as_str()).collect();
        format!("Not recorded: {}", names.join("; "))
    }
}

fn has_cpu(trial: &Trial, side: Side) -> bool {
    trial
        .cpu_of(side)
        .is_some_and(|cpu| cpu.thread_ratio.is_some() || cpu.host_ratio.is_some())
}

fn several_loads(evidence: &Evidence<'_>) -> bool {
    let loads = evidence.trials.iter().filter_map(|trial| load(trial));
    // Two loads closer than this are one load measured twice.
    range(loads).is_some_and(|(low, high)| high > low * 1.05)
}

/// Rate of the link element, or speed of the slowest interface that anything names, bit/s. An interface that less is said
/// of than was carried is not on the path, or keeps to no speed.
pub(crate) fn link_speed(run: &Run) -> Option<f64> {
    if run.has_emulated_link() {
        let element = run.config.target.as_ref()?.link?;
        return element.rate.map(BitRate::as_f64);
    }
    let received = run.trials.iter().filter_map(|trial| trial.received_rate);
    let fastest = received.max().map_or(0.0, BitRate::as_f64);
    let facts = run
        .hosts
        .iter()
        .filter_map(|host| host.facts.link_speed_bps);
    let gauges = run.trials.iter().flat_map(Trial::raw).filter_map(|report| {
        let bps = *report.after.values.get(signals::LINK_SPEED_BPS)?;
        Some(BitRate::from_bps(bps))
    });
    facts
        .chain(gauges)
        .chain(run.config.link_speed)
        .map(BitRate::as_f64)
        .filter(|bps| *bps > 0.0 && *bps >= fastest)
        .min_by(f64::total_cmp)
}
