//! The executor: one packet at a time through parser, ingress, queues, egress and deparser.

mod choices;
mod control;
mod core;
mod deparse;
mod entity;
mod eval;
mod event;
mod index;
mod meter;
mod packet;
mod parse;
mod pipeline;
mod profile;
mod queues;
mod read;
mod selection;
mod stages;
mod switch;
mod table;

pub use choices::GroupMember;
pub use entity::{
    Choice, CloneSession, Entity, Entry, Invocation, Match, Replica, Update, UpdateKind, WriteError,
};
pub use event::{CopyKind, DropPlace, Event, Observer};
pub use meter::{Bucket, Colour, MeterConfig};
pub use queues::Limits;
pub use stages::Time;
pub use switch::{Digest, PortCounters, Switch};
pub use table::Counter;
