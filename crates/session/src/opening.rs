//! What a data stream begins with, where that tells what it is.

use anyhow::Result;
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

/// How long a stream may take to begin.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);

/// How long the rest of a header may take: it is sent at once.
const REST_LIMIT: Duration = Duration::from_millis(500);

/// Pause between two looks at what has come.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Most bytes that a kind of stream may need to tell what it is.
const MAX_OPENING_BYTES: usize = 256;

/// What a stream begins with, as far as `opening_len` needs it; the bytes are still to be read.
pub fn peek(stream: &TcpStream, opening_len: fn(&[u8]) -> usize) -> Result<Vec<u8>> {
    stream.set_read_timeout(Some(BEGIN_LIMIT))?;
    let mut room = [0; MAX_OPENING_BYTES];
    let mut length = match stream.peek(&mut room) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            anyhow::bail!("nothing came within {BEGIN_LIMIT:?}")
        }
        length => length?,
    };
    let deadline = MonoClock.now().after(REST_LIMIT);
    while length > 0 && length < opening_len(&room[..length]).min(MAX_OPENING_BYTES) {
        if MonoClock.now() >= deadline {
            break;
        }
        sleep_until(MonoClock.now().after(POLL_INTERVAL));
        length = stream.peek(&mut room)?;
    }
    Ok(room[..length].to_vec())
}
