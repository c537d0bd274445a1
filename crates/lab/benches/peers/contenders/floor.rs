//! A bare C loop, compiled here: what the kernel alone takes for a ping-pong, and how well a loop
//! that does nothing else paces on this machine.

use super::{Contender, PingPong, first_line, words};
use crate::activity::{Activity, Lengths, PACED_PAYLOAD, PING_BYTES, Values, round_trips};
use crate::goals::FLOOR;
use crate::lab::Lab;
use crate::turns::Pair;
use anyhow::{Context as _, Result, bail};
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

    fn ping_pong(&self) -> Option<&dyn PingPong> {
        Some(self)
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let Activity::Paced(pace) = activity else {
            bail!("it only plays ping-pong and paces");
        };
        let program = self.program.clone().map_err(anyhow::Error::msg)?;
        let far = Far::new(lab, PACED_PAYLOAD);
        let server = lab.serve(&program, &far.words("sink"), ("udp", far.port))?;
        let mut near = far.words("pace");
        near.extend([lengths.seconds(), pace.to_string()]);
        lab.client(&program, &near, lengths.test)?;
        server.stop()?;
        Ok(Values::new())
    }
}

impl PingPong for Floor {
    fn start(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair> {
        let program = self.program.clone().map_err(anyhow::Error::msg)?;
        let (far_role, near_role, transport) = match activity {
            Activity::TcpPingPong => ("tcp-pong", "tcp-ping", "tcp"),
            _ => ("pong", "ping", "udp"),
        };
        let far = Far::new(lab, PING_BYTES);
        let server = lab.serve(&program, &far.words(far_role), (transport, far.port))?;
        let mut near = far.words(near_role);
        near.push(lengths.seconds());
        let client = lab.start_client(&program, &near)?;
        Ok(Pair { server, client })
    }

    fn read(&self, activity: Activity, printed: &str) -> Result<Values> {
        let mut printed = printed.split_ascii_whitespace();
        let mut next = || -> Result<f64> {
            let nanos = printed.next().context("the C loop printed too little")?;
            let nanos: f64 = nanos.parse().context("a quantile of the C loop")?;
            Ok(nanos / 1e3)
        };
        Ok(round_trips(activity, next()?, next()?))
    }
}

/// Where the far loop is, and the bytes of a message.
struct Far {
    address: String,
    port: u16,
    payload: u32,
}

impl Far {
    fn new(lab: &Lab, payload: u32) -> Self {
        Self {
            address: lab.b().ipv4().to_string(),
            port: lab.port(),
            payload,
        }
    }

    /// The loop's arguments that both ends have.
    fn words(&self, role: &str) -> Vec<String> {
        let (port, payload) = (self.port.to_string(), self.payload.to_string());
        words(&[role, &self.address, &port, &payload])
    }
}
