//! Errors of reading host information.

use std::fmt::Display;
use std::io::{self, ErrorKind};

/// Why host information could not be read: the object and the cause.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file could not be opened or read.
    #[error("{path}: {}", file_cause(*cause))]
    File {
        /// The file.
        path: String,
        /// Cause.
        cause: ErrorKind,
    },
    /// A counter is lower than before: its device was reset, or a wrap cannot be distinguished from that.
    #[error("went backwards from {before} to {after}: reset during the observation")]
    WentBackwards {
        /// The earlier reading.
        before: u64,
        /// The later one.
        after: u64,
    },
    /// Invalid interface name.
    #[error("{name:?} is not the name of a network interface")]
    InterfaceName {
        /// The name.
        name: String,
    },
    /// netlink refused the request, or its answer cannot be parsed.
    #[error("netlink request for {object}: {cause}")]
    Netlink {
        /// Requested object.
        object: &'static str,
        /// Cause, from the kernel or the parser.
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
    /// The interface that carries the traffic is not known.
    #[error("the interface that carries the traffic is not known")]
    NoInterface,
    /// The kernel is queried only about the live host.
    #[error("netlink tells of the live host only, not of a copy of its files")]
    NotLive,
    /// sysfs shows another network namespace than the calling thread's.
    #[error("/sys/class/net shows another network namespace than this thread's")]
    OtherNamespace,
    /// A value that is invalid or meaningless for its device, or a file that holds none.
    #[error("{what}")]
    Unfit {
        /// The value, and why it is not used.
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

    /// Error constructor for a netlink request about `object`.
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

    pub(crate) fn file(path: impl Display, error: &io::Error) -> Self {
        // What the kernel did not say has a reason of its own.
        if error.get_ref().is_some() {
            return Self::Unfit {
                what: format!("{path}: {error}"),
            };
        }
        Self::File {
            path: path.to_string(),
            cause: error.kind(),
        }
    }

    /// Whether the file does not exist: the kernel lacks the feature.
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
