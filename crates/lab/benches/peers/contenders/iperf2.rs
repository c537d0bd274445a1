//! iperf 2, for its pacing.

use super::{Contender, first_line, words};
use crate::activity::{Activity, Lengths, PACED_PAYLOAD, Values};
use crate::lab::Lab;
use anyhow::Result;
use std::path::Path;

/// The installed one.
pub(crate) struct Iperf2;

const PROGRAM: &str = "iperf";

impl Contender for Iperf2 {
    fn name(&self) -> &'static str {
        "iperf2"
    }

    fn version(&self) -> Result<String, String> {
        first_line(Path::new(PROGRAM), "--version", "iperf")
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Paced(_) => Ok(()),
            _ => Err("only its pacing is compared".to_owned()),
        }
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let Activity::Paced(pace) = activity else {
            return Ok(Values::new());
        };
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let number = port.to_string();
        let (program, payload) = (Path::new(PROGRAM), PACED_PAYLOAD.to_string());
        let serve = words(&["-s", "-u", "-p", &number]);
        let server = lab.serve(program, &serve, ("udp", port))?;
        let rate = format!("{pace}pps");
        let mut client = words(&[
            "-c", &address, "-u", "-p", &number, "-b", &rate, "-l", &payload,
        ]);
        client.extend(["-t".to_owned(), lengths.seconds()]);
        lab.client(program, &client, lengths.test)?;
        server.stop()?;
        Ok(Values::new())
    }
}
