//! Route to a peer that listens on a port of a host.

use super::resolve::connect;
use super::{BadAddress, Endpoint, Reached, Route, RouteHelp, RouteKind, has_no_shell};
use crate::address::PeerAddress;
use crate::target::Target;
use anyhow::Result;
use linerate_model::consent::Effect;
use linerate_model::host_port::split_port;
use linerate_model::spec::{Pace, TestSpec};
use linerate_peers::PeerKind;
use std::fmt;
use std::net::SocketAddr;

/// A host, by its name or address, and a port.
pub(crate) struct HostPort {
    host: String,
    port: u16,
}

impl From<SocketAddr> for HostPort {
    fn from(address: SocketAddr) -> Self {
        Self {
            host: address.ip().to_string(),
            port: address.port(),
        }
    }
}

/// Kind of the route without a scheme but the protocol's.
pub(super) static KIND: RouteKind = RouteKind {
    schemes: &[""],
    carries: has_no_shell,
    // The program of the protocol, and what it does not measure.
    help: |kind| {
        let one_way = [TestSpec::tcp_bulk(), TestSpec::udp_datagrams(Pace::Unpaced)];
        let limit = if one_way.iter().all(|spec| kind.check(spec).is_err()) {
            " (`latency` only)"
        } else {
            ""
        };
        // Only the command.
        let command = kind.about().start_hint.split_inclusive('`').take(2);
        kind.about().is_foreign.then(|| RouteHelp {
            addresses: vec![format!("{}://board", kind.id())],
            what: format!("{}{limit}", command.collect::<String>()),
        })
    },
    examples: |_| Vec::new(),
    read: |kind, _, rest| {
        let (host, port) = split_port(rest).ok_or(BadAddress::NoHost)?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(BadAddress::NoHost);
        }
        let port = match port {
            None => kind.about().default_port,
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|p| *p > 0)
                .ok_or(BadAddress::NoHost)?,
        };
        let host = host.to_owned();
        Ok(PeerAddress::by(kind, HostPort { host, port }))
    },
};

impl Route for HostPort {
    fn show(&self, kind: &dyn PeerKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if kind.about().is_foreign {
            write!(f, "{}://", kind.id())?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }

    fn reach(&self, target: &Target) -> Result<Reached> {
        let line = connect(target, &self.host, self.port)?;
        Ok(Reached::over(line, target))
    }

    fn endpoint(&self, target: &Target) -> Result<Option<Endpoint>> {
        let is_own = !target.far.kind().about().is_foreign;
        Ok(is_own.then(|| Endpoint {
            host: self.host.clone(),
            port: self.port,
            key: target.key.clone(),
        }))
    }

    fn effects(&self, address: String) -> Vec<Effect> {
        vec![Effect::Connects(address)]
    }

    fn port(&self, _kind: &dyn PeerKind) -> u16 {
        self.port
    }
}
