//! sockperf, for its ping-pong.

use super::{Contender, first_line, words};
use crate::activity::{Activity, Lengths, Measure, PING_BYTES, Values};
use crate::lab::Lab;
use anyhow::{Context as _, Result};
use std::path::Path;

/// The installed one.
pub(crate) struct Sockperf;

const PROGRAM: &str = "sockperf";

impl Contender for Sockperf {
    fn name(&self) -> &'static str {
        "sockperf"
    }

    fn version(&self) -> Result<String, String> {
        first_line(Path::new(PROGRAM), "--version", "sockperf")
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::PingPong => Ok(()),
            _ => Err("only its ping-pong is compared".to_owned()),
        }
    }

    fn run(&self, lab: &Lab, _: Activity, lengths: Lengths) -> Result<Values> {
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let number = port.to_string();
        let program = Path::new(PROGRAM);
        let serve = words(&["server", "-i", &address, "-p", &number, "--nonblocked"]);
        let server = lab.serve(program, &serve, ("udp", port))?;
        let size = PING_BYTES.to_string();
        let mut client = words(&["ping-pong", "-i", &address, "-p", &number, "-m", &size]);
        client.extend(words(&[
            "--nonblocked",
            "--full-rtt",
            "-t",
            &lengths.seconds(),
        ]));
        let client = lab.client(program, &client, lengths.test)?;
        server.stop()?;
        let median = median_us(&client.output).context("sockperf printed no median")?;
        Ok(Values::from([(Measure::RoundTrip, median)]))
    }
}

/// The line `sockperf: ---> percentile 50.000 =    7.534`, in µs.
fn median_us(output: &str) -> Option<f64> {
    let (_, rest) = output.split_once("percentile 50.000 =")?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}
