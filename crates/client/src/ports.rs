//! Which ports firewalls must let through: what each protocol says of its own.

use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::{ALL, EPHEMERAL_PORTS, OpenPorts, PeerKind, find};
use serde_json::json;
use std::fmt;

/// Protocols whose ports are listed, each on its usual port.
pub struct Ports(Vec<&'static dyn PeerKind>);

impl Ports {
    /// Of the protocol with this id, or of all; an error with those that there are if none has it.
    pub fn of(protocol: Option<&str>) -> Result<Self, Failure> {
        let Some(id) = protocol else {
            return Ok(Self(ALL.to_vec()));
        };
        let one = find(id).ok_or_else(|| {
            let known: Vec<_> = ALL.iter().map(|kind| kind.id()).collect();
            let message = format!(
                "no protocol is called {id}; give one of {}",
                known.join(", ")
            );
            Failure::new(ExitCode::Usage, message)
        })?;
        Ok(Self(vec![one]))
    }

    fn all(&self) -> impl Iterator<Item = (&'static str, OpenPorts)> {
        let usual = |kind: &&'static dyn PeerKind| {
            let about = kind.about();
            (about.id, about.open_ports(about.default_port))
        };
        self.0.iter().map(usual)
    }

    /// One object for each protocol.
    pub fn document(&self) -> serde_json::Value {
        let object = |(protocol, ports): (&str, OpenPorts)| {
            let (first, last) = ports.data;
            json!({
                "protocol": protocol,
                "control_tcp_port": ports.control,
                "data_first_port": first,
                "data_last_port": last,
                "client_listens": ports.client_listens,
                "one_port": ports.has_one_port,
            })
        };
        self.all().map(object).collect()
    }
}

impl fmt::Display for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports of the peer that every firewall must let through, from the client:")?;
        for (protocol, ports) in self.all() {
            write!(f, "\n  {protocol:<10} {ports}")?;
        }
        if self.all().any(|(_, ports)| ports.is_ephemeral()) {
            let (first, last) = EPHEMERAL_PORTS;
            write!(
                f,
                "\n{first} to {last}: what Linux gives to data streams; the server's sysctl net.ipv4.ip_local_port_range changes it."
            )?;
        }
        if self.all().any(|(_, ports)| !ports.client_listens) {
            f.write_str(
                "\nThe client opens all connections, for -R too: it needs no open port, and may be behind NAT.",
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_protocol_or_all_are_listed() {
        let all = Ports::of(None).unwrap();
        let document = all.document();
        assert_eq!(document.as_array().unwrap().len(), ALL.len());
        for kind in ALL {
            assert!(all.to_string().contains(kind.id()));
            let port = kind.about().default_port.to_string();
            assert!(
                Ports::of(Some(kind.id()))
                    .unwrap()
                    .to_string()
                    .contains(&port)
            );
        }
        assert_eq!(document[2]["data_first_port"], 5201);
        let error = Ports::of(Some("ftp")).err().unwrap();
        assert!(
            error.message.contains("give one of native, iperf2"),
            "{error}"
        );
        assert_eq!(error.code, ExitCode::Usage);
    }
}
