//! A host that ssh reaches, as it is written: `user@host:port`.

use crate::host_port::split_port;
use std::fmt;
use std::str::FromStr;

/// Where ssh leads, and as whom; what is not written is for ssh's own configuration to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshDestination {
    user: Option<String>,
    host: String,
    port: Option<u16>,
}

impl SshDestination {
    /// The name or address of the host, as ssh's configuration knows it.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The words of ssh's command line that come before the host: its user and port.
    pub fn options(&self) -> Vec<String> {
        let user = self
            .user
            .iter()
            .flat_map(|user| ["-l".to_owned(), user.clone()]);
        let port = self
            .port
            .iter()
            .flat_map(|port| ["-p".to_owned(), port.to_string()]);
        user.chain(port).collect()
    }
}

impl FromStr for SshDestination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, text),
        };
        let (host, port) = split_port(place).ok_or("that is not a host and port")?;
        let port = port.map(|digits| digits.parse().ok().filter(|port| *port > 0));
        if port == Some(None) {
            return Err("the port is not a number from 1 to 65535".to_owned());
        }
        if !is_name(host) || user.is_some_and(|user| !is_name(user)) {
            return Err("that is not the name of a host or user".to_owned());
        }
        Ok(Self {
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.flatten(),
        })
    }
}

/// Whether a program that takes options reads this as the name of a host or user: one that begins with a dash would be
/// an option.
pub fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    !word.is_empty()
        && !word.starts_with('-')
        && letters.all(|c| c.is_ascii_alphanumeric() || "-._:%".contains(c))
}

impl fmt::Display for SshDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?;
        } else {
            f.write_str(&self.host)?;
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SshDestination {
        text.parse().unwrap()
    }

    #[test]
    fn destinations_are_read_and_shown_as_they_are_written() {
        for text in [
            "board",
            "root@board.lab:2222",
            "user@[fe80::1%eth0]:22",
            "192.0.2.1",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("board/").host(), "board");
        assert_eq!(read("fe80::1%eth0").host(), "fe80::1%eth0");
    }

    #[test]
    fn user_and_port_are_options_of_ssh() {
        assert_eq!(
            read("root@board:2222").options(),
            ["-l", "root", "-p", "2222"]
        );
        assert_eq!(read("board").options(), [""; 0]);
    }

    #[test]
    fn what_is_no_destination_is_refused_and_options_are_none() {
        for bad in [
            "",
            "-oProxyCommand=x",
            "-l@board",
            "a b",
            "board:0",
            "board:x",
            "user@",
        ] {
            assert!(bad.parse::<SshDestination>().is_err(), "{bad}");
        }
    }
}
