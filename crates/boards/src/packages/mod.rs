//! Debian packages of another architecture: fetched by apt, unpacked, never installed.
//!
//! apt works in its own folder without installed packages, so that this host is not changed and no root is needed.
//! Maintainer scripts do not run: [`crate::image`] replaces them as far as a board needs it.

mod apt;
mod deb;
mod modules;

pub(crate) use apt::Apt;
pub(crate) use deb::{Content, Entry, entries};
pub(crate) use modules::Modules;
