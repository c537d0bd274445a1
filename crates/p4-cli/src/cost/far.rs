//! `cost --on`: measured on another host.

use super::CostArgs;
use crate::print;
use linerate_deploy::{Package, SshHost};
use linerate_model::exit::{ExitCode, Failure, Result};

/// Measures there with the same options; what is printed there is printed here.
pub(super) fn run(args: &CostArgs, place: &str) -> Result<ExitCode> {
    let host = SshHost::named(place)?;
    let package = Package {
        program: "linerate-p4",
        files: Vec::new(),
    };
    let program = host.start(&package, &words(args))?;
    // A signal ends this process, and with its input the shell there.
    let written = program.finish(|| false).map_err(|failure| {
        let message = format!("{place}: {}", failure.message);
        Failure::new(failure.code, message)
    })?;
    print(&String::from_utf8_lossy(&written))?;
    Ok(ExitCode::Done)
}

/// The command there.
fn words(args: &CostArgs) -> Vec<String> {
    let factors = args.factors.iter().map(|name| format!("--factor={name}"));
    let flags = [
        (args.quick, "--quick"),
        (args.control_plane, "--control-plane"),
        (args.json, "--json"),
    ];
    let flags = flags.iter().filter(|(given, _)| *given);
    let words = ["cost".to_owned()].into_iter().chain(factors);
    words
        .chain(flags.map(|(_, word)| (*word).to_owned()))
        .collect()
}
