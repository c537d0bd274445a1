//! The shell of a device that is told what to do: how addresses say where it is, and the way to it.

use anyhow::Result;
use linerate_deploy::{DEFAULT_BAUD, no_line};
use linerate_model::exit::{ExitCode, Failure};
use linerate_model::host_port::split_port;
use linerate_model::query::Query;
use linerate_peers::{PeerKind, SettingValues, Wire};
use linerate_session::Shell;
use linerate_sys::serial::SerialLine;
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::time::Duration;

/// The port of a telnet server.
const TELNET_PORT: u16 = 23;

/// The way to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellAddress {
    /// A serial line.
    Serial { device: PathBuf, baud: u32 },
    /// A telnet server.
    Telnet { host: String, port: u16 },
}

/// A peer with a shell, as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellPeer {
    pub(crate) shell: ShellAddress,
    /// Its name or address in the network under test.
    pub(crate) host: String,
    /// The port of its traffic.
    pub(crate) port: u16,
    /// Settings that only its protocol has.
    pub(crate) settings: SettingValues,
}

impl ShellPeer {
    /// Reads what follows `ID+serial://` or `ID+telnet://`; why it cannot be.
    pub(crate) fn read(kind: &dyn PeerKind, wire: Wire, rest: &str) -> Result<Self, String> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = Query::read(query)?;
        let shell = match wire {
            Wire::Serial => serial(place, &mut parts)?,
            Wire::Telnet => telnet(place)?,
        };
        let host = parts.take("host");
        let host = host.ok_or("host=, the board's address in the network, is missing")?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(format!("\"{host}\" is not a host's name or address"));
        }
        let port = parts.number("port", kind.default_port())?;
        let names = kind.settings().iter().map(|setting| setting.name);
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

impl ShellAddress {
    /// How it is reached.
    pub(crate) const fn wire(&self) -> Wire {
        match self {
            Self::Serial { .. } => Wire::Serial,
            Self::Telnet { .. } => Wire::Telnet,
        }
    }

    /// Opens the way to the shell that the protocol `id` is spoken with.
    pub(crate) fn open(&self, id: &str, timeout: Duration) -> Result<Shell, Failure> {
        match self {
            Self::Serial { device, baud } => {
                let line = SerialLine::open(device, *baud);
                line.map(Shell::Serial)
                    .map_err(|error| no_line(device, &error))
            }
            Self::Telnet { host, port } => {
                let connected = connect(host, *port, timeout);
                connected.map(Shell::Telnet).map_err(|error| {
                    let hint = "see that Zephyr is built with CONFIG_SHELL_BACKEND_TELNET=y and that no one else is connected: it serves one at a time";
                    let message = format!("cannot connect to {id}+{self}: {error:#}; {hint}");
                    Failure::new(ExitCode::Peer, message)
                })
            }
        }
    }

    /// What is added to an address for what is not as usual.
    pub(crate) fn extra(&self) -> String {
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

/// The wire of the second half of a scheme such as `ID+serial`.
pub(crate) fn wire(text: &str) -> Option<Wire> {
    match text {
        "serial" => Some(Wire::Serial),
        "telnet" => Some(Wire::Telnet),
        _ => None,
    }
}

/// How addresses of the protocol `id` are written.
pub(crate) fn examples(id: &str) -> [String; 2] {
    [
        format!("{id}+serial:///dev/ttyUSB0?baud=115200&host=192.0.2.1"),
        format!("{id}+telnet://shellhost:23?host=192.0.2.1"),
    ]
}

fn serial(place: &str, parts: &mut Query) -> Result<ShellAddress, String> {
    if !place.starts_with('/') {
        return Err("a serial line is a path such as /dev/ttyUSB0, after two slashes".to_owned());
    }
    Ok(ShellAddress::Serial {
        device: PathBuf::from(place),
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

fn connect(host: &str, port: u16, timeout: Duration) -> Result<TcpStream> {
    let mut last = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    Err(last.map_or_else(|| anyhow::anyhow!("it has no address"), Into::into))
}
