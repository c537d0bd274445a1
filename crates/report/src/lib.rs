//! Pure: from runs to HTML, text and CSV.
#![forbid(unsafe_code)]
