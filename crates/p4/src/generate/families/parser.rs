//! What parsing costs: fields of a header, headers in a row, branches of a state, bytes of payload.

use super::super::draft::{on, otherwise};
use super::super::terms::field;
use super::super::{Family, Scale};
use super::{FEW, usize_of};

pub(super) const FIELDS: Family = Family {
    id: "parse-field",
    unit: "field of 16 bits, parsed and emitted",
    levels: &[1, 2, 4, 8, 16, 32, 64],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        let names: Vec<_> = (0..level).map(|at| format!("f{at}")).collect();
        let fields: Vec<_> = names.iter().map(|name| (name.as_str(), 16)).collect();
        draft.parsed("h", &fields, &vec![0x11; 2 * usize_of(level)]);
    },
};

pub(super) const HEADERS: Family = Family {
    id: "parse-header",
    unit: "header of 4 bytes, parsed and emitted",
    levels: FEW,
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        for at in 0..level {
            let (name, next) = (format!("h{at}"), format!("h{}", at + 1));
            draft.header(&name, &[("next", 16), ("value", 16)]);
            let last = at + 1 == level;
            let transitions = [on(1, (!last).then_some(next.as_str())), otherwise(None)];
            draft.state(&name, &name, &[field(&name, "next")], &transitions);
            draft.bytes(&[0, u8::from(!last), 0x22, 0x22]);
        }
    },
};

/// States in a row of which each has branches; the packet takes the last branch of each.
const DEPTH: u32 = 4;

pub(super) const FAN_OUT: Family = Family {
    id: "parse-complex",
    unit: "branch in each of 4 states, not taken",
    levels: &[1, 2, 4, 8, 16, 32],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        draft.header("other", &[("next", 16), ("value", 16)]);
        for at in 0..DEPTH {
            let name = format!("h{at}");
            draft.header(&name, &[("next", 16), ("value", 16)]);
            draft.bytes(&[0, u8::try_from(level).unwrap_or(u8::MAX), 0x33, 0x33]);
        }
        for at in 0..DEPTH {
            let (name, next) = (format!("h{at}"), format!("h{}", at + 1));
            let others: Vec<_> = (1..level)
                .map(|branch| format!("other_{at}_{branch}"))
                .collect();
            let mut transitions: Vec<_> = others
                .iter()
                .zip(1..)
                .map(|(other, branch)| on(branch, Some(other.as_str())))
                .collect();
            transitions.push(on(level.into(), (at + 1 < DEPTH).then_some(next.as_str())));
            transitions.push(otherwise(None));
            draft.state(&name, &name, &[field(&name, "next")], &transitions);
        }
        for at in 0..DEPTH {
            for branch in 1..level {
                draft.state(
                    &format!("other_{at}_{branch}"),
                    "other",
                    &[],
                    &[otherwise(None)],
                );
            }
        }
    },
};

pub(super) const FRAME_LENGTH: Family = Family {
    id: "frame-length",
    unit: "byte of payload",
    levels: &[60, 124, 252, 508, 1020, 1514],
    scale: Scale::Linear,
    published: None,
    build: |draft, level| {
        draft.traffic.packet = vec![0; usize_of(level)];
    },
};
