//! Cost by layer of both ends, from the profiles in their reports.

use super::Ends;
use super::cpu::PayloadCounts;
use crate::cost::{self, Work};
use linerate_model::cost::{ProfileSide, ProfileSummary};
use linerate_model::signals;
use linerate_model::spec::Side;

/// `None` if no end was asked for a profile.
pub(super) fn summary(ends: &Ends<'_>) -> Option<ProfileSummary> {
    let summary = ProfileSummary {
        sender: of_side(ends, Side::Sender),
        receiver: of_side(ends, Side::Receiver),
    };
    (summary != ProfileSummary::default()).then_some(summary)
}

fn of_side(ends: &Ends<'_>, side: Side) -> Option<ProfileSide> {
    let report = ends.report(side)?;
    let Some(profile) = &report.profile else {
        let why = report.after.missing.get(signals::PROFILE)?;
        return Some(ProfileSide::Missing {
            missing: why.clone(),
        });
    };
    let moved = PayloadCounts::from_ends(ends, report);
    let work = Work {
        packets: moved.all_packets(),
        packet_kind: moved.packets.map(|(kind, _)| kind),
        bytes: moved.counted(moved.bytes),
    };
    Some(ProfileSide::Sampled(cost::by_layer(profile, work)))
}
