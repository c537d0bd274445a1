//! The link or shaper: what arrives stays the same however much more is offered.

mod tcp;
mod udp;

use super::evidence::{Cpu, Delays, Evidence, LossPlaces, Need, Plateau, Regime};
use super::{Case, Cause, RuleOutcome, clear, not_recorded, proof_from, supported_if, words};
use crate::thresholds::link::QUEUE_LEFT;
use linerate_model::run::{Baseline, Change, Confidence, Experiment, Place, Prediction, Quantity};
use std::ops::RangeInclusive;

/// Where packets are lost that a link or shaper had no room for.
pub(crate) const BEFORE_RECEIVER: &[Place] = &[
    Place::SenderQdisc,
    Place::SenderNic,
    Place::Network,
    Place::Device,
];

/// Shares of an interface's speed at which it is full: the rest are gaps, pauses and other traffic. What is well above the
/// speed did not go through it.
pub(crate) const FULL_LINK: RangeInclusive<f64> = 0.95..=1.02;

/// A link or shaper carries all it can.
pub(crate) static CAUSE: Cause = Cause {
    id: "link",
    name: "the link's rate",
    subject: "the link",
    summary: "The link, or a shaper in the path, carried all it can: a flat rate, a standing queue, or its known speed.",
    needs: &[
        Need::ReceivedRate,
        Need::LinkSpeed,
        Need::Ledger,
        Need::Delay,
        Need::SeveralLoads,
    ],
    examine: Some(examine),
    because: |_| "at a higher load no more gets through",
    ..Cause::BASE
};

fn examine(evidence: &Evidence<'_>) -> RuleOutcome {
    if evidence.is_latency() {
        return clear(evidence.of_messages());
    }
    if !Need::ReceivedRate.is_met(evidence) && !Need::OfferedLoad.is_met(evidence) {
        return not_recorded(&[Need::ReceivedRate]);
    }
    let regime = evidence.regime();
    if regime == Regime::Nothing {
        return clear("everything that was intended was carried");
    }
    let view = View::from_evidence(evidence);
    if let Some(full) = view.full() {
        return CAUSE.found(full);
    }
    let outcome = match regime {
        Regime::Sender => view.sender_short(),
        _ if evidence.is_tcp() => view.tcp(),
        _ => view.datagrams(),
    };
    match &outcome {
        RuleOutcome::Found { verdict } if CAUSE.is_in(verdict) && evidence.is_within_veth() => {
            clear("one veth joins both hosts, and a veth keeps to no rate")
        }
        _ => outcome,
    }
}

/// What speaks for and against the link.
struct View<'a> {
    evidence: &'a Evidence<'a>,
    /// Best received rate, L4 payload; the offered one where the receiver's is not known.
    carried: f64,
    speed: Option<f64>,
    plateau: Option<Plateau>,
    delays: Option<Delays>,
    placed: Option<LossPlaces>,
}

impl<'a> View<'a> {
    fn from_evidence(evidence: &'a Evidence<'a>) -> Self {
        Self {
            evidence,
            carried: evidence.carried(),
            speed: evidence.link_speed(),
            plateau: Plateau::from_evidence(evidence),
            delays: Delays::from_evidence(evidence),
            // What could not be placed decides nothing.
            placed: LossPlaces::from_evidence(evidence)
                .filter(|p| p.share(&[Place::Unknown]) < 0.5),
        }
    }

    fn stands(&self) -> Option<bool> {
        self.delays.map(Delays::queue_stands)
    }

    /// Share of the interface's own speed that is used, if it is reached.
    fn filled(&self) -> Option<f64> {
        let share = self.evidence.wire_rate()? / self.speed?;
        FULL_LINK.contains(&share).then_some(share)
    }

    /// The interface's own speed is reached.
    fn full(&self) -> Option<Case> {
        let (speed, share) = (self.speed?, self.filled()?);
        let claim = format!(
            "The link limits: {} of L4 payload is {} at L1, with headers and gaps, {} of the link's {}.",
            words::rate(self.carried),
            words::rate(share * speed),
            words::percent(share),
            words::rate(speed)
        );
        Some(self.case(Some(1.0), Confidence::Supported, claim))
    }

    /// A queue stands; it is the link's unless it stands before a busy CPU.
    fn standing(&self, delays: Delays) -> RuleOutcome {
        let ends = Cpu::of_ends(self.evidence);
        if let Some(hot) = ends.iter().find(|cpu| cpu.is_hot()) {
            return clear(format!(
                "the queue stands before a busy CPU: {}",
                hot.figures().join(" ")
            ));
        }
        let idle = |cpu: &Cpu| cpu.is_idle() || cpu.is_starved();
        let both_idle = ends.len() == 2 && ends.iter().all(idle);
        // Of two ways at once the round trip does not tell on which the queue stands.
        let is_one_way = !self.evidence.is_tcp() || self.evidence.other_way().is_none();
        let confidence = supported_if(both_idle && is_one_way);
        let busy = self.evidence.tcp(|tcp| Some(tcp.busy_ratio?.get()));
        let share = busy.or_else(|| (!self.evidence.is_tcp()).then_some(1.0));
        let claim = format!(
            "The link limits: {} of L4 payload passed while a queue stood before it ({} {} under load, {} at best).",
            words::rate(self.carried),
            self.delay_name(),
            words::time(delays.loaded),
            words::time(delays.base)
        );
        CAUSE.found(self.case(share, confidence, claim))
    }

    fn delay_name(&self) -> &'static str {
        if self.evidence.is_tcp() {
            "RTT"
        } else {
            "median delay variation"
        }
    }

    fn passed(&self, flat: Option<bool>) -> String {
        match self.plateau.filter(|_| flat == Some(true)) {
            Some(plateau) if words::rate(plateau.beyond) == words::rate(plateau.to) => format!(
                "{} of L4 payload passed at a load of {}",
                words::rate(plateau.peak),
                words::rate(plateau.to)
            ),
            Some(plateau) => format!(
                "{} of L4 payload passed at every load from {} to {}",
                words::rate(plateau.peak),
                words::rate(plateau.beyond),
                words::rate(plateau.to)
            ),
            None => format!("{} of L4 payload passed", words::rate(self.carried)),
        }
    }

    /// What a link of a nominal speed carries: `passed`, where no speed is recorded; what is missing where the rate is no
    /// link's.
    fn nominal_or(&self, passed: &str, missing: &[Need]) -> RuleOutcome {
        let Some(speed) = self.evidence.nominal_speed() else {
            return not_recorded(missing);
        };
        let carried = format!("{passed}, what a link of {} carries", words::rate(speed));
        // Which of both is it, one rate does not tell.
        let ends = Cpu::of_ends(self.evidence);
        let hot = ends.iter().find(|cpu| cpu.is_hot());
        let claim = hot.map_or_else(
            || format!("The link probably limits: {carried}."),
            |cpu| {
                let (end, busy) = (cpu.name(), cpu.reason());
                format!("The link or the {end}'s CPU limits: {carried}, and {busy}.")
            },
        );
        CAUSE.found(self.case(Some(1.0), Confidence::Weak, claim))
    }

    fn no_plateau(&self) -> String {
        self.plateau.map_or_else(
            || "neither a flat rate nor a standing queue".to_owned(),
            |p| {
                format!(
                    "no link's plateau: {} arrived at best, {} at a load of {}",
                    words::rate(p.peak),
                    words::rate(p.last),
                    words::rate(p.to)
                )
            },
        )
    }

    fn case(&self, share: Option<f64>, confidence: Confidence, claim: String) -> Case {
        Case {
            share,
            confidence,
            claim,
            evidence: self.figures(),
            experiment: self.proving(),
        }
    }

    /// A link carries bits, whoever sends them in whatever packets; a queue that stands before it stays.
    ///
    /// Datagrams of half the size fill the wire as before, where a CPU would keep its packets per
    /// second and so half the rate, and a policer would keep no queue. Twice the TCP streams share the
    /// same total, where windows would add up and a competing flow would lose its share.
    fn proving(&self) -> Experiment {
        let standing = self.delays.filter(|delays| delays.queue_stands());
        let queue = standing.map(|delays| {
            Prediction::at_least(Quantity::DelayUnderLoad, QUEUE_LEFT * delays.loaded).absolute()
        });
        if !self.evidence.is_tcp() && queue.is_none() && self.filled().is_none() {
            // Nothing that is only passed on at a rate tells a link from a policer.
            return Experiment::in_words(
                "send the same load in bursts of 64 packets with pauses between",
                "a link spreads them; a policer passes those that fit its bucket at the speed of the line",
            );
        }
        let (change, rate) = if self.evidence.is_tcp() {
            let total = Prediction::within(Quantity::ReceivedRate, 0.93, 1.07);
            (Change::Streams { factor: 2 }, total)
        } else {
            // Shapers that count without preamble or headers let a few percent more through at L1.
            let wire = Prediction::within(Quantity::WireRate, 0.9, 1.1);
            (Change::Payload { factor: 0.5 }, wire)
        };
        let mut predictions = vec![rate];
        predictions.extend(queue);
        proof_from(Baseline::AbovePath, change, predictions)
    }

    fn figures(&self) -> Vec<String> {
        let mut figures = Vec::new();
        if let Some(speed) = self.speed {
            figures.push(format!(
                "The slower interface's speed is {}.",
                words::rate(speed)
            ));
        }
        if let Some(plateau) = self.plateau {
            figures.push(format!(
                "At {} intended, {} arrived.",
                words::rates(plateau.from, plateau.to),
                words::rates(plateau.lowest, plateau.peak)
            ));
        }
        if let Some(placed) = &self.placed {
            figures.push(format!(
                "Lost before the receiver's interface: {}.",
                placed.figure(BEFORE_RECEIVER)
            ));
        }
        if let Some(delays) = self.delays {
            let what = if self.evidence.is_tcp() {
                "RTT"
            } else {
                "Median delay variation"
            };
            figures.push(format!(
                "{what} rose from {} to {} under load.",
                words::time(delays.base),
                words::time(delays.loaded)
            ));
            if !delays.queue_stands() && !self.evidence.is_tcp() {
                figures.push(
                    "No queue stands: a policer, or a very short queue, would look the same."
                        .to_owned(),
                );
            }
        }
        if self.evidence.is_tcp() && self.evidence.other_way().is_some() {
            figures.push("Traffic flowed both ways: a queue on the other way lengthens the round trips of this one; test one way at a time.".to_owned());
        }
        figures.extend(tcp::bufferbloat(self.evidence));
        figures.extend(Cpu::of_ends(self.evidence).iter().flat_map(Cpu::figures));
        figures
    }
}
