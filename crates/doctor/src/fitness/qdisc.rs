//! Queueing discipline of the interface.

use super::{FitnessCheck, fine, found, setting};
use linerate_model::condition::{Condition, ReadResult, RootQdisc};
use linerate_model::doctor::{CheckOutcome, Finding, Severity};
use linerate_model::knob::{Consent, Knob, Setting};

/// Disciplines without effect: queues of the interface's own length.
const PLAIN: &[&str] = &["noqueue", "pfifo_fast"];
/// Disciplines that bound or manage their queue, with the consequence.
const MANAGED: &[(&str, &str, &str)] = &[
    (
        "bfifo",
        "a queue of a length that somebody chose: what exceeds it is lost on this host",
        "tc-bfifo(8)",
    ),
    (
        "pfifo",
        "a queue of a length that somebody chose: what exceeds it is lost on this host",
        "tc-pfifo(8)",
    ),
    (
        "fq_codel",
        "drops packets that stand in it for more than 5 ms by default: loss that is this host's own, and each packet is hashed",
        "tc-fq_codel(8)",
    ),
    (
        "fq",
        "paces TCP, and holds at most 100 packets of one flow by default: loss and delay that are this host's own",
        "tc-fq(8)",
    ),
];

/// Kinds whose parameters survive reading and writing unchanged.
const EXACT: &[&str] = &["bfifo", "fq_codel", "pfifo"];

pub(super) static CHECK: FitnessCheck = FitnessCheck {
    id: "qdisc",
    summary: "The queueing discipline at the root of the interface.",
    examine: |condition| {
        let interface = condition.interface.clone()?;
        let root = condition.qdisc.as_ref().map_err(Clone::clone)?;
        let kind = root.kind.as_str();
        if PLAIN.contains(&kind) {
            return Ok(fine(kind));
        }
        if kind == "mq" {
            return many_queues(condition, &interface);
        }
        if let Some((_, cost, source)) = MANAGED.iter().find(|(name, ..)| *name == kind) {
            return Ok(found(Finding {
                severity: Severity::Low,
                now: kind.to_owned(),
                cost: (*cost).to_owned(),
                source: Some((*source).to_owned()),
                set: format!("tc qdisc replace dev {interface} root pfifo_fast"),
                settings: plain(root, &interface).into_iter().collect(),
            }));
        }
        Ok(found(Finding {
            severity: Severity::High,
            now: kind.to_owned(),
            cost: "it shapes, delays or drops by rules that somebody gave it: a result is that of the rules".to_owned(),
            source: None,
            set: format!("look what it is for (tc -s qdisc show dev {interface}), and remove it while measuring: tc qdisc del dev {interface} root"),
            settings: Vec::new(),
        }))
    },
};

/// A setting to replace the root discipline, only if that can be restored exactly: the kernel's default, by deleting
/// ours, and kinds that show all their parameters.
fn plain(root: &RootQdisc, interface: &str) -> Option<Setting> {
    let knob = Knob::QueueingDiscipline {
        interface: interface.to_owned(),
    };
    let can_return = root.is_default || EXACT.contains(&root.kind.as_str());
    can_return.then(|| setting(Consent::Safe, knob, "pfifo_fast"))
}

/// Outcome for a multi-queue root: each queue has its own discipline, normally the default one.
fn many_queues(condition: &Condition, interface: &str) -> ReadResult<CheckOutcome> {
    let default = condition.sysctl("net.core.default_qdisc")?;
    if PLAIN.contains(&default) {
        return Ok(fine(format!(
            "mq, where the default of a queue is {default}"
        )));
    }
    let managed = MANAGED.iter().find(|(name, ..)| *name == default);
    Ok(found(Finding {
        severity: Severity::Low,
        now: format!("mq, where the default of a queue is {default}"),
        cost: managed
            .map_or("it manages its queue", |(_, cost, _)| *cost)
            .to_owned(),
        source: managed.map(|(_, _, source)| (*source).to_owned()),
        set: format!(
            "sysctl -w net.core.default_qdisc=pfifo_fast && tc qdisc replace dev {interface} root mq (not made by --apply: what stood in each queue could not be put back exactly)"
        ),
        settings: Vec::new(),
    }))
}
