//! The link or shaper: what arrives stays the same however much more is offered.

use super::evidence::{Cpu, Delays, Evidence, Need, Placed, Plateau, Regime};
use super::{Case, Rule, RuleOutcome, clear, not_evaluated, proof, words};
use linerate_model::run::{Change, Confidence, Experiment, Limit, Place, Prediction, Quantity};
use linerate_model::spec::Side;
use linerate_model::{BitRate, FrameOverhead, Layer};

/// A link or shaper carries all it can.
pub(super) struct Link;

/// Where packets are lost that a link or shaper had no room for.
const BEFORE_RECEIVER: &[Place] = &[Place::SenderQdisc, Place::SenderNic, Place::Network];

/// A queue that stands keeps at least this share of its delay when only the packets change.
const QUEUE_LEFT: f64 = 0.3;

/// A link this full is full: the rest are gaps, pauses and other traffic.
const FULL: f64 = 0.95;

impl Rule for Link {
    fn id(&self) -> &'static str {
        "link"
    }

    fn limit(&self) -> Limit {
        Limit::Link
    }

    fn summary(&self) -> &'static str {
        "The link, or a shaper in the path, carried all it can: a flat rate, a standing queue, or its known speed."
    }

    fn needs(&self) -> &'static [Need] {
        &[
            Need::ReceivedRate,
            Need::LinkSpeed,
            Need::Ledger,
            Need::Delay,
            Need::SeveralLoads,
        ]
    }

    fn examine(&self, evidence: &Evidence<'_>) -> RuleOutcome {
        if evidence.is_latency() {
            return clear("request/response keeps one message in flight and does not fill a link");
        }
        if !Need::ReceivedRate.is_met(evidence) && !Need::OfferedLoad.is_met(evidence) {
            return not_evaluated(format!("Not recorded: {}", Need::ReceivedRate.describe()));
        }
        let regime = evidence.regime();
        if regime == Regime::Nothing {
            return clear("everything that was intended was carried");
        }
        let view = View::of(evidence);
        if let Some(full) = view.full() {
            return full.found();
        }
        match regime {
            Regime::Sender => view.sender_short(),
            _ if evidence.is_tcp() => view.tcp(),
            _ => view.datagrams(),
        }
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
    placed: Option<Placed>,
}

impl<'a> View<'a> {
    fn of(evidence: &'a Evidence<'a>) -> Self {
        let best = |trial: &&linerate_model::run::Trial| trial.received_rate.or(trial.offered_load);
        Self {
            evidence,
            carried: evidence
                .trials()
                .iter()
                .filter_map(best)
                .max()
                .map_or(0.0, BitRate::as_f64),
            speed: evidence.link_speed(),
            plateau: Plateau::of(evidence),
            delays: Delays::of(evidence),
            // What could not be placed decides nothing.
            placed: Placed::of(evidence).filter(|p| p.share(&[Place::Unknown]) < 0.5),
        }
    }

    /// Bit/s on the wire, from the payload rate and the headers of each packet.
    fn on_the_wire(&self) -> Option<f64> {
        let overhead = if self.evidence.is_tcp() {
            FrameOverhead {
                l4_header_bytes: 32,
                ..FrameOverhead::UDP_IPV4
            }
        } else {
            FrameOverhead::UDP_IPV4
        };
        let trial = self.evidence.trials().first()?;
        let segment = if self.evidence.is_tcp() {
            trial
                .tcp
                .as_ref()
                .and_then(|tcp| tcp.smss_bytes)
                .unwrap_or(1448)
        } else {
            trial.payload_bytes?.get()
        };
        let rate = overhead.rate_at(Layer::L1, BitRate::from_f64(self.carried), segment)?;
        Some(rate.as_f64())
    }

    fn stands(&self) -> Option<bool> {
        self.delays.map(Delays::queue_stands)
    }

    /// The interface's own speed is reached.
    fn full(&self) -> Option<Case> {
        let (speed, wire) = (self.speed?, self.on_the_wire()?);
        let share = wire / speed;
        // Above the speed of the interface, the traffic did not go through it.
        if !(FULL..=1.02).contains(&share) {
            return None;
        }
        let claim = format!(
            "The link limits: {} of L4 payload is {} of its {} with headers and gaps.",
            words::rate(self.carried),
            words::percent(share),
            words::rate(speed)
        );
        Some(self.case(Some(1.0), Confidence::Supported, claim))
    }

    /// Less offered than intended and nothing lost: only a link that pushes back does that.
    fn sender_short(&self) -> RuleOutcome {
        if let Some(plateau) = self.plateau.filter(Plateau::falls) {
            return clear(format!(
                "the rate falls from {} to {} when {} instead of {} is asked for; a link keeps its rate",
                words::rate(plateau.peak),
                words::rate(plateau.last),
                words::rate(plateau.to),
                words::rate(plateau.peak_load)
            ));
        }
        match self.speed {
            Some(speed) => clear(format!(
                "the sender fell short at {} of L4 payload, far below the link's {}, and nothing was lost",
                words::rate(self.carried),
                words::rate(speed)
            )),
            None => not_evaluated(format!("Not recorded: {}", Need::LinkSpeed.describe())),
        }
    }

    fn datagrams(&self) -> RuleOutcome {
        let flat = self.plateau.and_then(|plateau| plateau.is_flat());
        if let Some(delays) = self.delays.filter(|d| d.queue_stands() && self.lossless()) {
            return self.standing(delays);
        }
        let Some(placed) = &self.placed else {
            return self.unplaced(flat);
        };
        let share = placed.share(BEFORE_RECEIVER);
        if share < 0.1 {
            return clear(format!(
                "{} were lost before the receiver",
                placed.figure(BEFORE_RECEIVER)
            ));
        }
        let confidence = match (flat, self.stands()) {
            (_, Some(true)) | (Some(true), None) => Confidence::Supported,
            (Some(true), Some(false)) => Confidence::Weak,
            (None, None) => {
                return not_evaluated(format!(
                    "Not recorded: {}; {}",
                    Need::SeveralLoads.describe(),
                    Need::Delay.describe()
                ));
            }
            _ => return clear(self.no_plateau()),
        };
        let claim = format!(
            "The link limits: {}, and {} were lost {}.",
            self.passed(flat),
            placed.figure(BEFORE_RECEIVER),
            whereabouts(placed)
        );
        self.case(Some(share), confidence, claim).found()
    }

    /// Whether delay alone made the limit.
    fn lossless(&self) -> bool {
        let stressed = self.evidence.stressed();
        !stressed.is_empty()
            && stressed
                .iter()
                .all(|t| t.loss_ratio().is_some_and(|l| l.get() <= 0.0))
    }

    /// The figures of the rate alone, when nothing says where packets were lost.
    fn unplaced(&self, flat: Option<bool>) -> RuleOutcome {
        if flat == Some(false) {
            return clear(self.no_plateau());
        }
        let standard = self.on_the_wire().and_then(nominal);
        let Some(speed) = standard.filter(|_| flat == Some(true)) else {
            return not_evaluated(format!(
                "Not recorded: {}; {}",
                Need::Ledger.describe(),
                Need::LinkSpeed.describe()
            ));
        };
        let claim = format!(
            "The link probably limits: {}, what a link of {} carries.",
            self.passed(flat),
            words::rate(speed)
        );
        self.case(None, Confidence::Weak, claim).found()
    }

    fn tcp(&self) -> RuleOutcome {
        let Some(delays) = self.delays else {
            return not_evaluated(format!("Not recorded: {}", Need::Delay.describe()));
        };
        if !delays.queue_stands() {
            return clear(format!(
                "no queue stands: RTT under load {} against {} at best",
                words::time(delays.loaded),
                words::time(delays.base)
            ));
        }
        self.standing(delays)
    }

    /// A queue stands; it is the link's unless it stands before a busy CPU.
    fn standing(&self, delays: Delays) -> RuleOutcome {
        let ends = [Side::Sender, Side::Receiver].map(|side| Cpu::of_side(self.evidence, side));
        if let Some(hot) = ends.iter().flatten().find(|cpu| cpu.is_hot()) {
            return clear(format!(
                "the queue stands before a busy CPU: {}",
                hot.figures().join(" ")
            ));
        }
        let both_idle = ends
            .iter()
            .flatten()
            .filter(|cpu| cpu.is_idle() || cpu.is_starved())
            .count()
            == 2;
        let confidence = if both_idle {
            Confidence::Supported
        } else {
            Confidence::Weak
        };
        let busy = self.evidence.tcp(|tcp| Some(tcp.busy_ratio?.get()));
        let share = busy.or_else(|| (!self.evidence.is_tcp()).then_some(1.0));
        let claim = format!(
            "The link limits: {} of L4 payload passed while a queue stood before it ({} {} under load, {} at best).",
            words::rate(self.carried),
            self.delay_name(),
            words::time(delays.loaded),
            words::time(delays.base)
        );
        self.case(share, confidence, claim).found()
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
            Some(plateau) => format!(
                "{} of L4 payload passed at every load from {} to {}",
                words::rate(plateau.peak),
                words::rate(plateau.from),
                words::rate(plateau.to)
            ),
            None => format!("{} of L4 payload passed", words::rate(self.carried)),
        }
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
            limit: Limit::Link,
            side: None,
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
        let queue = self
            .delays
            .filter(|delays| delays.queue_stands())
            .map(|delays| Prediction::at_least(Quantity::Delay, QUEUE_LEFT * delays.loaded));
        let (change, rate) = if self.evidence.is_tcp() {
            let total = Prediction::within(Quantity::ReceivedRate, 0.93, 1.07);
            (Change::Streams { factor: 2 }, total)
        } else {
            // Shapers that count without preamble or headers let a few percent more through at L1.
            let wire = Prediction::within(Quantity::WireRate, 0.9, 1.1);
            (Change::Payload { factor: 0.5 }, wire)
        };
        let predictions: Vec<Prediction> = [rate]
            .into_iter()
            .chain(queue.map(Prediction::absolute))
            .collect();
        proof(change, predictions)
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
                "{} were lost before the receiver's interface.",
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
        for side in [Side::Sender, Side::Receiver] {
            figures.extend(
                Cpu::of_side(self.evidence, side)
                    .iter()
                    .flat_map(Cpu::figures),
            );
        }
        figures
    }
}

fn whereabouts(placed: &Placed) -> &'static str {
    if placed.at(&[Place::Network]) * 2 >= placed.at(BEFORE_RECEIVER) {
        "in the network"
    } else {
        "at the sender's interface"
    }
}

/// The nominal Ethernet speed that `wire` bit/s fill to within two percent.
fn nominal(wire: f64) -> Option<f64> {
    [
        1e7, 1e8, 1e9, 2.5e9, 5e9, 1e10, 2.5e10, 4e10, 1e11, 2e11, 4e11,
    ]
    .into_iter()
    .find(|speed| (0.98..=1.005).contains(&(wire / speed)))
}
