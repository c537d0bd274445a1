//! sockperf, for its ping-pong.

use super::{Contender, PingPong, first_line, words};
use crate::activity::{Activity, Lengths, PING_BYTES, Values, round_trips};
use crate::lab::Lab;
use crate::turns::Pair;
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
            Activity::PingPong | Activity::TcpPingPong => Ok(()),
            _ => Err("only its ping-pong is compared".to_owned()),
        }
    }

    fn ping_pong(&self) -> Option<&dyn PingPong> {
        Some(self)
    }

    fn run(&self, _lab: &Lab, _activity: Activity, _lengths: Lengths) -> Result<Values> {
        unreachable!("invariant: it offers its ping-pong only")
    }
}

impl PingPong for Sockperf {
    fn start(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair> {
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let number = port.to_string();
        let program = Path::new(PROGRAM);
        let is_tcp = activity == Activity::TcpPingPong;
        let mut serve = words(&["server", "-i", &address, "-p", &number, "--nonblocked"]);
        serve.extend(is_tcp.then(|| "--tcp".to_owned()));
        let transport = if is_tcp { "tcp" } else { "udp" };
        let server = lab.serve(program, &serve, (transport, port))?;
        let size = PING_BYTES.to_string();
        let mut client = words(&["ping-pong", "-i", &address, "-p", &number, "-m", &size]);
        client.extend(words(&[
            "--nonblocked",
            "--full-rtt",
            "-t",
            &lengths.seconds(),
        ]));
        client.extend(is_tcp.then(|| "--tcp".to_owned()));
        let client = lab.start_client(program, &client)?;
        Ok(Pair { server, client })
    }

    fn read(&self, activity: Activity, printed: &str) -> Result<Values> {
        let quantile = |percent: &str| {
            let found = quantile_us(printed, percent);
            found.with_context(|| format!("sockperf printed no percentile {percent}"))
        };
        Ok(round_trips(
            activity,
            quantile("50.000")?,
            quantile("99.000")?,
        ))
    }
}

/// The line `sockperf: ---> percentile 50.000 =    7.534`, in µs.
fn quantile_us(output: &str, percent: &str) -> Option<f64> {
    let (_, rest) = output.split_once(&format!("percentile {percent} ="))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}
