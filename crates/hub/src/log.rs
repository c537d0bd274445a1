//! What the hub says of its work.

use std::io::{self, Write as _};

/// A line for who runs the hub, on standard error.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr(), "linerate hub: {text}");
}
