//! Why something about this host could not be read.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Why something about this host could not be read: what, and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file could not be opened or read.
    #[error("{path}: {}", file_cause(*cause))]
    File {
        /// The file.
        path: String,
        /// What the system said.
        cause: ErrorKind,
    },
    /// A counter is lower than before: its device was reset, or its wrap cannot be told from that.
    #[error("went backwards from {before} to {after}: reset during the observation")]
    WentBackwards {
        /// The earlier reading.
        before: u64,
        /// The later one.
        after: u64,
    },
    /// The interface's name cannot be one.
    #[error("{name:?} is not the name of a network interface")]
    InterfaceName {
        /// The name.
        name: String,
    },
    /// netlink refused or answered what cannot be understood.
    #[error("netlink request for {object}: {cause}")]
    Netlink {
        /// What was asked for.
        object: &'static str,
        /// What the kernel or our parser said.
        cause: String,
    },
    /// A file lacks a field.
    #[error("{path}: no {field}; the file is cut short or this kernel does not report it")]
    NoField {
        /// The file.
        path: String,
        /// The field.
        field: String,
    },
    /// Nobody said which interface carries the traffic.
    #[error("the interface that carries the traffic is not known")]
    NoInterface,
    /// The kernel is asked only about the real host.
    #[error("netlink tells of the live host only, not of a copy of its files")]
    NotLive,
    /// sysfs shows another network namespace than the calling thread's.
    #[error("/sys/class/net shows another network namespace than this thread's")]
    OtherNamespace,
    /// A file is longer than anything the kernel writes there.
    #[error("{path}: longer than {limit} bytes")]
    TooLong {
        /// The file.
        path: String,
        /// The most that is read.
        limit: u64,
    },
    /// The device says something that is no answer, or that means nothing for such a device.
    #[error("{what}")]
    Unfit {
        /// What it is and why it is not used.
        what: String,
    },
}

impl ReadError {
    pub(crate) fn no_field(path: &str, field: impl Into<String>) -> Self {
        Self::NoField {
            path: format!("/{path}"),
            field: field.into(),
        }
    }

    /// Of a question about `object` to the kernel.
    pub(crate) fn netlink(object: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Netlink {
            object,
            cause: match error.kind() {
                ErrorKind::PermissionDenied => {
                    "not permitted; it takes CAP_NET_ADMIN (root)".to_owned()
                }
                _ => error.to_string(),
            },
        }
    }

    pub(crate) fn file(path: &Path, cause: ErrorKind) -> Self {
        Self::File {
            path: path.display().to_string(),
            cause,
        }
    }

    /// Whether the file is not there at all: the kernel lacks the feature.
    pub fn is_absent(&self) -> bool {
        matches!(
            self,
            Self::File {
                cause: ErrorKind::NotFound,
                ..
            }
        )
    }
}

fn file_cause(cause: ErrorKind) -> String {
    match cause {
        ErrorKind::NotFound => "does not exist; this kernel does not offer it".to_owned(),
        other => other.to_string(),
    }
}
