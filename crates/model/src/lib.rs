//! The values that cross rooms: units, test specifications, facts, samples, trials, runs, findings.
//!
//! Holds no handle, does no I/O and reads no clock. Everything here can be serialised,
//! compared and made up in a test. The run document (`linerate/run/2`) is [`run::Run`].
#![forbid(unsafe_code)]

pub mod agent;
pub mod audit;
pub mod board;
pub mod calibration;
pub mod comparison;
pub mod condition;
pub mod consent;
pub mod cost;
mod delay;
pub mod doctor;
pub mod dut;
pub mod estimate;
pub mod exit;
pub mod experiment;
pub mod facts;
pub mod footprint;
mod hex;
pub mod histogram;
pub mod host_port;
mod in_base64;
pub mod knob;
pub mod link;
pub mod listing;
pub mod mesh;
mod named_enum;
pub mod one_way;
mod origin;
pub mod profile;
pub mod quantity;
pub mod query;
pub mod random;
mod refusal;
pub mod reproduction;
mod requests;
pub mod responsiveness;
pub mod run;
pub mod sample;
pub mod signals;
pub mod spec;
pub mod ssh;
pub mod stack;
pub mod tcp;
pub mod text;
pub mod time;
mod turns;
pub mod units;
mod varint;

pub use estimate::{Estimate, Interval};
pub use hex::hex;
pub use histogram::Histogram;
pub use quantity::Quantity;
pub use refusal::RefusalCode;
pub use time::{Clock, MonoInstant, PeerInstant, WallTime};
pub use units::{
    BitRate, ByteCount, FrameOverhead, Layer, LossRatio, PacketCount, PacketRate, Quantile, Ratio,
};
