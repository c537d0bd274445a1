//! Where a board's shell is, and where its zperf sends and receives.

use linerate_model::exit::{ExitCode, Failure};
use linerate_peers::zperf::{PORT, Release, TELNET_PORT};
use std::fmt;
use std::path::PathBuf;

/// The rate of most boards' consoles.
const BAUD: u32 = 115_200;

/// The shell of a board, and its address in the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoardAddress {
    pub(crate) shell: ShellAddress,
    /// The board's name or address in the network under test.
    pub(crate) host: String,
    /// The port of its traffic.
    pub(crate) port: u16,
    /// Its Zephyr, if the user says which.
    pub(crate) release: Option<Release>,
}

/// The way to a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShellAddress {
    /// A serial line.
    Serial { device: PathBuf, baud: u32 },
    /// A telnet server.
    Telnet { host: String, port: u16 },
}

impl BoardAddress {
    /// Reads what follows `zperf+`; `text` is the whole, for messages. `None` for another scheme.
    pub(crate) fn parse(text: &str, scheme: &str, rest: &str) -> Option<Result<Self, Failure>> {
        match scheme {
            "zperf+serial" | "zperf+telnet" => {
                let parsed = Self::read(scheme, rest);
                Some(parsed.map_err(|why| bad(text, &why)))
            }
            "zperf" => Some(Err(bad(text, "say how its shell is reached"))),
            _ => None,
        }
    }

    fn read(scheme: &str, rest: &str) -> Result<Self, String> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut settings = Settings::read(query)?;
        let shell = if scheme == "zperf+serial" {
            serial(place, &mut settings)?
        } else {
            telnet(place)?
        };
        let host = settings.take("host");
        let host = host.ok_or("host=, the board's address in the network, is missing")?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(format!("\"{host}\" is not a host's name or address"));
        }
        let port = settings.number("port", PORT)?;
        let release = settings.take("zephyr").map(|text| {
            let wrong = || format!("\"{text}\" is not a release of Zephyr such as 3.3");
            Release::parse(&text).ok_or_else(wrong)
        });
        let release = release.transpose()?;
        settings.end()?;
        Ok(Self {
            shell,
            host,
            port,
            release,
        })
    }
}

fn serial(place: &str, settings: &mut Settings) -> Result<ShellAddress, String> {
    if !place.starts_with('/') {
        return Err("a serial line is a path such as /dev/ttyUSB0, after two slashes".to_owned());
    }
    Ok(ShellAddress::Serial {
        device: PathBuf::from(place),
        baud: settings.number("baud", BAUD)?,
    })
}

fn telnet(place: &str) -> Result<ShellAddress, String> {
    let place = place.trim_end_matches('/');
    let (host, port) = crate::host_port::split_port(place)
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

/// What follows the question mark.
struct Settings(Vec<(String, String)>);

impl Settings {
    fn read(query: &str) -> Result<Self, String> {
        let parts = query.split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("\"{part}\" is not name=value"))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        parts.map(pair).collect::<Result<_, _>>().map(Self)
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let position = self.0.iter().position(|(found, _)| found == key)?;
        Some(self.0.remove(position).1)
    }

    /// A number over zero.
    fn number<N>(&mut self, key: &str, otherwise: N) -> Result<N, String>
    where
        N: std::str::FromStr + Default + PartialEq,
    {
        let Some(text) = self.take(key) else {
            return Ok(otherwise);
        };
        let number = text.parse().ok().filter(|n| *n != N::default());
        number.ok_or_else(|| format!("{key}={text} is not a number in its range"))
    }

    /// Nothing is left over.
    fn end(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((key, _)) => Err(format!(
                "there is no {key}=; there are host=, port=, zephyr= and, of a serial line, baud="
            )),
        }
    }
}

fn bad(text: &str, why: &str) -> Failure {
    let message = format!(
        "\"{text}\": {why}; write zperf+serial:///dev/ttyUSB0?baud=115200&host=192.0.2.1 or zperf+telnet://shellhost:23?host=192.0.2.1"
    );
    Failure::new(ExitCode::Usage, message)
}

impl fmt::Display for ShellAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial { device, .. } => write!(f, "zperf+serial://{}", device.display()),
            Self::Telnet { host, port } if host.contains(':') => {
                write!(f, "zperf+telnet://[{host}]:{port}")
            }
            Self::Telnet { host, port } => write!(f, "zperf+telnet://{host}:{port}"),
        }
    }
}

impl fmt::Display for BoardAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}?host={}", self.shell, self.host)?;
        if self.port != PORT {
            write!(f, "&port={}", self.port)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<BoardAddress, Failure> {
        let (scheme, rest) = text.split_once("://").unwrap();
        BoardAddress::parse(text, scheme, rest).unwrap()
    }

    #[test]
    fn a_serial_line_with_all_its_settings() {
        let board = parse("zperf+serial:///dev/ttyUSB0?baud=9600&host=192.0.2.1&zephyr=3.3&port=7")
            .unwrap();
        let device = PathBuf::from("/dev/ttyUSB0");
        assert_eq!(board.shell, ShellAddress::Serial { device, baud: 9600 });
        assert_eq!((board.host.as_str(), board.port), ("192.0.2.1", 7));
        assert_eq!(board.release, Release::parse("3.3"));
        let shown = board.to_string();
        assert_eq!(shown, "zperf+serial:///dev/ttyUSB0?host=192.0.2.1&port=7");
    }

    #[test]
    fn a_telnet_shell_and_an_ipv6_board() {
        let board = parse("zperf+telnet://[::1]?host=2001:db8::1").unwrap();
        assert_eq!(
            board.shell,
            ShellAddress::Telnet {
                host: "::1".to_owned(),
                port: 23
            }
        );
        assert_eq!(board.host, "2001:db8::1");
        assert_eq!(
            board.to_string(),
            "zperf+telnet://[::1]:23?host=2001:db8::1"
        );
    }

    #[test]
    fn nonsense_shows_what_is_right() {
        for text in [
            "zperf://board",
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
            let error = parse(text).unwrap_err();
            assert_eq!(error.code, ExitCode::Usage, "{text}");
            assert!(error.message.contains("?host=192.0.2.1"), "{error}");
        }
        assert!(BoardAddress::parse("iperf3://a", "iperf3", "a").is_none());
    }
}
