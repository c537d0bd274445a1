//! Ports: ways of frames between the program and an interface of this host.

mod af_packet;
mod af_xdp;
mod tap;

use linerate_sys::interface::is_used_by_host;
use linerate_sys::netlink::{InterfaceIndex, InterfaceName, Link, Netlink};
use linerate_sys::packet::VlanId;
use std::fmt::{self, Debug};
use std::io;
use std::os::fd::BorrowedFd;

/// Every kind of port. A new one: its file, its `mod` line above, its entry here.
pub static ALL: &[&dyn PortKind] = &[&af_xdp::AfXdp, &af_packet::AfPacket, &tap::Tap];

/// A kind of port.
pub trait PortKind: Debug + Sync {
    /// Its name on the command line.
    fn id(&self) -> &'static str;
    /// One sentence for help.
    fn summary(&self) -> &'static str;
    /// Opens it.
    fn open(&self, name: &InterfaceName) -> Result<OpenPort, PortError>;
}

/// A port that is open. Its interface is as it was once it is dropped.
#[derive(Debug)]
pub struct OpenPort {
    pub(crate) name: String,
    pub(crate) datapath: String,
    /// What its user should know of it.
    pub notes: Vec<String>,
    pub(crate) frames: Box<dyn Frames>,
}

impl fmt::Display for OpenPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.datapath)
    }
}

/// The frames of a port.
pub(crate) trait Frames: Debug + Send {
    /// Passes up to `limit` frames that wait to `take`. Returns how many.
    fn receive(&mut self, limit: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;
    /// Gives the port a frame, which goes out by the next [`Self::flush`].
    fn send(&mut self, frame: &[u8]);
    /// Sends what it was given.
    fn flush(&mut self);
    /// What becomes readable when a frame has arrived.
    fn descriptors(&self) -> Vec<BorrowedFd<'_>>;
    /// Whether its interface is still there.
    fn is_there(&self) -> bool;
    /// What it has counted.
    fn counted(&mut self) -> FrameCounts;
}

/// What became of a port's frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FrameCounts {
    pub(crate) receive_dropped: u64,
    pub(crate) without_checksum: u64,
    pub(crate) sent: u64,
    pub(crate) send_dropped: u64,
    pub(crate) too_long: u64,
}

/// Why a port cannot be opened, or is no more.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// There is no such interface.
    #[error("no interface {0} here; see ip link")]
    NoInterface(String),
    /// It is down.
    #[error("{0} is down, or what it is joined to is; bring both up: ip link set {0} up")]
    Down(String),
    /// The kernel refused a step.
    #[error("{name}: {step}: {error}; {remedy}")]
    Refused {
        /// The interface.
        name: String,
        /// What was tried.
        step: &'static str,
        /// The kernel's answer.
        error: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// It is no more.
    #[error("{0} is gone: its interface was removed while the program ran")]
    Gone(String),
}

/// Opens the interface `name` as the best kind that works: AF_XDP in the driver, unless this host itself talks IP through
/// the interface, and else a packet socket.
pub fn open(name: &InterfaceName) -> Result<OpenPort, PortError> {
    let packets = |why: String| {
        let mut port = af_packet::AfPacket.open(name)?;
        port.notes.insert(0, why);
        Ok(port)
    };
    if is_used_by_host(name.as_str()) {
        return packets(format!(
            "{name} has addresses of this host, so the port is a packet socket and the host goes on to answer there; port kind af-xdp takes all frames"
        ));
    }
    match af_xdp::open_native(name) {
        Ok(port) => Ok(port),
        Err(PortError::Refused { step, error, .. }) => packets(format!(
            "{name} is a packet socket, which is slower than AF_XDP: {step}: {error}"
        )),
        Err(error) => Err(error),
    }
}

/// Opens one VLAN of the interface `name`: the port's frames have that tag of 802.1Q on the wire, and not in the program. The
/// host, other VLANs and untagged frames go on to use the interface. Nothing is left on it.
pub fn open_vlan(name: &InterfaceName, vlan: VlanId) -> Result<OpenPort, PortError> {
    af_packet::open(name, Some(vlan))
}

const PRIVILEGES: &str =
    "run as root, outside of user namespaces (CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF)";

fn refused(
    name: &InterfaceName,
    step: &'static str,
    remedy: &'static str,
) -> impl FnOnce(io::Error) -> PortError {
    let name = name.to_string();
    move |error| PortError::Refused {
        name,
        step,
        remedy: match error.kind() {
            io::ErrorKind::ResourceBusy => {
                "another program holds it, a second switch or one of XDP (ip link shows that): end it"
            }
            _ => remedy,
        },
        error,
    }
}

/// The link called `name`, which has a carrier.
fn link(name: &InterfaceName) -> Result<Link, PortError> {
    let ask = |mut netlink: Netlink| netlink.link_named(name);
    let link = Netlink::new().and_then(ask).map_err(|error| {
        if error.raw_os_error() == Some(NO_DEVICE) {
            PortError::NoInterface(name.to_string())
        } else {
            refused(name, "asking the kernel for it", PRIVILEGES)(error)
        }
    })?;
    if link.has_carrier {
        Ok(link)
    } else {
        Err(PortError::Down(name.to_string()))
    }
}

/// Whether the interface is still there; yes where the kernel does not say.
fn is_there(index: InterfaceIndex) -> bool {
    let asked = Netlink::new().and_then(|mut netlink| netlink.link(index));
    !matches!(asked, Err(error) if error.raw_os_error() == Some(NO_DEVICE))
}

/// `ENODEV`.
const NO_DEVICE: i32 = 19;

/// Bytes of an Ethernet header with one VLAN tag.
const ETHERNET_HEADER: u32 = 18;
