//! Executes P4 programs, as the P4 compiler's BMv2 back end writes them in JSON, for the architecture `v1model`.
//!
//! [`Program::from_json`] checks a program and compiles it to flat lists; what it uses and this crate does not have is
//! refused there, by name. [`Switch`] runs it: packets in, packets out, with time as an argument. No I/O, no clock, and
//! no allocation per packet once its buffers have grown.
//!
//! # References
//! - BMv2 JSON, versions 2.0 to 2.24; `v1model.p4` of the P4 compiler
//! - P4-16 language specification 1.2.4; P4Runtime specification 1.4 for entries, groups, counters and meters
//! - Meters: RFC 2698, colour-blind
#![forbid(unsafe_code)]

mod bits;
mod describe;
mod draw;
mod exec;
pub mod generate;
mod hash;
mod load;
mod num;
mod plane;
mod program;
mod show;
pub mod stf;
mod trace;

pub use draw::{Drawing, escape_xml};
pub use exec::{
    Bucket, Choice, CloneSession, Colour, CopyKind, Counter, Digest, DropPlace, Entity, Entry,
    Event, GroupMember, Invocation, Limits, Match, MeterConfig, Observer, PortCounters, Replica,
    Switch, Time, Update, UpdateKind, WriteError,
};
pub use linerate_model::hex;
pub use load::LoadError;
pub use plane::{DataPlane, InjectError, Job, Plane};
pub use program::{
    Action, Array, DROP_PORT, Header, KeyField, MatchKind, Profile, Program, Source, Table,
    ValueSet,
};
pub use show::Summary;
pub use trace::Trace;
