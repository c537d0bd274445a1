//! Identifies peers that speak another protocol, for an error message.

use super::message::Role;
use crate::error::{Excerpt, ProtocolError};

/// First bytes of a foreign protocol, its name, and advice for the user.
struct Sign {
    from: Role,
    begins: &'static [&'static [u8]],
    protocol: &'static str,
    remedy: &'static str,
}

const WRONG_PORT: &str = "check host and port, and that `linerate serve` runs there";
const WRONG_CLIENT: &str = "that client needs its own server; linerate's port is for linerate";

const SIGNS: &[Sign] = &[
    Sign {
        from: Role::Server,
        begins: &[b"HTTP/", b"<!", b"<h"],
        protocol: "HTTP (a web server)",
        remedy: WRONG_PORT,
    },
    Sign {
        from: Role::Server,
        begins: &[b"SSH-"],
        protocol: "SSH",
        remedy: WRONG_PORT,
    },
    Sign {
        from: Role::Server,
        begins: &[b"\x15\x03"],
        protocol: "TLS",
        remedy: WRONG_PORT,
    },
    // State 9 asks for parameters; state 0xff says that the server is busy.
    Sign {
        from: Role::Server,
        begins: &[b"\x09", b"\xff"],
        protocol: "iperf3 (its server)",
        remedy: "start `linerate serve` there, or measure it as it is with iperf3://HOST",
    },
    Sign {
        from: Role::Client,
        begins: &[
            b"GET ",
            b"POST ",
            b"HEAD ",
            b"PUT ",
            b"OPTIONS ",
            b"CONNECT ",
            b"PRI * ",
        ],
        protocol: "HTTP (a web client)",
        remedy: WRONG_CLIENT,
    },
    Sign {
        from: Role::Client,
        begins: &[b"SSH-"],
        protocol: "SSH",
        remedy: WRONG_CLIENT,
    },
    Sign {
        from: Role::Client,
        begins: &[b"\x16\x03"],
        protocol: "TLS",
        remedy: WRONG_CLIENT,
    },
];

/// Whether the first byte identifies the peer: an iperf3 server sends one byte and waits; nothing else begins with it.
pub(super) fn is_told_by_first_byte(bytes: &[u8]) -> bool {
    matches!(bytes, [0x09 | 0xff, ..])
}

/// The error for a peer that began with these bytes.
pub(super) fn identify(from: Role, bytes: &[u8], state: &'static str) -> ProtocolError {
    let sign = SIGNS
        .iter()
        .find(|sign| sign.from == from && sign.begins.iter().any(|begin| bytes.starts_with(begin)));
    let (protocol, remedy) = match sign {
        Some(sign) => (sign.protocol, sign.remedy),
        None if from == Role::Client && is_cookie(bytes) => (
            "iperf3 (its client)",
            "use `linerate` at the client, or start this server with --speak native,iperf3",
        ),
        None if from == Role::Client => ("an unknown protocol", WRONG_CLIENT),
        None => ("an unknown protocol", WRONG_PORT),
    };
    ProtocolError::Foreign {
        protocol,
        state,
        bytes: Excerpt::from_bytes(bytes),
        remedy,
    }
}

/// Whether this may be the beginning of an iperf3 cookie: 36 base-32 characters, then a zero.
fn is_cookie(bytes: &[u8]) -> bool {
    let cookie = |byte: &u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
    bytes.len() >= linerate_wire::frame::PREAMBLE_LEN && bytes.iter().take(36).all(cookie)
}
