//! `linerate p4 trace`.

use crate::{files, print};
use clap::Args;
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::{Drawing, Event, Limits, Switch, Trace};
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// What p4c-bm2-ss wrote.
    program: PathBuf,
    /// The packet in hexadecimal digits; blanks and colons are ignored.
    #[arg(long, value_name = "HEX", value_parser = packet)]
    packet: Bytes,
    /// The port it comes in at.
    #[arg(long, value_name = "PORT", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..511))]
    port: u32,
    /// Entries, groups and sessions as in an STF test: `add`, `setdefault`, `mc_mgrp_create` and so on.
    #[arg(long, value_name = "FILE")]
    entries: Option<PathBuf>,
    /// Also draw it in this file, as SVG: a column for each pass, and what the packet did not come to.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// The bytes of a packet.
#[derive(Debug, Clone)]
struct Bytes(Vec<u8>);

fn packet(text: &str) -> Result<Bytes, String> {
    let digits = text
        .chars()
        .filter(|digit| !digit.is_whitespace() && *digit != ':');
    let digits: Option<Vec<u32>> = digits.map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| !digits.is_empty() && digits.len().is_multiple_of(2));
    let digits = digits.ok_or("give whole bytes in hexadecimal digits, such as 0800ff")?;
    let byte = |pair: &[u32]| u8::try_from(pair[0] << 4 | pair[1]).unwrap_or_default();
    Ok(Bytes(digits.chunks(2).map(byte).collect()))
}

pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode, Failure> {
    let program = files::program(&args.program)?;
    let mut switch = Switch::new(program, Limits::default(), 0);
    if let Some(path) = &args.entries {
        files::set_entries(&mut switch, path)?;
    }
    let (mut trace, mut drawing) = (Trace::default(), Drawing::default());
    let mut sent = Vec::new();
    let mut out = |port: u32, bytes: &[u8]| {
        sent.push(json!({"port": port, "packet": linerate_p4::hex(bytes)}));
    };
    switch.process_observed(
        args.port,
        &args.packet.0,
        0,
        &mut out,
        &mut |event: Event<'_>| {
            trace.add(&event);
            drawing.add(&event);
        },
    );
    if let Some(path) = &args.draw {
        let written = std::fs::write(path, drawing.svg(switch.program()));
        written.map_err(|error| {
            let message = format!("cannot write {}: {error}", path.display());
            Failure::new(ExitCode::Other, message)
        })?;
    }
    if args.json {
        print(&format!(
            "{:#}\n",
            json!({"trace": trace.lines(), "sent": sent})
        ))?;
        return Ok(ExitCode::Done);
    }
    print(&(trace.lines().join("\n") + "\n"))?;
    Ok(ExitCode::Done)
}
