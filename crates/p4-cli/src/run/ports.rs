//! The ports that a command line asks for.

use super::{RunArgs, refused};
use linerate_model::exit::{ExitCode, Failure};
use linerate_p4::DROP_PORT;
use linerate_p4_switch::{OpenPort, PortKind, open, open_vlan};
use linerate_sys::netlink::InterfaceName;
use linerate_sys::packet::VlanId;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};

/// An interface, the number and the way to it that are asked for.
#[derive(Debug, Clone)]
pub(super) struct PortArg {
    number: Option<u32>,
    interface: InterfaceName,
    way: Way,
}

/// How a port reaches its interface.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// The best that works.
    Best,
    Kind(&'static dyn PortKind),
    Vlan(VlanId),
}

impl Way {
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(vlan) = text.strip_prefix("vlan=") {
            return Ok(Self::Vlan(vlan.parse()?));
        }
        let mut kinds = linerate_p4_switch::ALL.iter();
        let found = kinds.find(|kind| kind.id() == text);
        found.map(|kind| Self::Kind(*kind)).ok_or_else(|| {
            let known: Vec<_> = linerate_p4_switch::ALL
                .iter()
                .map(|kind| kind.id())
                .collect();
            format!("kinds of ports are {}, vlan=ID", known.join(", "))
        })
    }
}

impl fmt::Display for Way {
    /// With the comma before it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => Ok(()),
            Self::Kind(kind) => write!(f, ",{}", kind.id()),
            Self::Vlan(vlan) => write!(f, ",vlan={vlan}"),
        }
    }
}

impl fmt::Display for PortArg {
    /// As on the command line: `1=eth1,af-packet`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(number) = self.number {
            write!(f, "{number}=")?;
        }
        write!(f, "{}{}", self.interface, self.way)
    }
}

pub(super) fn port(text: &str) -> Result<PortArg, String> {
    let (place, way) = match text.split_once(',') {
        Some((place, way)) => (place, Way::parse(way)?),
        None => (text, Way::Best),
    };
    let (number, interface) = match place.split_once('=') {
        Some((number, interface)) => (Some(number), interface),
        None => (None, place),
    };
    let number = number.map(|number| {
        let number = number.parse().ok().filter(|number| *number < DROP_PORT);
        number.ok_or("a port's number is 0 to 510")
    });
    let interface = InterfaceName::new(interface);
    Ok(PortArg {
        number: number.transpose()?,
        interface: interface.ok_or("an interface's name has 1 to 15 characters")?,
        way,
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
    no_port_twice(ports)?;
    let mut free = 0..DROP_PORT;
    let mut numbered = Vec::new();
    for port in ports {
        let next = || free.find(|number| !taken.contains(number));
        let number = port.number.or_else(next);
        let number =
            number.ok_or_else(|| usage("--port: there are 511 ports at most".to_owned()))?;
        numbered.push((number, port));
    }
    Ok(numbered)
}

/// An interface is one port, or one by each of its VLANs.
fn no_port_twice(ports: &[PortArg]) -> Result<(), Failure> {
    let usage = |message: String| Err(Failure::new(ExitCode::Usage, message));
    for (at, port) in ports.iter().enumerate() {
        let name = &port.interface;
        for other in ports[..at].iter().filter(|other| other.interface == *name) {
            match (port.way, other.way) {
                (Way::Vlan(vlan), Way::Vlan(same)) if vlan == same => {
                    return usage(format!("--port: VLAN {vlan} of {name} is named twice"));
                }
                (Way::Vlan(_), Way::Vlan(_)) => {}
                (Way::Vlan(_), _) | (_, Way::Vlan(_)) => {
                    return usage(format!(
                        "--port: {name} is a port with all of its frames, and one by a VLAN of it: give all its ports a VLAN, or none"
                    ));
                }
                _ => return usage(format!("--port: {name} is named twice")),
            }
        }
    }
    Ok(())
}

/// Opens them all.
pub(super) fn open_all(ports: &[(u32, &PortArg)]) -> Result<Vec<(u32, OpenPort)>, Failure> {
    let opened = ports.iter().map(|(number, arg)| {
        let port = match arg.way {
            Way::Best => open(&arg.interface),
            Way::Kind(kind) => kind.open(&arg.interface),
            Way::Vlan(vlan) => open_vlan(&arg.interface, vlan),
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
