//! What tests of several rooms share; never part of the binary.
#![forbid(unsafe_code)]

pub mod accessibility;
pub mod browser;
pub mod child;
pub mod devtools;
pub mod disk;
pub mod disturbance;
pub mod namespaces;
pub mod pages;
pub mod ports;
pub mod python;
pub mod tmux;
