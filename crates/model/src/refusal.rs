//! Why an end refuses a test, or ends it.

use serde::{Deserialize, Serialize};

crate::named_enum! {
    /// Why an end will not, or no longer, take part. On the wire by its kebab-case name.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum RefusalCode {
        /// Serves as many clients as it may.
        Busy = "busy",
        /// This client may not use it.
        Denied = "denied",
        /// Its own fault or its host's: a socket or thread could not be had.
        Internal = "internal",
        /// Its user interrupted it, or it is shutting down.
        Interrupted = "interrupted",
        /// The specification is out of bounds.
        Invalid = "invalid",
        /// More than this server allows: time, rate, streams.
        Limit = "limit",
        /// The other end broke the protocol.
        Protocol = "protocol",
        /// A step took too long.
        Timeout = "timeout",
        /// Does not know the workload, datapath or option.
        Unsupported = "unsupported",
    }
}
