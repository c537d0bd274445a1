//! The compiled P4 program that a device runs.

use super::keeper::FOLDER;
use super::{DutParam, DutSetup};
use crate::{Result, TestbedError};
use std::fmt;
use std::fs;
use std::path::PathBuf;

/// The parameter that names it.
pub(super) const PIPELINE: DutParam = DutParam {
    name: "program",
    values: "FILE",
    usual: "a cross-connect",
    summary: "What p4c-bm2-ss wrote; ports A and B are its ports 0 and 1.",
};

/// What runs where none is named: each port's frames go out at the other.
const CROSS_CONNECT: &str = include_str!("../../../../p4/cross_connect/cross_connect.json");

/// A compiled P4 program.
#[derive(Debug)]
pub(super) enum Pipeline {
    /// In this file.
    File(PathBuf),
    /// The one that needs no entries.
    CrossConnect,
}

impl Pipeline {
    /// The one that a device was asked to run.
    pub(super) fn of(setup: &DutSetup) -> Result<Self> {
        let named = setup.file(PIPELINE.name)?;
        Ok(named.map_or(Self::CrossConnect, Self::File))
    }

    /// Its file; to be called on the thread of a device, which has a folder for it.
    pub(super) fn file(&self) -> Result<PathBuf> {
        match self {
            Self::File(path) => Ok(path.clone()),
            Self::CrossConnect => {
                let path = PathBuf::from(FOLDER).join("cross_connect.json");
                let written = fs::write(&path, CROSS_CONNECT);
                written.map_err(TestbedError::step("writing the P4 program"))?;
                Ok(path)
            }
        }
    }
}

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => {
                let name = path.file_stem().unwrap_or(path.as_os_str());
                f.write_str(&name.to_string_lossy())
            }
            Self::CrossConnect => f.write_str("cross_connect"),
        }
    }
}
