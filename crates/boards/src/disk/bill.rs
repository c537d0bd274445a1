//! The bill of materials of an image: SPDX 2.3 as JSON.
//!
//! # References
//! - SPDX 2.3: <https://spdx.github.io/spdx-spec/v2.3/>
//! - Package URLs of Debian packages: the type `deb` of the purl specification

use super::licence::{Licences, licences};
use super::root::Root;
use super::stock::Package;
use linerate_model::WallTime;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A Debian package in the image.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) package: &'a Package,
    pub(crate) licences: Licences,
}

impl<'a> Part<'a> {
    /// Package with the licences from its `copyright` file in `root`.
    pub(crate) fn new(package: &'a Package, root: &Root) -> Self {
        let text = root.text(&format!("usr/share/doc/{}/copyright", package.name));
        Self {
            package,
            licences: licences(&text.unwrap_or_default()),
        }
    }
}

/// Subject of a bill of materials.
#[derive(Debug)]
pub(crate) struct Image<'a> {
    /// File name.
    pub(crate) name: &'a str,
    /// SHA-256 of the image.
    pub(crate) hash: &'a str,
    /// linerate's own programs: name and SHA-256.
    pub(crate) programs: &'a [(&'static str, String)],
    /// Debian release.
    pub(crate) suite: &'a str,
    /// Creation time.
    pub(crate) made: WallTime,
}

/// Version of this program, and of the agent that `make dist` builds beside it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// SPDX identifier of the image among the packages.
const IMAGE: &str = "SPDXRef-image";

/// Writes the document.
pub(crate) fn bill(image: &Image<'_>, parts: &[Part<'_>]) -> Value {
    let mut packages = vec![whole(image)];
    let mut relations = vec![relation("SPDXRef-DOCUMENT", "DESCRIBES", IMAGE)];
    for (name, hash) in image.programs {
        let id = format!("SPDXRef-{name}");
        relations.push(relation(IMAGE, "CONTAINS", &id));
        packages.push(own(&id, name, hash));
    }
    let mut texts = BTreeMap::new();
    for part in parts {
        let id = identifier(&part.package.name);
        relations.push(relation(IMAGE, "CONTAINS", &id));
        packages.push(debian(&id, part, image.suite));
        for (reference, name) in &part.licences.references {
            let text = format!(
                "Called \"{name}\" by Debian. The text is in the image: /usr/share/doc/{}/copyright",
                part.package.name
            );
            texts.entry(reference).or_insert(text);
        }
    }
    let texts: Vec<_> = texts
        .into_iter()
        .map(|(id, text)| json!({"licenseId": id, "extractedText": text}))
        .collect();
    json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": image.name,
        "documentNamespace": format!("https://spdx.org/spdxdocs/linerate-image-{}", image.hash),
        "creationInfo": {
            "created": image.made,
            "creators": [format!("Tool: linerate-{VERSION}")],
        },
        "packages": packages,
        "hasExtractedLicensingInfos": texts,
        "relationships": relations,
    })
}

fn whole(image: &Image<'_>) -> Value {
    json!({
        "SPDXID": IMAGE,
        "name": image.name,
        "packageFileName": image.name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "checksums": [checksum(image.hash)],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "OPERATING-SYSTEM",
    })
}

fn own(id: &str, name: &str, hash: &str) -> Value {
    json!({
        "SPDXID": id,
        "name": name,
        "versionInfo": VERSION,
        "packageFileName": format!("/usr/bin/{name}"),
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "checksums": [checksum(hash)],
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "MIT OR Apache-2.0",
        "copyrightText": "NOASSERTION",
        "primaryPackagePurpose": "APPLICATION",
    })
}

fn debian(id: &str, part: &Part<'_>, suite: &str) -> Value {
    let Package {
        name,
        version,
        architecture,
        source,
        homepage,
        hash,
        ..
    } = part.package;
    let declared = part.licences.expression.as_deref();
    let mut package = json!({
        "SPDXID": id,
        "name": name,
        "versionInfo": version,
        "packageFileName": part.package.file_name(),
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "checksums": [checksum(hash)],
        "sourceInfo": format!("built from Debian's source package {source}"),
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared.unwrap_or("NOASSERTION"),
        "copyrightText": "NOASSERTION",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!(
                "pkg:deb/debian/{}@{}?arch={architecture}&distro={}",
                escaped(name), escaped(version), escaped(suite)
            ),
        }],
    });
    if let Some(homepage) = homepage {
        package["homepage"] = homepage.as_str().into();
    }
    package
}

fn relation(from: &str, kind: &str, to: &str) -> Value {
    json!({"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to})
}

fn checksum(hash: &str) -> Value {
    json!({"algorithm": "SHA256", "checksumValue": hash})
}

/// An SPDX identifier: letters, digits, `.` and `-` only; distinct for distinct Debian names.
fn identifier(name: &str) -> String {
    format!("SPDXRef-Package-{}", name.replace('+', ".plus."))
}

/// Percent-encoding of package URLs.
fn escaped(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        let plain = byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte);
        if plain {
            out.push(byte.into());
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::licence::licences;
    use linerate_schema_check::{SPDX_2_3, validate_against};
    use std::collections::BTreeSet;

    fn package(name: &str, version: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            architecture: "riscv64".to_owned(),
            source: format!("{name} ({version})"),
            homepage: Some("https://example.org/".to_owned()),
            hash: "ab".repeat(32),
        }
    }

    fn document() -> Value {
        let packages = [
            package("iperf3", "3.18-2"),
            package("libstdc++6", "1:15-1+b1"),
        ];
        let text = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nLicense: NCSA+\n";
        let parts: Vec<_> = packages
            .iter()
            .map(|package| Part {
                package,
                licences: licences(text),
            })
            .collect();
        let image = Image {
            name: "sd.img",
            hash: &"cd".repeat(32),
            programs: &["linerate", "linerate-p4"].map(|name| (name, "ef".repeat(32))),
            suite: "trixie",
            made: WallTime::from_unix(1_790_000_000).unwrap(),
        };
        bill(&image, &parts)
    }

    #[test]
    fn a_bill_is_valid_and_every_name_in_it_is_defined_once() {
        let bill = document();
        validate_against(SPDX_2_3, &bill).unwrap();
        let packages = bill["packages"].as_array().unwrap();
        let ids: BTreeSet<_> = packages
            .iter()
            .map(|p| p["SPDXID"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), 5);
        assert!(ids.contains("SPDXRef-linerate-p4"));
        for relation in bill["relationships"].as_array().unwrap() {
            let to = relation["relatedSpdxElement"].as_str().unwrap();
            assert!(ids.contains(to), "{relation}");
        }
        assert_eq!(bill["creationInfo"]["created"], "2026-09-21T14:13:20Z");
        let texts = bill["hasExtractedLicensingInfos"].as_array().unwrap();
        assert_eq!(texts.len(), 1);
        assert_eq!(texts[0]["licenseId"], packages[3]["licenseDeclared"]);
    }

    #[test]
    fn a_package_is_named_as_package_managers_name_it() {
        let bill = document();
        let purl = &bill["packages"][4]["externalRefs"][0]["referenceLocator"];
        let expected = "pkg:deb/debian/libstdc%2B%2B6@1:15-1%2Bb1?arch=riscv64&distro=trixie";
        assert_eq!(purl, expected);
        assert_eq!(
            bill["packages"][4]["SPDXID"],
            "SPDXRef-Package-libstdc.plus..plus.6"
        );
    }

    #[test]
    fn a_bill_without_what_spdx_asks_for_is_refused() {
        for key in ["spdxVersion", "documentNamespace", "creationInfo"] {
            let mut bill = document();
            bill.as_object_mut().unwrap().remove(key);
            assert!(validate_against(SPDX_2_3, &bill).is_err(), "{key}");
        }
        let mut bill = document();
        bill["packages"][0]["SPDXID"] = "image 1".into();
        assert!(validate_against(SPDX_2_3, &bill).is_err());
        let mut bill = document();
        bill["packages"][1]["checksums"][0]["checksumValue"] = "xyz".into();
        assert!(validate_against(SPDX_2_3, &bill).is_err());
    }
}
