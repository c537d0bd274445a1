//! First bytes of a data stream, where they identify it.

use anyhow::Result;
use linerate_model::Clock as _;
use linerate_sys::clock::{MonoClock, sleep_until};
use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Duration;

/// Timeout for the first byte of a stream.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);

/// Timeout for the rest of a header: it is sent at once.
const REST_LIMIT: Duration = Duration::from_millis(500);

/// Polling interval.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum bytes needed to identify a stream.
const MAX_OPENING_BYTES: usize = 256;

/// The first bytes of a stream, as many as `opening_len` needs; they stay queued.
pub fn peek(stream: &TcpStream, opening_len: impl Fn(&[u8]) -> usize) -> Result<Vec<u8>> {
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
