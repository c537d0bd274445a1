//! Container images for all architectures: the programs of one package, and of those that it needs, as an OCI archive.
//!
//! There is no shell, no library and no user name in it; whoever runs it gives it a read-only root and takes all
//! capabilities from it, and it goes on working.
//!
//! # References
//! - OCI image format 1.1: image layout, index, manifest, configuration, annotations

use crate::architecture::Architecture;
use crate::archive::tar;
use crate::entry::Entry;
use crate::package::Package;
use crate::{Source, gzip, hex};
use flate2::Compression;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::io;

/// A number that is nobody's: no name for it is in the image.
const USER: &str = "65532:65532";

/// A blob of the image: its description as others refer to it, and its bytes.
struct Blob {
    descriptor: Value,
    bytes: Vec<u8>,
}

impl Blob {
    fn new(kind: &str, bytes: Vec<u8>) -> Self {
        let digest = digest(&bytes);
        let kind = format!("application/vnd.oci.image.{kind}");
        Self {
            descriptor: json!({"mediaType": kind, "digest": digest, "size": bytes.len()}),
            bytes,
        }
    }

    fn json(kind: &str, value: &Value) -> Self {
        Self::new(kind, value.to_string().into_bytes())
    }

    fn entry(&self) -> Entry {
        let digest = self.descriptor["digest"].as_str().unwrap_or_default();
        let path = format!("blobs/{}", digest.replace(':', "/"));
        plain(path, 0o644, self.bytes.clone())
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

fn plain(path: String, mode: u32, bytes: Vec<u8>) -> Entry {
    Entry { path, mode, bytes }
}

/// The archive of an image that starts the first program of `package`, with what [`crate::content::entries`] lists for each of
/// these architectures, of that package and of those that it needs.
pub fn archive(
    source: &Source<'_>,
    package: Package,
    all: &[(Architecture, Vec<Entry>)],
) -> io::Result<Vec<u8>> {
    let mut blobs = Vec::new();
    let mut manifests = Vec::new();
    for (architecture, entries) in all {
        let made = one(source, package, *architecture, entries)?;
        let mut descriptor = made[0].descriptor.clone();
        descriptor["platform"] = platform(*architecture);
        manifests.push(descriptor);
        blobs.extend(made);
    }
    let list = Blob::json(
        "index.v1+json",
        &json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": manifests,
            "annotations": labels(source, package),
        }),
    );
    let mut named = list.descriptor.clone();
    named["annotations"] = json!({"org.opencontainers.image.ref.name": source.version});
    let index = json!({"schemaVersion": 2, "manifests": [named]});
    let layout = json!({"imageLayoutVersion": "1.0.0"});
    let mut files = vec![
        plain(
            "index.json".to_owned(),
            0o644,
            index.to_string().into_bytes(),
        ),
        plain(
            "oci-layout".to_owned(),
            0o644,
            layout.to_string().into_bytes(),
        ),
        list.entry(),
    ];
    files.extend(blobs.iter().map(Blob::entry));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup();
    tar(source, "", &files)
}

/// Manifest, configuration and layer for one architecture.
fn one(
    source: &Source<'_>,
    package: Package,
    architecture: Architecture,
    entries: &[Entry],
) -> io::Result<[Blob; 3]> {
    let files = tar(source, "usr", &kept(entries))?;
    let layer = Blob::new("layer.v1.tar+gzip", gzip(&files, Compression::default()));
    let mut config = platform(architecture);
    config["created"] = source.time.to_string().into();
    config["config"] = json!({
        "User": USER,
        "Entrypoint": [format!("/usr/bin/{}", package.name())],
        "Cmd": ["serve"],
        "Env": ["PATH=/usr/bin"],
        "Labels": labels(source, package),
    });
    if package == Package::Linerate {
        config["config"]["ExposedPorts"] = json!({"5301/tcp": {}, "5301/udp": {}});
    }
    config["rootfs"] = json!({"type": "layers", "diff_ids": [digest(&files)]});
    config["history"] =
        json!([{"created": source.time.to_string(), "created_by": "linerate-packages"}]);
    let config = Blob::json("config.v1+json", &config);
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor,
        "layers": [layer.descriptor],
        "annotations": labels(source, package),
    });
    Ok([Blob::json("manifest.v1+json", &manifest), config, layer])
}

/// Of a package's files the programs, licences and bill of materials: who runs a container has the manual elsewhere.
fn kept(entries: &[Entry]) -> Vec<Entry> {
    let is_kept = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_document = name.starts_with("third-party") || name.ends_with(".spdx.json.gz");
        path.starts_with("bin/") || path.starts_with("share/licenses/") || is_document
    };
    let kept = entries.iter().filter(|entry| is_kept(&entry.path));
    kept.cloned().collect()
}

fn platform(architecture: Architecture) -> Value {
    let (name, variant) = architecture.container();
    let mut platform = Map::from_iter([
        ("os".to_owned(), "linux".into()),
        ("architecture".to_owned(), name.into()),
    ]);
    if let Some(variant) = variant {
        platform.insert("variant".to_owned(), variant.into());
    }
    Value::Object(platform)
}

fn labels(source: &Source<'_>, package: Package) -> Value {
    json!({
        "org.opencontainers.image.title": package.name(),
        "org.opencontainers.image.description": package.summary(),
        "org.opencontainers.image.version": source.version,
        "org.opencontainers.image.created": source.time.to_string(),
        "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
    })
}
