//! sfnt-pingpong, which no distribution has, for its ping-pong.

use super::{Contender, PingPong, first_line, words};
use crate::activity::{Activity, Lengths, PING_BYTES, Values, round_trips};
use crate::goals::SFNT;
use crate::lab::Lab;
use crate::turns::Pair;
use anyhow::{Context as _, Result};
use std::path::PathBuf;

/// The one that the user names.
pub(crate) struct Sfnt {
    pub(crate) program: Option<PathBuf>,
}

impl Sfnt {
    fn program(&self) -> Result<&PathBuf, String> {
        let absent = || "it is not in Debian; give it with --sfnt PATH".to_owned();
        self.program.as_ref().ok_or_else(absent)
    }
}

impl Contender for Sfnt {
    fn name(&self) -> &'static str {
        SFNT
    }

    fn version(&self) -> Result<String, String> {
        first_line(self.program()?, "--version", SFNT)
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::PingPong | Activity::TcpPingPong => Ok(()),
            _ => Err("it only plays ping-pong".to_owned()),
        }
    }

    fn ping_pong(&self) -> Option<&dyn PingPong> {
        Some(self)
    }

    fn run(&self, _lab: &Lab, _activity: Activity, _lengths: Lengths) -> Result<Values> {
        unreachable!("invariant: it offers its ping-pong only")
    }
}

impl PingPong for Sfnt {
    fn start(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair> {
        let program = self.program().map_err(anyhow::Error::msg)?;
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let listen = format!("--port={port}");
        let server = lab.serve(program, &words(&[&listen]), ("tcp", port))?;
        // Each end would else choose a core for itself.
        let cores = format!("--affinity={};{}", lab.cores[0], lab.cores[1]);
        let millis = lengths.whole().as_millis();
        let (least, most) = (format!("--minms={millis}"), format!("--maxms={millis}"));
        let size = format!("--sizes={PING_BYTES}");
        let mut client = words(&[&listen, &cores, &size, &least, &most, MOST]);
        client.extend(words(&["--spin", "--rtt", "--nodelay", "--percentile=99"]));
        let transport = match activity {
            Activity::TcpPingPong => "tcp",
            _ => "udp",
        };
        client.extend(words(&[transport, &address]));
        let client = lab.start_client(program, &client)?;
        Ok(Pair { server, client })
    }

    /// The row `size mean min median max %ile stddev iter`, in ns.
    fn read(&self, activity: Activity, printed: &str) -> Result<Values> {
        let mut rows = printed.lines().filter(|line| !line.starts_with('#'));
        let row = rows.find(|line| !line.trim().is_empty());
        let row = row.context("sfnt-pingpong printed no row")?;
        let column = |column: usize| -> Result<f64> {
            let word = row.split_ascii_whitespace().nth(column);
            let nanos: f64 = word.context("a short row of sfnt-pingpong")?.parse()?;
            Ok(nanos / 1e3)
        };
        Ok(round_trips(activity, column(3)?, column(5)?))
    }
}

/// Round trips that it has room for: many times what fits into a test.
const MOST: &str = "--maxiter=20000000";
