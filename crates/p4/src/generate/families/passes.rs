//! What further passes cost: recirculation through both pipelines, resubmission through ingress.

use super::super::draft::{Draft, Pipeline};
use super::super::terms::{call, condition, constant, increment, scalar};
use super::super::{Family, Scale};

/// Passes that a packet may make are few: targets bound them.
const LEVELS: &[u32] = &[0, 1, 2, 4, 8];

/// In a pipeline, as many times: count the pass and go again.
fn passes(draft: &mut Draft, level: u32, pipeline: Pipeline, again: &str) {
    draft.scalar("passes", 8);
    draft.keeps("passes");
    draft.condition(
        pipeline,
        condition("<", &scalar("passes"), &constant(level.into())),
    );
    let primitives = [
        increment(&scalar("passes"), 0xff),
        call(again, &[constant(1)]),
    ];
    draft.statement(pipeline, "again", primitives);
}

pub(super) const RECIRCULATE: Family = Family {
    id: "recirculate",
    unit: "recirculation, through both pipelines",
    levels: LEVELS,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| passes(draft, level, Pipeline::Egress, "recirculate"),
};

pub(super) const RESUBMIT: Family = Family {
    id: "resubmit",
    unit: "resubmission, through ingress",
    levels: LEVELS,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| passes(draft, level, Pipeline::Ingress, "resubmit"),
};
