//! linerate: both its processes, as a user starts them.

use super::{Bench, Generator, Pair};
use crate::activity::{Activity, Measure, Values};
use crate::process::{Process, pause};
use anyhow::{Context as _, Result, ensure};
use linerate_model::Histogram;
use serde_json::Value;
use std::time::Duration;

/// linerate with one of its generators.
pub(super) struct Linerate {
    pub(super) name: &'static str,
    pub(super) generator: &'static str,
}

/// Beside settling and window: connecting and agreeing.
const SECONDS: &str = "1500ms";
const PATIENCE: Duration = Duration::from_secs(20);
/// The shortest: a frame of 64 bytes.
const PAYLOAD: u32 = 18;
const LISTEN: &str = "127.0.0.1:5999";

impl Generator for Linerate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Frames(1) => Ok(()),
            _ if self.generator == "kernel" => Ok(()),
            _ => {
                Err("AF_XDP frames are of one flow, and their pace has rows of its own".to_owned())
            }
        }
    }

    fn start(&self, bench: &Bench<'_>, activity: Activity) -> Result<Box<dyn Pair>> {
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        let server = [
            "serve",
            "--listen",
            LISTEN,
            "--allow-intrusive",
            "0.0.0.0/0",
        ];
        let server = bench.run(1, bench.linerate, &words(&server))?;
        pause(Duration::from_millis(200));
        let [a, b] = bench.ports();
        let (flows, rate) = match activity {
            Activity::Frames(flows) => (flows, "max".to_owned()),
            Activity::FramesPaced(pace) => {
                let bits = u64::from(pace) * u64::from(PAYLOAD) * 8;
                (1, bits.to_string())
            }
            _ => anyhow::bail!("there is no such activity of generators"),
        };
        let datapath = format!(
            "ports,a={},b={},a-ip={},b-ip={},a-to={},b-to={},generator={},flows={flows}",
            a.interface, b.interface, a.ipv4, b.ipv4, a.next_hop, b.next_hop, self.generator
        );
        let (payload, cpu) = (
            PAYLOAD.to_string(),
            format!("{},{}", bench.cores[0], bench.cores[1]),
        );
        let client = [
            "udp",
            LISTEN,
            "--datapath",
            &datapath,
            "--payload",
            &payload,
            "--rate",
            &rate,
            "-t",
            SECONDS,
            "--cpu",
            &cpu,
            "--diagnose",
            "0s",
            "--json",
            "--no-store",
            "--quiet",
        ];
        let client = bench.run(0, bench.linerate, &words(&client))?;
        Ok(Box::new(Ends {
            server,
            client,
            activity,
            is_exact: self.generator == "kernel",
        }))
    }
}

/// Client and server.
struct Ends {
    server: Process,
    client: Process,
    activity: Activity,
    /// Whether all that is sent is counted: nothing has to wait in a ring.
    is_exact: bool,
}

impl Pair for Ends {
    fn processes(&self) -> Vec<u32> {
        vec![self.server.id(), self.client.id()]
    }

    fn end(self: Box<Self>) -> Result<Values> {
        let done = self.client.finish(PATIENCE)?;
        self.server.stop()?;
        let run: Value = serde_json::from_str(&done.output)?;
        let trial = &run["trials"][0];
        let count = |name: &str| trial["packets"][name].as_u64();
        ensure!(
            !self.is_exact || count("sent").is_some() && count("sent") == count("received"),
            "linerate sent {:?} and counted {:?}",
            count("sent"),
            count("received")
        );
        let Activity::FramesPaced(pace) = self.activity else {
            return Ok(Values::new());
        };
        let lateness = &trial["raw"][0]["streams"][0]["lateness"];
        let lateness: Histogram = serde_json::from_value(lateness.clone()).context("lateness")?;
        Ok(lateness_values(pace, &lateness))
    }
}

/// How late frames left after their time, in µs.
pub(super) fn lateness_values(pace: u32, lateness: &Histogram) -> Values {
    let micros = |nanos: u64| super::float(nanos) / 1e3;
    Values::from([
        (
            Measure::LatenessP50(pace),
            micros(lateness.quantile_nanos(0.5)),
        ),
        (
            Measure::LatenessP99(pace),
            micros(lateness.quantile_nanos(0.99)),
        ),
        (Measure::LatenessMax(pace), micros(lateness.max_nanos())),
    ])
}
