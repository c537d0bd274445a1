//! The server as controllers meet it: over gRPC, with a switch whose packets the tests send.

mod bench;
mod bmv2;
mod control;
mod entries;
mod hostile;
mod packets;
mod profiles;
mod resources;
mod tls;
