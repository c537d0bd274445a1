//! The bill of materials of a package: SPDX 2.3 as JSON.
//!
//! # References
//! - SPDX 2.3: <https://spdx.github.io/spdx-spec/v2.3/>
//! - Package URLs of crates: the type `cargo` of the purl specification

use crate::architecture::Architecture;
use crate::package::Package;
use crate::parts::Part;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The document that lists `parts` of a package's programs for `architecture`; `hash` is the SHA-256 of its first program.
pub fn bill(
    package: Package,
    parts: &[Part],
    architecture: Architecture,
    hash: &str,
    time: Timestamp,
) -> Value {
    let name = package.name();
    let root = &format!("SPDXRef-{name}");
    let version = env!("CARGO_PKG_VERSION");
    let mut packages = vec![json!({
        "SPDXID": root,
        "name": name,
        "versionInfo": version,
        "packageFileName": format!("/usr/bin/{name}"),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "checksums": [{"algorithm": "SHA256", "checksumValue": hash}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "MIT OR Apache-2.0",
        "copyrightText": "2026 The linerate contributors",
        "primaryPackagePurpose": "APPLICATION",
    })];
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", root)];
    for part in parts.iter().filter(|part| part.checksum.is_some()) {
        let id = identifier(part);
        relations.push(relation(root, "CONTAINS", &id));
        packages.push(entry(&id, part));
    }
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("{name}-{version}-{architecture}"),
        "documentNamespace": format!("https://spdx.org/spdxdocs/{name}-{version}-{architecture}-{hash}"),
        "creationInfo": {
            "created": time.to_string(),
            "creators": [format!("Tool: linerate-packages-{version}")],
        },
        "packages": packages,
        "relationships": relations,
    })
}

fn entry(id: &str, part: &Part) -> Value {
    let Part {
        name,
        version,
        licence,
        checksum,
        ..
    } = part;
    json!({
        "SPDXID": id,
        "name": name,
        "versionInfo": version,
        "downloadLocation": format!("https://crates.io/api/v1/crates/{name}/{version}/download"),
        "filesAnalyzed": false,
        "checksums": [{"algorithm": "SHA256", "checksumValue": checksum}],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{}", version.replace('+', "%2B")),
        }],
    })
}

fn relation(from: &str, kind: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}

/// Letters, digits, `.` and `-` only.
fn identifier(part: &Part) -> String {
    let words = format!("SPDXRef-crate-{}-{}", part.name, part.version);
    words.replace('_', ".underscore.").replace('+', ".plus.")
}
