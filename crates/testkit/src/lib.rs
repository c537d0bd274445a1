//! What tests of several rooms share; never part of the binary.
#![forbid(unsafe_code)]

pub mod disturbance;
pub mod namespaces;
