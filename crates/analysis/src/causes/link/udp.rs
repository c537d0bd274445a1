//! The link as datagrams see it: a flat rate, or a queue that stands or overflows.

use super::{BEFORE_RECEIVER, CAUSE, View};
use crate::causes::evidence::{LossPlaces, Need, Plateau};
use crate::causes::own_shaper;
use crate::causes::{RuleOutcome, clear, not_recorded, words};
use crate::thresholds::plateau::FAR_RATIO;
use linerate_model::BitRate;
use linerate_model::run::{Confidence, Place, Trial};

impl View<'_> {
    /// Less offered than intended and nothing lost: only a link that pushes back does that.
    pub(super) fn sender_short(&self) -> RuleOutcome {
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
            None => self.nominal_or(&self.passed(None), &[Need::LinkSpeed]),
        }
    }

    pub(super) fn datagrams(&self) -> RuleOutcome {
        let flat = self.plateau.and_then(|plateau| plateau.flat);
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
            (None, None) => return not_recorded(&[Need::SeveralLoads, Need::Delay]),
            _ => return clear(self.no_plateau()),
        };
        let at_qdisc = [Place::SenderQdisc];
        if placed.share(&at_qdisc) > 0.5 {
            let claim = format!(
                "The sender's own queueing discipline limits: {}, and it dropped {}.",
                self.passed(flat),
                placed.figure(&at_qdisc)
            );
            return own_shaper::CAUSE.found(self.case(Some(share), confidence, claim));
        }
        let claim = format!(
            "The link limits: {}, and {} were lost {}.",
            self.passed(flat),
            placed.figure(BEFORE_RECEIVER),
            whereabouts(placed)
        );
        CAUSE.found(self.case(Some(share), confidence, claim))
    }

    /// Whether delay alone made the limit.
    fn lossless(&self) -> bool {
        let stressed = self.evidence.stressed();
        !stressed.is_empty()
            && stressed
                .iter()
                .all(|t| t.loss_ratio().is_some_and(|l| l.get() <= 0.0))
    }

    /// Whether a load was offered of which so much was lost that no sender or burst is why.
    fn is_far_exceeded(&self) -> bool {
        let far = 1.0 - 1.0 / FAR_RATIO;
        let loss = |trial: &&Trial| trial.loss_ratio().is_some_and(|loss| loss.get() >= far);
        self.evidence.stressed().iter().any(loss)
    }

    /// The figures of the rate alone, when nothing says where packets were lost.
    fn unplaced(&self, flat: Option<bool>) -> RuleOutcome {
        if flat == Some(false) {
            return clear(self.no_plateau());
        }
        let missing = [Need::Ledger, Need::LinkSpeed];
        if flat != Some(true) && !self.is_far_exceeded() {
            return not_recorded(&missing);
        }
        match self.evidence.carried_below_loss() {
            Some(whole) if flat == Some(true) && !self.is_nominal() && !self.falls() => {
                self.rate_limit(whole)
            }
            _ => self.nominal_or(&self.passed(flat), &missing),
        }
    }

    fn is_nominal(&self) -> bool {
        self.evidence.nominal_speed().is_some()
    }

    fn falls(&self) -> bool {
        self.plateau.is_some_and(|plateau| plateau.falls())
    }

    /// A rate that all higher loads get and a lower one does not reach, where nothing tells whose it is.
    fn rate_limit(&self, whole: BitRate) -> RuleOutcome {
        let claim = format!(
            "A rate limit behind the sender, probably the link's or a shaper's: {}, and {whole} arrived whole. A receiver that reads no faster looks the same in a log.",
            self.passed(Some(true))
        );
        CAUSE.found(self.case(Some(1.0), Confidence::Weak, claim))
    }
}

fn whereabouts(placed: &LossPlaces) -> &'static str {
    if placed.at(&[Place::Network]) * 2 >= placed.at(BEFORE_RECEIVER) {
        "in the network"
    } else {
        "at the sender's interface"
    }
}
