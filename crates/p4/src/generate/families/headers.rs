//! What adding and removing headers costs.

use super::super::draft::{Pipeline, otherwise};
use super::super::terms::{call, header};
use super::super::{Family, Scale};
use super::FEW;

/// Headers that a program has, whether it adds or removes them or not.
const HEADERS: u32 = 16;

fn name(at: u32) -> String {
    format!("h{at}")
}

pub(super) const ADD: Family = Family {
    id: "add-header",
    unit: "header of 4 bytes, added and emitted",
    levels: FEW,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        for at in 0..HEADERS {
            draft.header(&name(at), &[("a", 16), ("b", 16)]);
        }
        let added = (0..level).map(|at| call("add_header", &[header(&name(at))]));
        draft.statement(Pipeline::Ingress, "change", added);
    },
};

pub(super) const REMOVE: Family = Family {
    id: "remove-header",
    unit: "header of 4 bytes, removed",
    levels: FEW,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        for at in 0..HEADERS {
            draft.header(&name(at), &[("a", 16), ("b", 16)]);
            draft.bytes(&[0x55; 4]);
        }
        for at in 0..HEADERS {
            let next = name(at + 1);
            let next = (at + 1 < HEADERS).then_some(next.as_str());
            draft.state(&name(at), &name(at), &[], &[otherwise(next)]);
        }
        let removed = (0..level).map(|at| call("remove_header", &[header(&name(at))]));
        draft.statement(Pipeline::Ingress, "change", removed);
    },
};
