//! What broken and mean programs do.

use anyhow::{Result, bail};
use linerate_sys::shared::bind_both;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

/// Longer than anything may go on that a program or its peer waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(50);

/// One way to be a bad peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attack {
    /// Takes connections and hangs up.
    HangUp,
    /// Says this and then nothing.
    Says(&'static str, &'static [u8]),
    /// Says this byte for ever.
    Floods(u8),
}

/// A cookie of iperf3.
const COOKIE: &[u8] = b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

impl Attack {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        [
            Self::HangUp,
            Self::Floods(0),
            Self::Floods(0xff),
            Self::Floods(b'['),
        ]
        .into_iter()
        .chain(WORDS.iter().map(|&(name, words)| Self::Says(name, words)))
    }

    /// What goes into one datagram.
    pub(crate) fn words(&self) -> Option<Vec<u8>> {
        match self {
            Self::HangUp => None,
            Self::Says(_, words) => Some(words.to_vec()),
            Self::Floods(byte) => Some(vec![*byte; 1400]),
        }
    }

    /// Does it on a connection.
    fn act(self, stream: &mut TcpStream) {
        match self {
            Self::HangUp => {}
            Self::Says(_, words) => {
                // Who has seen enough may have closed.
                let _ = stream.write_all(words);
                let mut room = [0; 4096];
                while stream.read(&mut room).is_ok_and(|count| count > 0) {}
            }
            Self::Floods(byte) => {
                let block = [byte; 16 << 10];
                while stream.write_all(&block).is_ok() {}
            }
        }
    }
}

/// Said by both roles to every protocol.
const WORDS: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("another protocol", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    ("iperf3: JSON of 4 GB", b"\x09\xff\xff\xff\xff{"),
    ("iperf3: JSON of 2 GB", b"\x09\x7f\xff\xff\xff{"),
    ("iperf3: results before a test", b"\x0d\0\0\0\x02{}"),
    ("iperf3: unknown state", b"\x63"),
    ("iperf3: cookie, and JSON of 4 GB", b"abcdefghijklmnopqrstuvwxyz234567abcd\0\xff\xff\xff\xff{"),
    (
        "iperf3: cookie, and negative counts",
        b"abcdefghijklmnopqrstuvwxyz234567abcd\0\0\0\0\x40{\"tcp\":true,\"time\":-1,\"parallel\":-5,\"len\":-1,\"num\":-9,\"omit\":-1}  ",
    ),
    ("iperf3: a cookie", COOKIE),
    ("native: a message of 4 GB", b"linerate\0\x01\x01\xff\xff\xff\xff\xff\xff\xff\xff"),
    ("netperf: a block of minus ones", &[0xff; 656]),
    ("netperf: the start of a block", &[0, 0, 0, 9, 0xff, 0xff]),
    ("sfnt: a text of minus one byte", b"\xff\xff\xff\xffsfnt"),
    ("sockperf: a message of 4 GB", b"\0\0\0\0\0\0\0\x01\0\x03\xff\xff\xff\xff"),
    ("sockperf: a message of no bytes", b"\0\0\0\0\0\0\0\x01\0\x03\0\0\0\0"),
    ("sockperf: an answer to what was not asked", b"\0\0\0\0\xff\xff\xff\xff\0\x02\0\0\0\x64"),
    (
        "iperf2: a header of minus ones",
        b"\xc4\x01\x00\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ),
    (
        "iperf2: the end of a stream that never began",
        b"\xff\xff\xff\xf8\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    ),
];

/// A peer that does this to every connection, and answers every datagram so.
pub(crate) fn peer(attack: Attack) -> Result<SocketAddr> {
    let (listener, socket) = bind_both((Ipv4Addr::LOCALHOST, 0).into())?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        // Nobody comes when the test is over; the thread ends with the process.
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            thread::spawn(move || attack.act(&mut stream));
        }
    });
    thread::spawn(move || {
        let mut room = [0; 2048];
        while let Ok((_, from)) = socket.recv_from(&mut room) {
            if let Some(words) = attack.words() {
                let _ = socket.send_to(&words, from);
            }
        }
    });
    Ok(address)
}

/// Does this to a server as its client; an error if the server does not end it.
pub(crate) fn strike(server: SocketAddr, attack: Attack) -> Result<()> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    match attack {
        Attack::HangUp => return Ok(()),
        Attack::Says(_, words) => {
            let _ = stream.write_all(words);
        }
        Attack::Floods(byte) => {
            let block = [byte; 16 << 10];
            loop {
                match stream.write_all(&block) {
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        bail!("it keeps a flood")
                    }
                    Err(_) => return Ok(()),
                    Ok(()) => {}
                }
            }
        }
    }
    let mut room = [0; 4096];
    loop {
        match stream.read(&mut room) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => bail!("it keeps the connection"),
            Err(_) => return Ok(()),
        }
    }
}
