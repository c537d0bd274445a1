//! What is measured: a device by its kind, or whatever is between interfaces.

use linerate_client::address::PeerAddress;
use linerate_model::dut::DutChoice;
use linerate_model::spec::DatapathChoice;
use linerate_model::units::UnitError;
use linerate_testbed::duts;

/// What is measured.
#[derive(Debug, Clone)]
pub enum DeviceChoice {
    /// Whatever is between two interfaces.
    Ports {
        /// The interface of this host where frames of the forward direction enter it.
        a: String,
        /// The interface where they leave it.
        b: String,
        /// The host of that one; `None`: this host.
        host_b: Option<PeerAddress>,
    },
    /// Whatever is between several interfaces of this host, each of which sends to all others (fully meshed, RFC 2285
    /// §3.3.3).
    Mesh(Vec<String>),
    /// A device of a kind: started for this, or set up for it.
    Started(DutChoice),
}

impl DeviceChoice {
    /// What interfaces, or a choice, or both, are.
    pub(super) fn of(
        ports: Option<Vec<String>>,
        started: Option<DutChoice>,
        host_b: Option<PeerAddress>,
    ) -> Result<Self, String> {
        let ports: Option<[String; 2]> = match ports.map(TryInto::try_into).transpose() {
            Ok(two) => two,
            Err(many) => return Self::mesh(many, started.as_ref(), host_b.as_ref()),
        };
        let both = ports.as_ref().filter(|[a, b]| a == b && host_b.is_none());
        if let Some([a, _]) = both {
            return Err(format!(
                "both ports are {a}: a device is between two interfaces; give two"
            ));
        }
        match (ports, started) {
            (ports, Some(choice)) => duts::between(choice, ports).map(Self::Started),
            (Some([a, b]), None) => Ok(Self::Ports { a, b, host_b }),
            (None, None) => Err("give two interfaces, or a device to start".to_owned()),
        }
    }

    /// A device between more interfaces than two.
    fn mesh(
        ports: Vec<String>,
        started: Option<&DutChoice>,
        host_b: Option<&PeerAddress>,
    ) -> Result<Self, String> {
        if let Some(choice) = started {
            return Err(format!(
                "{choice} is between two ports, and {} are given: give two, or none",
                ports.len()
            ));
        }
        if host_b.is_some() {
            return Err(format!(
                "all ports of a mesh are of this host, and {} are given: leave --port-b out, or give two",
                ports.len()
            ));
        }
        let first_of = |name: &String| ports.iter().position(|other| other == name);
        let twice = ports.iter().enumerate();
        let mut twice = twice.filter(|(at, name)| first_of(name) != Some(*at));
        if let Some((_, name)) = twice.next() {
            return Err(format!("{name} is given twice: each port has an interface"));
        }
        if !DatapathChoice::MESH_PORTS.contains(&ports.len()) {
            let most = DatapathChoice::MESH_PORTS.end();
            return Err(format!("a mesh has at most {most} ports: give fewer"));
        }
        Ok(Self::Mesh(ports))
    }

    /// Reads the host of port B, where linerate is the peer.
    pub(crate) fn host_b(text: &str) -> Result<PeerAddress, String> {
        let host = PeerAddress::parse(text).map_err(|error| error.message)?;
        if host.kind().about().is_foreign || host.is_stack() {
            let why = "it counts no frames at an interface; give a host that runs `linerate serve`, or ssh://HOST";
            return Err(format!("{host}: {why}"));
        }
        Ok(host)
    }

    /// Reads `eth1,eth2`, or more.
    pub(crate) fn ports(text: &str) -> Result<Vec<String>, String> {
        let names: Vec<_> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.len() < 2 || names.iter().any(String::is_empty) {
            return Err("it takes two interfaces or more: A,B".to_owned());
        }
        Ok(names)
    }

    /// Reads `router,rules=100`.
    pub(crate) fn started(text: &str) -> Result<DutChoice, String> {
        let choice: DutChoice = text.parse().map_err(|error: UnitError| error.to_string())?;
        duts::find(&choice.kind).map_err(|error| error.to_string())?;
        Ok(choice)
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Ports { a, b, host_b } => {
                let at = host_b.as_ref().map(|host| format!(" of {host}"));
                format!("{a} to {b}{}", at.unwrap_or_default())
            }
            Self::Mesh(ports) => format!("{}, fully meshed", ports.join(", ")),
            Self::Started(choice) => choice.to_string(),
        }
    }

    /// Whether every port sends to all others.
    pub(crate) const fn is_mesh(&self) -> bool {
        matches!(self, Self::Mesh(_))
    }

    /// Streams of a test: one for each port that sends.
    pub(super) fn streams(&self) -> u16 {
        match self {
            Self::Mesh(ports) => u16::try_from(ports.len()).unwrap_or(u16::MAX),
            Self::Ports { .. } | Self::Started(_) => 1,
        }
    }
}
