//! Errors of opening or starting traffic. Once traffic runs, errors are counted, not returned.

use linerate_sys::process;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What opening or starting traffic gives.
pub(crate) type Result<T, E = EngineError> = std::result::Result<T, E>;

/// Why an endpoint could not be opened or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The plan asks for something invalid; kind *plan*.
    #[error("{key} = {value} cannot be: {why}")]
    Plan {
        /// The key of the test specification.
        key: &'static str,
        /// Its value.
        value: String,
        /// Why not, and what would be valid.
        why: String,
    },
    /// This host lacks something; kind *host*.
    #[error("{what}: {why}; {remedy}")]
    Host {
        /// What was tried.
        what: String,
        /// Why it failed.
        why: String,
        /// What would change that.
        remedy: &'static str,
    },
    /// A system call on a socket failed; kind *host*.
    #[error("{operation} {object}")]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        object: String,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// The peer did not open its side of the data path; kind *peer*.
    #[error(
        "stream {stream}: no {what} with this test's token from {from} within {waited:?}; let every firewall pass the data ports (see `linerate ports`), or start the server with --one-port"
    )]
    NoPeer {
        /// Index of the stream.
        stream: usize,
        /// What was expected.
        what: &'static str,
        /// Expected source.
        from: IpAddr,
        /// Time limit.
        waited: Duration,
    },
    /// The peer's data port does not answer; kind *peer*.
    #[error(
        "no data connection to {remote}; let every firewall pass the data ports (see `linerate ports`), or start the server with --one-port"
    )]
    NoDataPort {
        /// The address and port.
        remote: SocketAddr,
        /// The system's answer.
        #[source]
        source: io::Error,
    },
    /// An endpoint was started before its peer was connected: a bug here or in the caller.
    #[error("stream {stream} was started before its peer was there")]
    NotConnected {
        /// Index of the stream.
        stream: usize,
    },
    /// The peer opened a different number of ports than there are streams; kind *peer*.
    #[error("the peer opened {ports} data ports for {streams} streams")]
    PortCount {
        /// Ports that the peer opened.
        ports: usize,
        /// Streams of the test.
        streams: usize,
    },
}

impl EngineError {
    /// An I/O error of `operation` on `object`; what this host lacks, if it has too few descriptors or ports or too little
    /// memory for it.
    pub(crate) fn io(operation: &'static str, object: &dyn ToString, source: io::Error) -> Self {
        if let Some(remedy) = process::resource_remedy(&source).or_else(|| port_remedy(&source)) {
            return Self::Host {
                what: format!("{operation} {}", object.to_string()),
                why: source.to_string(),
                remedy,
            };
        }
        Self::Io {
            operation,
            object: object.to_string(),
            source,
        }
    }

    /// The open path is not of the kind that the workload needs.
    pub(crate) fn wrong_path(needed: &'static str) -> Self {
        Self::plan(
            "transport",
            &"this one",
            format!("the workload needs {needed}"),
        )
    }

    /// An invalid value of the test specification.
    pub(crate) fn plan(key: &'static str, value: &dyn ToString, why: impl Into<String>) -> Self {
        Self::Plan {
            key,
            value: value.to_string(),
            why: why.into(),
        }
    }
}

/// What to change where no local port was free; the system chooses the ports of all data sockets.
fn port_remedy(error: &io::Error) -> Option<&'static str> {
    let is_without_port = matches!(
        error.kind(),
        ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable
    );
    is_without_port.then_some(
        "no local port is free: take fewer streams, or widen net.ipv4.ip_local_port_range",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn a_limit_of_this_host_is_named_with_what_to_raise() {
        let failed = |errno| {
            EngineError::io(
                "open",
                &"a data socket",
                io::Error::from_raw_os_error(errno),
            )
        };
        for (errno, remedy) in [
            (24, "ulimit -n"),
            (23, "fs.file-max"),
            (12, "memory"),
            (98, "ip_local_port_range"),
            (99, "ip_local_port_range"),
        ] {
            let error = failed(errno);
            assert!(matches!(error, EngineError::Host { .. }), "{error:?}");
            assert!(error.to_string().contains(remedy), "{error}");
        }
        // A broken pipe is no limit.
        let error = failed(32);
        assert!(matches!(error, EngineError::Io { .. }) && error.source().is_some());
    }
}
