//! Errors of making, using or taking down a testbed.

use crate::link::ConfigError;
use linerate_model::exit::{ExitCode, Failure};
use std::io;

/// Why a testbed could not be made or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TestbedError {
    /// The requested link configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
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
        matches!(self, Self::Unavailable { .. } | Self::Step { .. })
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
            TestbedError::Config(_) => ExitCode::Plan,
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
    /// The link element had failed.
    #[error("link element had failed: {0}")]
    Element(#[source] io::Error),
    /// The link element's thread had panicked.
    #[error("link element had panicked")]
    ElementPanicked,
}
