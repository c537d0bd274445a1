//! What the kernel's drop reasons say of the test's own datagrams.

use linerate_model::sample::EndpointReport;
use linerate_model::signals::{self, DROPS_WATCHED};

/// Reasons of a queueing discipline.
pub(super) const IN_QUEUE: &[&str] = &[
    "CAKE_FLOOD",
    "DUALPI2_STEP_DROP",
    "FQ_BAND_LIMIT",
    "FQ_FLOW_LIMIT",
    "FQ_HORIZON_LIMIT",
    "QDISC_CONGESTED",
    "QDISC_DROP",
    "QDISC_OVERLIMIT",
];

/// Reasons between the sending call and the queueing discipline.
pub(super) const BEFORE_QUEUE: &[&str] = &["NETFILTER_DROP", "TC_EGRESS"];

/// Reasons of the softnet backlog.
pub(super) const IN_BACKLOG: &[&str] = &["CPU_BACKLOG"];

/// Reasons at a receiving host for which the ledger has no place.
const BEHIND_BACKLOG: &[&str] = &[
    "IP_CSUM",
    "IP_INNOROUTES",
    "IP_LOCAL_SOURCE",
    "IP_RPFILTER",
    "NETFILTER_DROP",
    "NO_SOCKET",
    "OTHERHOST",
    "SOCKET_FILTER",
    "TC_INGRESS",
];

/// The drop reasons of one end.
pub(super) struct Reasons<'a> {
    report: Option<&'a EndpointReport>,
}

/// How many packets a counter of a host says were the test's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) at_least: u64,
    pub(super) at_most: u64,
}

impl Bounds {
    /// All of them may be others'.
    pub(super) const fn up_to(at_most: u64) -> Self {
        Self {
            at_least: 0,
            at_most,
        }
    }
}

impl<'a> Reasons<'a> {
    /// Those of `report`; none if the kernel did not count them.
    pub(super) fn from_report(report: &'a EndpointReport) -> Self {
        let watched = report.after.values.contains_key(DROPS_WATCHED);
        Self {
            report: watched.then_some(report),
        }
    }

    /// Whether the kernel counted them.
    pub(super) fn are_known(&self) -> bool {
        self.report.is_some()
    }

    /// Narrows the bounds of a host-wide counter: what the kernel counted as the test's own is certain,
    /// and if it counted as many packets in all as the counter did, the others are not the test's.
    pub(super) fn refine(&self, bounds: Bounds, reasons: &[&str]) -> Bounds {
        if self.report.is_none() {
            return bounds;
        }
        let own = self.sum(reasons, signals::own_drops).min(bounds.at_most);
        let all = self.sum(reasons, signals::all_drops);
        if all >= bounds.at_most {
            Bounds {
                at_least: own,
                at_most: own,
            }
        } else {
            Bounds {
                at_least: own.max(bounds.at_least),
                ..bounds
            }
        }
    }

    /// The test's own datagrams that a receiving host dropped at no place of the ledger, by reason.
    pub(super) fn unplaced(&self) -> Vec<(&'static str, u64)> {
        let count = |reason: &&'static str| (*reason, self.sum(&[*reason], signals::own_drops));
        let counts = BEHIND_BACKLOG.iter().map(count);
        counts.filter(|(_, packets)| *packets > 0).collect()
    }

    fn sum(&self, reasons: &[&str], signal: fn(&str) -> String) -> u64 {
        let Some(report) = self.report else { return 0 };
        let count = |reason: &&str| report.after.values.get(&signal(reason)).copied();
        reasons
            .iter()
            .filter_map(count)
            .fold(0, u64::saturating_add)
    }
}

/// Why one end has no drop reasons; `None` if it has.
pub(super) fn missing(report: &EndpointReport) -> Option<&str> {
    report.after.missing.get(DROPS_WATCHED).map(String::as_str)
}
