//! The families, one file for those that share how they are made.

mod copies;
mod direct;
mod entries;
mod externs;
mod fields;
mod headers;
mod parser;
mod passes;
mod pipeline;
mod state;

use super::draft::Draft;
use super::{Family, Published, Scale};

/// Every family.
pub const ALL: &[Family] = &[
    parser::FIELDS,
    parser::HEADERS,
    parser::FAN_OUT,
    parser::FRAME_LENGTH,
    fields::SET,
    fields::ADD,
    headers::ADD,
    headers::REMOVE,
    pipeline::EXACT,
    pipeline::LPM,
    pipeline::TERNARY,
    pipeline::RANGE,
    pipeline::CONDITIONS,
    entries::EXACT,
    entries::LPM,
    entries::TERNARY,
    entries::RANGES,
    entries::PREFIXES,
    entries::MASKS_FIRST,
    entries::MASKS_LAST,
    entries::MASKS_NONE,
    state::READ,
    state::WRITE,
    externs::COUNTER,
    direct::COUNTER,
    externs::METER,
    direct::METER,
    externs::HASH_CRC16,
    externs::HASH_CRC32,
    externs::HASH_CSUM16,
    externs::HASH_IDENTITY,
    externs::CHECKSUM,
    direct::PROFILE,
    direct::SELECTOR,
    externs::DIGEST,
    copies::MULTICAST,
    copies::CLONE,
    passes::RECIRCULATE,
    passes::RESUBMIT,
];

/// How many of a thing, in powers of two.
const FEW: &[u32] = &[0, 1, 2, 4, 8, 16];

/// Makes the program of a level.
type Build = fn(&mut Draft, u32);

/// A family of programs with few of `unit`, one more after the other.
const fn linear(
    id: &'static str,
    unit: &'static str,
    published: Option<Published>,
    build: Build,
) -> Family {
    Family {
        id,
        unit,
        levels: FEW,
        scale: Scale::Linear,
        published,
        build,
    }
}

/// A number as small as a length or a place.
fn usize_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
