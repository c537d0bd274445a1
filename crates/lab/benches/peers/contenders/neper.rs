//! neper's `tcp_stream`, which no distribution has, for many streams.

use super::{Contender, of_streams, words};
use crate::activity::{Activity, Lengths, Values};
use crate::goals::NEPER;
use crate::lab::Lab;
use anyhow::{Context as _, Result, bail};
use std::path::PathBuf;

/// The one that the user names.
pub(crate) struct Neper {
    pub(crate) program: Option<PathBuf>,
}

impl Contender for Neper {
    fn name(&self) -> &'static str {
        NEPER
    }

    fn version(&self) -> Result<String, String> {
        let absent = || "it is not in Debian; give it with --neper PATH".to_owned();
        let program = self.program.as_ref().ok_or_else(absent)?;
        // It does not say which one it is before a test.
        if !program.is_file() {
            return Err(format!("{} is no file", program.display()));
        }
        Ok("one thread per end".to_owned())
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Streams(_) => Ok(()),
            _ => Err("it is compared for many streams only".to_owned()),
        }
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let (Some(program), Activity::Streams(streams)) = (&self.program, activity) else {
            bail!("it is compared for many streams only");
        };
        let [control, data] = [lab.port(), lab.port()].map(|port| port.to_string());
        let (streams_word, seconds) = (streams.to_string(), lengths.seconds());
        let mut both = words(&[
            "-C",
            &control,
            "-P",
            &data,
            "-F",
            &streams_word,
            "-l",
            &seconds,
        ]);
        // Else it leaves files of log where the benchmark was started.
        both.push("--logtostderr".to_owned());
        let port = control.parse().context("invariant: a number")?;
        let server = lab.serve(program, &both, ("tcp", port))?;
        let mut client = words(&["-c", "-H", &lab.b().ipv4().to_string()]);
        client.extend(both);
        let client = lab.client(program, &client, lengths.test)?;
        let server = server.finish(lengths.test).context("server")?;
        // Of the server, which receives.
        let key = "local_throughput=";
        let line = server
            .output
            .lines()
            .find_map(|line| line.strip_prefix(key));
        let bits: f64 = line
            .context("neper's server printed no local_throughput")?
            .parse()?;
        let bytes = bits * lengths.whole().as_secs_f64() / 8.0;
        Ok(of_streams(streams, &[client, server], bytes, bits))
    }
}
