//! What the hub says of its work.

use linerate_model::WallTime;
use std::io::{self, Write as _};

/// A line for who runs the hub, on standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "linerate hub: {text}");
}

/// What a round is called: when it began to be due.
pub(crate) fn round_name(number: u64) -> String {
    let seconds = i64::try_from(number / 1000).ok();
    let time = seconds.and_then(WallTime::from_unix);
    time.map_or_else(|| number.to_string(), |time| time.to_string())
}
