//! Addresses of the site's pages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All that means something in an address, and everything that is not ASCII.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A text as a part of a path or the value of a field.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, RESERVED).to_string()
}

/// The page of a run.
pub(crate) fn run(id: &str) -> String {
    format!("/runs/{}", encoded(id))
}
