//! `run --on`: the switch on another host, for as long as this process runs.

use super::counts::Counts;
use super::{RunArgs, say};
use crate::files;
use linerate_deploy::{Package, SILENCE, SshHost};
use linerate_model::exit::{ExitCode, Failure};
use linerate_sys::ending;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Runs it there with the same options. Its files are checked already.
pub(super) fn run(args: &RunArgs, place: &str) -> Result<ExitCode, Failure> {
    let host = SshHost::named(place)?;
    let (package, words) = sent(args)?;
    let asked = ending::interrupt().map_err(super::host("waiting for signals"))?;
    let program = host.start(&package, &words)?;
    if let Some(note) = &program.note {
        say(&format!("note: {note}\n"));
    }
    say(&format!("on {place} until it is ended here\n"));
    let named = |code, why: &str| Failure::new(code, format!("{place}: {why}"));
    let written = program.finish(|| asked.load(Ordering::Relaxed));
    let written = written.map_err(|failure| named(failure.code, &failure.message))?;
    let broken = |why: &str| named(ExitCode::Peer, why);
    let text = String::from_utf8_lossy(&written);
    let last = text.lines().last();
    let last = last.ok_or_else(|| broken("it sent no counters"))?;
    let counted = Counts::read(last)
        .map_err(|error| broken(&format!("it sent something else than counters: {error}")))?;
    counted.print(args.json)?;
    Ok(ExitCode::Done)
}

/// Files by their names there, and the words of the command.
fn sent(args: &RunArgs) -> Result<(Package, Vec<String>), Failure> {
    let mut files = Vec::new();
    let silence = format!("--until-silent={}", SILENCE.as_secs());
    let mut words = vec!["run".to_owned(), "--ask".to_owned(), silence];
    let given: [(&str, Option<&Path>); 6] = [
        ("", args.program.as_deref()),
        ("--p4info", args.p4info.as_deref()),
        ("--entries", args.entries.as_deref()),
        ("--tls-cert", args.tls_cert.as_deref()),
        ("--tls-key", args.tls_key.as_deref()),
        ("--tls-ca", args.tls_ca.as_deref()),
    ];
    for (option, path) in given {
        let Some(path) = path else { continue };
        let name = if option.is_empty() {
            "program"
        } else {
            &option[2..]
        };
        files.push((name.to_owned(), files::read(path)?));
        words.extend([option, name].map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words.push(format!("--max-entries={}", args.max_entries));
    for port in &args.ports {
        words.extend(["--port".to_owned(), port.to_string()]);
    }
    if let Some(address) = args.p4runtime {
        words.push(format!("--p4runtime={address}"));
        words.push(format!("--device-id={}", args.device_id));
        words.push(format!("--cpu-port={}", args.cpu_port));
    }
    let core = args.core.map(|core| format!("--core={core}"));
    let duration = args.duration.map(|time| format!("--duration={time}"));
    let spin = args.spin.then(|| "--spin".to_owned());
    words.extend(core.into_iter().chain(duration).chain(spin));
    let program = "linerate-p4";
    Ok((Package { program, files }, words))
}
