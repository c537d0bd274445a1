//! A bare C loop, compiled here: what the kernel alone takes for a ping-pong, and how well a loop
//! that does nothing else paces on this machine.

use super::{Contender, first_line, words};
use crate::activity::{Activity, Lengths, PACED_PAYLOAD, PING_BYTES, Values, round_trips};
use crate::goals::FLOOR;
use crate::lab::Lab;
use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The compiled loop, or why there is none.
pub(crate) struct Floor {
    program: Result<PathBuf, String>,
}

impl Floor {
    /// Compiles it into `folder`.
    pub(crate) fn build(folder: &TempDir) -> Self {
        let program = folder.path().join("floor");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peers/floor.c");
        let output = Command::new("cc")
            .args(["-O2", "-Wall", source, "-o"])
            .arg(&program)
            .output();
        let program = match output {
            Ok(output) if output.status.success() => Ok(program),
            Ok(output) => Err(format!(
                "cc: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )),
            Err(error) => Err(format!(
                "cc cannot be started ({error}): apt-get install gcc libc6-dev"
            )),
        };
        Self { program }
    }
}

impl Contender for Floor {
    fn name(&self) -> &'static str {
        FLOOR
    }

    fn version(&self) -> Result<String, String> {
        self.program.clone()?;
        let compiler = first_line(Path::new("cc"), "--version", "gcc")?;
        Ok(format!("floor.c, {compiler}, -O2"))
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::PingPong | Activity::TcpPingPong | Activity::Paced(_) => Ok(()),
            _ => Err("it only plays ping-pong and paces".to_owned()),
        }
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let program = self.program.clone().map_err(anyhow::Error::msg)?;
        let ([far, near], payload, rate) = match activity {
            Activity::Paced(pace) => (["sink", "pace"], PACED_PAYLOAD, Some(pace.to_string())),
            Activity::TcpPingPong => (["tcp-pong", "tcp-ping"], PING_BYTES, None),
            _ => (["pong", "ping"], PING_BYTES, None),
        };
        let transport = match activity {
            Activity::TcpPingPong => "tcp",
            _ => "udp",
        };
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let (number, size) = (port.to_string(), payload.to_string());
        let far = words(&[far, &address, &number, &size]);
        let server = lab.serve(&program, &far, (transport, port))?;
        let is_paced = rate.is_some();
        let mut near = words(&[near, &address, &number, &size, &lengths.seconds()]);
        near.extend(rate);
        let client = lab.client(&program, &near, lengths.test)?;
        server.stop()?;
        if is_paced {
            return Ok(Values::new());
        }
        let mut printed = client.output.split_ascii_whitespace();
        let mut next = || -> Result<f64> {
            let nanos = printed.next().context("the C loop printed too little")?;
            let nanos: f64 = nanos.parse().context("a quantile of the C loop")?;
            Ok(nanos / 1e3)
        };
        Ok(round_trips(activity, next()?, next()?))
    }
}
