//! iperf3.

use super::{Contender, first_line, number, of_streams, words};
use crate::activity::{Activity, Lengths, Measure, PACED_PAYLOAD, PAYLOAD, Values};
use crate::goals::{IPERF3, IPERF3_ZERO_COPY};
use crate::lab::Lab;
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The installed one, or another.
pub(crate) struct Iperf3 {
    pub(crate) program: PathBuf,
    /// With `--zerocopy --no-delay`, for one TCP stream.
    pub(crate) is_zero_copy: bool,
}

impl Contender for Iperf3 {
    fn name(&self) -> &'static str {
        if self.is_zero_copy {
            IPERF3_ZERO_COPY
        } else {
            IPERF3
        }
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program, "--version", "iperf3")
    }

    fn offers(&self, activity: Activity) -> Result<(), String> {
        match activity {
            Activity::Tcp => Ok(()),
            _ if self.is_zero_copy => Err("only one TCP stream goes without copying".to_owned()),
            Activity::PingPong | Activity::TcpPingPong => Err("iperf3 has no ping-pong".to_owned()),
            Activity::Streams(streams) if streams > MAX_STREAMS => {
                Err(format!("iperf3 has at most {MAX_STREAMS} streams"))
            }
            Activity::Aggregated if !self.has_gsro() => {
                let version = self.version()?;
                Err(format!(
                    "{version} has no --gsro; give a newer one with --iperf3 PATH"
                ))
            }
            _ => Ok(()),
        }
    }

    fn run(&self, lab: &Lab, activity: Activity, lengths: Lengths) -> Result<Values> {
        let (address, port) = (lab.b().ipv4().to_string(), lab.port());
        let port_word = port.to_string();
        let serve = words(&["-s", "-1", "-p", &port_word]);
        let server = lab.serve(&self.program, &serve, ("tcp", port))?;
        let mut client = words(&["-c", &address, "-p", &port_word, "-J", "-t"]);
        client.push(lengths.seconds());
        client.extend(traffic(activity));
        if self.is_zero_copy {
            client.extend(words(&["--zerocopy", "--no-delay"]));
        }
        let client = lab.client(&self.program, &client, lengths.test)?;
        let server = server.finish(lengths.test).context("server")?;
        let document: Value = serde_json::from_str(&client.output)?;
        if let Activity::Streams(streams) = activity {
            let end = &document["end"];
            let bytes = number(end, "/sum_received/bytes")?;
            let bps = number(end, "/sum_received/bits_per_second")?;
            return Ok(of_streams(streams, &[client, server], bytes, bps));
        }
        let cpu = client.cpu + server.cpu;
        values(activity, &document["end"], cpu.as_secs_f64()).context("iperf3's document")
    }
}

impl Iperf3 {
    fn has_gsro(&self) -> bool {
        let output = Command::new(&self.program).arg("--help").output();
        output.is_ok_and(|output| {
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8_lossy(&text).contains("--gsro")
        })
    }
}

fn traffic(activity: Activity) -> Vec<String> {
    let payload = PAYLOAD.to_string();
    match activity {
        Activity::Tcp
        | Activity::PingPong
        | Activity::TcpPingPong
        // Of generators, which this is none of.
        | Activity::Frames(_)
        | Activity::FramesPaced(_) => Vec::new(),
        Activity::Streams(streams) => words(&["-P", &streams.to_string()]),
        Activity::Udp => words(&["-u", "-b", "0", "-l", &payload]),
        Activity::Aggregated => words(&["-u", "-b", "0", "-l", &payload, "--gsro"]),
        Activity::Paced(pace) => {
            let rate = (u64::from(pace) * u64::from(PACED_PAYLOAD) * 8).to_string();
            words(&["-u", "-b", &rate, "-l", &PACED_PAYLOAD.to_string()])
        }
    }
}

fn values(activity: Activity, end: &Value, cpu_s: f64) -> Result<Values> {
    let get = |pointer| number(end, pointer);
    let packets = |sent, received| -> Result<Values> {
        let sent_pps = get("/sum_sent/packets")? / get("/sum_sent/seconds")?;
        // What iperf3 calls packets of the receiver includes the lost ones.
        let delivered = get("/sum_received/packets")? - get("/sum_received/lost_packets")?;
        let received_pps = delivered / get("/sum_received/seconds")?;
        Ok(Values::from([
            (sent, sent_pps / 1e3),
            (received, received_pps / 1e3),
        ]))
    };
    Ok(match activity {
        Activity::Tcp => Values::from([
            (
                Measure::TcpRate,
                get("/sum_received/bits_per_second")? / 1e9,
            ),
            (Measure::TcpCpu, cpu_s / (get("/sum_received/bytes")? / 1e9)),
        ]),
        Activity::Udp => packets(Measure::UdpSent, Measure::UdpReceived)?,
        Activity::Aggregated => packets(Measure::AggregatedSent, Measure::AggregatedReceived)?,
        _ => Values::new(),
    })
}

/// Of one client.
const MAX_STREAMS: u32 = 128;
