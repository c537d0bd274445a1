//! Turns a topology into live hosts and takes it down again.
#![forbid(unsafe_code)]
