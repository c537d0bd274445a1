//! Causes: everything that may limit a run, a folder each.
//!
//! A cause says what it is called, what shows it in one trial (`examine`: found, clear or not evaluated), and what is said
//! of it where signs and probes weigh most for it. What they weigh stands in `diagnosis/likelihoods.json`; how a verdict is
//! drawn, in `judge.rs`.
//!
//! What examines reads an `Evidence`, derived from one direction of one run, and nothing else. A check that
//! could not be made has not passed: it names what is missing. Nothing is ever more than *supported* by it;
//! *confirmed* is only for an experiment that was run and agreed.
//!
//! # References
//! - Causes: T-RAT (Zhang et al. 2002), RFC 6349, Linux TCP chronographs (commit 05b055e89121)
//! - Intended and offered load: RFC 2285 §3.5

mod evidence;
mod page;
pub(crate) mod words;

mod congestion;
pub(crate) mod device;
mod ephemeral_ports;
pub(crate) mod intended_load;
pub(crate) mod link;
pub(crate) mod open_connections;
pub(crate) mod other_programs;
pub(crate) mod outage;
mod overload_cpu;
pub(crate) mod own_shaper;
pub(crate) mod path_loss;
mod path_mtu;
mod place;
pub(crate) mod policer;
pub(crate) mod receiver_app;
mod receiver_backlog;
pub(crate) mod receiver_cpu;
pub(crate) mod receiver_socket;
pub(crate) mod receiver_window;
pub(crate) mod return_path;
mod round_trip;
pub(crate) mod sender_app;
pub(crate) mod sender_buffer;
pub(crate) mod sender_cpu;
pub(crate) mod tool;
mod unknown;

pub(crate) use evidence::{Evidence, has_bucket, link_speed};
use evidence::{Gap, Need, Regime};
pub(crate) use link::{BEFORE_RECEIVER, FULL_LINK};
pub use page::page;

use linerate_model::Ratio;
use linerate_model::run::{
    Baseline, Change, Confidence, Experiment, ExperimentTest, Limit, Prediction, RuleOutcome, Run,
    Trial, Verdict,
};
use linerate_model::spec::{Side, Transport};

/// Every cause. A new one: its folder with its case files, its `mod` line above, its entry here; what signs and probes say
/// of it goes into `diagnosis/likelihoods.json`.
///
/// The order breaks ties between causes that explain the same share: a cause comes before the place
/// where it shows (a receiver's CPU before the socket that overflows because of it). `unknown` is
/// last, since it reads what the others found.
pub(crate) static ALL: &[&Cause] = &[
    &round_trip::CAUSE,
    &intended_load::CAUSE,
    &tool::CAUSE,
    &other_programs::CAUSE,
    &device::CAUSE,
    &ephemeral_ports::CAUSE,
    &open_connections::CAUSE,
    &sender_cpu::CAUSE,
    &receiver_cpu::CAUSE,
    &receiver_backlog::CAUSE,
    &receiver_app::CAUSE,
    &receiver_socket::CAUSE,
    &receiver_window::CAUSE,
    &sender_buffer::CAUSE,
    &sender_app::CAUSE,
    &path_mtu::CAUSE,
    &outage::CAUSE,
    &policer::CAUSE,
    &own_shaper::CAUSE,
    &link::CAUSE,
    &path_loss::CAUSE,
    &return_path::CAUSE,
    &congestion::CAUSE,
    &unknown::CAUSE,
];

/// The cause with this id.
pub(crate) fn with_id(id: &str) -> Option<&'static Cause> {
    ALL.iter().copied().find(|cause| cause.id == id)
}

/// Something that may limit a run.
pub(crate) struct Cause {
    /// The kebab-case name in findings, case files, docs and the tables of likelihoods.
    pub(crate) id: &'static str,
    /// The id in verdicts, where that is another cause's: what tells the two apart is the side.
    reported_as: Option<&'static str>,
    /// What a verdict calls it, as a noun with its article: "the link's rate".
    name: &'static str,
    /// On which side; none for the path.
    pub(crate) side: Option<Side>,
    /// For sentences: "the link".
    pub(crate) subject: &'static str,
    /// One sentence for the reference page.
    summary: &'static str,
    /// What `examine` reads. Without these it may not be able to decide.
    needs: &'static [Need],
    /// Whether it explains what a sender of datagrams never offered, not only what was lost.
    explains_shortage: bool,
    /// Whether nothing is left to weigh beside it: nothing limits, or nothing gets through.
    is_whole_story: bool,
    /// Decides for one direction of one run; none where one trial alone does not show it.
    examine: Option<fn(&Evidence<'_>) -> RuleOutcome>,
    /// Why it limits, where signs and probes say that it does and `examine` has no words for it.
    because: fn(&Weighed<'_>) -> &'static str,
    /// The whole claim in place of the usual one.
    claim: Option<fn(&Weighed<'_>) -> String>,
}

/// A run of which signs and probes tell the cause.
pub(crate) struct Weighed<'a> {
    pub(crate) run: &'a Run,
    /// The trial whose rate is explained.
    pub(crate) limited: &'a Trial,
    /// Whether everything that was sent arrived, and nothing held the sender back.
    pub(crate) is_sender_alone: bool,
    /// Whether less was carried than a shaper of the sender's host lets pass.
    pub(crate) is_shaper_below: bool,
    /// Whether a shaper of the sender's host made the sender wait for room in its socket.
    pub(crate) is_shaper_waited_for: bool,
}

/// One of [`ALL`], or another.
impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl std::fmt::Debug for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

impl Cause {
    /// What a cause has that says nothing else.
    const BASE: Self = Self {
        id: "",
        reported_as: None,
        name: "",
        side: None,
        subject: "",
        summary: "",
        needs: &[],
        explains_shortage: false,
        is_whole_story: false,
        examine: None,
        because: |_| "best fit to what the probes showed",
        claim: None,
    };

    /// What a verdict calls it.
    pub(crate) fn limit(&self) -> Limit {
        Limit::new(self.reported_as.unwrap_or(self.id), self.name)
    }

    /// Whether `verdict` is about it.
    pub(crate) fn is_in(&self, verdict: &Verdict) -> bool {
        verdict.limit == self.limit() && verdict.side == self.side
    }

    /// Whether only what the path does to datagrams shows it: TCP alone looks alike before a link and a policer.
    pub(crate) const fn is_on_path(&self) -> bool {
        self.side.is_none()
    }

    /// Whether it is why a sender offers less than intended: nothing that limits where what was offered is lost.
    pub(crate) fn is_of_a_sender_that_falls_short(&self) -> bool {
        self.explains_shortage && self.side == Some(Side::Sender)
    }

    /// The outcome for one direction of one run; `None` where one trial alone does not show it.
    pub(crate) fn outcome(&self, evidence: &Evidence<'_>) -> Option<RuleOutcome> {
        let examine = self.examine?;
        if self.is_of_a_sender_that_falls_short() && evidence.is_lost_behind_sender() {
            return Some(clear(
                "packets that the sender offered were lost behind it: had it offered more, more would have been lost",
            ));
        }
        Some(examine(evidence))
    }

    /// The part of the gap between intended and received load that its share is of: shares of datagrams are of what was
    /// lost; what was never offered only a sender's own limits explain.
    pub(crate) fn share_of_gap(&self, evidence: &Evidence<'_>) -> f64 {
        // Where the sender's own limit made the bound, a cause that still speaks explains the shortage.
        if self.explains_shortage || evidence.is_tcp() || evidence.regime() != Regime::Loss {
            return 1.0;
        }
        1.0 - Gap::around_best(evidence).short_share()
    }

    /// The outcome where `case` shows it.
    fn found(&self, case: Case) -> RuleOutcome {
        self.found_at(self.side, case)
    }

    /// The outcome where `case` shows it on `side`.
    fn found_at(&self, side: Option<Side>, case: Case) -> RuleOutcome {
        RuleOutcome::Found {
            verdict: Box::new(Verdict {
                limit: self.limit(),
                side,
                share_ratio: case.share.map(Ratio::clamped),
                confidence: case.confidence.min(Confidence::Supported),
                claim: case.claim,
                evidence: case.evidence,
                experiment: Some(Box::new(case.experiment)),
                weighed: None,
                directions: Vec::new(),
            }),
        }
    }

    /// The verdict where only signs and probes show it.
    pub(crate) fn weighed(&self, weighed: &Weighed<'_>) -> Verdict {
        let what = match weighed.limited.transport {
            Transport::Tcp => "TCP",
            Transport::Udp => "datagrams",
        };
        let mut claim = format!(
            "{} limits {what} at {} of L4 payload: {}.",
            self.subject,
            weighed.limited.received_rate.unwrap_or_default(),
            (self.because)(weighed)
        );
        if let Some(claimed) = self.claim {
            claim = claimed(weighed);
        }
        if let Some(first) = claim.get_mut(0..1) {
            first.make_ascii_uppercase();
        }
        Verdict {
            limit: self.limit(),
            side: self.side,
            claim,
            ..undecided(String::new(), Vec::new())
        }
    }
}

/// Whether nothing is left to explain beside `verdict`.
pub(crate) fn is_whole_story(verdict: &Verdict) -> bool {
    let mut whole = ALL.iter().filter(|cause| cause.is_whole_story);
    whole.any(|cause| cause.limit() == verdict.limit)
}

/// A verdict that names no cause.
pub(crate) fn undecided(claim: String, evidence: Vec<String>) -> Verdict {
    Verdict {
        limit: Limit::unknown(),
        side: None,
        share_ratio: None,
        confidence: Confidence::Weak,
        claim,
        evidence,
        experiment: None,
        weighed: None,
        directions: Vec::new(),
    }
}

/// The case for a cause, while it is put together.
pub(crate) struct Case {
    /// Share of the loss or of the time that it explains; `None` when it cannot be said.
    share: Option<f64>,
    confidence: Confidence,
    claim: String,
    evidence: Vec<String>,
    /// [`proof`] where linerate can run it, else [`Experiment::in_words`].
    experiment: Experiment,
}

/// An experiment that linerate can run; its words follow from its values.
fn proof(change: Change, predictions: impl Into<Vec<Prediction>>) -> Experiment {
    proof_from(Baseline::default(), change, predictions)
}

/// An experiment that linerate can run on a search, whose baseline has a load of its own.
fn proof_from(
    baseline: Baseline,
    change: Change,
    predictions: impl Into<Vec<Prediction>>,
) -> Experiment {
    Experiment::from(ExperimentTest {
        change,
        predictions: predictions.into(),
        baseline,
    })
}

/// Supported where all that `holds` asks for was seen, else weak.
fn supported_if(holds: bool) -> Confidence {
    if holds {
        Confidence::Supported
    } else {
        Confidence::Weak
    }
}

fn clear(because: impl Into<String>) -> RuleOutcome {
    RuleOutcome::Clear {
        because: because.into(),
    }
}

fn not_evaluated(missing: impl Into<String>) -> RuleOutcome {
    RuleOutcome::NotEvaluated {
        missing: missing.into(),
    }
}

/// Not evaluated, since the run has none of `needs`.
fn not_recorded(needs: &[Need]) -> RuleOutcome {
    not_evaluated(Need::not_recorded(needs))
}

#[cfg(test)]
mod tests;
