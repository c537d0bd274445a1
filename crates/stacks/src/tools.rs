//! Runs other programs; a missing one is reported with its package.

use linerate_model::exit::{ExitCode, Failure};
use std::io;
use std::process::{Command, Output};

/// The Debian package of a program.
fn package(program: &str) -> &'static str {
    match program {
        "apt-get" => "apt",
        "cc" => "gcc libc6-dev",
        "dpkg-source" => "dpkg-dev",
        _ if program.ends_with("-gcc") => "gcc-arm-none-eabi libnewlib-arm-none-eabi",
        _ => "binutils-arm-none-eabi",
    }
}

/// Runs it to its end.
pub fn run(command: &mut Command) -> Result<Output, Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new(
            ExitCode::HostLacks,
            format!(
                "{program} is not installed; get it with: apt-get install {} (Debian)",
                package(&program)
            ),
        ),
        _ => Failure::new(
            ExitCode::HostLacks,
            format!("{program} does not start: {error}"),
        ),
    })?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said
        .lines()
        .find(|line| line.contains("rror"))
        .or_else(|| said.lines().next());
    let hint = if program.ends_with("-gcc")
        && (said.contains(".h: No such file")
            || said.contains("nano.specs")
            || said.contains("cannot find -l"))
    {
        "; the C library for it is missing: apt-get install libnewlib-arm-none-eabi (Debian)"
    } else {
        ""
    };
    Err(Failure::new(
        ExitCode::HostLacks,
        format!(
            "{program} failed ({}): {}{hint}",
            output.status,
            first.unwrap_or("it said nothing").trim()
        ),
    ))
}

/// First line of the output of `program --version`.
pub fn version(program: &str) -> Result<String, Failure> {
    let output = run(Command::new(program).arg("--version"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or(program).to_owned())
}
