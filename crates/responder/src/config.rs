//! Identity of a device, and its ports.

/// Default port of the control connection.
pub const CONTROL_PORT: u16 = 5301;

/// Identity of a device, and its ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Name of the board or product; empty if there is none.
    pub board: &'static str,
    /// Its processor; empty if not stated.
    pub processor: &'static str,
    /// The network stack and the system below it, each with its version.
    pub stack: &'static str,
    /// Emulated machine and emulator; empty for real hardware.
    pub emulated: &'static str,
    /// UDP and TCP port for received traffic.
    pub receive_port: u16,
    /// UDP and TCP port for sent traffic.
    pub send_port: u16,
    /// Maximum UDP payload in one packet of the stack: 1472 bytes of IPv4 in an Ethernet frame, 1452 of IPv6.
    pub max_datagram: u16,
    /// Unpredictable bits, such as of a noise source: with them an attacker could pose as a test's client.
    pub random: u64,
}

impl Config {
    /// An Ethernet device with the default ports.
    pub const fn new(board: &'static str, stack: &'static str, random: u64) -> Self {
        Self {
            board,
            processor: "",
            stack,
            emulated: "",
            receive_port: CONTROL_PORT + 1,
            send_port: CONTROL_PORT + 2,
            max_datagram: 1472,
            random,
        }
    }
}

/// The port on which a datagram arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// [`Config::receive_port`].
    Receive,
    /// [`Config::send_port`].
    Send,
}
