//! Debian packages of another architecture: fetched by apt, unpacked, never installed.
//!
//! apt works in a folder of its own, with no installed packages, so that nothing of this host changes and no root is
//! needed. Maintainer scripts do not run: what they would make, [`crate::image`] makes as far as a board needs it.

mod apt;
mod deb;
mod modules;

pub(crate) use apt::Apt;
pub(crate) use deb::{Content, Entry, entries};
pub(crate) use modules::Modules;
