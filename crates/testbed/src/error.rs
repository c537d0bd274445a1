//! Errors of making, using or taking down a testbed.

use crate::link::ConfigError;
use linerate_model::exit::{ExitCode, Failure};
use std::io;

/// What making or using a testbed gives.
pub(crate) type Result<T, E = TestbedError> = std::result::Result<T, E>;

/// Why a testbed could not be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// The requested link configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A device under test ended by itself.
    #[error("the device {dut} has ended: {program} {how}; its last words: {said}")]
    DutDied {
        /// Kind of the device.
        dut: &'static str,
        /// The program that ended.
        program: &'static str,
        /// Its exit status.
        how: String,
        /// What it wrote last.
        said: String,
    },
    /// This host lacks something that a device under test needs.
    #[error("the device {dut} needs {what}; {remedy}")]
    DutLacks {
        /// Kind of the device.
        dut: &'static str,
        /// What is missing.
        what: String,
        /// Remedy.
        remedy: String,
    },
    /// A parameter of a device under test is wrong.
    #[error("the device {dut} does not take {key}={value}: {want}")]
    DutParam {
        /// Kind of the device.
        dut: String,
        /// The parameter.
        key: String,
        /// Its value.
        value: String,
        /// What would be valid.
        want: String,
    },
    /// A device under test that runs elsewhere cannot be reached, or refuses.
    #[error("the device {dut}: {said}")]
    DutRefuses {
        /// Kind of the device.
        dut: &'static str,
        /// Whose fault it is.
        code: ExitCode,
        /// What was tried and why it failed.
        said: String,
    },
    /// A device under test cannot be reset.
    #[error(
        "linerate has no way to reset the device {dut}: give --reset-command (link has one with outage=TIME)"
    )]
    NoReset {
        /// Kind of the device.
        dut: String,
    },
    /// The link element failed.
    #[error("link element: {source}")]
    Element {
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The link element's thread has ended.
    #[error("the link element has stopped; close the testbed to learn why")]
    ElementGone,
    /// The process already has several threads.
    #[error("a user namespace can only be entered before the first thread is started")]
    Threads,
    /// This host does not allow namespaces.
    #[error("this host does not let {who} make user and network namespaces ({why}); {remedy}")]
    Unavailable {
        /// Which user.
        who: &'static str,
        /// Error of the kernel.
        why: String,
        /// Remedy.
        remedy: String,
    },
    /// There is no such kind of device under test.
    #[error("there is no device {id:?}; known are {known}")]
    UnknownDut {
        /// What was asked for.
        id: String,
        /// All kinds.
        known: String,
    },
    /// A step failed.
    #[error("{step}: {source}")]
    Step {
        /// The step and its object.
        step: String,
        /// Cause.
        #[source]
        source: io::Error,
    },
}

impl TestbedError {
    /// Whether this host lacks something, as opposed to an invalid plan or a bug.
    pub fn is_host_lack(&self) -> bool {
        matches!(
            self,
            Self::DutLacks { .. } | Self::Unavailable { .. } | Self::Step { .. }
        )
    }

    pub(crate) fn element(source: io::Error) -> Self {
        Self::Element { source }
    }

    pub(crate) fn step(step: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let step = step.into();
        |source| Self::Step { step, source }
    }
}

impl From<TestbedError> for Failure {
    fn from(error: TestbedError) -> Self {
        let code = match error {
            TestbedError::Config(_)
            | TestbedError::DutParam { .. }
            | TestbedError::UnknownDut { .. } => ExitCode::Plan,
            TestbedError::DutDied { .. } => ExitCode::Peer,
            TestbedError::DutRefuses { code, .. } => code,
            _ if error.is_host_lack() => ExitCode::HostLacks,
            _ => ExitCode::Other,
        };
        Self::new(code, error.to_string())
    }
}

/// An error while a testbed was taken down. Nothing is left behind in any case: namespaces and interfaces end with
/// their last descriptor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TeardownError {
    /// Entries that were added to a device could not be deleted again.
    #[error("deleting entries again: {0}")]
    Entries(#[source] Box<TestbedError>),
    /// The link element had failed.
    #[error("link element had failed: {0}")]
    Element(#[source] io::Error),
    /// A program of a device under test could not be ended.
    #[error("ending {program}: {source}")]
    Program {
        /// The program.
        program: &'static str,
        /// Cause.
        #[source]
        source: io::Error,
    },
    /// The link element's thread had panicked.
    #[error("link element had panicked")]
    ElementPanicked,
}
