//! What a device says of itself, and where it listens.

/// The port of the control connection that `linerate HOST` goes to.
pub const CONTROL_PORT: u16 = 5301;

/// What a device says of itself, and where it listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Name of the board or product; empty if there is none.
    pub board: &'static str,
    /// Its processor; empty if it is not to be said.
    pub processor: &'static str,
    /// The network stack and the system below it, each with its version.
    pub stack: &'static str,
    /// The machine that an emulator pretends to be, and the emulator; empty of a real one.
    pub emulated: &'static str,
    /// UDP and TCP port that traffic comes to.
    pub receive_port: u16,
    /// UDP and TCP port that traffic is sent from.
    pub send_port: u16,
    /// Longest UDP payload that the stack takes and gives in one packet: 1472 bytes of IPv4 in an Ethernet frame,
    /// 1452 of IPv6.
    pub max_datagram: u16,
    /// Bits that nobody else can guess, such as of a noise source: whoever knows them can pretend to be a test's
    /// client.
    pub random: u64,
}

impl Config {
    /// An Ethernet device with the usual ports.
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

/// The port that a datagram came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// [`Config::receive_port`].
    Receive,
    /// [`Config::send_port`].
    Send,
}
