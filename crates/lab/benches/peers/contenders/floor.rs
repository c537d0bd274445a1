//! A bare C loop, compiled here: what the kernel alone takes for a ping-pong, how well a loop that
//! does nothing else paces on this machine, and what one stream carries by its calls alone.

use super::{Contender, PingPong, first_line, words};
use crate::activity::{
    Activity, Lengths, Measure, PACED_PAYLOAD, PAYLOAD, PING_BYTES, Values, round_trips,
};
use crate::goals::{FLOOR, FLOOR_ZERO_COPY};
use crate::lab::{Lab, PATIENCE};
use crate::process::Done;
use crate::turns::Pair;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The compiled loop, or why there is none.
pub(crate) struct Floor {
    program: Result<PathBuf, String>,
    is_zero_copy: bool,
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
        Self {
            program,
            is_zero_copy: false,
        }
    }

    /// The same loop, which writes its one TCP stream without copying.
    pub(crate) fn zero_copy(&self) -> Self {
        Self {
            program: self.program.clone(),
            is_zero_copy: true,
        }
    }

    /// One stream as fast as can be, by the roles of its two ends.
    fn carry(&self, lab: &Lab, lengths: Lengths, stream: &Stream) -> Result<[Done; 2]> {
        let program = self.program.clone().map_err(anyhow::Error::msg)?;
        let far = Far::new(lab, stream.bytes);
        let listening = (stream.transport, far.port);
        let server = lab.serve(&program, &far.words(stream.far), listening)?;
        let mut near = far.words(stream.near);
        near.push(lengths.seconds());
        let client = lab.client(&program, &near, lengths.test)?;
        Ok([client, server.finish(PATIENCE).context("server")?])
    }
}

/// How one stream is carried: the transport, the roles of both ends, the bytes of a call or datagram.
struct Stream {
    transport: &'static str,
    near: &'static str,
    far: &'static str,
    bytes: u32,
}

/// The count and the seconds that an end of the loop printed.
fn printed(end: &Done) -> Result<(f64, f64)> {
    let numbers = end.output.split_ascii_whitespace().map(str::parse);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>().context("the C loop")?;
    match numbers[..] {
        [count, nanos] if nanos > 0.0 => Ok((count, nanos / 1e9)),
        _ => bail!("the C loop printed {:?}", end.output),
    }
}

impl Contender for Floor {
    fn name(&self) -> &'static str {
        if self.is_zero_copy {
            FLOOR_ZERO_COPY
        } else {
            FLOOR
        }
    }

    fn version(&self) -> Result<String, String> {
        self.program.clone()?;
        let compiler = first_line(Path::new("cc"), "--version", "gcc")?;
        Ok(format!("floor.c, {compiler}, -O2"))
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Tcp => Ok(()),
            _ if self.is_zero_copy => Err("only one TCP stream goes without copying".to_owned()),
            Activity::Udp
            | Activity::Aggregated
            | Activity::PingPong
            | Activity::TcpPingPong
            | Activity::Paced(_) => Ok(()),
            _ => Err("it carries one stream".to_owned()),
        }
    }

    fn ping_pong(&self) -> Option<&dyn PingPong> {
        Some(self)
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let datagrams = |near, far| Stream {
            transport: "udp",
            near,
            far,
            bytes: PAYLOAD,
        };
        match activity {
            Activity::Tcp => {
                let near = if self.is_zero_copy {
                    "tcp-fill-zero-copy"
                } else {
                    "tcp-fill"
                };
                let stream = Stream {
                    transport: "tcp",
                    near,
                    far: "tcp-drain",
                    bytes: WRITE_BYTES,
                };
                let [client, server] = self.carry(lab, lengths, &stream)?;
                let (bytes, seconds) = printed(&server)?;
                let cpu = (client.cpu + server.cpu).as_secs_f64();
                Ok(Values::from([
                    (Measure::TcpRate, bytes * 8.0 / seconds / 1e9),
                    (Measure::TcpCpu, cpu / (bytes / 1e9)),
                ]))
            }
            Activity::Udp => {
                let ends = self.carry(lab, lengths, &datagrams("fill", "drain"))?;
                packets(&ends, [Measure::UdpSent, Measure::UdpReceived])
            }
            Activity::Aggregated => {
                let ends = self.carry(lab, lengths, &datagrams("fill-gso", "drain-gro"))?;
                let measures = [Measure::AggregatedSent, Measure::AggregatedReceived];
                packets(&ends, measures)
            }
            Activity::Paced(pace) => {
                let program = self.program.clone().map_err(anyhow::Error::msg)?;
                let far = Far::new(lab, PACED_PAYLOAD);
                let server = lab.serve(&program, &far.words("sink"), ("udp", far.port))?;
                let mut near = far.words("pace");
                near.extend([lengths.seconds(), pace.to_string()]);
                lab.client(&program, &near, lengths.test)?;
                server.stop()?;
                Ok(Values::new())
            }
            _ => bail!("it carries one stream"),
        }
    }
}

/// Thousands of datagrams a second, as each end counted them.
fn packets(ends: &[Done; 2], measures: [Measure; 2]) -> Result<Values> {
    let mut values = Values::new();
    for (end, measure) in ends.iter().zip(measures) {
        let (count, seconds) = printed(end)?;
        values.insert(measure, count / seconds / 1e3);
    }
    Ok(values)
}

/// Of each write to a TCP stream, as of linerate and iperf3.
const WRITE_BYTES: u32 = 128 * 1024;

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
