//! The run directory, the versions of its format, and import of other tools' logs.
#![forbid(unsafe_code)]
