//! P4Info: what a program offers to a control plane, by number.
//!
//! [`Schema`] is a P4Info made ready to look things up in, and checked in itself: a client needs no more. [`Pipeline`]
//! is a schema with the program that it describes, each element checked against the program's.
//!
//! # References
//! - P4Runtime specification 1.5.0, section 6

mod bind;
mod read;
mod schema;

pub(crate) use bind::Pipeline;
pub use bind::check_p4info;
pub use read::parse_p4info;
pub use schema::{
    ActionSchema, ArraySchema, DigestData, DigestSchema, FieldKind, FieldSchema, InfoError,
    PacketSchema, ProfileSchema, Schema, Scope, TableSchema, Translation, ValueSetSchema,
};
