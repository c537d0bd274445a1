//! Frames of the control connection, and the kinds of messages in them.
//!
//! ```text
//!  once per side:   l i n e r a t e  version:u16        (big-endian)
//!  then frames:     length:u32  kind:u8  body:[u8; length - 1]
//! ```

/// Protocol version of this build, incremented on every change that an older end would misread.
pub const VERSION: u16 = 2;

/// First bytes of each side, the same in every version.
pub const MAGIC: &[u8; 8] = b"linerate";
/// Length of magic and version.
pub const PREAMBLE_LEN: usize = 10;
/// Length of the length field and kind byte.
pub const FRAME_HEADER_LEN: usize = 5;

/// Length of an end's part of the handshake with a key: an X25519 public key, and the tag of nothing.
pub const SEAL_LEN: usize = MAX_SEAL_BODY as usize - 1;

/// Role of an end of the control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Opened the connection and requests tests.
    Client,
    /// Accepted the connection.
    Server,
}

/// Maximum length of a message without body: the kind byte.
const NO_BODY: u32 = 1;
/// Maximum message of the handshake: the kind byte, 32 bytes of a public key, and 16 of a tag.
const MAX_SEAL_BODY: u32 = 49;
/// Maximum body of a message whose size does not depend on the test.
const MAX_FIXED_BODY: u32 = 16 * 1024;
/// Maximum message before the hellos are exchanged, and maximum specification.
const MAX_SPEC_BODY: u32 = 64 * 1024;
/// Maximum report: intervals, histograms, and TCP readings.
pub const MAX_REPORT_BODY: u32 = 20 * 1024 * 1024;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $byte:literal, $sender:expr, $most:expr;)*) => {
        /// The kind of a message, as its byte on the wire.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $name = $byte,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The kind with this byte.
            pub const fn from_byte(byte: u8) -> Option<Self> {
                match byte {
                    $($byte => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// The kind's name, for messages.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Who sends it; `None`: either end.
            pub const fn sender(self) -> Option<Role> {
                match self {
                    $(Self::$name => $sender,)*
                }
            }

            /// Maximum bytes of kind byte and body.
            pub const fn most(self) -> u32 {
                match self {
                    $(Self::$name => $most,)*
                }
            }
        }
    };
}

const CLIENT: Option<Role> = Some(Role::Client);
const SERVER: Option<Role> = Some(Role::Server);

kinds! {
    /// Client: its tool's version.
    Hello = 1, CLIENT, MAX_SPEC_BODY;
    /// Server: its tool's version, session id, facts and limits.
    Welcome = 2, SERVER, MAX_SPEC_BODY;
    /// Either: the session is over, with the reason.
    Farewell = 3, None, MAX_FIXED_BODY;
    /// Either: keep-alive.
    Ping = 4, None, NO_BODY;
    /// Client: closes the session.
    Bye = 5, CLIENT, NO_BODY;
    // 6 and 7 were the proof of the key in 0.1.0, which sealed nothing.
    /// Either: its part of the handshake by which all that follows is sealed, where there is a key.
    Seal = 8, None, MAX_SEAL_BODY;
    /// Client: prepare a test.
    Prepare = 16, CLIENT, MAX_SPEC_BODY;
    /// Server: open the data streams.
    Ready = 17, SERVER, MAX_FIXED_BODY;
    /// Server: the test is refused.
    Refused = 18, SERVER, MAX_FIXED_BODY;
    /// Server: all data streams have arrived.
    Connected = 19, SERVER, MAX_FIXED_BODY;
    /// Client: its receivers run; start.
    Start = 20, CLIENT, MAX_FIXED_BODY;
    /// Server: its receivers run, its senders start now.
    Started = 21, SERVER, MAX_FIXED_BODY;
    /// Server: its counts so far.
    Progress = 22, SERVER, MAX_FIXED_BODY;
    /// Either: its senders have stopped.
    Finished = 23, None, MAX_FIXED_BODY;
    /// Server: reports of its endpoints.
    Report = 24, SERVER, MAX_REPORT_BODY;
    /// Client: it has the report and is done.
    Acknowledge = 25, CLIENT, MAX_FIXED_BODY;
    /// Either: abort the test.
    Abort = 26, None, MAX_FIXED_BODY;
    /// Either: it has dropped the aborted test.
    Aborted = 27, None, MAX_FIXED_BODY;
    /// Client: stop sending now; the test ends as if its time were up.
    EndTraffic = 28, CLIENT, MAX_FIXED_BODY;
    /// Client: make a test with another server, as its client.
    Delegate = 29, CLIENT, MAX_SPEC_BODY;
    /// Server: what both ends of the delegated test saw.
    Delegated = 30, SERVER, MAX_REPORT_BODY;
    /// Client: say which interface a test would use at the server's end.
    Describe = 31, CLIENT, MAX_SPEC_BODY;
    /// Server: that interface.
    Described = 32, SERVER, MAX_SPEC_BODY;
    /// Client: take, renew or release the lease on the server's host.
    Lease = 33, CLIENT, MAX_FIXED_BODY;
    /// Server: that lease.
    Leased = 34, SERVER, MAX_FIXED_BODY;
}
