//! What each extern costs by itself.

use super::super::draft::{Draft, Pipeline};
use super::super::rules::Rule;
use super::super::terms::{array, call, constant, is_valid, scalar};
use super::super::{Family, Published};
use super::{Build, linear};
use crate::exec::{Bucket, MeterConfig};
use serde_json::json;

/// What flows are told apart by: 13 bytes.
const FLOW: [(&str, u32); 5] = [
    ("src", 32),
    ("dst", 32),
    ("protocol", 8),
    ("sport", 16),
    ("dport", 16),
];
/// IPv4's header without its checksum: 18 bytes.
const IPV4: [(&str, u32); 9] = [
    ("version_ihl", 8),
    ("dscp_ecn", 8),
    ("length", 16),
    ("identification", 16),
    ("fragment", 16),
    ("ttl", 8),
    ("protocol", 8),
    ("src", 32),
    ("dst", 32),
];

/// A meter that colours every packet anew, for longer than a test takes.
pub(super) const RATE: MeterConfig = MeterConfig {
    committed: Bucket {
        rate: 1_000,
        burst: 1_000,
    },
    peak: Bucket {
        rate: 1_000_000_000,
        burst: 1_000_000_000,
    },
    excess: 0,
};

const fn family(id: &'static str, unit: &'static str, cycles: Option<u32>, build: Build) -> Family {
    linear(id, unit, Published::of(cycles, "1 call"), build)
}

pub(super) const COUNTER: Family = family(
    "counter",
    "packet and its bytes counted",
    Some(28),
    |draft, level| {
        draft
            .arrays
            .counters
            .push(json!({"name": "counted", "id": 0, "is_direct": false, "size": 64}));
        let counts = (0..level).map(|at| {
            call(
                "count",
                &[array("counter_array", "counted"), constant(at.into())],
            )
        });
        draft.statement(Pipeline::Ingress, "externs", counts);
    },
);

pub(super) const METER: Family = family(
    "meter",
    "packet coloured by a meter",
    Some(255),
    |draft, level| {
        draft.scalar("colour", 32);
        draft.arrays.meters.push(
        json!({"name": "coloured", "id": 0, "is_direct": false, "size": 1, "rate_count": 2, "type": "packets"}),
    );
        let meter = || {
            call(
                "execute_meter",
                &[
                    array("meter_array", "coloured"),
                    constant(0),
                    scalar("colour"),
                ],
            )
        };
        draft.statement(Pipeline::Ingress, "externs", (0..level).map(|_| meter()));
        draft.rules.push(Rule::Meter {
            array: 0,
            config: RATE,
        });
    },
);

/// As many hashes of a flow, one after the other.
fn hashes(draft: &mut Draft, level: u32, algorithm: &str) {
    draft.scalar("hash", 32);
    draft.parsed("flow", &FLOW, &[0x66; 13]);
    let calculation = draft.calculation(algorithm, "flow", &FLOW);
    let hash = || {
        let calculation = array("calculation", &calculation);
        call(
            "modify_field_with_hash_based_offset",
            &[scalar("hash"), constant(0), calculation, constant(1 << 16)],
        )
    };
    let calls = (0..level).map(|_| hash());
    draft.statement(Pipeline::Ingress, "externs", calls);
}

pub(super) const HASH_CRC16: Family =
    family("hash-crc16", "crc16 of 13 bytes", None, |draft, level| {
        hashes(draft, level, "crc16");
    });
pub(super) const HASH_CRC32: Family = family(
    "hash-crc32",
    "crc32 of 13 bytes",
    Some(124),
    |draft, level| hashes(draft, level, "crc32"),
);
pub(super) const HASH_CSUM16: Family =
    family("hash-csum16", "csum16 of 13 bytes", None, |draft, level| {
        hashes(draft, level, "csum16");
    });
pub(super) const HASH_IDENTITY: Family = family(
    "hash-identity",
    "identity of 13 bytes",
    None,
    |draft, level| hashes(draft, level, "identity"),
);

/// Fields for as many checksums.
const SUMS: u32 = 16;

pub(super) const CHECKSUM: Family = family(
    "checksum",
    "IPv4 header checksum made anew",
    Some(304),
    |draft, level| {
        draft.parsed("ipv4", &IPV4, &[0x45; 18]);
        let names: Vec<_> = (0..SUMS).map(|at| format!("sum{at}")).collect();
        let fields: Vec<_> = names.iter().map(|name| (name.as_str(), 16)).collect();
        draft.header("sums", &fields);
        let calculation = draft.calculation("csum16", "ipv4", &IPV4);
        for name in names.iter().zip(0..level).map(|(name, _)| name) {
            draft.checksum(["sums", name], &calculation, &is_valid("ipv4"));
        }
    },
);

pub(super) const DIGEST: Family = Family {
    levels: &[0, 1],
    ..family("digest", "digest of 4 bytes", Some(109), |draft, level| {
        draft.key(1);
        let value = json!({"type": "field", "value": ["key", "value"]});
        draft
            .arrays
            .digests
            .push(json!({"id": 1, "name": "seen", "elements": [value]}));
        let digests = (0..level).map(|_| call("generate_digest", &[constant(1), constant(1)]));
        draft.statement(Pipeline::Ingress, "externs", digests);
    })
};
