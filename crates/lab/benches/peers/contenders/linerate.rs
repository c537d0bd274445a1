//! linerate itself, as the two processes that a user runs.

use super::{Contender, PingPong, first_line, number, of_streams, words};
use crate::activity::{
    Activity, Lengths, Measure, PACED_PAYLOAD, PAYLOAD, PING_BYTES, Values, round_trips,
};
use crate::lab::{Lab, PATIENCE};
use crate::turns::Pair;
use anyhow::{Context as _, Result};
use linerate_sys::privilege;
use serde_json::Value;
use std::path::PathBuf;

/// A build of linerate.
pub(crate) struct Linerate {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    /// In what it differs from linerate as it is.
    pub(crate) variant: Variant,
}

/// A way to run linerate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variant {
    /// With `--datapath af-xdp`: UDP past the kernel's stack.
    PastTheStack,
    /// Without any option that is not of the test.
    Plain,
    /// With `--wait spin`: for pacing.
    Spinning,
    /// With `--datapath sockets,zerocopy=true --no-delay`: a TCP stream without copying at its sender.
    ZeroCopy,
}

impl Contender for Linerate {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program, "--version", "linerate")
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        use Activity::{Paced, PingPong, Tcp, Udp};
        match (self.variant, activity) {
            (Variant::PastTheStack, Udp | PingPong) => past_the_stack(),
            (Variant::PastTheStack, _) => Err("af-xdp has its own table rows only".to_owned()),
            (Variant::Plain, _) | (Variant::Spinning, Paced(_)) | (Variant::ZeroCopy, Tcp) => {
                Ok(())
            }
            (Variant::ZeroCopy, _) => Err("only one TCP stream goes without copying".to_owned()),
            (Variant::Spinning, _) => {
                Err("another way to wait is compared for pacing only".to_owned())
            }
        }
    }

    fn ping_pong(&self) -> Option<&dyn PingPong> {
        Some(self)
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let Pair { server, client } = self.start_test(lab, activity, lengths)?;
        let client = client.finish(lengths.test + PATIENCE).context("client")?;
        let server = server.finish(lengths.test).context("server")?;
        let run: Value = serde_json::from_str(&client.output)?;
        let trial = &run["trials"][0];
        if let Activity::Streams(streams) = activity {
            let bytes = number(trial, "/received_bytes")?;
            let bps = number(trial, "/received_bps")?;
            return Ok(of_streams(streams, &[client, server], bytes, bps));
        }
        let cpu = client.cpu + server.cpu;
        values(activity, trial, cpu.as_secs_f64()).context("linerate's document")
    }
}

impl PingPong for Linerate {
    fn start(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair> {
        self.start_test(lab, activity, lengths)
    }

    /// A device that has an XDP program polls.
    fn is_alone(&self) -> bool {
        self.variant == Variant::PastTheStack
    }

    fn read(&self, activity: Activity, printed: &str) -> Result<Values> {
        let run: Value = serde_json::from_str(printed)?;
        values(activity, &run["trials"][0], 0.0).context("linerate's document")
    }
}

impl Linerate {
    fn start_test(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Pair> {
        let (address, port) = (lab.b().ipv4(), lab.port());
        let listen = format!("{address}:{port}");
        let serve = [
            "serve",
            "--once",
            "--listen",
            &listen,
            "--allow-intrusive",
            "0.0.0.0/0",
        ];
        let serve = words(&serve);
        let server = lab.serve(&self.program, &serve, ("tcp", port))?;
        let seconds = format!("{}s", lengths.seconds());
        let mut client = test(activity, &listen);
        if self.variant == Variant::PastTheStack {
            take_past_the_stack(&mut client);
        }
        client.extend(words(&["-t", &seconds, "--cpu", &lab.pinning()]));
        match self.variant {
            Variant::Spinning => client.extend(words(&["--wait", "spin"])),
            Variant::ZeroCopy => {
                client.extend(words(&[
                    "--datapath",
                    "sockets,zerocopy=true",
                    "--no-delay",
                ]));
            }
            Variant::PastTheStack | Variant::Plain => {}
        }
        client.extend(words(&["--json", "--no-store", "--quiet"]));
        let client = lab.start_client(&self.program, &client)?;
        Ok(Pair { server, client })
    }
}

/// Whether this process may have XDP programs.
fn past_the_stack() -> Result<(), String> {
    if privilege::is_in_user_namespace() || !privilege::lacking_for_xdp().is_empty() {
        return Err("af-xdp needs root outside of user namespaces: --namespaces root".to_owned());
    }
    Ok(())
}

/// The same test over AF_XDP, spinning: as a mode of `latency`, as a datapath of `udp`.
fn take_past_the_stack(client: &mut Vec<String>) {
    match client.iter_mut().find(|word| *word == "spin") {
        Some(mode) => "af-xdp".clone_into(mode),
        None => client.extend(words(&["--datapath", "af-xdp", "--wait", "spin"])),
    }
}

fn test(activity: Activity, far: &str) -> Vec<String> {
    let payload = PAYLOAD.to_string();
    match activity {
        // Of generators, whose own list starts them.
        Activity::Frames(_) | Activity::FramesPaced(_) => Vec::new(),
        Activity::Tcp => words(&["tcp", far]),
        Activity::Streams(streams) => words(&[
            "tcp",
            far,
            "--streams",
            &streams.to_string(),
            "--diagnose",
            "0s",
        ]),
        Activity::Udp => words(&["udp", far, "--rate", "max", "--payload", &payload]),
        Activity::Aggregated => {
            let datapath = "sockets,gso=true,gro=true";
            words(&[
                "udp",
                far,
                "--rate",
                "max",
                "--payload",
                &payload,
                "--datapath",
                datapath,
            ])
        }
        Activity::PingPong | Activity::TcpPingPong => {
            let size = PING_BYTES.to_string();
            let transport = match activity {
                Activity::TcpPingPong => "tcp",
                _ => "udp",
            };
            words(&[
                "latency",
                far,
                "--transport",
                transport,
                "--wait",
                "spin",
                "--sizes",
                &size,
                // What sockperf leaves out at the begin.
                "--warm-up",
                "400ms",
            ])
        }
        Activity::Paced(pace) => {
            let rate = (u64::from(pace) * u64::from(PACED_PAYLOAD) * 8).to_string();
            let payload = PACED_PAYLOAD.to_string();
            words(&["udp", far, "--rate", &rate, "--payload", &payload])
        }
    }
}

fn values(activity: Activity, trial: &Value, cpu_s: f64) -> Result<Values> {
    let get = |pointer| number(trial, pointer);
    let packets = |sent, received| -> Result<Values> {
        Ok(Values::from([
            (sent, get("/offered_pps")? / 1e3),
            (received, get("/received_pps")? / 1e3),
        ]))
    };
    Ok(match activity {
        Activity::Tcp => Values::from([
            (Measure::TcpRate, get("/received_bps")? / 1e9),
            (Measure::TcpCpu, cpu_s / (get("/received_bytes")? / 1e9)),
        ]),
        Activity::Udp => packets(Measure::UdpSent, Measure::UdpReceived)?,
        Activity::Aggregated => packets(Measure::AggregatedSent, Measure::AggregatedReceived)?,
        Activity::PingPong | Activity::TcpPingPong => {
            let (median, p99) = (get("/delay/p50_ns")?, get("/delay/p99_ns")?);
            round_trips(activity, median / 1e3, p99 / 1e3)
        }
        _ => Values::new(),
    })
}
