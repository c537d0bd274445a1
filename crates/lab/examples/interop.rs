//! Prints the interop matrix as a table, every cell measured now: `interop iperf3 /opt/iperf3-3.22/bin/iperf3`.
//!
//! The cells are those of the test `interop`; each program named is the far end of all of them.

#[path = "../tests/interop/matrix.rs"]
mod matrix;

use anyhow::{Context as _, Result};
use linerate_model::spec::Transport;
use matrix::{Cell, Role, Way, measure};
use std::io::Write as _;
use std::process::Command;

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "| linerate is | far end | transport | normal | reverse | both ways |\n|---|---|---|---|---|---|"
    )?;
    for program in std::env::args().skip(1) {
        let version = version(&program)?;
        for role in [Role::Client, Role::Server] {
            for transport in [Transport::Tcp, Transport::Udp] {
                let ways = [Way::Normal, Way::Reverse, Way::Both];
                let cells = ways.map(|way| cell(&program, role, transport, way));
                let role = format!("{role:?}").to_lowercase();
                writeln!(
                    out,
                    "| {role} | {version} | {transport} | {} |",
                    cells.join(" | ")
                )?;
            }
        }
    }
    Ok(())
}

/// `iperf 3.12`.
fn version(program: &str) -> Result<String> {
    let output = Command::new(program).arg("--version").output();
    let text = output
        .with_context(|| format!("starting {program}"))?
        .stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut words = text.split_whitespace();
    Ok(format!("iperf3 {}", words.nth(1).unwrap_or("?")))
}

/// What became of a combination over both IP versions.
fn cell(program: &str, role: Role, transport: Transport, way: Way) -> String {
    let one = |is_v6| {
        let cell = Cell {
            role,
            transport,
            way,
            is_v6,
        };
        match measure(program, cell) {
            Ok(counts) if counts.iter().all(matrix::Count::agrees) => "equal".to_owned(),
            Ok(counts) => format!("{counts:?}"),
            Err(error) => format!("{error:#}"),
        }
    };
    let (v4, v6) = (one(false), one(true));
    if v4 == v6 {
        v4
    } else {
        format!("IPv4: {v4}; IPv6: {v6}")
    }
}
