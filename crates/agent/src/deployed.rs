//! An agent deployed on this host by a remote starter, with which it ends.
//!
//! ```text
//!  its starter                           it
//!    | a key, as text -------------------> | has removed its own file
//!    | <-------------- linerate-agent PORT | serves who shows the key
//!    | a line, now and then -------------> |
//!    | the end of input, or silence -----> | ends
//! ```

use crate::{Agent, AgentPlan};
use anyhow::{Context as _, Result, bail};
use linerate_deploy::{AGENT_FILE, AGENT_GREETING, SILENCE};
use linerate_model::Clock as _;
use linerate_peers::key::Key;
use linerate_sys::clock::MonoClock;
use linerate_sys::tcp::wait_readable;
use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum length of a key.
const MAX_KEY: u64 = 4096;

/// Polling interval of the stop flag.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Command-line parameters from its starter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeployedPlan {
    /// The folder of the copied program, to be removed.
    pub remove: Option<PathBuf>,
    /// The port to listen on; 0 for any.
    pub port: u16,
}

/// Serves clients with the key from `input`, until that ends or is silent for [`SILENCE`], or `stop` is set.
pub fn serve_deployed(
    plan: &DeployedPlan,
    input: impl Read + AsFd,
    mut output: impl Write,
    stop: &AtomicBool,
) -> Result<()> {
    // A running program needs no file: remove it now, so that nothing is left in any case.
    if let Some(folder) = &plan.remove {
        let gone = fs::remove_file(folder.join(AGENT_FILE)).and_then(|()| fs::remove_dir(folder));
        gone.with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut input = BufReader::new(input);
    let mut key = String::new();
    input
        .by_ref()
        .take(MAX_KEY)
        .read_line(&mut key)
        .context("reading the key")?;
    let key = Key::new(key.as_bytes()).context("the key on standard input")?;
    let agent = start(plan.port, &key)?;
    let greeted = writeln!(output, "{AGENT_GREETING} {}", agent.port());
    let followed = greeted
        .and_then(|()| output.flush())
        .and_then(|()| follow(&mut input, stop));
    agent.stop()?;
    followed.context("hearing whoever started this agent")
}

/// Over IPv6 and IPv4 where the host has both.
fn start(port: u16, key: &Key) -> Result<Agent> {
    let any = [
        IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        IpAddr::V4(Ipv4Addr::UNSPECIFIED),
    ];
    let mut refused = None;
    for address in any {
        let plan = AgentPlan {
            listen: SocketAddr::new(address, port),
            key: Some(key.clone()),
            allow_imitation: false,
            ..AgentPlan::private()
        };
        match Agent::start(plan) {
            Ok(agent) => return Ok(agent),
            Err(error) => refused = Some(error),
        }
    }
    match refused {
        Some(error) => Err(error),
        None => bail!("bug in linerate: there is no address to listen on"),
    }
}

/// Returns when the input has ended or was silent for too long, or `stop` is set.
fn follow(input: &mut BufReader<impl Read + AsFd>, stop: &AtomicBool) -> io::Result<()> {
    let mut heard = MonoClock.now();
    while !stop.load(Ordering::Relaxed) {
        if MonoClock.now().saturating_since(heard) >= SILENCE {
            return Ok(());
        }
        let readable = wait_readable(&[input.get_ref().as_fd()], POLL_INTERVAL)?;
        if !readable.contains(&true) {
            continue;
        }
        match input.get_mut().read(&mut [0; 64]) {
            Ok(0) => return Ok(()),
            Ok(_) => heard = MonoClock.now(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::thread;

    #[test]
    fn an_agent_removes_its_file_serves_and_ends_with_its_starter() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("linerate-1");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(AGENT_FILE), "").unwrap();
        let (mut starter, input) = UnixStream::pair().unwrap();
        let output = input.try_clone().unwrap();
        let plan = DeployedPlan {
            remove: Some(folder.clone()),
            port: 0,
        };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let agent = scope.spawn(|| serve_deployed(&plan, input, output, &stop));
            writeln!(starter, "0123456789abcdef").unwrap();
            let mut said = String::new();
            let mut heard = BufReader::new(starter.try_clone().unwrap());
            heard.read_line(&mut said).unwrap();
            let port = said.strip_prefix("linerate-agent ").unwrap().trim();
            assert_ne!(port.parse::<u16>().unwrap(), 0);
            assert!(!folder.exists());
            starter.shutdown(std::net::Shutdown::Write).unwrap();
            agent.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_starter_without_a_key_gets_no_agent() {
        let (mut starter, input) = UnixStream::pair().unwrap();
        writeln!(starter, "short").unwrap();
        let plan = DeployedPlan {
            remove: None,
            port: 0,
        };
        let stop = AtomicBool::new(false);
        let refused = serve_deployed(&plan, input, Vec::new(), &stop).unwrap_err();
        assert!(format!("{refused:#}").contains("too short"), "{refused:#}");
    }
}
