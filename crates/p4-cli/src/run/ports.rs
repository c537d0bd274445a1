//! The ports that a command line asks for.

use super::{RunArgs, refused};
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::DROP_PORT;
use linerate_p4_switch::{OpenPort, PortKind, open};
use linerate_sys::netlink::InterfaceName;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

/// An interface, the number and the kind that are asked for.
#[derive(Debug, Clone)]
pub(super) struct PortArg {
    number: Option<u32>,
    interface: InterfaceName,
    kind: Option<&'static dyn PortKind>,
}

impl fmt::Display for PortArg {
    /// As on the command line: `1=eth1,af-packet`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number}=")?;
        }
        write!(f, "{}", self.interface)?;
        self.kind.map_or(Ok(()), |kind| write!(f, ",{}", kind.id()))
    }
}

pub(super) fn port(text: &str) -> Result<PortArg, String> {
    let (number, rest) = match text.split_once('=') {
        Some((number, rest)) => (Some(number), rest),
        None => (None, text),
    };
    let (interface, kind) = match rest.split_once(',') {
        Some((interface, kind)) => (interface, Some(kind)),
        None => (rest, None),
    };
    let number = number.map(|number| {
        let number = number.parse().ok().filter(|number| *number < DROP_PORT);
        number.ok_or("a port's number is 0 to 510")
    });
    let kind = kind.map(|id| {
        let kinds = linerate_p4_switch::ALL.iter().copied();
        let known = || {
            kinds
                .clone()
                .map(PortKind::id)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let found = kinds.clone().find(|kind| kind.id() == id);
        found.ok_or_else(|| format!("kinds of ports are {}", known()))
    });
    let interface = InterfaceName::new(interface);
    Ok(PortArg {
        number: number.transpose()?,
        interface: interface.ok_or("an interface's name has 1 to 15 characters")?,
        kind: kind.transpose()?,
    })
}

/// Each port with its number: the one that is asked for, or the next that is free.
pub(super) fn numbers(args: &RunArgs) -> Result<Vec<(u32, &PortArg)>, Failure> {
    let ports = &args.ports;
    let mut taken = BTreeSet::new();
    if args.p4runtime.is_some() {
        taken.insert(args.cpu_port);
    }
    let usage = |message: String| Failure::new(ExitCode::Usage, message);
    for number in ports.iter().filter_map(|port| port.number) {
        if !taken.insert(number) {
            return Err(usage(format!(
                "--port: two ports have number {number}, or it is that of controllers (--cpu-port)"
            )));
        }
    }
    let mut names = BTreeSet::new();
    let mut free = 0..DROP_PORT;
    let mut numbered = Vec::new();
    for port in ports {
        if !names.insert(port.interface.as_str()) {
            return Err(usage(format!("--port: {} is named twice", port.interface)));
        }
        let next = || free.find(|number| !taken.contains(number));
        let number = port.number.or_else(next);
        let number =
            number.ok_or_else(|| usage("--port: there are 511 ports at most".to_owned()))?;
        numbered.push((number, port));
    }
    Ok(numbered)
}

/// Opens them all.
pub(super) fn open_all(ports: &[(u32, &PortArg)]) -> Result<Vec<(u32, OpenPort)>, Failure> {
    let opened = ports.iter().map(|(number, arg)| {
        let port = match arg.kind {
            Some(kind) => kind.open(&arg.interface),
            None => open(&arg.interface),
        };
        Ok((*number, port.map_err(|error| refused(&error))?))
    });
    opened.collect()
}

/// A line for each, and what its user should know of it.
pub(super) fn described(ports: &[(u32, OpenPort)]) -> String {
    let mut text = String::new();
    for (number, port) in ports {
        let _ = writeln!(text, "port {number}: {port}");
        for note in &port.notes {
            let _ = writeln!(text, "  note: {note}");
        }
    }
    text
}
