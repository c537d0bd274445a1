//! P4Runtime for the executor of P4 programs: what a control plane asks for is done between two packets, on the thread
//! that owns the switch.
//!
//! # References
//! - P4Runtime specification 1.5.0
#![forbid(unsafe_code)]

mod client;
mod codec;
mod convert;
#[cfg(any(test, feature = "_fuzzing"))]
pub mod fuzzing;
mod info;
pub mod proto;
mod refusal;
mod server;
mod tls;
mod words;

pub use client::{Client, ClientError, Refused};
pub use info::{
    ActionSchema, ArraySchema, DigestData, DigestSchema, FieldKind, FieldSchema, InfoError,
    PacketSchema, ProfileSchema, Schema, Scope, TableSchema, Translation, ValueSetSchema,
    check_p4info, parse_p4info,
};
pub use server::{Options, Pipelines, ServeError, Server, serve};
pub use tls::{ClientTls, OwnCertificate, Tls};
pub use tonic::Code;
pub use words::{EntryWords, describe, parse_entries, parse_entry};
