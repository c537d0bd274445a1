//! Runs other programs; a missing one is reported with its Debian package.

use linerate_model::exit::{ExitCode, Failure};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{Command, Output};

/// The Debian package of a program.
fn package(program: &str) -> &'static str {
    match program {
        "apt-get" => "apt",
        "depmod" => "kmod",
        "dpkg-deb" => "dpkg",
        "mke2fs" => "e2fsprogs",
        "qemu-system-aarch64" | "qemu-system-arm" => "qemu-system-arm",
        "qemu-system-x86_64" => "qemu-system-x86",
        "ssh" => "openssh-client",
        "unshare" => "util-linux",
        "xz" => "xz-utils",
        "zstd" => "zstd",
        _ => "qemu-system-misc",
    }
}

/// Error: this host lacks something.
pub(crate) fn lacks(message: impl Into<String>) -> Failure {
    Failure::new(ExitCode::HostLacks, message)
}

/// Error of a step with files of this host.
pub(crate) fn failed(step: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        ExitCode::Other,
        format!("{step} {}: {error}", path.display()),
    )
}

/// Error for a program that does not start.
pub(crate) fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    let program = program.to_string_lossy();
    if error.kind() == io::ErrorKind::NotFound {
        let package = package(&program);
        return lacks(format!(
            "{program} is not installed; get it with: apt-get install {package} (Debian)"
        ));
    }
    lacks(format!("{program} does not start: {error}"))
}

/// Runs it to its end; returns its output.
pub(crate) fn run(command: &mut Command) -> Result<Output, Failure> {
    let output = command
        .output()
        .map_err(|error| not_started(command.get_program(), &error))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // apt marks errors by `E:` or `Err:`, and goes on.
    let cause = said.lines().find(|line| line.starts_with('E'));
    let cause = cause.or_else(|| said.lines().next());
    Err(lacks(format!(
        "{} failed ({}): {}",
        command.get_program().to_string_lossy(),
        output.status,
        cause.unwrap_or("it said nothing").trim()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        for (program, package) in [
            ("qemu-system-riscv64", "apt-get install qemu-system-misc "),
            ("qemu-system-arm", "apt-get install qemu-system-arm "),
            ("xz", "apt-get install xz-utils "),
        ] {
            let said = not_started(OsStr::new(program), &missing);
            assert_eq!(said.code, ExitCode::HostLacks);
            assert!(said.message.contains(package), "{said}");
        }
    }

    #[test]
    fn a_program_that_fails_is_quoted() {
        let mut shell = Command::new("sh");
        let said = run(shell.args(["-c", "echo x >&2; echo E: why >&2; exit 3"])).unwrap_err();
        assert!(said.message.ends_with("E: why"), "{said}");
    }
}
