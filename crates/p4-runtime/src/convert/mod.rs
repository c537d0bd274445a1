//! Between messages of P4Runtime and what the switch takes and gives.

mod action;
mod bytes;
mod key;
mod packet;
mod resource;
mod table;
mod update;
mod view;

pub(crate) use bytes::{bits, canonical};
pub(crate) use packet::{packet_in, packet_out};
pub(crate) use table::{EntryFilter, entry_message};
pub(crate) use update::{Change, change};
pub(crate) use view::{Reader, read_request};
