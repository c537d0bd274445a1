//! Ports that firewalls between a server and its clients must let through.

use super::{Capabilities, Control, Demux};
use std::fmt;

/// First and last port that Linux gives to sockets that ask for none: the default of `net.ipv4.ip_local_port_range`.
pub const EPHEMERAL_PORTS: (u16, u16) = (32_768, 60_999);

/// Ports that one end of a protocol must be reachable at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPorts {
    /// TCP port of the control connection; `None` where there is none.
    pub control: Option<u16>,
    /// First and last port of TCP and UDP data streams.
    pub data: (u16, u16),
    /// Whether the client listens at the data ports too: the peer opens the streams of `-R`.
    pub client_listens: bool,
    /// Whether its server can do with the port of the control connection alone.
    pub has_one_port: bool,
}

impl Capabilities {
    /// The ports of this protocol where its server listens on `port`.
    pub const fn open_ports(&self, port: u16) -> OpenPorts {
        let is_connected = matches!(self.control, Control::Connection);
        OpenPorts {
            control: if is_connected { Some(port) } else { None },
            data: match self.demux {
                Demux::OwnPorts => EPHEMERAL_PORTS,
                Demux::EachATest { .. } | Demux::Cookie { .. } => (port, port),
            },
            client_listens: matches!(self.control, Control::Shell),
            has_one_port: self.one_port.is_some(),
        }
    }
}

impl OpenPorts {
    /// Whether data streams come to ports that the system chooses.
    pub fn is_ephemeral(&self) -> bool {
        self.data == EPHEMERAL_PORTS
    }
}

impl fmt::Display for OpenPorts {
    /// As a part of a sentence, such as `TCP 5301, TCP and UDP 32768 to 60999`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.data;
        if let Some(control) = self.control.filter(|_| self.is_ephemeral()) {
            write!(f, "TCP {control}, ")?;
        }
        write!(f, "TCP and UDP {first}")?;
        if first != last {
            write!(f, " to {last}")?;
        }
        if let Some(control) = self.control.filter(|_| self.has_one_port) {
            write!(f, " (of `serve --one-port`: TCP and UDP {control} only)")?;
        }
        if self.client_listens {
            f.write_str("; this host the same, for -R")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{ALL, Control};

    #[test]
    fn every_protocol_has_its_ports() {
        let lines = ALL.iter().map(|kind| {
            let about = kind.about();
            format!("{}: {}", kind.id(), about.open_ports(about.default_port))
        });
        assert_eq!(
            lines.collect::<Vec<_>>(),
            [
                "native: TCP 5301, TCP and UDP 32768 to 60999 (of `serve --one-port`: TCP and UDP 5301 only)",
                "iperf2: TCP and UDP 5001",
                "iperf3: TCP and UDP 5201",
                "netperf: TCP 12865, TCP and UDP 32768 to 60999",
                "sfnt: TCP 2048, TCP and UDP 32768 to 60999",
                "sockperf: TCP and UDP 11111",
                "zperf: TCP and UDP 5001; this host the same, for -R",
            ]
        );
    }

    #[test]
    fn another_port_moves_what_comes_to_it() {
        for kind in ALL {
            let ports = kind.about().open_ports(7);
            assert_eq!(
                ports.control.is_some(),
                kind.about().control == Control::Connection
            );
            assert!(ports.is_ephemeral() || ports.data == (7, 7), "{ports}");
        }
    }
}
