//! `doctor --host ssh://…`: linerate for the other host's architecture is copied there, run as `doctor --json` and removed.
//!
//! What comes back is bounded, parsed and checked like any hostile input.

use anyhow::Result;
use linerate_deploy::SshHost;
use linerate_model::doctor::{CheckOutcome, Examination, SCHEMA};
use linerate_model::exit::{ExitCode, Failure};
use linerate_report::figures::clean;
use std::time::Duration;

/// Maximum checks, changes and cores in a document.
const ITEMS_MAX: usize = 16 * 1024;

/// Parses `--host ssh://user@host:port`, with the ssh program and options from `--ssh`.
pub fn far_host(text: &str, ssh: &str) -> Result<SshHost, Failure> {
    let refuse = |why: &str| {
        let message = format!("--host {text}: {why}; write ssh://user@host or ssh://host:2222");
        Failure::new(ExitCode::Usage, message)
    };
    let rest = text
        .strip_prefix("ssh://")
        .ok_or_else(|| refuse("only ssh:// reaches another host here"))?;
    let host = SshHost::read(rest).map_err(|why| refuse(&why))?;
    let program: Vec<_> = ssh.split_whitespace().map(str::to_owned).collect();
    if program.is_empty() {
        return Err(Failure::new(ExitCode::Usage, "--ssh names no program"));
    }
    Ok(host.by(program))
}

/// How to examine another host.
#[derive(Debug, Clone)]
pub struct FarPlan {
    /// The host.
    pub host: SshHost,
    /// Arguments of `doctor` there, without `--json`.
    pub arguments: Vec<String>,
    /// Timeout, including the user's typing of a password.
    pub timeout: Duration,
}

impl FarPlan {
    /// Examines the host. The exit code is derived from the document, as for the local host.
    pub fn examine(&self) -> Result<Examination> {
        let command = ["doctor", "--json"].map(str::to_owned).into_iter();
        let words: Vec<_> = command.chain(self.arguments.iter().cloned()).collect();
        let ran = self.host.run(&words, self.timeout)?;
        let mut examination = self.read(&ran.output)?;
        examination.notes.extend(ran.note);
        Ok(examination)
    }

    fn read(&self, document: &[u8]) -> Result<Examination, Failure> {
        let failed = |why: String| Failure::new(ExitCode::Peer, format!("{} {why}", self.host));
        let examination: Examination = serde_json::from_slice(document)
            .map_err(|error| failed(format!("sent something that is not {SCHEMA}: {error}")))?;
        check(&examination).map_err(failed)?;
        Ok(examination)
    }
}

/// Checks that a remote document is valid.
fn check(examination: &Examination) -> Result<(), String> {
    if examination.schema != SCHEMA {
        return Err(format!(
            "sent a document of schema {:?}, not {SCHEMA}",
            clean(&examination.schema)
        ));
    }
    let cores = examination
        .jitter
        .as_ref()
        .map_or(0, |jitter| jitter.cores.len());
    let items = [
        examination.checks.len(),
        examination.changes.len(),
        examination.notes.len(),
        cores,
    ];
    if items.iter().any(|count| *count > ITEMS_MAX) {
        return Err("sent a document with too many parts".to_owned());
    }
    let known: Vec<_> = super::checks().map(|(id, _)| id).collect();
    let strange = examination.checks.iter().find(|check| {
        let is_known = known.contains(&check.id.as_str());
        let settings = match &check.outcome {
            CheckOutcome::Found { finding } => finding.settings.len(),
            _ => 0,
        };
        !is_known || settings > ITEMS_MAX
    });
    match strange {
        Some(check) => Err(format!(
            "sent a check that there is not: {:?}",
            clean(&check.id)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_written_as_an_address_of_ssh() {
        let text = "ssh://root@board.lab:2222?agents=/srv/agents";
        assert_eq!(far_host(text, "ssh -4").unwrap().to_string(), text);
        for bad in ["board", "http://board", "ssh://", "ssh://-oProxyCommand=x"] {
            let error = far_host(bad, "ssh").unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{bad}");
        }
        assert!(far_host("ssh://board", " ").is_err());
    }

    #[test]
    fn documents_that_are_none_are_refused() {
        let plan = FarPlan {
            host: far_host("ssh://board", "ssh").unwrap(),
            arguments: Vec::new(),
            timeout: Duration::ZERO,
        };
        let good = r#"{"schema":"linerate/doctor/1","tool":{"name":"linerate"},"made":"2026-11-21T05:00:00Z","checks":[]}"#;
        assert!(plan.read(good.as_bytes()).is_ok());
        let other = good.replace("doctor/1", "doctor/2\\u001b[2J");
        let strange = good.replace(
            "[]",
            r#"[{"id":"x","summary":"","outcome":"fine","now":""}]"#,
        );
        for bad in ["", "{}", "hello", &other, &strange] {
            let error = plan.read(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("board"), "{error}");
            assert!(!error.contains('\u{1b}'), "{error}");
        }
    }
}
