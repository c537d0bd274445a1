//! What copies cost: replicas of a multicast group, clones of a session.

use super::super::draft::Pipeline;
use super::super::rules::Rule;
use super::super::terms::{assign, call, constant, standard};
use super::super::{Family, Scale};

pub(super) const MULTICAST: Family = Family {
    id: "multicast",
    unit: "copy by multicast, through egress",
    levels: &[1, 2, 4, 8, 16],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        let group = assign(standard("mcast_grp"), constant(1));
        draft.statement(Pipeline::Ingress, "copies", [group]);
        draft.rules.push(Rule::Multicast {
            group: 1,
            copies: level,
        });
        draft.traffic.outputs = level;
    },
};

pub(super) const CLONE: Family = Family {
    id: "clone",
    unit: "clone from ingress, through egress",
    levels: &[0, 1, 2, 4, 8],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        let clone = call("clone_ingress_pkt_to_egress", &[constant(1), constant(0)]);
        let clones = (level > 0).then_some(clone);
        draft.statement(Pipeline::Ingress, "copies", clones);
        if level > 0 {
            draft.rules.push(Rule::Session {
                id: 1,
                copies: level,
            });
        }
        draft.traffic.outputs = level + 1;
    },
};
