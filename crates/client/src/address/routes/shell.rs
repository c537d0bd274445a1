//! Route to a device controlled through its shell: on a serial line, or behind a telnet server.

use super::resolve::{connect, dial, resolve};
use super::{Reached, Route, RouteHelp, RouteKind, has_no_shell};
use crate::address::{IpChoice, PeerAddress};
use crate::target::Target;
use anyhow::Result;
use linerate_deploy::{DEFAULT_BAUD, no_line};
use linerate_model::consent::Effect;
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::host_port::split_port;
use linerate_model::query::{Query, device};
use linerate_peers::{PeerKind, Protocol, SettingValues, Wire};
use linerate_session::Shell;
use linerate_sys::serial::SerialLine;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The port of a telnet server.
const TELNET_PORT: u16 = 23;

/// Line to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ShellAddress {
    /// A serial line.
    Serial { device: PathBuf, baud: u32 },
    /// A telnet server.
    Telnet { host: String, port: u16 },
}

/// A device with a shell, as written.
#[derive(Debug, PartialEq, Eq)]
struct ShellPeer {
    shell: ShellAddress,
    /// Its name or address in the network under test.
    host: String,
    /// The port of its traffic.
    port: u16,
    /// Settings that only its protocol has.
    settings: SettingValues,
}

/// Kind of this route: its schemes are those of the lines to a shell.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &["serial", "telnet"],
    carries: |kind| !has_no_shell(kind),
    help: |kind| {
        Some(RouteHelp {
            addresses: examples(kind),
            what: format!(
                "the board's {} shell; host= is its address in the network",
                kind.id()
            ),
        })
    },
    examples,
    read: |kind, scheme, rest| {
        let peer = ShellPeer::read(kind, scheme, rest)?;
        let protocol = Protocol::with(kind, &peer.settings)?;
        Ok(PeerAddress::new(protocol, peer))
    },
};

fn examples(kind: &dyn PeerKind) -> Vec<String> {
    let id = kind.id();
    vec![
        format!("{id}+serial:///dev/ttyUSB0?baud=115200&host=192.0.2.1"),
        format!("{id}+telnet://shellhost:23?host=192.0.2.1"),
    ]
}

impl ShellPeer {
    /// Parses what follows `ID+serial://` or `ID+telnet://`.
    fn read(kind: &dyn PeerKind, scheme: &str, rest: &str) -> Result<Self, String> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = Query::read(query)?;
        let shell = match scheme {
            "serial" => serial(place, &mut parts)?,
            _ => telnet(place)?,
        };
        let host = parts.host()?;
        let port = parts.number("port", kind.about().default_port)?;
        let names = kind.about().settings.iter().map(|setting| setting.name);
        let settings = names.clone().filter_map(|name| {
            let value = parts.take(name)?;
            Some((name.to_owned(), value))
        });
        let settings = settings.collect();
        let own: Vec<_> = names.map(|name| format!("{name}=")).collect();
        let own = own.iter().map(String::as_str);
        let known: Vec<_> = ["host=", "port=", "baud= (of a serial line)"]
            .into_iter()
            .chain(own)
            .collect();
        parts.end(&known)?;
        Ok(Self {
            shell,
            host,
            port,
            settings,
        })
    }
}

impl Route for ShellPeer {
    fn show(&self, kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}?host={}", kind.id(), self.shell, self.host)?;
        if self.port != kind.about().default_port {
            write!(f, "&port={}", self.port)?;
        }
        f.write_str(&self.shell.extra())?;
        let mut settings = self.settings.iter();
        settings.try_for_each(|(name, value)| write!(f, "&{name}={value}"))
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        let line = connect(target, &self.host, self.port)?;
        let shell = self.shell.open(target.far.kind().id(), target.timeout)?;
        let line = line.with_shell(shell, target.timeout)?;
        Ok(Reached {
            wire: Some(self.shell.wire()),
            ..Reached::over(line, target)
        })
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        vec![Effect::Connects(address)]
    }

    fn port(&self, _kind: &dyn PeerKind) -> u16 {
        self.port
    }
}

impl ShellAddress {
    /// How it is reached.
    const fn wire(&self) -> Wire {
        match self {
            Self::Serial { .. } => Wire::Serial,
            Self::Telnet { .. } => Wire::Telnet,
        }
    }

    /// Opens the line to the shell for protocol `id`.
    fn open(&self, id: &str, timeout: Duration) -> Result<Shell, Failure> {
        match self {
            Self::Serial { device, baud } => {
                let line = SerialLine::open(device, *baud);
                line.map(Shell::Serial)
                    .map_err(|error| no_line(device, &error))
            }
            Self::Telnet { host, port } => {
                let connected = dial(&resolve(host, *port, IpChoice::Any)?, timeout);
                connected.map(Shell::Telnet).map_err(|error| {
                    let hint = "see that Zephyr is built with CONFIG_SHELL_BACKEND_TELNET=y and that no one else is connected: it serves one at a time";
                    let message = format!("cannot connect to {id}+{self}: {error}; {hint}");
                    Failure::new(ExitCode::Peer, message)
                })
            }
        }
    }

    /// Query part of an address for values that are not defaults.
    fn extra(&self) -> String {
        match self {
            Self::Serial { baud, .. } if *baud != DEFAULT_BAUD => format!("&baud={baud}"),
            _ => String::new(),
        }
    }
}

impl fmt::Display for ShellAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { device, .. } => write!(f, "serial://{}", device.display()),
            Self::Telnet { host, port } if host.contains(':') => {
                write!(f, "telnet://[{host}]:{port}")
            }
            Self::Telnet { host, port } => write!(f, "telnet://{host}:{port}"),
        }
    }
}

fn serial(place: &str, parts: &mut Query) -> Result<ShellAddress, String> {
    Ok(ShellAddress::Serial {
        device: device(place)?,
        baud: parts.number("baud", DEFAULT_BAUD)?,
    })
}

fn telnet(place: &str) -> Result<ShellAddress, String> {
    let place = place.trim_end_matches('/');
    let (host, port) = split_port(place)
        .filter(|(host, _)| !host.is_empty() && !host.contains(char::is_whitespace))
        .ok_or_else(|| format!("\"{place}\" is not a host with a telnet server"))?;
    let port = match port {
        None => TELNET_PORT,
        Some(digits) => digits
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("\"{digits}\" is not a port"))?,
    };
    Ok(ShellAddress::Telnet {
        host: host.to_owned(),
        port,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ShellPeer {
        let kind = linerate_peers::find("zperf").unwrap();
        let (scheme, rest) = text.split_once("://").unwrap();
        let (_, wire) = scheme.split_once('+').unwrap();
        ShellPeer::read(kind, wire, rest).unwrap()
    }

    fn shown(text: &str) -> String {
        PeerAddress::parse(text).unwrap().to_string()
    }

    #[test]
    fn a_serial_line_with_all_its_settings() {
        let text = "zperf+serial:///dev/ttyUSB0?baud=9600&host=192.0.2.1&zephyr=3.3&port=7";
        let board = read(text);
        let device = PathBuf::from("/dev/ttyUSB0");
        let serial = ShellAddress::Serial { device, baud: 9600 };
        assert_eq!(board.shell, serial);
        assert_eq!((board.host.as_str(), board.port), ("192.0.2.1", 7));
        assert_eq!(board.settings.len(), 1);
        let again = "zperf+serial:///dev/ttyUSB0?host=192.0.2.1&port=7&baud=9600&zephyr=3.3";
        assert_eq!(shown(text), again);
        assert_eq!(shown(again), again);
        let usual = "zperf+serial:///dev/ttyUSB0?host=192.0.2.1";
        assert_eq!(shown(&format!("{usual}&baud=115200&port=5001")), usual);
    }

    #[test]
    fn a_telnet_shell_and_an_ipv6_board() {
        let text = "zperf+telnet://[::1]?host=2001:db8::1";
        let board = read(text);
        let telnet = ShellAddress::Telnet {
            host: "::1".to_owned(),
            port: 23,
        };
        assert_eq!(board.shell, telnet);
        assert_eq!(board.host, "2001:db8::1");
        assert_eq!(shown(text), "zperf+telnet://[::1]:23?host=2001:db8::1");
    }

    #[test]
    fn nonsense_about_a_shell_shows_what_is_right() {
        for text in [
            "zperf://board",
            "zperf+ssh://board?host=a",
            "zperf+serial:///dev/ttyUSB0",
            "zperf+serial://ttyUSB0?host=a",
            "zperf+serial:///dev/ttyUSB0?host=a&baud=0",
            "zperf+serial:///dev/ttyUSB0?host=a&baud=fast",
            "zperf+serial:///dev/ttyUSB0?host=a&parity=even",
            "zperf+serial:///dev/ttyUSB0?host",
            "zperf+telnet://?host=a",
            "zperf+telnet://a:0?host=a",
            "zperf+telnet://a?host=a&baud=9600",
            "zperf+telnet://a?host=a&zephyr=new",
        ] {
            let error = PeerAddress::parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
            assert!(error.message.contains("?host=192.0.2.1"), "{error}");
        }
        let error = PeerAddress::parse("iperf3+serial:///dev/ttyUSB0?host=a").unwrap_err();
        assert!(error.message.contains("does not speak"), "{error}");
    }
}
